// SPDX-License-Identifier: GPL-2.0-or-later
/* Where threads have their stacks and thread-locals. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "retain/picture_zones.h"

/* psABI x86-64, 3.2.2: what a leaf function may use below its stack pointer. */
#define RED_ZONE 128
/* glibc puts struct pthread at the thread pointer; it is smaller than this. */
#define THREAD_STRUCT_BYTES MEMORY_PAGE
/* Thread-locals that ld.so set up for the main thread, with what else it keeps beside them. */
#define MAIN_TLS_BYTES (1ull << 20)

static bool is_main_stack(const struct mapping *mapping)
{
	return !mapping->inode && !strcmp(mapping->path, "[stack]");
}

static uint64_t page_up(uint64_t address)
{
	return (address + MEMORY_PAGE - 1) & ~(MEMORY_PAGE - 1);
}

/* Where a stack that has thread-locals at its end is over; else the end of its mapping. */
static uint64_t stack_end(const struct mapping *mapping, uint64_t thread_pointer)
{
	if (thread_pointer < mapping->start || thread_pointer >= mapping->end)
		return mapping->end;
	return MIN(mapping->end, page_up(thread_pointer + THREAD_STRUCT_BYTES));
}

/* A stack pointer inside malloc's memory: a fibre. Its block is held by the register itself. */
static bool is_in_heap(const struct picture *picture, uint64_t address)
{
	return heap_spans_at(&picture->spans, address) != NULL;
}

/* Below a stack of glibc's lies memory that nobody may touch: so nothing else is in its mapping. */
static bool has_guard(const struct maps *maps, const struct mapping *mapping)
{
	const struct mapping *below = mapping - 1;

	return is_main_stack(mapping) ||
	       (mapping > maps->list.items && below->end == mapping->start && !below->readable &&
		!below->writable);
}

/* The stack that a thread is on. */
static int add_stack(struct picture *picture, size_t i, const struct mapping *mapping)
{
	struct picture_thread *thread = &picture->threads.items[i];
	uint64_t sp = thread->registers.rsp & ~7ull, start = MAX(sp - RED_ZONE, mapping->start);
	uint64_t pointer = thread->registers.fs_base;
	bool own = is_main_stack(mapping) || (pointer > sp && pointer < mapping->end);
	int err = 0;

	thread->stack_start = sp;
	thread->stack_end = stack_end(mapping, pointer);
	/* On an alternate stack, or a fibre's: nothing says where it begins. */
	if (!own)
		return zones_add(picture, ZONE_STACK, mapping->start, mapping->end, i);
	if (has_guard(&picture->maps, mapping))
		err = zones_add(picture, ZONE_NOTHING, mapping->start, start, i);
	return err ? err : zones_add(picture, ZONE_STACK, start, thread->stack_end, i);
}

/* Thread-locals, and a stack that the thread has left for another one: all of it. */
static int add_thread_locals(struct picture *picture, size_t i, const struct mapping *stack)
{
	uint64_t pointer = picture->threads.items[i].registers.fs_base;
	const struct mapping *mapping = maps_find(&picture->maps, pointer);
	uint64_t end, start;

	if (!mapping || !mapping->writable || mapping->inode || is_in_heap(picture, pointer))
		return 0;
	end = stack_end(mapping, pointer);
	start = MAX(mapping->start, pointer - MIN(pointer, MAIN_TLS_BYTES));
	if (mapping == stack)
		return 0;
	if (picture->threads.items[i].tid != picture->pid)
		return zones_add(picture, ZONE_STACK, mapping->start, end, i);
	if (mapping->end - mapping->start <= MAIN_TLS_BYTES)
		end = mapping->end;
	return zones_add(picture, ZONE_TLS, start, end, i);
}

static void read_comm(pid_t pid, struct picture_thread *thread)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/comm", pid, thread->tid);
	file = fopen(path, "re");
	if (file && fgets(thread->comm, sizeof(thread->comm), file))
		thread->comm[strcspn(thread->comm, "\n")] = '\0';
}

static int add_thread(struct picture *picture, const struct stopped_thread *stopped)
{
	struct picture_thread *thread = vec_push(&picture->threads);
	size_t i = picture->threads.count - 1;
	const struct mapping *mapping;
	int err = 0;

	if (!thread)
		return -ENOMEM;
	thread->tid = stopped->tid;
	thread->registers = stopped->registers;
	memcpy(thread->vectors, stopped->vectors, sizeof(thread->vectors));
	mapping = maps_find(&picture->maps, thread->registers.rsp);
	if (mapping &&
	    (!mapping->writable || mapping->inode || is_in_heap(picture, thread->registers.rsp)))
		mapping = NULL;
	if (mapping)
		err = add_stack(picture, i, mapping);
	return err ? err : add_thread_locals(picture, i, mapping);
}

int zones_add_threads(struct picture *picture, const struct stop *stop, struct deadline *deadline)
{
	int err = 0;

	for (size_t i = 0; !err && i < stop->threads.count; i++)
		err = deadline_step(deadline) ? -ETIMEDOUT
					      : add_thread(picture, &stop->threads.items[i]);
	return err;
}

/* What a thread gave to the system call that it waits in (proc(5), /proc/PID/syscall; psABI A.2.1).
 * Of one that runs, nothing is known. */
static void read_call(pid_t pid, struct picture_thread *thread)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long long given[6];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread->tid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d %llx %llx %llx %llx %llx %llx", &given[0], &given[1],
			    &given[2], &given[3], &given[4], &given[5]) != 6)
		return;
	thread->registers.rdi = given[0];
	thread->registers.rsi = given[1];
	thread->registers.rdx = given[2];
	thread->registers.r10 = given[3];
	thread->registers.r8 = given[4];
	thread->registers.r9 = given[5];
}

static int add_running(struct picture *picture, pid_t tid)
{
	struct picture_thread *thread = vec_push(&picture->threads);
	const struct mapping *mapping = NULL;
	size_t i = picture->threads.count - 1;

	if (!thread)
		return -ENOMEM;
	thread->tid = tid;
	read_call(picture->pid, thread);
	for (size_t j = 0; tid == picture->pid && j < picture->maps.list.count; j++) {
		if (is_main_stack(&picture->maps.list.items[j]))
			mapping = &picture->maps.list.items[j];
	}
	return mapping ? zones_add(picture, ZONE_STACK, mapping->start, mapping->end, i) : 0;
}

int zones_add_threads_unstopped(struct picture *picture)
{
	_cleanup_closedir_ DIR *tasks = NULL;
	struct dirent *entry;
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/%d/task", picture->pid);
	tasks = opendir(path);
	while (tasks && !err && (entry = readdir(tasks))) {
		if (isdigit((unsigned char)entry->d_name[0]))
			err = add_running(picture, atoi(entry->d_name));
	}
	return err;
}

void zones_name_threads(struct picture *picture)
{
	for (size_t i = 0; i < picture->threads.count; i++)
		read_comm(picture->pid, &picture->threads.items[i]);
}
