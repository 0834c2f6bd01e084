/* SPDX-License-Identifier: GPL-2.0-or-later */
/* For tests of readers of other allocators' heaps: memory of this process in which such a heap is
 * made by hand. */
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
#include "heap/heap.h"

#define MIB (1ull << 20)

/* The first bytes of it are the data of a module, which leads to the heap. */
struct made_memory {
	uint64_t start, bytes, data_bytes;
	struct filter heaps;
	struct peek peek;
};

static inline uint64_t *at(uint64_t address)
{
	return (uint64_t *)(uintptr_t)address;
}

/* Zeros. */
static inline void made_map(struct made_memory *memory, uint64_t data_bytes, uint64_t bytes)
{
	void *mapped = mmap(NULL, data_bytes + bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	assert_ptr_not_equal(mapped, MAP_FAILED);
	*memory = (struct made_memory){
		.start = (uintptr_t)mapped,
		.bytes = data_bytes + bytes,
		.data_bytes = data_bytes,
		.peek = {.source = live_memory(getpid()), .pagemap = -1},
	};
}

/* Finds heaps: 0 or -ENOMEM. */
static inline int made_heap(struct made_memory *memory, uint64_t start, uint64_t end)
{
	int error = filter_add(&memory->heaps, start, end);

	return error ? error : filter_finish(&memory->heaps);
}

static inline void made_free(struct made_memory *memory)
{
	peek_free(&memory->peek);
	filter_free(&memory->heaps);
	munmap(at(memory->start), memory->bytes);
}

typedef int find_in(struct peek *peek, const struct filter *heaps, uint64_t start, uint64_t end,
		    struct heap_place *place);
typedef int read_heap_at(struct peek *peek, const struct filter *heaps,
			 const struct heap_place *place, struct heap *heap);

/* Both as it is now. */
static inline int made_find(struct made_memory *memory, find_in *find, struct heap_place *place)
{
	peek_forget(&memory->peek);
	return find(&memory->peek, &memory->heaps, memory->start,
		    memory->start + memory->data_bytes, place);
}

static inline void made_read(struct made_memory *memory, read_heap_at *read,
			     const struct heap_place *place, struct heap *heap)
{
	peek_forget(&memory->peek);
	*heap = (struct heap){0};
	assert_int_equal(read(&memory->peek, &memory->heaps, place, heap), 0);
}

#endif
