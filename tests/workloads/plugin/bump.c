// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * To be preloaded: an allocator that leakmon cannot read. It cuts blocks off one array, each
 * preceded by its size, and frees none.
 */
#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define ALIGNMENT 16

static _Alignas(ALIGNMENT) char room[64 << 20];
static atomic_size_t used;

void *aligned_alloc(size_t alignment, size_t size)
{
	size_t length = (size + alignment + 3 * ALIGNMENT) & ~(size_t)(ALIGNMENT - 1);
	size_t begin = atomic_fetch_add(&used, length);
	uintptr_t block;

	if (size > sizeof(room) || begin + length > sizeof(room))
		return NULL;
	block = ((uintptr_t)room + begin + ALIGNMENT + alignment - 1) & ~(alignment - 1);
	((size_t *)block)[-1] = size;
	return (void *)block;
}

void *malloc(size_t size)
{
	return aligned_alloc(ALIGNMENT, size);
}

void *memalign(size_t alignment, size_t size)
{
	return aligned_alloc(alignment, size);
}

int posix_memalign(void **block, size_t alignment, size_t size)
{
	*block = aligned_alloc(alignment, size);
	return *block ? 0 : ENOMEM;
}

/* The array is zeroed, and no part of it is used twice. */
void *calloc(size_t count, size_t size)
{
	return malloc(count * size);
}

void *realloc(void *block, size_t size)
{
	void *moved = malloc(size);

	if (block && moved)
		memcpy(moved, block, ((size_t *)block)[-1] < size ? ((size_t *)block)[-1] : size);
	return moved;
}

void free(void *block)
{
	(void)block;
}
