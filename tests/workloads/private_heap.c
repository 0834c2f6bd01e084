// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * An allocator of the program's own, under a prefix, with memory from no other heap. It has
 * functions missing from Debian's allocators so far: C23's sized frees, and BSD's reallocf.
 */
#include "workload.h"

#ifndef HEAP_PREFIX
#define HEAP_PREFIX pool_
#endif
#define JOIN_(prefix, name) prefix##name
#define JOIN(prefix, name) JOIN_(prefix, name)
#define NAMED(name) JOIN(HEAP_PREFIX, name)

#define ROOM (1 << 20)

enum { ALLOCATED, RESIZED, FREED, SITES_ };

static struct truth truth;
static char memory[ROOM] __attribute__((aligned(64)));
static size_t used;

void *NAMED(malloc)(size_t size);
void *NAMED(calloc)(size_t count, size_t size);
void *NAMED(aligned_alloc)(size_t align, size_t size);
void *NAMED(realloc)(void *block, size_t size);
void *NAMED(reallocf)(void *block, size_t size);
void NAMED(free)(void *block);
void NAMED(free_sized)(void *block, size_t size);
void NAMED(free_aligned_sized)(void *block, size_t align, size_t size);

SITE void *NAMED(malloc)(size_t size)
{
	char *block = memory + used;

	if (size > ROOM - used)
		return NULL;
	used += (size + 63) & ~(size_t)63;
	return block;
}

SITE void *NAMED(calloc)(size_t count, size_t size)
{
	return NAMED(malloc)(count * size);
}

SITE void *NAMED(aligned_alloc)(size_t align, size_t size)
{
	return align > 64 ? NULL : NAMED(malloc)(size);
}

SITE void *NAMED(realloc)(void *block, size_t size)
{
	void *moved = NAMED(malloc)(size);

	if (moved && block)
		NAMED(free)(block);
	return moved;
}

SITE void *NAMED(reallocf)(void *block, size_t size)
{
	void *moved = NAMED(realloc)(block, size);

	if (!moved)
		NAMED(free)(block);
	return moved;
}

/* Blocks are never given out again. */
SITE void NAMED(free)(void *block)
{
	__asm__ volatile("" : : "r"(block) : "memory");
}

SITE void NAMED(free_sized)(void *block, size_t size)
{
	__asm__ volatile("" : : "r"(block), "r"(size) : "memory");
}

SITE void NAMED(free_aligned_sized)(void *block, size_t align, size_t size)
{
	__asm__ volatile("" : : "r"(block), "r"(align), "r"(size) : "memory");
}

static void *born(unsigned site, void *block, size_t size)
{
	if (!OPAQUE(block))
		_exit(113);
	truth_born(&truth, site, size);
	return block;
}

static SITE void allocated(void)
{
	born(ALLOCATED, NAMED(malloc)(11), 11);
	born(ALLOCATED, NAMED(calloc)(2, 6), 12);
	born(ALLOCATED, NAMED(aligned_alloc)(32, 13), 13);
	truth.failed++;
	if (NAMED(malloc)(2 * ROOM))
		_exit(112);
}

static SITE void resized(void)
{
	void *kept = born(RESIZED, NAMED(malloc)(21), 21);
	void *lost = born(RESIZED, NAMED(malloc)(22), 22);

	kept = NAMED(realloc)(kept, 210);
	truth_died(&truth, RESIZED, 21);
	born(RESIZED, kept, 210);
	lost = NAMED(reallocf)(lost, 220);
	truth_died(&truth, RESIZED, 22);
	born(RESIZED, lost, 220);
	/* One failure keeps the block, the other frees it. */
	truth.failed += 2;
	if (NAMED(realloc)(kept, 2 * ROOM) || NAMED(reallocf)(lost, 2 * ROOM))
		_exit(112);
	truth_died(&truth, RESIZED, 220);
}

static SITE void freed(void)
{
	NAMED(free)(born(FREED, NAMED(malloc)(31), 31));
	truth_died(&truth, FREED, 31);
	NAMED(free_sized)(born(FREED, NAMED(malloc)(32), 32), 32);
	truth_died(&truth, FREED, 32);
	NAMED(free_aligned_sized)(born(FREED, NAMED(aligned_alloc)(16, 33), 33), 16, 33);
	truth_died(&truth, FREED, 33);
	NAMED(free)(NULL);
	free(OPAQUE(malloc(34))); /* from another heap: seen only without --obj and -S */
}

static void go(void)
{
	static const char *const names[] = {"allocated", "resized", "freed"};

	_Static_assert(ARRAY_SIZE(names) == SITES_, "a name for every site");
	for (size_t i = 0; i < SITES_; i++)
		truth.sites[i].function = names[i];
	allocated();
	resized();
	freed();
}

int main(void)
{
	static const struct command commands[] = {{.name = "go", .run = go}};

	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
