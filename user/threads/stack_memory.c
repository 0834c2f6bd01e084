// SPDX-License-Identifier: GPL-2.0-or-later
/* What dead threads keep mapped: man 5 proc, /proc/PID/maps and /proc/PID/pagemap. */
#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "proc/maps.h"
#include "threads/thread_report.h"

#define PAGE_BYTES 4096ull
#define PAGE_PRESENT (1ull << 63)
#define PAGES_AT_ONCE 4096
/* A thread stack of more is not believed. */
#define STACK_MAX_BYTES (1ull << 36)

static uint64_t count_present(int pagemap, uint64_t start, uint64_t end)
{
	uint64_t entries[PAGES_AT_ONCE], present = 0;

	while (start < end) {
		size_t pages = MIN((end - start) / PAGE_BYTES, PAGES_AT_ONCE);
		ssize_t got = pread(pagemap, entries, pages * sizeof(*entries),
				    (off_t)(start / PAGE_BYTES * sizeof(*entries)));

		if (got < (ssize_t)sizeof(*entries))
			break;
		for (size_t i = 0; i < (size_t)got / sizeof(*entries); i++)
			present += (entries[i] & PAGE_PRESENT) != 0;
		start += (uint64_t)got / sizeof(*entries) * PAGE_BYTES;
	}
	return present * PAGE_BYTES;
}

/*
 * A thread's descriptor lies at the top of its own stack mapping. Without guard pages, the mappings
 * of neighbours are one: then each takes what lies above the descriptor before it.
 */
static void find_stack(struct dead_thread *dead, const struct maps *maps, const uint64_t *handles,
		       size_t count)
{
	const struct mapping *mapping = maps_find(maps, dead->thread.handle);
	size_t low = 0, high = count;

	if (!mapping || !mapping->writable || dead->thread.flags & LM_THREAD_OWN_STACK ||
	    mapping->end - mapping->start > STACK_MAX_BYTES)
		return;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (handles[middle] < dead->thread.handle)
			low = middle + 1;
		else
			high = middle;
	}
	dead->stack_start = mapping->start;
	dead->stack_end = mapping->end;
	if (low && handles[low - 1] >= mapping->start)
		dead->stack_start = (handles[low - 1] + PAGE_BYTES) & ~(PAGE_BYTES - 1);
	if (low + 1 < count && handles[low + 1] < mapping->end)
		dead->stack_end = (dead->thread.handle + PAGE_BYTES) & ~(PAGE_BYTES - 1);
}

static int by_value(const void *left, const void *right)
{
	const uint64_t *a = left, *b = right;

	return (*a > *b) - (*a < *b);
}

int stack_memory_fill(pid_t pid, struct dead_thread *dead, size_t count)
{
	_cleanup_free_ uint64_t *handles = calloc(count + 1, sizeof(*handles));
	_cleanup_(maps_free) struct maps maps = {0};
	_cleanup_close_ int pagemap = -1;
	char path[64];
	int error;

	if (!handles)
		return -ENOMEM;
	error = maps_read(pid, MAPS_ALL, &maps);
	if (error)
		return error;
	snprintf(path, sizeof(path), "/proc/%d/pagemap", maps.task);
	pagemap = open(path, O_RDONLY | O_CLOEXEC);
	for (size_t i = 0; i < count; i++)
		handles[i] = dead[i].thread.handle;
	qsort(handles, count, sizeof(*handles), by_value);
	for (size_t i = 0; i < count; i++) {
		find_stack(&dead[i], &maps, handles, count);
		if (pagemap >= 0)
			dead[i].resident_bytes =
				count_present(pagemap, dead[i].stack_start, dead[i].stack_end);
	}
	return 0;
}
