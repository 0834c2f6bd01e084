// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * late LIBRARY: `load` maps an allocator with dlopen, in the middle of life; `go` uses it, under
 * its own names. Between the two nothing else is allocated.
 */
#include <dlfcn.h>

#include "workload.h"

enum { LATE, SITES_ };

static struct truth truth = {.sites = {[LATE] = {.function = "late_blocks"}}};
static const char *library;
static void *(*allocate)(size_t);
static void (*release)(void *);

static void load(void)
{
	void *handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);

	if (!handle)
		say("%s\n", dlerror());
	else {
		*(void **)&allocate = dlsym(handle, "malloc");
		*(void **)&release = dlsym(handle, "free");
	}
	if (!allocate || !release)
		_exit(110);
}

SITE void late_blocks(void)
{
	for (size_t size = 1; size <= 100; size++) {
		void *block = allocate(size);

		if (!OPAQUE(block))
			_exit(113);
		truth_born(&truth, LATE, size);
		if (size % 2 == 0)
			continue;
		release(block);
		truth_died(&truth, LATE, size);
	}
}

int main(int argc, char **argv)
{
	static const struct command commands[] = {{.name = "load", .run = load},
						  {.name = "go", .run = late_blocks}};

	library = argc > 1 ? argv[1] : "";
	return workload_serve(commands, ARRAY_SIZE(commands), &truth);
}
