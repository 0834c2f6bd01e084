// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/untracked_roots.h"

#include <errno.h>

#include "base/cleanup.h"
#include "retain/root_grouper.h"

struct walk {
	const struct heap_graph *graph;
	uint32_t *roots; /* by node: blocks, then pages */
	uint32_t *queue;
	size_t taken, known;
	uint64_t *leads; /* a bit per block: whether it points into pages */
	bool pages_only;
};

static void visit(struct walk *walk, uint32_t node, uint32_t root)
{
	if (walk->roots[node])
		return;
	walk->roots[node] = root;
	walk->queue[walk->known++] = node;
}

/* Edges of one source stand together. */
static size_t first_edge(const struct untracked_edge *edges, size_t count, uint32_t source)
{
	size_t low = 0, high = count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (edges[middle].source < source)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void visit_pages(struct walk *walk, const struct untracked_edge *edges, size_t count,
			uint32_t source, uint32_t root)
{
	for (size_t i = first_edge(edges, count, source); i < count && edges[i].source == source;
	     i++)
		visit(walk, walk->graph->blocks + edges[i].page, root);
}

static void leave_block(struct walk *walk, uint32_t block, uint32_t root)
{
	const struct graph *graph = &walk->graph->graph;
	const struct untracked *untracked = &walk->graph->untracked;

	for (uint32_t i = graph->first[block]; i < graph->first[block + 1]; i++)
		visit(walk, graph->targets[i], root);
	if (walk->leads[block / 64] >> block % 64 & 1)
		visit_pages(walk, untracked->from_blocks.items, untracked->from_blocks.count, block,
			    root);
}

static size_t first_word(const struct heap_graph *graph, uint64_t address)
{
	size_t low = 0, high = graph->memory_roots;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (graph->roots.items[middle].address < address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void leave_page(struct walk *walk, uint32_t page, uint32_t root)
{
	const struct heap_graph *graph = walk->graph;
	const struct untracked *untracked = &graph->untracked;
	uint64_t start = untracked_address(untracked, page);

	for (size_t i = first_word(graph, start); !walk->pages_only && i < graph->memory_roots;
	     i++) {
		if (graph->roots.items[i].address >= start + MEMORY_PAGE)
			break;
		visit(walk, graph->roots.items[i].target, root);
	}
	visit_pages(walk, untracked->from_pages.items, untracked->from_pages.count, page, root);
	if (page + 1 < untracked->pages && !untracked->pointed[page + 1])
		visit(walk, graph->blocks + page + 1, root);
}

static void walk_all(struct walk *walk)
{
	while (walk->taken < walk->known) {
		uint32_t node = walk->queue[walk->taken++], root = walk->roots[node];

		if (node < walk->graph->blocks)
			leave_block(walk, node, root);
		else
			leave_page(walk, node - walk->graph->blocks, root);
	}
}

static int compare_starts(const void *left_pointer, const void *right_pointer)
{
	const struct untracked_start *left = left_pointer, *right = right_pointer;

	if (left->urgency != right->urgency)
		return left->urgency < right->urgency ? -1 : 1;
	if (left->root != right->root)
		return left->root < right->root ? -1 : 1;
	return left->node < right->node ? -1 : left->node > right->node;
}

static void mark_leads(struct walk *walk)
{
	const struct untracked *untracked = &walk->graph->untracked;

	for (size_t i = 0; i < untracked->from_blocks.count; i++) {
		uint32_t block = untracked->from_blocks.items[i].source;

		walk->leads[block / 64] |= 1ull << block % 64;
	}
}

uint32_t *untracked_roots_find(const struct heap_graph *graph, struct untracked_start *starts,
			       size_t count, bool pages_only)
{
	size_t pages = graph->untracked.pages, nodes = graph->blocks + pages;
	_cleanup_free_ uint32_t *roots = calloc(nodes + 1, sizeof(*roots));
	_cleanup_free_ uint32_t *queue = malloc((nodes + 1) * sizeof(*queue));
	_cleanup_free_ uint64_t *leads = calloc((size_t)graph->blocks / 64 + 1, sizeof(*leads));
	struct walk walk = {.graph = graph,
			    .roots = roots,
			    .queue = queue,
			    .leads = leads,
			    .pages_only = pages_only};
	uint32_t *found = malloc((pages + 1) * sizeof(*found));

	if (!roots || !queue || !leads || !found) {
		free(found);
		return NULL;
	}
	mark_leads(&walk);
	if (count)
		qsort(starts, count, sizeof(*starts), compare_starts);
	for (size_t i = 0; i < count; i++) {
		visit(&walk, starts[i].node, starts[i].root);
		if (i + 1 == count || starts[i + 1].urgency != starts[i].urgency)
			walk_all(&walk);
	}
	memcpy(found, roots + graph->blocks, pages * sizeof(*found));
	return found;
}

/* Words in memory that no block is known in: grouped by the root that leads there, if one does. */

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

/* An allocator's own metadata lead to all that it ever handed out. */
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

	/* What a stale word leads to, it does not hold for that. */
	if (group == GROUP_LATER || grouper->groups->list.items[group].kind == ROOT_STALE)
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
	int error = 0;

	for (size_t i = 0; !error && i < untracked->roots.count; i++) {
		const struct untracked_root *word = &untracked->roots.items[i];
		uint32_t group;

		error = root_join_word(grouper, word->address, word->thread, &group);
		if (!error)
			error = add_start(grouper, group, graph->blocks + word->page, starts);
	}
	for (size_t i = 0; !error && i < grouper->sources->held->list.count; i++) {
		uint64_t value = grouper->sources->held->list.items[i].value;
		uint32_t group, page = untracked_page(untracked, value);

		if (page == UNTRACKED_NONE)
			continue;
		error = root_join_word(grouper, i, KERNEL_WORD, &group);
		if (!error)
			error = add_start(grouper, group, graph->blocks + page, starts);
	}
	return error;
}

static int list_starts(struct grouper *grouper, struct starts *starts)
{
	int error = add_direct_starts(grouper, starts);

	for (size_t i = 0; !error && i < grouper->graph->roots.count; i++)
		error = add_start(grouper, grouper->groups->word_groups[i],
				  grouper->graph->roots.items[i].target, starts);
	return error;
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

/* By page: what leads there; and, where every block is known, the allocator's own metadata. */
struct led {
	uint32_t *holders, *metadata;
};

static bool is_led(const struct grouper *grouper, uint32_t holder)
{
	return holder && urgency_of(&grouper->groups->list.items[holder - 1]) < URGENT_THREAD_LOCAL;
}

/*
 * Where every block is known, what lies between blocks is free, bookkeeping holds nothing, and
 * neither does what nothing that lasts leads to: the rest of the ledger, which nobody can read.
 * glibc's heaps are no such memory: what is left is the program's own.
 */
static bool has_ledger(const struct grouper *grouper)
{
	return grouper->sources->complete && grouper->graph->foreign_blocks;
}

static bool is_nothing(const struct grouper *grouper, const struct led *led, uint32_t page,
		       uint64_t address)
{
	if (!led->metadata)
		return false;
	return page == UNTRACKED_NONE || led->metadata[page] ||
	       !is_led(grouper, led->holders[page]) ||
	       has_block(grouper->graph, address & ~(MEMORY_PAGE - 1));
}

static int join(struct grouper *grouper, uint64_t address, const struct led *led, uint32_t *number)
{
	const struct mapping *mapping = maps_find(&grouper->sources->heap_image->maps, address);
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

/* Only the allocator's own variables are where a walk over its ledger begins. */
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
	int error = list_starts(grouper, &starts);

	if (!error)
		led->holders =
			untracked_roots_find(graph, starts.list.items, starts.list.count, false);
	if (led->holders && has_ledger(grouper)) {
		count = keep_allocators(starts.list.items, starts.list.count, graph->blocks);
		led->metadata = untracked_roots_find(graph, starts.list.items, count, true);
	}
	vec_free(&starts.list);
	return led->holders && (led->metadata || !has_ledger(grouper)) ? 0 : -ENOMEM;
}

int root_join_untracked(struct grouper *grouper)
{
	uint32_t *words = grouper->groups->word_groups;
	struct led led = {0};
	size_t later = 0;
	int error;

	for (size_t i = 0; i < grouper->graph->roots.count; i++)
		later += words[i] == GROUP_LATER;
	if (!later)
		return 0;
	error = find_led(grouper, &led);
	for (size_t i = 0; !error && i < grouper->graph->roots.count; i++) {
		if (words[i] == GROUP_LATER)
			error = join(grouper, grouper->graph->roots.items[i].address, &led,
				     &words[i]);
	}
	free(led.holders);
	free(led.metadata);
	return error;
}
