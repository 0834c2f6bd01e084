// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Numbers that look like addresses. A list of LOST blocks is lost; words among variables and in a
 * block have 32 bits in common with places inside of its blocks, as hashes do where malloc's heap
 * lies below 4 GiB. A list of KEPT structures is linked from inside to inside.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOST 100000
#define KEPT 1000
#define NUMBERS 12

struct link {
	struct link *next;
};

struct kept {
	long id;
	char name[64];
	struct link link;
	char more[232];
};

static struct link *all;
uint64_t variables[NUMBERS];
uint64_t *hashes;

static __attribute__((noinline)) void plant(void)
{
	char *last = NULL;

	hashes = calloc(NUMBERS, sizeof(*hashes));
	for (int i = 0; i < LOST; i++) {
		char *block = calloc(1, 200);

		memcpy(block, &last, sizeof(last));
		last = block;
		/* As many as random hashes would be; above 4 GiB, half an address. */
		if (i % 9000 == 4500) {
			variables[i / 9000] = (uint32_t)(uintptr_t)(block + 24 + i / 9000 * 8);
			hashes[i / 9000] = (uint32_t)(uintptr_t)(block + 33 + i / 9000 * 7);
		}
	}
}

static __attribute__((noinline)) void keep(void)
{
	for (int i = 0; i < KEPT; i++) {
		struct kept *kept = calloc(1, sizeof(*kept));

		kept->id = i;
		kept->link.next = all;
		all = &kept->link;
	}
}

/* Overwrites remains of calls on the stack. */
static __attribute__((noinline)) int bury(void)
{
	volatile char room[16384];

	memset((char *)room, 0, sizeof(room));
	return room[8000];
}

int main(void)
{
	plant();
	keep();
	if (bury())
		return 1;
	printf("ready %d\n", getpid());
	fflush(stdout);
	pause();
	return 0;
}
