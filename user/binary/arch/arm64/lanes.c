// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/lanes.h"

#include <arm_neon.h>

/* Adds one word to each of two lanes. */
static inline void take(const uint64_t *words, uint64x2_t *key, uint64x2_t *sum)
{
	uint64x2_t word = vld1q_u64(words), mixed = veorq_u64(word, *key);
	uint64x2_t product = vmull_u32(vmovn_u64(mixed), vshrn_n_u64(mixed, 32));

	*sum = vaddq_u64(*sum, vaddq_u64(product, vextq_u64(word, word, 1)));
	*key = vaddq_u64(*key, vdupq_n_u64(LANES_KEY_STEP));
}

void lanes_sum(const uint64_t *words, size_t count, const uint64_t keys[LANES],
	       uint64_t sums[LANES])
{
	uint64x2_t key[LANES / 2], sum[LANES / 2];

	for (size_t j = 0; j < LANES / 2; j++) {
		key[j] = vld1q_u64(keys + 2 * j);
		sum[j] = vld1q_u64(keys + (2 * j + LANES / 2) % LANES);
	}
	for (size_t i = 0; i < count; i += LANES) {
		for (size_t j = 0; j < LANES / 2; j++)
			take(words + i + 2 * j, &key[j], &sum[j]);
	}
	for (size_t j = 0; j < LANES / 2; j++)
		vst1q_u64(sums + 2 * j, sum[j]);
}
