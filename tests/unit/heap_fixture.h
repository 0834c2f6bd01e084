/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests and fuzzers of readers of heaps: memory of this process in which such a heap is made by
 * hand. */
#ifndef LEAKMON_UNIT_HEAP_FIXTURE_H
#define LEAKMON_UNIT_HEAP_FIXTURE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/allocators/heap_reader.h"

#define MIB (1ull << 20)

/* The first bytes of it are the data of a module, which leads to the heap. */
struct made_memory {
	uint64_t start, bytes, data_bytes;
	struct filter heaps;
	struct maps maps; /* borrowed; for readers that need them */
	struct peek peek;
	const struct heap_reader *reader;
	void *state; /* of its last find */
};

static inline uint64_t *at(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

/* The same on every run; not at the upper end, where tcmalloc's tree has no more leaves. */
#define MADE_AT (1ull << 46)

/* Zeros. */
static inline void made_map(struct made_memory *memory, const char *reader, uint64_t data_bytes,
			    uint64_t bytes)
{
	void *mapped = mmap(at(MADE_AT), data_bytes + bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	if (mapped == MAP_FAILED)
		abort();
	*memory = (struct made_memory){
		.start = (uintptr_t)mapped,
		.bytes = data_bytes + bytes,
		.data_bytes = data_bytes,
		.peek = {.source = live_memory(getpid()), .pagemap = -1},
		.reader = heap_reader_of(reader),
	};
}

/* Finds heaps: 0 or -ENOMEM. */
static inline int made_heap(struct made_memory *memory, uint64_t start, uint64_t end)
{
	int error = filter_add(&memory->heaps, start, end);

	return error ? error : filter_finish(&memory->heaps);
}

static inline struct heap_view made_view(struct made_memory *memory)
{
	return (struct heap_view){
		.peek = &memory->peek, .heaps = &memory->heaps, .maps = &memory->maps};
}

static inline void made_forget(struct made_memory *memory)
{
	if (memory->state && memory->reader->release)
		memory->reader->release(memory->state);
	free(memory->state);
	memory->state = NULL;
}

static inline void made_free(struct made_memory *memory)
{
	peek_free(&memory->peek);
	filter_free(&memory->heaps);
	made_forget(memory);
	munmap(at(memory->start), memory->bytes);
}

/* Finds both in their present state. */
static inline int made_find(struct made_memory *memory)
{
	const struct heap_view view = made_view(memory);

	peek_forget(&memory->peek);
	made_forget(memory);
	memory->state = calloc(1, memory->reader->state_size);
	return memory->reader->find(memory->state, &view, memory->start,
				    memory->start + memory->data_bytes);
}

static inline void made_read_again(struct made_memory *memory, struct heap *heap)
{
	const struct heap_view view = made_view(memory);

	peek_forget(&memory->peek);
	*heap = (struct heap){.reader = memory->reader};
	assert_int_equal(memory->reader->read(memory->state, &view, heap), 0);
}

static inline void made_read(struct made_memory *memory, struct heap *heap)
{
	assert_int_equal(made_find(memory), 0);
	made_read_again(memory, heap);
}

#endif
