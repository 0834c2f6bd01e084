// SPDX-License-Identifier: GPL-2.0-or-later
/* The second reading. Several threads take windows in turn: the process stands meanwhile. */
#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/cleanup.h"
#include "retain/page_window.h"
#include "retain/stop.h"

#define MAX_THREADS 16

struct changed_page {
	size_t page;
	uint32_t first;
	uint16_t count;
	uint16_t flags;
	uint64_t hash;
};

/* What one thread finds; put together when all are done. */
struct checker {
	struct check *check;
	struct page_window *window;
	struct found_words found;
	VEC(struct changed_page) changed;
	VEC(struct mapped_chunk) mapped;
	size_t checked;
	int err;
};

struct check {
	struct page_table *table;
	const struct page_scan *scan;
	VEC(struct page_range) windows; /* all of them, each at most WINDOW_PAGES long */
	atomic_size_t next;
};

static int take_changed(struct checker *checker, const struct page_range *part, size_t place,
			const uint64_t *words, uint64_t hash)
{
	uint64_t address = part->start + place * MEMORY_PAGE;
	struct changed_page *changed = vec_push(&checker->changed);
	struct mapped_chunk chunk, *kept;

	if (!changed || found_reserve(&checker->found, PAGE_WORDS))
		return -ENOMEM;
	*changed = (struct changed_page){
		.page = part->first + place,
		.first = (uint32_t)checker->found.count,
		.count = (uint16_t)page_find(checker->check->scan->filter, words,
					     checker->found.items + checker->found.count),
		.flags = PAGE_WAS_READ | PAGE_CHANGED,
		.hash = hash,
	};
	checker->found.count += changed->count;
	/* part->mapping holds how many pages follow in the whole range. */
	if (part->file ||
	    !page_has_mapped_chunk(address, words, address + (uint64_t)part->mapping * MEMORY_PAGE,
				   &chunk))
		return 0;
	kept = vec_push(&checker->mapped);
	if (!kept)
		return -ENOMEM;
	*kept = chunk;
	return 0;
}

static int check_run(struct checker *checker, const struct page_range *part, size_t place,
		     size_t count)
{
	const struct page *pages = checker->check->table->pages + part->first + place;
	ssize_t got = memory_read(checker->check->scan->task, part->start + place * MEMORY_PAGE,
				  checker->window->words, count * MEMORY_PAGE);
	int err = 0;

	if (got == -EFAULT)
		return 0;
	if (got < 0)
		return (int)got;
	count = (size_t)got / MEMORY_PAGE;
	for (size_t i = 0; !err && i < count; i++) {
		const uint64_t *words = checker->window->words + i * PAGE_WORDS;
		uint64_t hash = page_hash(words);

		if (!(pages[i].flags & PAGE_WAS_READ) || pages[i].hash != hash)
			err = take_changed(checker, part, place + i, words, hash);
	}
	checker->checked += count;
	return err;
}

/* A page that is gone: what was found in it is, too. */
static int take_gone(struct checker *checker, size_t page)
{
	struct changed_page *changed = vec_push(&checker->changed);

	if (!changed)
		return -ENOMEM;
	*changed = (struct changed_page){.page = page, .flags = PAGE_CHANGED};
	return 0;
}

static bool must_look(const struct page_scan *scan, const struct page *page, uint64_t entry)
{
	return !scan->soft_dirty || !(page->flags & PAGE_WAS_READ) || pagemap_is_soft_dirty(entry);
}

static int check_window(struct checker *checker, const struct page_range *part)
{
	const struct page_scan *scan = checker->check->scan;
	const struct page *pages = checker->check->table->pages + part->first;
	const uint64_t *entries = checker->window->entries;
	size_t count = (part->end - part->start) / MEMORY_PAGE;
	int err = 0;

	pagemap_read(scan->pagemap, part->start, checker->window->entries, count);
	for (size_t i = 0; !err && i < count;) {
		size_t run = 0;

		if (!page_is_wanted(part, entries[i]) && pages[i].flags & PAGE_WAS_READ)
			err = take_gone(checker, part->first + i);
		while (i + run < count && page_is_wanted(part, entries[i + run]) &&
		       must_look(scan, &pages[i + run], entries[i + run]))
			run++;
		if (!err && run)
			err = check_run(checker, part, i, run);
		i += MAX(run, 1u);
	}
	return err;
}

static void *checker_run(void *argument)
{
	struct checker *checker = argument;
	struct check *check = checker->check;
	size_t i;

	while (!checker->err && (i = atomic_fetch_add(&check->next, 1)) < check->windows.count) {
		if (stop_clock_ns() > check->scan->deadline_ns) {
			atomic_fetch_sub(&check->next, 1);
			checker->err = -ETIMEDOUT;
		} else {
			checker->err = check_window(checker, &check->windows.items[i]);
		}
	}
	return NULL;
}

static int split(struct check *check)
{
	for (size_t i = 0; i < check->table->ranges.count; i++) {
		const struct page_range *range = &check->table->ranges.items[i];

		for (uint64_t at = range->start; !range->unseen && at < range->end;
		     at += WINDOW_PAGES * MEMORY_PAGE) {
			struct page_range *part = vec_push(&check->windows);

			if (!part)
				return -ENOMEM;
			*part = *range;
			part->start = at;
			part->end = MIN(range->end, at + WINDOW_PAGES * MEMORY_PAGE);
			part->first = range->first + (at - range->start) / MEMORY_PAGE;
			part->mapping = (uint32_t)MIN((range->end - at) / MEMORY_PAGE, UINT32_MAX);
		}
	}
	return 0;
}

static int merge(struct page_table *table, struct checker *checker)
{
	size_t base = table->found.count;
	int err = found_reserve(&table->found, checker->found.count);

	if (err)
		return err;
	if (checker->found.count)
		memcpy(table->found.items + base, checker->found.items,
		       checker->found.count * sizeof(*checker->found.items));
	table->found.count += checker->found.count;
	for (size_t i = 0; i < checker->changed.count; i++) {
		const struct changed_page *changed = &checker->changed.items[i];
		struct page *page = &table->pages[changed->page];

		*page = (struct page){.hash = changed->hash,
				      .first = (uint32_t)(base + changed->first),
				      .count = changed->count,
				      .flags = changed->flags};
	}
	for (size_t i = 0; i < checker->mapped.count; i++) {
		struct mapped_chunk *chunk = vec_push(&table->mapped);

		if (!chunk)
			return -ENOMEM;
		*chunk = checker->mapped.items[i];
	}
	return 0;
}

static void run_all(struct checker *checkers, size_t count)
{
	pthread_t threads[MAX_THREADS];
	bool started[MAX_THREADS] = {0};

	for (size_t i = 1; i < count; i++)
		started[i] = !pthread_create(&threads[i], NULL, checker_run, &checkers[i]);
	checker_run(&checkers[0]);
	for (size_t i = 1; i < count; i++) {
		if (started[i])
			pthread_join(threads[i], NULL);
	}
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

static int collect(struct page_table *table, struct checker *checkers, size_t count,
		   size_t *checked)
{
	size_t older = table->mapped.count;
	int err = 0, late = 0;

	for (size_t i = 0; i < count; i++) {
		*checked += checkers[i].checked;
		if (checkers[i].err == -ETIMEDOUT)
			late = -ETIMEDOUT;
		else if (!err)
			err = checkers[i].err;
		if (!err)
			err = merge(table, &checkers[i]);
		free(checkers[i].window);
		free(checkers[i].found.items);
		vec_free(&checkers[i].changed);
		vec_free(&checkers[i].mapped);
	}
	drop_stale_chunks(table, older);
	return err ? err : late;
}

/* The windows that nobody got round to. */
static void mark_unchecked(struct check *check)
{
	for (size_t i = atomic_load(&check->next); i < check->windows.count; i++) {
		const struct page_range *part = &check->windows.items[i];
		size_t count = (part->end - part->start) / MEMORY_PAGE;

		for (size_t j = 0; j < count; j++)
			check->table->pages[part->first + j].flags |= PAGE_UNCHECKED;
	}
}

int pages_check(struct page_table *table, const struct page_scan *scan, size_t *checked)
{
	struct check check = {.table = table, .scan = scan};
	struct checker checkers[MAX_THREADS] = {0};
	size_t count = MAX(MIN(scan->threads, MAX_THREADS), 1u);
	int err = split(&check);

	*checked = 0;
	for (size_t i = 0; i < count; i++) {
		checkers[i].check = &check;
		checkers[i].window = malloc(sizeof(*checkers[i].window));
		if (!checkers[i].window)
			err = -ENOMEM;
	}
	if (!err)
		run_all(checkers, count);
	if (err) {
		for (size_t i = 0; i < count; i++)
			free(checkers[i].window);
	} else {
		err = collect(table, checkers, count, checked);
	}
	if (err == -ETIMEDOUT)
		mark_unchecked(&check);
	vec_free(&check.windows);
	return err;
}

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
