// SPDX-License-Identifier: GPL-2.0-or-later
/* Puts together what the threads of the second reading found. */
#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "retain/page_checker.h"

#define WORDS_AT_ONCE ((size_t)1 << 17)

static void take_new(struct page *page, const struct changed_page *changed, size_t base)
{
	*page = (struct page){.hash = changed->hash,
			      .first = (uint32_t)(base + changed->first),
			      .count = changed->count,
			      .flags = changed->flags};
}

/* Nobody knows when it changed: the words of both readings count, by ascending place. */
static int take_both(struct page_table *table, struct page *page, const uint64_t *words,
		     size_t count)
{
	size_t first = table->found.count, i = 0, j = 0;
	const uint64_t *older;

	page->flags = (uint16_t)((page->flags & ~PAGE_UNCHECKED) | PAGE_LATE | PAGE_WAS_READ);
	if (found_reserve(&table->found, page->count + count))
		return -ENOMEM;
	older = table->found.items + page->first;
	while (i < page->count || j < count) {
		bool has_both = i < page->count && j < count;

		if (has_both && older[i] == words[j])
			j++;
		else if (j == count || (has_both && found_place(older[i]) <= found_place(words[j])))
			table->found.items[table->found.count++] = older[i++];
		else
			table->found.items[table->found.count++] = words[j++];
	}
	page->first = (uint32_t)first;
	page->count = (uint16_t)(table->found.count - first);
	return 0;
}

static int merge_late(struct page_table *table, const struct checker *checker)
{
	int err = 0;

	for (size_t i = 0; !err && i < checker->changed.count; i++) {
		const struct changed_page *changed = &checker->changed.items[i];

		err = take_both(table, &table->pages[changed->page],
				checker->found.items + changed->first, changed->count);
	}
	return err;
}

/* In parts: the process stands meanwhile. */
static int append_words(struct page_table *table, const struct found_words *found,
			uint64_t deadline_ns)
{
	int err = found_reserve(&table->found, found->count);

	for (size_t done = 0; !err && done < found->count; done += WORDS_AT_ONCE) {
		size_t part = MIN(found->count - done, WORDS_AT_ONCE);

		if (monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
		memcpy(table->found.items + table->found.count, found->items + done,
		       part * sizeof(*found->items));
		table->found.count += part;
	}
	return err;
}

static int merge(struct page_table *table, const struct checker *checker, uint64_t deadline_ns)
{
	size_t base = table->found.count;
	int err = append_words(table, &checker->found, deadline_ns);

	if (err)
		return err;
	for (size_t i = 0; i < checker->changed.count; i++) {
		const struct changed_page *changed = &checker->changed.items[i];

		take_new(&table->pages[changed->page], changed, base);
	}
	for (size_t i = 0; i < checker->mapped.count; i++) {
		struct mapped_chunk *chunk = vec_push(&table->mapped);

		if (!chunk)
			return -ENOMEM;
		*chunk = checker->mapped.items[i];
	}
	return 0;
}

/* Of the `older` first ones, those whose page has changed since. */
static void drop_stale_chunks(struct page_table *table, size_t older)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->mapped.count; i++) {
		const struct mapped_chunk chunk = table->mapped.items[i];
		const struct page *page = pages_find(table, chunk.page);

		if (i < older && (!page || page->flags & PAGE_CHANGED))
			continue;
		table->mapped.items[kept++] = chunk;
	}
	table->mapped.count = kept;
}

/* What nobody got round to; and, of a third reading, what was all the same. */
static void mark_window(struct check *check, const struct check_window *window)
{
	size_t count = (window->part.end - window->part.start) / MEMORY_PAGE;
	struct page *pages = check->table->pages + window->part.first;

	for (size_t i = 0; i < count; i++) {
		if (window->done && check->scan->late)
			pages[i].flags &= (uint16_t)~PAGE_UNCHECKED;
		/* What was hot was looked at with the hot ones. */
		else if (!window->done &&
			 (window->all || window->warmth == WINDOW_HOT ||
			  (pages[i].flags & PAGE_WAS_READ && !(pages[i].flags & PAGE_CHANGED))))
			pages[i].flags |= PAGE_UNCHECKED;
	}
}

int page_checkers_collect(struct check *check, struct checker *checkers, size_t count,
			  size_t *checked)
{
	struct page_table *table = check->table;
	size_t older = table->mapped.count;
	int err = 0;

	/* Nothing else makes a difference, and there is no time. */
	for (size_t i = 0; i < count; i++) {
		if (!err || checkers[i].err == -ETIMEDOUT)
			err = checkers[i].err;
	}
	for (size_t i = 0; i < count; i++) {
		*checked += checkers[i].checked;
		if (!err)
			err = check->scan->late
				      ? merge_late(table, &checkers[i])
				      : merge(table, &checkers[i], check->scan->deadline_ns);
		free(checkers[i].window);
		free(checkers[i].found.items);
		vec_free(&checkers[i].changed);
		vec_free(&checkers[i].mapped);
	}
	for (size_t i = 0; i < check->windows.count; i++)
		mark_window(check, &check->windows.items[i]);
	if (!check->scan->late)
		drop_stale_chunks(table, older);
	return err;
}
