/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The disassembler without one processor's instructions, for the arch room's shared half. */
#ifndef LEAKMON_TESTS_ARCH_STUB_CAPSTONE_H
#define LEAKMON_TESTS_ARCH_STUB_CAPSTONE_H

#define CAPSTONE_X86_H
#define CAPSTONE_ARM64_H
typedef struct cs_x86 {
	int stub;
} cs_x86;
typedef struct cs_arm64 {
	int stub;
} cs_arm64;

#include_next <capstone/capstone.h>

#endif
