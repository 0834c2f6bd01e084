// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/heap_image_zones.h"

#include <errno.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "binary/arch/system_call.h"
#include "binary/elf/elf_abi.h"
#include "heap/allocators/stack_block.h"
#include "process/proc/core.h"
#include "process/proc/process_list.h"

#define CLUSTER_GAP (1ull << 30)

/* Below 4 GiB are position-dependent programs, and very many plain numbers. */
#define LOW_BYTES (1ull << 32)
#define LOW_MARGIN (64ull << 20)

static int zones_add(struct heap_image *heap_image, enum zone_kind kind, uint64_t start,
		     uint64_t end, size_t thread);

static bool has_prefix(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

bool mapping_is_memory(const struct mapping *mapping)
{
	static const char *const refused[] = {
		"[vvar",       "[vdso]",       "[vsyscall]", "[uprobes]",
		"anon_inode:", "/anon_inode:", "socket:",    "/dev/"};
	static const char *const devices_of_memory[] = {"/dev/zero", "/dev/shm/"};

	if (!mapping->readable)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(devices_of_memory); i++) {
		if (has_prefix(mapping->path, devices_of_memory[i]))
			return true;
	}
	for (size_t i = 0; i < ARRAY_SIZE(refused); i++) {
		if (has_prefix(mapping->path, refused[i]))
			return false;
	}
	return true;
}

/* Anonymous or shared memory, which may contain blocks. */
static bool mapping_is_anonymous(const struct mapping *mapping)
{
	return mapping->writable && (!mapping->inode || mapping->shared);
}

/*
 * Code is never written, except by debuggers; all other written memory, of files or not, may
 * contain pointers, even if access is forbidden now.
 */
static bool is_wanted(const struct mapping *mapping)
{
	if (!mapping_is_memory(mapping))
		return false;
	if (mapping->shared)
		return mapping->writable && !mapping->executable &&
		       (!mapping->inode || has_prefix(mapping->path, "/dev/zero") ||
			has_prefix(mapping->path, "/dev/shm/") ||
			has_prefix(mapping->path, "/memfd:") || has_prefix(mapping->path, "/SYSV"));
	return mapping->writable || !mapping->executable;
}

/* From the last mapping to the first, so that adjacent successors are known. */
static void find_reaches(const struct maps *maps, struct page_table *table)
{
	size_t left = table->ranges.count;
	uint64_t reach = 0, start = 0;

	for (size_t i = maps->list.count; i-- > 0;) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping->inode || mapping->shared) {
			start = 0;
			continue;
		}
		if (mapping->end != start)
			reach = mapping->end;
		start = mapping->start;
		while (left && table->ranges.items[left - 1].mapping > i)
			left--;
		while (left && table->ranges.items[left - 1].mapping == i)
			table->ranges.items[--left].reach = reach;
	}
}

/*
 * Reservations: the shadow of a sanitizer (16 TiB), databases. A mapping above the smaller size is
 * read by its used parts; one above the larger size cannot be read otherwise, because its pagemap
 * alone takes gigabytes.
 */
#define SPARSE_BYTES (16ull << 30)
#define SPARSE_MOST_BYTES (1ull << 40)

static int add_range(struct page_table *table, const struct maps *maps, size_t mapping_index,
		     uint64_t start, uint64_t end)
{
	const struct mapping *mapping = &maps->list.items[mapping_index];
	struct page_range *range = vec_push(&table->ranges);

	if (!range)
		return -ENOMEM;
	range->start = start;
	range->end = end;
	range->file = mapping->inode && !mapping->shared;
	range->mapping = (uint32_t)mapping_index;
	return 0;
}

static int add_sparse(struct page_table *table, const struct maps *maps, int pagemap, size_t index,
		      uint64_t *bytes)
{
	const struct mapping *mapping = &maps->list.items[index];
	struct stretches used = {0};
	int error =
		pagemap_occupied(maps->source.task, pagemap, mapping->start, mapping->end, &used);

	*bytes = 0;
	for (size_t i = 0; !error && i < used.list.count; i++) {
		const struct stretch *stretch = &used.list.items[i];

		error = add_range(table, maps, index, stretch->start, stretch->end);
		*bytes += stretch->end - stretch->start;
	}
	vec_free(&used.list);
	return error;
}

static int add_mapping(struct page_table *table, const struct maps *maps, int pagemap, size_t index,
		       uint64_t *bytes)
{
	const struct mapping *mapping = &maps->list.items[index];
	int error = -ENOTSUP;

	*bytes = mapping->end - mapping->start;
	if (*bytes > SPARSE_BYTES && !maps->source.core)
		error = add_sparse(table, maps, pagemap, index, bytes);
	if (error != -ENOTSUP)
		return error;
	*bytes = mapping->end - mapping->start;
	if (*bytes > SPARSE_MOST_BYTES && !maps->source.core)
		return -EFBIG;
	return add_range(table, maps, index, mapping->start, mapping->end);
}

int ranges_from_maps(const struct maps *maps, int pagemap, struct page_table *table,
		     uint64_t *writable)
{
	*writable = 0;
	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];
		uint64_t bytes;
		int error;

		if (!is_wanted(mapping))
			continue;
		error = add_mapping(table, maps, pagemap, i, &bytes);
		if (error)
			return error;
		if (mapping->writable)
			*writable += bytes;
	}
	find_reaches(maps, table);
	return 0;
}

static int add_cluster(struct filter *filter, uint64_t start, uint64_t end)
{
	if (end <= LOW_BYTES)
		return filter_add(filter, start, end + LOW_MARGIN);
	return filter_add(filter, start - MIN(start, CLUSTER_GAP), end + CLUSTER_GAP);
}

int filter_from_maps(const struct maps *maps, struct filter *filter)
{
	uint64_t start = 0, end = 0;
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping_is_memory(mapping))
			continue;
		if (end && mapping->start - end > CLUSTER_GAP) {
			error = add_cluster(filter, start, end);
			end = 0;
		}
		if (!end)
			start = mapping->start;
		end = mapping->end;
	}
	if (!error && end)
		error = add_cluster(filter, start, end);
	return error ? error : filter_finish(filter);
}

int filter_heaps_from_maps(const struct maps *maps, struct filter *filter)
{
	int error = 0;

	for (size_t i = 0; !error && i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (mapping_is_memory(mapping) && mapping_is_anonymous(mapping))
			error = filter_add(filter, mapping->start, mapping->end);
	}
	return error ? error : filter_finish(filter);
}

/* Copies of stacks, for naming frames. */

/* Maximum bytes copied of a stack. */
#define STACK_COPY_BYTES (256ull << 10)

/*
 * Returns the present bytes from `start` on, up to `end`; a stack of unknown extent ends before it.
 */
static uint64_t present_bytes(const struct heap_image *heap_image, int pagemap, uint64_t start,
			      uint64_t end)
{
	uint64_t page = start & ~(MEMORY_PAGE - 1);

	for (; page < end; page += MEMORY_PAGE) {
		uint64_t entry;

		if (page_is_surely_present(&heap_image->pages, page))
			continue;
		pagemap_read(heap_image->maps.source, pagemap, page, &entry, 1);
		if (!pagemap_is_present(entry))
			break;
	}
	return start < end ? MIN(page, end) - MIN(page, start) : 0;
}

static int copy_stack(struct heap_image *heap_image, struct heap_image_thread *thread, int pagemap)
{
	uint64_t end = MIN(thread->stack_end, thread->stack_start + STACK_COPY_BYTES);
	uint64_t size = present_bytes(heap_image, pagemap, thread->stack_start, end);
	ssize_t got;

	if (!size)
		return 0;
	thread->stack = malloc(size);
	if (!thread->stack)
		return -ENOMEM;
	got = memory_read(heap_image->maps.source, thread->stack_start, thread->stack, size);
	thread->stack_words = got > 0 ? (size_t)got / 8 : 0;
	return 0;
}

int stacks_copy(struct heap_image *heap_image, int pagemap, struct deadline *deadline,
		size_t *missing)
{
	size_t i = 0;
	int error = 0;

	for (; !error && i < heap_image->threads.count && !deadline_has_passed(deadline); i++)
		error = copy_stack(heap_image, &heap_image->threads.items[i], pagemap);
	*missing = heap_image->threads.count - i;
	return error;
}

/* Stacks and thread-locals of threads. */

/* Thread-locals that ld.so set up for the main thread, with its other data beside them. */
#define MAIN_TLS_BYTES (1ull << 20)

static bool is_main_stack(const struct mapping *mapping)
{
	return !mapping->inode && !strcmp(mapping->path, "[stack]");
}

/* Returns the end of a stack with thread-locals at its end; else the end of its mapping. */
static uint64_t stack_end(const struct mapping *mapping, uint64_t thread_pointer)
{
	if (thread_pointer < mapping->start || thread_pointer >= mapping->end)
		return mapping->end;
	if (machine_abi.tls.is_variant_1)
		return MIN(mapping->end, align_up(thread_pointer + MAIN_TLS_BYTES, MEMORY_PAGE));
	return MIN(mapping->end, align_up(thread_pointer + THREAD_STRUCT_BYTES, MEMORY_PAGE));
}

/* A stack pointer inside malloc's memory: a fibre. The register itself holds its block. */
static bool is_in_heap(const struct heap_image *heap_image, uint64_t address)
{
	return heaps_have(&heap_image->heaps, address);
}

/* Below a glibc stack is inaccessible memory: so nothing else is in its mapping. */
static bool has_guard(const struct maps *maps, const struct mapping *mapping)
{
	const struct mapping *below = mapping - 1;

	return is_main_stack(mapping) ||
	       (mapping > maps->list.items && below->end == mapping->start && !below->readable &&
		!below->writable);
}

/* Returns the start of a thread's current stack, above its guard; 0: unknown. */
static uint64_t stack_bottom(struct peek *peek, const struct maps *maps,
			     const struct mapping *mapping, uint64_t sp, uint64_t pointer)
{
	struct stack_block block;

	if (!is_main_stack(mapping) && stack_block_find(peek, mapping, pointer, &block))
		return sp >= block.start + block.guard
			       ? MAX(block.start + block.guard, mapping->start)
			       : 0;
	return has_guard(maps, mapping) ? mapping->start : 0;
}

/* Adds a thread's current stack. */
static int add_stack(struct heap_image *heap_image, size_t i, const struct mapping *mapping,
		     struct peek *peek)
{
	struct heap_image_thread *thread = &heap_image->threads.items[i];
	uint64_t sp = machine_sp(&thread->registers) & ~7ull;
	uint64_t start = MAX(sp - MACHINE_RED_ZONE, mapping->start);
	uint64_t pointer = machine_thread_pointer(&thread->registers);
	bool own = is_main_stack(mapping) || (pointer > sp && pointer < mapping->end);
	uint64_t bottom;
	int error = 0;

	thread->stack_start = sp;
	thread->stack_end = stack_end(mapping, pointer);
	/* On an alternate stack, or a fibre's: its start is unknown. */
	if (!own)
		return zones_add(heap_image, ZONE_STACK, mapping->start, mapping->end, i);
	bottom = stack_bottom(peek, &heap_image->maps, mapping, sp, pointer);
	if (bottom)
		error = zones_add(heap_image, ZONE_NOTHING, bottom, start, i);
	return error ? error : zones_add(heap_image, ZONE_STACK, start, thread->stack_end, i);
}

/* Adds thread-locals, and all of a stack that the thread has left for another one. */
static int add_thread_locals(struct heap_image *heap_image, size_t i, const struct mapping *stack)
{
	uint64_t pointer = machine_thread_pointer(&heap_image->threads.items[i].registers);
	const struct mapping *mapping = maps_find(&heap_image->maps, pointer);
	uint64_t end, start, below;

	if (!mapping || !mapping->writable || mapping->inode || is_in_heap(heap_image, pointer))
		return 0;
	end = stack_end(mapping, pointer);
	below = machine_abi.tls.is_variant_1 ? THREAD_STRUCT_BYTES : MAIN_TLS_BYTES;
	start = MAX(mapping->start, pointer - MIN(pointer, below));
	if (mapping == stack)
		return 0;
	if (heap_image->threads.items[i].tid != heap_image->pid)
		return zones_add(heap_image, ZONE_STACK, mapping->start, end, i);
	if (mapping->end - mapping->start <= MAIN_TLS_BYTES)
		end = mapping->end;
	return zones_add(heap_image, ZONE_TLS, start, end, i);
}

static int add_thread(struct heap_image *heap_image, const struct stopped_thread *stopped,
		      struct peek *peek)
{
	struct heap_image_thread *thread = vec_push(&heap_image->threads);
	uint64_t sp = machine_sp(&stopped->registers);
	size_t i = heap_image->threads.count - 1;
	const struct mapping *mapping;
	int error = 0;

	if (!thread)
		return -ENOMEM;
	thread->tid = stopped->tid;
	thread->registers = stopped->registers;
	thread->in_call = (int32_t)system_call_number(&stopped->registers) >= 0;
	mapping = maps_find(&heap_image->maps, sp);
	if (mapping && (!mapping->writable || mapping->inode || is_in_heap(heap_image, sp)))
		mapping = NULL;
	if (mapping)
		error = add_stack(heap_image, i, mapping, peek);
	return error ? error : add_thread_locals(heap_image, i, mapping);
}

int zones_add_threads(struct heap_image *heap_image, const struct stop *stop, struct peek *peek,
		      struct deadline *deadline)
{
	int error = 0;

	for (size_t i = 0; !error && i < stop->threads.count; i++)
		error = deadline_step(deadline)
				? -ETIMEDOUT
				: add_thread(heap_image, &stop->threads.items[i], peek);
	return error;
}

/*
 * Reads the arguments of the system call that a thread waits in (proc(5), /proc/PID/syscall).
 * Nothing is known of a running one.
 */
static void read_call(pid_t pid, struct heap_image_thread *thread)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long long given[6];
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/syscall", pid, thread->tid);
	file = fopen(path, "re");
	if (!file || fscanf(file, "%*d %llx %llx %llx %llx %llx %llx", &given[0], &given[1],
			    &given[2], &given[3], &given[4], &given[5]) != 6)
		return;
	machine_set_arguments(&thread->registers, given);
}

static int add_running(struct heap_image *heap_image, pid_t tid)
{
	struct heap_image_thread *thread = vec_push(&heap_image->threads);
	const struct mapping *mapping = NULL;
	size_t i = heap_image->threads.count - 1;

	if (!thread)
		return -ENOMEM;
	thread->tid = tid;
	read_call(heap_image->pid, thread);
	for (size_t j = 0; tid == heap_image->pid && j < heap_image->maps.list.count; j++) {
		if (is_main_stack(&heap_image->maps.list.items[j]))
			mapping = &heap_image->maps.list.items[j];
	}
	return mapping ? zones_add(heap_image, ZONE_STACK, mapping->start, mapping->end, i) : 0;
}

int zones_add_threads_unstopped(struct heap_image *heap_image)
{
	_cleanup_closedir_ DIR *tasks = process_tasks_open(heap_image->pid);
	int error = 0;
	pid_t tid;

	while (!error && (tid = process_tasks_next(tasks)))
		error = add_running(heap_image, tid);
	return error;
}

void zones_name_threads(struct heap_image *heap_image)
{
	const struct core *core = heap_image->maps.source.core;

	/* A core has one name, that of the dumping thread or of the process. */
	for (size_t i = 0; core && i < heap_image->threads.count; i++)
		memcpy(heap_image->threads.items[i].comm, core_layout(core)->comm,
		       sizeof(heap_image->threads.items[i].comm));
	if (core)
		return;
	for (size_t i = 0; i < heap_image->threads.count; i++) {
		struct heap_image_thread *thread = &heap_image->threads.items[i];

		process_read_comm(heap_image->pid, thread->tid, thread->comm, sizeof(thread->comm));
	}
}

/* Adds a zone unless empty. Returns 0 or -ENOMEM. */
static int zones_add(struct heap_image *heap_image, enum zone_kind kind, uint64_t start,
		     uint64_t end, size_t thread)
{
	struct zone *zone;

	if (start >= end)
		return 0;
	zone = vec_push(&heap_image->zones);
	if (!zone)
		return -ENOMEM;
	*zone = (struct zone){start, end, kind, (uint32_t)thread};
	return 0;
}

/*
 * Of a joined thread, glibc needs only the vector, to free allocated thread-locals; of an unjoined
 * one, the result.
 */
static int add_ended(struct heap_image *heap_image, const struct ended_stack *stack)
{
	uint64_t kept = stack->descriptor + (stack->cached ? stack->vector_at : 0);
	uint64_t behind = stack->cached ? kept + sizeof(uint64_t) : stack->end;
	int error = zones_add(heap_image, ZONE_NOTHING, stack->start, kept, 0);

	if (!error)
		error = zones_add(heap_image, ZONE_ENDED, kept, behind, 0);
	return error ? error : zones_add(heap_image, ZONE_NOTHING, behind, stack->end, 0);
}

int zones_add_idle(struct heap_image *heap_image, const struct heap_image_options *options)
{
	int error = 0;

	for (size_t i = 0; !error && i < options->idle_count; i++)
		error = zones_add(heap_image, ZONE_NOTHING, options->idle[i].start,
				  options->idle[i].end, 0);
	for (size_t i = 0; !error && i < heap_image->ended.count; i++) {
		/* A caller that lists idle memory knows all joinable threads. */
		if (heap_image->ended.items[i].cached || !options->idle_count)
			error = add_ended(heap_image, &heap_image->ended.items[i]);
	}
	return error;
}

static bool is_own(const struct heap_run *run)
{
	return run->use == RUN_OWN || run->use == RUN_TABLES;
}

/* Merges neighbours of one kind. Memory after a walk's early end may contain anything. */
static int add_heap(struct heap_image *heap_image, const struct heap *heap)
{
	const struct heap_run *runs = heap->runs.items;
	size_t count = heap->runs.count, next;
	int error = 0;

	for (size_t i = 0; !error && i < count; i = next) {
		bool own = is_own(&runs[i]);

		for (next = i + 1; next < count && runs[next].start == runs[next - 1].end &&
				   runs[next].use != RUN_UNKNOWN && is_own(&runs[next]) == own;)
			next++;
		if (runs[i].use != RUN_UNKNOWN)
			error = zones_add(heap_image, own ? ZONE_ALLOCATOR : ZONE_HEAP,
					  runs[i].start, runs[next - 1].end, 0);
	}
	return error;
}

/* By address; among equal ones the more specific kind first. */
static int compare_zones(const void *left_pointer, const void *right_pointer)
{
	const struct zone *left = left_pointer, *right = right_pointer;

	if (left->start != right->start)
		return left->start < right->start ? -1 : 1;
	return (int)left->kind - (int)right->kind;
}

/* Two threads' stacks in one mapping: the unused part of one begins at the end of the other. */
static void cut_overlaps(struct heap_image *heap_image)
{
	size_t kept = 0;

	for (size_t i = 0; i < heap_image->zones.count; i++) {
		struct zone zone = heap_image->zones.items[i];
		struct zone *last = kept ? &heap_image->zones.items[kept - 1] : NULL;

		/* A stack takes precedence over another one's unused part around it. */
		if (last && last->end > zone.start && last->kind == ZONE_NOTHING)
			last->end = zone.start;
		else if (last && last->end > zone.start)
			zone.start = last->end;
		if (zone.start < zone.end)
			heap_image->zones.items[kept++] = zone;
	}
	heap_image->zones.count = kept;
}

int zones_finish(struct heap_image *heap_image)
{
	int error = 0;

	for (size_t i = 0; !error && i < heap_image->heaps.list.count; i++)
		error = add_heap(heap_image, &heap_image->heaps.list.items[i]);
	if (heap_image->zones.count)
		qsort(heap_image->zones.items, heap_image->zones.count,
		      sizeof(*heap_image->zones.items), compare_zones);
	cut_overlaps(heap_image);
	return error;
}

bool zone_may_end_at(const struct heap_image *heap_image, const struct zone *zone, uint64_t page)
{
	uint64_t pointer;

	if (zone->kind != ZONE_STACK)
		return false;
	pointer = machine_thread_pointer(&heap_image->threads.items[zone->thread].registers);
	return pointer >= zone->start && pointer < page;
}

void zones_end_at(struct heap_image *heap_image, uint64_t page)
{
	struct zone *zone = RANGE_AT(heap_image->zones.items, heap_image->zones.count, page);

	if (zone && zone->kind == ZONE_STACK && zone->start < page)
		zone->end = page;
}

const struct zone *heap_image_zone(const struct heap_image *heap_image, uint64_t address)
{
	return RANGE_AT(heap_image->zones.items, heap_image->zones.count, address);
}
