// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/untracked.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/search.h"
#include "heap/retain/heap_graph.h"

/* 8 bytes each. Further ones are not attributed to a root. */
#define MAX_EDGES (1u << 27)

static int add_range(struct untracked *untracked, uint64_t start, uint64_t end)
{
	struct untracked_range *range;

	if (start >= end || (end - start) / MEMORY_PAGE >= UNTRACKED_NONE - untracked->pages)
		return 0;
	range = vec_push(&untracked->ranges);
	if (!range)
		return -ENOMEM;
	*range = (struct untracked_range){start, end, untracked->pages};
	untracked->pages += (uint32_t)((end - start) / MEMORY_PAGE);
	return filter_add(&untracked->filter, start, end);
}

/* Known memory of a process besides blocks, by ascending address. */
struct known {
	VEC(struct filter_range) list;
	size_t at;
};

static int compare_known(const void *left_pointer, const void *right_pointer)
{
	const struct filter_range *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static int add_known(struct known *known, uint64_t start, uint64_t end)
{
	struct filter_range *range = vec_push(&known->list);

	if (!range)
		return -ENOMEM;
	*range = (struct filter_range){start, end};
	return 0;
}

static int list_known(const struct heap_image *heap_image, const struct data_modules *modules,
		      struct known *known)
{
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->zones.count; i++)
		error = add_known(known, heap_image->zones.items[i].start,
				  heap_image->zones.items[i].end);
	for (size_t i = 0; !error && i < modules->list.count; i++)
		error = add_known(known, modules->list.items[i].start, modules->list.items[i].end);
	if (known->list.count)
		qsort(known->list.items, known->list.count, sizeof(*known->list.items),
		      compare_known);
	return error;
}

/* Adds a mapping without its known parts; whole pages only. Mappings come by ascending address. */
static int add_mapping(struct untracked *untracked, struct known *known,
		       const struct page_range *mapping)
{
	uint64_t at = mapping->start;
	int error = 0;

	for (; !error && known->at < known->list.count; known->at++) {
		const struct filter_range *range = &known->list.items[known->at];

		if (range->start >= mapping->end)
			break;
		if (range->start > at)
			error = add_range(untracked, at, range->start & ~(MEMORY_PAGE - 1));
		at = MAX(at, align_up(range->end, MEMORY_PAGE));
		/* It may extend into the next mapping, too. */
		if (range->end > mapping->end)
			break;
	}
	return error ? error : add_range(untracked, at, mapping->end);
}

int untracked_prepare(const struct heap_image *heap_image, const struct data_modules *modules,
		      struct untracked *untracked)
{
	struct known known = {0};
	int error = list_known(heap_image, modules, &known);

	for (size_t i = 0; !error && i < heap_image->pages.ranges.count; i++) {
		const struct page_range *range = &heap_image->pages.ranges.items[i];

		if (!range->file && !range->unseen)
			error = add_mapping(untracked, &known, range);
	}
	vec_free(&known.list);
	if (!error)
		error = filter_finish(&untracked->filter);
	untracked->pointed = calloc((size_t)untracked->pages + 1, 1);
	if (error || !untracked->pointed)
		return -ENOMEM;
	for (size_t i = 0; i < untracked->ranges.count; i++)
		untracked->pointed[untracked->ranges.items[i].first] = 1;
	return 0;
}

uint32_t untracked_page(const struct untracked *untracked, uint64_t address)
{
	const struct untracked_range *range = untracked->ranges.items;

	if (!untracked->ranges.count || !filter_has(&untracked->filter, address))
		return UNTRACKED_NONE;
	range +=
		SORTED_BEFORE(next, range + 1, untracked->ranges.count - 1, next->start <= address);
	return range->first + (uint32_t)((address - range->start) / MEMORY_PAGE);
}

uint64_t untracked_address(const struct untracked *untracked, uint32_t page)
{
	const struct untracked_range *range = untracked->ranges.items;

	range += SORTED_BEFORE(next, range + 1, untracked->ranges.count - 1, next->first <= page);
	return range->start + (uint64_t)(page - range->first) * MEMORY_PAGE;
}

/* Returns whether an edge was seen recently; it is from now on. */
static bool is_recent(struct untracked *untracked, uint64_t source, uint32_t page)
{
	uint64_t key = hash_mix(hash_mix(source) + page) | 1;
	uint64_t *slot = &untracked->recent[key >> 8 & (UNTRACKED_RECENT - 1)];
	bool seen = *slot == key;

	*slot = key;
	return seen;
}

static bool is_full(struct untracked *untracked, size_t count)
{
	if (count >= MAX_EDGES)
		untracked->truncated = true;
	return count >= MAX_EDGES;
}

int untracked_add_from_block(struct untracked *untracked, uint32_t block, uint64_t value)
{
	uint32_t page = untracked_page(untracked, value);
	struct untracked_edge *edge;

	if (page == UNTRACKED_NONE || is_recent(untracked, block, page) ||
	    is_full(untracked, untracked->from_blocks.count))
		return 0;
	untracked->pointed[page] = 1;
	edge = vec_push(&untracked->from_blocks);
	if (!edge)
		return -ENOMEM;
	*edge = (struct untracked_edge){block, page};
	return 0;
}

static int add_from_page(struct untracked *untracked, uint32_t source, uint32_t page)
{
	struct untracked_edge *edge;

	/* Distinguishes it from a block of that number. */
	if (source == page || is_recent(untracked, source | 1ull << 32, page) ||
	    is_full(untracked, untracked->from_pages.count))
		return 0;
	edge = vec_push(&untracked->from_pages);
	if (!edge)
		return -ENOMEM;
	*edge = (struct untracked_edge){source, page};
	return 0;
}

int untracked_add_outside(struct untracked *untracked, uint64_t address, uint64_t value,
			  uint32_t thread)
{
	uint32_t page = untracked_page(untracked, value), source;
	struct untracked_root *root;

	if (page == UNTRACKED_NONE)
		return 0;
	source = thread ? UNTRACKED_NONE : untracked_page(untracked, address);
	untracked->pointed[page] = 1;
	if (source != UNTRACKED_NONE)
		return add_from_page(untracked, source, page);
	root = vec_push(&untracked->roots);
	if (!root)
		return -ENOMEM;
	*root = (struct untracked_root){address, page, thread};
	return 0;
}

void untracked_free(struct untracked *untracked)
{
	vec_free(&untracked->ranges);
	filter_free(&untracked->filter);
	free(untracked->pointed);
	vec_free(&untracked->from_blocks);
	vec_free(&untracked->from_pages);
	vec_free(&untracked->roots);
}

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

/* Edges of one source are consecutive. */
static size_t first_edge(const struct untracked_edge *edges, size_t count, uint32_t source)
{
	return SORTED_BEFORE(edge, edges, count, edge->source < source);
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
	return SORTED_BEFORE(root, graph->roots.items, graph->memory_roots,
			     root->address < address);
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
