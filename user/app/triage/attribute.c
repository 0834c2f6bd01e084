// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/triage/attribute.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/page.h"
#include "base/search.h"
#include "process/proc/process_memory.h"

/* Documentation/admin-guide/mm/pagemap.rst */
#define PM_FRAME ((1ull << 55) - 1)
#define PM_FILE (1ull << 61) /* file page or shared anonymous memory: not the process's own */
#define PM_SWAP (1ull << 62)
#define PM_PRESENT (1ull << 63)
/* include/uapi/linux/kernel-page-flags.h */
#define KPF_THP (1ull << 22)
#define KPF_ZERO_PAGE (1ull << 24)

double attribute_page(const struct page_state *state)
{
	if (!(state->pagemap & (PM_PRESENT | PM_SWAP)) || state->pagemap & PM_FILE)
		return PAGE_ABSENT;
	if (state->pagemap & PM_SWAP)
		return (double)page_size();
	if (state->flags & KPF_ZERO_PAGE)
		return PAGE_ABSENT;
	/* Several faults hit the huge page: it was made from small pages after they were
	 * touched. */
	return (double)(state->flags & KPF_THP && state->alone ? page_huge_size() : page_size());
}

/* Returns 0 without the privilege, so every page counts as a small one. */
static uint64_t flags_read(int fd, uint64_t pagemap)
{
	uint64_t frame = pagemap & PM_FRAME, flags = 0;

	if (fd < 0 || !frame || !(pagemap & PM_PRESENT) ||
	    pread(fd, &flags, sizeof(flags), (off_t)(frame * sizeof(flags))) != sizeof(flags))
		return 0;
	return flags;
}

/* Counts the samples in each huge page. */
static int count_neighbours(const struct samples *samples, struct hash *neighbours)
{
	for (size_t i = 0; i < samples->list.count; i++) {
		uint64_t *count = hash_put(neighbours,
					   samples->list.items[i].address / page_huge_size(), NULL);

		if (!count)
			return -ENOMEM;
		++*count;
	}
	return 0;
}

static void attribute_each(struct samples *samples, pid_t pid, const struct hash *neighbours,
			   int pagemap_fd, int flags_fd)
{
	for (size_t i = 0; i < samples->list.count; i++) {
		struct sample *sample = &samples->list.items[i];
		struct page_state state = {
			.alone = *hash_get(neighbours, sample->address / page_huge_size()) == 1};

		if (!pagemap_pread(pid, pagemap_fd, sample->address / page_size(), &state.pagemap,
				   1))
			state.pagemap = 0;
		state.flags = flags_read(flags_fd, state.pagemap);
		sample->units = attribute_page(&state);
	}
}

int attribute_pages(struct samples *samples, pid_t pid)
{
	_cleanup_close_ int flags_fd = open("/proc/kpageflags", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int pagemap_fd = -1;
	_cleanup_(hash_free) struct hash neighbours = {0};
	char path[32];
	int error;

	snprintf(path, sizeof(path), "/proc/%d/pagemap", pid);
	pagemap_fd = open(path, O_RDONLY | O_CLOEXEC);
	if (pagemap_fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	error = count_neighbours(samples, &neighbours);
	if (!error)
		attribute_each(samples, pid, &neighbours, pagemap_fd, flags_fd);
	return error;
}

static int by_arrival(const void *a, const void *b)
{
	const struct sample *one = *(struct sample *const *)a, *other = *(struct sample *const *)b;

	return (one->order < other->order) - (one->order > other->order);
}

/* Returns the index of the first mapping that begins at or after the address. */
static size_t first_from(const struct maps *maps, uint64_t address)
{
	return SORTED_BEFORE(mapping, maps->list.items, maps->list.count, mapping->start < address);
}

static void take_mappings(struct sample *sample, const struct maps *maps, bool *taken)
{
	uint64_t end = sample->address + sample->length;

	sample->units = 0;
	for (size_t i = first_from(maps, sample->address);
	     i < maps->list.count && maps->list.items[i].start < end; i++) {
		sample->units += !taken[i];
		taken[i] = true;
	}
}

int attribute_mappings(struct samples *samples, const struct maps *maps)
{
	_cleanup_free_ struct sample **latest_first =
		calloc(samples->list.count + 1, sizeof(*latest_first));
	_cleanup_free_ bool *taken = calloc(maps->list.count + 1, sizeof(*taken));

	if (!latest_first || !taken)
		return -ENOMEM;
	for (size_t i = 0; i < samples->list.count; i++)
		latest_first[i] = &samples->list.items[i];
	qsort(latest_first, samples->list.count, sizeof(struct sample *), by_arrival);
	for (size_t i = 0; i < samples->list.count; i++)
		take_mappings(latest_first[i], maps, taken);
	return 0;
}

void attribute_threads(struct samples *samples, pid_t pid)
{
	for (size_t i = 0; i < samples->list.count; i++) {
		struct sample *sample = &samples->list.items[i];
		char path[64];

		snprintf(path, sizeof(path), "/proc/%d/task/%d", pid, (int)sample->address);
		sample->units = !access(path, F_OK);
	}
}
