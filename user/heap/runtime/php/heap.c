// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * zend_mm (Zend/zend_alloc.c, zend_alloc_sizes.h): chunks of 2 MiB, whose first page describes the
 * others; large blocks of whole pages, small ones of 30 sizes, huge ones in a list. A heap checks
 * itself: the size that it has handed out equals the sum of its blocks.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/search.h"
#include "heap/runtime/php/php.h"

#define PAGES (PHP_CHUNK_BYTES / MEMORY_PAGE)
#define BINS 30
#define BLOCK_WORK 8 /* heads of chunks may describe absent memory */

/* zend_mm_chunk */
#define CHUNK_NEXT 8
#define CHUNK_FREE_PAGES 24
#define FREE_MAP_BYTES (PAGES / 8) /* precedes the map of pages */
/* limits of the map's offset: in the first page, behind the heap's slot */
#define PAGE_MAP_FIRST 256
#define PAGE_MAP_LAST (MEMORY_PAGE - PAGES * 4)

/* zend_mm_page_info */
#define PAGE_KIND 0xc0000000u
#define PAGE_LARGE 0x40000000u
#define PAGE_SMALL 0x80000000u
#define LARGE_PAGES(info) ((info)&0x3ffu)
#define SMALL_BIN(info) ((info)&0x1fu)

/* zend_mm_heap; huge_list, main_chunk, cached_chunks, chunks_count are adjacent; releases within a
 * version have moved them. */
#define HEAP_SIZE 16
#define MAIN_CHUNK_WORDS 24
/* zend_mm_huge_list */
#define HUGE_SIZE 8
#define HUGE_NEXT 16

static const struct bin {
	uint16_t bytes, pages;
} bins[BINS] = {
	{8, 1},	   {16, 1},   {24, 1},	 {32, 1},   {40, 1},   {48, 1},	  {56, 1},  {64, 1},
	{80, 1},   {96, 1},   {112, 1},	 {128, 1},  {160, 1},  {192, 1},  {224, 1}, {256, 1},
	{320, 5},  {384, 3},  {448, 1},	 {512, 1},  {640, 5},  {768, 3},  {896, 2}, {1024, 2},
	{1280, 5}, {1536, 3}, {1792, 7}, {2048, 4}, {2560, 5}, {3072, 3},
};

/* Returns whether an address may be a heap: it is in one of its chunks, all of which lead to it. */
static bool is_heap(uint64_t heap)
{
	return heap > PHP_CHUNK_BYTES && heap % PHP_CHUNK_BYTES == PHP_CHUNK_HEAP;
}

static bool find_main_chunk(struct php *php)
{
	uint64_t main = php->heap - PHP_CHUNK_HEAP, place = php->heap + php->layout->real_size;

	for (int i = 0; i < MAIN_CHUNK_WORDS; i++, place += 8) {
		if (php_word(php, place) != main)
			continue;
		php->main_chunk = place;
		php->huge_list = php_word(php, place - 8);
		return true;
	}
	return false;
}

/* Returns whether it is a map of pages: the first page is in use, as a separate large block; the
 * number of free pages equals the chunk's count. */
static bool is_page_map(const struct php *php, uint64_t chunk, uint32_t place)
{
	uint64_t used[FREE_MAP_BYTES / 8];
	uint32_t count = 0;

	if (php_half(php, chunk + place) != (PAGE_LARGE | 1) ||
	    target_read(php->memory, chunk + place - FREE_MAP_BYTES, used, sizeof(used)))
		return false;
	for (size_t i = 0; i < FREE_MAP_BYTES / 8; i++)
		count += (uint32_t)__builtin_popcountll(used[i]);
	return used[0] & 1 && count + php_half(php, chunk + CHUNK_FREE_PAGES) == PAGES;
}

int php_find_heap(struct php *php, const char **why)
{
	uint64_t stack = php_word(php, php->globals + PHP_STACK);

	*why = "zend_mm's heap is not found: USE_ZEND_ALLOC=0, or another build of it";
	php->heap = php_word(php, stack & ~(PHP_CHUNK_BYTES - 1));
	if (!is_heap(php->heap) || php_word(php, php->heap - PHP_CHUNK_HEAP) != php->heap ||
	    php_half(php, php->heap) || !find_main_chunk(php))
		return -ENOENT;
	for (uint32_t place = PAGE_MAP_FIRST; place <= PAGE_MAP_LAST; place += 4) {
		if (is_page_map(php, php->heap - PHP_CHUNK_HEAP, place)) {
			php->page_map = place;
			return 0;
		}
	}
	return php->memory->again ? -EAGAIN : -ENOENT;
}

/* Blocks. */

static int compare_chunks(const void *left_pointer, const void *right_pointer)
{
	const uint64_t *left = left_pointer, *right = right_pointer;

	return *left < *right ? -1 : *left > *right;
}

/* Finds the chunks. 0; -ENOENT: no ring of as many as the heap counts; -ENOMEM. */
static int find_chunks(struct php *php)
{
	uint64_t main = php->heap - PHP_CHUNK_HEAP, at = main;
	uint32_t count = php_half(php, php->main_chunk + 16);
	struct loop loop = {0};

	do {
		uint64_t *added;

		if (at % PHP_CHUNK_BYTES || loop_found(&loop, at) || php_word(php, at) != php->heap)
			return -ENOENT;
		added = vec_push(&php->chunks);
		if (!added)
			return -ENOMEM;
		*added = at;
		at = php_word(php, at + CHUNK_NEXT);
	} while (at != main);
	qsort(php->chunks.items, php->chunks.count, sizeof(at), compare_chunks);
	return php->chunks.count == count ? 0 : -ENOENT;
}

static int add_block(struct php *php, uint64_t start, uint64_t bytes)
{
	struct php_block *block;

	if (!target_memory_work(php->memory, BLOCK_WORK))
		return 0;
	block = vec_push(&php->blocks);
	if (!block)
		return -ENOMEM;
	*block = (struct php_block){start, (uint32_t)(bytes / PHP_BLOCK_UNIT), PHP_BLOCK_OWN};
	return 0;
}

static int add_small(struct php *php, uint64_t start, const struct bin *bin)
{
	int error = 0;

	for (uint64_t at = 0; !error && at + bin->bytes <= bin->pages * MEMORY_PAGE;
	     at += bin->bytes)
		error = add_block(php, start + at, bin->bytes);
	return error;
}

static int read_chunk(struct php *php, uint64_t chunk)
{
	uint64_t used[FREE_MAP_BYTES / 8];
	uint32_t map[PAGES], pages;
	int error = 0;

	if (target_read(php->memory, chunk + php->page_map - FREE_MAP_BYTES, used, sizeof(used)) ||
	    target_read(php->memory, chunk + php->page_map, map, sizeof(map))) {
		php->nonsense++;
		return 0;
	}
	for (uint32_t i = 1; !error && i < PAGES; i += pages) {
		uint64_t start = chunk + i * MEMORY_PAGE;
		uint32_t kind = map[i] & PAGE_KIND;

		pages = 1;
		if (!(used[i / 64] >> i % 64 & 1))
			continue;
		if (kind == PAGE_SMALL && SMALL_BIN(map[i]) < BINS)
			pages = bins[SMALL_BIN(map[i])].pages;
		else if (kind == PAGE_LARGE && LARGE_PAGES(map[i]))
			pages = LARGE_PAGES(map[i]);
		else
			pages = UINT16_MAX;
		if (pages > PAGES - i) {
			php->nonsense++;
			pages = 1;
			continue;
		}
		error = kind == PAGE_LARGE ? add_block(php, start, pages * MEMORY_PAGE)
					   : add_small(php, start, &bins[SMALL_BIN(map[i])]);
	}
	return error;
}

static int add_huge(struct php *php, uint64_t *bytes)
{
	struct loop loop = {0};
	int error = 0;

	for (uint64_t at = php->huge_list; !error && at && !loop_found(&loop, at);
	     at = php_word(php, at + HUGE_NEXT)) {
		uint64_t start = php_word(php, at), size = php_word(php, at + HUGE_SIZE);

		if (start % PHP_CHUNK_BYTES || size % MEMORY_PAGE ||
		    size / PHP_BLOCK_UNIT > UINT32_MAX ||
		    target_room(php->memory, start, size) < size) {
			php->nonsense++;
			continue;
		}
		*bytes += size;
		error = add_block(php, start, size);
	}
	return error;
}

static int compare_blocks(const void *left_pointer, const void *right_pointer)
{
	const struct php_block *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static struct php_block *find_block(const struct php *php, uint64_t address)
{
	size_t place =
		SORTED_BEFORE(block, php->blocks.items, php->blocks.count, block->start <= address);
	struct php_block *block = place ? &php->blocks.items[place - 1] : NULL;

	return block && address - block->start < (uint64_t)block->units * PHP_BLOCK_UNIT ? block
											 : NULL;
}

struct php_block *php_block_at(const struct php *php, uint64_t address)
{
	struct php_block *block = find_block(php, address);

	return block && block->class != PHP_BLOCK_FREE ? block : NULL;
}

/* Marks free blocks, which are in one list per size. */
static void mark_free(struct php *php)
{
	for (uint32_t i = 0; i < BINS; i++) {
		uint64_t at = php_word(php, php->heap + php->layout->free_slots + i * 8ull);

		while (at) {
			struct php_block *block = php_block_at(php, at);

			if (!block || block->start != at ||
			    block->units * PHP_BLOCK_UNIT != bins[i].bytes) {
				php->nonsense++;
				break;
			}
			block->class = PHP_BLOCK_FREE;
			at = php_word(php, at);
		}
	}
}

/* Returns whether the sizes add up, but for one block that may be being allocated or freed. */
static bool adds_up(const struct php *php, const struct walk_report *report)
{
	uint64_t used = php_word(php, php->heap + HEAP_SIZE);
	uint64_t found = report->heap_bytes - report->free_bytes;

	return (used > found ? used - found : found - used) <= bins[BINS - 1].bytes;
}

int php_read_blocks(struct php *php, struct walk_report *report)
{
	uint64_t used = 0, huge = 0;
	int error = find_chunks(php);

	if (error == -ENOENT) {
		report->why = "zend_mm's chunks contradict its own count of them";
		return php->memory->again ? -EAGAIN : error;
	}
	for (size_t i = 0; !error && i < php->chunks.count; i++)
		error = read_chunk(php, php->chunks.items[i]);
	if (!error)
		error = add_huge(php, &huge);
	if (error)
		return error;
	if (huge)
		qsort(php->blocks.items, php->blocks.count, sizeof(*php->blocks.items),
		      compare_blocks);
	mark_free(php);
	for (size_t i = 0; i < php->blocks.count; i++) {
		if (php->blocks.items[i].class != PHP_BLOCK_FREE)
			used += (uint64_t)php->blocks.items[i].units * PHP_BLOCK_UNIT;
	}
	report->heap_bytes = php->chunks.count * PHP_CHUNK_BYTES + huge;
	report->free_bytes = report->heap_bytes - MIN(used, report->heap_bytes);
	if (adds_up(php, report))
		return 0;
	if (php->memory->again)
		return -EAGAIN;
	report->why = "zend_mm's blocks do not add up to its own usage: some are missing";
	return 0;
}

/* Which mappings are it. */

/*
 * Returns whether an aligned address belongs to zend_mm: malloc's large blocks begin with 0 and a
 * size with a flag; zend_mm's chunks and huge blocks, the only others so aligned, with a heap or
 * their data.
 */
static bool is_of_zend_mm(struct peek *peek, uint64_t address)
{
	uint64_t words[2];

	return !peek_words(peek, address, words, 2) && (words[0] || (words[1] & 7) != 2);
}

double php_chunks_share(const void *state, const struct mapping *mapping, struct peek *peek)
{
	uint64_t at = (mapping->start + PHP_CHUNK_BYTES - 1) & ~(PHP_CHUNK_BYTES - 1), found = 0;

	(void)state;
	for (; at < mapping->end; at += PHP_CHUNK_BYTES) {
		if (is_of_zend_mm(peek, at))
			found += MIN(mapping->end - at, PHP_CHUNK_BYTES);
	}
	return (double)found / (double)(mapping->end - mapping->start);
}
