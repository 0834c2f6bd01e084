// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The samples that Google's TCMalloc always takes, one every 2 MiB by default: a list of records of
 * sampled blocks; records of freed blocks are marked and reused. TCMalloc stores the weight of
 * each: the bytes allocated since the previous sample.
 *
 * The list is found by way of a variable in a module's data. It is believed if it ends, and if
 * every live record has a call stack of only code addresses, a page-aligned span, and consistent
 * sizes.
 *
 * Source: google/tcmalloc of August 2026, tcmalloc/internal/sampled_allocation_recorder.h,
 * internal/logging.h (StackTrace) and stack_trace_table.cc; compared with workerd 1.20261117.1.
 */
#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/loop.h"
#include "heap/runtime/own_profile.h"

/* SampleRecorder: the first record, then its embedded record up to RECORD_DEAD */
#define RECORDER_WORDS 4

/* SampledAllocation, in words */
#define RECORD_NEXT 1
#define RECORD_DEAD 2 /* the next free record; 0: the block is live */
#define RECORD_REQUESTED 4
#define RECORD_ALIGNMENT 5
#define RECORD_ALLOCATED 7
#define RECORD_WEIGHT 9
#define RECORD_SPAN 12
#define RECORD_DEPTH 13
#define RECORD_STACK 14
#define MAX_DEPTH 64
#define RECORD_WORDS (RECORD_STACK + MAX_DEPTH)

#define PAGE_BYTES 8192 /* TCMalloc's page size */
#define MAX_BYTES (1ull << 47)
#define MAX_RECORDS (1u << 20)
/* Most free records between a variable and a live one. */
#define MAX_DEAD 4096

struct tcmalloc_profile {
	struct target_memory memory;
	struct heap_profile *profile;
	struct hash sites; /* a stack's id -> place in profile->sites, plus 1 */
	uint64_t first;	   /* record; 0: not found */
};

static bool read_head(struct tcmalloc_profile *reading, uint64_t address,
		      uint64_t record[RECORD_WORDS])
{
	return address && address % 8 == 0 &&
	       !target_read(&reading->memory, address, record, RECORD_STACK * sizeof(*record));
}

static bool is_sample(const struct target_memory *memory, const uint64_t *record)
{
	if (!record[RECORD_REQUESTED] || record[RECORD_REQUESTED] > record[RECORD_ALLOCATED] ||
	    record[RECORD_ALLOCATED] > MAX_BYTES || !record[RECORD_WEIGHT] ||
	    record[RECORD_WEIGHT] > MAX_BYTES || !record[RECORD_SPAN] ||
	    record[RECORD_SPAN] % PAGE_BYTES ||
	    (record[RECORD_ALIGNMENT] & (record[RECORD_ALIGNMENT] - 1)))
		return false;
	for (uint64_t i = 0; i < record[RECORD_DEPTH]; i++) {
		if (!own_profile_is_code(memory, record[RECORD_STACK + i] - 1))
			return false;
	}
	return true;
}

/* Reads the record of a live block. */
static bool read_sample(struct tcmalloc_profile *reading, uint64_t address,
			uint64_t record[RECORD_WORDS])
{
	return record[RECORD_DEPTH] && record[RECORD_DEPTH] <= MAX_DEPTH &&
	       !target_read(&reading->memory, address + RECORD_STACK * 8, record + RECORD_STACK,
			    record[RECORD_DEPTH] * 8) &&
	       is_sample(&reading->memory, record);
}

/* -------- the list */

static bool leads_to_sample(struct tcmalloc_profile *reading, uint64_t at)
{
	uint64_t record[RECORD_WORDS];

	for (int i = 0; i < MAX_DEAD && read_head(reading, at, record); i++) {
		if (!record[RECORD_DEAD])
			return read_sample(reading, at, record);
		at = record[RECORD_NEXT];
	}
	return false;
}

/* Free records form a ring that contains the recorder itself. */
static bool leads_back(struct tcmalloc_profile *reading, uint64_t at, uint64_t recorder)
{
	for (uint32_t i = 0; at && at % 8 == 0 && i < MAX_RECORDS; i++) {
		if (at == recorder)
			return true;
		at = target_word(&reading->memory, at + RECORD_DEAD * 8);
	}
	return false;
}

static bool find_list(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct tcmalloc_profile *reading = context;

	for (size_t i = 0; !reading->first && i + RECORDER_WORDS <= count; i++) {
		if (words[i] && words[i] % 64 == 0 &&
		    leads_back(reading, words[i + RECORDER_WORDS - 1], address + i * 8 + 8) &&
		    leads_to_sample(reading, words[i]))
			reading->first = words[i];
	}
	return reading->first;
}

/* -------- samples */

/* StackTraceTable::AddTrace() adds a byte, because a block may have size 0. */
static void add_weight(const uint64_t *record, struct heap_profile_site *site)
{
	double objects = (double)record[RECORD_WEIGHT] / (double)(record[RECORD_REQUESTED] + 1);
	double bytes = objects * (double)record[RECORD_ALLOCATED];

	site->allocated.objects++;
	site->allocated.bytes += record[RECORD_ALLOCATED];
	site->weighed.objects += objects;
	site->weighed.bytes += bytes;
	site->weighed.variance += bytes * bytes;
	site->weighed.largest = fmax(site->weighed.largest, bytes);
}

static int add_sample(struct tcmalloc_profile *reading, const uint64_t *record)
{
	struct heap_profile_site site = {.depth = record[RECORD_DEPTH]}, *kept;
	uint64_t *place;

	for (size_t i = 0; i < site.depth; i++)
		site.id = hash_mix(site.id ^ record[RECORD_STACK + i]);
	place = hash_put(&reading->sites, site.id, NULL);
	if (place && *place) {
		add_weight(record, &reading->profile->sites.items[*place - 1]);
		return 0;
	}
	site.addresses = place ? calloc(site.depth + 1, sizeof(*site.addresses)) : NULL;
	kept = site.addresses ? vec_push(&reading->profile->sites) : NULL;
	if (!kept) {
		free(site.addresses);
		return -ENOMEM;
	}
	memcpy(site.addresses, record + RECORD_STACK, site.depth * sizeof(*site.addresses));
	*kept = site;
	add_weight(record, kept);
	*place = reading->profile->sites.count;
	return 0;
}

static int read_list(struct tcmalloc_profile *reading)
{
	uint64_t record[RECORD_WORDS], at = reading->first;
	uint32_t found = 0, broken = 0;
	struct loop loop = {0};
	int error = 0;

	for (; !error && at; at = record[RECORD_NEXT]) {
		if (++found > MAX_RECORDS || loop_found(&loop, at) ||
		    !read_head(reading, at, record)) {
			reading->profile->why = "its list of samples has no end";
			break;
		}
		if (record[RECORD_DEAD])
			continue;
		if (read_sample(reading, at, record))
			error = add_sample(reading, record);
		else
			broken++;
	}
	/* One broken record is tolerated: it may have been half written. */
	if (broken > 1 && !reading->profile->why)
		reading->profile->why = "its samples changed too fast to read; try again";
	return error;
}

static int tcmalloc_profile_read(const struct maps *maps, struct heap_profile *profile)
{
	struct tcmalloc_profile reading = {.profile = profile};
	int error = target_memory_open(maps, NULL, NULL, &reading.memory);

	if (error)
		return error;
	own_profile_scan(&reading.memory, RECORDER_WORDS, find_list, &reading);
	error = reading.first ? read_list(&reading) : -ENOENT;
	hash_free(&reading.sites);
	target_memory_close(&reading.memory);
	return error;
}

const struct own_profile_source own_profile_tcmalloc = {"Google TCMalloc", tcmalloc_profile_read};
