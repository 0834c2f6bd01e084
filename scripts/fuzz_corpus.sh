#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# fuzz_corpus.sh DIRECTORY KEPT PROGRAM…: of the inputs that fuzzers found, in DIRECTORY/corpus/NAME and in
# KEPT/NAME.tar.xz, keeps a few of at most 4 KiB that together cover as much code as all.
# The archive is the same for the same inputs.
set -eu

directory=$1 kept=$2
shift 2
mkdir -p "$kept"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for program in "$@"; do
	name=${program##*/}
	rm -rf "$work/all" "$work/few"
	mkdir -p "$work/all" "$work/few"
	[ ! -f "$kept/$name.tar.xz" ] || tar -xJf "$kept/$name.tar.xz" -C "$work/all"
	find "$directory/corpus/$name" -type f -size -4097c -exec cp -t "$work/all" {} + 2>/dev/null || :
	found=$(find "$work/all" -type f | wc -l)
	[ "$found" -gt 0 ] || continue
	"$program" -set_cover_merge=1 -timeout=60 -rss_limit_mb=4096 "$work/few" "$work/all" \
		>"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
	tar -c --sort=name --mtime=@0 --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		-C "$work/few" . | xz -9e >"$kept/$name.tar.xz"
	printf '%-24s %5d of %5d inputs, %6d bytes\n' "$name" "$(find "$work/few" -type f | wc -l)" \
		"$found" "$(stat -c %s "$kept/$name.tar.xz")"
done
