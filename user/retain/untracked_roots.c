// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/untracked_roots.h"

#include "base/cleanup.h"

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
