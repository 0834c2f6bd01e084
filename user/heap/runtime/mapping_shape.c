// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/mapping_shape.h"

#include <string.h>

#include "base/text.h"

/* malloc/arena.c: HEAP_MAX_SIZE. glibc's arenas begin at multiples of it. */
#define MALLOC_HEAP_MAX (64ull << 20)

bool mapping_is_module(const struct mapping *mapping, const struct module_name *names, size_t count)
{
	const char *file = mapping->inode ? text_path_base(mapping->path) : NULL;

	for (size_t i = 0; file && i < count; i++) {
		const char *name = names[i].prefix;

		if (names[i].whole ? !strcmp(file, name) : !strncmp(file, name, strlen(name)))
			return true;
	}
	return false;
}

bool mapping_is_anonymous(const struct mapping *mapping)
{
	return !mapping->inode && !mapping->shared &&
	       (!mapping->path[0] || !strncmp(mapping->path, "[anon:", 6));
}

bool mapping_is_data(const struct mapping *mapping)
{
	return mapping->readable && mapping->writable && !mapping->executable;
}

bool mapping_may_be_arena(const struct mapping *mapping)
{
	return mapping->start % MALLOC_HEAP_MAX == 0 &&
	       mapping->end - mapping->start < MALLOC_HEAP_MAX;
}

/* Returns false if the mapping belongs to no run. */
static bool extend_run(struct reservation *run, const struct mapping *mapping)
{
	uint64_t bytes = mapping->end - mapping->start;

	if (!mapping_is_anonymous(mapping) || mapping->executable)
		return false;
	if (mapping->start != run->end)
		*run = (struct reservation){.start = mapping->start};
	run->end = mapping->end;
	run->used += mapping_is_data(mapping) ? bytes : 0;
	if (!mapping->readable && !mapping->writable && bytes > run->reserved)
		run->reserved = bytes;
	return true;
}

static void choose_run(struct largest_reservation *largest, bool better)
{
	if (better)
		largest->best = largest->run;
	else if (largest->run.start == largest->best.start)
		largest->best.end = largest->run.end;
}

void largest_reservation_add(struct largest_reservation *largest, const struct mapping *mapping)
{
	if (extend_run(&largest->run, mapping))
		choose_run(largest, largest->run.used > largest->best.used);
}

void widest_reservation_add(struct largest_reservation *widest, const struct mapping *mapping)
{
	if (extend_run(&widest->run, mapping))
		choose_run(widest,
			   widest->run.used && widest->run.reserved > widest->best.reserved);
}

bool reservation_has(const struct reservation *reservation, const struct mapping *mapping)
{
	return mapping->start >= reservation->start && mapping->end <= reservation->end;
}
