// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap of musl's malloc (mallocng), read from outside. Pages of records, linked in a list, each
 * begin with a random number that is also in the module's data. A record describes a group of up to
 * 32 slots of one size, with two masks of free ones, and the group's first word leads back to it. A
 * small group is in a slot of a larger one.
 *
 * The list is found by the number. The result is accepted if the list ends where the module says,
 * if groups lead back to their records, and if each size has as many slots as the module counts.
 *
 * Source: musl 1.2.1 to 1.2.6, src/malloc/mallocng: meta.h, malloc.c, free.c, donate.c. Older
 * versions have another malloc.
 */
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_reader.h"

#define UNIT 16ull
#define CLASSES 48
#define CLASS_MAPPED 63 /* one block with its own mapping */

/* struct malloc_context, from meta_area_head on. */
enum context_word {
	CONTEXT_HEAD,
	CONTEXT_TAIL,
	CONTEXT_ACTIVE = 3,
	CONTEXT_USAGE = CONTEXT_ACTIVE + CLASSES,
	CONTEXT_WORDS = CONTEXT_USAGE + CLASSES
};
/* Distance of the number before it, in words; larger where kernels differ in page size. */
#define SECRET_BEFORE 7
#define SECRET_BEFORE_LONG 8

/* struct meta_area, and struct meta. */
#define AREA_BYTES 4096ull
#define AREA_WORDS (AREA_BYTES / 8)
enum area_word { AREA_CHECK, AREA_NEXT, AREA_SLOTS, AREA_RECORDS };
enum record_word { RECORD_MEMORY = 2, RECORD_MASKS, RECORD_BITS, RECORD_WORDS };

#define MAX_TRIES 65536
#define MAX_BROKEN 65536
#define MAX_NESTED 8

struct musl {
	uint64_t context;
	char version[HEAP_VERSION_MAX];
};

struct group {
	uint64_t start;		/* its header, before the first slot */
	uint64_t first, slot;	/* of slots: address and size */
	uint64_t mapped_bytes;	/* 0: in a slot, or given by the loader */
	uint32_t count, unused; /* unused: a bit for each free slot */
};

struct reading {
	struct peek *peek;
	const struct filter *heaps;
	struct heap *heap;
	uint64_t secret;
	VEC(struct group) groups; /* sorted once all are known */
	uint64_t slots[CLASSES];
	bool swapped;
};

/* Sizes of slots in units (malloc.c). */
static const uint16_t class_units[CLASSES] = {
	1,    2,    3,	  4,	5,    6,    7,	  8,	9,    10,   12,	  15,
	18,   20,   25,	  31,	36,   42,   50,	  63,	72,   84,   102,  127,
	146,  170,  204,  255,	292,  340,  409,  511,	584,  682,  818,  1023,
	1169, 1364, 1637, 2047, 2340, 2730, 3276, 4095, 4680, 5460, 6552, 8191};

static int read_area(const struct reading *reading, uint64_t area, uint64_t words[AREA_WORDS])
{
	int error = area % AREA_BYTES || !filter_has(reading->heaps, area)
			    ? -EBADMSG
			    : heap_words(reading->peek, area, words, AREA_WORDS);

	if (error)
		return error;
	return words[AREA_CHECK] == reading->secret &&
			       (uint32_t)words[AREA_SLOTS] <=
				       (AREA_WORDS - AREA_RECORDS) / RECORD_WORDS
		       ? 0
		       : -EBADMSG;
}

/* -------- finding */

struct search {
	struct reading reading;
	uint64_t start, end; /* of a module's data */
	uint64_t context;
	size_t tries;
};

static bool try_head(struct search *search, uint64_t at, uint64_t area)
{
	static const uint64_t distances[] = {SECRET_BEFORE, SECRET_BEFORE_LONG};
	struct reading *reading = &search->reading;
	uint64_t words[AREA_WORDS], tail;

	if (heap_words(reading->peek, at + CONTEXT_TAIL * 8, &tail, 1))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(distances); i++) {
		if (at - search->start < distances[i] * 8 ||
		    heap_words(reading->peek, at - distances[i] * 8, &reading->secret, 1) ||
		    !reading->secret || read_area(reading, area, words) ||
		    read_area(reading, tail, words))
			continue;
		search->context = at;
		return true;
	}
	return false;
}

static bool visit_page(void *context, uint64_t page, const uint64_t *words)
{
	struct search *search = context;

	for (uint64_t i = 0; i < MEMORY_PAGE / 8 && search->tries; i++) {
		uint64_t at = page + i * 8;

		if (!words[i] || words[i] % AREA_BYTES || at < search->start ||
		    at + CONTEXT_WORDS * 8 > search->end ||
		    !filter_has(search->reading.heaps, words[i]))
			continue;
		search->tries--;
		if (try_head(search, at, words[i]))
			return true;
	}
	return false;
}

/* __libc_version, a separate string: "1.2.5". */
static bool version_at(const char *text, char version[HEAP_VERSION_MAX])
{
	return !text[0] && !strncmp(text + 1, "1.2.", 4) &&
	       !text[1 + heap_version_copy(text + 1, version)] && version[4];
}

static int musl_find(void *state, const struct heap_view *view, uint64_t start, uint64_t end)
{
	struct musl *found = state;
	struct search search = {.reading = {.peek = view->peek, .heaps = view->heaps},
				.start = start,
				.end = end,
				.tries = MAX_TRIES};

	if (!heap_data_visit(view->peek, start, end, visit_page, &search))
		return peek_result(view->peek, -ENOENT);
	found->context = search.context;
	heap_version_find(view, start, version_at, found->version);
	return 0;
}

/* -------- reading */

/* A group's last slot may end before the end of its memory. */
static bool group_from(const struct reading *reading, uint64_t record, const uint64_t *words,
		       struct group *group)
{
	uint64_t bits = words[RECORD_BITS], pages = bits >> 12, back;
	uint32_t class = bits >> 6 & 63, all;

	group->start = words[RECORD_MEMORY];
	group->first = group->start + UNIT;
	group->count = (bits & 31) + 1;
	group->unused = (uint32_t)words[RECORD_MASKS] | (uint32_t)(words[RECORD_MASKS] >> 32);
	group->mapped_bytes = pages * AREA_BYTES;
	all = (uint32_t)(2ull << (group->count - 1)) - 1;
	if (group->start % UNIT || group->start >= 1ull << MACHINE_USER_BITS ||
	    pages >= (1ull << MACHINE_USER_BITS) / AREA_BYTES ||
	    ((uint32_t)words[RECORD_MASKS] & (uint32_t)(words[RECORD_MASKS] >> 32)) ||
	    (group->unused & ~all) || (class >= CLASSES && class != CLASS_MAPPED) ||
	    (class == CLASS_MAPPED && (group->count > 1 || !pages)))
		return false;
	group->slot = pages && group->count == 1 ? group->mapped_bytes - UNIT
						 : class_units[class % CLASSES] * UNIT;
	if (pages && group->slot * group->count + UNIT > group->mapped_bytes)
		return false;
	return !heap_words(reading->peek, group->start, &back, 1) && back == record;
}

static int add_record(struct reading *reading, uint64_t record, const uint64_t *words)
{
	struct group group, *added;
	uint32_t class = words[RECORD_BITS] >> 6 & 63;

	if (!words[RECORD_MEMORY])
		return 0;
	if (!group_from(reading, record, words, &group)) {
		reading->swapped |= heap_is_swapped(reading->peek, words[RECORD_MEMORY]);
		return ++reading->heap->broken > MAX_BROKEN ? -ENOENT : 0;
	}
	/* The loader's gifts are not counted. */
	if (class < CLASSES && words[RECORD_BITS] >> 5 & 1)
		reading->slots[class] += group.count;
	added = vec_push(&reading->groups);
	if (!added)
		return -ENOMEM;
	*added = group;
	return 0;
}

static int walk_area(struct reading *reading, uint64_t area, uint64_t *next)
{
	uint64_t words[AREA_WORDS];
	struct heap_run run = {.start = area, .end = area + AREA_BYTES, .use = RUN_OWN};
	int error = read_area(reading, area, words);

	*next = 0;
	if (error == -EBADMSG || error == -EFAULT) {
		reading->swapped |= heap_is_swapped(reading->peek, area);
		reading->heap->broken++;
		return 0;
	}
	for (uint32_t i = 0; !error && i < (uint32_t)words[AREA_SLOTS]; i++) {
		uint64_t at = AREA_RECORDS + i * RECORD_WORDS;

		error = add_record(reading, area + at * 8, words + at);
	}
	*next = words[AREA_NEXT];
	reading->heap->figures[ALLOCATOR_METADATA] += AREA_BYTES;
	return error ? error : heap_add(reading->heap, &run);
}

/* A list that returns to an earlier element ends there. */
static int walk_areas(struct reading *reading, const uint64_t *context)
{
	struct hash seen = {0};
	uint64_t area = context[CONTEXT_HEAD], last = 0, next = 0;
	int error = 0;

	for (; !error && area && !hash_get(&seen, area); area = next) {
		error = hash_put(&seen, area, NULL) ? 0 : -ENOMEM;
		last = area;
		if (!error)
			error = walk_area(reading, area, &next);
		if (!error)
			error = peek_result(reading->peek, 0);
	}
	reading->heap->broken += !error && last != context[CONTEXT_TAIL];
	hash_free(&seen);
	return error;
}

static int compare_groups(const void *left_pointer, const void *right_pointer)
{
	const struct group *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Adds the slots [from, to) of a group, in [start, end). Returns 0 or -ENOMEM. */
static int add_slots(struct reading *reading, const struct group *group, uint32_t from, uint32_t to,
		     uint64_t start, uint64_t end)
{
	struct heap *heap = reading->heap;
	struct heap_run run = {.start = start,
			       .end = end,
			       .first = group->first + from * group->slot,
			       .block = group->slot,
			       .count = to - from};

	if (from == to || start >= end)
		return 0;
	if (heap_add(heap, &run))
		return -ENOMEM;
	for (uint32_t i = from; i < to; i++) {
		if (group->unused >> i & 1)
			heap_set_use(heap, &heap->runs.items[heap->runs.count - 1], i - from,
				     BLOCK_FREE);
		else
			heap->figures[ALLOCATOR_ALLOCATED] += group->slot;
	}
	return 0;
}

/* Adds the *i-th group, in [start, end), and those in its slots, which are no blocks. */
static int add_group(struct reading *reading, size_t *i, uint64_t start, uint64_t end,
		     unsigned int depth)
{
	const struct group *group = &reading->groups.items[(*i)++], *inner;
	uint64_t last = group->first + group->count * group->slot;
	uint32_t from = 0;
	int error = 0;

	while (!error && *i < reading->groups.count &&
	       (inner = &reading->groups.items[*i])->start < last) {
		uint64_t inner_end = inner->first + inner->count * inner->slot, slot;
		uint32_t at = (uint32_t)((inner->start - group->first) / group->slot);

		slot = group->first + at * group->slot;
		/* Not before the slots, nor two in one, nor larger than it, nor in a free one. */
		if (inner->start < group->first || at < from || inner_end > slot + group->slot ||
		    (group->unused >> at & 1) || depth == MAX_NESTED) {
			reading->heap->broken++;
			(*i)++;
			continue;
		}
		error = add_slots(reading, group, from, at,
				  from ? group->first + from * group->slot : start, slot);
		if (!error)
			error = add_group(reading, i, slot, slot + group->slot, depth + 1);
		from = at + 1;
	}
	if (error)
		return error;
	return add_slots(reading, group, from, group->count,
			 from ? group->first + from * group->slot : start, end);
}

static int add_groups(struct reading *reading)
{
	struct group *groups = reading->groups.items;
	int error = 0;

	if (reading->groups.count)
		qsort(groups, reading->groups.count, sizeof(*groups), compare_groups);
	for (size_t i = 0; !error && i < reading->groups.count;) {
		const struct group *group = &groups[i];
		uint64_t end = group->mapped_bytes ? group->start + group->mapped_bytes
						   : group->first + group->count * group->slot;

		reading->heap->figures[ALLOCATOR_ACTIVE] += end - group->start;
		error = add_group(reading, &i, group->start, end, 0);
	}
	heap_sort(reading->heap);
	return error;
}

/* Checks that each size has as many slots as counted. */
static bool sums_hold(const struct reading *reading, const uint64_t *context)
{
	for (uint32_t i = 0; i < CLASSES; i++) {
		if (reading->slots[i] != context[CONTEXT_USAGE + i])
			return false;
	}
	return true;
}

static int read_all(struct reading *reading, const uint64_t *context)
{
	uint64_t words[AREA_WORDS];
	int error = heap_words(reading->peek, context[CONTEXT_HEAD], words, AREA_WORDS);

	if (error)
		return error == -EFAULT ? -ENOENT : error;
	reading->secret = words[AREA_CHECK];
	error = walk_areas(reading, context);
	return error ? error : add_groups(reading);
}

static const struct heap_version_range tested[] = {{1, 2, 2}};

static int musl_read(void *state, const struct heap_view *view, struct heap *heap)
{
	const struct musl *found = state;
	struct reading reading = {.peek = view->peek, .heaps = view->heaps, .heap = heap};
	uint64_t context[CONTEXT_WORDS], *figures = heap->figures;
	int error = heap_words(view->peek, found->context, context, CONTEXT_WORDS) ? -ENOENT : 0;
	bool sums;

	if (!error)
		error = read_all(&reading, context);
	vec_free(&reading.groups);
	if (error)
		return error;
	sums = sums_hold(&reading, context);
	figures[ALLOCATOR_MAPPED] = figures[ALLOCATOR_ACTIVE] + figures[ALLOCATOR_METADATA];
	heap_finish(heap);
	heap_name(heap, "musl", found->version, tested, ARRAY_SIZE(tested));
	if (reading.swapped)
		heap->why = "a part of its records is swapped out";
	else if (heap->broken || !sums)
		heap->why = "it changed while it was read";
	/* A missing group may be inside what counts as a block. */
	heap->blocks_certain = !heap->why;
	return peek_result(view->peek, 0);
}

const struct heap_reader heap_reader_musl = {
	.name = "musl",
	.library = "ld-musl",
	.why_not = "musl's records are not as its malloc has them from 1.2.1 on (mallocng), or it "
		   "has not been used yet: tracking from the first allocation on shows more",
	.advice.retained = ": it gives groups of blocks back when all of them are free",
	.state_size = sizeof(struct musl),
	.find = musl_find,
	.read = musl_read,
};
