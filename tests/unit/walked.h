/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assertions about a walk over forged memory. Included after a fixture, which has `struct forged`,
 * with its `memory`, and forged_make(), and after MUTANTS: how many scrambled memories to walk.
 */
#ifndef LEAKMON_UNIT_WALKED_H
#define LEAKMON_UNIT_WALKED_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "heap/runtime/target_memory.h"
#include "unit/forged_memory.h"

#define REPORT(walked) (&(walked)->sink.reports.items[0])

/* Nothing here changes: no retry needs to wait. (stuck_read.c sleeps by clock_nanosleep().) */
int nanosleep(const struct timespec *requested, struct timespec *left)
{
	(void)requested;
	(void)left;
	return 0;
}

static inline int setup(void **state)
{
	struct forged *forged = malloc(sizeof(*forged));

	*state = forged;
	return forged && forged_make(forged) ? 0 : -1;
}

static inline int teardown(void **state)
{
	struct forged *forged = *state;

	forged_memory_free(&forged->memory);
	free(forged);
	return 0;
}

struct walked {
	struct heap_sink sink;
	struct intern strings;
};

static inline void walk(const struct forged_memory *memory, struct walked *walked)
{
	*walked = (struct walked){0};
	assert_int_equal(forged_memory_walk(memory, &walked->strings, &walked->sink), 0);
	assert_int_equal(walked->sink.reports.count, 1);
	assert_true(forged_walk_is_sound(&walked->sink));
}

/* The parts of a walk of one runtime, as runtime_walk_heaps() has them. */
static inline void walk_parts(const struct heap_walker *walker, struct heap_sink *sink)
{
	uint64_t nonsense;
	void *found = NULL;
	int error = walker->walk(sink->memory, sink, &sink->reports.items[0], &found);

	assert_int_equal(heap_sink_settle(sink, &nonsense), 0);
	if (!error)
		error = walker->roots(found, sink);
	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (node_has_class(sink->whats[i]) && !(sink->whats[i] & NODE_PART))
			error = walker->refer(found, sink, i);
	}
	assert_int_not_equal(error, -ENOMEM);
	assert_int_equal(heap_sink_finish(sink), 0);
	if (found)
		walker->end(found);
}

/* Walks memory of which so little may be read. Whether that was too little for all of it. */
static inline bool walk_within(const struct forged_memory *memory, const char *key, int64_t work,
			       struct walked *walked)
{
	struct heap_sink *sink = &walked->sink;
	struct target_memory target;
	bool overworked;

	*walked = (struct walked){0};
	assert_int_equal(forged_memory_sink(memory, &walked->strings, sink), 0);
	assert_int_equal(target_memory_open(&memory->maps, &memory->modules, NULL, &target), 0);
	target.work_most = target.work_left = work;
	sink->memory = &target;
	assert_non_null(heap_sink_report(sink, key));
	walk_parts(runtime_find(key)->walker, sink);
	overworked = target_memory_overworked(&target);
	sink->memory = NULL;
	target_memory_close(&target);
	return overworked;
}

static inline void walked_free(struct walked *walked)
{
	heap_sink_free(&walked->sink);
	intern_free(&walked->strings);
}

static inline const char *class_at(const struct heap_sink *sink, uint32_t node)
{
	uint32_t what = sink->whats[node];

	return node_has_class(what) ? sink->classes.items[what & NODE_CLASS].name : "";
}

static inline size_t count_class(const struct heap_sink *sink, const char *name)
{
	size_t count = 0;

	for (uint32_t i = 0; i < sink->count; i++)
		count += !strcmp(class_at(sink, i), name) && !(sink->whats[i] & NODE_PART);
	return count;
}

/* Returns the root with that name, or NULL. */
static inline const struct managed_root *root_named(const struct heap_sink *sink, const char *name)
{
	for (size_t i = 0; i < sink->roots.count; i++) {
		if (!strcmp(sink->roots.items[i].name, name))
			return &sink->roots.items[i];
	}
	return NULL;
}

static inline size_t count_roots(const struct heap_sink *sink, const char *name)
{
	size_t count = 0;

	for (size_t i = 0; i < sink->roots.count; i++)
		count += !strcmp(sink->roots.items[i].name, name);
	return count;
}

static inline void expect_root(const struct heap_sink *sink, const char *name, uint64_t holds)
{
	const struct managed_root *root = root_named(sink, name);

	if (!root)
		fail_msg("no root %s", name);
	assert_int_equal(root->node, heap_sink_node(sink, holds));
}

static inline bool has_root(const struct heap_sink *sink, const char *name, uint64_t holds)
{
	uint32_t node = heap_sink_node(sink, holds);

	for (size_t i = 0; i < sink->roots.count; i++) {
		if (sink->roots.items[i].node == node && !strcmp(sink->roots.items[i].name, name))
			return true;
	}
	return false;
}

static inline bool refers(const struct heap_sink *sink, uint64_t from, uint64_t to)
{
	uint32_t node = heap_sink_node(sink, from), target = heap_sink_node(sink, to);

	for (uint32_t i = sink->first[node]; i < sink->first[node + 1]; i++) {
		if (sink->references.targets[i] == target)
			return true;
	}
	return false;
}

/* Without those to its own parts. */
static inline uint32_t count_references(const struct heap_sink *sink, uint64_t from)
{
	uint32_t node = heap_sink_node(sink, from), count = 0;

	for (uint32_t i = sink->first[node]; i < sink->first[node + 1]; i++)
		count += !(sink->whats[sink->references.targets[i]] & NODE_PART) ||
			 !node_has_class(sink->whats[sink->references.targets[i]]);
	return count;
}

/* Nothing was walked, and that is why. */
static inline void expect_why(const struct forged_memory *memory, const char *words)
{
	struct walked walked;
	const char *why;

	walk(memory, &walked);
	why = walked.sink.reports.items[0].why;
	if (!why || !strstr(why, words))
		fail_msg("%s: %s", words, why ? why : "walked");
	assert_int_equal(walked.sink.classes.count, 0);
	assert_int_equal(walked.sink.roots.count, 0);
	walked_free(&walked);
}

/* Under sanitizers: nothing is read or written where it must not be, and it ends. */
static inline void expect_no_harm_of_nonsense(struct forged_memory *memory, size_t mutants)
{
	unsigned char *kept = malloc(memory->size);
	uint64_t seed = 42;

	assert_non_null(kept);
	memcpy(kept, memory->bytes, memory->size);
	for (size_t i = 0; i < mutants; i++) {
		struct walked walked;

		forged_memory_scramble(memory, &seed);
		walk(memory, &walked);
		walked_free(&walked);
		if (i % 4 == 3)
			memcpy(memory->bytes, kept, memory->size);
	}
	free(kept);
}

static inline void nonsense_anywhere_does_no_harm(void **state)
{
	struct forged *forged = *state;

	expect_no_harm_of_nonsense(&forged->memory, MUTANTS);
}

#define FORGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)

#endif
