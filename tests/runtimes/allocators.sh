#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# allocators.sh RELEASE PROGRAM: prints the path of tests/workloads/PROGRAM.c, linked with the allocator
# and the C library of a release of Debian (trixie, forky). Exit code 77: they are not there.
#
# LEAKMON_RUNTIMES: where scripts/deps.sh has put them, and where the programs are kept
# (~/.cache/leakmon/runtimes).
set -eu
release=$1 name=$2
here=$(cd "$(dirname "$0")/../workloads" && pwd)
cache=${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}
tree=$cache/allocators-$release
libraries=$tree/usr/lib/x86_64-linux-gnu
program=$cache/allocator-programs/$name-$release

case $name in
jemalloc_*) library=jemalloc ;;
tcmalloc_*) library=tcmalloc_minimal ;;
mimalloc_*) library=mimalloc ;;
esac
if ! [ -e "$libraries/lib$library.so" ]; then
	echo "allocators.sh: $release's allocators are not there: run scripts/deps.sh allocators" >&2
	exit 77
fi
mkdir -p "$cache/allocator-programs"
is_current() { [ -x "$program" ] && [ -z "$(find "$here" -name '*.[ch]' -newer "$program")" ]; }

# With the loader of that release, and without what the linker of this one knows of that C library.
build() {
	${CC:-cc} -O2 -g -fno-omit-frame-pointer -fno-builtin -pthread -I"$tree/usr/include" -I"$here" \
		"$here/$name.c" -o "$program" "$libraries/lib$library.so" \
		-Wl,--dynamic-linker="$libraries/ld-linux-x86-64.so.2" -Wl,-rpath,"$libraries" \
		-Wl,--allow-shlib-undefined >&2
}

if ! is_current; then
	# Several tests may ask at once.
	exec 9>"$cache/allocator-programs/.lock"
	flock 9
	is_current || build
fi
echo "$program"
