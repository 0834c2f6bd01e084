// SPDX-License-Identifier: GPL-2.0-or-later
#include "runtime/mapping_shape.h"

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

void largest_reservation_add(struct largest_reservation *largest, const struct mapping *mapping)
{
	struct reservation *run = &largest->run;

	if (!mapping_is_anonymous(mapping) || mapping->executable)
		return;
	if (mapping->start != run->end)
		*run = (struct reservation){.start = mapping->start};
	run->end = mapping->end;
	run->used += mapping_is_data(mapping) ? mapping->end - mapping->start : 0;
	if (run->used > largest->best.used)
		largest->best = *run;
	else if (run->start == largest->best.start)
		largest->best.end = run->end;
}

bool reservation_has(const struct reservation *reservation, const struct mapping *mapping)
{
	return mapping->start >= reservation->start && mapping->end <= reservation->end;
}
