#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# A cache that is never trimmed and a lost list: leakmon's report while the program runs, and
# LeakSanitizer's at the exit of the same program, rebuilt for it.
set -eu
cd "$(dirname "$0")/.."

if [ "$(id -u)" -ne 0 ]; then
	echo 'The demo reads another process'"'"'s memory: run it as root (sudo make demo-retain).' >&2
	exit 1
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"; kill "$holder" 2>/dev/null || true' EXIT INT TERM

echo '+ holder: a cache of 1000 entries behind a global; a list of 300 nodes and a ring of 10, lost'
mkfifo "$directory/in"
build/workloads/holder 1000 300 <"$directory/in" >"$directory/out" &
holder=$!
exec 9>"$directory/in"
echo go >&9
until grep -q done "$directory/out"; do sleep 0.05; done

echo "+ leakmon retain --census -p $holder"
build/leakmon retain --census -p "$holder"
exec 9>&-

echo '+ the same program, rebuilt with -fsanitize=leak, at its exit:'
printf 'go\nquit\n' | build/workloads/holder_lsan 1000 300 2>&1 >/dev/null | grep -E 'leak of|SUMMARY' || true
echo 'Both find 310 lost blocks; LeakSanitizer sums the requested sizes, leakmon the sizes of chunks.'
echo 'LeakSanitizer counts no ring as a direct leak; leakmon counts each ring as one.'
