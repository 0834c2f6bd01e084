// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap profile that jemalloc keeps with prof:true: a hash table maps each call stack to a
 * record, whose tree contains one record for each thread that allocated there, with counts of its
 * live samples. jemalloc 5.3 stores weighted counts, too.
 *
 * The table is found by its shape in a module's data. It is believed if its number of entries
 * equals its count, and each entry leads to a stack inside its own record; a thread's record is
 * believed if it leads back to that record. Threads keep running, so the table is read again if it
 * changed meanwhile.
 *
 * Source: jemalloc 5.3.0 and 5.3.1, ckh.h, prof_structs.h, prof_data.c (prof_unbias_map_init).
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "binary/arch/machine.h"
#include "heap/runtime/own_profile.h"

/* ckh_t, from its count on. */
#define TABLE_COUNT 0
#define TABLE_BITS 1 /* log2 of buckets: minimum, current */
#define TABLE_HASH 2
#define TABLE_COMPARE 3
#define TABLE_CELLS 4
#define TABLE_WORDS 5
#define BUCKET_CELLS 4 /* LG_CKH_BUCKET_CELLS, for cache lines of 64 bytes */
#define MAX_BUCKET_BITS 20
#define CELL_WORDS 2 /* a stack, and its record */
#define CELLS_AT_ONCE 512

/* prof_gctx_t: the tree of threads' records; the stack follows at a variable distance, and begins
 * with its address and its depth (prof_bt_t). */
#define SITE_TREE 16
#define SITE_BYTES_MAX 512
#define MAX_DEPTH 1024

/* prof_tctx_t */
#define THREAD_OBJECTS 4	 /* live ones */
#define THREAD_OBJECTS_WEIGHED 5 /* times 8 */
#define THREAD_BYTES 6
#define THREAD_BYTES_WEIGHED 7
#define THREAD_SITE 12
#define THREAD_LEFT 14
#define THREAD_RIGHT 15 /* its lowest bit is the colour */
#define THREAD_WORDS 16
#define WEIGHED_SHIFT 3

#define MAX_TREE_DEPTH 128 /* a red-black tree of 2^64 records */
#define MAX_RECORDS (1u << 20)
#define MAX_SAMPLED (1ull << 48) /* limit of a valid record */
#define READ_TRIES 3

/* Weights of a sample by size class: this many classes identify the table. */
#define WEIGHTS 16
#define MIN_RATE_BITS 2
#define MAX_RATE_BITS 40

struct jemalloc_profile {
	struct target_memory memory;
	struct heap_profile *profile;
	uint64_t table[TABLE_WORDS];
	/* bounds of the module with jemalloc's code; 0, 0: the program */
	uint64_t own_start, own_end;
	uint32_t records; /* threads' records read so far */
	bool changed;	  /* an inconsistency was seen */
};

static bool looks_like_table(const struct target_memory *memory, const uint64_t *words)
{
	uint32_t least = (uint32_t)words[TABLE_BITS], now = (uint32_t)(words[TABLE_BITS] >> 32);

	return least && least <= now && now <= MAX_BUCKET_BITS && words[TABLE_COUNT] &&
	       words[TABLE_COUNT] <= (uint64_t)BUCKET_CELLS << now && words[TABLE_CELLS] &&
	       words[TABLE_CELLS] % 64 == 0 && words[TABLE_HASH] != words[TABLE_COMPARE] &&
	       own_profile_is_code(memory, words[TABLE_HASH]) &&
	       own_profile_is_code(memory, words[TABLE_COMPARE]);
}

/* The record of a stack, which also contains the stack, behind its address and depth. */
struct site_record {
	uint64_t address, stack, depth;
};

static bool read_site_record(struct jemalloc_profile *reading, const uint64_t *cell,
			     struct site_record *record)
{
	uint64_t words[2];

	record->address = cell[1];
	if (cell[0] % 8 || cell[1] % 8 || !cell[1] || cell[0] <= cell[1] ||
	    cell[0] - cell[1] >= SITE_BYTES_MAX ||
	    target_read(&reading->memory, cell[0], words, sizeof(words)))
		return false;
	record->stack = words[0];
	record->depth = (uint32_t)words[1];
	return words[0] == cell[0] + sizeof(words) && record->depth && record->depth <= MAX_DEPTH;
}

/* -------- one call stack */

/* Adds one thread's counts. Returns false if it is no record of this call stack. */
static bool add_thread(struct jemalloc_profile *reading, const struct site_record *record,
		       uint64_t address, uint64_t words[THREAD_WORDS],
		       struct heap_profile_site *site)
{
	if (address % 8 || ++reading->records > MAX_RECORDS ||
	    target_read(&reading->memory, address, words, THREAD_WORDS * 8) ||
	    words[THREAD_SITE] != record->address || words[THREAD_OBJECTS] > MAX_SAMPLED ||
	    words[THREAD_BYTES] > MAX_SAMPLED || words[THREAD_BYTES_WEIGHED] > MAX_SAMPLED ||
	    words[THREAD_OBJECTS_WEIGHED] >> WEIGHED_SHIFT > MAX_SAMPLED)
		return false;
	site->allocated.objects += words[THREAD_OBJECTS];
	site->allocated.bytes += words[THREAD_BYTES];
	site->weighed.objects += (double)words[THREAD_OBJECTS_WEIGHED] / (1u << WEIGHED_SHIFT);
	site->weighed.bytes += (double)words[THREAD_BYTES_WEIGHED];
	return true;
}

static void add_threads(struct jemalloc_profile *reading, const struct site_record *record,
			struct heap_profile_site *site)
{
	uint64_t pending[MAX_TREE_DEPTH], words[THREAD_WORDS];
	size_t count = 1;

	pending[0] = target_word(&reading->memory, record->address + SITE_TREE);
	while (count) {
		uint64_t at = pending[--count];

		if (!at)
			continue;
		if (count + 2 > MAX_TREE_DEPTH || !add_thread(reading, record, at, words, site)) {
			reading->changed = true;
			return;
		}
		pending[count++] = words[THREAD_LEFT];
		pending[count++] = words[THREAD_RIGHT] & ~1ull;
	}
}

/* Drops jemalloc's own frames, which come first, if it is a library rather than a part of the
 * program. */
static void drop_own_frames(const struct jemalloc_profile *reading, struct heap_profile_site *site)
{
	size_t own = 0;

	while (own < site->depth && site->addresses[own] >= reading->own_start &&
	       site->addresses[own] < reading->own_end)
		own++;
	if (own == site->depth)
		return;
	site->depth -= own;
	memmove(site->addresses, site->addresses + own, site->depth * sizeof(*site->addresses));
}

static bool read_addresses(struct jemalloc_profile *reading, const struct site_record *record,
			   struct heap_profile_site *site)
{
	for (size_t i = 0; i < record->depth; i++) {
		if (site->addresses[i] >= 1ull << MACHINE_USER_BITS)
			return false;
		site->id = hash_mix(site->id ^ site->addresses[i]);
	}
	site->depth = record->depth;
	drop_own_frames(reading, site);
	return true;
}

static int add_site(struct jemalloc_profile *reading, const uint64_t *cell)
{
	struct heap_profile_site site = {0}, *kept;
	struct site_record record;
	double weight, size;

	if (!read_site_record(reading, cell, &record)) {
		reading->changed = true;
		return 0;
	}
	add_threads(reading, &record, &site);
	if (!site.allocated.objects || reading->changed)
		return 0;
	weight = site.weighed.bytes / (double)site.allocated.objects;
	size = (double)site.allocated.bytes / (double)site.allocated.objects;
	site.weighed.largest = weight;
	site.weighed.variance = fmax(site.weighed.bytes * (weight - size), 0);
	site.addresses = calloc(record.depth, sizeof(*site.addresses));
	kept = site.addresses ? vec_push(&reading->profile->sites) : NULL;
	if (!kept) {
		free(site.addresses);
		return -ENOMEM;
	}
	*kept = site;
	if (target_read(&reading->memory, record.stack, kept->addresses, record.depth * 8) ||
	    !read_addresses(reading, &record, kept))
		reading->changed = true;
	return 0;
}

/* -------- the table */

static int read_cells(struct jemalloc_profile *reading, uint64_t *found)
{
	uint64_t cells[CELLS_AT_ONCE * CELL_WORDS];
	uint64_t left = (uint64_t)BUCKET_CELLS << (reading->table[TABLE_BITS] >> 32);
	uint64_t at = reading->table[TABLE_CELLS];
	int error = 0;

	for (*found = 0; !error && left && !reading->changed; at += sizeof(cells)) {
		uint64_t count = MIN(left, CELLS_AT_ONCE);

		reading->changed = target_read(&reading->memory, at, cells, count * CELL_WORDS * 8);
		for (uint64_t i = 0; !error && i < count && !reading->changed; i++) {
			if (!cells[i * CELL_WORDS])
				continue;
			++*found;
			error = add_site(reading, cells + i * CELL_WORDS);
		}
		left -= count;
	}
	return error;
}

/* Sets the bounds of jemalloc's code if it is not in the program, which is mapped first. */
static void find_own_code(struct jemalloc_profile *reading)
{
	const struct maps *maps = reading->memory.maps;
	const struct mapping *own = maps_find(maps, reading->table[TABLE_HASH]);

	if (own && maps->list.count && own->inode != maps->list.items[0].inode) {
		reading->own_start = own->start;
		reading->own_end = own->end;
	}
}

static bool find_table(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct jemalloc_profile *reading = context;
	uint64_t cells[BUCKET_CELLS * CELL_WORDS];
	struct site_record record;

	(void)address;
	for (size_t i = 0; i + TABLE_WORDS <= count; i++) {
		uint64_t buckets, at = words[i + TABLE_CELLS];

		if (!looks_like_table(&reading->memory, words + i))
			continue;
		/* The first stack in the table shows its kind. */
		buckets = 1ull << (words[i + TABLE_BITS] >> 32);
		for (; buckets && !target_read(&reading->memory, at, cells, sizeof(cells));
		     buckets--, at += sizeof(cells)) {
			size_t cell = 0;

			while (cell < BUCKET_CELLS && !cells[cell * CELL_WORDS])
				cell++;
			if (cell == BUCKET_CELLS)
				continue;
			if (!read_site_record(reading, cells + cell * CELL_WORDS, &record))
				break;
			memcpy(reading->table, words + i, sizeof(reading->table));
			return true;
		}
	}
	return false;
}

/* -------- the rate: jemalloc keeps a table of sample weights by size class */

/* Returns the n-th size class (sc.c), as in jemalloc_heap.c. */
static uint64_t class_size(uint32_t n, uint32_t quantum_shift)
{
	uint32_t tiny = quantum_shift - 3;

	if (n < tiny)
		return 8ull << n;
	n -= tiny;
	return n < 4 ? (n + 1ull) << quantum_shift : (n % 4 + 5ull) << (quantum_shift + n / 4 - 1);
}

/* prof_unbias_map_init() */
static bool weights_fit(const uint64_t *weights, uint32_t quantum_shift, uint32_t rate_bits)
{
	for (uint32_t n = 0; n < WEIGHTS; n++) {
		double size = (double)class_size(n, quantum_shift);
		double chance = -expm1(-size / (double)(1ull << rate_bits));

		if (weights[n] != (uint64_t)round(size / chance))
			return false;
	}
	return true;
}

static bool find_rate(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	uint64_t *rate = context;

	(void)address;
	for (size_t i = 0; i + WEIGHTS <= count; i++) {
		/*
		 * The weight of the smallest size is the rate, a power of two, plus half that size.
		 */
		uint32_t bits = words[i] > 8 ? 63u - (uint32_t)__builtin_clzll(words[i] - 4) : 0;

		if (bits < MIN_RATE_BITS || bits > MAX_RATE_BITS ||
		    (!weights_fit(words + i, 4, bits) && !weights_fit(words + i, 3, bits)))
			continue;
		*rate = 1ull << bits;
		return true;
	}
	return false;
}

/* Returns whether every sample has a weight of 1. */
static bool is_complete(const struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->sites.count; i++) {
		const struct heap_profile_site *site = &profile->sites.items[i];

		if (site->weighed.bytes != (double)site->allocated.bytes)
			return false;
	}
	return true;
}

/* -------- all of it */

static void forget_sites(struct heap_profile *profile)
{
	for (size_t i = 0; i < profile->sites.count; i++)
		free(profile->sites.items[i].addresses);
	profile->sites.count = 0;
}

static int read_table(struct jemalloc_profile *reading)
{
	int error = -ENOENT;

	for (int i = 0; i < READ_TRIES && (i == 0 || (!error && reading->changed)); i++) {
		uint64_t found;

		target_memory_read_anew(&reading->memory);
		forget_sites(reading->profile);
		reading->records = 0;
		reading->changed = false;
		if (!own_profile_scan(&reading->memory, TABLE_WORDS, find_table, reading))
			return error;
		find_own_code(reading);
		error = read_cells(reading, &found);
		reading->changed |= found != reading->table[TABLE_COUNT];
	}
	if (!error && reading->changed)
		reading->profile->why = "its profile changed too fast to read; try again";
	return error;
}

static int jemalloc_profile_read(const struct maps *maps, struct heap_profile *profile)
{
	struct jemalloc_profile reading = {.profile = profile};
	int error = target_memory_open(maps, NULL, NULL, &reading.memory);

	if (error)
		return error;
	error = read_table(&reading);
	if (!error && !profile->why &&
	    !own_profile_scan(&reading.memory, WEIGHTS, find_rate, &profile->rate) &&
	    is_complete(profile))
		profile->rate = 1;
	profile->lacks = "blocks allocated while profiling was off (prof_active)";
	target_memory_close(&reading.memory);
	return error;
}

const struct own_profile_source own_profile_jemalloc = {"jemalloc", jemalloc_profile_read};
