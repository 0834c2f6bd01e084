// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * To be preloaded: malloc acts like a caching library inside an allocation, on blocks of its
 * caller. evictor_ask() chooses the action:
 *
 *   'f'  frees one block of those that were handed to evictor_keep()
 *   'r'  grows one of them by 16 bytes
 *   'i'  allocates a block of its own and frees it again, unseen by its caller
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdlib.h>

#define ROOM 1024

static void *(*real_malloc)(size_t);
static void (*real_free)(void *);
static void *kept[ROOM];
static size_t sizes[ROOM];
static size_t count;
static volatile char asked;

void evictor_keep(void *block, size_t size);
void evictor_ask(char what);

void evictor_keep(void *block, size_t size)
{
	kept[count] = block;
	sizes[count++] = size;
}

void evictor_ask(char what)
{
	asked = what;
}

__attribute__((constructor)) static void start(void)
{
	real_malloc = (void *(*)(size_t))dlsym(RTLD_NEXT, "malloc");
	real_free = (void (*)(void *))dlsym(RTLD_NEXT, "free");
}

__attribute__((noinline)) static void evict(void)
{
	count--;
	real_free(kept[count]);
}

__attribute__((noinline)) void evictor_grow(void)
{
	count--;
	kept[count] = realloc(kept[count], sizes[count] + 16);
}

__attribute__((noinline)) static void use_own(void)
{
	void *volatile own = real_malloc(40);

	real_free(own);
}

void *malloc(size_t size)
{
	if (!real_malloc)
		start();
	if (asked == 'f' && count)
		evict();
	else if (asked == 'r' && count)
		evictor_grow();
	else if (asked == 'i')
		use_own();
	return real_malloc(size);
}

void free(void *block)
{
	if (!real_free)
		start();
	real_free(block);
}
