// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_table.h"

#include <bpf/bpf.h>
#include <errno.h>

#include "base/cleanup.h"

#define BATCH_ENTRIES 4096
#define BATCH_ENTRIES_MAX (1u << 20)

/* Return 0 to go on. */
typedef int (*entry_visit)(const void *key, const void *value, void *context);

struct batch {
	int map_fd;
	size_t key_size, value_size;
	void *keys, *values;
	uint32_t capacity;
};

static int batch_resize(struct batch *batch, uint32_t capacity)
{
	void *keys = reallocarray(batch->keys, capacity, batch->key_size), *values;

	if (!keys)
		return -ENOMEM;
	batch->keys = keys;
	values = reallocarray(batch->values, capacity, batch->value_size);
	if (!values)
		return -ENOMEM;
	batch->values = values;
	batch->capacity = capacity;
	return 0;
}

static int visit_batch(const struct batch *batch, uint32_t count, entry_visit visit, void *context)
{
	int error = 0;

	for (uint32_t i = 0; i < count && !error; i++)
		error = visit((const char *)batch->keys + i * batch->key_size,
			      (const char *)batch->values + i * batch->value_size, context);
	return error;
}

static int walk_batches(struct batch *batch, entry_visit visit, void *context)
{
	uint32_t position, next, *from = NULL;
	int error, last = 0;

	while (!last) {
		uint32_t count = batch->capacity;

		errno = 0;
		error = bpf_map_lookup_batch(batch->map_fd, from, &next, batch->keys, batch->values,
					     &count, NULL)
				? -errno
				: 0;
		if (error == -ENOSPC && batch->capacity < BATCH_ENTRIES_MAX) {
			error = batch_resize(batch, batch->capacity * 2);
			if (error)
				return error;
			continue; /* one bucket holds more */
		}
		if (error && error != -ENOENT)
			return error;
		last = error == -ENOENT;
		error = visit_batch(batch, count, visit, context);
		if (error)
			return error;
		position = next;
		from = &position;
	}
	return 0;
}

static int walk_map(int map_fd, size_t key_size, size_t value_size, entry_visit visit,
		    void *context)
{
	struct batch batch = {map_fd, key_size, value_size, NULL, NULL, 0};
	int error = batch_resize(&batch, BATCH_ENTRIES);

	if (!error)
		error = walk_batches(&batch, visit, context);
	free(batch.keys);
	free(batch.values);
	return error;
}

static int take_thread(const void *key, const void *value, void *context)
{
	struct thread_table *table = context;
	struct lm_thread *thread = vec_push(&table->threads);

	(void)key;
	if (!thread)
		return -ENOMEM;
	memcpy(thread, value, sizeof(*thread));
	return 0;
}

static int take_books(const void *key, const void *value, void *context)
{
	struct thread_table *table = context;
	struct thread_process *process = vec_push(&table->processes);

	if (!process)
		return -ENOMEM;
	memcpy(&process->key, key, sizeof(process->key));
	memcpy(&process->books, value, sizeof(process->books));
	return 0;
}

static int by_process_and_age(const void *left, const void *right)
{
	const struct lm_thread *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->born_ns != b->born_ns)
		return a->born_ns < b->born_ns ? -1 : 1;
	return (a->handle > b->handle) - (a->handle < b->handle);
}

static int by_key(const void *left, const void *right)
{
	const struct thread_process *a = left, *b = right;

	return (a->key > b->key) - (a->key < b->key);
}

int thread_table_read(const struct bpf_side *bpf, struct thread_table *table)
{
	_cleanup_(thread_table_free) struct thread_table read = {0};
	int error = walk_map(bpf->thread_records_fd, sizeof(lm_thread_id), sizeof(struct lm_thread),
			     take_thread, &read);

	if (!error)
		error = walk_map(bpf->thread_books_fd, sizeof(lm_process_key),
				 sizeof(struct lm_thread_books), take_books, &read);
	if (error)
		return error;
	if (read.threads.count)
		qsort(read.threads.items, read.threads.count, sizeof(*read.threads.items),
		      by_process_and_age);
	if (read.processes.count)
		qsort(read.processes.items, read.processes.count, sizeof(*read.processes.items),
		      by_key);
	*table = read;
	read = (struct thread_table){0};
	return 0;
}

void thread_table_free(struct thread_table *table)
{
	vec_free(&table->threads);
	vec_free(&table->processes);
}
