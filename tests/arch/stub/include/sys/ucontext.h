/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Replaces the C library's: the interrupted location is unknown. */
#ifndef LEAKMON_TESTS_ARCH_STUB_SYS_UCONTEXT_H
#define LEAKMON_TESTS_ARCH_STUB_SYS_UCONTEXT_H

#include <bits/types/sigset_t.h>
#include <bits/types/stack_t.h>

typedef struct {
	unsigned long stub[64];
} mcontext_t;

typedef struct ucontext_t {
	unsigned long uc_flags;
	struct ucontext_t *uc_link;
	stack_t uc_stack;
	mcontext_t uc_mcontext;
	sigset_t uc_sigmask;
} ucontext_t;

#endif
