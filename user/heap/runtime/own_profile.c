// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/own_profile.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "heap/runtime/runtime.h"

extern const struct own_profile_source own_profile_gperftools, own_profile_jemalloc,
	own_profile_tcmalloc;

/* The allocators' sources. */
static const struct own_profile_source *const sources[] = {
	&own_profile_gperftools,
	&own_profile_jemalloc,
	&own_profile_tcmalloc,
};

static int read_source(const struct own_profile_source *source, const struct maps *maps,
		       struct heap_profile *profile)
{
	heap_profile_free(profile);
	*profile = (struct heap_profile){.source = source->name, .time_ns = monotonic_ns()};
	return source->read(maps, profile);
}

/* Runtimes come first: a language's own profile names the program's code, an allocator's only the
 * interpreter's. */
int own_profile_read(const struct maps *maps, struct heap_profile *profile)
{
	const struct runtime *runtime = runtime_at(0);
	int error = -ENOENT;

	*profile = (struct heap_profile){0};
	for (size_t i = 0; error == -ENOENT && runtime; runtime = runtime_at(++i)) {
		if (runtime->profile)
			error = read_source(runtime->profile, maps, profile);
	}
	for (size_t i = 0; error == -ENOENT && i < ARRAY_SIZE(sources); i++)
		error = read_source(sources[i], maps, profile);
	if (!error)
		heap_profile_estimate(profile);
	return error;
}

/* For sources. */

/* The data of a module beyond this is not searched, as in heap_readers.c. */
#define MAX_DATA_BYTES (64ull << 20)
#define PART_WORDS 32768u

static bool scan_data(struct target_memory *memory, uint64_t start, uint64_t end, size_t overlap,
		      own_profile_visit *visit, void *context, uint64_t *words)
{
	for (uint64_t at = start; at < end; at += PART_WORDS * 8) {
		uint64_t size = MIN(end - at, PART_WORDS * 8 + MEMORY_PAGE);

		if (target_read_pages(memory, at, words, size) &&
		    visit(context, at, words, MIN(size / 8, PART_WORDS + overlap)))
			return true;
	}
	return false;
}

bool own_profile_scan(struct target_memory *memory, size_t overlap, own_profile_visit *visit,
		      void *context)
{
	_cleanup_free_ uint64_t *words = malloc(PART_WORDS * 8 + MEMORY_PAGE);
	const struct maps *maps = memory->maps;

	for (size_t i = 0; words && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping->inode || !mapping->writable || mapping->shared)
			continue;
		if (scan_data(memory, mapping->start,
			      MIN(maps_data_end(maps, i), mapping->start + MAX_DATA_BYTES), overlap,
			      visit, context, words))
			return true;
	}
	return false;
}

bool own_profile_is_code(const struct target_memory *memory, uint64_t address)
{
	const struct mapping *mapping = maps_find(memory->maps, address);

	return mapping && mapping->executable;
}
