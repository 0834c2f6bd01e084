/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared data on probes that programs carry (USDT): the places of the arguments when one is
 * reached. The attach cookie is the index of its struct lm_usdt_spec.
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
	__u8 is_signed;	  /* a smaller one is extended by its sign */
	__u8 base, index; /* by their numbers in instructions, or LM_USDT_NO_REGISTER */
	__u8 scale;	  /* 1, 2, 4, 8 */
	__u8 padding_[2];
};

/* alloc(ptr, size, weight), free(ptr) */
#define LM_USDT_ARGUMENTS 3

#define LM_USDT_MAX_SPECS 4096

struct lm_usdt_spec {
	struct lm_usdt_operand arguments[LM_USDT_ARGUMENTS];
	__u32 without_free; /* its process reports no free: nothing is outstanding */
	__u32 padding_;
};

/* One outstanding sample, by struct lm_block_key. */
struct lm_usdt_block {
	struct lm_block block;
	__u64 weight; /* how many bytes it stands for */
};

/* More than that would fit in no address space. */
#define LM_USDT_MAX_WEIGHT (1ull << 46)

/*
 * The blocks and bytes represented by one sample, scaled as the counters of struct lm_site in
 * sampling mode: it was one of weight / size blocks.
 */
#define LM_USDT_BYTES(weight) ((weight) << LM_WEIGHT_SHIFT)
#define LM_USDT_COUNT(weight, size) (LM_USDT_BYTES(weight) / (size))

_Static_assert(sizeof(struct lm_usdt_operand) == 16, "ABI");
_Static_assert(sizeof(struct lm_usdt_spec) == 56, "ABI");
_Static_assert(sizeof(struct lm_usdt_block) == 32, "ABI");

#endif
