// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * manymaps [COUNT]: `go` makes COUNT mappings (60,000) of a page each; every 100th holds the only
 * pointer to a block, and a global's table leads to all of them.
 */
#include "workload.h"

#include <sys/mman.h>

static void ***table;
static size_t count;

static void go(void)
{
	table = mmap(NULL, count * sizeof(*table), PROT_READ | PROT_WRITE,
		     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (size_t i = 0; i < count; i++) {
		/* Neighbours of other rights are not joined to one mapping. */
		int rights = i % 2 ? PROT_READ | PROT_WRITE : PROT_READ | PROT_WRITE | PROT_EXEC;

		table[i] = mmap(NULL, 4096, rights, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (table[i] == MAP_FAILED)
			_exit(1);
		if (i % 100 == 0)
			table[i][7] = calloc(1, 5000);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "go", .run = go}};
	static const struct truth truth = {0};

	count = argument(argc, argv, 1, 60000);
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
