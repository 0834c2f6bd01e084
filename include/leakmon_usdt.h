/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The ABI of USDT probes, which programs carry themselves: where each argument is when a probe is
 * hit. The attach cookie is the index of its struct lm_usdt_spec.
 */
#ifndef LEAKMON_USDT_H
#define LEAKMON_USDT_H

#include "leakmon_abi.h"

enum lm_usdt_operand_kind {
	LM_USDT_CONSTANT, /* `value` */
	LM_USDT_REGISTER, /* base */
	LM_USDT_MEMORY,	  /* the word at base + index * scale + value */
	LM_USDT_OPERAND_MAX_,
};

#define LM_USDT_NO_REGISTER 0xff

struct lm_usdt_operand {
	__s64 value;
	__u8 kind;	  /* enum lm_usdt_operand_kind */
	__u8 size;	  /* bytes: 1, 2, 4, 8 */
	__u8 is_signed;	  /* extend a smaller one by its sign */
	__u8 base, index; /* register numbers in instructions, or LM_USDT_NO_REGISTER */
	__u8 scale;	  /* 1, 2, 4, 8 */
	__u8 padding_[2];
};

/* The arguments of alloc(ptr, size, weight) and free(ptr). */
#define LM_USDT_ARGUMENTS 3

#define LM_USDT_MAX_SPECS 4096

struct lm_usdt_spec {
	struct lm_usdt_operand arguments[LM_USDT_ARGUMENTS];
	__u32 without_free; /* the process reports no frees: nothing is outstanding */
	__u32 padding_;
};

/* One outstanding sample, by struct lm_block_key. */
struct lm_usdt_block {
	struct lm_block block;
	__u64 weight; /* bytes that it represents */
};

/* A larger weight would fit in no address space. */
#define LM_USDT_MAX_WEIGHT (1ull << 46)

/*
 * Computes the blocks and bytes that one sample represents, scaled like the counters of struct
 * lm_site in sampling mode: it was one of weight / size blocks.
 */
#define LM_USDT_BYTES(weight) ((weight) << LM_WEIGHT_SHIFT)
#define LM_USDT_COUNT(weight, size) (LM_USDT_BYTES(weight) / (size))

_Static_assert(sizeof(struct lm_usdt_operand) == 16, "ABI");
_Static_assert(sizeof(struct lm_usdt_spec) == 56, "ABI");
_Static_assert(sizeof(struct lm_usdt_block) == 32, "ABI");

#endif
