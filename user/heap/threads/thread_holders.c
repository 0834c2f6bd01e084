// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/threads/thread_holders.h"

#include <errno.h>

#include "base/cleanup.h"
#include "heap/retain/double_scan.h"
#include "heap/retain/result_build.h"
#include "heap/runtime/runtime.h"
#include "heap/threads/thread_census.h"
#include "report/analyze/retention.h"

/*
 * In the heap image, a pthread_t is a block of one byte: only a word with exactly its value points
 * to it.
 */
#define HANDLE_BYTES 1

struct finding {
	struct thread_census *census;
	struct retain *retain;
	uint32_t *roots;     /* by block: see retention_roots() */
	struct hash offsets; /* block of a handle -> its offset in the holder, plus 1 */
	struct hash holders; /* group and place -> index in the group's list, plus 1 */
	struct hash dead;    /* threads still dead after the reading: see key_of() */
};

/* Identifies a thread; a later thread with the same pthread_t has another key. */
static uint64_t key_of(const struct lm_thread *thread)
{
	return hash_mix(hash_mix(thread->process ^ hash_mix(thread->handle)) ^
			hash_mix(thread->born_ns) ^ thread->died_ns);
}

static struct idle_range *list_idle(const struct thread_census *census, size_t *count)
{
	struct idle_range *idle = calloc(census->dead.count + 1, sizeof(*idle));

	*count = 0;
	for (size_t i = 0; idle && i < census->dead.count; i++) {
		const struct dead_thread *dead = &census->dead.items[i];

		if (dead->stack_end > dead->stack_start)
			idle[(*count)++] = (struct idle_range){dead->stack_start, dead->stack_end};
	}
	return idle;
}

static int compare_blocks(const void *left_pointer, const void *right_pointer)
{
	const struct tracked_block *left = left_pointer, *right = right_pointer;

	return left->address < right->address ? -1 : left->address > right->address;
}

static struct tracked_block *list_handles(const struct thread_census *census)
{
	struct tracked_block *handles = calloc(census->dead.count + 1, sizeof(*handles));

	for (size_t i = 0; handles && i < census->dead.count; i++)
		handles[i] = (struct tracked_block){census->dead.items[i].thread.handle,
						    HANDLE_BYTES, 1};
	if (handles)
		qsort(handles, census->dead.count, sizeof(*handles), compare_blocks);
	return handles;
}

/*
 * Returns the block that represents a pthread_t, or BLOCK_NONE if the handle lies inside a block of
 * the heap.
 */
static uint32_t block_of(const struct retain *retain, uint64_t handle)
{
	uint32_t block = block_index_find(&retain->graph.index, handle);

	if (block == BLOCK_NONE || retain->graph.starts[block] != handle ||
	    retain->graph.sizes[block] != HANDLE_BYTES)
		return BLOCK_NONE;
	return block;
}

static int note_offset(struct finding *finding, uint32_t block, uint64_t offset)
{
	uint64_t *slot = hash_put(&finding->offsets, block, NULL);

	if (!slot)
		return -ENOMEM;
	if (!*slot)
		*slot = offset + 1;
	return 0;
}

/* Finds the offset of each handle in its holder, in one pass over all pointers. */
static int find_offsets(struct finding *finding)
{
	const struct heap_graph *graph = &finding->retain->graph;
	const struct retention *retention = &finding->retain->retention;
	const struct root_groups *groups = &finding->retain->groups;
	int err = 0;

	for (uint32_t from = 0; from < graph->blocks; from++) {
		for (uint32_t i = graph->graph.first[from];
		     !err && i < graph->graph.first[from + 1]; i++) {
			uint32_t to = graph->graph.targets[i];

			if (graph->sizes[to] == HANDLE_BYTES && retention->parents[to] == from)
				err = note_offset(finding, to, edge_offset(graph->places[i]));
		}
	}
	for (size_t i = 0; !err && i < graph->roots.count; i++) {
		const struct root_word *word = &graph->roots.items[i];
		uint32_t group = groups->word_groups[i];

		if (graph->sizes[word->target] == HANDLE_BYTES && !word->thread &&
		    retention->parents[word->target] == retention->blocks + group)
			err = note_offset(finding, word->target,
					  word->address - groups->list.items[group].address);
	}
	return err;
}

/* Returns one key for all threads held in the same place. */
static uint64_t place_of(const struct finding *finding, uint32_t block)
{
	const struct retention *retention = &finding->retain->retention;
	uint32_t parent = retention->parents[block];
	uint64_t class =
		parent < retention->blocks ? finding->retain->classes.of_blocks[parent] + 1 : 0;

	if (retention->verdicts[block] == VERDICT_LOST)
		return 0;
	return hash_mix((uint64_t)finding->roots[block] << 32 | class) | 1;
}

/* Returns the holder for that place; the first thread of a place adds a path. */
static struct thread_holder *holder_of(struct finding *finding, struct thread_group *group,
				       uint32_t block)
{
	struct retain *retain = finding->retain;
	size_t number = (size_t)(group - finding->census->groups.items);
	uint64_t *slot = hash_put(&finding->holders,
				  hash_mix(place_of(finding, block) ^ hash_mix(number + 1)), NULL);
	struct thread_holder *holder;

	if (!slot)
		return NULL;
	if (*slot)
		return &group->holders.list.items[*slot - 1];
	holder = vec_push(&group->holders.list);
	if (!holder)
		return NULL;
	*holder = (struct thread_holder){.verdict = retain->retention.verdicts[block],
					 .first = UINT64_MAX,
					 .path = RESULT_NONE};
	*slot = group->holders.list.count;
	/* Two scans that disagree yield no path. */
	if (holder->verdict != VERDICT_LOST &&
	    !retain_add_address_path(retain, retain->graph.starts[block]))
		holder->path = (uint32_t)retain->paths.count - 1;
	return holder;
}

static int add_thread(struct finding *finding, struct thread_group *group,
		      const struct lm_thread *thread)
{
	uint32_t block = block_of(finding->retain, thread->handle);
	const uint64_t *offset;
	struct thread_holder *holder;

	if (block == BLOCK_NONE || !hash_get(&finding->dead, key_of(thread))) {
		group->holders.unknown++;
		return 0;
	}
	holder = holder_of(finding, group, block);
	if (!holder)
		return -ENOMEM;
	offset = hash_get(&finding->offsets, block);
	holder->count++;
	holder->first = MIN(holder->first, offset ? *offset - 1 : 0);
	holder->last = MAX(holder->last, offset ? *offset - 1 : 0);
	return 0;
}

static int by_count(const void *left_pointer, const void *right_pointer)
{
	const struct thread_holder *left = left_pointer, *right = right_pointer;

	if (left->count != right->count)
		return left->count > right->count ? -1 : 1;
	return left->path < right->path ? -1 : left->path > right->path;
}

static int add_group(struct finding *finding, struct thread_group *group)
{
	int err = 0;

	for (size_t i = 0; !err && i < group->count; i++)
		err = add_thread(finding, group,
				 &finding->census->dead.items[group->first + i].thread);
	if (group->holders.list.count)
		qsort(group->holders.list.items, group->holders.list.count,
		      sizeof(*group->holders.list.items), by_count);
	return err;
}

static bool is_ended(const struct block_class *class)
{
	size_t length = class->name ? strlen(class->name) : 0, end = strlen(RUNTIME_ENDED);

	return class->kind == CLASS_RUNTIME && length > end &&
	       !strcmp(class->name + length - end, RUNTIME_ENDED);
}

/* Adds a path to each reachable class of ended threads; the others are garbage. */
static int add_managed(struct retain *retain)
{
	int err = 0;

	for (size_t i = 0; !err && i < retain->ranked_classes.list.count; i++) {
		uint32_t class = retain->ranked_classes.list.items[i];

		if (!is_ended(&retain->classes.list.items[class]))
			continue;
		err = retain_add_class_path(retain, class);
		err = err == -ENOENT ? 0 : err;
	}
	return err;
}

static int find_all(struct finding *finding, struct thread_holding *holding)
{
	const struct retain_result_sources nothing = {0};
	int err = find_offsets(finding);

	for (size_t i = 0; !err && i < finding->census->groups.count; i++)
		err = add_group(finding, &finding->census->groups.items[i]);
	holding->ended = finding->retain->paths.count;
	if (!err)
		err = add_managed(finding->retain);
	return err ? err : retain_result_build(finding->retain, &nothing, &holding->result);
}

static int conclude(struct finding *finding, struct thread_holding *holding)
{
	_cleanup_free_ uint32_t *roots = retention_roots(&finding->retain->retention);
	int err = roots ? 0 : -ENOMEM;

	finding->roots = roots;
	if (!err)
		err = find_all(finding, holding);
	hash_free(&finding->offsets);
	hash_free(&finding->holders);
	return err;
}

static int look(struct thread_census *census, const struct heap_image_options *options,
		const struct retain_sources *sources, struct retain **retain)
{
	struct heap_image_options looking = *options;
	struct retain_sources with_handles = *sources;
	_cleanup_free_ struct idle_range *idle = list_idle(census, &looking.idle_count);
	_cleanup_free_ struct tracked_block *handles = list_handles(census);
	int err = idle && handles ? 0 : -ENOMEM;

	looking.idle = idle;
	with_handles.tracked = handles;
	with_handles.tracked_count = census->dead.count;
	if (!err)
		err = retain_open((pid_t)census->pid, &looking, sources, retain);
	return err ? err : retain_confirm(retain, &looking, &with_handles);
}

/* Lists threads still on the ledger after the memory was read. */
static int list_dead(const struct bpf_side *bpf, struct hash *dead)
{
	_cleanup_(thread_table_free) struct thread_table table = {0};
	int err = thread_table_read(bpf, &table);

	for (size_t i = 0; !err && i < table.threads.count; i++) {
		if (thread_is_dead(&table.threads.items[i]) &&
		    !hash_put(dead, key_of(&table.threads.items[i]), NULL))
			err = -ENOMEM;
	}
	return err;
}

static int find(struct thread_census *census, const struct heap_image_options *options,
		const struct bpf_side *bpf, const struct retain_sources *sources)
{
	struct finding finding = {.census = census};
	int err = look(census, options, sources, &finding.retain);

	if (!err)
		err = list_dead(bpf, &finding.dead);
	if (!err)
		err = conclude(&finding, census->holding);
	hash_free(&finding.dead);
	retain_close(finding.retain);
	return err;
}

const char *thread_holders_managed(pid_t pid)
{
	const struct runtime *runtime = runtime_of_process(pid);

	return runtime && runtime->has_threads ? runtime->name : NULL;
}

bool thread_holders_wanted(const struct thread_census *census)
{
	return census->dead.count || thread_holders_managed((pid_t)census->pid);
}

int thread_holders_find(struct thread_census *census, const struct heap_image_options *options,
			const struct bpf_side *bpf, const struct retain_sources *sources)
{
	census->holding = calloc(1, sizeof(*census->holding));
	if (!census->holding)
		return -ENOMEM;
	census->holding->err = find(census, options, bpf, sources);
	return census->holding->err == -ENOMEM ? -ENOMEM : 0;
}
