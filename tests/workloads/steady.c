// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Programs that allocate all the time and leak nothing:
 *
 *   steady lru [PAUSE_US]       a cache of 20,000 entries that replaces the least recently used
 *                               one; few keys are requested often, many seldom. An entry is
 *                               written once, and stays unchanged for as long as it is
 *                               requested
 *   steady batches [PAUSE_US]   some thousand records are made, sorted and freed, all together,
 *                               some seconds after the first of them was made
 *
 * It prints "ready PID" and runs until SIGTERM; then it frees everything.
 */
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "noise.h"

#define ENTRIES 20000
#define KEYS 400000
#define BUCKETS 32768
#define BATCH 5000
#define AT_ONCE 50 /* requests or records between two pauses */
#define NOINLINE __attribute__((noinline))

static volatile sig_atomic_t done;

static char *make_value(uint64_t key)
{
	size_t size = 40 + key * 7919 % 300;
	char *value = malloc(size);

	if (!value)
		abort();
	fill(value, size);
	return value;
}

/* -------- a cache */

struct entry {
	struct entry *newer, *older, *next; /* in its bucket */
	uint64_t key;
	char *value;
};

static struct entry *buckets[BUCKETS], *newest, *oldest;
static size_t entries;

static struct entry **place_of(uint64_t key)
{
	struct entry **place = &buckets[key % BUCKETS];

	while (*place && (*place)->key != key)
		place = &(*place)->next;
	return place;
}

static void unlink_entry(struct entry *entry)
{
	*(entry->newer ? &entry->newer->older : &newest) = entry->older;
	*(entry->older ? &entry->older->newer : &oldest) = entry->newer;
}

static void put_first(struct entry *entry)
{
	entry->newer = NULL;
	entry->older = newest;
	*(newest ? &newest->newer : &oldest) = entry;
	newest = entry;
}

static void evict(void)
{
	struct entry *entry = oldest;

	unlink_entry(entry);
	*place_of(entry->key) = entry->next;
	free(entry->value);
	free(entry);
	entries--;
}

NOINLINE static char *cache_value(uint64_t key)
{
	return make_value(key);
}

NOINLINE static struct entry *cache_entry(uint64_t key)
{
	struct entry *entry = calloc(1, sizeof(*entry));

	if (!entry)
		abort();
	entry->key = key;
	entry->value = cache_value(key);
	return entry;
}

/* The smaller a key, the more often it is drawn: its logarithm is uniform. */
static uint64_t some_key(void)
{
	uint64_t most = KEYS >> next_random() % 16;

	return next_random() % (most + 1);
}

static void request(void)
{
	uint64_t key = some_key();
	struct entry **place = place_of(key), *entry = *place;

	if (entry) {
		unlink_entry(entry);
	} else {
		if (entries == ENTRIES)
			evict();
		entry = cache_entry(key);
		place = place_of(key);
		entry->next = *place;
		*place = entry;
		entries++;
	}
	put_first(entry);
}

static void clear(void)
{
	while (oldest)
		evict();
}

/* -------- batches */

static char *records[BATCH];
static size_t record_count;

NOINLINE static char *batch_record(void)
{
	return make_value(next_random() % KEYS);
}

static int by_contents(const void *left, const void *right)
{
	return memcmp(*(char *const *)left, *(char *const *)right, 8);
}

static void finish_batch(void)
{
	qsort(records, record_count, sizeof(*records), by_contents);
	for (size_t i = 0; i < record_count; i++)
		free(records[i]);
	record_count = 0;
}

static void record(void)
{
	if (record_count == BATCH)
		finish_batch();
	records[record_count++] = batch_record();
}

static void on_term(int signal)
{
	(void)signal;
	done = 1;
}

int main(int argc, char **argv)
{
	int batches = argc > 1 && !strcmp(argv[1], "batches");
	unsigned pause_us = argc > 2 ? (unsigned)strtoul(argv[2], NULL, 10) : 1000;

	signal(SIGTERM, on_term);
	printf("ready %d\n", getpid());
	fflush(stdout);
	while (!done) {
		for (int i = 0; i < AT_ONCE; i++)
			(batches ? record : request)();
		usleep(pause_us);
	}
	clear();
	finish_batch();
	return 0;
}
