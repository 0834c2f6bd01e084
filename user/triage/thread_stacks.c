// SPDX-License-Identifier: GPL-2.0-or-later
#include "triage/thread_stacks.h"

#include <math.h>

static bool is_guard(const struct mapping *mapping)
{
	return !mapping->inode && !*mapping->path && !mapping->readable && !mapping->writable &&
	       !mapping->executable && mapping->end - mapping->start < THREAD_GUARD_MAX;
}

static bool is_stack(const struct mapping *mapping)
{
	return !mapping->inode && mapping->readable && mapping->writable && !mapping->shared;
}

size_t thread_stacks_count(const struct maps *maps)
{
	size_t count = 0;

	for (size_t i = 1; i < maps->list.count; i++) {
		const struct mapping *guard = &maps->list.items[i - 1];
		const struct mapping *above = &maps->list.items[i];

		count += is_guard(guard) && is_stack(above) && guard->end == above->start;
	}
	return count;
}

double thread_stacks_orphaned(const struct maps *maps, double threads)
{
	double living = isnan(threads) ? 0 : fmax(threads - 1, 0);

	return fmax((double)thread_stacks_count(maps) - living, 0);
}
