// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Blocks that malloc mapped by themselves, of which mprotect(2) has split parts off, and memory
 * that the program mapped itself.
 *
 *   split            commands: go, truth, quit
 *   split FILE       goes at once, makes FILE, and stays until it is killed
 *
 * Five mapped blocks, each with the only pointers to three small ones: before, in and behind the
 * part that was split off, which may only be read, and to nothing at all in every other block. Of
 * these, what stands there cannot be read by anybody, so those have two. Two of the five are lost.
 * A page that the program mapped holds a block of 2008 bytes, and nothing leads to that page.
 */
#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>

#include "workload.h"

#define PAGE 4096ul
#define BLOCKS 5
#define LOST 2
#define BLOCK_BYTES (1ul << 20)
#define SMALL_BYTES 1000
#define ALONE_BYTES 2008

static void *volatile kept[BLOCKS];
static struct {
	size_t kept_small, lost_small;
	size_t block_bytes; /* usable */
} told;

static uintptr_t *page_in(char *block, size_t page)
{
	return (uintptr_t *)(((uintptr_t)block + BLOCK_BYTES / 4 * page) & ~(PAGE - 1));
}

/* Small pointers go only to readable words. */
static size_t fill(char *block, bool readable)
{
	size_t small = 0;

	for (size_t i = 1; i <= 3; i++) {
		if (i == 2 && !readable)
			continue;
		*page_in(block, i) = (uintptr_t)malloc(SMALL_BYTES);
		small++;
	}
	mprotect(page_in(block, 2), 2 * PAGE, readable ? PROT_READ : PROT_NONE);
	return small;
}

static SITE void make_all(void)
{
	for (size_t i = 0; i < BLOCKS; i++) {
		char *block = malloc(BLOCK_BYTES);
		size_t small = fill(block, i % 2 == 0);

		told.block_bytes = malloc_usable_size(block);
		if (i < LOST) {
			told.lost_small += small;
		} else {
			told.kept_small += small;
			kept[i] = block;
		}
	}
}

static SITE void map_alone(void)
{
	uintptr_t *page =
		mmap(NULL, 16 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	page[512 * 8] = (uintptr_t)malloc(ALONE_BYTES);
}

/* Overwrite left-over words of malloc on this stack and in registers. */
static SITE void clear(void)
{
	volatile char left[16384];

	for (size_t i = 0; i < sizeof(left); i++)
		left[i] = 0;
	__asm__ volatile("pxor %%xmm0, %%xmm0\n\tpxor %%xmm1, %%xmm1\n\tpxor %%xmm2, %%xmm2\n\t"
			 "pxor %%xmm3, %%xmm3\n\tpxor %%xmm4, %%xmm4\n\tpxor %%xmm5, %%xmm5\n\t"
			 "pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7"
			 :
			 :
			 : "xmm0", "xmm1", "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7");
}

static void go(void)
{
	make_all();
	map_alone();
	clear();
}

static void truth(void)
{
	say("{\"block_bytes\":%zu,\"kept_small\":%zu,\"lost_small\":%zu}\n", told.block_bytes,
	    told.kept_small, told.lost_small);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{"go", go, false}, {"truth", truth, true}};
	static const struct truth nothing = {0};

	if (argc < 2)
		return workload_serve(commands, ARRAY_SIZE(commands), &nothing);
	go();
	close(open(argv[1], O_WRONLY | O_CREAT, 0600));
	for (;;)
		pause();
}
