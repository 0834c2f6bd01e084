/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sampling that stays unbiased: an allocation of S bytes is kept with a probability p that depends
 * on S alone, and then weighs 1/p blocks and S/p bytes.
 *
 *   --sample-rate N   p = 1/N
 *   --sample-bytes R  p = 1 - e^(-S/R): the chance that a Poisson process over the bytes, with
 *                     mean R, hits the block (tcmalloc's and Go's heap profile)
 */
#ifndef LEAKMON_BPF_SAMPLE_H
#define LEAKMON_BPF_SAMPLE_H

#include "maps.bpf.h"

#define SAMPLE_CERTAIN (1ull << 32)

static __always_inline bool sampling(void)
{
	return sample_rate > 1 || sample_bytes;
}

/* e^-(size / sample_bytes) in 32-bit fixed point, hexadecimal digit by digit. */
static __always_inline u64 sample_miss(u64 size)
{
	u64 x = (size << 32) / sample_bytes;
	u64 product = SAMPLE_CERTAIN;
	u32 whole = (x >> 32) & 31;

	if (whole)
		product = exp_table[0][whole];
	for (u32 i = 1; i <= 8; i++) {
		u32 digit = (x >> (32 - 4 * i)) & 15;

		/* e^0 is left out: it does not fit 32 bits, and multiplying by it would round. */
		if (digit)
			product = product * exp_table[i][digit] >> 32;
	}
	return product;
}

/* The probability of keeping a block, in 32-bit fixed point. */
static __always_inline u64 sample_probability(u64 size)
{
	u64 miss;

	if (sample_rate > 1)
		return SAMPLE_CERTAIN / sample_rate;
	if (!sample_bytes || size >= 31 * sample_bytes)
		return SAMPLE_CERTAIN;
	if (!size)
		size = 1; /* an empty block still occupies the allocator's smallest one */
	miss = sample_miss(size);
	return miss < SAMPLE_CERTAIN ? SAMPLE_CERTAIN - miss : 1;
}

static __always_inline bool sample_keeps(u64 size)
{
	return !sampling() || bpf_get_prandom_u32() < sample_probability(size);
}

/*
 * Returns the number of blocks that a kept one represents, scaled by 2^LM_WEIGHT_SHIFT; without
 * sampling: 1, unscaled.
 */
static __always_inline u64 sample_weight(u64 size)
{
	u64 probability;

	if (!sampling())
		return 1;
	probability = sample_probability(size);
	return probability ? (SAMPLE_CERTAIN << LM_WEIGHT_SHIFT) / probability : 1;
}

#endif
