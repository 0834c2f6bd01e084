// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/pages.h"

#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/search.h"
#include "binary/arch/lanes.h"
#include "binary/arch/machine.h"

struct page_window {
	uint64_t words[WINDOW_PAGES * PAGE_WORDS];
	uint64_t entries[WINDOW_PAGES];
};

/* Words of one page. */

/*
 * Each word is multiplied, half by half, with a key that depends on its index, and added to its
 * neighbour's sum, too, so that no word is lost when a half is zero. As fast as memory, because a
 * process is stopped meanwhile. Not for use against an adversary.
 */
static const uint64_t first_keys[LANES] __attribute__((aligned(32))) = {
	0x9e3779b97f4a7c15ull, 0xbf58476d1ce4e5b9ull, 0x94d049bb133111ebull, 0xff51afd7ed558ccdull,
	0xc4ceb9fe1a85ec53ull, 0xd6e8feb86659fd93ull, 0xa0761d6478bd642full, 0xe7037ed1a0b428dbull,
};

uint64_t page_hash(const uint64_t *words)
{
	uint64_t sums[LANES] __attribute__((aligned(32)));
	uint64_t hash = 0;

	lanes_sum(words, PAGE_WORDS, first_keys, sums);
	for (size_t i = 0; i < LANES; i++)
		hash = hash_mix(hash ^ sums[i]);
	return hash;
}

static size_t page_find(const struct filter *filter, const uint64_t *words, uint64_t *found)
{
	size_t count = 0;

	for (size_t i = 0; i < PAGE_WORDS; i++) {
		uint64_t address = machine_untagged(words[i]);

		if (filter_has(filter, address))
			found[count++] = found_pack(address, i);
	}
	return count;
}

/* Mappings change from one reading to the next; the data of their pages stay. */

/* Both tables ascend: the position in the older one only advances. */
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
		/* It may extend into the next range, too. */
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
	page_copies_free(table->copies);
	table->copies = TAKE_PTR(older->copies);
	free(table->mapped.items);
	memcpy(&table->mapped, &older->mapped, sizeof(table->mapped));
	memset(&older->mapped, 0, sizeof(older->mapped));
	table->swapped = older->swapped;
	return 0;
}

/* Makes room for `more` further words. Returns 0 or -ENOMEM. */
static int found_reserve(struct found_words *found, size_t more)
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

void pages_keep(struct page_table *table, uint64_t pages)
{
	page_copies_free(table->copies);
	table->copies = page_copies_new(pages);
}

/* Returns the address for a page's contents, and their number. NULL: not kept. */
static unsigned char *keep_page(const struct page_table *table, const struct page *page,
				uint32_t *number)
{
	if (!table->copies)
		return NULL;
	if (!(page->flags & PAGE_KEPT))
		return page_copies_add(table->copies, number);
	*number = page->first;
	return page_copies_at(table->copies, page->first);
}

/* Returns whether a page with this pagemap entry is present, and may have been written. */
static bool page_is_wanted(const struct page_range *range, uint64_t entry)
{
	return pagemap_is_present(entry) && !(range->file && pagemap_is_shared(entry));
}

static int take_words(struct page_table *table, const struct page_scan *scan, struct page *page,
		      const uint64_t *words)
{
	if (found_reserve(&table->found, PAGE_WORDS))
		return -ENOMEM;
	page->first = (uint32_t)table->found.count;
	page->count =
		(uint16_t)page_find(scan->filter, words, table->found.items + table->found.count);
	table->found.count += page->count;
	return 0;
}

/* Takes one page of a window. */
static int take_page(struct page_table *table, const struct page_scan *scan,
		     const struct page_range *range, uint64_t address, const uint64_t *words)
{
	struct page *page = &table->pages[range->first + (address - range->start) / MEMORY_PAGE];
	struct mapped_block block, *kept;
	unsigned char *copy = keep_page(table, page, &page->first);

	page->hash = page_hash(words);
	page->flags = PAGE_WAS_READ | (copy ? PAGE_KEPT : 0);
	if (copy)
		memcpy(copy, words, MEMORY_PAGE);
	else if (take_words(table, scan, page, words))
		return -ENOMEM;
	if (range->file || !scan->find_mapped ||
	    !scan->find_mapped(address, words, MAX(range->end, range->reach), &block))
		return 0;
	kept = vec_push(&table->mapped);
	if (!kept)
		return -ENOMEM;
	*kept = block;
	kept->page_hash = page->hash;
	return 0;
}

/* *count: the number of pages present; then of those read, 0 if unmapped since. */
static int read_pages(struct memory_source source, uint64_t address, struct page_window *window,
		      size_t *count)
{
	ssize_t got = memory_read_present(source, address, window->words, *count * MEMORY_PAGE);

	*count = got < 0 ? 0 : (size_t)got / MEMORY_PAGE;
	return got < 0 && got != -EFAULT ? (int)got : 0;
}

/* Reads a run of present pages, as far as possible. */
static int read_run(struct page_table *table, const struct page_scan *scan,
		    const struct page_range *range, uint64_t address, struct page_window *window,
		    size_t count)
{
	int error = read_pages(scan->source, address, window, &count);

	for (size_t i = 0; !error && i < count; i++)
		error = take_page(table, scan, range, address + i * MEMORY_PAGE,
				  window->words + i * PAGE_WORDS);
	if (!error && scan->visit && count)
		scan->visit(scan->context, address, window->words, count * PAGE_WORDS);
	return error;
}

static int read_window(struct page_table *table, const struct page_scan *scan,
		       const struct page_range *range, uint64_t address, struct page_window *window)
{
	size_t count = MIN((range->end - address) / MEMORY_PAGE, WINDOW_PAGES);
	int error = 0;

	pagemap_read(scan->source, scan->pagemap, address, window->entries, count);
	for (size_t i = 0; !error && i < count;) {
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
			error = read_run(table, scan, range, address + i * MEMORY_PAGE, window,
					 run);
		i += MAX(run, 1u);
	}
	return error;
}

int pages_read(struct page_table *table, const struct page_scan *scan)
{
	_cleanup_free_ struct page_window *window = malloc(sizeof(*window));
	int error = window ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < table->ranges.count; i++) {
		const struct page_range *range = &table->ranges.items[i];

		for (uint64_t at = range->start; !error && !range->unseen && at < range->end;
		     at += WINDOW_PAGES * MEMORY_PAGE)
			error = read_window(table, scan, range, at, window);
	}
	return error;
}

const struct page_range *pages_range_of(const struct page_table *table, uint64_t address)
{
	return RANGE_AT(table->ranges.items, table->ranges.count, address);
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
	page_copies_free(table->copies);
	vec_free(&table->late);
	*table = (struct page_table){0};
}

const unsigned char *page_contents(const struct page_table *table, const struct page *page)
{
	return page->flags & PAGE_KEPT ? page_copies_at(table->copies, page->first) : NULL;
}

/* -------- rereading changes */

#define CHECK_MAX_THREADS 16

struct changed_page {
	size_t page;
	uint32_t first;
	uint16_t count;
	uint16_t flags;
	uint64_t hash;
};

/* Findings of one thread; merged when all are done. */
struct checker {
	struct check *check;
	struct page_window *window;
	struct found_words found;
	VEC(struct changed_page) changed;
	VEC(struct mapped_block) mapped;
	size_t checked;
	int error;
};

/* Order of windows. */
enum warmth {
	WINDOW_HOT,  /* pages that have already changed, or are new */
	WINDOW_WARM, /* of a small mapping: data of a library, a stack */
	WINDOW_COLD,
	WINDOW_MAX_
};

struct check_window {
	struct page_range part; /* at most WINDOW_PAGES long; mapping: pages to the range's end */
	enum warmth warmth;
	bool all; /* all its pages, whatever their state */
	bool done;
};

struct check {
	struct page_table *table;
	const struct page_scan *scan;
	VEC(struct check_window) windows; /* the warmer ones first */
	atomic_size_t next;
	int nice; /* of the starting thread */
};

/* -------- merging the threads' findings of the second reading */

#define WORDS_AT_ONCE ((size_t)1 << 17)

static void take_new(struct page *page, const struct changed_page *changed, size_t base)
{
	bool kept = changed->flags & PAGE_KEPT;

	*page = (struct page){.hash = changed->hash,
			      .first = kept ? changed->first : (uint32_t)(base + changed->first),
			      .count = changed->count,
			      .flags = changed->flags};
}

/* Merges the words of two readings, by ascending index. Returns their number. */
static size_t merge_words(const uint64_t *older, size_t older_count, const uint64_t *words,
			  size_t count, uint64_t *merged)
{
	size_t i = 0, j = 0, all = 0;

	while (i < older_count || j < count) {
		bool has_both = i < older_count && j < count;

		if (has_both && older[i] == words[j])
			j++;
		else if (j == count || (has_both && found_place(older[i]) <= found_place(words[j])))
			merged[all++] = older[i++];
		else
			merged[all++] = words[j++];
	}
	return all;
}

/* Keeps its former contents, and adds its present words. */
static int add_late(struct page_table *table, size_t page, const uint64_t *words, size_t count)
{
	struct late_words *late = vec_push(&table->late);

	if (!late || found_reserve(&table->found, count))
		return -ENOMEM;
	*late = (struct late_words){page, (uint32_t)table->found.count, (uint16_t)count};
	memcpy(table->found.items + table->found.count, words, count * sizeof(*words));
	table->found.count += count;
	return 0;
}

/* The time of the change is unknown: keep the words of both readings. */
static int take_both(struct page_table *table, size_t place, const uint64_t *words, size_t count)
{
	struct page *page = &table->pages[place];
	size_t first = table->found.count;

	page->flags = (uint16_t)((page->flags & ~PAGE_UNCHECKED) | PAGE_LATE | PAGE_WAS_READ);
	if (page->flags & PAGE_KEPT)
		return add_late(table, place, words, count);
	if (found_reserve(&table->found, page->count + count))
		return -ENOMEM;
	table->found.count += merge_words(table->found.items + page->first, page->count, words,
					  count, table->found.items + first);
	page->first = (uint32_t)first;
	page->count = (uint16_t)(table->found.count - first);
	return 0;
}

static int compare_late(const void *left_pointer, const void *right_pointer)
{
	const struct late_words *left = left_pointer, *right = right_pointer;

	return left->page < right->page ? -1 : left->page > right->page;
}

static int merge_late(struct page_table *table, const struct checker *checker)
{
	int error = 0;

	for (size_t i = 0; !error && i < checker->changed.count; i++) {
		const struct changed_page *changed = &checker->changed.items[i];

		error = take_both(table, changed->page, checker->found.items + changed->first,
				  changed->count);
	}
	return error;
}

/* In chunks, because the process is stopped. */
static int append_words(struct page_table *table, const struct found_words *found,
			uint64_t deadline_ns)
{
	int error = found_reserve(&table->found, found->count);

	for (size_t done = 0; !error && done < found->count; done += WORDS_AT_ONCE) {
		size_t part = MIN(found->count - done, WORDS_AT_ONCE);

		if (monotonic_ns() > deadline_ns)
			return -ETIMEDOUT;
		memcpy(table->found.items + table->found.count, found->items + done,
		       part * sizeof(*found->items));
		table->found.count += part;
	}
	return error;
}

static int merge(struct page_table *table, const struct checker *checker, uint64_t deadline_ns)
{
	size_t base = table->found.count;
	int error = append_words(table, &checker->found, deadline_ns);

	if (error)
		return error;
	for (size_t i = 0; i < checker->changed.count; i++) {
		const struct changed_page *changed = &checker->changed.items[i];

		take_new(&table->pages[changed->page], changed, base);
	}
	for (size_t i = 0; i < checker->mapped.count; i++) {
		struct mapped_block *block = vec_push(&table->mapped);

		if (!block)
			return -ENOMEM;
		*block = checker->mapped.items[i];
	}
	return 0;
}

/* Drops blocks found in replaced contents: a page may also have changed before they were found. */
static void drop_stale_blocks(struct page_table *table)
{
	size_t kept = 0;

	for (size_t i = 0; i < table->mapped.count; i++) {
		const struct mapped_block block = table->mapped.items[i];
		const struct page *page = pages_find(table, block.page);

		if (page && page->flags & PAGE_WAS_READ && page->hash == block.page_hash)
			table->mapped.items[kept++] = block;
	}
	table->mapped.count = kept;
}

/* Marks pages that were not reached; and, after a third reading, those that were. */
static void mark_window(struct check *check, const struct check_window *window)
{
	size_t count = (window->part.end - window->part.start) / MEMORY_PAGE;
	struct page *pages = check->table->pages + window->part.first;

	for (size_t i = 0; i < count; i++) {
		if (window->done && check->scan->late)
			pages[i].flags &= (uint16_t)~PAGE_UNCHECKED;
		/* Hot pages were checked with the hot windows. */
		else if (!window->done &&
			 (window->all || window->warmth == WINDOW_HOT ||
			  (pages[i].flags & PAGE_WAS_READ && !(pages[i].flags & PAGE_CHANGED))))
			pages[i].flags |= PAGE_UNCHECKED;
	}
}

/* Merges the checkers' findings, and frees them. Returns 0; -ETIMEDOUT; an error of theirs. */
static int page_checkers_collect(struct check *check, struct checker *checkers, size_t count,
				 size_t *checked)
{
	struct page_table *table = check->table;
	int error = 0;

	/* Other errors make no difference, and there is no time. */
	for (size_t i = 0; i < count; i++) {
		if (!error || checkers[i].error == -ETIMEDOUT)
			error = checkers[i].error;
	}
	for (size_t i = 0; i < count; i++) {
		*checked += checkers[i].checked;
		if (!error)
			error = check->scan->late
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
		drop_stale_blocks(table);
	if (table->late.count)
		qsort(table->late.items, table->late.count, sizeof(*table->late.items),
		      compare_late);
	return error;
}

/* -------- the second reading, and the third: several threads take windows in turn */

static int find_words(struct checker *checker, struct changed_page *changed, const uint64_t *words)
{
	struct found_words *found = &checker->found;

	if (found_reserve(found, PAGE_WORDS))
		return -ENOMEM;
	changed->first = (uint32_t)found->count;
	changed->count = (uint16_t)page_find(checker->check->scan->filter, words,
					     found->items + found->count);
	found->count += changed->count;
	return 0;
}

static int take_changed(struct checker *checker, const struct page_range *part, size_t place,
			const uint64_t *words, uint64_t hash)
{
	const struct page_scan *scan = checker->check->scan;
	uint64_t address = part->start + place * MEMORY_PAGE;
	struct changed_page *changed = vec_push(&checker->changed);
	const struct page_table *table = checker->check->table;
	struct mapped_block block, *kept;
	unsigned char *copy = NULL;

	if (!changed)
		return -ENOMEM;
	*changed = (struct changed_page){
		.page = part->first + place, .flags = PAGE_WAS_READ | PAGE_CHANGED, .hash = hash};
	if (!scan->late)
		copy = keep_page(table, &table->pages[changed->page], &changed->first);
	if (copy) {
		memcpy(copy, words, MEMORY_PAGE);
		changed->flags |= PAGE_KEPT;
	} else if (find_words(checker, changed, words)) {
		return -ENOMEM;
	}
	if (part->file || scan->late || !scan->find_mapped ||
	    !scan->find_mapped(address, words, part->reach, &block))
		return 0;
	kept = vec_push(&checker->mapped);
	if (!kept)
		return -ENOMEM;
	*kept = block;
	kept->page_hash = hash;
	return 0;
}

static int check_run(struct checker *checker, const struct page_range *part, size_t place,
		     size_t count)
{
	const struct page *pages = checker->check->table->pages + part->first + place;
	int error = read_pages(checker->check->scan->source, part->start + place * MEMORY_PAGE,
			       checker->window, &count);

	for (size_t i = 0; !error && i < count; i++) {
		const uint64_t *words = checker->window->words + i * PAGE_WORDS;
		uint64_t hash = page_hash(words);

		if (!(pages[i].flags & PAGE_WAS_READ) || pages[i].hash != hash)
			error = take_changed(checker, part, place + i, words, hash);
	}
	checker->checked += count;
	return error;
}

/* A page that is gone: its words are gone, too. */
static int take_gone(struct checker *checker, size_t page)
{
	struct changed_page *changed = vec_push(&checker->changed);

	if (!changed)
		return -ENOMEM;
	*changed = (struct changed_page){.page = page, .flags = PAGE_CHANGED};
	return 0;
}

static bool is_hot(const struct page *page)
{
	return page->flags & PAGE_CHANGED || !(page->flags & PAGE_WAS_READ);
}

static bool must_look(const struct page_scan *scan, const struct check_window *window,
		      const struct page *page, uint64_t entry)
{
	if (scan->late && !(page->flags & PAGE_UNCHECKED))
		return false;
	if (!window->all && is_hot(page) != (window->warmth == WINDOW_HOT))
		return false;
	return !scan->soft_dirty || !(page->flags & PAGE_WAS_READ) || pagemap_is_soft_dirty(entry);
}

static int check_window(struct checker *checker, const struct check_window *window)
{
	const struct page_range *part = &window->part;
	const struct page_scan *scan = checker->check->scan;
	const struct page *pages = checker->check->table->pages + part->first;
	const uint64_t *entries = checker->window->entries;
	size_t count = (part->end - part->start) / MEMORY_PAGE;
	int error = 0;

	pagemap_read(scan->source, scan->pagemap, part->start, checker->window->entries, count);
	for (size_t i = 0; !error && i < count;) {
		size_t run = 0;

		if (!page_is_wanted(part, entries[i]) && pages[i].flags & PAGE_WAS_READ &&
		    (!scan->late || pages[i].flags & PAGE_UNCHECKED))
			error = take_gone(checker, part->first + i);
		while (i + run < count && page_is_wanted(part, entries[i + run]) &&
		       must_look(scan, window, &pages[i + run], entries[i + run]))
			run++;
		if (!error && run)
			error = check_run(checker, part, i, run);
		i += MAX(run, 1u);
	}
	return error;
}

/* Returns whether it is too late for a window: then it is left for later, or *error is set. */
static bool is_too_late(const struct page_scan *scan, const struct check_window *window, int *error)
{
	uint64_t now_ns = monotonic_ns();

	if (scan->patience_ns && window->warmth != WINDOW_HOT && now_ns > scan->patience_ns)
		return true;
	if (now_ns <= scan->deadline_ns)
		return false;
	*error = -ETIMEDOUT;
	return true;
}

static void *checker_run(void *argument)
{
	struct checker *checker = argument;
	struct check *check = checker->check;
	size_t i;

	while (!checker->error && (i = atomic_fetch_add(&check->next, 1)) < check->windows.count) {
		struct check_window *window = &check->windows.items[i];

		if (is_too_late(check->scan, window, &checker->error))
			continue;
		checker->error = check_window(checker, window);
		window->done = !checker->error;
	}
	return NULL;
}

/*
 * A helper thread. On a busy machine it may get a CPU only after all is done, and the stop must not
 * last until then: an idle helper is abandoned; whoever finishes last frees it.
 */
struct helper {
	struct checker *checker;
	int nice; /* helpers do not inherit a thread's priority: they set the same */
	atomic_int state;
	sem_t done;
};
enum { HELPER_IDLE, HELPER_AT_WORK, HELPER_UNWANTED };

static bool helper_becomes(struct helper *helper, int state)
{
	int idle = HELPER_IDLE;

	return atomic_compare_exchange_strong(&helper->state, &idle, state);
}

static void helper_free(struct helper *helper)
{
	sem_destroy(&helper->done);
	free(helper);
}

static void *helper_run(void *argument)
{
	struct helper *helper = argument;

	if (!helper_becomes(helper, HELPER_AT_WORK)) {
		helper_free(helper);
		return NULL;
	}
	setpriority(PRIO_PROCESS, 0, helper->nice);
	checker_run(helper->checker);
	sem_post(&helper->done);
	return NULL;
}

/* Returns NULL if none could be started. */
static struct helper *helper_start(struct checker *checker, const pthread_attr_t *attributes)
{
	struct helper *helper = calloc(1, sizeof(*helper));
	pthread_t thread;

	if (!helper)
		return NULL;
	helper->checker = checker;
	helper->nice = checker->check->nice;
	sem_init(&helper->done, 0, 0);
	if (!pthread_create(&thread, attributes, helper_run, helper))
		return helper;
	helper_free(helper);
	return NULL;
}

/* Waits for work that it has begun. */
static void helper_end(struct helper *helper)
{
	if (!helper || helper_becomes(helper, HELPER_UNWANTED))
		return;
	while (sem_wait(&helper->done))
		;
	helper_free(helper);
}

#define WARM_BYTES (4ull << 20)

static bool any_is_hot(const struct check *check, const struct page_range *part)
{
	const struct page *pages = check->table->pages + part->first;

	for (size_t i = 0; i < (part->end - part->start) / MEMORY_PAGE; i++) {
		if (is_hot(&pages[i]))
			return true;
	}
	return false;
}

static bool any_has(const struct check *check, const struct page_range *part, uint16_t flag)
{
	const struct page *pages = check->table->pages + part->first;

	for (size_t i = 0; i < (part->end - part->start) / MEMORY_PAGE; i++) {
		if (pages[i].flags & flag)
			return true;
	}
	return false;
}

static int push_window(struct check *check, const struct page_range *part, enum warmth warmth,
		       bool all)
{
	struct check_window *window = vec_push(&check->windows);

	if (!window)
		return -ENOMEM;
	*window = (struct check_window){.part = *part, .warmth = warmth, .all = all};
	return 0;
}

static int add_window(struct check *check, const struct page_range *range, uint64_t at)
{
	struct page_range part = *range;
	int error = 0;

	part.start = at;
	part.end = MIN(range->end, at + WINDOW_PAGES * MEMORY_PAGE);
	part.first = range->first + (at - range->start) / MEMORY_PAGE;
	part.reach = MAX(range->end, range->reach);
	if (check->scan->late && !any_has(check, &part, PAGE_UNCHECKED))
		return 0;
	if (!check->scan->patience_ns)
		return push_window(check, &part, WINDOW_HOT, true);
	if (any_is_hot(check, &part))
		error = push_window(check, &part, WINDOW_HOT, false);
	return error ? error
		     : push_window(check, &part,
				   range->end - range->start <= WARM_BYTES ? WINDOW_WARM
									   : WINDOW_COLD,
				   false);
}

/* Sorts the warmer ones first, each kind by ascending address. */
static int order(struct check *check)
{
	struct check_window *ordered = calloc(check->windows.count + 1, sizeof(*ordered));
	size_t count = 0;

	if (!ordered)
		return -ENOMEM;
	for (enum warmth warmth = 0; warmth < WINDOW_MAX_; warmth++) {
		for (size_t i = 0; i < check->windows.count; i++) {
			if (check->windows.items[i].warmth == warmth)
				ordered[count++] = check->windows.items[i];
		}
	}
	free(check->windows.items);
	check->windows.items = ordered;
	check->windows.capacity = count + 1;
	return 0;
}

static int split(struct check *check)
{
	struct deadline deadline = {.at_ns = check->scan->deadline_ns};
	int error = 0;

	for (size_t i = 0; !error && i < check->table->ranges.count; i++) {
		const struct page_range *range = &check->table->ranges.items[i];

		if (deadline_step(&deadline))
			return -ETIMEDOUT;
		for (uint64_t at = range->start; !error && !range->unseen && at < range->end;
		     at += WINDOW_PAGES * MEMORY_PAGE)
			error = add_window(check, range, at);
	}
	return error || !check->scan->patience_ns ? error : order(check);
}

#define STACK_BYTES (256u << 10)

static void run_all(struct checker *checkers, size_t count)
{
	struct helper *helpers[CHECK_MAX_THREADS] = {0};
	pthread_attr_t attributes;

	pthread_attr_init(&attributes);
	pthread_attr_setstacksize(&attributes, STACK_BYTES);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	for (size_t i = 1; i < count; i++)
		helpers[i] = helper_start(&checkers[i], &attributes);
	pthread_attr_destroy(&attributes);
	checker_run(&checkers[0]);
	for (size_t i = 1; i < count; i++)
		helper_end(helpers[i]);
}

int pages_check(struct page_table *table, const struct page_scan *scan, size_t *checked)
{
	struct check check = {.table = table, .scan = scan, .nice = getpriority(PRIO_PROCESS, 0)};
	struct checker checkers[CHECK_MAX_THREADS] = {0};
	size_t count = MAX(MIN(scan->threads, CHECK_MAX_THREADS), 1u);
	int error = split(&check);

	*checked = 0;
	for (size_t i = 0; i < count; i++) {
		checkers[i].check = &check;
		checkers[i].window = malloc(sizeof(*checkers[i].window));
		if (!checkers[i].window)
			error = -ENOMEM;
	}
	if (!error)
		run_all(checkers, count);
	if (error) {
		for (size_t i = 0; i < count; i++)
			free(checkers[i].window);
	} else {
		error = page_checkers_collect(&check, checkers, count, checked);
	}
	vec_free(&check.windows);
	return error;
}

const uint64_t *page_words(const struct page_table *table, const struct filter *filter,
			   const struct page *page, uint64_t room[PAGE_WORDS_ROOM], size_t *count)
{
	size_t place = (size_t)(page - table->pages), at;
	const struct late_words *late = table->late.items;

	if (!(page->flags & PAGE_KEPT)) {
		*count = page->count;
		return table->found.items + page->first;
	}
	*count =
		page_find(filter, (const uint64_t *)(const void *)page_contents(table, page), room);
	if (!(page->flags & PAGE_LATE))
		return room;
	at = SORTED_BEFORE(words, late, table->late.count, words->page < place);
	if (at == table->late.count || late[at].page != place)
		return room;
	*count = merge_words(room, *count, table->found.items + late[at].first, late[at].count,
			     room + PAGE_WORDS);
	return room + PAGE_WORDS;
}
