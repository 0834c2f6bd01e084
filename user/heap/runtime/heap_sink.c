// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/heap_sink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/target_memory.h"

/*
 * The smallest reference takes 4 bytes; twice as many findings are allowed because a few words may
 * stand for many, such as a member that each object of a class has. The minimum covers objects in
 * mapped files.
 */
#define BYTES_PER_FINDING 2
#define FINDINGS_MIN (1ull << 22)
#define NAME_BYTES_PER_FINDING 16

/* Charges `findings`; false: budget exhausted. */
static bool find(struct heap_sink *sink, uint64_t findings)
{
	if (!sink->memory)
		return true;
	sink->findings += findings;
	if (sink->findings > FINDINGS_MIN + sink->memory->occupied / BYTES_PER_FINDING)
		target_memory_exhaust(sink->memory);
	return target_memory_work(sink->memory, 1);
}

/* Returns the interned name, or NULL if out of memory. Only new names are charged. */
static const char *name_in(struct heap_sink *sink, const char *name)
{
	size_t known = sink->strings->strings.count;
	const char *interned = intern_string(sink->strings, name);

	if (sink->strings->strings.count > known)
		find(sink, 1 + strlen(name) / NAME_BYTES_PER_FINDING);
	return interned;
}

int heap_sink_init(struct heap_sink *sink, struct intern *strings, uint64_t *starts,
		   uint64_t *sizes, uint32_t *sites, uint32_t count)
{
	*sink = (struct heap_sink){.strings = strings, .count = count};
	sink->starts = starts;
	sink->sizes = sizes;
	sink->sites = sites;
	sink->whats = malloc(((size_t)count + 1) * sizeof(*sink->whats));
	if (!sink->whats)
		return -ENOMEM;
	memset(sink->whats, 0xff, count * sizeof(*sink->whats));
	return 0;
}

void heap_sink_free(struct heap_sink *sink)
{
	free(sink->starts);
	free(sink->sizes);
	free(sink->whats);
	free(sink->sites);
	free(sink->counts);
	free(sink->apart);
	free(sink->first);
	free(sink->references.targets);
	free(sink->references.labels);
	block_index_free(&sink->index);
	vec_free(&sink->classes);
	vec_free(&sink->weak);
	vec_free(&sink->bounded);
	vec_free(&sink->roots);
	vec_free(&sink->claimed);
	vec_free(&sink->idle);
	vec_free(&sink->namespaces);
	vec_free(&sink->names);
	vec_free(&sink->reports);
	vec_free(&sink->added);
	hash_free(&sink->name_index);
	*sink = (struct heap_sink){0};
}

int heap_sink_counted(struct heap_sink *sink, uint32_t node, uint32_t references)
{
	if (!sink->counts)
		sink->counts = calloc(sink->count, sizeof(*sink->counts));
	if (!sink->counts)
		return -ENOMEM;
	sink->counts[node] = references;
	return 0;
}

struct walk_report *heap_sink_report(struct heap_sink *sink, const char *runtime)
{
	struct walk_report *report = vec_push(&sink->reports);

	if (report)
		report->runtime = runtime;
	return report;
}

int heap_sink_class(struct heap_sink *sink, const struct managed_class *class, uint32_t *number)
{
	struct managed_class *added;
	const char *name;

	if (sink->classes.count >= NODE_CLASS || !find(sink, 1))
		return -E2BIG;
	name = name_in(sink, class->name);
	added = name ? vec_push(&sink->classes) : NULL;
	if (!added)
		return -ENOMEM;
	*added = *class;
	added->name = name;
	*number = (uint32_t)sink->classes.count - 1;
	return 0;
}

int heap_sink_add(struct heap_sink *sink, uint64_t start, uint64_t size, uint32_t what)
{
	struct sink_node *node;

	if (start >> BLOCK_ADDRESS_BITS || size >> BLOCK_ADDRESS_BITS || !find(sink, 1))
		return 0;
	node = vec_push(&sink->added);
	if (!node)
		return -ENOMEM;
	*node = (struct sink_node){.start = start,
				   .size_high = (uint16_t)(size >> 32),
				   .size_low = (uint32_t)size,
				   .what = what};
	return 0;
}

struct heap_sink_mark heap_sink_mark(const struct heap_sink *sink)
{
	return (struct heap_sink_mark){sink->added.count, sink->claimed.count, sink->idle.count,
				       sink->classes.count, sink->findings};
}

void heap_sink_rewind(struct heap_sink *sink, struct heap_sink_mark mark)
{
	sink->added.count = mark.nodes;
	sink->claimed.count = mark.ranges;
	sink->idle.count = mark.idle;
	sink->classes.count = mark.classes;
	sink->findings = mark.findings;
}

void heap_sink_set(struct heap_sink *sink, uint32_t block, uint64_t size, uint32_t what)
{
	sink->sizes[block] = MIN(sink->sizes[block], size);
	sink->whats[block] = what;
}

static uint64_t node_size(const struct sink_node *node)
{
	return (uint64_t)node->size_high << 32 | node->size_low;
}

/* Objects of 8 bytes lie side by side: unlike for malloc's blocks (block_reach()), the address
 * behind one belongs to the next. */
static uint64_t end_of(uint64_t start, uint64_t size)
{
	return start + MAX(size, (uint64_t)1);
}

static uint64_t node_end(const struct sink_node *node)
{
	return end_of(node->start, node_size(node));
}

static int compare_nodes(const void *left_pointer, const void *right_pointer)
{
	const struct sink_node *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void sort_added(struct heap_sink *sink)
{
	const struct sink_node *nodes = sink->added.items;

	for (size_t i = 1; i < sink->added.count; i++) {
		if (nodes[i].start >= nodes[i - 1].start)
			continue;
		qsort(sink->added.items, sink->added.count, sizeof(*nodes), compare_nodes);
		return;
	}
}

/* Malloc's blocks and the added nodes, merged into one list. */
struct merge {
	const struct heap_sink *sink;
	struct {
		uint64_t *starts, *sizes;
		uint32_t *whats, *sites;
		uint32_t count;
	} made;
	uint64_t end; /* of the last node */
	uint64_t nonsense;
};

static void merge_push(struct merge *merge, uint64_t start, uint64_t size, uint32_t what,
		       uint32_t site)
{
	uint32_t at = merge->made.count;

	if (start < merge->end) {
		merge->nonsense++;
		return;
	}
	merge->made.starts[at] = start;
	merge->made.sizes[at] = size;
	merge->made.whats[at] = what;
	if (merge->made.sites)
		merge->made.sites[at] = site;
	merge->made.count++;
	merge->end = end_of(start, size);
}

static void merge_block(struct merge *merge, uint32_t block)
{
	const struct heap_sink *sink = merge->sink;

	merge_push(merge, sink->starts[block], sink->sizes[block], sink->whats[block],
		   sink->sites ? sink->sites[block] : 0);
}

/* Returns whether an added node lies inside a block of malloc's. */
static bool is_inside(const struct heap_sink *sink, const struct sink_node *node, uint32_t block)
{
	return node->start >= sink->starts[block] &&
	       node_end(node) <= sink->starts[block] + sink->sizes[block];
}

static void merge_all(struct merge *merge)
{
	const struct heap_sink *sink = merge->sink;
	const struct sink_node *node = sink->added.items, *end = node + sink->added.count;

	for (uint32_t block = 0; block < sink->count; block++) {
		for (; node < end && node->start < sink->starts[block]; node++)
			merge_push(merge, node->start, node_size(node), node->what, 0);
		if (node < end && is_inside(sink, node, block))
			continue;
		merge_block(merge, block);
	}
	for (; node < end; node++)
		merge_push(merge, node->start, node_size(node), node->what, 0);
}

static bool merge_allocate(struct merge *merge, size_t nodes)
{
	merge->made.starts = malloc((nodes + 1) * sizeof(*merge->made.starts));
	merge->made.sizes = malloc((nodes + 1) * sizeof(*merge->made.sizes));
	merge->made.whats = malloc((nodes + 1) * sizeof(*merge->made.whats));
	if (merge->sink->sites)
		merge->made.sites = malloc((nodes + 1) * sizeof(*merge->made.sites));
	return merge->made.starts && merge->made.sizes && merge->made.whats &&
	       (merge->made.sites || !merge->sink->sites);
}

static void take_over(struct heap_sink *sink, struct merge *merge)
{
	SWAP(sink->starts, merge->made.starts);
	SWAP(sink->sizes, merge->made.sizes);
	SWAP(sink->whats, merge->made.whats);
	SWAP(sink->sites, merge->made.sites);
	sink->count = merge->made.count;
}

static int merge_added(struct heap_sink *sink, uint64_t *nonsense)
{
	struct merge merge = {.sink = sink};
	size_t nodes = sink->count + sink->added.count;
	bool fits = nodes < BLOCK_NONE - 16;

	if (fits && merge_allocate(&merge, nodes)) {
		merge_all(&merge);
		take_over(sink, &merge);
		*nonsense += merge.nonsense;
	} else {
		fits = false;
	}
	free(merge.made.starts);
	free(merge.made.sizes);
	free(merge.made.whats);
	free(merge.made.sites);
	return fits ? 0 : -ENOMEM;
}

int heap_sink_settle(struct heap_sink *sink, uint64_t *nonsense)
{
	int error = 0;

	sort_added(sink);
	if (sink->added.count)
		error = merge_added(sink, nonsense);
	vec_free(&sink->added);
	return error ? error
		     : block_index_build(sink->starts, sink->sizes, sink->count, &sink->index);
}

/* If memory runs out, the part has no known holder. */
static void refer_to_part(struct heap_sink *sink, uint32_t owner, uint32_t part)
{
	if (sink->referring && owner >= sink->from)
		heap_sink_reference(sink, owner, sink->starts[part], 0);
}

bool heap_sink_part(struct heap_sink *sink, uint32_t owner, uint64_t address, uint64_t size,
		    bool precise)
{
	uint32_t node = heap_sink_node(sink, address), *what;

	if (node == BLOCK_NONE || node == owner)
		return false;
	what = &sink->whats[node];
	if (node_has_class(*what) && *what & (NODE_PART | NODE_CERTAIN))
		return false;
	*what = (sink->whats[owner] & NODE_CLASS) | NODE_PART | (precise ? NODE_PRECISE : 0);
	if (size)
		sink->sizes[node] = MIN(sink->sizes[node], size);
	refer_to_part(sink, owner, node);
	return true;
}

uint32_t heap_sink_label(struct heap_sink *sink, enum label_kind kind, const char *name)
{
	const char *interned = find(sink, 0) ? name_in(sink, name) : NULL;
	uint64_t *place =
		interned ? hash_put(&sink->name_index, (uint64_t)(uintptr_t)interned, NULL) : NULL;
	const char **added;

	if (!place || (!*place && sink->names.count >= LABEL_VALUE))
		return 0;
	if (!*place) {
		added = vec_push(&sink->names);
		if (!added)
			return 0;
		*added = interned;
		*place = sink->names.count;
	}
	return (uint32_t)kind << LABEL_VALUE_BITS | (uint32_t)(*place - 1);
}

const char *heap_sink_label_name(const struct heap_sink *sink, uint32_t label)
{
	uint32_t value = label & LABEL_VALUE;

	return label_kind(label) == LABEL_ATTRIBUTE && value < sink->names.count
		       ? sink->names.items[value]
		       : NULL;
}

static int grow(struct heap_sink *sink)
{
	size_t grown = MAX(sink->references.capacity * 3 / 2, (size_t)4096);
	uint32_t *targets, *labels;

	if (grown >= UINT32_MAX)
		return -ENOMEM;
	targets = reallocarray(sink->references.targets, grown, sizeof(*targets));
	if (targets)
		sink->references.targets = targets;
	labels = reallocarray(sink->references.labels, grown, sizeof(*labels));
	if (labels)
		sink->references.labels = labels;
	if (!targets || !labels)
		return -ENOMEM;
	sink->references.capacity = grown;
	return 0;
}

/* Sets the first reference of the nodes up to `node`. */
static int begin_node(struct heap_sink *sink, uint32_t node)
{
	if (!sink->first) {
		sink->first = calloc((size_t)sink->count + 1, sizeof(*sink->first));
		if (!sink->first)
			return -ENOMEM;
	}
	while (sink->from < node)
		sink->first[++sink->from] = (uint32_t)sink->references.count;
	return 0;
}

int heap_sink_reference(struct heap_sink *sink, uint32_t from, uint64_t to, uint32_t label)
{
	uint32_t target = heap_sink_node(sink, to);

	if (target == BLOCK_NONE || target == from || !find(sink, 1))
		return 0;
	if (from < sink->from || from >= sink->count)
		return -EINVAL;
	if (begin_node(sink, from))
		return -ENOMEM;
	if (sink->references.count == sink->references.capacity && grow(sink))
		return -ENOMEM;
	sink->references.targets[sink->references.count] = target;
	sink->references.labels[sink->references.count++] = label;
	return 0;
}

static int add_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to,
		    enum managed_rank rank)
{
	uint32_t node = heap_sink_node(sink, to);
	struct managed_root *root;
	const char *interned;

	if (node == BLOCK_NONE || !find(sink, 1))
		return 0;
	interned = name_in(sink, name);
	root = interned ? vec_push(&sink->roots) : NULL;
	if (!root)
		return -ENOMEM;
	*root = (struct managed_root){interned, runtime, node, rank};
	return 0;
}

int heap_sink_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to)
{
	return add_root(sink, runtime, name, to, MANAGED_NAMED);
}

int heap_sink_own_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to)
{
	return add_root(sink, runtime, name, to, MANAGED_OWN);
}

int heap_sink_apart_root(struct heap_sink *sink, const char *runtime, const char *name, uint64_t to,
			 enum managed_rank rank)
{
	uint32_t node = heap_sink_node(sink, to);

	if (node == BLOCK_NONE)
		return 0;
	if (!sink->apart)
		sink->apart = calloc((size_t)sink->count / 64 + 1, sizeof(*sink->apart));
	if (!sink->apart)
		return -ENOMEM;
	sink->apart[node / 64] |= 1ull << node % 64;
	return add_root(sink, runtime, name, to, rank);
}

int heap_sink_passing_root(struct heap_sink *sink, const char *runtime, const char *name,
			   uint64_t to)
{
	return add_root(sink, runtime, name, to, MANAGED_PASSING);
}

int heap_sink_worker_root(struct heap_sink *sink, const char *runtime, const char *name,
			  uint64_t to)
{
	return add_root(sink, runtime, name, to, MANAGED_WORKER);
}

int heap_sink_waiting_root(struct heap_sink *sink, const char *runtime, const char *name,
			   uint64_t to)
{
	return add_root(sink, runtime, name, to, MANAGED_WAITING);
}

static int add_claim(struct heap_sink *sink, struct claimed_range claimed)
{
	uint64_t size = claimed.end - claimed.start;
	struct claimed_range *range;

	if (claimed.start >> BLOCK_ADDRESS_BITS || size >> BLOCK_ADDRESS_BITS || !size)
		return 0;
	range = vec_push(&sink->claimed);
	if (!range)
		return -ENOMEM;
	*range = claimed;
	return 0;
}

int heap_sink_claim(struct heap_sink *sink, uint64_t start, uint64_t size, bool blocks)
{
	return add_claim(sink, (struct claimed_range){start, start + size, .blocks = blocks});
}

int heap_sink_claim_within(struct heap_sink *sink, uint64_t start, uint64_t size)
{
	return add_claim(sink, (struct claimed_range){start, start + size, .within = true});
}

int heap_sink_weak(struct heap_sink *sink, uint32_t from, uint64_t to)
{
	uint32_t node = heap_sink_node(sink, to);
	struct weak_reference *added;

	if (node == BLOCK_NONE || node == from || !find(sink, 1))
		return 0;
	added = vec_push(&sink->weak);
	if (!added)
		return -ENOMEM;
	*added = (struct weak_reference){from, node};
	return 0;
}

int heap_sink_bounded(struct heap_sink *sink, uint32_t node, uint64_t entries, uint64_t limit)
{
	struct bounded_container *added;

	if (sink->bounded.count >= BOUNDED_MAX)
		return 0;
	added = vec_push(&sink->bounded);
	if (!added)
		return -ENOMEM;
	*added = (struct bounded_container){sink->starts[node], entries, limit};
	return 0;
}

uint32_t heap_sink_weak_target(const struct heap_sink *sink, uint32_t from)
{
	size_t place = SORTED_BEFORE(weak, sink->weak.items, sink->weak.count, weak->from < from);

	return place < sink->weak.count && sink->weak.items[place].from == from
		       ? sink->weak.items[place].to
		       : BLOCK_NONE;
}

int heap_sink_namespace(struct heap_sink *sink, uint32_t node)
{
	uint32_t *added;

	if (node == BLOCK_NONE)
		return 0;
	added = vec_push(&sink->namespaces);
	if (!added)
		return -ENOMEM;
	*added = node;
	return 0;
}

int heap_sink_idle(struct heap_sink *sink, uint64_t start, uint64_t size)
{
	struct claimed_range *range = vec_push(&sink->idle);

	if (!range)
		return -ENOMEM;
	*range = (struct claimed_range){.start = start, .end = start + size};
	return 0;
}

static int compare_claimed(const void *left_pointer, const void *right_pointer)
{
	const struct claimed_range *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

/* Sorts the claims and removes overlaps. */
static void sort_claimed(struct heap_sink *sink)
{
	struct claimed_range *ranges = sink->claimed.items;
	size_t kept = 0;

	if (!sink->claimed.count)
		return;
	qsort(ranges, sink->claimed.count, sizeof(*ranges), compare_claimed);
	for (size_t i = 1; i < sink->claimed.count; i++) {
		ranges[i].start = MAX(ranges[i].start, ranges[kept].end);
		if (ranges[i].end > ranges[i].start)
			ranges[++kept] = ranges[i];
	}
	sink->claimed.count = kept + 1;
}

int heap_sink_finish(struct heap_sink *sink)
{
	sort_claimed(sink);
	if (sink->idle.count)
		qsort(sink->idle.items, sink->idle.count, sizeof(*sink->idle.items),
		      compare_claimed);
	return sink->first ? begin_node(sink, sink->count) : 0;
}
