// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/unwind/unwind_store.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "process/unwind/process_ranges.h"

/*
 * Ended processes are deleted in the kernel in batches of this size, or along with the next wait.
 */
#define MAX_GONE 16

struct unwind_store {
	struct unwind_maps maps;
	struct row_modules modules;
	struct hash processes; /* PID -> struct process_ranges * */
	/* Arrays of processes that are not yet in the map of maps. */
	VEC(uint32_t) fresh_pids;
	VEC(int) fresh_fds; /* borrowed */
	VEC(uint32_t) gone; /* PIDs still in the kernel */
	bool changed;
};

struct unwind_store *unwind_store_new(const struct unwind_maps *maps, struct worker *worker,
				      struct dso_cache *dsos)
{
	struct unwind_store *store = calloc(1, sizeof(*store));

	if (!store)
		return NULL;
	store->maps = *maps;
	if (!row_modules_init(&store->modules, maps->modules_fd, worker, dsos))
		return store;
	free(store);
	return NULL;
}

void unwind_store_free(struct unwind_store *store)
{
	if (!store)
		return;
	for (size_t i = 0; i < store->processes.capacity; i++) {
		const struct hash_entry *entry = &store->processes.entries[i];

		if (entry->used && entry->value)
			process_ranges_free((struct process_ranges *)(uintptr_t)entry->value,
					    &store->modules);
	}
	hash_free(&store->processes);
	row_modules_free(&store->modules);
	vec_free(&store->fresh_pids);
	vec_free(&store->fresh_fds);
	vec_free(&store->gone);
	free(store);
}

static struct process_ranges *find_or_add(struct unwind_store *store, int pid)
{
	uint64_t *slot = hash_put(&store->processes, (uint64_t)pid, NULL);

	if (slot && !*slot)
		*slot = (uintptr_t)process_ranges_new();
	return slot ? (struct process_ranges *)(uintptr_t)*slot : NULL;
}

/* A PID that came back must not be deleted any more. */
static void revive(struct unwind_store *store, uint32_t pid)
{
	for (size_t i = 0; i < store->gone.count; i++) {
		if (store->gone.items[i] == pid)
			store->gone.items[i--] = store->gone.items[--store->gone.count];
	}
}

static int add_fresh(struct unwind_store *store, int pid, int fd)
{
	uint32_t *new_pid = vec_push(&store->fresh_pids);
	int *new_fd = new_pid ? vec_push(&store->fresh_fds) : NULL;

	if (!new_fd) {
		store->fresh_pids.count = store->fresh_fds.count;
		return -ENOMEM;
	}
	*new_pid = (uint32_t)pid;
	*new_fd = fd;
	revive(store, (uint32_t)pid);
	return 0;
}

static void delete_gone(struct unwind_store *store)
{
	uint32_t count = (uint32_t)store->gone.count;

	if (count)
		bpf_map_delete_batch(store->maps.ranges_fd, store->gone.items, &count, NULL);
	store->gone.count = 0;
}

/* With the next refresh: the kernel did not take it. */
static void try_again(struct unwind_store *store, uint32_t pid)
{
	const uint64_t *slot = hash_get(&store->processes, pid);

	if (slot)
		range_array_close(&((struct process_ranges *)(uintptr_t)*slot)->array);
}

static int load_fresh(struct unwind_store *store)
{
	uint32_t count = (uint32_t)store->fresh_pids.count;
	int error;

	if (!count)
		return 0;
	delete_gone(store); /* makes room */
	error = bpf_map_update_batch(store->maps.ranges_fd, store->fresh_pids.items,
				     store->fresh_fds.items, &count, NULL)
			? -errno
			: 0;
	for (size_t i = 0; error && i < store->fresh_pids.count; i++)
		try_again(store, store->fresh_pids.items[i]);
	store->fresh_pids.count = 0;
	store->fresh_fds.count = 0;
	return error;
}

static void forget(struct unwind_store *store, int pid, struct process_ranges *ranges)
{
	uint32_t tgid = (uint32_t)pid;

	if (ranges->describes_made)
		bpf_map_delete_elem(store->maps.made_codes_fd, &tgid);
	process_ranges_free(ranges, &store->modules);
	hash_remove(&store->processes, (uint64_t)pid);
}

static int stage(struct unwind_store *store, const struct process *process)
{
	pid_t pid = process->pid;
	struct process_ranges *ranges = find_or_add(store, pid);
	enum ranges_change change = RANGES_SAME;
	int error;

	if (!ranges)
		return -ENOMEM;
	error = process_ranges_refresh(ranges, process, &store->modules, &change);
	if (error) {
		if (ranges->array.fd < 0)
			forget(store, pid, ranges);
		return error;
	}
	store->changed |= change != RANGES_SAME;
	error = change == RANGES_FRESH ? add_fresh(store, pid, ranges->array.fd) : 0;
	if (error)
		range_array_close(&ranges->array); /* tried again */
	return error;
}

/*
 * Mappings first: until the rows that they point to are there, walks end as they did before. So
 * neither waits for the other's grace period.
 */
static int commit(struct unwind_store *store)
{
	int error = load_fresh(store), rows_error;

	if (store->changed)
		__atomic_add_fetch(store->maps.generation, 1, __ATOMIC_RELEASE);
	store->changed = false;
	rows_error = row_sets_load(&store->modules.sets);
	return error ? error : rows_error;
}

int unwind_store_set_made(struct unwind_store *store, int pid, const struct unwind_made *made)
{
	struct process_ranges *ranges = find_or_add(store, pid);
	uint32_t tgid = (uint32_t)pid;
	int error = ranges ? 0 : -ENOMEM;

	if (!error && made->table->count)
		error = process_ranges_set_made(ranges, made->table, made->end, &store->modules);
	if (!error && bpf_map_update_elem(store->maps.made_codes_fd, &tgid, &made->blocks, BPF_ANY))
		error = -errno;
	if (error)
		return error;
	ranges->describes_made = true;
	/*
	 * Rows come before the mappings that lead to them: until then walks use the earlier rows.
	 */
	return row_sets_load(&store->modules.sets);
}

int unwind_store_refresh(struct unwind_store *store, const struct process *process)
{
	int error = stage(store, process);

	return error ? error : commit(store);
}

int unwind_store_refresh_all(struct unwind_store *store, struct process *const *processes,
			     size_t count)
{
	int first = 0, error;

	for (size_t i = 0; i < count && !interrupt_check(); i++) {
		error = stage(store, processes[i]);
		if (error && !first)
			first = error;
	}
	error = commit(store);
	return first ? first : error;
}

void unwind_store_forget(struct unwind_store *store, int pid)
{
	const uint64_t *slot = hash_get(&store->processes, (uint64_t)pid);
	struct process_ranges *ranges = slot ? (struct process_ranges *)(uintptr_t)*slot : NULL;
	uint32_t *gone;

	if (!ranges)
		return;
	gone = ranges->array.fd >= 0 ? vec_push(&store->gone) : NULL;
	if (gone)
		*gone = (uint32_t)pid;
	forget(store, pid, ranges);
	if (store->gone.count >= MAX_GONE)
		delete_gone(store);
}

void unwind_store_stats(const struct unwind_store *store, struct unwind_stats *stats)
{
	*stats = (struct unwind_stats){
		.processes = store->processes.count,
		.modules = store->modules.sets.count,
		.rows = store->modules.sets.rows,
		.failures = store->modules.failures,
	};
}
