// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/allocators/heap_image_stop.h"

#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "heap/allocators/ended_stacks.h"
#include "heap/allocators/heap_image_zones.h"
#include "heap/allocators/thread_blocks.h"
#include "process/pause/hold.h"
#include "process/proc/core.h"

/* Reading during the stop: everything here keeps the deadline of the pause. */

/* Share of the longest pause for comparing pages: walking changing heaps takes about as long. */
#define PATIENCE_PERCENT 40
/* If a managed heap is kept, little is left to walk. */
#define PATIENCE_KEPT_PERCENT 75

/* Share for the stacks of ended threads. */
#define ENDED_PERCENT 20

/*
 * Limits for a process that is not ready to be read; each wait is slightly longer: 0.6 s in total.
 */
#define STOPS_MAX 50
#define STOP_WAIT_NS 500000

/* Memory allocated in advance for new pages kept during the stop. */
#define WARM_PAGES 4096

/* No process waits for a core file: this limit is for files that make the search endless. */
#define CORE_PATIENCE_NS (60 * 1000000000ull)

/* The present mappings, and the tables made from them. */
struct view {
	struct maps maps;
	struct page_table pages;
	struct filter heaps;
	uint64_t writable_bytes;
	bool same; /* unchanged: then pages and heaps are, too */
};

static void view_free(struct view *view)
{
	maps_free(&view->maps);
	pages_free(&view->pages);
	filter_free(&view->heaps);
}

static bool same_ranges(const struct page_table *table, const struct page_table *older)
{
	if (table->ranges.count != older->ranges.count)
		return false;
	for (size_t i = 0; i < table->ranges.count; i++) {
		const struct page_range *range = &table->ranges.items[i];
		const struct page_range *old = &older->ranges.items[i];

		if (range->start != old->start || range->end != old->end ||
		    range->file != old->file || range->mapping != old->mapping)
			return false;
	}
	return true;
}

static int build_view(struct image_builder *builder, struct view *view)
{
	int error = maps_read_until(builder->heap_image->pid, &builder->deadline, &view->maps);

	if (!error)
		error = ranges_from_maps(&view->maps, builder->pagemap, &view->pages,
					 &view->writable_bytes);
	if (!error && deadline_has_passed(&builder->deadline))
		error = -ETIMEDOUT;
	view->same = !error && same_ranges(&view->pages, &builder->heap_image->pages);
	if (error || view->same)
		return error;
	error = pages_prepare(&view->pages);
	if (!error)
		error = filter_heaps_from_maps(&view->maps, &view->heaps);
	return !error && deadline_has_passed(&builder->deadline) ? -ETIMEDOUT : error;
}

/* Reads the present mappings and their pages; keeps their data. */
static int look_again(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	_cleanup_(view_free) struct view view = {0};
	int error = build_view(builder, &view);

	if (error)
		return error;
	SWAP(heap_image->maps, view.maps);
	heap_image->writable_bytes = view.writable_bytes;
	if (view.same)
		return 0;
	pages_inherit(&view.pages, &heap_image->pages);
	SWAP(heap_image->pages, view.pages);
	SWAP(builder->heaps, view.heaps);
	return 0;
}

struct page_scan builder_scan(const struct image_builder *builder)
{
	unsigned int threads = builder->options->threads;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct page_scan){
		.source = builder->heap_image->maps.source,
		.pagemap = builder->pagemap,
		.filter = &builder->filter,
		.find_mapped = heap_readers_find_mapped,
		.threads = threads ? threads : (unsigned int)MAX(cpus, 1),
		.soft_dirty = builder->heap_image->soft_dirty,
	};
}

struct heap_view builder_view(struct image_builder *builder, const struct stop *stop)
{
	return (struct heap_view){.peek = &builder->peek,
				  .heaps = &builder->heaps,
				  .maps = &builder->heap_image->maps,
				  .stop = stop,
				  .pages = &builder->heap_image->pages};
}

/* Only if it is certain: a free block that counts as live would be reported as lost. */
static int read_heap(struct image_builder *builder, const struct heap_view *view, size_t n)
{
	struct heap_image *heap_image = builder->heap_image;
	struct heap *heap = vec_push(&heap_image->heaps.list);
	int error;

	if (!heap)
		return -ENOMEM;
	heap->reader = heap_reader_at(n);
	error = heap->reader->read(builder->finds.states[n], view, heap);
	if (!error && heap->blocks_certain)
		return 0;
	heap_image->why_not_walked =
		heap->why ? heap->why
			  : "the allocator's own memory cannot be distinguished from what the "
			    "program has";
	heap_free(heap);
	heap_image->heaps.list.count--;
	return error == -ENOENT ? 0 : error;
}

int builder_read_heaps(struct image_builder *builder, const struct stop *stop)
{
	struct heap_view view = builder_view(builder, stop);
	int error = 0;

	heaps_free(&builder->heap_image->heaps);
	builder->heap_image->why_not_walked = builder->why_not;
	for (size_t i = 0; !error && heap_reader_at(i); i++) {
		if (builder->finds.states[i])
			error = read_heap(builder, &view, i);
	}
	return error;
}

static bool is_surely_present(const void *known, uint64_t page)
{
	return page_is_surely_present(known, page);
}

static int read_stopped_heaps(struct image_builder *builder, const struct stop *stop)
{
	int error;

	peek_forget(&builder->peek);
	builder->peek.known = &builder->heap_image->pages;
	builder->peek.is_present = is_surely_present;
	error = builder_read_heaps(builder, stop);
	/* Words read too late look like an inconsistent heap. */
	return !error && deadline_has_passed(&builder->deadline) ? -ETIMEDOUT : error;
}

/* May fail: then these stacks count as in use. Returns 0 or -ENOMEM. */
static int read_ended(struct image_builder *builder, const struct stop *stop)
{
	const struct c_library *library = builder->options->library;
	uint64_t until_ns =
		monotonic_ns() + builder->heap_image->max_pause_ns * ENDED_PERCENT / 100;
	struct deadline deadline = {.at_ns = builder->deadline.at_ns
						     ? MIN(until_ns, builder->deadline.at_ns)
						     : until_ns};
	int error;

	if (!library)
		return 0;
	builder->peek.deadline = &deadline;
	error = ended_stacks_find(builder->heap_image, library, stop, &builder->peek);
	builder->peek.deadline = &builder->deadline;
	return error;
}

static int read_threads(struct image_builder *builder, const struct stop *stop)
{
	struct heap_image *heap_image = builder->heap_image;
	int error = zones_add_threads(heap_image, stop, &builder->peek, &builder->deadline);

	if (!error)
		error = thread_vectors_read(heap_image, &builder->peek);
	if (!error)
		error = read_ended(builder, stop);
	return error ? error
		     : stacks_copy(heap_image, builder->pagemap, &builder->deadline,
				   &heap_image->stacks_missing);
}

static uint64_t patience_percent(const struct heap_image *heap_image)
{
	return heap_image->pages.copies ? PATIENCE_KEPT_PERCENT : PATIENCE_PERCENT;
}

/*
 * Reads what must be of one moment during the stop, and nothing else: it must not wait, so it logs
 * nothing. Returns 0; -ETIMEDOUT: the deadline has passed (data of the running process stays
 * valid); -ESRCH; -ENOMEM.
 */
static int read_stopped(void *context, const struct stop *stop, struct deadline *deadline)
{
	struct image_builder *builder = context;
	struct heap_image *heap_image = builder->heap_image;
	struct pause_times *times = &builder->times;
	struct page_scan scan;
	int error;

	heap_image->unready = builder->options->is_ready &&
			      !builder->options->is_ready(builder->options->context);
	if (heap_image->unready && !builder->insists)
		return -EBUSY;
	builder->deadline = *deadline;
	times->stopped_ns = monotonic_ns();
	error = look_again(builder);
	if (error)
		return error;
	scan = builder_scan(builder);
	scan.deadline_ns = builder->deadline.at_ns;
	if (!heap_image->soft_dirty)
		scan.patience_ns = stop->began_ns +
				   heap_image->max_pause_ns * patience_percent(heap_image) / 100;
	times->listed_ns = monotonic_ns();
	error = pages_check(&heap_image->pages, &scan, &heap_image->pages_checked);
	times->checked_ns = monotonic_ns();
	if (!error)
		error = read_stopped_heaps(builder, stop);
	times->walked_ns = monotonic_ns();
	if (!error)
		error = read_threads(builder, stop);
	if (!error && builder->options->at_stop)
		builder->options->at_stop(builder->options->at_stop_context);
	times->ended_ns = monotonic_ns();
	return error;
}

static int list_threads(const struct core_layout *layout, struct stop *stop)
{
	for (size_t i = 0; i < layout->threads.count; i++) {
		const struct core_thread *thread = &layout->threads.items[i];
		struct stopped_thread *stopped = vec_push(&stop->threads);

		if (!stopped)
			return -ENOMEM;
		stopped->tid = (pid_t)thread->tid;
		stopped->stopped = true;
		stopped->registers = thread->registers;
	}
	return 0;
}

int builder_read_core(struct image_builder *builder)
{
	struct stop stop = {0};
	int error = list_threads(core_layout(builder->options->core), &stop);

	builder->heap_image->max_pause_ns = CORE_PATIENCE_NS;
	if (!error)
		error = read_stopped_heaps(builder, &stop);
	if (!error)
		error = read_threads(builder, &stop);
	builder->heap_image->max_pause_ns = 0;
	builder->heap_image->stopped = !error;
	stop_free(&stop);
	return error;
}

/* Stops a process for a heap image, and resumes it in time. */

/* Reads the rest, for which the stop was too short. */
static int read_late(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct page_scan scan = builder_scan(builder);
	size_t checked;

	scan.deadline_ns = UINT64_MAX;
	scan.late = true;
	return pages_check(&heap_image->pages, &scan, &checked);
}

static void log_pause(const struct image_builder *builder, const struct stop *stop)
{
	const struct pause_times *times = &builder->times;
	uint64_t began_ns = stop->began_ns;

	log_debug(
		"pause: %zu threads stopped at %llu us, mappings %llu, %zu pages %llu, heaps %llu, threads %llu; %zu calls restarted",
		stop->threads.count, (unsigned long long)(times->stopped_ns - began_ns) / 1000,
		(unsigned long long)(times->listed_ns - began_ns) / 1000,
		builder->heap_image->pages_checked,
		(unsigned long long)(times->checked_ns - began_ns) / 1000,
		(unsigned long long)(times->walked_ns - began_ns) / 1000,
		(unsigned long long)(times->ended_ns - began_ns) / 1000, stop->repeated);
}

static int refuse(struct image_builder *builder, const char *why)
{
	builder->heap_image->why_not_stopped = why;
	return -EAGAIN;
}

static bool any_is_torn(const struct heaps *heaps)
{
	for (size_t i = 0; i < heaps->list.count; i++) {
		if (heaps->list.items[i].torn)
			return true;
	}
	return false;
}

/* After the resume: does the remaining work, and decides whether the data suffice. */
static int finish(struct image_builder *builder, int error)
{
	struct heap_image *heap_image = builder->heap_image;

	if (error == -ETIMEDOUT)
		return refuse(builder, "reading it took longer than --max-pause allows");
	if (error == -ECANCELED || error == -EAGAIN)
		return refuse(builder, hold_why_not(error));
	if (!error)
		error = read_late(builder);
	/* A chunk's header changed after the second reading, and was not reread. */
	if (!error && any_is_torn(&heap_image->heaps))
		return refuse(builder, "its heap changed where there was no time to look: a "
				       "longer --max-pause would do");
	heap_image->stopped = !error;
	if (heap_image->stacks_missing)
		log_warning(
			"process %d: no time to copy the stacks of %zu of its %zu threads, whose functions are unnamed; raise --max-pause",
			heap_image->pid, heap_image->stacks_missing, heap_image->threads.count);
	if (heap_image->stopped && heap_image->why_not_ended)
		log_warning(
			"process %d: stacks of threads that have ended, or some of them, count as if they were in use: %s",
			heap_image->pid, heap_image->why_not_ended);
	return error;
}

/* Returns -EBUSY if it is to be stopped again. */
static int stop_once(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	struct hold hold = {.pid = heap_image->pid,
			    .max_pause_ns = heap_image->max_pause_ns,
			    .tracer = &builder->tracer,
			    .read = read_stopped,
			    .context = builder};
	int error;

	if (!builder->tracer.pid)
		return refuse(builder, hold_why_not(-EAGAIN));
	error = hold_process(&hold);
	heap_image->pause_ns = MAX(heap_image->pause_ns, hold.stop.ended_ns - hold.stop.began_ns);
	if (hold.stood && builder->times.ended_ns)
		log_pause(builder, &hold.stop);
	else if (error == -EBUSY)
		log_debug("pause: %zu threads stood for %llu us, at a bad moment",
			  hold.stop.threads.count,
			  (unsigned long long)(hold.stop.ended_ns - hold.stop.began_ns) / 1000);
	stop_free(&hold.stop);
	if (hold.stood)
		return error == -EBUSY ? error : finish(builder, error);
	return error == -ESRCH || error == -ENOMEM ? error : refuse(builder, hold_why_not(error));
}

int builder_stop(struct image_builder *builder)
{
	struct heap_image *heap_image = builder->heap_image;
	int error;

	heap_image->max_pause_ns =
		hold_limit_ns(builder->options->max_pause_ns, heap_image->writable_bytes);
	if (heap_image->pages.copies)
		page_copies_warm(heap_image->pages.copies, WARM_PAGES);
	for (unsigned i = 0; (error = stop_once(builder)) == -EBUSY; i++) {
		heap_image->stops_repeated = i + 1;
		builder->insists = i + 1 == STOPS_MAX;
		nanosleep(&(struct timespec){.tv_nsec = (long)(i + 1) * STOP_WAIT_NS}, NULL);
		tracer_start(&builder->tracer);
	}
	if (heap_image->pages.copies)
		page_copies_trim(heap_image->pages.copies);
	return error;
}
