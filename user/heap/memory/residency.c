// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/memory/residency.h"

#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

#define WINDOW 4096

int residency_read(struct residency *residency, struct memory_source source, int pagemap,
		   uint64_t start, uint64_t end)
{
	struct residency made = {.start = start & ~(MEMORY_PAGE - 1),
				 .end = align_up(end, MEMORY_PAGE)};
	size_t count = (made.end - made.start) / MEMORY_PAGE;
	uint64_t entries[WINDOW];

	made.pages = calloc(count + 1, 1);
	if (!made.pages)
		return -ENOMEM;
	for (size_t i = 0; i < count; i += WINDOW) {
		size_t window = MIN(count - i, (size_t)WINDOW);

		pagemap_read(source, pagemap, made.start + i * MEMORY_PAGE, entries, window);
		for (size_t j = 0; j < window; j++) {
			uint8_t kind = pagemap_is_present(entries[j])	? RESIDENT
				       : pagemap_is_swapped(entries[j]) ? IN_SWAP
									: 0;

			made.pages[i + j] = kind;
			made.counts[kind]++;
		}
	}
	*residency = made;
	return 0;
}

void residency_free(struct residency *residency)
{
	free(residency->pages);
	*residency = (struct residency){0};
}

uint64_t residency_bytes(const struct residency *residency, uint64_t start, uint64_t end, int kind)
{
	uint64_t sum = 0;

	start = MAX(start, residency->start);
	end = MIN(end, residency->end);
	/* A shortcut, because mostly all pages are of one kind, and blocks are many. */
	if (start >= end || !residency->counts[kind])
		return 0;
	if (residency->counts[kind] == (residency->end - residency->start) / MEMORY_PAGE)
		return end - start;
	while (start < end) {
		uint64_t next = MIN((start & ~(MEMORY_PAGE - 1)) + MEMORY_PAGE, end);

		if (residency_is(residency, start, kind))
			sum += next - start;
		start = next;
	}
	return sum;
}
