// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/root_groups.h"

#include <errno.h>

#include "base/cleanup.h"

/* root_word.thread of what the kernel holds: its address is the place in kernel_held. */
#define KERNEL_WORD UINT32_MAX
/* Where the frames of a thread were not found, this much below its thread pointer is taken for
 * thread-locals. */
#define TLS_GUESS_BYTES 4096
#define RED_ZONE 128

struct grouper {
	const struct picture *picture;
	const struct data_modules *modules;
	const struct stack_frames *frames;
	const struct kernel_held *held;
	struct root_functions *functions;
	struct intern *intern;
	struct heap_graph *graph;
	struct root_groups *groups;
	struct hash index; /* of a key -> place in groups, plus 1 */
};

static uint64_t key_of(enum root_kind kind, uint64_t one, uint64_t other)
{
	return hash_mix(hash_mix(hash_mix((uint64_t)kind + 1) ^ one) + other);
}

/* The group of a key; filled from `fresh` when it is the first of it. */
static int join(struct grouper *grouper, uint64_t key, const struct root_group *fresh,
		uint32_t *number)
{
	uint64_t *slot = hash_put(&grouper->index, key, NULL);
	struct root_group *group;

	if (!slot)
		return -ENOMEM;
	if (!*slot) {
		group = vec_push(&grouper->groups->list);
		if (!group)
			return -ENOMEM;
		*group = *fresh;
		*slot = grouper->groups->list.count;
	}
	group = &grouper->groups->list.items[*slot - 1];
	group->words++;
	if (group->tid != fresh->tid)
		group->tid = 0;
	*number = (uint32_t)*slot - 1;
	return 0;
}

static void set_thread(const struct grouper *grouper, uint32_t thread, struct root_group *group)
{
	const struct picture_thread *known = &grouper->picture->threads.items[thread];

	group->tid = known->tid;
	memcpy(group->comm, known->comm, sizeof(group->comm));
}

static int join_global(struct grouper *grouper, const struct data_module *module, uint64_t address,
		       uint32_t *number)
{
	uint64_t distance = 0;
	const struct symbol *symbol = data_module_object(module, address, &distance);
	struct root_group group = {.kind = ROOT_GLOBAL,
				   .module = module->path,
				   .address = address - distance,
				   .offset = address - distance - module->bias};

	if (symbol) {
		group.name = data_module_name(module, symbol, grouper->intern);
		if (!group.name)
			return -ENOMEM;
	}
	return join(grouper, key_of(ROOT_GLOBAL, group.address, 0), &group, number);
}

static bool is_thread_local(const struct grouper *grouper, const struct zone *zone,
			    const struct stack_frame *frame, uint64_t address)
{
	uint64_t pointer = grouper->picture->threads.items[zone->thread].registers.fs_base;

	if (pointer < zone->start || pointer >= zone->end)
		return false;
	if (frame && frame->low >= zone->start && (frame->outermost || address < frame->high))
		return address >= frame->high;
	return address + TLS_GUESS_BYTES >= pointer;
}

static int join_stack(struct grouper *grouper, const struct zone *zone, uint64_t address,
		      uint32_t *number)
{
	const struct stack_frame *frame = stack_frames_at(grouper->frames, address);
	struct root_group group = {.kind = ROOT_STACK, .address = address};

	set_thread(grouper, zone->thread, &group);
	/* In the red zone below the innermost frame. */
	if (!frame || frame->low < zone->start)
		frame = stack_frames_at(grouper->frames, address + RED_ZONE);
	if (zone->kind == ZONE_TLS || is_thread_local(grouper, zone, frame, address)) {
		group.kind = ROOT_THREAD_LOCAL;
		return join(grouper, key_of(group.kind, (uint64_t)group.tid, 0), &group, number);
	}
	if (frame && frame->low >= zone->start && (address < frame->high || !frame->outermost))
		group.name = root_function(grouper->functions, frame->address, &group.module);
	if (group.name)
		return join(grouper, key_of(group.kind, (uintptr_t)group.name, 1), &group, number);
	return join(grouper, key_of(group.kind, (uint64_t)group.tid, 2), &group, number);
}

static int join_kernel(struct grouper *grouper, uint64_t place, uint32_t *number)
{
	const struct kernel_word *word = &grouper->held->list.items[place];
	struct root_group group = {.kind = ROOT_KERNEL,
				   .name = word->timer ? "timer" : "epoll",
				   .address = (uint64_t)word->number};

	return join(grouper, key_of(group.kind, word->timer, group.address), &group, number);
}

static int join_register(struct grouper *grouper, const struct root_word *word, uint32_t *number)
{
	struct root_group group = {.kind = ROOT_REGISTER, .name = register_name(word->address)};

	set_thread(grouper, word->thread - 1, &group);
	return join(grouper, key_of(group.kind, (uint64_t)group.tid, (uintptr_t)group.name), &group,
		    number);
}

static int join_untracked(struct grouper *grouper, uint64_t address, uint32_t *number)
{
	const struct mapping *mapping = maps_find(&grouper->picture->maps, address);
	struct root_group group = {.kind = ROOT_UNTRACKED, .address = address};

	if (mapping) {
		group.address = mapping->start;
		group.module = mapping->path;
	}
	return join(grouper, key_of(group.kind, group.address, 0), &group, number);
}

static int join_word(struct grouper *grouper, const struct root_word *word, uint32_t *number)
{
	const struct data_module *module;
	const struct zone *zone;

	if (word->thread == KERNEL_WORD)
		return join_kernel(grouper, word->address, number);
	if (word->thread)
		return join_register(grouper, word, number);
	zone = picture_zone(grouper->picture, word->address);
	if (zone && (zone->kind == ZONE_STACK || zone->kind == ZONE_TLS))
		return join_stack(grouper, zone, word->address, number);
	module = data_modules_at(grouper->modules, word->address);
	if (module)
		return join_global(grouper, module, word->address, number);
	return join_untracked(grouper, word->address, number);
}

static int add_kernel_words(struct grouper *grouper)
{
	for (size_t i = 0; i < grouper->held->list.count; i++) {
		uint64_t value = grouper->held->list.items[i].value;
		uint32_t target = block_index_find(&grouper->graph->index, value);
		struct root_word *word;

		if (target == BLOCK_NONE)
			continue;
		word = vec_push(&grouper->graph->roots);
		if (!word)
			return -ENOMEM;
		*word = (struct root_word){i, target, KERNEL_WORD};
	}
	return 0;
}

/* Puts the weak ones behind the strong ones, and words to their new places. */
static int order(struct grouper *grouper)
{
	struct root_groups *groups = grouper->groups;
	size_t count = groups->list.count, at[2] = {0};
	_cleanup_free_ uint32_t *places = calloc(count + 1, sizeof(*places));
	struct root_group *sorted = calloc(count + 1, sizeof(*sorted));

	if (!places || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		groups->strong += groups->list.items[i].kind != ROOT_UNTRACKED;
	groups->weak = (uint32_t)count - groups->strong;
	at[1] = groups->strong;
	for (size_t i = 0; i < count; i++) {
		places[i] = (uint32_t)at[groups->list.items[i].kind == ROOT_UNTRACKED]++;
		sorted[places[i]] = groups->list.items[i];
	}
	free(groups->list.items);
	groups->list.items = sorted;
	groups->list.capacity = count + 1;
	for (size_t i = 0; i < grouper->graph->roots.count; i++)
		groups->word_groups[i] = places[groups->word_groups[i]];
	return 0;
}

/* Where each group's edges begin, behind those of the blocks and of the groups before. */
static void place_edges(const struct root_groups *groups, struct graph *graph, uint32_t blocks)
{
	uint32_t edges = graph->first[blocks];

	for (size_t i = 0; i < groups->list.count; i++) {
		edges += (uint32_t)groups->list.items[i].words;
		graph->first[blocks + i + 1] = edges;
	}
	graph->first[blocks + groups->list.count + 1] = edges + (uint32_t)groups->list.count;
}

static int add_nodes(struct heap_graph *heap, const struct root_groups *groups)
{
	struct graph *graph = &heap->graph;
	uint32_t blocks = heap->blocks, count = (uint32_t)groups->list.count;
	uint64_t edges = (uint64_t)graph->first[blocks] + heap->roots.count + count;
	_cleanup_free_ uint32_t *cursors = NULL;
	uint32_t *first, *targets;

	if (edges >= GRAPH_NONE || (uint64_t)blocks + count >= GRAPH_NONE - 16)
		return -ENOMEM;
	first = reallocarray(graph->first, (size_t)blocks + count + 2, sizeof(*first));
	if (first)
		graph->first = first;
	targets = reallocarray(graph->targets, edges + 1, sizeof(*targets));
	if (targets)
		graph->targets = targets;
	cursors = malloc(((size_t)count + 1) * sizeof(*cursors));
	if (!first || !targets || !cursors)
		return -ENOMEM;
	place_edges(groups, graph, blocks);
	memcpy(cursors, first + blocks, count * sizeof(*cursors));
	for (size_t i = 0; i < heap->roots.count; i++)
		targets[cursors[groups->word_groups[i]]++] = heap->roots.items[i].target;
	for (uint32_t i = 0; i < count; i++)
		targets[first[blocks + count] + i] = blocks + i;
	graph->nodes = blocks + count + 1;
	return 0;
}

static int group_all(struct grouper *grouper)
{
	struct heap_graph *graph = grouper->graph;
	int err = add_kernel_words(grouper);

	grouper->groups->word_groups = calloc(graph->roots.count + 1, sizeof(uint32_t));
	if (!grouper->groups->word_groups)
		return -ENOMEM;
	for (size_t i = 0; !err && i < graph->roots.count; i++)
		err = join_word(grouper, &graph->roots.items[i], &grouper->groups->word_groups[i]);
	if (!err)
		err = order(grouper);
	return err ? err : add_nodes(graph, grouper->groups);
}

int root_groups_add(const struct root_sources *sources, struct intern *intern,
		    struct heap_graph *graph, struct root_groups *groups)
{
	_cleanup_(root_groups_free) struct root_groups made = {0};
	struct grouper grouper = {.picture = sources->picture,
				  .modules = sources->modules,
				  .frames = sources->frames,
				  .held = sources->held,
				  .functions = sources->functions,
				  .intern = intern,
				  .graph = graph,
				  .groups = &made};
	int err = group_all(&grouper);

	hash_free(&grouper.index);
	if (err)
		return err;
	*groups = made;
	made = (struct root_groups){0};
	return 0;
}

void root_groups_free(struct root_groups *groups)
{
	vec_free(&groups->list);
	free(groups->word_groups);
	*groups = (struct root_groups){0};
}
