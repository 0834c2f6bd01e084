// SPDX-License-Identifier: GPL-2.0-or-later
/* What is made of the words of one page. */
#include <immintrin.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "retain/pages.h"

#define LANES 8
#define CHUNK_FLAGS 7ull
#define CHUNK_IS_MAPPED 2ull

/*
 * Each word is multiplied, half by half, with a key that depends on where it stands, and added to
 * its neighbour's sum too, so that no word is lost where a half is zero. Made to be as fast as
 * memory: a process stands still meanwhile. Not for use against an adversary.
 */
static const uint64_t first_keys[LANES] __attribute__((aligned(32))) = {
	0x9e3779b97f4a7c15ull, 0xbf58476d1ce4e5b9ull, 0x94d049bb133111ebull, 0xff51afd7ed558ccdull,
	0xc4ceb9fe1a85ec53ull, 0xd6e8feb86659fd93ull, 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull,
};
#define KEY_STEP 0x9fb21c651e98df25ull

static uint64_t fold(const uint64_t *sums)
{
	uint64_t hash = 0;

	for (size_t i = 0; i < LANES; i++)
		hash = hash_mix(hash ^ sums[i]);
	return hash;
}

__attribute__((target("avx2"))) static uint64_t hash_wide(const uint64_t *words)
{
	const __m256i *in = (const __m256i *)words, *start = (const __m256i *)first_keys;
	__m256i keys[2] = {start[0], start[1]}, sums[2] = {start[1], start[0]};
	const __m256i step = _mm256_set1_epi64x((int64_t)KEY_STEP);
	uint64_t out[LANES] __attribute__((aligned(32)));

	for (size_t i = 0; i < PAGE_WORDS / LANES; i++) {
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
	return fold(out);
}

static uint64_t hash_narrow(const uint64_t *words)
{
	const __m128i *in = (const __m128i *)words, *start = (const __m128i *)first_keys;
	__m128i keys[4] = {start[0], start[1], start[2], start[3]};
	__m128i sums[4] = {start[2], start[3], start[0], start[1]};
	const __m128i step = _mm_set1_epi64x((int64_t)KEY_STEP);
	uint64_t out[LANES] __attribute__((aligned(16)));

	for (size_t i = 0; i < PAGE_WORDS / LANES; i++) {
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
	return fold(out);
}

uint64_t page_hash(const uint64_t *words)
{
	return __builtin_cpu_supports("avx2") ? hash_wide(words) : hash_narrow(words);
}

size_t page_find(const struct filter *filter, const uint64_t *words, uint64_t *found)
{
	size_t count = 0;

	for (size_t i = 0; i < PAGE_WORDS; i++) {
		if (filter_has(filter, words[i]))
			found[count++] = found_pack(words[i], i);
	}
	return count;
}

/* prev_size of such a chunk is how far behind the start of its mapping it lies (memalign). */
static bool is_mapped_header(uint64_t distance, const uint64_t *header, uint64_t room)
{
	uint64_t size = header[1] & ~CHUNK_FLAGS;

	return (header[1] & CHUNK_FLAGS) == CHUNK_IS_MAPPED &&
	       header[0] % MEMORY_PAGE == distance && size >= MEMORY_PAGE - distance &&
	       size <= room && (header[0] + size) % MEMORY_PAGE == 0;
}

bool page_has_mapped_chunk(uint64_t page, const uint64_t *words, uint64_t range_end,
			   struct mapped_chunk *chunk)
{
	/*
	 * At the front, or 16 bytes before an aligned address: then the one at the front may have
	 * stayed there too, so the last one is asked first.
	 */
	for (uint64_t align = MEMORY_PAGE; align >= 16; align /= 2) {
		uint64_t distance = align - 16;
		const uint64_t *header = words + distance / 8;

		if (!is_mapped_header(distance, header, range_end - page - distance) ||
		    (distance != MEMORY_PAGE - 16 && header[0] != distance))
			continue;
		*chunk = (struct mapped_chunk){page + distance, header[1] & ~CHUNK_FLAGS, page};
		return true;
	}
	return false;
}
