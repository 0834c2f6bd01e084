/* SPDX-License-Identifier: GPL-2.0-or-later */
/* In place of the C library's: no register that has a name. */
#ifndef LEAKMON_TESTS_ARCH_STUB_SYS_USER_H
#define LEAKMON_TESTS_ARCH_STUB_SYS_USER_H

struct user_regs_struct {
	unsigned long long stub[34];
};

struct user_fpregs_struct {
	unsigned long long stub[66];
};

#endif
