// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * joined LIBRARY: a reservation with a heap in use at its end, like a JVM's, and right after it a
 * block that malloc has mapped: the kernel shows both as one mapping. LIBRARY, a file named
 * libjvm.so, is mapped, so that the process counts as a JVM.
 */
#include "workload.h"

#include <fcntl.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#define RESERVED (1ul << 30)
#define IN_USE (64ul << 20)
#define TOUCHED (40ul << 20)
#define BLOCK (3ul << 20) /* plus a page for its size */

static void print_truth(void)
{
	say("{\"touched\":%lu,\"block\":%lu}\n", TOUCHED, BLOCK + 4096);
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {
		{.name = "truth", .run = print_truth, .silent = true},
	};
	static const struct truth truth = {0};
	int file = argc == 2 ? open(argv[1], O_RDONLY) : -1;
	char *block, *heap;

	prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0); /* resident memory equals touched memory */
	mallopt(M_MMAP_THRESHOLD, BLOCK);
	block = malloc(BLOCK);
	if (file < 0 || !block || mmap(NULL, 4096, PROT_READ, MAP_PRIVATE, file, 0) == MAP_FAILED)
		return 1;
	heap = (char *)((uintptr_t)block & ~4095ul) - RESERVED;
	if (mmap(heap, RESERVED, PROT_NONE,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) != heap)
		return 1;
	heap += RESERVED - IN_USE;
	if (mprotect(heap, IN_USE, PROT_READ | PROT_WRITE))
		return 1;
	memset(heap, 1, TOUCHED);
	memset(block, 1, BLOCK);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
