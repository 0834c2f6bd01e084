// SPDX-License-Identifier: GPL-2.0-or-later
/* Planted: must not compile for another processor. */
#include "kernel.h"

u64 planted(const struct pt_regs *ctx)
{
	return ctx->rsp;
}
