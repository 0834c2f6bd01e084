// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/root_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "retain/root_grouper.h"

/* Where the frames of a thread were not found, this much below its thread pointer is taken for
 * thread-locals. */
#define TLS_GUESS_BYTES 4096
#define RED_ZONE 128

uint64_t root_key(enum root_kind kind, uint64_t one, uint64_t other)
{
	return hash_mix(hash_mix(hash_mix((uint64_t)kind + 1) ^ one) + other);
}

/* Words come by ascending address, and all of a thread's in one group stand together. */
static void count_thread(struct root_group *group, const struct root_group *fresh)
{
	if (group->kind != ROOT_THREAD_LOCAL || group->last_tid == fresh->tid)
		return;
	group->last_tid = fresh->tid;
	group->threads++;
}

int root_join(struct grouper *grouper, uint64_t key, const struct root_group *fresh,
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
	if (group->tid != fresh->tid)
		group->tid = 0;
	count_thread(group, fresh);
	*number = (uint32_t)*slot - 1;
	return 0;
}

static void set_thread(const struct grouper *grouper, uint32_t thread, struct root_group *group)
{
	const struct picture_thread *known = &grouper->sources->picture->threads.items[thread];

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
	return root_join(grouper, root_key(ROOT_GLOBAL, group.address, 0), &group, number);
}

/* The name of a variable in a thread's block; NULL: it has none. 0 or -ENOMEM. */
static int name_local(const struct grouper *grouper, const struct thread_block *block,
		      uint64_t address, struct root_group *group)
{
	uint64_t place = ELF_THREAD_LOCAL + (address - block->start);
	const struct symbol *symbol = symbol_table_find(&block->module->image.table, place);

	group->address = block->start;
	if (!symbol)
		return 0;
	group->offset = symbol->address - ELF_THREAD_LOCAL;
	group->address += group->offset;
	group->name = data_module_name(block->module, symbol, grouper->intern);
	return group->name ? 0 : -ENOMEM;
}

static int name_key(const struct grouper *grouper, const struct thread_block *block,
		    uint64_t address, struct root_group *group)
{
	uint64_t key = (address - block->start) / TLS_KEY_BYTES;
	char name[64];

	snprintf(name, sizeof(name), "pthread_setspecific key %" PRIu64, key);
	group->address = block->start + key * TLS_KEY_BYTES;
	group->name = intern_string(grouper->intern, name);
	return group->name ? 0 : -ENOMEM;
}

/* One root for a variable of all threads. */
static int join_local(struct grouper *grouper, const struct thread_block *block, uint64_t address,
		      uint32_t *number)
{
	static const char *const names[] = {
		[THREAD_BLOCK_MODULE] = NULL,
		[THREAD_BLOCK_THREAD] = "struct pthread",
		[THREAD_BLOCK_KEYS] = NULL,
		[THREAD_BLOCK_VECTOR] = "dynamic thread vector",
	};
	struct root_group group = {.kind = ROOT_THREAD_LOCAL,
				   .name = names[block->kind],
				   .module = block->module->path,
				   .address = block->start};
	int err = 0;

	_Static_assert(ARRAY_SIZE(names) == THREAD_BLOCK_KIND_MAX_, "a name for every kind");
	set_thread(grouper, block->thread, &group);
	if (block->kind == THREAD_BLOCK_MODULE)
		err = name_local(grouper, block, address, &group);
	else if (block->kind == THREAD_BLOCK_KEYS)
		err = name_key(grouper, block, address, &group);
	if (err)
		return err;
	return root_join(grouper,
			 root_key(group.kind, hash_mix((uintptr_t)block->module) ^ group.offset,
				  (uintptr_t)group.name),
			 &group, number);
}

static bool is_thread_local(const struct grouper *grouper, const struct zone *zone,
			    const struct stack_frame *frame, uint64_t address)
{
	uint64_t pointer = grouper->sources->picture->threads.items[zone->thread].registers.fs_base;

	if (pointer < zone->start || pointer >= zone->end)
		return false;
	if (frame && frame->low >= zone->start && (frame->outermost || address < frame->high))
		return address >= frame->high;
	return address + TLS_GUESS_BYTES >= pointer;
}

static int join_stack(struct grouper *grouper, const struct zone *zone, uint64_t address,
		      uint32_t *number)
{
	const struct stack_frame *frame = stack_frames_at(grouper->sources->frames, address);
	struct root_group group = {.kind = ROOT_STACK, .address = address};

	set_thread(grouper, zone->thread, &group);
	/* In the red zone below the innermost frame. */
	if (!frame || frame->low < zone->start)
		frame = stack_frames_at(grouper->sources->frames, address + RED_ZONE);
	if (zone->kind == ZONE_TLS || is_thread_local(grouper, zone, frame, address)) {
		group.kind = ROOT_THREAD_LOCAL;
		return root_join(grouper, root_key(group.kind, (uint64_t)group.tid, 0), &group,
				 number);
	}
	if (frame && frame->low >= zone->start && (address < frame->high || !frame->outermost))
		group.name =
			root_function(grouper->sources->functions, frame->address, &group.module);
	if (group.name)
		return root_join(grouper, root_key(group.kind, (uintptr_t)group.name, 1), &group,
				 number);
	return root_join(grouper, root_key(group.kind, (uint64_t)group.tid, 2), &group, number);
}

static int join_kernel(struct grouper *grouper, uint64_t place, uint32_t *number)
{
	const struct kernel_word *word = &grouper->sources->held->list.items[place];
	struct root_group group = {.kind = ROOT_KERNEL,
				   .name = word->timer ? "timer" : "epoll",
				   .address = (uint64_t)word->number};

	return root_join(grouper, root_key(group.kind, word->timer, group.address), &group, number);
}

static int join_register(struct grouper *grouper, uint64_t address, uint32_t thread,
			 uint32_t *number)
{
	struct root_group group = {.kind = ROOT_REGISTER, .name = register_name(address)};

	set_thread(grouper, thread - 1, &group);
	return root_join(grouper, root_key(group.kind, (uint64_t)group.tid, (uintptr_t)group.name),
			 &group, number);
}

int root_join_word(struct grouper *grouper, uint64_t address, uint32_t thread, uint32_t *number)
{
	const struct thread_block *block;
	const struct data_module *module;
	const struct zone *zone;

	if (thread == KERNEL_WORD)
		return join_kernel(grouper, address, number);
	if (thread)
		return join_register(grouper, address, thread, number);
	block = thread_blocks_at(grouper->sources->locals, address);
	if (block)
		return join_local(grouper, block, address, number);
	zone = picture_zone(grouper->sources->picture, address);
	if (zone && (zone->kind == ZONE_STACK || zone->kind == ZONE_TLS))
		return join_stack(grouper, zone, address, number);
	module = data_modules_at(grouper->sources->modules, address);
	if (module)
		return join_global(grouper, module, address, number);
	*number = GROUP_LATER;
	return 0;
}

static int add_kernel_words(struct grouper *grouper)
{
	for (size_t i = 0; i < grouper->sources->held->list.count; i++) {
		uint64_t value = grouper->sources->held->list.items[i].value;
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

static int group_all(struct grouper *grouper)
{
	struct heap_graph *graph = grouper->graph;
	int err = add_kernel_words(grouper);

	grouper->groups->word_groups = calloc(graph->roots.count + 1, sizeof(uint32_t));
	if (!grouper->groups->word_groups)
		return -ENOMEM;
	for (size_t i = 0; !err && i < graph->roots.count; i++)
		err = root_join_word(grouper, graph->roots.items[i].address,
				     graph->roots.items[i].thread,
				     &grouper->groups->word_groups[i]);
	if (!err)
		err = root_join_untracked(grouper);
	return err ? err : root_nodes_add(grouper);
}

int root_groups_add(const struct root_sources *sources, struct intern *intern,
		    struct heap_graph *graph, struct root_groups *groups)
{
	_cleanup_(root_groups_free) struct root_groups made = {0};
	struct grouper grouper = {
		.sources = sources, .intern = intern, .graph = graph, .groups = &made};
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
