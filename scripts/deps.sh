#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# deps.sh [GROUP…]: installs the Debian packages that are missing. Groups: build test vm static;
# by default build and test. Quiet when nothing is missing. Without root it prints the command
# that would install them and exits 1.
#
# redis-tools carries the very binary of redis-server (it chooses by its name): the package
# redis-server would start a daemon on the machine, and a daemon of the user's is not ours to stop.
set -eu

build="clang llvm bpftool gcc g++ make pkg-config libbpf-dev libelf-dev libdw-dev libiberty-dev
	libcapstone-dev libseccomp-dev libcap-ng-dev liblzma-dev libjansson-dev linux-libc-dev libc6-dev zlib1g-dev libsqlite3-dev
	libncurses-dev"
test="libclang-rt-14-dev libcmocka-dev clang-format clang-tidy gdb musl-tools
	libjemalloc-dev libgoogle-perftools-dev libmimalloc-dev redis-tools sqlite3 python3 heaptrack
	util-linux golang-1.19-go python3-jsonschema python3-yaml debuginfod libc6-dbg python3.11-dbg libpython3.11-testsuite
	chromium chromium-driver python3-selenium
	crun runc busybox-static tmux mandoc man-db"
vm="qemu-system-x86 cpio busybox-static"
static="libc6-dev liblzma-dev libbz2-dev libseccomp-dev libcap-ng-dev"

if ! command -v dpkg-query >/dev/null; then
	echo "deps.sh: this is no Debian; go on without checking. Needed:" $build $test >&2
	exit 0
fi

missing=
for group in ${*:-build test}; do
	case $group in
	build) packages=$build ;;
	test) packages=$test ;;
	vm) packages=$vm ;;
	static) packages=$static ;;
	*)
		echo "deps.sh: no such group: $group (build, test, vm, static)" >&2
		exit 2
		;;
	esac
	for package in $packages; do
		status=$(dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null) || status=
		case $status in
		*installed*) [ "${status#not-}" = "$status" ] && continue ;;
		esac
		missing="$missing $package"
	done
done

[ -n "$missing" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "deps.sh: packages are missing; install them with:" >&2
	echo "    sudo apt-get install -y --no-install-recommends$missing" >&2
	exit 1
fi

echo "deps.sh: installing$missing" >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install_missing() {
	apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1
}
# The package lists of a fresh or an old machine may name versions that are gone.
if ! install_missing; then
	apt-get update -q >"$log" 2>&1 || true
	if ! install_missing; then
		cat "$log" >&2
		echo "deps.sh: apt-get failed; mend what it says above and try again" >&2
		exit 1
	fi
fi
