// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Nobody tells of the threads that end with their process, so their entries stay; and a tid that is
 * used again must not lead to one of them.
 */
#include <bpf/bpf.h>
#include <errno.h>

#include "collect/map_walk.h"
#include "threads/thread_table.h"

struct thread_purge {
	const struct hash *ended; /* processes */
	struct hash ids;	  /* of their threads */
	VEC(struct lm_thread_handle) handles;
	VEC(uint32_t) tids;
};

static int take_ids(const void *keys, const void *values, size_t count, void *context)
{
	const lm_thread_id *id = keys;
	const struct lm_thread *thread = values;
	struct thread_purge *purge = context;

	for (size_t i = 0; i < count; i++) {
		if (hash_get(purge->ended, thread[i].process) &&
		    !hash_put(&purge->ids, id[i], NULL))
			return -ENOMEM;
	}
	return 0;
}

static int take_handles(const void *keys, const void *values, size_t count, void *context)
{
	const struct lm_thread_handle *handle = keys;
	struct thread_purge *purge = context;

	(void)values;
	for (size_t i = 0; i < count; i++) {
		struct lm_thread_handle *taken;

		if (!hash_get(purge->ended, handle[i].process))
			continue;
		taken = vec_push(&purge->handles);
		if (!taken)
			return -ENOMEM;
		*taken = handle[i];
	}
	return 0;
}

static int take_tids(const void *keys, const void *values, size_t count, void *context)
{
	const uint32_t *tid = keys;
	const lm_thread_id *id = values;
	struct thread_purge *purge = context;

	for (size_t i = 0; i < count; i++) {
		uint32_t *taken;

		if (!hash_get(&purge->ids, id[i]))
			continue;
		taken = vec_push(&purge->tids);
		if (!taken)
			return -ENOMEM;
		*taken = tid[i];
	}
	return 0;
}

static void delete_keys(int map_fd, const struct hash *keys)
{
	for (size_t i = 0; i < keys->capacity; i++) {
		if (keys->entries[i].used)
			bpf_map_delete_elem(map_fd, &keys->entries[i].key);
	}
}

static int find(const struct bpf_side *bpf, struct thread_purge *purge)
{
	int error = map_walk(bpf->thread_records_fd, sizeof(lm_thread_id), sizeof(struct lm_thread),
			     take_ids, purge);

	if (!error)
		error = map_walk(bpf->thread_handles_fd, sizeof(struct lm_thread_handle),
				 sizeof(lm_thread_id), take_handles, purge);
	if (!error && purge->ids.count)
		error = map_walk(bpf->thread_tids_fd, sizeof(uint32_t), sizeof(lm_thread_id),
				 take_tids, purge);
	return error;
}

/* Unless the tid is another thread's by now. */
static void delete_tid(const struct bpf_side *bpf, const struct thread_purge *purge, uint32_t tid)
{
	lm_thread_id id;

	if (!bpf_map_lookup_elem(bpf->thread_tids_fd, &tid, &id) && hash_get(&purge->ids, id))
		bpf_map_delete_elem(bpf->thread_tids_fd, &tid);
}

int thread_table_purge(const struct bpf_side *bpf, const struct hash *ended)
{
	struct thread_purge purge = {.ended = ended};
	int error = find(bpf, &purge);

	/* What leads to a record goes before it. */
	for (size_t i = 0; i < purge.tids.count && !error; i++)
		delete_tid(bpf, &purge, purge.tids.items[i]);
	for (size_t i = 0; i < purge.handles.count && !error; i++)
		bpf_map_delete_elem(bpf->thread_handles_fd, &purge.handles.items[i]);
	if (!error) {
		delete_keys(bpf->thread_records_fd, &purge.ids);
		delete_keys(bpf->thread_books_fd, ended);
	}
	hash_free(&purge.ids);
	vec_free(&purge.handles);
	vec_free(&purge.tids);
	return error;
}
