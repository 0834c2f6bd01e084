// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/doubts.h"

#include <errno.h>

#include "base/cleanup.h"
#include "heap/retain/heap_graph.h"

#define LOW_END (1ull << 32)
#define TAG_END 8 /* offsets below it are the start with a tag */
/*
 * This many words that point to the same offset of blocks of a size, or one per 64 of these blocks,
 * are links between structures. Random numbers reach a fourteenth of the former where 10^5 of them
 * meet 600,000 blocks.
 */
#define LINKS_MIN 32
#define BLOCKS_PER_LINK 64
/* In fewer bytes of one size, hardly a number points by chance. */
#define CROWD_BYTES (1u << 20)
/* Sizes and limits in variables are multiples of it; of blocks' addresses one in 4,096 is. */
#define ROUND_BYTES (64u << 10)
#define FIELD_NUMBERS_MIN 4
#define DOUBTS_MAX (1u << 22) /* further ones count as pointers */

static uint64_t place_key(uint64_t size, uint64_t place)
{
	return hash_mix(hash_mix(size) ^ place) | 1;
}

int doubts_add(struct doubts *doubts, const struct heap_graph *graph, uint32_t target,
	       uint64_t value, uint32_t index, enum doubt_source source)
{
	uint64_t place = value - graph->starts[target], *count;
	struct doubt *doubt;
	bool fresh = false;

	if (value >= LOW_END || (!place && (source != DOUBT_VARIABLE || value % ROUND_BYTES)) ||
	    heap_graph_what(graph, target) != NODE_PLAIN || doubts->list.count >= DOUBTS_MAX)
		return 0;
	count = hash_put(&doubts->counts, place_key(graph->sizes[target], place), NULL);
	if (!count)
		return -ENOMEM;
	if (*count >= LINKS_MIN)
		return 0;
	if (!hash_put(&doubts->known, value, &fresh))
		return -ENOMEM;
	*count += fresh;
	doubt = vec_push(&doubts->list);
	if (!doubt)
		return -ENOMEM;
	*doubt = (struct doubt){.index = index,
				.place = (uint32_t)place,
				.is_root = source != DOUBT_BLOCK,
				.is_aligned =
					source == DOUBT_STACK || place < TAG_END || value % 8 == 0};
	return 0;
}

void doubts_free(struct doubts *doubts)
{
	vec_free(&doubts->list);
	hash_free(&doubts->counts);
	hash_free(&doubts->known);
}

struct settling {
	const struct doubts *doubts;
	const struct heap_image *heap_image;
	struct heap_graph *graph;
	struct hash sizes; /* size -> number of doubtful blocks */
	uint64_t *seen;	   /* a bit for each block certainly held */
	uint32_t *queue;   /* of blocks */
	uint32_t count;
	struct hash fields;	 /* see count_fields() */
	bool numbers;		 /* some words are */
	uint64_t *edges, *roots; /* a bit for each number that is not proven a pointer */
};

static bool has_bit(const uint64_t *bits, size_t i)
{
	return bits[i / 64] >> i % 64 & 1;
}

static void set_bit(uint64_t *bits, size_t i)
{
	bits[i / 64] |= 1ull << i % 64;
}

static uint32_t target_of(const struct settling *settling, const struct doubt *doubt)
{
	return doubt->is_root ? settling->graph->roots.items[doubt->index].target
			      : settling->graph->graph.targets[doubt->index];
}

static int count_sizes(struct settling *settling)
{
	const struct heap_graph *graph = settling->graph;

	for (size_t i = 0; i < settling->doubts->list.count; i++) {
		uint32_t target = target_of(settling, &settling->doubts->list.items[i]);

		if (!hash_put(&settling->sizes, graph->sizes[target] + 1, NULL))
			return -ENOMEM;
	}
	for (uint32_t i = 0; i < graph->blocks; i++) {
		uint64_t *count = hash_get(&settling->sizes, graph->sizes[i] + 1);

		if (count)
			++*count;
	}
	return 0;
}

static bool is_number(struct settling *settling, const struct doubt *doubt)
{
	const struct hash *counts = &settling->doubts->counts;
	uint64_t size = settling->graph->sizes[target_of(settling, doubt)];
	const uint64_t *blocks = hash_get(&settling->sizes, size + 1);
	const uint64_t *words = hash_get(counts, place_key(size, doubt->place));

	if (!blocks || !words || *words >= LINKS_MIN)
		return false;
	if (!doubt->is_aligned)
		return true;
	return *blocks * size >= CROWD_BYTES && *words * BLOCKS_PER_LINK < *blocks;
}

static void mark_numbers(struct settling *settling)
{
	for (size_t i = 0; i < settling->doubts->list.count; i++) {
		const struct doubt *doubt = &settling->doubts->list.items[i];

		settling->numbers |= is_number(settling, doubt);
		if (is_number(settling, doubt))
			set_bit(doubt->is_root ? settling->roots : settling->edges, doubt->index);
	}
}

/* Fields: words at one offset in blocks of one size, as hashes in the nodes of a table. */

static uint64_t field_of(const struct heap_graph *graph, uint32_t block, uint32_t edge)
{
	return place_key(graph->sizes[block], edge_offset(graph->places[edge]));
}

/* Returns whether it points into blocks that numbers hit by chance. */
static bool may_be_number(const struct settling *settling, uint32_t block, uint32_t edge)
{
	const struct heap_graph *graph = settling->graph;
	uint32_t target = graph->graph.targets[edge];
	const uint64_t *blocks;

	if (heap_graph_what(graph, block) != NODE_PLAIN || graph->starts[target] >= LOW_END)
		return false;
	blocks = hash_get(&settling->sizes, graph->sizes[target] + 1);
	return blocks && *blocks * graph->sizes[target] >= CROWD_BYTES;
}

/* Counts per field: in the upper half the words that are numbers; in the lower half the others. */
static int count_fields(struct settling *settling)
{
	const struct heap_graph *graph = settling->graph;

	for (uint32_t i = 0; i < graph->blocks; i++) {
		for (uint32_t j = graph->graph.first[i]; j < graph->graph.first[i + 1]; j++) {
			uint64_t *count;

			if (!has_bit(settling->edges, j))
				continue;
			count = hash_put(&settling->fields, field_of(graph, i, j), NULL);
			if (!count)
				return -ENOMEM;
			*count += 1ull << 32;
		}
	}
	for (uint32_t i = 0; i < graph->blocks; i++) {
		for (uint32_t j = graph->graph.first[i]; j < graph->graph.first[i + 1]; j++) {
			uint64_t *count =
				may_be_number(settling, i, j) && !has_bit(settling->edges, j)
					? hash_get(&settling->fields, field_of(graph, i, j))
					: NULL;

			if (count)
				++*count;
		}
	}
	return 0;
}

/* If most words of a field are numbers, all are: some point to a start by chance. */
static int mark_fields(struct settling *settling)
{
	const struct heap_graph *graph = settling->graph;
	int error = settling->numbers ? count_fields(settling) : 0;

	for (uint32_t i = 0; !error && settling->fields.count && i < graph->blocks; i++) {
		for (uint32_t j = graph->graph.first[i]; j < graph->graph.first[i + 1]; j++) {
			const uint64_t *count =
				may_be_number(settling, i, j)
					? hash_get(&settling->fields, field_of(graph, i, j))
					: NULL;

			if (count && *count >> 32 >= FIELD_NUMBERS_MIN &&
			    *count >> 32 > 2 * (uint32_t)*count)
				set_bit(settling->edges, j);
		}
	}
	return error;
}

static void see(struct settling *settling, uint32_t block)
{
	if (has_bit(settling->seen, block))
		return;
	set_bit(settling->seen, block);
	settling->queue[settling->count++] = block;
}

/* Leftovers of functions: below the stack, and in registers that no call preserves. */
static bool is_left_over(const struct heap_image *heap_image, const struct root_word *root)
{
	const struct zone *zone;

	if (root->thread)
		return root->address >= REGISTER_VECTORS;
	zone = heap_image_zone(heap_image, root->address);
	return zone && zone->kind == ZONE_STACK && zone->thread < heap_image->threads.count &&
	       root->address < heap_image->threads.items[zone->thread].stack_start;
}

static bool is_marked(uint32_t place)
{
	return (place & (EDGE_LABELLED | EDGE_DOUBTFUL)) == EDGE_DOUBTFUL;
}

static void see_edges(struct settling *settling, uint32_t block)
{
	const struct heap_graph *graph = settling->graph;

	for (uint32_t i = graph->graph.first[block]; i < graph->graph.first[block + 1]; i++) {
		if (!is_marked(graph->places[i]) && !has_bit(settling->edges, i))
			see(settling, graph->graph.targets[i]);
	}
}

static void see_all(struct settling *settling)
{
	const struct heap_graph *graph = settling->graph;

	for (size_t i = 0; i < graph->roots.count; i++) {
		if (!has_bit(settling->roots, i) &&
		    !is_left_over(settling->heap_image, &graph->roots.items[i]))
			see(settling, graph->roots.items[i].target);
	}
	for (size_t i = 0; i < graph->managed.roots.count; i++)
		see(settling, graph->managed.roots.items[i].node);
	for (uint32_t done = 0; done < settling->count; done++)
		see_edges(settling, settling->queue[done]);
}

static int add_number(struct heap_graph *graph, uint32_t target, uint64_t address)
{
	struct root_word *root = vec_push(&graph->roots);

	if (!root)
		return -ENOMEM;
	*root = (struct root_word){.address = address, .target = target, .thread = NUMBER_WORD};
	return 0;
}

/* Makes them the last roots, unless something else holds their targets. */
static int move_roots(struct settling *settling)
{
	struct heap_graph *graph = settling->graph;
	size_t count = graph->roots.count, in_memory = graph->memory_roots, kept = 0;
	VEC(struct root_word) moved = {0};
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct root_word root = graph->roots.items[i];

		if (!has_bit(settling->roots, i)) {
			graph->roots.items[kept++] = root;
			continue;
		}
		graph->memory_roots -= i < in_memory;
		if (!has_bit(settling->seen, root.target)) {
			struct root_word *added = vec_push(&moved);

			if (added)
				*added = root;
			error = added ? 0 : -ENOMEM;
		}
	}
	graph->roots.count = kept;
	for (size_t i = 0; !error && i < moved.count; i++)
		error = add_number(graph, moved.items[i].target, moved.items[i].address);
	vec_free(&moved);
	return error;
}

static int move_edges(struct settling *settling)
{
	struct heap_graph *graph = settling->graph;
	uint32_t kept = 0, at = 0;
	int error = 0;

	for (uint32_t block = 0; !error && block < graph->blocks; block++) {
		for (; !error && at < graph->graph.first[block + 1]; at++) {
			uint32_t target = graph->graph.targets[at], place = graph->places[at];
			bool number = has_bit(settling->edges, at);

			if (number && !has_bit(settling->seen, target))
				error = add_number(graph, target,
						   graph->starts[block] + edge_offset(place));
			if (number || (is_marked(place) && has_bit(settling->seen, target)))
				continue;
			graph->graph.targets[kept] = target;
			graph->places[kept++] = place;
		}
		graph->graph.first[block + 1] = kept;
	}
	return error;
}

static int settle(struct settling *settling)
{
	int error = count_sizes(settling);

	if (error)
		return error;
	mark_numbers(settling);
	error = mark_fields(settling);
	if (error)
		return error;
	see_all(settling);
	error = move_roots(settling);
	return error ? error : move_edges(settling);
}

static uint64_t *make_bits(size_t count)
{
	return calloc(count / 64 + 1, sizeof(uint64_t));
}

int doubts_settle(const struct doubts *doubts, const struct heap_image *heap_image,
		  struct heap_graph *graph)
{
	_cleanup_free_ uint64_t *seen = NULL, *edges = NULL, *roots = NULL;
	_cleanup_free_ uint32_t *queue = NULL;
	struct settling settling = {.doubts = doubts, .heap_image = heap_image, .graph = graph};
	int error;

	if (!doubts->managed && !doubts->list.count)
		return 0;
	settling.seen = seen = make_bits(graph->blocks);
	settling.edges = edges = make_bits(graph->graph.first[graph->blocks]);
	settling.roots = roots = make_bits(graph->roots.count);
	settling.queue = queue = malloc(((size_t)graph->blocks + 1) * sizeof(*queue));
	error = seen && edges && roots && queue ? settle(&settling) : -ENOMEM;
	hash_free(&settling.sizes);
	hash_free(&settling.fields);
	return error;
}
