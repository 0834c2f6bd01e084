// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/root_groups.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"

/* root_word.thread of what the kernel holds: its address is the place in kernel_held. */
#define KERNEL_WORD ((uint32_t)INT32_MAX)
/* Likewise of what a runtime has names for: its address is the place in graph->managed.roots. */
#define RUNTIME_WORD (KERNEL_WORD - 1)
/* For a word: its memory is not known, so what leads there must be found first. */
#define GROUP_LATER UINT32_MAX
/* For a word that is left over in memory that is free: it is none after all. */
#define GROUP_NONE (UINT32_MAX - 1)

/* The program's first function in a thread. */
struct thread_entry {
	uint32_t depths;		 /* frames of less depth stay; 0: it is not known */
	const struct stack_frame *frame; /* its own */
	bool waits;			 /* it waits in a call of the C library's */
};

struct grouper {
	const struct root_sources *sources;
	struct intern *intern;
	struct heap_graph *graph;
	struct root_groups *groups;
	struct hash index;	      /* of a key -> place in groups, plus 1 */
	struct thread_entry *entries; /* by thread */
};

static void look_up(struct root_functions *functions, uint64_t address, uint64_t *name,
		    uint64_t *module)
{
	struct frames frames = {0};

	if (symbolizer_name(functions->symbolizer, functions->process, &address, 1, LINES_NONE,
			    &frames))
		return;
	if (frames.list.count && frames.list.items[0].function) {
		const struct frame *frame = &frames.list.items[0];

		*name = (uintptr_t)intern_string(functions->intern, frame->function);
		*module = (uintptr_t)intern_string(functions->intern, frame->module);
	}
	vec_free(&frames.list);
}

static const char *root_function(struct root_functions *functions, uint64_t address,
				 const char **module)
{
	bool fresh = false;
	uint64_t *name = hash_put(&functions->names, address, &fresh);
	uint64_t *place = hash_put(&functions->modules, address, NULL);

	if (!name || !place)
		return NULL;
	if (fresh)
		look_up(functions, address, name, place);
	*module = (const char *)(uintptr_t)*place;
	return (const char *)(uintptr_t)*name;
}

void root_functions_free(struct root_functions *functions)
{
	hash_free(&functions->names);
	hash_free(&functions->modules);
}

/* Start-up code is a few frames deep; the rest is the program's. */
#define ENTRY_DEPTH_MAX 32

/* Groups of roots become nodes of the graph. */

enum rank {
	RANK_NAMED,
	RANK_LASTING,
	RANK_STAYING,
	RANK_PASSING,
	RANK_THROUGH,
	RANK_WEAK,
	RANK_STALE,
	RANK_MAX_
};

static enum rank rank_of(const struct root_group *group)
{
	static const enum rank ranks[] = {
		[ROOT_GLOBAL] = RANK_LASTING, [ROOT_THREAD_LOCAL] = RANK_LASTING,
		[ROOT_KERNEL] = RANK_LASTING, [ROOT_RUNTIME] = RANK_NAMED,
		[ROOT_STACK] = RANK_PASSING,  [ROOT_REGISTER] = RANK_PASSING,
		[ROOT_UNTRACKED] = RANK_WEAK, [ROOT_STALE] = RANK_STALE,
	};

	static const enum rank managed[] = {[MANAGED_NAMED] = RANK_NAMED,
					    [MANAGED_OWN] = RANK_LASTING,
					    [MANAGED_PASSING] = RANK_PASSING,
					    [MANAGED_WORKER] = RANK_PASSING,
					    [MANAGED_WAITING] = RANK_WEAK};

	_Static_assert(ARRAY_SIZE(ranks) == ROOT_KIND_MAX_, "a rank for every kind");
	if (group->kind == ROOT_RUNTIME)
		return managed[group->rank];
	if (group->kind == ROOT_STACK && group->stays)
		return RANK_STAYING;
	return group->holder ? RANK_THROUGH : ranks[group->kind];
}

static void count_ranks(struct root_groups *groups, uint32_t at[RANK_MAX_ + 1])
{
	for (size_t i = 0; i < groups->list.count; i++)
		at[rank_of(&groups->list.items[i]) + 1]++;
	groups->lasting = at[RANK_NAMED + 1] + at[RANK_LASTING + 1];
	groups->staying = at[RANK_STAYING + 1];
	groups->strong = groups->lasting + groups->staying + at[RANK_PASSING + 1];
	groups->through = at[RANK_THROUGH + 1];
	groups->stale = at[RANK_STALE + 1];
	groups->weak = groups->through + at[RANK_WEAK + 1] + groups->stale;
	for (size_t i = 1; i <= RANK_MAX_; i++)
		at[i] += at[i - 1];
}

/* Puts the groups in order of rank, and what names them to their new places. */
static int order(struct grouper *grouper)
{
	struct root_groups *groups = grouper->groups;
	size_t count = groups->list.count;
	_cleanup_free_ uint32_t *places = calloc(count + 1, sizeof(*places));
	struct root_group *sorted = calloc(count + 1, sizeof(*sorted));
	uint32_t at[RANK_MAX_ + 1] = {0};

	if (!places || !sorted) {
		free(sorted);
		return -ENOMEM;
	}
	count_ranks(groups, at);
	for (size_t i = 0; i < count; i++) {
		places[i] = at[rank_of(&groups->list.items[i])]++;
		sorted[places[i]] = groups->list.items[i];
	}
	for (size_t i = 0; i < count; i++) {
		if (sorted[i].holder)
			sorted[i].holder = places[sorted[i].holder - 1] + 1;
	}
	free(groups->list.items);
	groups->list.items = sorted;
	groups->list.capacity = count + 1;
	for (size_t i = 0; i < grouper->graph->roots.count; i++)
		groups->word_groups[i] = places[groups->word_groups[i]];
	return 0;
}

/* Takes out words that are none after all, and counts what is left. */
static void keep_words(struct grouper *grouper)
{
	struct heap_graph *graph = grouper->graph;
	uint32_t *words = grouper->groups->word_groups;
	size_t kept = 0;

	for (size_t i = 0; i < graph->roots.count; i++) {
		if (words[i] == GROUP_NONE)
			continue;
		grouper->groups->list.items[words[i]].words++;
		graph->roots.items[kept] = graph->roots.items[i];
		words[kept++] = words[i];
	}
	graph->roots.count = kept;
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

/* Puts groups in order and gives them nodes in the graph. 0 or -ENOMEM. */
static int root_nodes_add(struct grouper *grouper)
{
	int error;

	keep_words(grouper);
	error = order(grouper);
	return error ? error : add_nodes(grouper->graph, grouper->groups);
}

/* Where the frames of a thread were not found, this much below its thread pointer is taken for
 * thread-locals. */
#define TLS_GUESS_BYTES 4096

static uint64_t root_key(enum root_kind kind, uint64_t one, uint64_t other)
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

/* The group of a key; filled from `fresh` when it is the first of it. 0 or -ENOMEM. */
static int root_join(struct grouper *grouper, uint64_t key, const struct root_group *fresh,
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
	group->stays |= fresh->stays;
	count_thread(group, fresh);
	*number = (uint32_t)*slot - 1;
	return 0;
}

static void set_thread(const struct grouper *grouper, uint32_t thread, struct root_group *group)
{
	const struct heap_image_thread *known =
		&grouper->sources->heap_image->threads.items[thread];

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
	const struct symbol *symbol = symbol_table_find(&block->module->image->table, place);

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
	int error = 0;

	_Static_assert(ARRAY_SIZE(names) == THREAD_BLOCK_KIND_MAX_, "a name for every kind");
	set_thread(grouper, block->thread, &group);
	if (block->kind == THREAD_BLOCK_MODULE)
		error = name_local(grouper, block, address, &group);
	else if (block->kind == THREAD_BLOCK_KEYS)
		error = name_key(grouper, block, address, &group);
	if (error)
		return error;
	return root_join(grouper,
			 root_key(group.kind, hash_mix((uintptr_t)block->module) ^ group.offset,
				  (uintptr_t)group.name),
			 &group, number);
}

static bool is_thread_local(const struct grouper *grouper, const struct zone *zone,
			    const struct stack_frame *frame, uint64_t address)
{
	uint64_t pointer = machine_thread_pointer(
		&grouper->sources->heap_image->threads.items[zone->thread].registers);

	if (pointer < zone->start || pointer >= zone->end)
		return false;
	if (frame && frame->low >= zone->start && (frame->outermost || address < frame->high))
		return address >= frame->high;
	return address + TLS_GUESS_BYTES >= pointer;
}

/* In the red zone: which a leaf function may use, where it was interrupted. */
static bool is_below_stack(const struct heap_image_thread *thread, uint64_t address)
{
	return address < thread->stack_start && thread->stack_start - address <= MACHINE_RED_ZONE;
}

/*
 * Words below the stack pointer of a thread that waits in a system call were left by functions that
 * have returned, and its vector registers are those of callers that have let them go (psABI: no
 * call preserves them). But a function may have made the system call itself, so neither is known
 * to be unused.
 */
static int join_stale(struct grouper *grouper, struct root_group *group, uint32_t *number)
{
	group->kind = ROOT_STALE;
	return root_join(grouper,
			 root_key(group->kind, (uint64_t)group->tid, (uintptr_t)group->name), group,
			 number);
}

/* For a variable of a function that runs, by its debug information: the variable is dead. */
static int join_dead_slot(struct grouper *grouper, struct root_group *group, uint32_t *number)
{
	group->kind = ROOT_STALE;
	return root_join(grouper, root_key(group->kind, (uintptr_t)group->name, 4), group, number);
}

/* Records of the C library about ended threads. */
static int join_ended(struct grouper *grouper, uint64_t address, uint32_t *number)
{
	struct root_group group = {.kind = ROOT_THREAD_LOCAL,
				   .name = "struct pthread of threads that have ended",
				   .address = address};
	const struct data_modules *modules = grouper->sources->modules;

	for (size_t i = 0; !group.module && i < modules->list.count; i++) {
		if (modules->list.items[i].image->tls_layout.heads_at)
			group.module = modules->list.items[i].path;
	}

	return root_join(grouper, root_key(group.kind, (uintptr_t)group.name, 3), &group, number);
}

static int join_stack(struct grouper *grouper, const struct zone *zone, uint64_t address,
		      uint32_t *number)
{
	const struct stack_frame *frame = stack_frames_at(grouper->sources->frames, address);
	struct root_group group = {.kind = ROOT_STACK, .address = address};
	const struct heap_image_thread *thread =
		&grouper->sources->heap_image->threads.items[zone->thread];

	set_thread(grouper, zone->thread, &group);
	if (is_below_stack(thread, address)) {
		if (thread->in_call)
			return join_stale(grouper, &group, number);
		frame = stack_frames_at(grouper->sources->frames, thread->stack_start);
	}
	if (zone->kind == ZONE_TLS || is_thread_local(grouper, zone, frame, address)) {
		group.kind = ROOT_THREAD_LOCAL;
		return root_join(grouper, root_key(group.kind, (uint64_t)group.tid, 0), &group,
				 number);
	}
	if (frame && grouper->entries[zone->thread].waits && frame->rooted &&
	    frame->thread == zone->thread && frame->depth >= grouper->entries[zone->thread].depths)
		frame = grouper->entries[zone->thread].frame;
	if (frame && frame->low >= zone->start && (address < frame->high || !frame->outermost))
		group.name =
			root_function(grouper->sources->functions, frame->address, &group.module);
	group.stays = group.name && frame && frame->rooted &&
		      frame->depth < grouper->entries[zone->thread].depths;
	if (group.name && stack_frames_is_dead(grouper->sources->frames, address))
		return join_dead_slot(grouper, &group, number);
	if (group.name)
		return root_join(grouper, root_key(group.kind, (uintptr_t)group.name, 1), &group,
				 number);
	return root_join(grouper, root_key(group.kind, (uint64_t)group.tid, 2), &group, number);
}

static int join_kernel(struct grouper *grouper, uint64_t place, uint32_t *number)
{
	const struct kernel_word *word = &grouper->sources->held->list.items[place];
	struct root_group group = {.kind = ROOT_KERNEL,
				   .name = kernel_holder_name(word->holder),
				   .address = (uint64_t)word->number};

	return root_join(grouper, root_key(group.kind, (uintptr_t)group.name, group.address),
			 &group, number);
}

static int join_managed(struct grouper *grouper, uint64_t place, uint32_t *number)
{
	const struct managed_root *root = &grouper->graph->managed.roots.items[place];
	struct root_group group = {.kind = ROOT_RUNTIME,
				   .name = root->name,
				   .module = root->runtime,
				   .rank = root->rank};

	return root_join(grouper, root_key(ROOT_RUNTIME, (uintptr_t)root->name, 0), &group, number);
}

/* What a thread's first function has in a register. */
static int join_entry(struct grouper *grouper, uint32_t thread, struct root_group *group,
		      uint32_t *number)
{
	uint64_t address = grouper->entries[thread].frame->address;

	group->kind = ROOT_STACK;
	group->name = root_function(grouper->sources->functions, address, &group->module);
	return root_join(grouper, root_key(group->kind, (uintptr_t)group->name, 1), group, number);
}

static int join_register(struct grouper *grouper, uint64_t address, uint32_t thread,
			 uint32_t *number)
{
	struct root_group group = {.kind = ROOT_REGISTER,
				   .name = register_name(address),
				   .stays = machine_is_preserved((unsigned)address)};

	set_thread(grouper, thread - 1, &group);
	if (group.stays && grouper->entries[thread - 1].waits)
		return join_entry(grouper, thread - 1, &group, number);
	if (address >= REGISTER_VECTORS &&
	    grouper->sources->heap_image->threads.items[thread - 1].in_call)
		return join_stale(grouper, &group, number);
	return root_join(grouper, root_key(group.kind, (uint64_t)group.tid, (uintptr_t)group.name),
			 &group, number);
}

/* All together: none of them is known to be a pointer. */
static int join_number(struct grouper *grouper, uint32_t *number)
{
	struct root_group group = {.kind = ROOT_STALE, .name = STALE_NUMBER};

	return root_join(grouper, root_key(group.kind, NUMBER_WORD, 5), &group, number);
}

/* The group that a word belongs to, or GROUP_LATER. 0 or -ENOMEM. */
static int root_join_word(struct grouper *grouper, uint64_t address, uint32_t thread,
			  uint32_t *number)
{
	const struct thread_block *block;
	const struct data_module *module;
	const struct zone *zone;

	if (thread == KERNEL_WORD)
		return join_kernel(grouper, address, number);
	if (thread == RUNTIME_WORD)
		return join_managed(grouper, address, number);
	if (thread == NUMBER_WORD)
		return join_number(grouper, number);
	if (thread)
		return join_register(grouper, address, thread, number);
	block = thread_blocks_at(grouper->sources->locals, address);
	if (block)
		return join_local(grouper, block, address, number);
	zone = heap_image_zone(grouper->sources->heap_image, address);
	module = data_modules_at(grouper->sources->modules, address);
	/* A variable, too: Go keeps its first thread's locals among them. */
	if (zone && zone->kind == ZONE_TLS && module)
		return join_global(grouper, module, address, number);
	if (zone && (zone->kind == ZONE_STACK || zone->kind == ZONE_TLS))
		return join_stack(grouper, zone, address, number);
	if (zone && zone->kind == ZONE_ENDED)
		return join_ended(grouper, address, number);
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
		*word = (struct root_word){.address = i, .target = target, .thread = KERNEL_WORD};
	}
	return 0;
}

static int add_managed_words(struct grouper *grouper)
{
	const struct heap_sink *managed = &grouper->graph->managed;

	for (size_t i = 0; i < managed->roots.count; i++) {
		struct root_word *word = vec_push(&grouper->graph->roots);

		if (!word)
			return -ENOMEM;
		*word = (struct root_word){.address = i,
					   .target = managed->roots.items[i].node,
					   .thread = RUNTIME_WORD};
	}
	return 0;
}

/* Words in memory that no block is known in: grouped by the root that leads there, if one does. */

/* Order of walks: first what people know by name; last of all what leads everywhere. */
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

bool root_group_is_allocator(const struct root_group *group)
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
	if (root_group_is_allocator(group))
		return URGENT_ALLOCATOR;
	if (group->kind == ROOT_THREAD_LOCAL)
		return URGENT_THREAD_LOCAL;
	return group->kind == ROOT_GLOBAL && group->name ? URGENT_NAMED : URGENT_OTHER;
}

static int add_start(const struct grouper *grouper, uint32_t group, uint32_t node,
		     struct starts *starts)
{
	struct untracked_start *start;

	/* A stale word does not hold what it leads to. */
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
	size_t at = SORTED_BEFORE(start, graph->starts, graph->blocks,
				  *start + graph->sizes[start - graph->starts] <= page);

	return at < graph->blocks && graph->starts[at] < page + MEMORY_PAGE;
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
	return grouper->sources->complete && grouper->graph->unwalked_blocks;
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

/* Groups the words that were left for later. 0 or -ENOMEM. */
static int root_join_untracked(struct grouper *grouper)
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

/* -------- frames that stay */

/* What begins a thread and calls the program's own first function, by its name. */
static bool is_start_up(const char *function)
{
	static const char *const functions[] = {
		"_start",      "__libc_start_", "start_thread", "__clone",	"clone",
		"std::",       "<core::",	"core::ops::",	"<alloc::",	"__rust_",
		"execute_nat", "__tls_get",	"_dl_",		"runtime.rt0_", "runtime.goexit"};

	return has_prefix(function, functions, ARRAY_SIZE(functions));
}

static bool is_of_c_library(const char *module)
{
	static const char *const modules[] = {"libc.so", "libc-",  "libpthread", "ld-linux",
					      "ld-musl", "[vdso]", "linux-vdso"};
	const char *slash = module ? strrchr(module, '/') : NULL;

	return has_prefix(slash ? slash + 1 : module, modules, ARRAY_SIZE(modules));
}

/* The way from a thread's outermost frame inwards. */
struct entry {
	uint32_t next; /* the depth of the frame that comes next */
	bool closed;   /* the frames that stay are known */
	bool calls;    /* further in are frames that are not the C library's */
};

/* Rust's main() calls the program's through its library, which begins with that. */
#define RUST_START "std::rt::"

static void follow_entry(struct grouper *grouper, const struct stack_frame *frame,
			 struct entry *entry)
{
	struct thread_entry *found = &grouper->entries[frame->thread];
	const char *module = NULL;
	const char *function =
		entry->next < ENTRY_DEPTH_MAX
			? root_function(grouper->sources->functions, frame->address, &module)
			: NULL;

	entry->next++;
	entry->closed |= !function || (found->depths && entry->next == found->depths + 1 &&
				       strncmp(function, RUST_START, strlen(RUST_START)) != 0);
	if (entry->closed) {
		entry->calls |= !is_of_c_library(module);
	} else if (!is_start_up(function) && !is_of_c_library(module)) {
		found->depths = entry->next;
		found->frame = frame;
	}
}

/*
 * main() and the functions that threads begin with stay as long as the program and the thread.
 * While one waits in the C library, calls of which preserve registers, these and what the library
 * has put away of them are the function's.
 */
static int find_entries(struct grouper *grouper)
{
	const struct stack_frames *frames = grouper->sources->frames;
	const struct heap_image *heap_image = grouper->sources->heap_image;
	size_t threads = heap_image->threads.count;
	_cleanup_free_ struct entry *entries = calloc(threads + 1, sizeof(*entries));

	grouper->entries = calloc(threads + 1, sizeof(*grouper->entries));
	if (!entries || !grouper->entries)
		return -ENOMEM;
	if (!frames)
		return 0;
	/* Frames further out have greater addresses. */
	for (size_t i = frames->list.count; i-- > 0;) {
		const struct stack_frame *frame = &frames->list.items[i];

		if (frame->thread < threads && frame->rooted &&
		    frame->depth == entries[frame->thread].next)
			follow_entry(grouper, frame, &entries[frame->thread]);
	}
	for (size_t i = 0; i < threads; i++)
		grouper->entries[i].waits = grouper->entries[i].frame && !entries[i].calls &&
					    heap_image->threads.items[i].in_call;
	return 0;
}

static int group_all(struct grouper *grouper)
{
	struct heap_graph *graph = grouper->graph;
	int error = find_entries(grouper);

	if (!error)
		error = add_kernel_words(grouper);

	if (!error)
		error = add_managed_words(grouper);
	grouper->groups->word_groups = calloc(graph->roots.count + 1, sizeof(uint32_t));
	if (!grouper->groups->word_groups)
		return -ENOMEM;
	for (size_t i = 0; !error && i < graph->roots.count; i++)
		error = root_join_word(grouper, graph->roots.items[i].address,
				       graph->roots.items[i].thread,
				       &grouper->groups->word_groups[i]);
	if (!error)
		error = root_join_untracked(grouper);
	return error ? error : root_nodes_add(grouper);
}

int root_groups_add(const struct root_sources *sources, struct intern *intern,
		    struct heap_graph *graph, struct root_groups *groups)
{
	_cleanup_(root_groups_free) struct root_groups made = {0};
	struct grouper grouper = {
		.sources = sources, .intern = intern, .graph = graph, .groups = &made};
	int error = group_all(&grouper);

	hash_free(&grouper.index);
	free(grouper.entries);
	if (error)
		return error;
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
