// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/pages.h"

#include <errno.h>

#include "base/cleanup.h"
#include "retain/page_window.h"

int found_reserve(struct found_words *found, size_t more)
{
	size_t wanted = found->count + more, grown = MAX(found->capacity, (size_t)4096);
	uint64_t *moved;

	if (wanted <= found->capacity)
		return 0;
	if (wanted > UINT32_MAX)
		return -ENOMEM;
	while (grown < wanted)
		grown += grown / 2;
	moved = reallocarray(found->items, grown, sizeof(*moved));
	if (!moved)
		return -ENOMEM;
	found->items = moved;
	found->capacity = grown;
	return 0;
}

int pages_prepare(struct page_table *table)
{
	size_t count = 0;

	for (size_t i = 0; i < table->ranges.count; i++) {
		struct page_range *range = &table->ranges.items[i];

		range->first = count;
		if (!range->unseen)
			count += (range->end - range->start) / MEMORY_PAGE;
	}
	table->pages = calloc(count + 1, sizeof(*table->pages));
	table->count = count;
	return table->pages ? 0 : -ENOMEM;
}

bool page_is_wanted(const struct page_range *range, uint64_t entry)
{
	return pagemap_is_present(entry) && !(range->file && pagemap_is_shared(entry));
}

/* One page of a window that was read. */
static int take_page(struct page_table *table, const struct page_scan *scan,
		     const struct page_range *range, uint64_t address, const uint64_t *words)
{
	struct page *page = &table->pages[range->first + (address - range->start) / MEMORY_PAGE];
	struct mapped_chunk chunk, *kept;
	int err = found_reserve(&table->found, PAGE_WORDS);

	if (err)
		return err;
	page->hash = page_hash(words);
	page->flags = PAGE_WAS_READ;
	page->first = (uint32_t)table->found.count;
	page->count =
		(uint16_t)page_find(scan->filter, words, table->found.items + table->found.count);
	table->found.count += page->count;
	if (range->file || !page_has_mapped_chunk(address, words, range->end, &chunk))
		return 0;
	kept = vec_push(&table->mapped);
	if (!kept)
		return -ENOMEM;
	*kept = chunk;
	return 0;
}

/* A run of present pages: as far as it can be read. */
static int read_run(struct page_table *table, const struct page_scan *scan,
		    const struct page_range *range, uint64_t address, struct page_window *window,
		    size_t count)
{
	ssize_t got = memory_read(scan->task, address, window->words, count * MEMORY_PAGE);
	int err = 0;

	/* Unmapped meanwhile. */
	if (got == -EFAULT)
		return 0;
	if (got < 0)
		return (int)got;
	count = (size_t)got / MEMORY_PAGE;
	for (size_t i = 0; !err && i < count; i++)
		err = take_page(table, scan, range, address + i * MEMORY_PAGE,
				window->words + i * PAGE_WORDS);
	if (!err && scan->visit && count)
		scan->visit(scan->context, address, window->words, count * PAGE_WORDS);
	return err;
}

static int read_window(struct page_table *table, const struct page_scan *scan,
		       const struct page_range *range, uint64_t address, struct page_window *window)
{
	size_t count = MIN((range->end - address) / MEMORY_PAGE, WINDOW_PAGES);
	int err = 0;

	pagemap_read(scan->pagemap, address, window->entries, count);
	for (size_t i = 0; !err && i < count;) {
		size_t run = 0;

		if (pagemap_is_swapped(window->entries[i]) &&
		    !pagemap_is_present(window->entries[i])) {
			size_t place = (address - range->start) / MEMORY_PAGE + i;

			table->pages[range->first + place].flags = PAGE_SWAPPED;
			table->swapped++;
		}
		while (i + run < count && page_is_wanted(range, window->entries[i + run]))
			run++;
		if (run)
			err = read_run(table, scan, range, address + i * MEMORY_PAGE, window, run);
		i += MAX(run, 1u);
	}
	return err;
}

int pages_read(struct page_table *table, const struct page_scan *scan)
{
	_cleanup_free_ struct page_window *window = malloc(sizeof(*window));
	int err = window ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < table->ranges.count; i++) {
		const struct page_range *range = &table->ranges.items[i];

		for (uint64_t at = range->start; !err && !range->unseen && at < range->end;
		     at += WINDOW_PAGES * MEMORY_PAGE)
			err = read_window(table, scan, range, at, window);
	}
	return err;
}

const struct page_range *pages_range_of(const struct page_table *table, uint64_t address)
{
	size_t low = 0, high = table->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->ranges.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < table->ranges.count && table->ranges.items[low].start <= address)
		return &table->ranges.items[low];
	return NULL;
}

struct page *pages_find(const struct page_table *table, uint64_t address)
{
	const struct page_range *range = pages_range_of(table, address);

	if (!range || range->unseen)
		return NULL;
	return &table->pages[range->first + (address - range->start) / MEMORY_PAGE];
}

bool page_is_surely_present(const struct page_table *table, uint64_t address)
{
	const struct page *page = pages_find(table, address);

	return page && (page->flags & (PAGE_WAS_READ | PAGE_UNCHECKED)) == PAGE_WAS_READ;
}

void pages_free(struct page_table *table)
{
	vec_free(&table->ranges);
	vec_free(&table->mapped);
	free(table->pages);
	free(table->found.items);
	*table = (struct page_table){0};
}
