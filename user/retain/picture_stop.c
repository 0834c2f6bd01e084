// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of a picture that is taken while the process stands. */
#include <errno.h>
#include <sys/resource.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "retain/picture_ranges.h"
#include "retain/picture_taking.h"
#include "retain/picture_zones.h"
#include "retain/thread_vectors.h"

#define NS_PER_MS 1000000ull
#define PAUSE_NS_PER_GIB (100 * NS_PER_MS)
#define PAUSE_MIN_NS (100 * NS_PER_MS)

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

static int mend_spans(struct taking *taking, uint64_t deadline_ns)
{
	struct picture *picture = taking->picture;
	int err = taking_find_spans(taking, &picture->spans);

	for (size_t i = 0; !err && i < picture->spans.list.count; i++) {
		struct heap_span *span = &picture->spans.list.items[i];
		struct heap_span *older = same_span(&taking->walked, span);

		err = older ? heap_span_mend(span, older, &picture->pages, &taking->peek,
					     deadline_ns)
			    : heap_span_finish(span, &taking->peek);
	}
	return err;
}

static int read_heaps(struct taking *taking, const struct stop *stop)
{
	struct picture *picture = taking->picture;
	int err;

	peek_forget(&taking->peek);
	err = taking_read_arenas(taking);
	if (err)
		return err;
	taking->walk_is_used = true;
	err = mend_spans(taking, stop->began_ns + picture->max_pause_ns);
	if (!err)
		err = taking_find_free_chunks(taking, stop);
	if (!err)
		err = zones_add_threads(picture, stop, taking->pagemap);
	return err ? err
		   : thread_vectors_read(picture, &taking->peek,
					 stop->began_ns + picture->max_pause_ns);
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
	scan = taking_scan(taking);
	scan.deadline_ns = stop->began_ns + picture->max_pause_ns;
	if (!picture->soft_dirty)
		scan.patience_ns = stop->began_ns + picture->max_pause_ns / 2;
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

/* What there was no time for while it stood. */
static int read_late(struct taking *taking)
{
	struct picture *picture = taking->picture;
	struct page_scan scan = taking_scan(taking);
	size_t checked;

	scan.deadline_ns = UINT64_MAX;
	scan.late = true;
	return pages_check(&picture->pages, &scan, &checked);
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

static size_t count_broken(const struct heap_spans *spans)
{
	size_t count = 0;

	for (size_t i = 0; i < spans->list.count; i++)
		count += spans->list.items[i].broken;
	return count;
}

int taking_stop(struct taking *taking)
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
	if (!err)
		err = read_late(taking);
	/* A chunk's header changed after the second reading, and was not looked at again. */
	if (!err && count_broken(&picture->spans) > count_broken(&taking->walked)) {
		picture_forget_threads(picture);
		picture->zones.count = 0;
		picture->why_not_stopped = "its heap changed where there was no time to look: a "
					   "longer --max-pause would do";
		return -EAGAIN;
	}
	picture->stopped = !err;
	return err;
}
