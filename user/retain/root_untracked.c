// SPDX-License-Identifier: GPL-2.0-or-later
/* Words in memory that no block is known in: grouped by the root that leads there, if one does. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/root_grouper.h"
#include "retain/untracked_roots.h"

/* Whose walk comes first: what people know by its name; last of all what leads everywhere. */
enum urgency { URGENT_NAMED, URGENT_OTHER, URGENT_THREAD_LOCAL, URGENT_ALLOCATOR };

struct starts {
	VEC(struct untracked_start) list;
};

static bool has_prefix(const char *text, const char *const *prefixes, size_t count)
{
	for (size_t i = 0; text && i < count; i++) {
		if (!strncmp(text, prefixes[i], strlen(prefixes[i])))
			return true;
	}
	return false;
}

/* An allocator's own books lead to all that it ever handed out. */
static bool is_allocator(const struct root_group *group)
{
	static const char *const libraries[] = {"libjemalloc.so", "libtcmalloc", "libmimalloc"};
	static const char *const threads[] = {"jemalloc_bg_thd"};
	static const char *const names[] = {"je_", "_rjem_", "tcmalloc", "_mi_", "mi_"};
	const char *slash = group->module ? strrchr(group->module, '/') : NULL;

	return has_prefix(group->comm, threads, ARRAY_SIZE(threads)) ||
	       has_prefix(slash ? slash + 1 : group->module, libraries, ARRAY_SIZE(libraries)) ||
	       (group->kind == ROOT_GLOBAL && has_prefix(group->name, names, ARRAY_SIZE(names)));
}

static enum urgency urgency_of(const struct root_group *group)
{
	if (is_allocator(group))
		return URGENT_ALLOCATOR;
	if (group->kind == ROOT_THREAD_LOCAL)
		return URGENT_THREAD_LOCAL;
	return group->kind == ROOT_GLOBAL && group->name ? URGENT_NAMED : URGENT_OTHER;
}

static int add_start(const struct grouper *grouper, uint32_t group, uint32_t node,
		     struct starts *starts)
{
	struct untracked_start *start;

	if (group == GROUP_LATER)
		return 0;
	start = vec_push(&starts->list);
	if (!start)
		return -ENOMEM;
	*start = (struct untracked_start){group + 1, node,
					  urgency_of(&grouper->groups->list.items[group])};
	return 0;
}

/* Words of roots that point into such memory themselves. */
static int add_direct_starts(struct grouper *grouper, struct starts *starts)
{
	const struct heap_graph *graph = grouper->graph;
	const struct untracked *untracked = &graph->untracked;
	int err = 0;

	for (size_t i = 0; !err && i < untracked->roots.count; i++) {
		const struct untracked_root *word = &untracked->roots.items[i];
		uint32_t group;

		err = root_join_word(grouper, word->address, word->thread, &group);
		if (!err)
			err = add_start(grouper, group, graph->blocks + word->page, starts);
	}
	for (size_t i = 0; !err && i < grouper->sources->held->list.count; i++) {
		uint64_t value = grouper->sources->held->list.items[i].value;
		uint32_t group, page = untracked_page(untracked, value);

		if (page == UNTRACKED_NONE)
			continue;
		err = root_join_word(grouper, i, KERNEL_WORD, &group);
		if (!err)
			err = add_start(grouper, group, graph->blocks + page, starts);
	}
	return err;
}

static int list_starts(struct grouper *grouper, struct starts *starts)
{
	int err = add_direct_starts(grouper, starts);

	for (size_t i = 0; !err && i < grouper->graph->roots.count; i++)
		err = add_start(grouper, grouper->groups->word_groups[i],
				grouper->graph->roots.items[i].target, starts);
	return err;
}

/* Whether any block reaches into a page. */
static bool has_block(const struct heap_graph *graph, uint64_t page)
{
	uint32_t low = 0, high = graph->blocks;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (graph->starts[middle] + graph->sizes[middle] <= page)
			low = middle + 1;
		else
			high = middle;
	}
	return low < graph->blocks && graph->starts[low] < page + MEMORY_PAGE;
}

/* By page: what leads there; and, where every block is known, the allocator's own books. */
struct led {
	uint32_t *holders, *books;
};

static bool is_led(const struct grouper *grouper, uint32_t holder)
{
	return holder && urgency_of(&grouper->groups->list.items[holder - 1]) < URGENT_THREAD_LOCAL;
}

/* Where every block is known, what lies between blocks is free, books hold nothing, and neither
 * does what nothing that lasts leads to: the rest of the books, which nobody can read. */
static bool is_nothing(const struct grouper *grouper, const struct led *led, uint32_t page,
		       uint64_t address)
{
	if (!led->books)
		return false;
	return page == UNTRACKED_NONE || led->books[page] || !is_led(grouper, led->holders[page]) ||
	       has_block(grouper->graph, address & ~(MEMORY_PAGE - 1));
}

static int join(struct grouper *grouper, uint64_t address, const struct led *led, uint32_t *number)
{
	const struct mapping *mapping = maps_find(&grouper->sources->picture->maps, address);
	uint32_t page = untracked_page(&grouper->graph->untracked, address);
	struct root_group group = {.kind = ROOT_UNTRACKED,
				   .address = address,
				   .holder = page == UNTRACKED_NONE ? 0 : led->holders[page]};

	if (is_nothing(grouper, led, page, address)) {
		*number = GROUP_NONE;
		return 0;
	}
	if (mapping) {
		group.address = mapping->start;
		group.module = mapping->path;
	}
	return root_join(grouper,
			 group.holder ? root_key(ROOT_UNTRACKED, group.holder, 1)
				      : root_key(ROOT_UNTRACKED, group.address, 0),
			 &group, number);
}

/* Only the allocator's own variables are where a walk over its books begins. */
static size_t keep_allocators(struct untracked_start *starts, size_t count, uint32_t blocks)
{
	size_t kept = 0;

	for (size_t i = 0; i < count; i++) {
		if (starts[i].urgency == URGENT_ALLOCATOR && starts[i].node >= blocks)
			starts[kept++] = starts[i];
	}
	return kept;
}

static int find_led(struct grouper *grouper, struct led *led)
{
	const struct heap_graph *graph = grouper->graph;
	struct starts starts = {0};
	size_t count;
	int err = list_starts(grouper, &starts);

	if (!err)
		led->holders =
			untracked_roots_find(graph, starts.list.items, starts.list.count, false);
	if (led->holders && grouper->sources->complete) {
		count = keep_allocators(starts.list.items, starts.list.count, graph->blocks);
		led->books = untracked_roots_find(graph, starts.list.items, count, true);
	}
	vec_free(&starts.list);
	return led->holders && (led->books || !grouper->sources->complete) ? 0 : -ENOMEM;
}

int root_join_untracked(struct grouper *grouper)
{
	uint32_t *words = grouper->groups->word_groups;
	struct led led = {0};
	size_t later = 0;
	int err;

	for (size_t i = 0; i < grouper->graph->roots.count; i++)
		later += words[i] == GROUP_LATER;
	if (!later)
		return 0;
	err = find_led(grouper, &led);
	for (size_t i = 0; !err && i < grouper->graph->roots.count; i++) {
		if (words[i] == GROUP_LATER)
			err = join(grouper, grouper->graph->roots.items[i].address, &led,
				   &words[i]);
	}
	free(led.holders);
	free(led.books);
	return err;
}
