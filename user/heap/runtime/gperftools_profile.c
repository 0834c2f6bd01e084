// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap profile of gperftools' heap profiler (HEAPPROFILE, HeapProfilerStart()): a hash table of
 * call stacks, each with all blocks that it allocated and freed since the profiler was started.
 * Nothing is sampled.
 *
 * The table is found by its shape, by way of a variable in a module's data. It is believed if its
 * number of call stacks equals its count, and the hash of each matches its list and its record.
 *
 * Source: gperftools 2.10 and 2.16, src/heap-profile-table.h, heap-profile-table.cc (GetBucket),
 * and heap-profile-stats.h.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "binary/arch/machine.h"
#include "heap/runtime/own_profile.h"

/*
 * HeapProfileBucket, in words: numbers of allocations and frees of a call stack (up to 2.10 two
 * ints in one word), bytes of each; its hash, its depth (an int), its addresses, and the next
 * bucket of its list. HeapProfileTable: two functions, the totals in the same form, a flag, the
 * lists, and the number of call stacks (an int).
 */
#define TABLE_TOTAL 2
#define TABLE_WORDS_MAX 13
#define COUNTED_MAX 4
#define STACK_WORDS_MAX 8

struct gperftools_layout {
	uint8_t counted; /* words before the hash */
	uint8_t hash, depth, addresses, next;
	uint8_t lists, count; /* offsets in the table */
};

#define LAYOUT(words)                                                                              \
	{                                                                                          \
		.counted = (words), .hash = (words), .depth = (words) + 1,                         \
		.addresses = (words) + 2, .next = (words) + 3, .lists = (words) + 7,               \
		.count = (words) + 8                                                               \
	}

static const struct gperftools_layout layouts[] = {LAYOUT(3), LAYOUT(4)};

#define LISTS 179999u
#define LISTS_AT_ONCE 512
#define MAX_STACKS (1u << 20)
#define MAX_DEPTH 64
#define MAX_BYTES (1ull << 48)
#define READ_TRIES 3

struct call_stack {
	uint64_t words[STACK_WORDS_MAX];
	uint64_t depth, addresses[MAX_DEPTH];
};

struct gperftools_profile {
	struct target_memory memory;
	struct heap_profile *profile;
	const struct gperftools_layout *layout;
	uint64_t table[TABLE_WORDS_MAX];
	uint64_t sum[COUNTED_MAX];
	bool changed; /* an inconsistency was seen */
};

/* GetBucket() */
static uint64_t hash_of(const struct call_stack *stack)
{
	uint64_t hash = 0;

	for (uint64_t i = 0; i < stack->depth; i++) {
		hash += stack->addresses[i];
		hash += hash << 10;
		hash ^= hash >> 6;
	}
	hash += hash << 3;
	return hash ^ hash >> 11;
}

/* Reads a call stack of the list of this number. */
static bool read_stack(struct gperftools_profile *reading, uint64_t address, uint32_t list,
		       struct call_stack *stack)
{
	if (address % 8 ||
	    target_read(&reading->memory, address, stack->words, sizeof(stack->words)))
		return false;
	stack->depth = (uint32_t)stack->words[reading->layout->depth];
	return stack->depth <= MAX_DEPTH &&
	       !target_read(&reading->memory, stack->words[reading->layout->addresses],
			    stack->addresses, stack->depth * 8) &&
	       hash_of(stack) == stack->words[reading->layout->hash] &&
	       (uint32_t)stack->words[reading->layout->hash] % LISTS == list;
}

/* -------- call stacks */

/* Counts stored as ints wrap around. */
static uint64_t live_blocks(const struct gperftools_layout *layout, const struct call_stack *stack)
{
	uint32_t counts[2];

	if (layout->counted == COUNTED_MAX)
		return stack->words[0] - stack->words[1];
	memcpy(counts, stack->words, sizeof(counts));
	return counts[0] - counts[1];
}

/* Returns false if the counts are impossible. */
static bool count_blocks(const struct gperftools_layout *layout, const struct call_stack *stack,
			 struct heap_profile_site *site)
{
	const uint64_t *bytes = stack->words + layout->counted - 2;

	site->allocated = (struct heap_sampled){live_blocks(layout, stack), bytes[0] - bytes[1]};
	site->weighed.objects = (double)site->allocated.objects;
	site->weighed.bytes = (double)site->allocated.bytes;
	return bytes[0] <= MAX_BYTES && bytes[1] <= bytes[0] &&
	       site->allocated.objects <= MAX_BYTES;
}

static void sum_add(struct gperftools_profile *reading, const struct call_stack *stack)
{
	size_t halves = reading->layout->counted == COUNTED_MAX ? 0 : 2;
	uint32_t counts[2], sums[2];

	memcpy(counts, stack->words, sizeof(counts));
	memcpy(sums, reading->sum, sizeof(sums));
	for (size_t i = 0; i < halves; i++)
		sums[i] += counts[i];
	memcpy(reading->sum, sums, sizeof(sums));
	for (size_t i = halves / 2; i < reading->layout->counted; i++)
		reading->sum[i] += stack->words[i];
}

static int add_stack(struct gperftools_profile *reading, const struct call_stack *stack)
{
	struct heap_profile_site site = {.id = hash_mix(stack->words[reading->layout->hash]),
					 .depth = stack->depth},
				 *kept;

	sum_add(reading, stack);
	reading->changed = !count_blocks(reading->layout, stack, &site);
	for (uint64_t i = 0; i < stack->depth; i++)
		reading->changed |= stack->addresses[i] >= 1ull << MACHINE_USER_BITS;
	if (reading->changed || !site.allocated.objects)
		return 0;
	site.addresses = calloc(stack->depth + 1, sizeof(*site.addresses));
	kept = site.addresses ? vec_push(&reading->profile->sites) : NULL;
	if (!kept) {
		free(site.addresses);
		return -ENOMEM;
	}
	memcpy(site.addresses, stack->addresses, stack->depth * sizeof(*site.addresses));
	*kept = site;
	return 0;
}

/* A circular list would exceed the table's number of call stacks. */
static int read_list(struct gperftools_profile *reading, uint32_t list, uint64_t at,
		     uint32_t *found)
{
	struct call_stack stack;
	int error = 0;

	for (; !error && at && !reading->changed; at = stack.words[reading->layout->next]) {
		if (++*found > (uint32_t)reading->table[reading->layout->count] ||
		    !read_stack(reading, at, list, &stack))
			reading->changed = true;
		else
			error = add_stack(reading, &stack);
	}
	return error;
}

static int read_lists(struct gperftools_profile *reading)
{
	uint64_t lists[LISTS_AT_ONCE];
	uint32_t found = 0;
	int error = 0;

	for (uint32_t i = 0; !error && i < LISTS && !reading->changed; i += LISTS_AT_ONCE) {
		uint32_t count = MIN(LISTS - i, LISTS_AT_ONCE);

		reading->changed = target_read(&reading->memory,
					       reading->table[reading->layout->lists] + i * 8ull,
					       lists, count * 8ull);
		for (uint32_t j = 0; !error && j < count && !reading->changed; j++) {
			if (lists[j])
				error = read_list(reading, i + j, lists[j], &found);
		}
	}
	reading->changed |= found != (uint32_t)reading->table[reading->layout->count] ||
			    memcmp(reading->sum, reading->table + TABLE_TOTAL,
				   reading->layout->counted * sizeof(*reading->sum)) != 0;
	return error;
}

/* -------- the table */

static bool read_head(struct gperftools_profile *reading, uint64_t address)
{
	return address && address % 8 == 0 &&
	       !target_read(&reading->memory, address, reading->table, sizeof(reading->table)) &&
	       reading->table[0] != reading->table[1] &&
	       own_profile_is_code(&reading->memory, reading->table[0]) &&
	       own_profile_is_code(&reading->memory, reading->table[1]);
}

static bool head_fits(const struct gperftools_profile *reading)
{
	uint64_t lists = reading->table[reading->layout->lists];
	uint32_t count = (uint32_t)reading->table[reading->layout->count];

	return lists && lists % 8 == 0 && count && count <= MAX_STACKS;
}

/* The first call stack shows whether it is such a table. */
static bool has_stacks(struct gperftools_profile *reading)
{
	uint64_t lists[LISTS_AT_ONCE];
	struct call_stack stack;

	for (uint32_t i = 0; i < LISTS; i += LISTS_AT_ONCE) {
		uint32_t count = MIN(LISTS - i, LISTS_AT_ONCE), j = 0;

		if (target_read(&reading->memory, reading->table[reading->layout->lists] + i * 8ull,
				lists, count * 8ull))
			return false;
		while (j < count && !lists[j])
			j++;
		if (j < count)
			return read_stack(reading, lists[j], i + j, &stack);
	}
	return false;
}

static bool find_table(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct gperftools_profile *reading = context;

	(void)address;
	for (size_t i = 0; i < count; i++) {
		if (!read_head(reading, words[i]))
			continue;
		for (size_t j = 0; j < ARRAY_SIZE(layouts); j++) {
			reading->layout = &layouts[j];
			if (head_fits(reading) && has_stacks(reading))
				return true;
		}
	}
	return false;
}

static void forget_sites(struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->sites.count; i++)
		free(profile->sites.items[i].addresses);
	profile->sites.count = 0;
}

static int read_table(struct gperftools_profile *reading)
{
	int error = -ENOENT;

	for (int i = 0; i < READ_TRIES && (i == 0 || (!error && reading->changed)); i++) {
		target_memory_read_anew(&reading->memory);
		forget_sites(reading->profile);
		reading->changed = false;
		memset(reading->sum, 0, sizeof(reading->sum));
		if (!own_profile_scan(&reading->memory, 0, find_table, reading))
			return error;
		error = read_lists(reading);
	}
	if (!error && reading->changed)
		reading->profile->why = "its profile changed too fast to read; try again";
	return error;
}

static int gperftools_profile_read(const struct maps *maps, struct heap_profile *profile)
{
	struct gperftools_profile reading = {.profile = profile};
	int error = target_memory_open(maps, NULL, NULL, &reading.memory);

	if (error)
		return error;
	error = read_table(&reading);
	profile->rate = 1;
	profile->lacks = "blocks allocated before the heap profiler was started";
	target_memory_close(&reading.memory);
	return error;
}

const struct own_profile_source own_profile_gperftools = {"gperftools", gperftools_profile_read};
