// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/picture.h"

#include <errno.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "retain/picture_ranges.h"
#include "retain/picture_zones.h"
#include "retain/soft_dirty.h"

#define NS_PER_MS 1000000ull
#define PAUSE_NS_PER_GIB (100 * NS_PER_MS)
#define PAUSE_MIN_NS (100 * NS_PER_MS)
/* Data of a module beyond this is not searched for malloc's state. */
#define MAX_DATA_BYTES (64ull << 20)
/* While it runs, a heap can change under the walk: this often it is begun anew. */
#define WALK_TRIES 3

struct taking {
	struct picture *picture;
	const struct picture_options *options;
	struct filter filter, heaps;
	struct peek peek;
	struct heap_spans walked; /* while it ran */
	int pagemap;
	int err; /* of a visit */
};

static int open_maps(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err = maps_read(picture->pid, MAPS_ALL, &picture->maps);

	if (err)
		return err;
	taking->pagemap = pagemap_open(picture->maps.task);
	picture->pagemap_readable = taking->pagemap >= 0;
	taking->peek.task = picture->maps.task;
	taking->peek.pagemap = taking->pagemap;
	peek_forget(&taking->peek);
	err = ranges_from_maps(&picture->maps, &picture->pages, &picture->writable_bytes);
	if (!err)
		err = pages_prepare(&picture->pages);
	if (!err)
		err = filter_from_maps(&picture->maps, &taking->filter);
	return err ? err : filter_heaps_from_maps(&picture->maps, &taking->heaps);
}

/* A module's data with the zeroed rest that follows it, which has no file behind it. */
static uint64_t data_end(const struct maps *maps, size_t i)
{
	const struct mapping *mapping = &maps->list.items[i];
	const struct mapping *next = mapping + 1;

	if (i + 1 < maps->list.count && next->start == mapping->end && next->writable &&
	    !next->inode && !next->path[0])
		return next->end;
	return mapping->end;
}

static int find_arenas(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err = 0;

	for (size_t i = 0; !err && i < picture->maps.list.count; i++) {
		const struct mapping *mapping = &picture->maps.list.items[i];
		uint64_t end;

		if (!mapping->inode || !mapping->writable || mapping->shared)
			continue;
		end = MIN(data_end(&picture->maps, i), mapping->start + MAX_DATA_BYTES);
		err = malloc_arenas_find(&taking->peek, &taking->heaps, mapping->start, end,
					 &picture->arenas);
		if (!err && picture->arenas.list.count && !picture->mapped.address)
			malloc_mapped_find(&taking->peek, mapping->start, end, &picture->mapped);
	}
	return err;
}

static int find_spans(struct taking *taking, struct heap_spans *spans)
{
	struct picture *picture = taking->picture;
	int err = heap_spans_find(&taking->peek, &picture->arenas, &picture->maps,
				  picture->mapped.heap_start, spans, &picture->broken_address);

	if (err != -EBADMSG)
		return err;
	picture->broken_spans++;
	return 0;
}

static void feed_spans(void *context, uint64_t address, const uint64_t *words, size_t count)
{
	struct taking *taking = context;
	struct heap_spans *spans = &taking->walked;

	for (size_t i = 0; !taking->err && i < spans->list.count; i++) {
		struct heap_span *span = &spans->list.items[i];

		if (span->start < address + count * 8 && span->end > address)
			taking->err = heap_span_feed(span, address, words, count);
	}
}

/* What broke may just have changed while it was read. */
static int finish_walks(struct taking *taking)
{
	int err = 0;

	for (size_t i = 0; !err && i < taking->walked.list.count; i++) {
		struct heap_span *span = &taking->walked.list.items[i];

		for (size_t try = 0; !err && try < WALK_TRIES; try++) {
			peek_forget(&taking->peek);
			if (span->broken && span->chunks.count) {
				/* Again from the last chunk that held. */
				span->next =
					span->start +
					chunk_distance(span->chunks.items[--span->chunks.count]);
				span->broken = span->done = false;
			}
			err = heap_span_finish(span, &taking->peek);
			if (!span->broken)
				break;
		}
	}
	return err;
}

static struct page_scan scan_of(const struct taking *taking)
{
	unsigned int threads = taking->options->threads;
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);

	return (struct page_scan){
		.task = taking->picture->maps.task,
		.pagemap = taking->pagemap,
		.filter = &taking->filter,
		.threads = threads ? threads : (unsigned int)MAX(cpus, 1),
		.soft_dirty = taking->picture->soft_dirty,
	};
}

/* The first reading, while it runs. */
static int read_running(struct taking *taking)
{
	struct picture *picture = taking->picture;
	struct page_scan scan;
	int err = open_maps(taking);

	if (err)
		return err;
	picture->soft_dirty = !taking->options->no_stop && picture->pagemap_readable &&
			      !soft_dirty_start(picture->pid);
	err = find_arenas(taking);
	if (!err)
		err = find_spans(taking, &taking->walked);
	scan = scan_of(taking);
	scan.visit = feed_spans;
	scan.context = taking;
	if (!err)
		err = pages_read(&picture->pages, &scan);
	if (!err)
		err = taking->err;
	return err ? err : finish_walks(taking);
}

/* The mappings and their pages as they are now; what is known of them stays known. */
static int look_again(struct taking *taking)
{
	struct picture *picture = taking->picture;
	_cleanup_(pages_free) struct page_table older = picture->pages;
	int err;

	maps_free(&picture->maps);
	picture->pages = (struct page_table){0};
	err = maps_read(picture->pid, MAPS_ALL, &picture->maps);
	if (!err)
		err = ranges_from_maps(&picture->maps, &picture->pages, &picture->writable_bytes);
	if (!err)
		err = pages_prepare(&picture->pages);
	if (!err)
		err = pages_inherit(&picture->pages, &older);
	filter_free(&taking->heaps);
	return err ? err : filter_heaps_from_maps(&picture->maps, &taking->heaps);
}

static struct heap_span *same_span(struct heap_spans *spans, const struct heap_span *wanted)
{
	struct heap_span *span = heap_spans_at(spans, wanted->start);

	return span && span->start == wanted->start ? span : NULL;
}

static int mend_spans(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err = find_spans(taking, &picture->spans);

	for (size_t i = 0; !err && i < picture->spans.list.count; i++) {
		struct heap_span *span = &picture->spans.list.items[i];
		struct heap_span *older = same_span(&taking->walked, span);

		err = older ? heap_span_mend(span, older, &picture->pages, &taking->peek)
			    : heap_span_finish(span, &taking->peek);
	}
	return err;
}

static int find_free_chunks(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	struct free_chunks *free_chunks = &picture->free_chunks;
	int err = free_lists_add_fastbins(free_chunks, &taking->peek, &picture->arenas,
					  &picture->spans);

	if (!stop && !err)
		err = free_lists_add_all_caches(free_chunks, &taking->peek, &picture->spans);
	for (size_t i = 0; stop && !err && i < stop->threads.count; i++)
		err = free_lists_add_cache(free_chunks, &taking->peek,
					   stop->threads.items[i].registers.fs_base,
					   &picture->spans);
	return err;
}

static int read_heaps(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	int err;

	peek_forget(&taking->peek);
	err = malloc_arenas_refresh(&taking->peek, &taking->heaps, &picture->arenas);
	if (err == -EBADMSG || err == -EFAULT)
		vec_free(&picture->arenas.list);
	else if (err)
		return err;
	if (picture->mapped.address)
		malloc_mapped_read(&taking->peek, picture->mapped.address, &picture->mapped);
	err = mend_spans(taking);
	if (!err)
		err = find_free_chunks(taking, stop);
	return err ? err : zones_add_threads(picture, stop, taking->pagemap);
}

/* Everything that must be of one moment. */
static int read_standing(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	uint64_t listed_ns, checked_ns;
	struct page_scan scan;
	int err = look_again(taking);

	if (err)
		return err;
	scan = scan_of(taking);
	scan.deadline_ns = stop->began_ns + picture->max_pause_ns;
	listed_ns = stop_clock_ns();
	err = pages_check(&picture->pages, &scan, &picture->pages_checked);
	checked_ns = stop_clock_ns();
	if (!err)
		err = read_heaps(taking, stop);
	log_debug("pause: mappings after %llu us, %zu pages compared after %llu us, heaps after "
		  "%llu us",
		  (unsigned long long)(listed_ns - stop->began_ns) / 1000, picture->pages_checked,
		  (unsigned long long)(checked_ns - stop->began_ns) / 1000,
		  (unsigned long long)(stop_clock_ns() - stop->began_ns) / 1000);
	return err;
}

static const char *why_not(int err)
{
	if (err == -EPERM)
		return "the kernel refuses to stop it (a debugger traces it, or yama forbids)";
	if (err == -ETIMEDOUT)
		return "a thread is in an uninterruptible call, or the time was up";
	return "stopping it failed";
}

static uint64_t pause_limit(const struct taking *taking)
{
	uint64_t given = taking->options->max_pause_ns;
	uint64_t scaled =
		(uint64_t)((double)taking->picture->writable_bytes / (1 << 30) * PAUSE_NS_PER_GIB);

	return given ? given : MAX(scaled, PAUSE_MIN_NS);
}

/* 0; -EAGAIN: it could not be stopped for long enough. */
static int stop_and_read(struct taking *taking)
{
	struct picture *picture = taking->picture;
	struct stop stop = {0};
	int nice = getpriority(PRIO_PROCESS, 0), err;

	picture->max_pause_ns = pause_limit(taking);
	/* Others must not make the pause longer. Not everybody may: then it stays as it is. */
	setpriority(PRIO_PROCESS, 0, -20);
	err = stop_process(picture->pid, stop_clock_ns() + picture->max_pause_ns, &stop);
	if (err) {
		setpriority(PRIO_PROCESS, 0, nice);
		picture->why_not_stopped = why_not(err);
		return err == -ESRCH || err == -ENOMEM ? err : -EAGAIN;
	}
	err = read_standing(taking, &stop);
	stop_resume(&stop);
	setpriority(PRIO_PROCESS, 0, nice);
	picture->pause_ns = stop.ended_ns - stop.began_ns;
	stop_free(&stop);
	if (err == -ETIMEDOUT) {
		picture->why_not_stopped = "reading it took longer than --max-pause allows";
		return -EAGAIN;
	}
	picture->stopped = !err;
	return err;
}

/* What a stop would have settled. */
static int settle_running(struct taking *taking)
{
	struct picture *picture = taking->picture;
	int err;

	heap_spans_free(&picture->spans);
	picture->spans = taking->walked;
	taking->walked = (struct heap_spans){0};
	peek_forget(&taking->peek);
	err = find_free_chunks(taking, NULL);
	return err ? err : zones_add_threads_unstopped(picture);
}

static void sum_up(struct picture *picture)
{
	for (size_t i = 0; i < picture->pages.count; i++) {
		const struct page *page = &picture->pages.pages[i];

		picture->read_bytes += page->flags & PAGE_WAS_READ ? MEMORY_PAGE : 0;
		picture->swapped_bytes += page->flags & PAGE_SWAPPED ? MEMORY_PAGE : 0;
		picture->pages_changed += (page->flags & PAGE_CHANGED) != 0;
	}
	for (size_t i = 0; i < picture->spans.list.count; i++) {
		const struct heap_span *span = &picture->spans.list.items[i];

		if (span->broken && !picture->broken_spans++)
			picture->broken_address = span->next;
	}
	picture->read_ns = stop_clock_ns() - picture->started_ns;
}

static int take(struct taking *taking)
{
	int err = read_running(taking);

	if (err)
		return err;
	err = taking->options->no_stop ? -EAGAIN : stop_and_read(taking);
	if (err == -EAGAIN)
		err = settle_running(taking);
	if (!err)
		err = zones_add_idle(taking->picture, taking->options);
	if (!err)
		err = zones_finish(taking->picture);
	if (!err)
		sum_up(taking->picture);
	return err;
}

int picture_take(pid_t pid, const struct picture_options *options, struct picture *picture)
{
	struct picture made = {.pid = pid, .started_ns = stop_clock_ns()};
	struct taking *taking = calloc(1, sizeof(*taking));
	int err = -ENOMEM;

	if (taking) {
		*taking = (struct taking){.picture = &made, .options = options, .pagemap = -1};
		err = take(taking);
		peek_free(&taking->peek);
		filter_free(&taking->filter);
		filter_free(&taking->heaps);
		heap_spans_free(&taking->walked);
		cleanup_close(&taking->pagemap);
		free(taking);
	}
	if (err)
		picture_free(&made);
	else
		*picture = made;
	return err;
}

void picture_free(struct picture *picture)
{
	for (size_t i = 0; i < picture->threads.count; i++)
		free(picture->threads.items[i].stack);
	vec_free(&picture->threads);
	vec_free(&picture->zones);
	maps_free(&picture->maps);
	pages_free(&picture->pages);
	vec_free(&picture->arenas.list);
	heap_spans_free(&picture->spans);
	free_lists_free(&picture->free_chunks);
	*picture = (struct picture){0};
}
