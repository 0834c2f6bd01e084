// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Handles by kind (gc/handletablepriv.h): segments of 64 KiB, with blocks of 64 handles of one kind
 * each; and the queue of objects with pending finalisers (gc/gcpriv.h: CFinalize).
 */
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"
#include "heap/runtime/dotnet/dotnet.h"

#define KEY "dotnet"
#define MAPS_MAX 64
#define BUCKETS 10
#define TABLES_MAX 1024
#define SEGMENT_BYTES 65536
#define SEGMENT_HEADER 4096
#define SEGMENT_BLOCKS 120
#define BLOCK_HANDLES 64
#define SEGMENT_KINDS 1560 /* rgBlockType */
#define SEGMENT_USERS 1680 /* rgUserData: the block with the second words of another */
#define SEGMENT_TAILS                                                                              \
	1920 /* rgTail: one byte per kind; then rgHint, of the same size; then words */
/* CFinalize: ends of parts; the array; its end. */
#define QUEUE_WAITING (DOTNET_GENERATIONS - 1)
#define QUEUE_ARRAY (DOTNET_GENERATIONS + 2)
#define QUEUE_WORDS (QUEUE_ARRAY + 2)
#define MAP_NEXT 8

enum handle_kind {
	HANDLE_STRONG = 2,
	HANDLE_PINNED = 3,
	HANDLE_COUNTED = 5,
	HANDLE_DEPENDENT = 6,
	HANDLE_ASYNC_PINNED = 7,
	HANDLE_SIZED = 8,
	HANDLE_KINDS = 16,
};

/* Kinds that hold their object. */
static const char *const root_names[HANDLE_KINDS] = {
	[HANDLE_STRONG] = "strong handle",
	[HANDLE_PINNED] = "pinned handle",
	[HANDLE_COUNTED] = "reference-counted handle",
	[HANDLE_ASYNC_PINNED] = "async pinned handle",
	[HANDLE_SIZED] = "strong handle",
};

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

struct visit {
	struct dotnet *dotnet;
	struct heap_sink *sink;
	unsigned char *segment; /* SEGMENT_BYTES */
	struct hash pages;	/* pages of visited segments */
};

static int add_handle(const struct visit *visit, uint32_t kind, uint64_t object, uint64_t second)
{
	struct dotnet_dependent *dependent;

	if (root_names[kind])
		return heap_sink_root(visit->sink, KEY, root_names[kind], object);
	if (kind != HANDLE_DEPENDENT || !second)
		return 0;
	dependent = vec_push(&visit->dotnet->dependents);
	if (!dependent)
		return -ENOMEM;
	*dependent = (struct dotnet_dependent){object, second};
	return 0;
}

static int visit_block(const struct visit *visit, uint32_t block)
{
	const unsigned char *segment = visit->segment;
	uint32_t kind = segment[SEGMENT_KINDS + block], user = segment[SEGMENT_USERS + block];
	int error = 0;

	if (kind >= HANDLE_KINDS)
		return 0;
	for (uint32_t i = 0; !error && i < BLOCK_HANDLES; i++) {
		size_t place = SEGMENT_HEADER + ((size_t)block * BLOCK_HANDLES + i) * 8;
		uint64_t object = word_at(segment, place), second = 0;

		if (kind == HANDLE_DEPENDENT && user < SEGMENT_BLOCKS)
			second = word_at(segment,
					 SEGMENT_HEADER + ((size_t)user * BLOCK_HANDLES + i) * 8);
		if (object)
			error = add_handle(visit, kind, object, second);
	}
	return error;
}

/* Visits a segment: words outside its handles hold nothing. */
static int visit_segment(const struct visit *visit, uint64_t segment)
{
	int error = heap_sink_claim(visit->sink, segment, SEGMENT_BYTES, false);

	target_read_pages(visit->dotnet->memory, segment, visit->segment, SEGMENT_BYTES);
	for (uint32_t i = 0; !error && i < SEGMENT_BLOCKS; i++)
		error = visit_block(visit, i);
	return error;
}

/* Returns the list of segments, a pointer that follows rgTypeFlags. */
static uint64_t segments_of(struct dotnet *dotnet, uint64_t table)
{
	return target_word(dotnet->memory,
			   table + ((uint64_t)dotnet->handle_kinds * 4 + 7) / 8 * 8);
}

/* Returns whether a segment belongs to a table, whose address it contains; this also fixes the
 * number of kinds. */
static bool is_segment_of(struct dotnet *dotnet, uint64_t segment, uint64_t table)
{
	return segment && !(segment & (MEMORY_PAGE - 1)) &&
	       target_word(dotnet->memory,
			   segment + SEGMENT_TAILS + dotnet->handle_kinds * 6ull + 8) == table;
}

static bool find_kinds(struct dotnet *dotnet, uint64_t table)
{
	for (dotnet->handle_kinds = 12; dotnet->handle_kinds < HANDLE_KINDS;
	     dotnet->handle_kinds++) {
		if (is_segment_of(dotnet, segments_of(dotnet, table), table))
			return true;
	}
	dotnet->handle_kinds = 0;
	return false;
}

/* Returns whether it is a table: each has at least one segment. */
static bool is_table(struct dotnet *dotnet, uint64_t table)
{
	return table && (dotnet->handle_kinds || find_kinds(dotnet, table)) &&
	       is_segment_of(dotnet, segments_of(dotnet, table), table);
}

/* Notes a segment; *fresh: it does not overlap a visited one. 0 or -ENOMEM. */
static int take_segment(struct visit *visit, uint64_t segment, bool *fresh)
{
	*fresh = true;
	for (uint64_t at = 0; *fresh && at < SEGMENT_BYTES; at += MEMORY_PAGE) {
		if (!hash_put(&visit->pages, segment + at, fresh))
			return -ENOMEM;
	}
	return 0;
}

static int visit_table(struct visit *visit, uint64_t table)
{
	struct dotnet *dotnet = visit->dotnet;
	uint64_t segment = segments_of(dotnet, table);
	int error = 0;

	while (!error && is_segment_of(dotnet, segment, table)) {
		bool fresh;

		error = take_segment(visit, segment, &fresh);
		if (error || !fresh)
			break;
		error = visit_segment(visit, segment);
		segment = target_word(dotnet->memory,
				      segment + SEGMENT_TAILS + dotnet->handle_kinds * 6ull);
	}
	return error;
}

/*
 * Visits a bucket. The server's has a table for each processor (objecthandle.cpp,
 * getNumberOfSlots), regardless of the current number of heaps (DATAS); because tables are
 * recognised, reading beyond the last is harmless.
 */
static int visit_bucket(struct visit *visit, uint64_t bucket)
{
	struct target_memory *memory = visit->dotnet->memory;
	uint64_t tables = bucket ? target_word(memory, bucket) : 0;
	int error = 0;

	for (uint32_t i = 0; tables && !error && i < TABLES_MAX; i++) {
		uint64_t table = target_word(memory, tables + i * 8ull);

		if (is_table(visit->dotnet, table))
			error = visit_table(visit, table);
	}
	return error;
}

static int visit_handles(struct visit *visit)
{
	struct dotnet *dotnet = visit->dotnet;
	uint64_t map = dotnet_collector_place(dotnet, COLLECTOR_HANDLES);
	int error = 0;

	for (uint32_t maps = 0; !error && map && maps < MAPS_MAX; maps++) {
		uint64_t buckets = target_word(dotnet->memory, map);

		for (uint32_t i = 0; !error && buckets && i < BUCKETS; i++)
			error = visit_bucket(visit,
					     target_word(dotnet->memory, buckets + i * 8ull));
		map = target_word(dotnet->memory, map + MAP_NEXT);
	}
	return error;
}

static int compare_dependents(const void *left_pointer, const void *right_pointer)
{
	const struct dotnet_dependent *left = left_pointer, *right = right_pointer;

	return left->first < right->first ? -1 : left->first > right->first;
}

static int add_listed_object(struct heap_sink *sink, uint64_t object, bool waiting)
{
	return waiting ? heap_sink_waiting_root(sink, KEY, "object that awaits its finaliser",
						object)
		       : heap_sink_root(sink, KEY, "finaliser queue", object);
}

/* Counts a list whose contents are unknown as unread. */
static void note_unread(const struct dotnet *dotnet, struct heap_sink *sink, uint64_t bytes)
{
	struct walk_report *report = &sink->reports.items[dotnet->report];

	report->unread_bytes += bytes;
	report->all_roots = false;
}

/* Adds the objects in [at, end) of the list of objects with finalisers. */
static int add_listed(struct dotnet *dotnet, struct heap_sink *sink, uint64_t at, uint64_t end,
		      bool waiting)
{
	uint64_t words[MEMORY_PAGE / 8], bytes;
	int error = 0;

	for (; !error && at < end && maps_find(dotnet->memory->maps, at); at += bytes) {
		bytes = MIN(end - at, MEMORY_PAGE - at % MEMORY_PAGE);
		if (target_read(dotnet->memory, at, words, bytes)) {
			note_unread(dotnet, sink, bytes);
			continue;
		}
		for (uint64_t i = 0; !error && i < bytes / 8; i++)
			error = add_listed_object(sink, words[i], waiting);
	}
	return error;
}

/*
 * The list has parts, each ended by a pointer: objects by generation, then objects found
 * unreachable by the last collection, with pending finalisers.
 */
static int add_finalisers(struct dotnet *dotnet, struct heap_sink *sink, uint64_t queue)
{
	uint64_t words[QUEUE_WORDS], start;
	int error;

	if (!queue || target_read(dotnet->memory, queue, words, sizeof(words)))
		return 0;
	start = words[QUEUE_ARRAY];
	for (size_t i = 0; i < QUEUE_ARRAY; i++) {
		if (words[i] < start || words[i] > words[QUEUE_ARRAY + 1] || words[i] % 8 ||
		    (i && words[i] < words[i - 1])) {
			note_unread(dotnet, sink, 0);
			return 0;
		}
	}
	error = add_listed(dotnet, sink, words[QUEUE_WAITING], words[QUEUE_WAITING + 2], false);
	return error ? error : add_listed(dotnet, sink, start, words[QUEUE_WAITING], true);
}

int dotnet_add_handles(struct dotnet *dotnet, struct heap_sink *sink)
{
	struct visit visit = {.dotnet = dotnet, .sink = sink, .segment = malloc(SEGMENT_BYTES)};
	int error = visit.segment ? visit_handles(&visit) : -ENOMEM;

	free(visit.segment);
	hash_free(&visit.pages);
	if (dotnet->dependents.count)
		qsort(dotnet->dependents.items, dotnet->dependents.count,
		      sizeof(*dotnet->dependents.items), compare_dependents);
	for (size_t i = 0; !error && i < dotnet->queues.count; i++)
		error = add_finalisers(dotnet, sink, dotnet->queues.items[i]);
	return error;
}
