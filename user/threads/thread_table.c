// SPDX-License-Identifier: GPL-2.0-or-later
#include "threads/thread_table.h"

#include <errno.h>

#include "base/cleanup.h"
#include "collect/map_walk.h"

static int take_threads(const void *keys, const void *values, size_t count, void *context)
{
	struct thread_table *table = context;

	(void)keys;
	for (size_t i = 0; i < count; i++) {
		struct lm_thread *thread = vec_push(&table->threads);

		if (!thread)
			return -ENOMEM;
		*thread = ((const struct lm_thread *)values)[i];
	}
	return 0;
}

static int take_books(const void *keys, const void *values, size_t count, void *context)
{
	struct thread_table *table = context;

	for (size_t i = 0; i < count; i++) {
		struct thread_process *process = vec_push(&table->processes);

		if (!process)
			return -ENOMEM;
		process->key = ((const lm_process_key *)keys)[i];
		process->books = ((const struct lm_thread_books *)values)[i];
	}
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
	int error = map_walk(bpf->thread_records_fd, sizeof(lm_thread_id), sizeof(struct lm_thread),
			     take_threads, &read);

	if (!error)
		error = map_walk(bpf->thread_books_fd, sizeof(lm_process_key),
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
