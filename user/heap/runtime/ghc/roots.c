// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Roots of Haskell's closures: evaluated constant expressions (CAFs), stable pointers, threads,
 * weak pointers. Variables of C come last. The collector's own records hold nothing.
 */
#include "heap/runtime/ghc/ghc.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"

#define ROOT_BYTES (GHC_LINE_BYTES + 16)
#define WINDOW_WORDS 512
#define DATA_MAX (1ull << 32) /* bytes of the data of all programs */
/* Closures.h: StgIndStatic. */
#define CAF_VALUE 8
#define CAF_LINK 16
#define CAF_CODE 24
#define CAF_BYTES 32
#define STATE_KILLED 3
#define STATE_COMPLETE 4

/* Data of programs. */

static int visit_mapping(const struct ghc *ghc, uint64_t start, uint64_t end, ghc_visit_word *visit,
			 void *context)
{
	uint64_t words[WINDOW_WORDS];
	int error = 0;

	for (uint64_t at = start; !error && at < end; at += sizeof(words)) {
		if (target_read(ghc->memory, at, words, sizeof(words)))
			continue;
		for (size_t i = 0; !error && i < WINDOW_WORDS; i++) {
			if (words[i])
				error = visit(context, at + i * GHC_WORD, words[i]);
		}
	}
	return error;
}

int ghc_visit_data(const struct ghc *ghc, ghc_visit_word *visit, void *context)
{
	const struct data_modules *modules = ghc->memory->modules;
	const struct maps *maps = ghc->memory->maps;
	uint64_t left = DATA_MAX;
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		const struct data_module *module = data_modules_at(modules, mapping->start);
		uint64_t bytes;

		if (!module || !mapping->writable || mapping->shared)
			continue;
		bytes = MIN(MIN(mapping->end, module->end) - mapping->start, left);
		left -= bytes;
		error = visit_mapping(ghc, mapping->start, mapping->start + bytes, visit, context);
	}
	return error;
}

struct visit {
	struct ghc *ghc;
	struct heap_sink *sink;
	/* link flag of CAFs that lived at the last collection; 0: unknown, or unmarked CAFs have
	 * another one */
	uint64_t flag;
};

/*
 * Returns whether a CAF lives (Storage.c, Note [STATIC_LINK fields]): new ones have no flag, and 3
 * stands for all. A CAF without a flag and in no list was dead at the last collection, and its
 * target is invalid.
 */
static bool caf_lives(const struct visit *visit, uint64_t caf)
{
	uint64_t flag = target_word(visit->ghc->memory, caf + CAF_LINK) & 3;

	if (!flag && visit->ghc->memory->image)
		return hash_get(&visit->ghc->listed, caf) != NULL;
	return !visit->flag || !flag || flag == 3 || flag == visit->flag;
}

/* Writes the name of a CAF, or of the code that evaluated it. */
static void caf_name(const struct ghc *ghc, uint64_t caf, char root[ROOT_BYTES])
{
	char name[GHC_NAME_BYTES], line[GHC_LINE_BYTES];
	bool exact = false;

	if ((ghc_name_at(ghc, caf, name, &exact) && exact) || ghc_variable_at(ghc, caf, name))
		snprintf(root, ROOT_BYTES, "CAF %s", name);
	else if (ghc_line(ghc, target_word(ghc->memory, caf + CAF_CODE), line))
		snprintf(root, ROOT_BYTES, "CAF %s", line);
	else if (ghc_name_at(ghc, target_word(ghc->memory, caf + CAF_CODE), name, &exact))
		snprintf(root, ROOT_BYTES, "CAF in %s", name);
	else {
		ghc_place_name(ghc, caf, name);
		snprintf(root, ROOT_BYTES, "CAF %s", name);
	}
}

static int add_caf(void *context, uint64_t address, uint64_t word)
{
	struct visit *visit = context;
	char root[ROOT_BYTES];
	const struct ghc_info *info;
	uint64_t value;
	int error;

	if (!ghc_is_code(visit->ghc, word))
		return 0;
	error = ghc_info_at(visit->ghc, visit->sink, word, &info);
	if (error || info->type != GHC_IND_STATIC)
		return error == -ENOMEM ? error : 0;
	value = target_word(visit->ghc->memory, address + CAF_VALUE);
	if (heap_sink_node(visit->sink, value) == BLOCK_NONE)
		return 0;
	/* It does not count as a variable of C. */
	error = heap_sink_claim(visit->sink, address, CAF_BYTES, true);
	if (error || !caf_lives(visit, address))
		return error;
	caf_name(visit->ghc, address, root);
	return heap_sink_root(visit->sink, GHC_KEY, root, value);
}

static int add_cafs(struct ghc *ghc, struct heap_sink *sink)
{
	struct visit visit = {ghc, sink, 0};
	uint64_t flag = ghc_symbol(ghc, "static_flag");

	if (flag && !ghc_is_marking(ghc))
		visit.flag = target_word(ghc->memory, flag) & 3;
	return ghc_visit_data(ghc, add_caf, &visit);
}

/* Adds stable pointers (StablePtr.c); free entries form a list. */
static int add_stable_pointers(struct ghc *ghc, struct heap_sink *sink)
{
	uint64_t table = target_word(ghc->memory, ghc_symbol(ghc, "stable_ptr_table"));
	uint32_t node = heap_sink_node(sink, table);
	int error = 0;

	if (!table || node == BLOCK_NONE || node_has_class(sink->whats[node]))
		return 0;
	for (uint64_t i = 0;
	     !error && i < sink->sizes[node] / GHC_WORD && !target_memory_overworked(ghc->memory);
	     i++) {
		uint64_t value = target_word(ghc->memory, sink->starts[node] + i * GHC_WORD);
		uint32_t held = heap_sink_node(sink, value);

		if (held != BLOCK_NONE && node_has_class(sink->whats[held]))
			error = heap_sink_root(sink, GHC_KEY, "stable pointers", value);
	}
	return error ? error : heap_sink_claim(sink, sink->starts[node], sink->sizes[node], true);
}

/* Threads and weak pointers, which are closures. */

/* Adds a thread. In 8.8 its number has 32 bits, followed by an error number. */
static int add_thread(const struct ghc *ghc, struct heap_sink *sink, uint64_t address,
		      const uint64_t *words, size_t count)
{
	size_t id = GHC_TSO_ID + ghc_thread_shift(ghc, words, count);
	char name[40];
	uint64_t state;

	if (count <= id)
		return 0;
	state = words[GHC_TSO_STATE] & 0xffff;
	if (state == STATE_KILLED || state == STATE_COMPLETE)
		return 0;
	snprintf(name, sizeof(name), "thread %llu", (unsigned long long)(words[id] & UINT32_MAX));
	return heap_sink_root(sink, GHC_KEY, name, address);
}

/* Adds a weak pointer, whose finalizers wait for the death of the key. */
static int add_weak(struct ghc *ghc, struct heap_sink *sink, uint64_t address,
		    const uint64_t *words, size_t count)
{
	uint32_t key = ghc_weak_key(sink, words, count);

	if (key != BLOCK_NONE && sink->starts[key] != address) {
		uint64_t *place = hash_put(&ghc->weak_keys, key, NULL);
		struct ghc_weak *added = place ? vec_push(&ghc->weaks) : NULL;

		if (!added)
			return -ENOMEM;
		*added = (struct ghc_weak){words[GHC_WEAK_VALUE], *place};
		*place = ghc->weaks.count;
	}
	return heap_sink_waiting_root(sink, GHC_KEY, "weak pointers", address);
}

static int add_closures(struct ghc *ghc, struct heap_sink *sink)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		const struct ghc_info *info;
		const uint64_t *words;
		size_t count;

		if (!node_has_class(sink->whats[i]))
			continue;
		words = ghc_copied(ghc, sink->starts[i], &count);
		if (!words || !count)
			continue;
		error = ghc_info_at(ghc, sink, words[0], &info);
		if (!error && info->shape == SHAPE_TSO)
			error = add_thread(ghc, sink, sink->starts[i], words, count);
		else if (!error && info->shape == SHAPE_WEAK)
			error = add_weak(ghc, sink, sink->starts[i], words, count);
		if (error == -ENOENT)
			error = 0;
	}
	return error;
}

/* Claims the generations, which lead to threads and weak pointers that may be garbage. */
static int claim_generations(const struct ghc *ghc, struct heap_sink *sink)
{
	int error = 0;

	for (size_t i = 0; !error && i < GHC_GENERATIONS_MAX; i++) {
		uint32_t node = heap_sink_node(sink, ghc->generations[i]);

		if (node != BLOCK_NONE && !node_has_class(sink->whats[node]))
			error = heap_sink_claim(sink, sink->starts[node], sink->sizes[node], true);
	}
	return error;
}

static int claim_heap(const struct ghc *ghc, struct heap_sink *sink)
{
	const struct maps *maps = ghc->memory->maps;
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (ghc_is_heap(ghc, mapping))
			error = heap_sink_claim(sink, mapping->start, mapping->end - mapping->start,
						false);
	}
	return error;
}

int ghc_roots(void *state, struct heap_sink *sink)
{
	struct ghc *ghc = state;
	int error = add_cafs(ghc, sink);

	if (!error)
		error = add_stable_pointers(ghc, sink);
	if (!error)
		error = add_closures(ghc, sink);
	if (!error)
		error = claim_generations(ghc, sink);
	return error ? error : claim_heap(ghc, sink);
}
