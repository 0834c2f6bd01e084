// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/pages.h"

#include <errno.h>
#include <immintrin.h>

#include "base/cleanup.h"
#include "base/hash.h"

/* What is made of the words of one page. */

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

/* Mappings change from one reading to the next; what is known of their pages stays known. */

/* Both tables ascend: the place in the older one moves on only. */
static void inherit_range(struct page_table *table, const struct page_range *range,
			  const struct page_table *older, size_t *at)
{
	for (; *at < older->ranges.count && older->ranges.items[*at].start < range->end; (*at)++) {
		const struct page_range *old = &older->ranges.items[*at];
		uint64_t start = MAX(old->start, range->start), end = MIN(old->end, range->end);

		if (start < end && !old->unseen && old->file == range->file)
			memcpy(&table->pages[range->first + (start - range->start) / MEMORY_PAGE],
			       &older->pages[old->first + (start - old->start) / MEMORY_PAGE],
			       (end - start) / MEMORY_PAGE * sizeof(struct page));
		/* It may reach into the next range, too. */
		if (old->end > range->end)
			break;
	}
}

int pages_inherit(struct page_table *table, struct page_table *older)
{
	size_t at = 0;

	for (size_t i = 0; i < table->ranges.count; i++) {
		if (!table->ranges.items[i].unseen)
			inherit_range(table, &table->ranges.items[i], older, &at);
	}
	table->found = older->found;
	older->found = (struct found_words){0};
	free(table->mapped.items);
	memcpy(&table->mapped, &older->mapped, sizeof(table->mapped));
	memset(&older->mapped, 0, sizeof(older->mapped));
	table->swapped = older->swapped;
	return 0;
}

int found_reserve(struct found_words *found, size_t more)
{
	size_t wanted = found->count + more, grown = MAX(found->capacity, (size_t)4096);
	uint64_t *moved;

	if (wanted <= found->capacity)
		return 0;
	if (wanted > UINT32_MAX)
		return -ENOMEM;
	while (grown < wanted)
		grown += grown / 2;
	moved = reallocarray(found->items, grown, sizeof(*moved));
	if (!moved)
		return -ENOMEM;
	found->items = moved;
	found->capacity = grown;
	return 0;
}

int pages_prepare(struct page_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < table->ranges.count; i++) {
		struct page_range *range = &table->ranges.items[i];

		range->first = count;
		if (!range->unseen)
			count += (range->end - range->start) / MEMORY_PAGE;
	}
	table->pages = calloc(count + 1, sizeof(*table->pages));
	table->count = count;
	return table->pages ? 0 : -ENOMEM;
}

bool page_is_wanted(const struct page_range *range, uint64_t entry)
{
	return pagemap_is_present(entry) && !(range->file && pagemap_is_shared(entry));
}

/* One page of a window that was read. */
static int take_page(struct page_table *table, const struct page_scan *scan,
		     const struct page_range *range, uint64_t address, const uint64_t *words)
{
	struct page *page = &table->pages[range->first + (address - range->start) / MEMORY_PAGE];
	struct mapped_chunk chunk, *kept;
	int error = found_reserve(&table->found, PAGE_WORDS);

	if (error)
		return error;
	page->hash = page_hash(words);
	page->flags = PAGE_WAS_READ;
	page->first = (uint32_t)table->found.count;
	page->count =
		(uint16_t)page_find(scan->filter, words, table->found.items + table->found.count);
	table->found.count += page->count;
	if (range->file ||
	    !page_has_mapped_chunk(address, words, MAX(range->end, range->reach), &chunk))
		return 0;
	kept = vec_push(&table->mapped);
	if (!kept)
		return -ENOMEM;
	*kept = chunk;
	return 0;
}

/* A run of present pages: as far as it can be read. */
static int read_run(struct page_table *table, const struct page_scan *scan,
		    const struct page_range *range, uint64_t address, struct page_window *window,
		    size_t count)
{
	ssize_t got = memory_read(scan->task, address, window->words, count * MEMORY_PAGE);
	int error = 0;

	/* Unmapped meanwhile. */
	if (got == -EFAULT)
		return 0;
	if (got < 0)
		return (int)got;
	count = (size_t)got / MEMORY_PAGE;
	for (size_t i = 0; !error && i < count; i++)
		error = take_page(table, scan, range, address + i * MEMORY_PAGE,
				  window->words + i * PAGE_WORDS);
	if (!error && scan->visit && count)
		scan->visit(scan->context, address, window->words, count * PAGE_WORDS);
	return error;
}

static int read_window(struct page_table *table, const struct page_scan *scan,
		       const struct page_range *range, uint64_t address, struct page_window *window)
{
	size_t count = MIN((range->end - address) / MEMORY_PAGE, WINDOW_PAGES);
	int error = 0;

	pagemap_read(scan->pagemap, address, window->entries, count);
	for (size_t i = 0; !error && i < count;) {
		size_t run = 0;

		if (pagemap_is_swapped(window->entries[i]) &&
		    !pagemap_is_present(window->entries[i])) {
			size_t place = (address - range->start) / MEMORY_PAGE + i;

			table->pages[range->first + place].flags = PAGE_SWAPPED;
			table->swapped++;
		}
		while (i + run < count && page_is_wanted(range, window->entries[i + run]))
			run++;
		if (run)
			error = read_run(table, scan, range, address + i * MEMORY_PAGE, window,
					 run);
		i += MAX(run, 1u);
	}
	return error;
}

int pages_read(struct page_table *table, const struct page_scan *scan)
{
	_cleanup_free_ struct page_window *window = malloc(sizeof(*window));
	int error = window ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < table->ranges.count; i++) {
		const struct page_range *range = &table->ranges.items[i];

		for (uint64_t at = range->start; !error && !range->unseen && at < range->end;
		     at += WINDOW_PAGES * MEMORY_PAGE)
			error = read_window(table, scan, range, at, window);
	}
	return error;
}

const struct page_range *pages_range_of(const struct page_table *table, uint64_t address)
{
	size_t low = 0, high = table->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->ranges.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < table->ranges.count && table->ranges.items[low].start <= address)
		return &table->ranges.items[low];
	return NULL;
}

struct page *pages_find(const struct page_table *table, uint64_t address)
{
	const struct page_range *range = pages_range_of(table, address);

	if (!range || range->unseen)
		return NULL;
	return &table->pages[range->first + (address - range->start) / MEMORY_PAGE];
}

bool page_is_surely_present(const struct page_table *table, uint64_t address)
{
	const struct page *page = pages_find(table, address);

	return page && (page->flags & (PAGE_WAS_READ | PAGE_UNCHECKED)) == PAGE_WAS_READ;
}

void pages_free(struct page_table *table)
{
	vec_free(&table->ranges);
	vec_free(&table->mapped);
	free(table->pages);
	free(table->found.items);
	*table = (struct page_table){0};
}
