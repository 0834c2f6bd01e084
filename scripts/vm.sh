#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# vm.sh [PATTERN…]: a short end-to-end test on other kernels. For each pattern of a Debian kernel
# package (by default the newest 6.1 and 6.12 cloud kernels) it fetches the package into build/vm/,
# boots the kernel under qemu with an initramfs of busybox, leakmon and workloads, and runs
# tests/vm/init there. It needs no KVM; times measured there are meaningless.
#
# It installs only the packages of `deps.sh vm`. ARCH: of the kernels and programs (this machine's);
# the other one's programs are cross-built (`make ARCH=arm64 ...`), and its busybox is fetched.
# VM_TIMEOUT: seconds per kernel (900; 3600 for another machine's). VM_TESTS: only these functions
# of tests/vm/init.
set -eu
cd "$(dirname "$0")/.."

host=$(uname -m | sed s/aarch64/arm64/)
ARCH=${ARCH:-$host}
build=build
[ "$ARCH" = "$host" ] || build=build/$ARCH
work=$build/vm
CC=${CC:-gcc}
# The kernel's console, and a machine that has it; the emulator for programs, which the loader needs.
case $ARCH in
x86_64)
	debian=amd64 console=ttyS0 emulator=qemu-x86_64-static
	machine='qemu-system-x86_64 -accel tcg -cpu max'
	;;
arm64)
	debian=arm64 console=ttyAMA0 emulator=qemu-aarch64-static
	# With the widest vectors a signal takes more of a stack than tests provide.
	machine='qemu-system-aarch64 -M virt -accel tcg -cpu max,pauth-impdef=on,sme=off,sve-max-vq=4'
	;;
esac
[ "$ARCH" != "$host" ] || emulator=
timeout=${VM_TIMEOUT:-$([ "$ARCH" = "$host" ] && echo 900 || echo 3600)}
programs="$build/leakmon"
workloads="leak allocators mixed quick execer mapper kernelmem threads older grower sharer rewriter
waiter usdt victim dripper holder tagged narrow deep"
# These kernels have Syscall User Dispatch on x86 alone.
[ "$ARCH" != x86_64 ] || workloads="$workloads dispatcher"
[ "$ARCH" != arm64 ] || workloads="$workloads mixed_pac allocators_pac"

explain() {
	echo "vm.sh: $*" >&2
	exit 1
}

# The newest package that matches a pattern.
kernel_package() {
	apt-cache search --names-only "$1" | cut -d' ' -f1 | sort -V | tail -n 1
}

# Fetches and unpacks a kernel once; sets $vmlinuz.
kernel_fetch() {
	vmlinuz=$(ls "$work/$1"/boot/vmlinuz-* 2>/dev/null | head -n 1) || true
	[ -z "$vmlinuz" ] || return 0
	echo "vm.sh: fetching $1" >&2
	(cd "$work" && apt-get download -q "$1" 2>/dev/null >&2) ||
		explain "cannot download $1; try \`apt-get update\`"
	dpkg-deb -x "$work/$1"_*.deb "$work/$1.part"
	rm -f "$work/$1"_*.deb
	# Only the kernel itself: its modules are large.
	rm -rf "$work/$1.part/lib" "$work/$1.part/usr" "$work/$1"
	mv "$work/$1.part" "$work/$1"
	vmlinuz=$(ls "$work/$1"/boot/vmlinuz-*)
}

# By the program's own loader, as ldd does.
libraries_of() {
	loader=$(readelf -l "$1" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	[ -z "$loader" ] || echo "$loader"
	[ -z "$loader" ] || $emulator "$loader" --list "$1" | grep -o '/[^ ]*'
}

# A busybox for the machine; this one's is installed.
busybox_fetch() {
	busybox=/bin/busybox
	[ "$ARCH" != "$host" ] || return 0
	busybox=$work/busybox/bin/busybox
	[ ! -e "$busybox" ] || return 0
	(cd "$work" && apt-get download -q "busybox-static:$debian" 2>/dev/null >&2) ||
		explain "cannot download busybox-static:$debian; try \`dpkg --add-architecture $debian\` and \`apt-get update\`"
	dpkg-deb -x "$work"/busybox-static_*.deb "$work/busybox"
	rm -f "$work"/busybox-static_*.deb
}

# Unpacks packages for the machine into $work/NAME; what is missing leaves tests out.
packages_fetch() { # NAME PACKAGE…
	name=$1
	shift
	[ ! -d "$work/$name" ] || return 0
	mkdir -p "$work/$name.part"
	for package; do
		(cd "$work/$name.part" && apt-get download -q "$package:$debian" 2>/dev/null >&2) || {
			rm -rf "$work/$name.part"
			echo "vm.sh: cannot download $package:$debian: left out" >&2
			return 1
		}
	done
	for package in "$work/$name.part"/*.deb; do
		dpkg-deb -x "$package" "$work/$name.part"
		rm -f "$package"
	done
	mv "$work/$name.part" "$work/$name"
}

# Copies what packages_fetch() has unpacked: programs to /bin, libraries to where loaders search.
packages_install() { # NAME PROGRAM…
	folder=$work/$1
	shift
	for program; do
		install -D -m 755 "$folder/usr/bin/$program" "$root/bin/$program"
	done
	find "$folder" -name '*.so*' ! -type d | while read -r library; do
		install -D -m 755 "$library" "$root/lib/$triplet/$(basename "$library")"
	done
}

# Copies a program and its libraries to the same paths under a root.
install_program() {
	install -D -m 755 "$1" "$root/bin/$(basename "$1")"
	for library in $(libraries_of "$1"); do
		[ -e "$root$library" ] || install -D -m 755 "$library" "$root$library"
	done
}

initramfs_make() {
	root=$work/root
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
	install -m 755 tests/vm/init "$root/init"
	install -m 755 "$busybox" "$root/bin/busybox"
	echo "${VM_TESTS:-}" >"$root/tests"
	ln -s busybox "$root/bin/sh"
	for program in $programs; do
		install_program "$program"
	done
	# glibc loads it when a thread is cancelled or calls pthread_exit.
	triplet=$($CC -print-multiarch)
	install -D -m 755 "$($CC -print-file-name=libgcc_s.so.1)" "$root/lib/$triplet/libgcc_s.so.1"
	# A second C library (dlmopen) searches for its loader among the libraries.
	loader=$(readelf -l "$build/leakmon" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	install -D -m 755 "$loader" "$root/lib/$triplet/$(basename "$loader")"
	for workload in $workloads; do
		install_program "$build/workloads/$workload"
	done
	install_program "$build/truth/compare"
	mv "$root/bin/compare" "$root/bin/truth_compare"
	install -m 755 "$build/truth/backtrace_preload.so" "$root/bin/"
	packages_fetch sqlite3 sqlite3 libsqlite3-0 libreadline8 libtinfo6 &&
		packages_install sqlite3 sqlite3
	# Those that qemu's emulation of programs cannot run (tests/tests.mk).
	for unit in ${VM_UNITS:-}; do
		install_program "$unit"
		mkdir -p "$root/unit"
		mv "$root/bin/$(basename "$unit")" "$root/unit/"
	done
	[ ! -d "$root/unit" ] || find "$root" -name libleakmon.so -exec mv {} "$root/unit/" \;
	(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$work/initrd.gz"
}

# Boots $vmlinuz; the log stays in $1. The guest's clock counts its instructions (-icount), 2 ns each:
# on a busy host a guest that goes by the host's clock starves, and its waits end before its work.
boot() {
	# shellcheck disable=SC2086 # a command and its options
	timeout "$timeout" $machine ${VM_OPTIONS:-} -m 1024 -smp 1 -nodefaults \
		-icount shift=1,align=off,sleep=off -display none -serial stdio -no-reboot \
		-kernel "$vmlinuz" -initrd "$work/initrd.gz" \
		-append "console=$console quiet panic=-1" </dev/null >"$1" 2>&1
}

# Runs one kernel: prints its result lines, fails unless every check passed.
kernel_test() {
	log=$work/$1.log
	echo "== $1"
	boot "$log" || echo "vm.sh: qemu ended with status $? (124: over $timeout s)"
	tr -d '\r' <"$log" | grep -E '^(PASS|FAIL|NOTE|    |VM-RESULT)' || true
	if tr -d '\r' <"$log" | grep -q '^VM-RESULT [1-9][0-9]* passed, 0 failed'; then
		return 0
	fi
	echo "vm.sh: $1 failed; the whole log is $log; its end:"
	tail -n 20 "$log"
	return 1
}

for program in $programs; do
	[ -x "$program" ] || explain "$program is missing; run \`make\` first"
done
for workload in $workloads; do
	[ -x "$build/workloads/$workload" ] || explain "$build/workloads/$workload is missing; \`make test-vm\` builds it"
done
mkdir -p "$work"
busybox_fetch
initramfs_make

[ $# -gt 0 ] || set -- "^linux-image-6\\.1\\.0-[0-9]+-cloud-$debian\$" \
	"^linux-image-6\\.12\\..*\\+deb12-cloud-$debian\$"
passed= failed=
for pattern; do
	package=$(kernel_package "$pattern")
	if [ -z "$package" ]; then
		echo "vm.sh: no package matches $pattern; try \`apt-get update\`" >&2
		failed="$failed $pattern"
		continue
	fi
	kernel_fetch "$package"
	if kernel_test "$package"; then
		passed="$passed $package"
	else
		failed="$failed $package"
	fi
done
echo
echo "passed:${passed:- none}"
echo "failed:${failed:- none}"
[ -z "$failed" ]
