// SPDX-License-Identifier: GPL-2.0-or-later
/* A library that samples itself, and takes every block for a sample; usdt loads it. */
#define _SDT_HAS_SEMAPHORES 1
#include <sys/sdt.h>

#include <stdint.h>
#include <stdlib.h>

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN unsigned short otel_memory_alloc_semaphore __attribute__((section(".probes")));
HIDDEN unsigned short otel_memory_free_semaphore __attribute__((section(".probes")));

/* *told: whether a tool is attached. */
__attribute__((noinline)) void *part_block(uint64_t size, int *told)
{
	void *block = malloc(size);

	*told = otel_memory_alloc_semaphore > 0;
	if (*told)
		STAP_PROBE3(otel_memory, alloc, block, size, size);
	return block;
}

void part_release(void *block)
{
	if (otel_memory_free_semaphore)
		STAP_PROBE1(otel_memory, free, block);
	free(block);
}
