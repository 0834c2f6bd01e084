// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/lanes.h"

#include <immintrin.h>

__attribute__((target("avx2"))) static void sum_wide(const uint64_t *words, size_t count,
						     const uint64_t *first, uint64_t *out)
{
	const __m256i *in = (const __m256i *)words, *start = (const __m256i *)first;
	__m256i keys[2] = {start[0], start[1]}, sums[2] = {start[1], start[0]};
	const __m256i step = _mm256_set1_epi64x((int64_t)LANES_KEY_STEP);

	for (size_t i = 0; i < count / LANES; i++) {
		for (size_t j = 0; j < 2; j++) {
			__m256i word = _mm256_loadu_si256(in++), mixed = word ^ keys[j];

			__m256i product = _mm256_mul_epu32(mixed, _mm256_srli_epi64(mixed, 32));
			__m256i turned = _mm256_shuffle_epi32(word, _MM_SHUFFLE(1, 0, 3, 2));

			sums[j] = _mm256_add_epi64(sums[j], _mm256_add_epi64(product, turned));
			keys[j] = _mm256_add_epi64(keys[j], step);
		}
	}
	_mm256_store_si256((__m256i *)out, sums[0]);
	_mm256_store_si256((__m256i *)out + 1, sums[1]);
}

static void sum_narrow(const uint64_t *words, size_t count, const uint64_t *first, uint64_t *out)
{
	const __m128i *in = (const __m128i *)words, *start = (const __m128i *)first;
	__m128i keys[4] = {start[0], start[1], start[2], start[3]};
	__m128i sums[4] = {start[2], start[3], start[0], start[1]};
	const __m128i step = _mm_set1_epi64x((int64_t)LANES_KEY_STEP);

	for (size_t i = 0; i < count / LANES; i++) {
		for (size_t j = 0; j < 4; j++) {
			__m128i word = _mm_loadu_si128(in++), mixed = word ^ keys[j];

			__m128i product = _mm_mul_epu32(mixed, _mm_srli_epi64(mixed, 32));
			__m128i turned = _mm_shuffle_epi32(word, _MM_SHUFFLE(1, 0, 3, 2));

			sums[j] = _mm_add_epi64(sums[j], _mm_add_epi64(product, turned));
			keys[j] = _mm_add_epi64(keys[j], step);
		}
	}
	for (size_t j = 0; j < 4; j++)
		_mm_store_si128((__m128i *)out + j, sums[j]);
}

void lanes_sum(const uint64_t *words, size_t count, const uint64_t keys[LANES],
	       uint64_t sums[LANES])
{
	if (__builtin_cpu_supports("avx2"))
		sum_wide(words, count, keys, sums);
	else
		sum_narrow(words, count, keys, sums);
}
