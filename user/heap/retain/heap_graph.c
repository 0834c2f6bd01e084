// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/heap_graph.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/fatal_signal.h"
#include "base/text.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_reader.h"
#include "heap/retain/doubts.h"
#include "heap/retain/pool_kinds.h"

struct lister {
	const struct heap_image *heap_image;
	struct heap_graph *graph;
	const struct tracked_block *tracked;
	size_t tracked_count, tracked_at;
	size_t runs[HEAP_READERS_MAX]; /* by heap: the next one */
	size_t capacity;
	uint64_t end; /* of the last block */
};

static int grow(struct lister *lister)
{
	struct heap_graph *graph = lister->graph;
	size_t grown = MAX(lister->capacity + lister->capacity / 2, (size_t)4096);
	uint64_t *starts = reallocarray(graph->starts, grown, sizeof(uint64_t)), *sizes;
	uint32_t *sites;

	if (starts)
		graph->starts = starts;
	sizes = starts ? reallocarray(graph->sizes, grown, sizeof(uint64_t)) : NULL;
	if (sizes)
		graph->sizes = sizes;
	sites = sizes && lister->tracked ? reallocarray(graph->sites, grown, sizeof(uint32_t))
					 : NULL;
	if (sites)
		graph->sites = sites;
	if (!sizes || (lister->tracked && !sites))
		return -ENOMEM;
	lister->capacity = grown;
	return 0;
}

static int push(struct lister *lister, uint64_t start, uint64_t size, uint32_t site)
{
	struct heap_graph *graph = lister->graph;

	/* Inside another one: an allocator that got its memory from malloc. */
	if (start < lister->end)
		return 0;
	if (graph->blocks == lister->capacity && grow(lister))
		return -ENOMEM;
	if (graph->blocks >= GRAPH_NONE - 16)
		return -ENOMEM;
	graph->starts[graph->blocks] = start;
	graph->sizes[graph->blocks] = size;
	if (graph->sites)
		graph->sites[graph->blocks] = site;
	graph->blocks++;
	lister->end = start + MAX(size, 1u);
	return 0;
}

/* Adds tracked blocks below `address` that are in no heap. */
static int push_tracked_below(struct lister *lister, uint64_t address)
{
	int error = 0;

	while (!error && lister->tracked_at < lister->tracked_count &&
	       lister->tracked[lister->tracked_at].address < address) {
		const struct tracked_block *block = &lister->tracked[lister->tracked_at++];
		uint32_t before = lister->graph->blocks;

		error = push(lister, block->address, block->size, block->site);
		lister->graph->tracked_blocks += lister->graph->blocks - before;
		lister->graph->unwalked_blocks += lister->graph->blocks - before;
	}
	return error;
}

/* Adds a block of a heap; its requested size is known if it was tracked. */
static int push_walked(struct lister *lister, uint64_t start, uint64_t size)
{
	uint32_t site = 0;
	int error = push_tracked_below(lister, start);

	if (!error && lister->tracked_at < lister->tracked_count &&
	    lister->tracked[lister->tracked_at].address == start) {
		const struct tracked_block *block = &lister->tracked[lister->tracked_at++];

		site = block->site;
		size = MIN(size, block->size);
		lister->graph->tracked_blocks++;
	}
	if (!error)
		error = push(lister, start, size, site);
	lister->graph->census_blocks++;
	return error;
}

static int push_run(struct lister *lister, const struct heap *heap, const struct heap_run *run)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < run->count; i++) {
		struct heap_block block = heap_block(heap, run, i);

		if (block.use == BLOCK_LIVE)
			error = push_walked(lister, block.address, block.size);
	}
	return error;
}

/* Returns the heap with the lowest remaining run; `count`: none. */
static size_t next_heap(const struct lister *lister)
{
	const struct heaps *heaps = &lister->heap_image->heaps;
	size_t next = heaps->list.count;
	uint64_t lowest = UINT64_MAX;

	for (size_t i = 0; i < heaps->list.count; i++) {
		const struct heap *heap = &heaps->list.items[i];
		size_t run = lister->runs[i];

		if (run < heap->runs.count && heap->runs.items[run].start < lowest) {
			lowest = heap->runs.items[run].start;
			next = i;
		}
	}
	return next;
}

int heap_blocks_list(const struct heap_image *heap_image, const struct tracked_block *tracked,
		     size_t tracked_count, struct heap_graph *graph)
{
	struct lister lister = {.heap_image = heap_image,
				.graph = graph,
				.tracked = tracked,
				.tracked_count = tracked_count};
	int error = grow(&lister);
	size_t next;

	while (!error && (next = next_heap(&lister)) < heap_image->heaps.list.count) {
		const struct heap *heap = &heap_image->heaps.list.items[next];

		error = push_run(&lister, heap, &heap->runs.items[lister.runs[next]++]);
	}
	return error ? error : push_tracked_below(&lister, UINT64_MAX);
}

struct builder {
	const struct heap_image *heap_image;
	const struct graph_sources *sources;
	struct heap_graph *graph;
	struct hash type_index;	    /* type word -> index in type_words, plus 1 */
	const struct mapping *seen; /* the mapping of the last type word's target */
	const struct data_modules *modules;
	bool is_loaded; /* some module is a dynamic loader */
	const struct thread_blocks *locals;
	size_t local;	/* the first one that ends after the current word */
	uint32_t block; /* the first one that ends after the current word */
	size_t claimed; /* the same in the ranges claimed by runtimes */
	size_t idle;	/* the same in idle ranges */
	uint32_t edges, capacity;
	struct doubts doubts;
};

static int add_edge(struct builder *builder, uint32_t target, uint32_t place)
{
	struct heap_graph *graph = builder->graph;

	if (builder->edges == builder->capacity) {
		size_t grown = MAX((size_t)builder->capacity * 3 / 2, (size_t)4096);
		uint32_t *targets, *places;

		if (grown >= UINT32_MAX)
			return -ENOMEM;
		targets = reallocarray(graph->graph.targets, grown, sizeof(uint32_t));
		if (targets)
			graph->graph.targets = targets;
		places = reallocarray(graph->places, grown, sizeof(uint32_t));
		if (places)
			graph->places = places;
		if (!targets || !places)
			return -ENOMEM;
		builder->capacity = (uint32_t)grown;
	}
	graph->graph.targets[builder->edges] = target;
	graph->places[builder->edges++] = place;
	return 0;
}

/* Only non-executable contents of files: vtables, tables of functions. */
static bool may_be_type(struct builder *builder, uint64_t address)
{
	const struct mapping *mapping = builder->seen;

	if (address % 8)
		return false;
	if (!mapping || address < mapping->start || address >= mapping->end)
		mapping = maps_find(&builder->heap_image->maps, address);
	if (!mapping)
		return false;
	builder->seen = mapping;
	return mapping->inode && !mapping->executable && !mapping->shared;
}

static int set_type(struct builder *builder, uint32_t block, uint64_t place, uint64_t value)
{
	struct heap_graph *graph = builder->graph;
	struct type_word *word;
	uint64_t *slot;

	if (place > 1 || graph->types[block] != TYPE_NONE || !may_be_type(builder, value))
		return 0;
	slot = hash_put(&builder->type_index, value << 1 | place, NULL);
	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		word = vec_push(&graph->type_words);
		if (!word)
			return -ENOMEM;
		*word = (struct type_word){value, place == 1};
		*slot = graph->type_words.count;
	}
	graph->types[block] = (uint32_t)*slot - 1;
	return 0;
}

/* An object whose words its runtime describes. */
static bool is_quiet(const struct heap_graph *graph, uint32_t block, uint64_t address)
{
	uint32_t what = heap_graph_what(graph, block);
	uint64_t offset = address - graph->starts[block];
	const struct managed_class *class;

	if (!node_has_class(what))
		return false;
	if (what & (NODE_PRECISE | NODE_PART))
		return what & NODE_PRECISE;
	class = &graph->managed.classes.items[what & NODE_CLASS];
	return (offset >= class->quiet_start && offset < class->quiet_end) ||
	       (class->quiet_from && offset >= class->quiet_from) ||
	       (offset < QUIET_WORDS * 8 && class->quiet_words >> offset / 8 & 1) ||
	       offset / 8 + 1 == class->weak_word;
}

/* An object with the address of a native block in a field that is no reference. */
static bool is_native(const struct heap_graph *graph, uint32_t block, uint32_t target)
{
	uint32_t what = heap_graph_what(graph, block);

	return node_has_class(what) && what & NODE_NATIVE && target != BLOCK_NONE &&
	       !node_has_class(heap_graph_what(graph, target));
}

/*
 * Returns whether a word leads to a node at all: it has the tag of pointers to its class, and the
 * node is not itself a root.
 */
static bool is_pointer_to(const struct heap_graph *graph, uint32_t target, uint64_t value)
{
	uint32_t what = heap_graph_what(graph, target);
	const struct managed_class *class =
		node_has_class(what) ? &graph->managed.classes.items[what & NODE_CLASS] : NULL;
	uint64_t inside = value - graph->starts[target];

	if (heap_sink_is_apart(&graph->managed, target))
		return false;
	return !class || ((!class->tag || inside == class->tag) && (!class->exact || inside < 8));
}

/* A word of a runtime's memory without the exact address that malloc returned. */
static bool is_doubtful(const struct heap_graph *graph, uint32_t block, uint32_t target,
			uint64_t value)
{
	return heap_graph_what(graph, block) != NODE_PLAIN &&
	       heap_graph_what(graph, target) == NODE_PLAIN && value != graph->starts[target];
}

/* Not where pointers to an object of its class lead. */
static bool is_inside(const struct heap_graph *graph, uint32_t target, uint64_t value)
{
	uint32_t what = heap_graph_what(graph, target);
	uint8_t tag = node_has_class(what) && !(what & NODE_PART)
			      ? graph->managed.classes.items[what & NODE_CLASS].tag
			      : 0;

	return value - graph->starts[target] != tag;
}

/* A managed object with fields has only its references as edges. A part of it has none. */
static int add_block_edge(struct builder *builder, uint32_t block, uint32_t target, uint64_t place,
			  uint64_t value)
{
	uint32_t what = heap_graph_what(builder->graph, block), doubt = 0;

	if (is_doubtful(builder->graph, block, target, value)) {
		builder->doubts.managed = true;
		doubt = EDGE_DOUBTFUL;
	}
	if (!node_has_class(what) || what & NODE_PART ||
	    !builder->graph->managed.classes.items[what & NODE_CLASS].fields)
		return add_edge(
			builder, target,
			(uint32_t)MIN(place, EDGE_PLACE) | doubt |
				(is_inside(builder->graph, target, value) ? EDGE_INSIDE : 0));
	if (value % 8 || !place)
		return 0;
	return add_edge(builder, target, EDGE_LABELLED | label_index(place - 1));
}

/* A word that points less than this far, in either direction, points within the same object. */
#define OWN_BEFORE 8
#define OWN_BEHIND 32

static void count_own(struct heap_graph *graph, uint32_t block, uint64_t address, uint64_t value)
{
	if (value == graph->starts[block] ||
	    value - (address - OWN_BEFORE) <= OWN_BEFORE + OWN_BEHIND ||
	    node_has_class(heap_graph_what(graph, block)))
		return;
	graph->own_words[block] += graph->own_words[block] < UINT8_MAX;
}

static int add_from_block(struct builder *builder, uint32_t block, uint64_t address, uint64_t value)
{
	struct heap_graph *graph = builder->graph;
	uint64_t place = (address - graph->starts[block]) / 8;
	uint32_t target = block_index_find(&graph->index, value);

	if (address + 8 > graph->starts[block] + graph->sizes[block])
		return 0;
	if (pool_kinds_is_end(place, value - graph->starts[block], graph->sizes[block]))
		graph->own_words[block] = UINT8_MAX;
	if (target == block) {
		count_own(graph, block, address, value);
		return 0;
	}
	if (is_quiet(graph, block, address) && !is_native(graph, block, target))
		return 0;
	if (target != BLOCK_NONE && !is_pointer_to(graph, target, value))
		return 0;
	if (target != BLOCK_NONE) {
		if (heap_graph_what(graph, block) == NODE_PLAIN &&
		    doubts_add(&builder->doubts, graph, target, value, builder->edges, DOUBT_BLOCK))
			return -ENOMEM;
		return add_block_edge(builder, block, target, place, value);
	}
	if (!node_has_class(heap_graph_what(graph, block)) &&
	    set_type(builder, block, place, value))
		return -ENOMEM;
	return untracked_add_from_block(&graph->untracked, block, value);
}

static bool holds_nothing(const struct builder *builder, uint64_t address)
{
	const struct zone *zone = heap_image_zone(builder->heap_image, address);

	return zone && zone->kind != ZONE_STACK && zone->kind != ZONE_TLS &&
	       zone->kind != ZONE_ENDED;
}

static bool is_on_stack(const struct builder *builder, uint64_t address)
{
	const struct zone *zone = heap_image_zone(builder->heap_image, address);

	return zone && zone->kind == ZONE_STACK;
}

/* Returns whether a variable still has the number that its file has there. */
static bool is_initial(const struct builder *builder, uint64_t address, uint64_t value)
{
	const struct data_module *module =
		value >> 32 ? NULL : data_modules_at(builder->modules, address);

	return module && elf_numbers_have(&module->image->numbers, address - module->bias, value);
}

static int add_root(struct builder *builder, uint64_t address, uint64_t value, uint32_t thread)
{
	uint32_t target = block_index_find(&builder->graph->index, value);
	struct root_word *root;

	if (target == BLOCK_NONE)
		return untracked_add_outside(&builder->graph->untracked, address, value, thread);
	if (!is_pointer_to(builder->graph, target, value) ||
	    (!thread && is_initial(builder, address, value)))
		return 0;
	if (!thread && doubts_add(&builder->doubts, builder->graph, target, value,
				  (uint32_t)builder->graph->roots.count,
				  is_on_stack(builder, address) ? DOUBT_STACK : DOUBT_VARIABLE))
		return -ENOMEM;
	root = vec_push(&builder->graph->roots);
	if (!root)
		return -ENOMEM;
	*root = (struct root_word){address, target, thread,
				   is_inside(builder->graph, target, value)};
	return 0;
}

static bool is_thread_local(struct builder *builder, uint64_t address)
{
	const struct thread_blocks *locals = builder->locals;

	while (builder->local < locals->list.count &&
	       locals->list.items[builder->local].end <= address)
		builder->local++;
	return builder->local < locals->list.count &&
	       locals->list.items[builder->local].start <= address;
}

/* Ends the first block: adds the references that its runtime reports. */
static int end_block(struct builder *builder)
{
	struct heap_graph *graph = builder->graph;
	const struct heap_sink *managed = &graph->managed;
	uint32_t block = builder->block++;
	int error = 0;

	for (uint32_t i = managed->first ? managed->first[block] : 0;
	     !error && managed->first && i < managed->first[block + 1]; i++) {
		if (heap_sink_is_apart(managed, managed->references.targets[i]))
			continue;
		error = add_edge(builder, managed->references.targets[i],
				 EDGE_LABELLED | managed->references.labels[i]);
	}
	graph->graph.first[builder->block] = builder->edges;
	return error;
}

/* A runtime's object: Go's thread pointer points into one. */
static bool is_in_object(const struct builder *builder, uint64_t address)
{
	const struct heap_graph *graph = builder->graph;

	return builder->block < graph->blocks && graph->starts[builder->block] <= address &&
	       node_has_class(heap_graph_what(graph, builder->block));
}

/* Returns whether a runtime has described this range, and the word is not in one of its objects. */
static bool is_claimed(struct builder *builder, uint64_t address, uint64_t value)
{
	const struct heap_sink *managed = &builder->graph->managed;
	const struct claimed_range *ranges = managed->claimed.items;
	uint32_t target;

	while (builder->claimed < managed->claimed.count && ranges[builder->claimed].end <= address)
		builder->claimed++;
	if (builder->claimed == managed->claimed.count || ranges[builder->claimed].start > address)
		return false;
	if (ranges[builder->claimed].within)
		return true;
	if (is_in_object(builder, address))
		return false;
	if (!ranges[builder->claimed].blocks)
		return true;
	target = block_index_find(&builder->graph->index, value);
	return target != BLOCK_NONE && node_has_class(heap_graph_what(builder->graph, target));
}

static bool is_idle(struct builder *builder, uint64_t address)
{
	const struct heap_sink *managed = &builder->graph->managed;

	while (builder->idle < managed->idle.count &&
	       managed->idle.items[builder->idle].end <= address)
		builder->idle++;
	return builder->idle < managed->idle.count &&
	       managed->idle.items[builder->idle].start <= address;
}

/* Words come by ascending address, and so do the blocks that contain them. */
static int add_word(struct builder *builder, uint64_t address, uint64_t value)
{
	struct heap_graph *graph = builder->graph;

	while (builder->block < graph->blocks &&
	       graph->starts[builder->block] + graph->sizes[builder->block] <= address) {
		if (end_block(builder))
			return -ENOMEM;
	}
	if (is_claimed(builder, address, value))
		return 0;
	if (is_thread_local(builder, address) && !is_in_object(builder, address))
		return add_root(builder, address, value, 0);
	if (builder->block < graph->blocks && graph->starts[builder->block] <= address)
		return add_from_block(builder, builder->block, address, value);
	return is_idle(builder, address) || holds_nothing(builder, address)
		       ? 0
		       : add_root(builder, address, value, 0);
}

static int add_page(struct builder *builder, uint64_t address, const struct page *page)
{
	const struct heap_image *heap_image = builder->heap_image;
	uint64_t room[PAGE_WORDS_ROOM];
	size_t count;
	const uint64_t *found =
		page_words(&heap_image->pages, &heap_image->pointers, page, room, &count);
	int error = 0;

	for (size_t i = 0; !error && i < count; i++)
		error = add_word(builder, address + found_place(found[i]) * 8,
				 found_value(found[i]));
	if (page->flags & PAGE_KEPT)
		page_copies_release(heap_image->pages.copies, page->first);
	return error;
}

/* ld.so of glibc, ld-musl of musl. A static program protects its data later. */
static bool is_loader(const struct data_module *module)
{
	return !strncmp(text_path_base(module->path), "ld-", 3);
}

static bool has_loader(const struct data_modules *modules)
{
	for (size_t i = 0; modules && i < modules->list.count; i++) {
		if (is_loader(&modules->list.items[i]))
			return true;
	}
	return false;
}

/*
 * Data that the loader relocated and made read-only before any code of its module ran, including
 * the loader's own, which it wrote before it used the program's malloc (PT_GNU_RELRO, where a
 * writable segment begins): whatever its numbers look like, they are no addresses of blocks.
 */
static bool is_constant(const struct builder *builder, const struct page_range *range)
{
	const struct maps *maps = &builder->heap_image->maps;
	const struct mapping *mapping;
	const struct data_module *module;

	if (!range->file || !builder->is_loaded || range->mapping >= maps->list.count)
		return false;
	mapping = &maps->list.items[range->mapping];
	module = mapping->writable ? NULL : data_modules_at(builder->modules, mapping->start);
	if (!module)
		return false;
	for (size_t i = 0; i < module->image->file.segments.count; i++) {
		const struct elf_segment *segment = &module->image->file.segments.items[i];
		uint64_t start = module->bias + segment->vaddr;

		if (segment->writable && start >= mapping->start && start < mapping->end)
			return true;
	}
	return false;
}

#define PAGES_PER_PROGRESS 1024

static void show_progress(const struct builder *builder, size_t page)
{
	const struct graph_sources *sources = builder->sources;
	double done = (double)page / (double)MAX(builder->heap_image->pages.count, (size_t)1);

	if (page % PAGES_PER_PROGRESS == 0)
		progress_at(sources->progress, "following references",
			    sources->from + (sources->to - sources->from) * done);
}

static int add_memory(struct builder *builder)
{
	const struct page_table *pages = &builder->heap_image->pages;
	struct heap_graph *graph = builder->graph;
	int error = 0;

	for (size_t i = 0; !error && i < pages->ranges.count; i++) {
		const struct page_range *range = &pages->ranges.items[i];
		const struct page *page = pages->pages + range->first;

		if (is_constant(builder, range))
			continue;
		for (uint64_t at = range->start; !error && !range->unseen && at < range->end;
		     at += MEMORY_PAGE, page++) {
			error = add_page(builder, at, page);
			show_progress(builder, (size_t)(page - pages->pages));
		}
	}
	while (!error && builder->block < graph->blocks)
		error = end_block(builder);
	return error;
}

const char *register_name(uint64_t number)
{
	if (number < MACHINE_REGISTERS)
		return machine_register_name((unsigned)number);
	return machine_vector_name((unsigned)(number - REGISTER_VECTORS));
}

static int add_registers(struct builder *builder)
{
	int error = 0;

	builder->graph->memory_roots = builder->graph->roots.count;
	for (size_t i = 0; !error && i < builder->heap_image->threads.count; i++) {
		const struct heap_image_thread *thread = &builder->heap_image->threads.items[i];

		for (unsigned j = 0; !error && j < MACHINE_REGISTERS; j++)
			error = add_root(builder, j,
					 machine_untagged(machine_register(&thread->registers, j)),
					 (uint32_t)i + 1);
		for (size_t j = 0; !error && j < MACHINE_VECTOR_WORDS; j++)
			error = add_root(builder, REGISTER_VECTORS + j,
					 machine_untagged(thread->registers.vectors[j]),
					 (uint32_t)i + 1);
	}
	return error;
}

static int prepare(struct builder *builder)
{
	struct heap_graph *graph = builder->graph;
	size_t nodes = (size_t)graph->blocks + 1;

	graph->types = malloc(nodes * sizeof(uint32_t));
	graph->own_words = calloc(nodes, 1);
	graph->graph.first = calloc(nodes, sizeof(uint32_t));
	graph->graph.nodes = graph->blocks;
	if (!graph->types || !graph->own_words || !graph->graph.first)
		return -ENOMEM;
	memset(graph->types, 0xff, nodes * sizeof(uint32_t));
	return 0;
}

/*
 * Frees data needed only once: references have become edges, and most nodes have no class at all.
 */
static void drop_managed(struct heap_sink *managed)
{
	free(managed->first);
	free(managed->references.targets);
	free(managed->references.labels);
	free(managed->apart);
	managed->first = NULL;
	managed->apart = NULL;
	vec_free(&managed->claimed);
	vec_free(&managed->idle);
	memset(&managed->references, 0, sizeof(managed->references));
	if (!managed->reports.count) {
		free(managed->whats);
		managed->whats = NULL;
	}
}

/* Inserts objects of runtimes among the blocks. */
static int add_objects(const struct graph_sources *sources, struct heap_graph *graph)
{
	struct heap_sink *managed = &graph->managed;
	int error;

	if (!sources->walk)
		return block_index_build(graph->starts, graph->sizes, graph->blocks, &graph->index);
	error = heap_sink_init(managed, sources->strings, TAKE_PTR(graph->starts),
			       TAKE_PTR(graph->sizes), TAKE_PTR(graph->sites), graph->blocks);
	if (!error)
		error = sources->walk(&sources->heap_image->maps,
				      sources->heap_image->stopped ? sources->heap_image : NULL,
				      sources->modules, managed);
	graph->starts = TAKE_PTR(managed->starts);
	graph->sizes = TAKE_PTR(managed->sizes);
	graph->sites = TAKE_PTR(managed->sites);
	graph->blocks = managed->count;
	SWAP(graph->index, managed->index);
	return error;
}

int heap_graph_build(const struct graph_sources *sources, struct heap_graph *graph)
{
	FATAL_SIGNAL_PHASE("it follows references");
	_cleanup_(heap_graph_free) struct heap_graph built = {0};
	const struct heap_image *heap_image = sources->heap_image;
	struct builder builder = {.heap_image = heap_image,
				  .sources = sources,
				  .modules = sources->modules,
				  .is_loaded = has_loader(sources->modules),
				  .locals = sources->locals,
				  .graph = &built};
	int error = heap_blocks_list(heap_image, sources->tracked, sources->tracked_count, &built);

	built.pool_libraries = pool_kinds_loaded(sources->modules);
	if (!error)
		error = add_objects(sources, &built);
	if (!error)
		error = prepare(&builder);
	if (!error)
		error = untracked_prepare(heap_image, sources->modules, &built.untracked);
	if (!error)
		error = add_memory(&builder);
	if (!error)
		error = add_registers(&builder);
	if (!error)
		error = doubts_settle(&builder.doubts, heap_image, &built);
	hash_free(&builder.type_index);
	doubts_free(&builder.doubts);
	drop_managed(&built.managed);
	if (error)
		return error;
	*graph = built;
	built = (struct heap_graph){0};
	return 0;
}

void heap_graph_free(struct heap_graph *graph)
{
	free(graph->starts);
	free(graph->sizes);
	free(graph->sites);
	free(graph->types);
	free(graph->places);
	free(graph->own_words);
	free(graph->graph.first);
	free(graph->graph.targets);
	block_index_free(&graph->index);
	vec_free(&graph->type_words);
	vec_free(&graph->roots);
	untracked_free(&graph->untracked);
	heap_sink_free(&graph->managed);
	*graph = (struct heap_graph){0};
}
