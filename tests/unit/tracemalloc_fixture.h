/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A small Python (cpython_fixture.h) that traces its blocks: eight of them, by two call stacks, one
 * of which is there twice. Used by a unit test and a fuzzer, so it asserts nothing.
 */
#ifndef LEAKMON_UNIT_TRACEMALLOC_FIXTURE_H
#define LEAKMON_UNIT_TRACEMALLOC_FIXTURE_H

#include "heap/runtime/cpython/python_reader.h"
#include "unit/cpython_fixture.h"

#define FORGED_BUCKETS 16
#define FORGED_BLOCKS 8
#define FORGED_BLOCK_SIZE 100u
#define FORGED_TRACES_AT (FORGED_BASE + 0x800) /* the variable */

struct forged_traces {
	struct forged forged;
	uint64_t table, lists, lines[3], entries[FORGED_BLOCKS];
};

/* Makes lines of one file, innermost first; `all`: the original number. */
static inline uint64_t forged_trace_lines(struct forged *forged, uint64_t file,
					  const uint32_t *lines, uint16_t count, uint16_t all)
{
	uint64_t address = forged_memory_malloc(&forged->memory, 12 + count * 12u);
	const uint16_t counts[] = {count, all};

	memcpy(forged_memory_place(address + 8), counts, sizeof(counts));
	for (uint16_t i = 0; i < count; i++) {
		memcpy(forged_memory_place(address + 12 + i * 12u), &file, sizeof(file));
		memcpy(forged_memory_place(address + 20 + i * 12u), &lines[i], sizeof(*lines));
	}
	return address;
}

static inline void forged_trace(struct forged_traces *made, uint32_t i, uint64_t lines)
{
	struct forged *forged = &made->forged;
	uint64_t block = FORGED_BASE + 0x100000 + i * 0x110ull;
	uint64_t hash = block >> 4 | block << 60;
	uint64_t list = made->lists + (hash & (FORGED_BUCKETS - 1)) * 8;
	uint64_t entry = forged_memory_malloc(&forged->memory, 32);
	uint64_t trace = forged_memory_malloc(&forged->memory, 16);

	made->entries[i] = entry;
	forged_put(entry, forged_word(list));
	forged_put(entry + 8, hash);
	forged_put(entry + 16, block);
	forged_put(entry + 24, trace);
	forged_put(trace, FORGED_BLOCK_SIZE + i);
	forged_put(trace + 8, lines);
	forged_put(list, entry);
}

/* False: no memory. */
static inline bool forged_traces_make(struct forged_traces *made, unsigned version)
{
	static const uint32_t lines[] = {7, 12};
	struct forged *forged = &made->forged;
	uint64_t code, file;

	*made = (struct forged_traces){0};
	if (!forged_make_version(forged, version))
		return false;
	code = forged_memory_code(&forged->memory);
	made->table = forged_memory_malloc(&forged->memory, 80);
	made->lists = forged_memory_malloc(&forged->memory, FORGED_BUCKETS * 8ull);
	if (version >= 0x030f) {
		file = forged_memory_malloc(&forged->memory, 32);
		forged_put_text(file, "/srv/app/main.py");
	} else {
		file = forged_str(forged, "/srv/app/main.py");
	}
	made->lines[0] = forged_trace_lines(forged, file, lines, 2, 2);
	made->lines[1] = forged_trace_lines(forged, file, lines, 1, 1);
	made->lines[2] = forged_trace_lines(forged, file, lines, 2, 5);
	for (uint32_t i = 0; i < FORGED_BLOCKS; i++)
		forged_trace(made, i, made->lines[i % 3]);
	forged_put(made->table, FORGED_BLOCKS);
	forged_put(made->table + 8, FORGED_BUCKETS);
	forged_put(made->table + 16, made->lists);
	for (uint32_t i = 0; i < 3; i++)
		forged_put(made->table + 24 + i * 8ull, code + i * 16ull);
	forged_put(FORGED_TRACES_AT, made->table);
	forged_memory_find_places(&forged->memory);
	return true;
}

/* Reads them like own_profile_read(). */
static inline int forged_traces_read(const struct forged_traces *made, struct heap_profile *profile)
{
	struct target_memory memory;
	int error = target_memory_open(&made->forged.memory.maps, &made->forged.memory.modules,
				       NULL, &memory);

	*profile = (struct heap_profile){.source = "tracemalloc"};
	if (error)
		return error;
	error = python_traces_of(&memory, profile);
	target_memory_close(&memory);
	return error;
}

#endif
