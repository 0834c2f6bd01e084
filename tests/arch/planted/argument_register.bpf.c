// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include "kernel.h"

/* The fourth argument of a function, which is another register than that of a system call. */
u64 planted(const struct pt_regs *ctx)
{
	return ctx->rcx;
}
