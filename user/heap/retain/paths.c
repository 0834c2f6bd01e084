// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/retain/path_costs.h"

#define MAX_SAMPLES 300
#define MAX_WIDTH 4096
/* Limit of steps followed for one pattern, over all samples: lists can be millions long. */
#define MAX_STEPS (4u << 20)
/* If lasting roots hold one in this many, they are the holder, even if stacks hold more. */
#define LASTING_SHARE 8

/*
 * Finds the offset of the pointer to a block in its parent, in bytes; 0 if there are very many. The
 * runtime's name for it is more informative.
 */
static void find_in_block(const struct heap_graph *graph, uint32_t parent, struct path_step *step)
{
	uint32_t first = graph->graph.first[parent], end = graph->graph.first[parent + 1];
	bool found = false;

	/* In a table with thousands of pointers, the position is irrelevant. */
	for (uint32_t i = first; end - first < MAX_WIDTH && i < end && !step->label; i++) {
		uint32_t place = graph->places[i];

		if (graph->graph.targets[i] != step->block)
			continue;
		if (place & EDGE_LABELLED) {
			step->offset = STEP_NOWHERE;
			step->label = place & ~EDGE_LABELLED;
		} else if (!found) {
			step->offset = edge_offset(place);
		}
		found = true;
	}
}

/* Returns the offset in the root; only variables have a meaningful one. */
static uint64_t offset_in_root(const struct path_maker *maker, uint32_t number, uint32_t block)
{
	const struct root_group *group = &maker->groups->list.items[number];

	if (group->kind == ROOT_RUNTIME)
		return STEP_NOWHERE;
	for (size_t i = 0; group->kind == ROOT_GLOBAL && i < maker->graph->roots.count; i++) {
		const struct root_word *word = &maker->graph->roots.items[i];

		if (word->target == block && maker->groups->word_groups[i] == number)
			return word->address - group->address;
	}
	return 0;
}

static int push_step(struct path *path, const struct path_step *fresh)
{
	struct path_step *step = vec_push(&path->steps);

	if (!step)
		return -ENOMEM;
	*step = *fresh;
	return 0;
}

static void reverse(struct path *path)
{
	for (size_t i = 0, j = path->steps.count; i + 1 < j; i++) {
		struct path_step held = path->steps.items[i];

		path->steps.items[i] = path->steps.items[--j];
		path->steps.items[j] = held;
	}
}

/* -------- trees */

/* With fewer steps, or more fields, separate steps are more informative. */
#define TREE_RUNS_MIN 4

static bool is_field(const struct path_field *field, const struct path_step *step)
{
	return field->offset == step->offset && field->label == step->label;
}

static bool goes_by(const struct path_step *tree, const struct path_step *step)
{
	for (uint32_t i = 0; i < tree->branches; i++) {
		if (is_field(&tree->fields[i], step))
			return true;
	}
	return false;
}

/*
 * Merges the steps from `at` on that stay in one class by a few fields: *tree. Returns their
 * number.
 */
static size_t tree_at(const struct path *path, size_t at, struct path_step *tree)
{
	const struct path_step *steps = path->steps.items;
	size_t end = at;

	*tree = (struct path_step){.offset = STEP_NOWHERE, .top = at ? steps[at - 1].block : 0};
	for (; at && end < path->steps.count && steps[end].class == steps[at - 1].class &&
	       steps[end].width < PATH_WIDE;
	     end++) {
		if (!goes_by(tree, &steps[end])) {
			if (tree->branches == PATH_BRANCHES_MAX)
				return 0;
			tree->fields[tree->branches++] =
				(struct path_field){steps[end].offset, steps[end].label};
		}
		tree->repeated += steps[end].repeated;
		tree->class = steps[end].class;
		tree->block = steps[end].block;
		tree->width = MAX(tree->width, steps[end].width);
	}
	return end - at >= TREE_RUNS_MIN && 2 * tree->branches <= end - at ? end - at : 0;
}

static void merge_trees(struct path *path)
{
	struct path_step *steps = path->steps.items, tree;
	size_t kept = 0, merged;

	for (size_t at = 0; at < path->steps.count; at += MAX(merged, 1u)) {
		merged = tree_at(path, at, &tree);
		/* Writing never overtakes reading. */
		steps[kept++] = merged ? tree : steps[at];
	}
	path->steps.count = kept;
}

/* -------- turns */

/* Returns the part of a step's place that is common to the whole pattern. */
static uint64_t field_of(const struct path_step *step)
{
	if (label_kind(step->label) == LABEL_ATTRIBUTE)
		return step->label;
	return step->width >= PATH_WIDE || step->branches ? UINT64_MAX : step->offset;
}

static bool are_alike(const struct path_step *one, const struct path_step *other)
{
	return one->class == other->class && one->repeated == other->repeated &&
	       one->turn == other->turn && one->turns == other->turns &&
	       field_of(one) == field_of(other);
}

/* Returns how often the `turn` steps from `at` on are repeated in sequence. */
static size_t turns_at(const struct path *path, size_t at, size_t turn)
{
	const struct path_step *steps = path->steps.items;
	size_t end = at + turn;

	while (end < path->steps.count && are_alike(&steps[end], &steps[end - turn]))
		end++;
	return (end - at) / turn;
}

/* With fewer repetitions, separate steps are more informative. */
#define TURNS_MIN 3

/* Returns the shortest turn that begins there, or 1. */
static size_t turn_at(const struct path *path, size_t at, size_t *turns)
{
	for (size_t turn = 2; turn <= PATH_TURN_MAX && at + turn < path->steps.count; turn++) {
		*turns = turns_at(path, at, turn);
		if (*turns >= TURNS_MIN)
			return turn;
	}
	*turns = 1;
	return 1;
}

/* Keeps only the last turn of those that repeat, with their number. */
static void merge_turns(struct path *path)
{
	struct path_step *steps = path->steps.items;
	size_t kept = 0, turns, turn;

	for (size_t at = 0; at < path->steps.count; at += turn * turns) {
		turn = turn_at(path, at, &turns);
		memmove(&steps[kept], &steps[at + turn * (turns - 1)], turn * sizeof(*steps));
		if (turn > 1) {
			steps[kept].turn = (uint32_t)turn;
			steps[kept].turns = (uint32_t)MIN(turns, (size_t)UINT32_MAX - 1);
		}
		kept += turn;
	}
	path->steps.count = kept;
}

/* Returns the number of steps from `at` on that form a unit. */
static size_t unit_at(const struct path *path, size_t at)
{
	size_t turn = path->steps.items[at].turn;

	return turn > 1 ? MIN(turn, path->steps.count - at) : 1;
}

static uint64_t steps_of_unit(const struct path *path, size_t at)
{
	const struct path_step *steps = path->steps.items;
	uint64_t count = 0;

	for (size_t i = at; i < at + unit_at(path, at); i++)
		count += steps[i].repeated;
	return count * MAX(steps[at].turns, 1u);
}

/* Leaves out the middle of a long path; turns stay whole. */
static void skip_middle(struct path *path)
{
	struct path_step *steps = path->steps.items;
	size_t count = path->steps.count, head = 0, tail;
	uint64_t skipped = 0;

	if (count <= 2 * PATH_END_MAX)
		return;
	while (head + unit_at(path, head) <= PATH_END_MAX)
		head += unit_at(path, head);
	for (tail = head; tail < count - PATH_END_MAX; tail += unit_at(path, tail))
		skipped += steps_of_unit(path, tail);
	memmove(&steps[head], &steps[tail], (count - tail) * sizeof(*steps));
	steps[head].skipped = (uint32_t)MIN(skipped, (uint64_t)UINT32_MAX - 1);
	path->steps.count = head + count - tail;
}

/* -------- where things accumulate */

static void pile_chain(struct path *path, size_t at, uint64_t many)
{
	path->pile = (struct retained_pile){
		.many = many,
		.chain = true,
		.root = RESULT_NONE,
		.count = (uint32_t)MIN(unit_at(path, at), (size_t)PILE_CLASSES_MAX)};
	for (uint32_t i = 0; i < path->pile.count; i++)
		path->pile.classes[i] = path->steps.items[at + i].class;
}

static void pile_pointers(struct path *path, size_t at)
{
	path->pile = (struct retained_pile){.many = path->steps.items[at].width,
					    .root = at ? RESULT_NONE : path->group,
					    .count = at ? 1 : 0};
	if (at)
		path->pile.classes[0] = path->steps.items[at - 1].class;
}

/* Finds the step with most equal things, on a whole path. */
static void find_pile(struct path *path)
{
	const struct path_step *steps = path->steps.items;

	for (size_t i = 0; i < path->steps.count; i++) {
		uint64_t chain = steps[i].turn	     ? steps[i].turns
				 : steps[i].branches ? 0
						     : steps[i].repeated;

		if (chain >= PATH_WIDE && chain > path->pile.many)
			pile_chain(path, i, chain);
		if (steps[i].width >= PATH_WIDE && steps[i].width > path->pile.many)
			pile_pointers(path, i);
	}
}

/* Climbs from the block up to its root. */
static int climb(const struct path_maker *maker, uint32_t block, struct path *path)
{
	const struct retention *retention = maker->retention;
	uint32_t node = block;

	while (node < retention->blocks) {
		uint32_t parent = retention->parents[node];
		struct path_step *last, step = {.class = maker->classes->of_blocks[node],
						.block = node,
						.repeated = 1};

		step.width =
			maker->graph->graph.first[parent + 1] - maker->graph->graph.first[parent];
		if (parent >= retention->blocks)
			step.offset = offset_in_root(maker, parent - retention->blocks, node);
		else
			find_in_block(maker->graph, parent, &step);
		last = path->steps.count ? &path->steps.items[path->steps.count - 1] : NULL;
		/* The farther block is shown: `repeated` counts the nearer ones. */
		if (last && last->class == step.class && last->offset == step.offset &&
		    last->label == step.label && parent < retention->blocks)
			last->repeated++;
		else if (push_step(path, &step))
			return -ENOMEM;
		node = parent;
	}
	path->group = node - retention->blocks;
	reverse(path);
	merge_trees(path);
	merge_turns(path);
	return 0;
}

/* Along the path of `way`; garbage is unreachable in the maker's retention. */
static uint32_t awaited_class(const struct path_maker *maker, const struct retention *way,
			      uint32_t block)
{
	for (uint32_t node = block; node < way->blocks; node = way->parents[node]) {
		uint32_t target = heap_sink_weak_target(&maker->graph->managed, node);

		if (target != BLOCK_NONE && maker->retention->parents[target] == GRAPH_NONE)
			return maker->classes->of_blocks[target] + 1;
	}
	return 0;
}

/* Finds a path with all its steps. */
static int find_whole(const struct path_maker *maker, uint32_t block, struct path *path)
{
	struct path made = {.sharing = 1, .sampled = 1};
	int error;

	if (maker->retention->parents[block] == GRAPH_NONE)
		return -ENOENT;
	error = climb(maker, block, &made);
	if (error) {
		path_free(&made);
		return error;
	}
	*path = made;
	return 0;
}

int path_find(const struct path_maker *maker, uint32_t block, struct path *path)
{
	int error = find_whole(maker, block, path);

	if (error)
		return error;
	path->awaited = awaited_class(maker, maker->retention, block);
	find_pile(path);
	skip_middle(path);
	return 0;
}

static uint64_t pattern_of(const struct path *path)
{
	uint64_t hash = hash_mix(path->group + 1);

	for (size_t i = 0; i < path->steps.count; i++)
		hash = hash_mix(hash_mix(hash ^ field_of(&path->steps.items[i])) +
				path->steps.items[i].class);
	return hash;
}

/* A search takes a second for this many edges. */
#define OTHER_EDGES_MAX (16u << 20)

int path_find_other(const struct path_maker *maker, uint32_t block, struct path *path)
{
	const struct retention *retention = maker->retention;
	const struct graph *graph = &maker->graph->graph;
	_cleanup_(retention_search_free) struct retention other = {0};
	struct path_maker of_other = *maker;
	uint32_t node = block;
	int error;

	if (!maker->costs || graph->first[graph->nodes] > OTHER_EDGES_MAX ||
	    retention->verdicts[block] != VERDICT_HELD || retention->parents[block] == GRAPH_NONE)
		return -ENOENT;
	while (node < retention->blocks)
		node = retention->parents[node];
	error = retention_search_without(graph, retention, maker->costs, node, &other);
	if (error)
		return error;
	if (other.parents[block] == GRAPH_NONE ||
	    other.prices[block] > retention->prices[block] + PATH_COST_STEP)
		return -ENOENT;
	of_other.retention = &other;
	error = path_find(&of_other, block, path);
	if (!error)
		path->awaited = awaited_class(maker, &other, block);
	return error;
}

/*
 * Picks held blocks of the class, evenly spread. Returns their number. A block that may only be
 * held because its page changed too late (retention_take_back()) has no root.
 */
static size_t sample(const struct path_maker *maker, uint32_t class, uint32_t *samples)
{
	const struct block_class *wanted = &maker->classes->list.items[class];
	uint64_t held =
		wanted->verdicts[VERDICT_HELD].blocks + wanted->verdicts[VERDICT_UNTRACKED].blocks;
	uint64_t wanted_count = MIN(held, (uint64_t)MAX_SAMPLES), seen = 0;
	size_t count = 0;

	for (uint32_t i = 0; i < maker->graph->blocks && count < wanted_count; i++) {
		if (maker->classes->of_blocks[i] != class || !heap_graph_counts(maker->graph, i) ||
		    maker->retention->parents[i] == GRAPH_NONE)
			continue;
		if (seen++ * wanted_count / held >= count)
			samples[count++] = i;
	}
	return count;
}

struct best {
	uint64_t count;
	uint32_t example;
};

struct tally {
	struct hash counts; /* of patterns */
	struct best any, lasting;
	size_t sampled, sampled_lasting;
};

/*
 * Blocks held by stacks only may be gone in a moment: requests in progress have objects of any
 * class.
 */
static bool is_passing(const struct path_maker *maker, const struct path *path)
{
	return path->group >= maker->groups->lasting + maker->groups->staying &&
	       path->group < maker->groups->strong;
}

static void note_best(struct best *best, uint64_t count, uint32_t sample)
{
	if (count > best->count)
		*best = (struct best){count, sample};
}

static int count_patterns(const struct path_maker *maker, const uint32_t *samples, size_t count,
			  struct tally *tally)
{
	uint64_t steps = 0;

	for (size_t i = 0; i < count && steps < MAX_STEPS; i++) {
		_cleanup_(path_free) struct path path = {0};
		uint64_t pattern, *slot;
		int error = find_whole(maker, samples[i], &path);

		if (error)
			return error;
		steps += maker->retention->distances[samples[i]];
		pattern = pattern_of(&path);
		slot = hash_put(&tally->counts, pattern, NULL);
		if (!slot)
			return -ENOMEM;
		tally->sampled++;
		note_best(&tally->any, ++*slot, samples[i]);
		if (is_passing(maker, &path))
			continue;
		tally->sampled_lasting++;
		note_best(&tally->lasting, *slot, samples[i]);
	}
	return 0;
}

/*
 * Returns the next block of a run: the target of a pointer like the step's, whatever else leads
 * there. *count: number of such targets; GRAPH_NONE: none.
 */
static uint32_t next_in_chain(const struct path_maker *maker, const struct path_step *step,
			      uint32_t block, size_t *count)
{
	const struct graph *graph = &maker->graph->graph;
	uint32_t first = graph->first[block], end = graph->first[block + 1], next = GRAPH_NONE;

	*count = 0;
	for (uint32_t i = first; i < end && end - first < MAX_WIDTH; i++) {
		uint32_t target = graph->targets[i];
		struct path_step found = {.block = target};

		if (target == next || target >= maker->retention->blocks ||
		    maker->classes->of_blocks[target] != step->class)
			continue;
		find_in_block(maker->graph, block, &found);
		if (found.offset != step->offset || found.label != step->label)
			continue;
		next = next == GRAPH_NONE ? target : next;
		++*count;
	}
	return next;
}

/* A ring has at most as many as its class. */
static void measure_chain(const struct path_maker *maker, struct path *path)
{
	size_t count = path->steps.count;
	const struct path_step *last = &path->steps.items[count - 1];
	/* The first one is held by something else, probably at another offset. */
	bool first = count > 1 && last[-1].class == last->class;
	uint64_t most = maker->classes->list.items[last->class].count;
	uint32_t block = last->block;

	if (last->repeated < 2 && !first)
		return;
	path->chain = last->repeated + first;
	path->chain_exact = true;
	while ((block = next_in_chain(maker, last, block, &count)) != GRAPH_NONE) {
		path->chain_exact &= count == 1 && path->chain < most;
		if (path->chain == most)
			return;
		path->chain++;
	}
}

/* Visited blocks of a tree. */
struct tree_walk {
	VEC(uint32_t) open; /* their own branches were not followed yet */
	uint8_t *met;	    /* a bit for each block */
	uint64_t count, edges;
	bool joins; /* two branches meet: it is no tree */
};

static int tree_meet(struct tree_walk *walk, uint32_t block)
{
	uint32_t *slot;

	walk->joins |= walk->met[block / 8] >> block % 8 & 1;
	if (walk->joins)
		return 0;
	walk->met[block / 8] |= (uint8_t)(1u << block % 8);
	walk->count++;
	slot = vec_push(&walk->open);
	if (!slot)
		return -ENOMEM;
	*slot = block;
	return 0;
}

static int tree_branch(const struct path_maker *maker, const struct path_step *tree, uint32_t block,
		       struct tree_walk *walk)
{
	const struct graph *graph = &maker->graph->graph;
	uint32_t first = graph->first[block], end = graph->first[block + 1];
	int error = 0;

	walk->edges += end - first;
	for (uint32_t i = first; !error && end - first < MAX_WIDTH && i < end; i++) {
		uint32_t target = graph->targets[i], place = maker->graph->places[i];
		struct path_step found = {.offset = edge_offset(place)};

		if (place & EDGE_LABELLED)
			found = (struct path_step){.offset = STEP_NOWHERE,
						   .label = place & ~EDGE_LABELLED};
		if (target < maker->retention->blocks &&
		    maker->classes->of_blocks[target] == tree->class && goes_by(tree, &found))
			error = tree_meet(walk, target);
	}
	return error;
}

/* Counts the blocks of the tree; leaves it unknown if out of memory. */
static void measure_tree(const struct path_maker *maker, struct path *path)
{
	const struct path_step *tree = &path->steps.items[path->steps.count - 1];
	struct tree_walk walk = {.met = calloc(maker->retention->blocks / 8 + 1, 1)};
	int error = walk.met ? tree_meet(&walk, tree->top) : -ENOMEM;

	while (!error && walk.open.count && !walk.joins && walk.edges < MAX_STEPS)
		error = tree_branch(maker, tree, walk.open.items[--walk.open.count], &walk);
	path->tree = !error && !walk.joins;
	if (path->tree) {
		path->chain = walk.count;
		path->chain_exact = !walk.open.count;
	}
	vec_free(&walk.open);
	free(walk.met);
}

/* A chain continues beyond the examined block. */
static void measure_pile(const struct path_maker *maker, struct path *path)
{
	if (path->steps.items[path->steps.count - 1].branches)
		measure_tree(maker, path);
	else
		measure_chain(maker, path);
	if (path->chain >= PATH_WIDE && path->chain > path->pile.many)
		pile_chain(path, path->steps.count - 1, path->chain);
	path->pile.tree = path->tree && path->pile.chain && path->pile.many == path->chain;
	path->pile.chain &= !path->pile.tree;
}

int path_find_typical(const struct path_maker *maker, uint32_t class, struct path *path)
{
	uint32_t samples[MAX_SAMPLES];
	struct tally tally = {0};
	const struct best *best;
	size_t count = sample(maker, class, samples);
	int error = count ? count_patterns(maker, samples, count, &tally) : -ENOENT;

	hash_free(&tally.counts);
	best = tally.sampled_lasting * LASTING_SHARE >= tally.sampled ? &tally.lasting : &tally.any;
	if (!error)
		error = find_whole(maker, best->example, path);
	if (error)
		return error;
	path->sharing = best->count;
	path->sampled = tally.sampled;
	path->awaited = awaited_class(maker, maker->retention, best->example);
	find_pile(path);
	measure_pile(maker, path);
	skip_middle(path);
	return 0;
}

void path_free(struct path *path)
{
	vec_free(&path->steps);
	vec_free(&path->referrers.rows);
}
