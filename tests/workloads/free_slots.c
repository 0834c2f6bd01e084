// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Data that must not hide glibc's heap. free_slots slots|break
 *
 * slots: 4096 slots of 16 bytes in the program's data, each pointing to the one before, like empty
 * bins of malloc. break: the program moves the break by 8 bytes before malloc does.
 * 100 blocks of 1000 bytes, in a global.
 */
#define _DEFAULT_SOURCE
#include "workload.h"

#define SLOTS 4096
#define BLOCKS 100

static volatile struct slot {
	volatile struct slot *next;
	unsigned long used;
} slots[SLOTS], *volatile unused;
static void *volatile blocks[BLOCKS];

int main(int argc, char **argv)
{
	char line[32], byte;

	if (argc > 1 && !strcmp(argv[1], "break"))
		sbrk(8);
	for (size_t i = 0; argc > 1 && !strcmp(argv[1], "slots") && i < SLOTS; i++) {
		slots[i].next = unused;
		unused = &slots[i];
	}
	for (size_t i = 0; i < BLOCKS; i++)
		blocks[i] = OPAQUE(malloc(1000));
	if (write(1, line, (size_t)snprintf(line, sizeof(line), "ready %d\n", getpid())) < 0)
		return 1;
	while (read(0, &byte, 1) > 0)
		;
	return 0;
}
