#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
#
# check_arch.sh: registers, instructions and the ABI of one processor are named in user/binary/arch/ARCH and
# in bpf/arch/ARCH, and nowhere else: a second processor is two folders, not a hunt. This looks for
# words, also in comments; `make check-arch` compiles everything against a processor that is made up.
set -eu
cd "$(dirname "$0")/.."

registers='[er](ax|bx|cx|dx|si|di|bp|sp|ip)|r(8|9|1[0-5])|orig_rax|[er]flags|xmm[0-9]+|fs_?base'
arm='[xw](0|[2-9]|[12][0-9]|30)|tpidr_el0|pstate|paci[ab]sp|arm64|aarch64|ARM64_[A-Z0-9_]+|EM_AARCH64|A64_[A-Z0-9_]+|a64_[a-z_]+'
names="$registers|$arm|x86|x86_64|amd64|X86_[A-Z0-9_]+|cs_(x86|insn|regs)[a-z_]*|csh|EM_X86_64|int3"

# \x86 in a string is a byte.
if grep -rnE "(^|[^A-Za-z0-9_\\])($names)([^A-Za-z0-9_]|$)" user bpf include --include='*.[ch]' |
	grep -vE '^(user/binary|bpf)/arch/'; then
	echo "these lines belong into user/binary/arch/ or bpf/arch/" >&2
	exit 1
fi

# Unsupported targets are refused with a message, by the sources and by the Makefile.
for target in i386-linux-gnu arm-linux-gnueabihf aarch64_be-linux-gnu x86_64-linux-gnux32; do
	# shellcheck disable=SC2086 # a compiler, possibly run by another program
	if ! ${CLANG:-clang} --target="$target" -E -x c user/main.c 2>&1 >/dev/null |
		grep -q 'error: "leakmon is built for 64-bit little-endian processors only"'; then
		echo "user/main.c: compiles for $target" >&2
		exit 1
	fi
done
for machine in i686 armv7l aarch64_be; do
	if make -s HOST="$machine" -n all >/dev/null 2>&1 ||
		! make -s HOST="$machine" -n all 2>&1 | grep -q "leakmon has no user/binary/arch/$machine: it runs on"; then
		echo "Makefile: $machine is not refused" >&2
		exit 1
	fi
done
