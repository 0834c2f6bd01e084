// SPDX-License-Identifier: GPL-2.0-or-later
/* Copies of stacks, from which frames get their names. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/picture_zones.h"

/* Of a stack, what is copied at most. */
#define STACK_COPY_BYTES (256ull << 10)

/* How much from `start` on is there, up to `end`. */
static uint64_t present_bytes(const struct page_table *pages, int pagemap, uint64_t start,
			      uint64_t end)
{
	uint64_t page = start & ~(MEMORY_PAGE - 1);

	for (; page < end; page += MEMORY_PAGE) {
		uint64_t entry;

		if (page_is_surely_present(pages, page))
			continue;
		pagemap_read(pagemap, page, &entry, 1);
		if (!pagemap_is_present(entry))
			break;
	}
	return MIN(page, end) - MIN(page, start);
}

static int copy_stack(struct picture *picture, struct picture_thread *thread, int pagemap)
{
	uint64_t end = MIN(thread->stack_end, thread->stack_start + STACK_COPY_BYTES);
	uint64_t size = present_bytes(&picture->pages, pagemap, thread->stack_start, end);
	ssize_t got;

	if (!size)
		return 0;
	thread->stack = malloc(size);
	if (!thread->stack)
		return -ENOMEM;
	got = memory_read(picture->maps.task, thread->stack_start, thread->stack, size);
	thread->stack_words = got > 0 ? (size_t)got / 8 : 0;
	return 0;
}

int stacks_copy(struct picture *picture, int pagemap, struct deadline *deadline, size_t *missing)
{
	size_t i = 0;
	int err = 0;

	for (; !err && i < picture->threads.count && !deadline_has_passed(deadline); i++)
		err = copy_stack(picture, &picture->threads.items[i], pagemap);
	*missing = picture->threads.count - i;
	return err;
}
