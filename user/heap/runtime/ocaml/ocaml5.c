// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * OCaml 5: each domain has a heap of pools of equal-sized blocks, and of large blocks from malloc,
 * and a minor heap. Checks: a domain's heap leads back to the domain; its pools and large blocks
 * match its statistics; the blocks of a minor heap end where it does. The domains of a stripped
 * program are in the only table in its data that leads to such a domain.
 *
 * Sources: runtime/shared_heap.c, domain.c, caml/domain_state.tbl, caml/fiber.h,
 * caml/sizeclasses.h, of 5.0 to 5.4.
 */
#include "heap/runtime/ocaml/ocaml.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_image.h"

/* caml_domain_state, in words; members common to all versions. */
#define DOMAIN_BYTES (64 * 8)
#define DOMAIN_YOUNG_POINTER 1
#define DOMAIN_YOUNG_START 2
#define DOMAIN_YOUNG_END 3
#define DOMAIN_YOUNG_TRIGGER 4 /* since 5.1; in the minor heap */

/* Differences between versions: word offsets in caml_domain_state; for the table of domains, the
 * bytes of an entry before the domain, and whether the table itself is in the program's data. */
struct ocaml5_layout {
	uint8_t current_stack, c_stack, stack_cache, free_registers, registers, minor_tables,
		mark_stack, ephemerons, finalisers, last_exception, heap, local_storage, writer,
		reader;
	uint8_t entry_head;
	bool table_in_data, trigger;
};

/* In the order of its members. */
static const struct ocaml5_layout layouts[] = {
	/* 5.3 */
	{5, 8, 9, 10, 11, 12, 13, 21, 22, 26, 35, 38, 46, 47, 8, false, true},
	/* 5.1 and 5.2 */
	{5, 8, 9, 10, 11, 12, 13, 20, 21, 25, 34, 37, 45, 46, 8, true, true},
	/* 5.4 */
	{5, 8, 9, 10, 11, 12, 13, 25, 26, 30, 39, 42, 50, 51, 16, false, true},
	/* 5.0 */
	{4, 7, 8, 9, 10, 11, 12, 21, 22, 26, 34, 40, 45, 46, 8, true, false},
};

/* In extern.c and intern.c, struct caml_extern_state and caml_intern_state: offsets of stacks and a
 * table with stale words. */
#define EXTERN_STACK 32
#define EXTERN_STACK_BYTES (256 * 16)
#define EXTERN_TABLE (EXTERN_STACK + EXTERN_STACK_BYTES + 16 + 32)
#define INTERN_STACK 32
#define INTERN_STACK_BYTES (256 * 24)

/* struct caml_heap_state, in words: four lists of pools of each size. */
#define SIZES 32
#define HEAP_LISTS 4
#define HEAP_SWEPT_LARGE (HEAP_LISTS * SIZES)
#define HEAP_OWNER (HEAP_SWEPT_LARGE + 3)
#define HEAP_STATISTICS (HEAP_OWNER + 1)
/* pool_freelist, for ended domains: behind a mutex, a list and statistics. */
#define ORPHANS_STATISTICS 6
#define ORPHANS_POOLS (ORPHANS_STATISTICS + STATISTICS)
#define ORPHANS_LISTS 2
#define ORPHANS_LARGE (ORPHANS_POOLS + ORPHANS_LISTS * SIZES)
/* struct heap_stats, in words. */
#define STATISTICS 8
#define STATISTICS_POOL_WORDS 0
#define STATISTICS_LARGE_BLOCKS 7

#define POOL_WORDS (OCAML_POOL_BYTES / 8)
#define POOL_HEAD 4
#define POOL_SIZE 3
#define LARGE_HEAD 16
#define LARGE_NEXT 8
#define GUESSES_MAX (1u << 22) /* most pools examined to find a stripped program's */
#define YOUNG_MAX (1ull << 32)

/* struct dom_internal begins with a number, in 5.4 a status, and the domain, and ends with the
 * bounds of its minor heap. */
#define INTERNAL_MAX 512

/* struct stack_info, in words; struct stack_handler is at the stack's end. */
#define STACK_POINTER 0
#define STACK_NEXT 1 /* next stack kept for reuse */
#define STACK_HANDLER 2
#define STACK_CACHE 3
#define STACK_HEAD 7
#define HANDLER_WORDS 4
#define STACK_CACHES 5 /* fiber.c: NUM_STACK_SIZE_CLASSES */
#define STACK_SLACK 64

static uint64_t word_of(const struct ocaml *ocaml, uint64_t start, size_t place)
{
	return start ? target_word(ocaml->memory, start + place * 8) : 0;
}

static bool is_writable(const struct ocaml *ocaml, uint64_t start, uint64_t size)
{
	const struct mapping *mapping;

	if (start % 8 || start < MEMORY_PAGE || start >> MACHINE_USER_BITS)
		return false;
	mapping = maps_find(ocaml->memory->maps, start);
	return mapping && mapping->writable && mapping->end - start >= size;
}

/* Domains. */

static bool read_domain(const struct ocaml *ocaml, uint64_t state, struct ocaml_domain *domain)
{
	uint64_t start, end, pointer, trigger;

	if (!is_writable(ocaml, state, DOMAIN_BYTES))
		return false;
	*domain = (struct ocaml_domain){state, word_of(ocaml, state, ocaml->layout->heap), {0}};
	if (!is_writable(ocaml, domain->heap, (HEAP_STATISTICS + STATISTICS) * 8) ||
	    word_of(ocaml, domain->heap, HEAP_OWNER) != state)
		return false;
	start = word_of(ocaml, state, DOMAIN_YOUNG_START);
	end = word_of(ocaml, state, DOMAIN_YOUNG_END);
	pointer = word_of(ocaml, state, DOMAIN_YOUNG_POINTER);
	trigger = word_of(ocaml, state, DOMAIN_YOUNG_TRIGGER);
	if (start > pointer || pointer > end || end - start > YOUNG_MAX || pointer % 8 ||
	    (start <= trigger && trigger <= end) != ocaml->layout->trigger)
		return false;
	domain->young = (struct ocaml_chunk){start, end};
	return true;
}

/* Returns the size of a table's entry, by the minor heaps' bounds in its last words; 0: nothing
 * fits. */
static uint64_t entry_bytes(const struct ocaml *ocaml, uint64_t table)
{
	uint64_t heaps = target_word(ocaml->memory, ocaml->minor_heaps);

	for (uint64_t size = 64; heaps && size <= INTERNAL_MAX; size += 8) {
		uint64_t end = target_word(ocaml->memory, table + size - 8);

		if (target_word(ocaml->memory, table + size - 16) == heaps && end > heaps)
			return size;
	}
	return 0;
}

/* Returns whether a domain is new: its minor heap overlaps no other. */
static bool is_new(const struct ocaml *ocaml, const struct ocaml_domain *domain)
{
	for (size_t i = 0; i < ocaml->domains.count; i++) {
		const struct ocaml_domain *other = &ocaml->domains.items[i];

		if (other->state == domain->state || (other->young.start < domain->young.end &&
						      domain->young.start < other->young.end))
			return false;
	}
	return true;
}

/* Reads the domains of a table; returns false if the first entry is invalid. */
static int read_domains(struct ocaml *ocaml, uint64_t table)
{
	uint64_t size = entry_bytes(ocaml, table);

	ocaml->domains.count = 0;
	for (size_t i = 0; size && i < OCAML_DOMAINS_MAX; i++) {
		uint64_t entry = table + i * size;
		uint64_t state = target_word(ocaml->memory, entry + ocaml->layout->entry_head);
		struct ocaml_domain domain, *added;

		if (target_word(ocaml->memory, entry + size - 8) <=
		    target_word(ocaml->memory, entry + size - 16))
			break;
		if (!state || !read_domain(ocaml, state, &domain) || !is_new(ocaml, &domain))
			continue;
		added = vec_push(&ocaml->domains);
		if (!added)
			return -ENOMEM;
		*added = domain;
	}
	return ocaml->domains.count ? 0 : -ENOENT;
}

/* Returns whether a word of data is the address of a table. */
static bool is_table(const struct ocaml *ocaml, uint64_t word)
{
	struct ocaml_domain domain;

	return is_writable(ocaml, word, INTERNAL_MAX) &&
	       !(uint32_t)target_word(ocaml->memory, word) && /* its number */
	       read_domain(ocaml, target_word(ocaml->memory, word + ocaml->layout->entry_head),
			   &domain) &&
	       entry_bytes(ocaml, word);
}

/* Searches the words of the program's own data. */
static uint64_t find_in_data(struct ocaml *ocaml,
			     bool (*is_it)(struct ocaml *ocaml, uint64_t place))
{
	const struct maps *maps = ocaml->memory->maps;
	uint64_t found = 0;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t end = MIN(mapping->end, ocaml->module->end);

		if (!mapping->writable || mapping->start < ocaml->module->start)
			continue;
		for (uint64_t at = mapping->start; at + 8 <= end; at += 8) {
			if (!target_word(ocaml->memory, at) || !is_it(ocaml, at))
				continue;
			if (found)
				return 0;
			found = at;
		}
	}
	return found;
}

/* Returns the table that a word leads to, or whose first entry has the domain in this word. */
static uint64_t table_by(const struct ocaml *ocaml, uint64_t place)
{
	return ocaml->layout->table_in_data ? place - ocaml->layout->entry_head
					    : target_word(ocaml->memory, place);
}

static bool is_table_at(struct ocaml *ocaml, uint64_t place)
{
	return is_table(ocaml, table_by(ocaml, place));
}

/* Returns the table of domains; 0: none, or several. */
static uint64_t find_table(struct ocaml *ocaml)
{
	uint64_t place = ocaml_symbol(ocaml, "all_domains");

	if (place && ocaml->layout->table_in_data)
		place += ocaml->layout->entry_head;
	if (!place || !is_table_at(ocaml, place))
		place = find_in_data(ocaml, is_table_at);
	return place ? table_by(ocaml, place) : 0;
}

int ocaml5_find(struct ocaml *ocaml, const char **why)
{
	uint64_t state = ocaml_symbol(ocaml, "caml_global_heap_state"), table = 0;

	if (!ocaml_symbol(ocaml, "caml_globals")) {
		*why = "OCaml 5's bytecode is not read";
		return -ENOENT;
	}
	/* Each word of the data may be tried, so the search among millions of symbols is made only
	 * once. */
	ocaml->minor_heaps = ocaml_symbol(ocaml, "caml_minor_heaps_start");
	for (size_t i = 0; !table && i < ARRAY_SIZE(layouts); i++) {
		ocaml->layout = &layouts[i];
		table = find_table(ocaml);
	}
	ocaml->garbage = word_of(ocaml, state, 2);
	*why = "its domains are not as OCaml 5.0 to 5.4 have them";
	if (!table || ocaml->garbage & ~(uint64_t)0x300)
		return -ENOENT;
	return read_domains(ocaml, table);
}

/* Pools and large blocks. */

/* The division of a pool: words of a block by size class, and whether the unused rest is before the
 * blocks. */
struct ocaml5_pools {
	uint8_t words[SIZES];
	bool left_over_first;
};

static const struct ocaml5_pools pools_5_2 = {
	{1,  2,	 3,  4,	 5,  6,	 7,  8,	 10, 12, 14, 16, 17, 19,  22,  25,
	 28, 32, 33, 37, 42, 47, 53, 59, 65, 73, 81, 89, 99, 108, 118, 128},
	true,
};
static const struct ocaml5_pools pools_5_0 = {
	{1,  2,	 3,  4,	 5,  6,	 7,  8,	 9,  10, 12, 14, 16, 18,  20,  23,
	 26, 29, 33, 37, 42, 47, 53, 59, 65, 73, 81, 89, 99, 108, 118, 128},
	false,
};
#define POOL_BLOCK_MAX 128 /* words */

struct walk5 {
	struct ocaml *ocaml;
	struct heap_sink *sink;
	uint64_t *pool; /* POOL_WORDS */
	const struct ocaml5_pools *division;
	uint64_t heap_bytes, used_bytes, nonsense;
	uint64_t pools, large;		   /* numbers found */
	uint64_t expected, expected_large; /* by the statistics */
};

static bool is_pool(const struct ocaml *ocaml, uint64_t pool, size_t size)
{
	uint32_t number;

	return pool % MEMORY_PAGE == 0 && is_writable(ocaml, pool, OCAML_POOL_BYTES) &&
	       !target_read(ocaml->memory, pool + (uint64_t)POOL_SIZE * 8, &number,
			    sizeof(number)) &&
	       number == size;
}

static bool is_garbage(const struct walk5 *walk, uint64_t header)
{
	return (uint64_t)HEADER_COLOUR(header) << 8 == walk->ocaml->garbage;
}

/* Adds a block; young blocks have no colour. */
static int add_block(struct walk5 *walk, uint64_t address, const uint64_t *words, bool young)
{
	struct ocaml_block block = {.address = address, .header = words[0]};
	bool added = true;
	int error;

	block.count = MIN(HEADER_SIZE(words[0]), OCAML_HEAD_FIELDS);
	memcpy(block.fields, words + 1, block.count * 8);
	error = !young && is_garbage(walk, words[0])
			? ocaml_add_garbage(walk->ocaml, walk->sink, &block, &added)
			: ocaml_add_block(walk->ocaml, walk->sink, &block);
	if (added)
		walk->used_bytes += HEADER_BYTES + HEADER_SIZE(words[0]) * 8;
	return error;
}

/* Returns the index of the first block in a pool. */
static uint64_t first_block(const struct ocaml5_pools *division, size_t size)
{
	uint64_t left_over = (POOL_WORDS - POOL_HEAD) % division->words[size];

	return POOL_HEAD + (division->left_over_first ? left_over : 0);
}

/* Returns whether a header fits a block of `words` words. */
static bool fits(uint64_t header, uint64_t words)
{
	return HEADER_SIZE(header) && HEADER_SIZE(header) < words;
}

/* Returns the number of invalid blocks in the pool that was read. */
static uint64_t contradictions(const uint64_t *pool, const struct ocaml5_pools *division,
			       size_t size)
{
	uint64_t words = division->words[size], found = 0;

	for (uint64_t at = first_block(division, size); at + words <= POOL_WORDS; at += words)
		found += pool[at] && !fits(pool[at], words);
	return found;
}

/* Returns the division that fits the first pools of the lists best; with equal results, that of
 * 5.2. */
static const struct ocaml5_pools *find_division(struct walk5 *walk)
{
	const struct ocaml *ocaml = walk->ocaml;
	uint64_t old = 0, new = 0;

	for (size_t i = 0; i < ocaml->domains.count && old == new; i++) {
		for (size_t j = 0; j < (size_t)HEAP_LISTS * SIZES; j++) {
			uint64_t pool = word_of(ocaml, ocaml->domains.items[i].heap, j);

			if (!is_pool(ocaml, pool, j % SIZES))
				continue;
			target_read_pages(ocaml->memory, pool, walk->pool, OCAML_POOL_BYTES);
			old += contradictions(walk->pool, &pools_5_0, j % SIZES);
			new += contradictions(walk->pool, &pools_5_2, j % SIZES);
		}
	}
	return old < new ? &pools_5_0 : &pools_5_2;
}

static int walk_pool(struct walk5 *walk, uint64_t pool, size_t size)
{
	uint64_t words = walk->division->words[size], at = first_block(walk->division, size);
	int error = 0;

	target_read_pages(walk->ocaml->memory, pool, walk->pool, OCAML_POOL_BYTES);
	for (; !error && at + words <= POOL_WORDS; at += words) {
		uint64_t header = walk->pool[at];

		if (!header)
			continue;
		if (!fits(header, words))
			walk->nonsense++;
		else
			error = add_block(walk, pool + at * 8, walk->pool + at, false);
	}
	walk->heap_bytes += OCAML_POOL_BYTES;
	walk->pools++;
	return error ? error : heap_sink_claim(walk->sink, pool, OCAML_POOL_BYTES, false);
}

/* Notes a pool; *fresh: it does not overlap one already read. 0 or -ENOMEM. */
static int take_pool(struct ocaml *ocaml, uint64_t pool, bool *fresh)
{
	*fresh = true;
	for (uint64_t at = 0; *fresh && at < OCAML_POOL_BYTES; at += MEMORY_PAGE) {
		if (!hash_put(&ocaml->pools, pool + at, fresh))
			return -ENOMEM;
	}
	return 0;
}

static int walk_pools(struct walk5 *walk, uint64_t first, size_t size)
{
	struct ocaml *ocaml = walk->ocaml;
	uint64_t pool = first;
	int error = 0;

	while (!error && pool && is_pool(ocaml, pool, size)) {
		bool fresh;

		if (take_pool(ocaml, pool, &fresh))
			return -ENOMEM;
		if (!fresh)
			break;
		error = walk_pool(walk, pool, size);
		pool = target_word(ocaml->memory, pool);
	}
	return error;
}

/* Adds a large block; garbage remains a block of malloc's until the sweep frees it. */
static int add_large(struct walk5 *walk, uint64_t at, const uint64_t *words)
{
	if (is_garbage(walk, words[0]) && HEADER_TAG(words[0]) != TAG_CUSTOM)
		return heap_sink_add(walk->sink, at,
				     LARGE_HEAD + HEADER_BYTES + HEADER_SIZE(words[0]) * 8,
				     NODE_OWN);
	return add_block(walk, at + LARGE_HEAD, words, false);
}

static int walk_large(struct walk5 *walk, uint64_t first)
{
	uint64_t at = first, words[1 + OCAML_HEAD_FIELDS];
	int error = 0;

	for (; !error && at; walk->large++) {
		uint64_t bytes, address = at + LARGE_HEAD;
		bool fresh = true;

		if (target_read(walk->ocaml->memory, address, words, sizeof(words)) ||
		    HEADER_SIZE(words[0]) < POOL_BLOCK_MAX ||
		    HEADER_SIZE(words[0]) >= UINT64_MAX >> 17 ||
		    !is_writable(walk->ocaml, address, HEADER_SIZE(words[0]) * 8))
			break;
		if (!hash_put(&walk->ocaml->pools, at, &fresh))
			return -ENOMEM;
		if (!fresh)
			break;
		bytes = HEADER_BYTES + HEADER_SIZE(words[0]) * 8;
		walk->heap_bytes += LARGE_HEAD + bytes;
		error = add_large(walk, at, words);
		at = target_word(walk->ocaml->memory, at + LARGE_NEXT);
	}
	return error;
}

static int walk_lists(struct walk5 *walk, uint64_t pools, size_t lists, uint64_t large,
		      size_t large_lists, uint64_t statistics)
{
	const struct ocaml *ocaml = walk->ocaml;
	int error = 0;

	for (size_t i = 0; !error && i < lists * SIZES; i++)
		error = walk_pools(walk, word_of(ocaml, pools, i), i % SIZES);
	for (size_t i = 0; !error && i < large_lists; i++)
		error = walk_large(walk, word_of(ocaml, large, i));
	walk->expected += word_of(ocaml, statistics, STATISTICS_POOL_WORDS) / POOL_WORDS;
	walk->expected_large += word_of(ocaml, statistics, STATISTICS_LARGE_BLOCKS);
	return error;
}

/* Returns whether these are the statistics in pool_freelist: a stripped program's are recognised by
 * the pools that they lead to, as many as they count. */
static bool is_orphans(struct ocaml *ocaml, uint64_t statistics)
{
	uint64_t place = statistics - (uint64_t)ORPHANS_STATISTICS * 8;
	uint64_t expected = target_word(ocaml->memory, statistics) / POOL_WORDS;
	uint64_t pools = 0, at = place + (uint64_t)ORPHANS_POOLS * 8;

	if (!expected || target_word(ocaml->memory, statistics) % POOL_WORDS)
		return false;
	for (size_t i = 0; i < (size_t)ORPHANS_LISTS * SIZES; i++) {
		uint64_t pool = word_of(ocaml, at, i);

		for (; pool; pools++) {
			if (!ocaml->guesses || pools == expected ||
			    !is_pool(ocaml, pool, i % SIZES))
				return false;
			ocaml->guesses--;
			pool = target_word(ocaml->memory, pool);
		}
	}
	return pools == expected;
}

/* Walks pools and large blocks; *whole: both numbers match the statistics. */
static int walk_heaps(struct walk5 *walk, bool *whole)
{
	struct ocaml *ocaml = walk->ocaml;
	uint64_t orphans = ocaml_symbol(ocaml, "pool_freelist");
	int error = 0;

	for (size_t i = 0; !error && i < ocaml->domains.count; i++) {
		uint64_t heap = ocaml->domains.items[i].heap;

		error = walk_lists(walk, heap, HEAP_LISTS, heap + (uint64_t)HEAP_SWEPT_LARGE * 8, 2,
				   heap + (uint64_t)HEAP_STATISTICS * 8);
	}
	if (!orphans) {
		ocaml->guesses = GUESSES_MAX;
		orphans = find_in_data(ocaml, is_orphans);
		orphans -= orphans ? (uint64_t)ORPHANS_STATISTICS * 8 : 0;
	}
	if (!error && orphans)
		error = walk_lists(walk, orphans + (uint64_t)ORPHANS_POOLS * 8, ORPHANS_LISTS,
				   orphans + (uint64_t)ORPHANS_LARGE * 8, 1,
				   orphans + (uint64_t)ORPHANS_STATISTICS * 8);
	*whole = walk->pools == walk->expected && walk->large == walk->expected_large;
	return error;
}

/* Minor heaps. */

/* Returns whether blocks are contiguous to the end: a collection leaves invalid headers behind. */
static bool is_whole(const uint64_t *words, uint64_t count)
{
	uint64_t at = 0;

	while (at < count && HEADER_SIZE(words[at]) && HEADER_SIZE(words[at]) < count - at)
		at += 1 + HEADER_SIZE(words[at]);
	return at == count;
}

static int add_young(struct walk5 *walk, uint64_t start, const uint64_t *words, uint64_t count)
{
	int error = 0;

	for (uint64_t at = 0; !error && at < count; at += 1 + HEADER_SIZE(words[at])) {
		uint64_t block[1 + OCAML_HEAD_FIELDS] = {0};

		memcpy(block, words + at, MIN(count - at, ARRAY_SIZE(block)) * 8);
		error = add_block(walk, start + at * 8, block, true);
	}
	return error;
}

/* Walks a minor heap, from the latest block, at the start of its used part. If that fails, each of
 * its words may hold a block. */
static int walk_young(struct walk5 *walk, struct ocaml_domain *domain, bool *whole)
{
	uint64_t pointer = word_of(walk->ocaml, domain->state, DOMAIN_YOUNG_POINTER);
	uint64_t page = pointer & ~(MEMORY_PAGE - 1), count;
	const uint64_t *words;
	unsigned char *bytes;
	int error = 0;

	if (pointer < domain->young.start || pointer > domain->young.end || pointer % 8 ||
	    !is_writable(walk->ocaml, domain->young.start,
			 domain->young.end - domain->young.start)) {
		*whole = false;
		return 0;
	}
	bytes = malloc(align_up(domain->young.end - page, MEMORY_PAGE) + MEMORY_PAGE);
	if (!bytes)
		return -ENOMEM;
	target_read_pages(walk->ocaml->memory, page, bytes,
			  align_up(domain->young.end - page, MEMORY_PAGE));
	words = (const uint64_t *)(const void *)(bytes + (pointer - page));
	count = (domain->young.end - pointer) / 8;
	walk->heap_bytes += domain->young.end - domain->young.start;
	if (is_whole(words, count)) {
		error = add_young(walk, pointer, words, count);
		if (!error)
			error = heap_sink_claim(walk->sink, domain->young.start,
						domain->young.end - domain->young.start, false);
	} else {
		*whole = false;
	}
	free(bytes);
	return error;
}

/* Stacks: blocks of malloc's that contain the address of their end. Words above their pointer are
 * in use. */

static bool is_stack(const struct ocaml *ocaml, const struct heap_sink *sink, uint32_t node)
{
	uint64_t words[STACK_HEAD], start = sink->starts[node], size = sink->sizes[node];
	uint64_t low = start + (uint64_t)STACK_HEAD * 8, handler;

	if (sink->whats[node] != NODE_PLAIN || size < (STACK_HEAD + HANDLER_WORDS) * 8 ||
	    target_read(ocaml->memory, start, words, sizeof(words)))
		return false;
	handler = words[STACK_HANDLER];
	return handler % 16 == 0 && handler >= low && handler < start + size &&
	       start + size - handler >= HANDLER_WORDS * 8 &&
	       start + size - handler <= HANDLER_WORDS * 8 + STACK_SLACK &&
	       words[STACK_POINTER] >= low && words[STACK_POINTER] <= handler &&
	       (int32_t)words[STACK_CACHE] >= -1 && (int32_t)words[STACK_CACHE] < STACK_CACHES;
}

static int find_stacks(struct ocaml *ocaml, struct heap_sink *sink)
{
	struct managed_class made = {.name = "stack", .runtime = OCAML_KEY};
	int error = heap_sink_class(sink, &made, &ocaml->stack_class);

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (is_stack(ocaml, sink, i))
			heap_sink_set(sink, i, sink->sizes[i], ocaml->stack_class | NODE_PRECISE);
	}
	return error == -E2BIG ? 0 : error;
}

int ocaml5_walk(struct ocaml *ocaml, struct heap_sink *sink, struct walk_report *report)
{
	struct walk5 walk = {.ocaml = ocaml, .sink = sink, .pool = malloc(OCAML_POOL_BYTES)};
	bool whole = false;
	int error = walk.pool ? ocaml_find_exceptions(ocaml, sink) : -ENOMEM;

	if (!error) {
		walk.division = find_division(&walk);
		error = walk_heaps(&walk, &whole);
	}
	for (size_t i = 0; !error && i < ocaml->domains.count; i++)
		error = walk_young(&walk, &ocaml->domains.items[i], &whole);
	if (!error && ocaml->memory->again && (!whole || walk.nonsense))
		error = -EAGAIN;
	free(walk.pool);
	if (!error)
		error = find_stacks(ocaml, sink);
	report->heap_bytes = walk.heap_bytes;
	report->free_bytes = walk.heap_bytes - MIN(walk.used_bytes, walk.heap_bytes);
	report->nonsense = walk.nonsense;
	if (!whole)
		report->why = "it was just collected: blocks may be missing";
	return error;
}

/* References from stacks and continuations. */

struct stack {
	uint64_t start, pointer, handler;
	uint64_t registers; /* address of the saved registers; 0: not saved */
	bool suspended;	    /* no thread runs on the stack */
};

/* Returns the domain whose current stack it is; NULL: none. */
static const struct ocaml_domain *domain_of_stack(const struct ocaml *ocaml, uint64_t start)
{
	for (size_t i = 0; i < ocaml->domains.count; i++) {
		if (word_of(ocaml, ocaml->domains.items[i].state, ocaml->layout->current_stack) ==
		    start)
			return &ocaml->domains.items[i];
	}
	return NULL;
}

/* Returns the lowest stack pointer of a thread in [start, end); `end`: none; 0: unknown. */
static uint64_t in_use(const struct ocaml *ocaml, uint64_t start, uint64_t end)
{
	const struct heap_image *image = ocaml->memory->image;
	uint64_t lowest = end;

	for (size_t i = 0; image && i < image->threads.count; i++) {
		uint64_t pointer = machine_sp(&image->threads.items[i].registers);

		if (pointer >= start && pointer < lowest)
			lowest = pointer;
	}
	return image ? lowest : 0;
}

/* Reads a stack. A suspended stack has its pointer. A thread may run on a domain's stack: then it
 * is in use from the thread's pointer on; all of it if that is unknown. */
static bool read_stack(const struct ocaml *ocaml, const struct heap_sink *sink, uint32_t node,
		       struct stack *stack)
{
	uint64_t start = sink->starts[node], low = start + (uint64_t)STACK_HEAD * 8, used;
	const struct ocaml_domain *domain = domain_of_stack(ocaml, start);

	*stack = (struct stack){.start = start,
				.pointer = word_of(ocaml, start, STACK_POINTER),
				.handler = word_of(ocaml, start, STACK_HANDLER)};
	if (stack->handler < low || stack->handler > start + sink->sizes[node])
		return false;
	used = stack->handler;
	if (domain) {
		stack->registers = word_of(ocaml, domain->state, ocaml->layout->registers);
		used = in_use(ocaml, start, stack->handler);
	}
	stack->suspended = used == stack->handler && stack->pointer >= low &&
			   stack->pointer < stack->handler && stack->pointer % 8 == 0;
	if (!stack->suspended)
		stack->pointer = MAX(used & ~7ull, low);
	return true;
}

struct referring {
	struct heap_sink *sink;
	uint32_t node;
};

static int refer_value(void *context, uint64_t value)
{
	const struct referring *referring = context;

	return heap_sink_reference(referring->sink, referring->node, value, 0);
}

/* Adds the values in a stack's frames, all words where frames are unknown, and the handler's. */
static int refer_stack(const struct ocaml *ocaml, struct heap_sink *sink, uint32_t node)
{
	struct referring referring = {sink, node};
	struct stack stack;
	uint64_t at;
	int error = 0;

	if (!read_stack(ocaml, sink, node, &stack))
		return 0;
	at = stack.pointer;
	if (stack.suspended)
		error = ocaml_visit_frames(ocaml, stack.pointer, stack.handler, stack.registers,
					   refer_value, &referring, &at);
	for (; !error && at < stack.handler + HANDLER_WORDS * 8; at += 8)
		error = refer_value(&referring, target_word(ocaml->memory, at));
	return error;
}

int ocaml5_refer(struct ocaml *ocaml, struct heap_sink *sink, uint32_t node, bool *done)
{
	uint64_t value = sink->starts[node] + HEADER_BYTES, header;

	if ((sink->whats[node] & NODE_CLASS) == ocaml->stack_class) {
		*done = true;
		return refer_stack(ocaml, sink, node);
	}
	/* fiber.h: the first field, up to 5.1 the only one, is a stack's address plus 1. */
	if (!ocaml_header(ocaml, value, &header) || HEADER_TAG(header) != TAG_CONTINUATION ||
	    HEADER_SIZE(header) > 2)
		return 0;
	*done = true;
	sink->whats[node] |= NODE_PRECISE;
	return heap_sink_reference(sink, node, target_word(ocaml->memory, value) - 1,
				   heap_sink_label(sink, LABEL_ATTRIBUTE, "stack"));
}

/* Roots. */

static int add_root(const struct ocaml_domain *domain, struct heap_sink *sink, const char *what,
		    uint64_t to, const struct ocaml *ocaml)
{
	char name[64];

	if (ocaml->domains.count > 1)
		snprintf(name, sizeof(name), "%s of domain %zu", what,
			 (size_t)(domain - ocaml->domains.items));
	else
		snprintf(name, sizeof(name), "%s", what);
	return heap_sink_root(sink, OCAML_KEY, name, to);
}

/* struct caml_final_info: two of struct finalisable, each followed by a word, then a list of due
 * finalisers: next, count, and an array of struct final. */
#define FINALISERS_LAST 40
#define FINALISERS_DUE 80
#define DUE_COUNT 8
#define DUE_ITEMS 16
#define DUE_ITEM_BYTES 24

static int add_due(const struct ocaml *ocaml, struct heap_sink *sink, uint64_t finalisers)
{
	uint64_t at = target_word(ocaml->memory, finalisers + FINALISERS_DUE);
	struct loop loop = {0};
	int error = 0;

	while (!error && at && !loop_found(&loop, at)) {
		uint32_t node = heap_sink_node(sink, at);
		uint64_t count = target_word(ocaml->memory, at + DUE_COUNT) & INT32_MAX;

		if (node == BLOCK_NONE || sink->starts[node] != at ||
		    count > sink->sizes[node] / DUE_ITEM_BYTES)
			break;
		for (uint64_t j = 0;
		     !error && j < count * 2 && !target_memory_overworked(ocaml->memory); j++)
			error = heap_sink_root(
				sink, OCAML_KEY, "finalisers that are due",
				target_word(ocaml->memory,
					    at + DUE_ITEMS + j / 2 * DUE_ITEM_BYTES + j % 2 * 8));
		at = target_word(ocaml->memory, at);
	}
	return error;
}

static int add_finalisers(struct ocaml *ocaml, struct heap_sink *sink, uint64_t finalisers)
{
	int error = ocaml_add_finalisable(ocaml, sink, finalisers, true);

	if (!error)
		error = ocaml_add_finalisable(ocaml, sink, finalisers + FINALISERS_LAST, false);
	return error ? error : add_due(ocaml, sink, finalisers);
}

/* Finds ephemerons in weak.h, struct caml_ephe_info: two lists. */
static void find_ephemerons(struct ocaml *ocaml, struct heap_sink *sink, uint64_t lists)
{
	ocaml_find_ephemerons(ocaml, sink, target_word(ocaml->memory, lists));
	ocaml_find_ephemerons(ocaml, sink, target_word(ocaml->memory, lists + 8));
}

/* Claims the list of stacks kept for reuse, which hold nothing. */
static int add_kept(const struct ocaml *ocaml, struct heap_sink *sink, const char *name,
		    uint64_t first, size_t next)
{
	struct loop loop = {0};
	uint64_t at = first;
	int error = 0;

	while (!error && at && !loop_found(&loop, at)) {
		error = heap_sink_root(sink, OCAML_KEY, name, at);
		if (!error)
			error = ocaml_claim_block(sink, at);
		at = word_of(ocaml, at, next);
	}
	return error;
}

/* Adds the words of one page of a C stack; much of a stack may be untouched. */
static int add_c_stack_page(const struct ocaml *ocaml, struct heap_sink *sink,
			    const struct ocaml_domain *domain, uint64_t start, uint64_t end)
{
	uint64_t words[MEMORY_PAGE / 8], count = (end - start) / 8;
	int error = target_read(ocaml->memory, start, words, count * 8) ? -EFAULT : 0;

	for (uint64_t i = 0; !error && i < count; i++) {
		if (words[i] && heap_sink_node(sink, words[i]) != BLOCK_NONE)
			error = add_root(domain, sink, "C stack", words[i], ocaml);
	}
	return error == -EFAULT ? 0 : error;
}

/* Adds a domain's C stack: while its thread runs on OCaml's stack, the C stack is in use from
 * caml_domain_state.c_stack on. */
static int add_c_stack(const struct ocaml *ocaml, struct heap_sink *sink,
		       const struct ocaml_domain *domain)
{
	uint64_t start = word_of(ocaml, domain->state, ocaml->layout->c_stack);
	const struct mapping *mapping = start % 8 ? NULL : maps_find(ocaml->memory->maps, start);
	uint32_t node =
		heap_sink_node(sink, word_of(ocaml, domain->state, ocaml->layout->current_stack));
	struct stack stack;
	int error = 0;

	if (!mapping || node == BLOCK_NONE ||
	    (read_stack(ocaml, sink, node, &stack) && stack.suspended))
		return 0;
	for (uint64_t at = start, next;
	     !error && at < mapping->end && !target_memory_overworked(ocaml->memory); at = next) {
		next = (at | (MEMORY_PAGE - 1)) + 1;
		error = add_c_stack_page(ocaml, sink, domain, at, next);
	}
	return error;
}

static int add_domain(struct ocaml *ocaml, struct heap_sink *sink,
		      const struct ocaml_domain *domain)
{
	const struct ocaml5_layout *layout = ocaml->layout;
	const struct {
		const char *name;
		size_t place;
	} roots[] = {{"stack", layout->current_stack},
		     {"last exception (backtrace)", layout->last_exception},
		     {"local storage", layout->local_storage},
		     {"registers", layout->registers}};
	uint64_t state = domain->state, caches = word_of(ocaml, state, ocaml->layout->stack_cache);
	int error = add_kept(ocaml, sink, "registers",
			     word_of(ocaml, state, ocaml->layout->free_registers), 0);

	for (size_t i = 0; !error && i < ARRAY_SIZE(roots); i++)
		error = add_root(domain, sink, roots[i].name, word_of(ocaml, state, roots[i].place),
				 ocaml);
	if (!error)
		error = add_c_stack(ocaml, sink, domain);
	for (size_t i = 0; !error && i < STACK_CACHES; i++)
		error = add_kept(ocaml, sink, "stacks kept for reuse", word_of(ocaml, caches, i),
				 STACK_NEXT);
	if (!error)
		error = add_finalisers(ocaml, sink,
				       word_of(ocaml, state, ocaml->layout->finalisers));
	find_ephemerons(ocaml, sink, word_of(ocaml, state, ocaml->layout->ephemerons));
	return error;
}

static int claim_left_over(const struct ocaml *ocaml, struct heap_sink *sink,
			   const struct ocaml_domain *domain)
{
	uint64_t writer = word_of(ocaml, domain->state, ocaml->layout->writer);
	uint64_t reader = word_of(ocaml, domain->state, ocaml->layout->reader);
	int error = 0;

	if (writer)
		error = heap_sink_claim(sink, writer + EXTERN_STACK, EXTERN_STACK_BYTES, true);
	if (writer && !error)
		error = heap_sink_claim(sink, writer + EXTERN_TABLE, EXTERN_STACK_BYTES, true);
	if (reader && !error)
		error = heap_sink_claim(sink, reader + INTERN_STACK, INTERN_STACK_BYTES, true);
	return error;
}

/* Claims memory of the collector. minor_gc.h, struct caml_minor_tables: three tables of seven words
 * that begin with a pointer to their contents; so does major_gc.c, struct mark_stack. */
static int claim_domain(const struct ocaml *ocaml, struct heap_sink *sink,
			const struct ocaml_domain *domain)
{
	static const uint8_t tables[] = {0, 7, 14};
	uint64_t minor = word_of(ocaml, domain->state, ocaml->layout->minor_tables);
	uint64_t marks = word_of(ocaml, domain->state, ocaml->layout->mark_stack);
	uint64_t ephemerons = word_of(ocaml, domain->state, ocaml->layout->ephemerons);
	int error = ocaml_claim_block(sink, word_of(ocaml, marks, 0));

	for (size_t i = 0; !error && i < ARRAY_SIZE(tables); i++)
		error = ocaml_claim_block(sink, word_of(ocaml, minor, tables[i]));
	if (!error)
		error = ocaml_claim_block(sink, ephemerons);
	return error ? error : claim_left_over(ocaml, sink, domain);
}

/* Claims the data of modules, between symbols at its start and end. */
static int claim_data(const struct ocaml *ocaml, struct heap_sink *sink)
{
	const struct symbol_table *table = ocaml->symbols;
	uint64_t start = 0;
	int error = 0;

	for (size_t i = 0; !error && i < table->count; i++) {
		const char *name = table->names + table->symbols[i].name;
		size_t length = strlen(name);

		if (strncmp(name, "caml", 4) != 0 || length < strlen("data_begin"))
			continue;
		if (!strcmp(name + length - strlen("data_begin"), "data_begin")) {
			start = table->symbols[i].address;
		} else if (start && !strcmp(name + length - strlen("data_end"), "data_end")) {
			error = heap_sink_claim(sink, ocaml->module->bias + start,
						table->symbols[i].address - start, false);
			start = 0;
		}
	}
	return error;
}

int ocaml5_roots(struct ocaml *ocaml, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < ocaml->domains.count; i++) {
		error = add_domain(ocaml, sink, &ocaml->domains.items[i]);
		if (!error)
			error = claim_domain(ocaml, sink, &ocaml->domains.items[i]);
	}
	return error ? error : claim_data(ocaml, sink);
}
