#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_runtimes.sh: a runtime is a folder in user/heap/runtime/ and a row in its table, and nothing else
# knows of it. So without both of them the program builds, one runtime after the other, in a copy of the
# tree and of what is built (make all); and no other file has a runtime's key.
set -eu
cd "$(dirname "$0")/.."
build=${1:-build}
copy=$(mktemp -d)
trap 'rm -rf "$copy"' EXIT

# "v8" is a register, too.
for folder in user/heap/runtime/*/; do
	if grep -rn "\"$(basename "$folder")\"" user --include='*.c' |
		grep -vE '^user/(heap/runtime|binary/arch)/'; then
		echo "these lines belong into $folder" >&2
		exit 1
	fi
done

cp -a --parents Makefile bpf include scripts user tests/*.mk tests/*/*.mk "$copy"
mkdir "$copy/build"
cp -a "$build/bpf" "$build/gen" "$build/user" "$build/has-build" "$copy/build"
table=$copy/user/heap/runtime/runtime.c
cp -a "$table" "$copy/table"
for folder in user/heap/runtime/*/; do
	name=$(basename "$folder")
	mv "$copy/$folder" "$copy/removed"
	sed "s/&runtime_$name,//" "$copy/table" > "$table"
	if cmp -s "$copy/table" "$table"; then
		echo "user/heap/runtime/runtime.c: no row &runtime_$name" >&2
		exit 1
	fi
	# Make takes a header that is gone for one that has not changed (.SECONDARY).
	grep -rl --include='*.d' "$folder" "$copy/build/user" | sed 's/\.d$/.o/' | xargs -r rm -f
	if ! make -s -C "$copy" build/leakmon; then
		echo "$folder cannot be removed" >&2
		exit 1
	fi
	mv "$copy/removed" "$copy/$folder"
done
echo "runtimes: each can be removed"
