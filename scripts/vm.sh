#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# vm.sh [KERNEL…]: a short end-to-end test on other kernels. A KERNEL is a name of the table below, or
# a pattern of this system's kernel packages (by default 6.1 and 6.12; of arm64 also one with pages of
# 16 KiB). It fetches the newest package into build/vm/, boots the kernel under qemu with an initramfs
# of busybox, leakmon and workloads, and runs tests/vm/init there. It needs no KVM; times measured there
# are meaningless.
#
# It installs only the packages of `deps.sh vm`. ARCH: of the kernels and programs (this machine's);
# the other one's programs are cross-built (`make ARCH=arm64 ...`), and its busybox is fetched.
# VM_TIMEOUT: seconds per kernel (900; 7200 for another machine's). VM_TESTS: only tests of
# tests/vm/init with one of these words in their names or arguments. VM_APPEND: more of the kernel's
# command line (lockdown=integrity); by default preempt=full, since preemption anywhere reveals more bugs.
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
	machine='qemu-system-x86_64 -accel tcg -cpu max -m 1024'
	;;
arm64)
	debian=arm64 console=ttyAMA0 emulator=qemu-aarch64-static
	# With the widest vectors a signal takes more of a stack than tests provide.
	machine='qemu-system-aarch64 -M virt -accel tcg -cpu max,pauth-impdef=on,sme=off,sve-max-vq=4'
	machine="$machine -m 2048"
	;;
esac
[ "$ARCH" != "$host" ] || emulator=
timeout=${VM_TIMEOUT:-$([ "$ARCH" = "$host" ] && echo 900 || echo 7200)}
programs="$build/leakmon"
workloads="leak allocators mixed quick execer mapper kernelmem threads older grower sharer rewriter
waiter usdt victim dripper holder in_kernel tagged narrow deep dispatcher"
signed="mixed_pac allocators_pac deep_pac cancel_pac thrower_pac private_heap_pac"
[ "$ARCH" = arm64 ] || signed=
workloads="$workloads holder_lsan $signed"

explain() {
	echo "vm.sh: $*" >&2
	exit 1
}

# Kernels by name: the release that has them (-: this system's) and the pattern of their packages.
kernel_rows() {
	cat <<-END
		6.1      -        ^linux-image-6\\.1\\.0-[0-9]+-cloud-$debian\$
		6.12     -        ^linux-image-6\\.12\\..*\\+deb12-cloud-$debian\$
		6.12-16k -        ^linux-image-6\\.12\\..*\\+deb12-arm64-16k\$
		6.1-rt   -        ^linux-image-6\\.1\\.0-[0-9]+-rt-$debian\$
		6.12-rt  -        ^linux-image-6\\.12\\..*\\+deb12-rt-$debian\$
		5.10     bullseye ^linux-image-5\\.10\\.0-[0-9]+-cloud-$debian\$
		5.15     jammy    ^linux-image-unsigned-5\\.15\\.0-[0-9]+-generic\$
		newest   sid      ^linux-binary-[0-9.]+\\+deb[0-9]+-cloud-$debian\$
	END
}

# The release and the pattern of a kernel.
kernel_row() {
	kernel_rows | while read -r name release pattern; do
		[ "$name" != "$1" ] || echo "$release $pattern"
	done | grep . || echo "- $1"
}

# The newest package of a release that matches a pattern.
kernel_package() { # OPTIONS PATTERN
	# shellcheck disable=SC2086 # options
	apt-cache $1 search --names-only "$2" | cut -d' ' -f1 | sort -V | tail -n 1
}

# Fetches and unpacks a kernel once; sets $vmlinuz.
kernel_fetch() { # OPTIONS PACKAGE
	options=$1
	shift
	vmlinuz=$(find "$work/$1" -name 'vmlinuz*' 2>/dev/null | head -n 1)
	[ -z "$vmlinuz" ] || return 0
	echo "vm.sh: fetching $1" >&2
	# shellcheck disable=SC2086 # options
	(cd "$work" && apt-get $options download -q "$1" 2>/dev/null >&2) ||
		explain "cannot download $1; try \`apt-get update\`"
	dpkg-deb -x "$work/$1"_*.deb "$work/$1.part"
	rm -f "$work/$1"_*.deb
	# Only the kernel itself, wherever its package has it: its modules are large.
	mkdir -p "$work/$1"
	find "$work/$1.part" -type f -name 'vmlinuz*' -exec mv {} "$work/$1/" \;
	rm -rf "$work/$1.part"
	vmlinuz=$(find "$work/$1" -name 'vmlinuz*')
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

# Where a release is, and which keys sign it.
release_source() {
	keys=/usr/share/keyrings
	case $1 in
	jammy)
		(packages_fetch keys-ubuntu trixie ubuntu-keyring) >&2 || true
		echo "deb [signed-by=$PWD/$work/keys-ubuntu$keys/ubuntu-archive-keyring.gpg]" \
			"http://archive.ubuntu.com/ubuntu $1-updates main"
		;;
	*) echo "deb [signed-by=$keys/debian-archive-keyring.gpg] http://deb.debian.org/debian $1 main" ;;
	esac
}

# Sets the options of apt-get for the machine's packages of another release, with separate package lists.
release_options() {
	lists=$PWD/$work/apt-$1
	options="-q -o APT::Architecture=$debian -o APT::Architectures=$debian -o Dir::State=$lists
		-o Dir::State::status=$lists/status -o Dir::Cache=$lists -o Dir::Etc::sourcelist=$lists/sources
		-o Dir::Etc::sourceparts=/dev/null -o APT::Sandbox::User=root"
	if [ ! -e "$lists/sources" ]; then
		mkdir -p "$lists/lists/partial" "$lists/archives/partial"
		: >"$lists/status"
		release_source "$1" >"$lists/sources.new"
		mv "$lists/sources.new" "$lists/sources"
		# shellcheck disable=SC2086 # options
		apt-get $options update >/dev/null 2>&1 || rm -f "$lists/sources"
	fi
	echo "$options"
}

# Unpacks packages for the machine into $work/NAME, of RELEASE (of this system's, if it is empty);
# tests of missing packages are left out.
packages_fetch() { # NAME RELEASE PACKAGE…
	name=$1 release=$2
	shift 2
	[ ! -d "$work/$name" ] || [ "$(cat "$work/$name.list" 2>/dev/null)" != "$release $*" ] || return 0
	rm -rf "$work/$name" "$work/$name.part"
	mkdir -p "$work/$name.part"
	options=
	[ -z "$release" ] || options=$(release_options "$release")
	# shellcheck disable=SC2086 # options
	(cd "$work/$name.part" && apt-get $options download -q "$@" 2>/dev/null >&2) || {
		rm -rf "$work/$name.part"
		echo "vm.sh: cannot download $*: left out" >&2
		return 1
	}
	for package in "$work/$name.part"/*.deb; do
		dpkg-deb -x "$package" "$work/$name.part"
		rm -f "$package"
	done
	mv "$work/$name.part" "$work/$name"
	echo "$release $*" >"$work/$name.list"
}

# Copies the files unpacked by packages_fetch(), without documentation, to a folder that has /bin and /lib.
packages_install() { # NAME FOLDER
	mkdir -p "$2/usr/bin" "$2/usr/lib"
	for name in bin lib; do
		[ -e "$2/$name" ] || ln -s "usr/$name" "$2/$name"
	done
	[ ! -d "$work/$1/lib" ] || cp -a "$work/$1/lib/." "$2/usr/lib"
	(cd "$work/$1" && find . \( -path ./lib -o -path ./usr/share/doc -o -path ./usr/share/man -o \
		-path ./usr/share/locale \) -prune -o ! -type d -print | cpio -pdmu --quiet "$2")
}

# Copies a program and its libraries to the same paths under a root.
install_program() {
	install -D -m 755 "$1" "$root/bin/$(basename "$1")"
	for library in $(libraries_of "$1"); do
		[ -e "$root$library" ] || install -D -m 755 "$library" "$root$library"
	done
}

# Debian 13, whose libraries sign return addresses; and the programs of /bin that do, too.
signed_install() {
	packages_fetch signed trixie libc6 libgcc-s1 libstdc++6 sqlite3 libsqlite3-0 libreadline8t64 \
		libtinfo6 zlib1g liblsan0 || return 0
	packages_install signed "$root/signed"
	mkdir "$root/signed/tmp" "$root/signed/proc"
	for program in $signed holder_lsan; do
		cp "$build/workloads/$program" "$root/signed/bin/"
	done
	cp "$build/truth/backtrace_preload.so" "$root/signed/bin/"
}

# Installs unit tests that qemu's user emulation cannot run (tests/tests.mk), and their programs.
units_install() {
	mkdir -p "$root/unit" "$root/etc"
	echo '127.0.0.1 localhost' >"$root/etc/hosts"
	for unit in $VM_UNITS; do
		install_program "$unit"
		mv "$root/bin/$(basename "$unit")" "$root/unit/"
	done
	find "$root" -name libleakmon.so -exec mv {} "$root/unit/" \;
	packages_fetch binutils "" "binutils-$(echo "$triplet" | tr _ -):$debian" "libbinutils:$debian" || return 0
	for tool in objcopy strip; do
		cp "$work/binutils/usr/bin/$triplet-$tool" "$root/bin/$tool"
	done
	cp "$work/binutils/usr/lib/$triplet"/libbfd*.so "$work/binutils/usr/lib/$triplet"/libsframe.so.0 \
		"$root/lib/$triplet/"
}

# End-to-end tests that run there as they do here, from the folder that they expect.
e2e_install() {
	mkdir -p "$root/build" "$root/tests" "$root/e2e"
	ln -s ../bin/leakmon "$root/build/leakmon"
	ln -s ../bin "$root/build/workloads"
	ln -s ../bin "$root/build/truth"
	cp -a tests/runtimes "$root/tests/"
	for test in $VM_E2E; do
		install_program "$test"
		mv "$root/bin/$(basename "$test")" "$root/e2e/"
	done
	for workload in ${VM_E2E_WORKLOADS:-}; do
		install_program "$workload"
	done
	packages_fetch python "" "libpython3.11-minimal:$debian" "libpython3.11-stdlib:$debian" \
		"python3.11-minimal:$debian" "python3-minimal:$debian" "libexpat1:$debian" "zlib1g:$debian" &&
		packages_install python "$root"
	packages_fetch node "" "nodejs:$debian" "libnode108:$debian" "libbrotli1:$debian" \
		"libc-ares2:$debian" "libicu72:$debian" "libnghttp2-14:$debian" "libssl3:$debian" \
		"libuv1:$debian" "libstdc++6:$debian" "libgcc-s1:$debian" "zlib1g:$debian" node-acorn \
		node-cjs-module-lexer node-undici && packages_install node "$root"
	cache=$PWD/$work/runtimes
	mkdir -p "$cache/go-stories"
	ln -sfn "${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}/go-1.24" \
		"$cache/go-1.24"
	for kind in '1.19 plain' '1.19 stripped' '1.24 plain' '1.24 stripped' '1.24 pie'; do
		# shellcheck disable=SC2086 # two words
		GOARCH=$debian CGO_ENABLED=0 LEAKMON_RUNTIMES=$cache tests/runtimes/go.sh $kind >/dev/null || true
	done
	mkdir -p "$root/runtimes/go-stories"
	find "$cache/go-stories" -name '1.*' -exec cp -a {} "$root/runtimes/go-stories/" \;
}

initramfs_make() {
	root=$PWD/$work/root
	rm -rf "$root"
	mkdir -p "$root/usr/bin" "$root/usr/lib" "$root/proc" "$root/sys" "$root/dev" "$root/tmp" "$root/vm"
	ln -s usr/bin "$root/bin"
	ln -s usr/lib "$root/lib"
	install -m 755 tests/vm/init "$root/init"
	cp tests/vm/*.sh "$root/vm/"
	install -m 755 "$busybox" "$root/bin/busybox"
	echo "${VM_TESTS:-}" >"$root/only"
	ln -s busybox "$root/bin/sh"
	for program in $programs; do
		install_program "$program"
	done
	# Tests of privileges, where this machine has the tools.
	[ "$ARCH" != "$host" ] || [ ! -x /usr/bin/setpriv ] || install_program /usr/bin/setpriv
	PATH=$PATH:/usr/sbin apparmor_parser -QKS --features-file /etc/apparmor.d/abi/3.0 \
		scripts/deploy/leakmon.apparmor >"$root/apparmor.bin" 2>/dev/null || rm -f "$root/apparmor.bin"
	# glibc loads it when a thread is cancelled or calls pthread_exit.
	triplet=$($CC -print-multiarch)
	install -D -m 755 "$($CC -print-file-name=libgcc_s.so.1)" "$root/lib/$triplet/libgcc_s.so.1"
	# Of a program for another machine its loader does not find this one by itself (holder_lsan).
	install -D -m 755 "$($CC -print-file-name=liblsan.so)" "$root/lib/$triplet/liblsan.so.0"
	# A second C library (dlmopen) searches for its loader among the libraries.
	loader=$(readelf -l "$build/leakmon" | sed -n 's/.*interpreter: \(.*\)]/\1/p')
	install -D -m 755 "$loader" "$root/lib/$triplet/$(basename "$loader")"
	for workload in $workloads; do
		install_program "$build/workloads/$workload"
	done
	install_program "$build/truth/compare"
	mv "$root/bin/compare" "$root/bin/truth_compare"
	install -m 755 "$build/truth/backtrace_preload.so" "$root/bin/"
	packages_fetch sqlite3 "" "sqlite3:$debian" "libsqlite3-0:$debian" "libreadline8:$debian" \
		"libtinfo6:$debian" && packages_install sqlite3 "$root"
	[ -z "${VM_UNITS:-}" ] || units_install
	[ -z "$signed" ] || signed_install
	[ -z "${VM_E2E:-}" ] || e2e_install
	(cd "$root" && find . | cpio -o -H newc --quiet -R 0:0) | gzip -1 >"$work/initrd.gz"
}

# Boots $vmlinuz; the log stays in $1. The guest's clock counts its instructions (-icount), 2 ns each:
# on a busy host a guest that goes by the host's clock starves, and its waits end before its work.
boot() {
	# shellcheck disable=SC2086 # a command and its options
	timeout "$timeout" $machine ${VM_OPTIONS:-} -smp 1 -nodefaults \
		-icount shift=1,align=off,sleep=off -display none -serial stdio -no-reboot \
		-kernel "$vmlinuz" -initrd "$work/initrd.gz" \
		-append "console=$console quiet panic=-1 cryptomgr.notests ${VM_APPEND-preempt=full}" </dev/null >"$1" 2>&1
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

[ $# -gt 0 ] || set -- 6.1 6.12 $([ "$ARCH" != arm64 ] || echo 6.12-16k)
passed= failed=
for kernel; do
	row=$(kernel_row "$kernel")
	options=
	[ "${row%% *}" = - ] || options=$(release_options "${row%% *}")
	package=$(kernel_package "$options" "${row#* }")
	if [ -z "$package" ]; then
		echo "vm.sh: no package matches $kernel; try \`apt-get update\`" >&2
		failed="$failed $kernel"
		continue
	fi
	kernel_fetch "$options" "$package"
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
