#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# vm.sh [PATTERN…]: a short end-to-end test on other kernels. For each pattern of a Debian kernel
# package (by default the newest 6.1 and 6.12 cloud kernels) it fetches the package into build/vm/,
# boots the kernel under qemu with an initramfs of busybox, leakmon and workloads, and runs
# tests/vm/init there. It needs no KVM; times measured there are meaningless.
#
# It installs only the packages of `deps.sh vm`. VM_TIMEOUT: seconds per kernel (900).
set -eu
cd "$(dirname "$0")/.."

work=build/vm
timeout=${VM_TIMEOUT:-900}
programs="build/leakmon"
workloads="leak allocators mixed quick execer mapper kernelmem threads older grower sharer
rewriter dispatcher waiter usdt victim dripper"

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

# Copies a program and its libraries to the same paths under a root.
install_program() {
	install -D -m 755 "$1" "$root/bin/$(basename "$1")"
	for library in $(ldd "$1" 2>/dev/null | grep -o '/[^ ]*'); do
		[ -e "$root$library" ] || install -D -m 755 "$library" "$root$library"
	done
}

initramfs_make() {
	root=$work/root
	rm -rf "$root"
	mkdir -p "$root/bin" "$root/proc" "$root/sys" "$root/dev" "$root/tmp"
	install -m 755 tests/vm/init "$root/init"
	install -m 755 /bin/busybox "$root/bin/busybox"
	ln -s busybox "$root/bin/sh"
	for program in $programs; do
		install_program "$program"
	done
	# glibc loads it when a thread is cancelled or calls pthread_exit.
	unwinder=$(gcc -print-file-name=libgcc_s.so.1)
	install -D -m 755 "$unwinder" "$root/lib/$(gcc -print-multiarch)/libgcc_s.so.1"
	# A second C library (dlmopen) searches for its loader among the libraries.
	loader=$(ldd build/workloads/rewriter | grep -o '/[^ ]*ld-linux[^ ]*')
	install -D -m 755 "$loader" "$root/lib/$(gcc -print-multiarch)/$(basename "$loader")"
	for workload in $workloads; do
		install_program "build/workloads/$workload"
	done
	(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$work/initrd.gz"
}

# Boots $vmlinuz; the log stays in $1. The guest's clock counts its instructions (-icount), 2 ns each:
# on a busy host a guest that goes by the host's clock starves, and its waits end before its work.
boot() {
	timeout "$timeout" qemu-system-x86_64 -accel tcg -cpu max -m 1024 -smp 1 -nodefaults \
		-icount shift=1,align=off,sleep=off -display none -serial stdio -no-reboot -kernel "$vmlinuz" -initrd "$work/initrd.gz" \
		-append 'console=ttyS0 quiet panic=-1' </dev/null >"$1" 2>&1
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
	[ -x "build/workloads/$workload" ] || explain "build/workloads/$workload is missing; \`make test-vm\` builds it"
done
mkdir -p "$work"
initramfs_make

[ $# -gt 0 ] || set -- '^linux-image-6\.1\.0-[0-9]+-cloud-amd64$' \
	'^linux-image-6\.12\..*\+deb12-cloud-amd64$'
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
