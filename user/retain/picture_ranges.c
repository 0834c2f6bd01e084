// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/picture_ranges.h"

#include <errno.h>

#include "base/cleanup.h"

#define CLUSTER_GAP (1ull << 30)
/* Below 4 GiB lie programs that are not position-independent, and a great many plain numbers. */
#define LOW_BYTES (1ull << 32)
#define LOW_MARGIN (64ull << 20)

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool mapping_is_memory(const struct mapping *mapping)
{
	static const char *const refused[] = {
		"[vvar",       "[vdso]",       "[vsyscall]", "[uprobes]",
		"anon_inode:", "/anon_inode:", "socket:",    "/dev/"};
	static const char *const devices_of_memory[] = {"/dev/zero", "/dev/shm/"};

	if (!mapping->readable)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(devices_of_memory); i++) {
		if (has_prefix(mapping->path, devices_of_memory[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (has_prefix(mapping->path, refused[i]))
			return false;
	}
	return true;
}

bool mapping_is_anonymous(const struct mapping *mapping)
{
	return mapping->writable && (!mapping->inode || mapping->shared);
}

/* Code is never written, save by debuggers; what else of a file was written may hold pointers. */
static bool is_wanted(const struct mapping *mapping)
{
	if (!mapping_is_memory(mapping))
		return false;
	if (mapping->shared)
		return mapping->writable && !mapping->executable &&
		       (!mapping->inode || has_prefix(mapping->path, "/dev/zero") ||
			has_prefix(mapping->path, "/dev/shm/") ||
			has_prefix(mapping->path, "/memfd:") || has_prefix(mapping->path, "/SYSV"));
	return mapping->inode ? mapping->writable || !mapping->executable : mapping->writable;
}

int ranges_from_maps(const struct maps *maps, struct page_table *table, uint64_t *writable)
{
	*writable = 0;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		struct page_range *range;

		if (!is_wanted(mapping))
			continue;
		range = vec_push(&table->ranges);
		if (!range)
			return -ENOMEM;
		range->start = mapping->start;
		range->end = mapping->end;
		range->file = mapping->inode && !mapping->shared;
		range->mapping = (uint32_t)i;
		if (mapping->writable)
			*writable += mapping->end - mapping->start;
	}
	return 0;
}

static int add_cluster(struct filter *filter, uint64_t start, uint64_t end)
{
	if (end <= LOW_BYTES)
		return filter_add(filter, start, end + LOW_MARGIN);
	return filter_add(filter, start - MIN(start, CLUSTER_GAP), end + CLUSTER_GAP);
}

int filter_from_maps(const struct maps *maps, struct filter *filter)
{
	uint64_t start = 0, end = 0;
	int err = 0;

	for (size_t i = 0; !err && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping_is_memory(mapping))
			continue;
		if (end && mapping->start - end > CLUSTER_GAP) {
			err = add_cluster(filter, start, end);
			end = 0;
		}
		if (!end)
			start = mapping->start;
		end = mapping->end;
	}
	if (!err && end)
		err = add_cluster(filter, start, end);
	return err ? err : filter_finish(filter);
}

int filter_heaps_from_maps(const struct maps *maps, struct filter *filter)
{
	int err = 0;

	for (size_t i = 0; !err && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping_is_memory(mapping) && mapping_is_anonymous(mapping))
			err = filter_add(filter, mapping->start, mapping->end);
	}
	return err ? err : filter_finish(filter);
}
