/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Reads a call's arguments from the places that its probe's cookie names. */
#ifndef LEAKMON_BPF_ARGUMENTS_H
#define LEAKMON_BPF_ARGUMENTS_H

#include "kernel.h"

/* Returns the 64-bit product; an overflow becomes a size that no allocator can serve. */
static __always_inline u64 product(u64 count, u64 size)
{
	u64 limit;

	if (!size)
		return 0;
	limit = ~0ull / size;
	barrier_var(limit); /* or clang emits a 128-bit multiplication, which BPF lacks */
	return count > limit ? ~0ull : count * size;
}

/* Returns the operand that the cookie names at `shift`, or 0. */
static __always_inline u64 operand_at(struct pt_regs *ctx, u64 cookie, u32 shift)
{
	u32 operand = cookie >> shift & LM_COOKIE_OPERAND_MASK;

	return operand ? register_at(ctx, operand - 1) : 0;
}

/* Returns the requested bytes: a size, or a count times a size, as the cookie says. */
static __always_inline u64 cookie_size(struct pt_regs *ctx, u64 cookie)
{
	u64 size = operand_at(ctx, cookie, LM_COOKIE_SIZE_SHIFT);

	if (!(cookie >> LM_COOKIE_COUNT_SHIFT & LM_COOKIE_OPERAND_MASK))
		return size;
	return product(operand_at(ctx, cookie, LM_COOKIE_COUNT_SHIFT), size);
}

#endif
