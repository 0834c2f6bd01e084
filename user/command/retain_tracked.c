// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon retain with tracking: the heap images are taken at one report of the watch loop, and a
 * second report, right after, tells which blocks were there all the while: their sites are added to
 * what the heap itself tells, or are all that is known of another allocator's blocks.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "command/retain_run.h"
#include "command/watch.h"
#include "retain/double_scan.h"

struct tracking {
	struct retain_run run;
	VEC(struct retain *) images;
	bool done;
};

static int compare_blocks(const void *left_pointer, const void *right_pointer)
{
	const struct tracked_block *left = left_pointer, *right = right_pointer;

	return left->address < right->address ? -1 : left->address > right->address;
}

/* Places of sites by their index, plus 1. */
static int number_sites(const struct report_process *process, struct hash *numbers,
			struct retain_tracked *tracked)
{
	tracked->sites = calloc(process->sites.count + 1, sizeof(*tracked->sites));
	if (!tracked->sites)
		return -ENOMEM;
	for (size_t i = 0; i < process->sites.count; i++) {
		const struct report_site *site = &process->sites.items[i];
		uint64_t *number = hash_put(numbers, site->site->index, NULL);

		if (!number)
			return -ENOMEM;
		tracked->sites[i] = site;
		*number = i + 1;
	}
	tracked->site_count = process->sites.count;
	return 0;
}

/* Blocks that were there before the heap image was begun, and still are. */
static int list_blocks(const struct snapshot *snapshot, const struct snapshot_process *process,
		       uint64_t since_ns, const struct hash *numbers,
		       struct retain_tracked *tracked)
{
	uint64_t age_ns = snapshot->monotonic_ns - MIN(since_ns, snapshot->monotonic_ns);

	tracked->blocks = calloc(process->blocks.count + 1, sizeof(*tracked->blocks));
	if (!tracked->blocks)
		return -ENOMEM;
	for (size_t i = 0; i < process->blocks.count; i++) {
		const struct block *block = &process->blocks.items[i];
		const uint64_t *number = hash_get(numbers, block->site);

		if (block->age_ns < age_ns)
			continue;
		tracked->blocks[tracked->count++] = (struct tracked_block){
			block->address, block->size, number ? (uint32_t)*number : 0};
	}
	qsort(tracked->blocks, tracked->count, sizeof(*tracked->blocks), compare_blocks);
	return 0;
}

/* Says of each cause what to do about it. How many allocations were not tracked. */
static uint64_t explain_drops(const struct snapshot_process *process)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < LM_DROP_MAX_; i++) {
		if (process->ledger.dropped[i])
			log_warning("process %" PRIu32 ": %" PRIu64 " allocations dropped: %s",
				    process->pid, process->ledger.dropped[i], drop_advice(i));
		sum += process->ledger.dropped[i];
	}
	return sum;
}

/* began_here: leakmon started the process, and saw its first allocation. */
static int read_tracked(const struct report *report, const struct retain *retain, bool began_here,
			struct retain_tracked *tracked)
{
	struct hash numbers = {0};
	int err = 0;

	for (size_t i = 0; !err && i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		if (process->process->pid != (uint32_t)retain->pid || process->process->exited)
			continue;
		free(tracked->sites);
		free(tracked->blocks);
		*tracked =
			(struct retain_tracked){.complete = began_here && process->process->exact,
						.dropped = explain_drops(process->process)};
		err = number_sites(process, &numbers, tracked);
		if (!err)
			err = list_blocks(report->snapshot, process->process,
					  retain->heap_image.started_ns, &numbers, tracked);
	}
	hash_free(&numbers);
	return err;
}

static int take_heap_image(struct tracking *tracking, pid_t pid)
{
	struct retain *retain = retain_run_begin(&tracking->run, pid);
	struct retain **kept = retain ? vec_push(&tracking->images) : NULL;

	if (!kept) {
		retain_close(retain);
		return -ESRCH;
	}
	*kept = retain;
	return 0;
}

static int take_heap_images(struct tracking *tracking, const struct report *report)
{
	bool named = tracking->run.options->session.targets.pids.count;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		int err = process->exited ? 0 : take_heap_image(tracking, (pid_t)process->pid);

		/* Of a container's processes, one may end at any time. */
		if (err && named)
			return err;
	}
	if (!tracking->images.count)
		return 0;
	/* The next report, now. */
	kill(getpid(), SIGUSR1);
	return 0;
}

static int finish_one(struct tracking *tracking, const struct report *report, struct retain *retain)
{
	struct retain_tracked tracked = {0};
	int err = read_tracked(report, retain, tracking->run.options->session.targets.command,
			       &tracked);

	if (!err) {
		err = retain_run_finish(&tracking->run, retain, &tracked);
	} else {
		retain_close(retain);
	}
	free(tracked.blocks);
	free(tracked.sites);
	return err;
}

static int finish_heap_images(struct tracking *tracking, const struct report *report)
{
	const struct schedule *schedule = &tracking->run.options->session.schedule;
	int err = 0;

	for (size_t i = 0; i < tracking->images.count; i++) {
		int failed = finish_one(tracking, report, tracking->images.items[i]);

		err = err ? err : failed;
	}
	tracking->images.count = 0;
	tracking->run.runs++;
	tracking->done = err || !schedule->repeat ||
			 (schedule->count && tracking->run.runs >= schedule->count);
	return err;
}

static int take(void *context, const struct report *report, const char *label, bool last)
{
	struct tracking *tracking = context;

	(void)label;
	int err;

	if (tracking->done || (last && !tracking->images.count))
		return 0;
	/* It can take minutes, and the kernel takes the probes back as well as we do. A process
	 * that stands stopped goes on first (retain/heap_image_stop.c). */
	interrupt_ends(true);
	err = tracking->images.count ? finish_heap_images(tracking, report)
				     : take_heap_images(tracking, report);
	interrupt_ends(false);
	return err;
}

static bool is_done(void *context)
{
	const struct tracking *tracking = context;

	return tracking->done;
}

int retain_run_tracked(const struct retain_options *options)
{
	struct session_options watched = options->session;
	struct tracking tracking = {0};
	int err = retain_run_open(&tracking.run, options), code = EXIT_ERROR;

	watched.output.report.show_allocs = true;
	watched.tracking.older_ns = 0;
	watched.schedule.count = 0;
	watched.output.path = NULL;
	if (!err)
		code = watch_run(&watched, &(struct report_sink){.take = take,
								 .is_done = is_done,
								 .context = &tracking});
	if (!err && code == EXIT_OK && !tracking.run.runs) {
		log_error("no process was left to look at: give a shorter INTERVAL");
		code = EXIT_ERROR;
	}
	if (!err && code != EXIT_OK && !tracking.run.runs)
		log_error("to see what the heap itself tells, without probes: leakmon retain "
			  "--census");
	for (size_t i = 0; i < tracking.images.count; i++)
		retain_close(tracking.images.items[i]);
	vec_free(&tracking.images);
	retain_run_close(&tracking.run);
	return code;
}
