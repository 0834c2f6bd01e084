// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/retain/double_scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/types.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/search.h"
#include "base/vec.h"
#include "heap/retain/retain.h"
#include "process/proc/process_list.h"
#include "process/target/process.h"

/*
 * Lets the threads of a running process progress. A pointer held only in a thread's register is
 * invisible without a stop; a thread that waits for a CPU, or in an uninterruptible call, may hold
 * it so over two scans.
 */

#define STEP_NS 2000000
#define STEPS_MAX 1000

struct held_thread {
	pid_t tid;
	uint64_t run_ns; /* CPU time used */
};

struct held_threads {
	VEC(struct held_thread) list;
};

/* Returns 0 if unknown. */
static uint64_t run_time(pid_t pid, pid_t tid)
{
	_cleanup_fclose_ FILE *file = NULL;
	uint64_t run_ns = 0;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/task/%d/schedstat", pid, tid);
	file = fopen(path, "re");
	return file && fscanf(file, "%" SCNu64, &run_ns) == 1 ? run_ns : 0;
}

static bool is_held_up(pid_t pid, pid_t tid)
{
	char state = process_task_state(pid, tid);

	return state == 'R' || state == 'D';
}

/* Returns false if out of memory, or they cannot be listed. */
static bool list_held_up(pid_t pid, struct held_threads *held)
{
	_cleanup_closedir_ DIR *tasks = process_tasks_open(pid);
	pid_t tid;

	while ((tid = process_tasks_next(tasks))) {
		struct held_thread *thread;

		if (!is_held_up(pid, tid))
			continue;
		thread = vec_push(&held->list);
		if (!thread)
			return false;
		*thread = (struct held_thread){tid, run_time(pid, tid)};
	}
	return tasks;
}

static void drop_those_that_ran(pid_t pid, struct held_threads *held)
{
	size_t kept = 0;

	for (size_t i = 0; i < held->list.count; i++) {
		struct held_thread thread = held->list.items[i];

		if (is_held_up(pid, thread.tid) && run_time(pid, thread.tid) == thread.run_ns)
			held->list.items[kept++] = thread;
	}
	held->list.count = kept;
}

/*
 * Waits until every thread now ready to run, or in an uninterruptible call, has run
 * (/proc/PID/task/TID/schedstat, proc(5)), gone to sleep, or ended. Returns false if one of them
 * did not within two seconds, or is unknown.
 */
static bool progress_wait(pid_t pid)
{
	struct held_threads held = {0};
	bool known = list_held_up(pid, &held);

	for (size_t i = 0; known && held.list.count && i < STEPS_MAX; i++) {
		nanosleep(&(struct timespec){.tv_nsec = STEP_NS}, NULL);
		drop_those_that_ran(pid, &held);
	}
	known = known && !held.list.count;
	vec_free(&held.list);
	return known;
}

/*
 * The two-scan rule: a block called lost by only one of two heap images is not, if that one is
 * blurred.
 */

#define WINDOW_BYTES (256u << 10)

/* Returns the hash of a block's present contents; 0: unreadable. */
static uint64_t hash_block(pid_t task, uint64_t start, uint64_t size, unsigned char *window)
{
	uint64_t hash = 1;

	for (uint64_t done = 0; done < size;) {
		uint64_t part = MIN(size - done, WINDOW_BYTES);

		if (memory_read_exact(live_memory(task), start + done, window, part))
			return 0;
		hash = hash_bytes(hash, window, part);
		done += part;
	}
	return hash ? hash : 1;
}

/* Hashes the present contents of lost blocks, for retain_agree(). Returns 0 or -ENOMEM. */
static int retain_remember_lost(struct retain *retain)
{
	_cleanup_free_ unsigned char *window = malloc(WINDOW_BYTES);
	uint32_t blocks = retain->graph.blocks;

	retain->lost_hashes = calloc((size_t)blocks + 1, sizeof(uint64_t));
	if (!window || !retain->lost_hashes)
		return -ENOMEM;
	for (uint32_t i = 0; i < blocks; i++) {
		if (retain->retention.verdicts[i] == VERDICT_LOST)
			retain->lost_hashes[i] =
				hash_block(retain->heap_image.maps.source.task,
					   retain->graph.starts[i], retain->graph.sizes[i], window);
	}
	return 0;
}

/*
 * Returns whether a block exists in the other scan, is lost there, and was not written in between.
 */
static bool is_lost_in(const struct retain *other, const struct retain *retain, uint32_t block)
{
	uint64_t start = retain->graph.starts[block];
	uint32_t there = block_index_find(&other->graph.index, start);

	return there != BLOCK_NONE && other->graph.starts[there] == start &&
	       other->graph.sizes[there] == retain->graph.sizes[block] &&
	       other->retention.verdicts[there] == VERDICT_LOST && other->lost_hashes[there] &&
	       other->lost_hashes[there] == retain->lost_hashes[block];
}

int retain_agree(struct retain *retain, const struct retain *other)
{
	uint32_t blocks = retain->graph.blocks, count = 0;
	_cleanup_free_ uint32_t *doubtful = malloc(((size_t)blocks + 1) * sizeof(*doubtful));
	int error;

	if (!doubtful)
		return -ENOMEM;
	for (uint32_t i = 0; i < blocks; i++) {
		if (retain->retention.verdicts[i] == VERDICT_LOST && !is_lost_in(other, retain, i))
			doubtful[count++] = i;
	}
	error = retention_take_back(&retain->graph.graph, retain->graph.sizes, doubtful, count,
				    &retain->retention);
	return error ? error : retain_count_again(retain);
}

/* Blocks in pages whose time of change is unknown are not called lost. */

/* Includes a chunk's own header, and the next one's, which has its state. */
#define HEADER_BYTES 16

static bool is_late(const struct heap_image *heap_image, uint64_t start, uint64_t end)
{
	size_t at = SORTED_BEFORE(page, heap_image->late.items, heap_image->late.count,
				  *page + MEMORY_PAGE <= start);

	return at < heap_image->late.count && heap_image->late.items[at] < end;
}

int retain_take_back_uncertain(struct retain *retain)
{
	const struct heap_graph *graph = &retain->graph;
	_cleanup_free_ uint32_t *doubtful = NULL;
	uint32_t count = 0;

	if (!retain->heap_image.late.count)
		return 0;
	doubtful = malloc(((size_t)graph->blocks + 1) * sizeof(*doubtful));
	if (!doubtful)
		return -ENOMEM;
	for (uint32_t i = 0; i < graph->blocks; i++) {
		if (retain->retention.verdicts[i] == VERDICT_LOST &&
		    is_late(&retain->heap_image, graph->starts[i] - HEADER_BYTES,
			    graph->starts[i] + graph->sizes[i] + HEADER_BYTES))
			doubtful[count++] = i;
	}
	return retention_take_back(&graph->graph, graph->sizes, doubtful, count,
				   &retain->retention);
}

int retain_open(pid_t pid, const struct heap_image_options *options,
		const struct retain_sources *sources, struct retain **retain)
{
	struct retain *made = calloc(1, sizeof(*made));
	struct heap_image_options with_library = *options;
	struct c_library library;
	int error = made ? 0 : -ENOMEM;

	/* The stacks in use are known only during the stop. */
	if (!error && !options->no_stop) {
		if (!data_modules_library(pid, options->core, sources->worker,
					  &sources->processes->dsos, &library))
			with_library.library = &library;
		else
			log_debug(
				"process %d: its C library does not list ended threads: their memory kept by glibc counts as in use",
				pid);
	}
	if (!error)
		error = retain_begin(pid, &with_library, sources, made);

	if (error)
		retain_close(made);
	else
		*retain = made;
	return error;
}

/* Copies properties of the first heap image that apply to both. */
static void inherit(struct retain *retain, const struct retain *earlier)
{
	retain->heap_image.why_not_stopped = earlier->heap_image.why_not_stopped;
	retain->heap_image.pause_ns = earlier->heap_image.pause_ns;
	retain->heap_image.stops_repeated = earlier->heap_image.stops_repeated;
	retain->heap_image.max_pause_ns = earlier->heap_image.max_pause_ns;
	retain->total_ns += earlier->total_ns;
}

/* Makes one more scan, without a stop. */
static int scan_again(const struct retain *retain, const struct heap_image_options *options,
		      const struct retain_sources *sources, struct retain **again)
{
	struct heap_image_options no_stop = *options;
	struct retain *made = NULL;
	int error;

	no_stop.no_stop = true;
	error = retain_open(retain->pid, &no_stop, sources, &made);
	if (!error)
		error = retain_finish(made, sources);
	if (!error)
		error = retain_remember_lost(made);
	if (error)
		retain_close(made);
	else
		*again = made;
	return error;
}

/* A heap image without a stop proves nothing alone: a second one must agree. */
static int replace(struct retain **retain, const struct heap_image_options *options,
		   const struct retain_sources *sources)
{
	struct retain *again = NULL;
	int error = retain_remember_lost(*retain);
	bool progress = progress_wait((*retain)->pid);

	if (!error)
		error = scan_again(*retain, options, sources, &again);
	if (!error)
		error = retain_agree(again, *retain);
	if (error) {
		retain_close(again);
		return error;
	}
	again->settled = progress;
	inherit(again, *retain);
	retain_close(*retain);
	*retain = again;
	return 0;
}

bool retain_is_blurred(const struct retain *retain)
{
	return retain->heap_image.late.count && retain->retention.totals[VERDICT_LOST].blocks;
}

static int compare(struct retain *retain, const struct heap_image_options *options,
		   const struct retain_sources *sources)
{
	struct retain *again = NULL;
	int error = retain_remember_lost(retain);

	progress_wait(retain->pid);
	if (!error)
		error = scan_again(retain, options, sources, &again);
	if (!error)
		error = retain_agree(retain, again);
	if (!error)
		retain->total_ns += again->total_ns;
	retain_close(again);
	if (!error || error == -ENOMEM)
		return error;
	/* It may have ended. */
	retain->settled = false;
	return 0;
}

int retain_confirm(struct retain **retain, const struct heap_image_options *options,
		   const struct retain_sources *sources)
{
	int error = retain_finish(*retain, sources);

	/* A core file gives the same result, however often it is read. */
	if (error || options->core)
		return error;
	if (!(*retain)->settled)
		return replace(retain, options, sources);
	return retain_is_blurred(*retain) ? compare(*retain, options, sources) : 0;
}

void retain_close(struct retain *retain)
{
	if (retain)
		retain_free(retain);
	free(retain);
}
