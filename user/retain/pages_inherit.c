// SPDX-License-Identifier: GPL-2.0-or-later
/* Mappings change from one reading to the next; what is known of their pages stays known. */
#include "base/cleanup.h"
#include "retain/pages.h"

/* Both tables ascend: the place in the older one moves on only. */
static void inherit_range(struct page_table *table, const struct page_range *range,
			  const struct page_table *older, size_t *at)
{
	for (; *at < older->ranges.count && older->ranges.items[*at].start < range->end; (*at)++) {
		const struct page_range *old = &older->ranges.items[*at];
		uint64_t start = MAX(old->start, range->start), end = MIN(old->end, range->end);

		if (start < end && !old->unseen && old->file == range->file)
			memcpy(&table->pages[range->first + (start - range->start) / MEMORY_PAGE],
			       &older->pages[old->first + (start - old->start) / MEMORY_PAGE],
			       (end - start) / MEMORY_PAGE * sizeof(struct page));
		/* It may reach into the next range, too. */
		if (old->end > range->end)
			break;
	}
}

int pages_inherit(struct page_table *table, struct page_table *older)
{
	size_t at = 0;

	for (size_t i = 0; i < table->ranges.count; i++) {
		if (!table->ranges.items[i].unseen)
			inherit_range(table, &table->ranges.items[i], older, &at);
	}
	table->found = older->found;
	older->found = (struct found_words){0};
	free(table->mapped.items);
	memcpy(&table->mapped, &older->mapped, sizeof(table->mapped));
	memset(&older->mapped, 0, sizeof(older->mapped));
	table->swapped = older->swapped;
	return 0;
}
