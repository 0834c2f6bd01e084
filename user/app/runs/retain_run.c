// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/retain_run.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "heap/memory/managed_share.h"
#include "app/monitor/emit.h"
#include "app/monitor/watch.h"
#include "report/retain_diff.h"
#include "app/monitor/stages.h"
#include "trace/probe/held_words.h"
#include "process/proc/memory_room.h"
#include "process/proc/process_list.h"
#include "report/report.h"
#include "report/retain_result.h"
#include "heap/retain/classes.h"
#include "heap/retain/double_scan.h"
#include "heap/retain/result_build.h"
#include "heap/retain/retain.h"
#include "heap/retain/witness.h"
#include "app/runs/goroutines_run.h"
#include "heap/runtime/own_profile.h"
#include "heap/runtime/runtime.h"
#include "report/store/retain_runs.h"

/* With an INTERVAL: the baseline for the next run on a process. */
struct earlier_run {
	pid_t pid;
	struct retain_result result; /* its pid is 0 before the first run */
	struct heap_profile_history profiles;
	struct witness_look look;
};

struct retain_run {
	const struct retain_options *options;
	struct emitter emitter;
	struct stages stages;
	struct held_words *held; /* see struct retain_sources */
	struct progress progress;
	struct core *core;		 /* NULL: live processes */
	VEC(struct earlier_run) earlier; /* one for each process */
	uint64_t runs;
};

/* The tracked blocks of one process; all zero: none. */
struct retain_tracked {
	struct tracked_block *blocks; /* by address */
	size_t count;
	const struct report_site **sites; /* indexed by site number - 1 */
	size_t site_count;
	uint64_t dropped; /* allocations that could not be tracked */
	bool complete;	  /* all blocks since the process began */
};

#define DEFAULT_PATHS 3
#define LINES_WAIT_MS 10000 /* for the lines of a heap profile's call stacks */

/* Opens the run. Returns 0, or -errno after an error message. */
static int retain_run_open(struct retain_run *run, const struct retain_options *options)
{
	int error, stages_error;

	*run = (struct retain_run){.options = options};
	stages_error = stages_open(&run->stages);
	error = emitter_open(&run->emitter, &options->session.output,
			     options->session.schedule.repeat ? EMIT_REPEATED_STREAM
							      : EMIT_ONCE_STREAM);
	if (error)
		return error;
	if (stages_error)
		log_error("out of memory");
	return stages_error;
}

static void retain_run_close(struct retain_run *run)
{
	for (size_t i = 0; i < run->earlier.count; i++) {
		witness_look_free(&run->earlier.items[i].look);
		heap_profile_history_free(&run->earlier.items[i].profiles);
		retain_result_free(&run->earlier.items[i].result);
	}
	vec_free(&run->earlier);
	held_words_close(run->held);
	stages_close(&run->stages);
	core_free(run->core);
	emitter_close(&run->emitter);
}

/* Logs why the memory of a process could not be read, and what to do about it. */
static void explain(pid_t pid, int error)
{
	if (error == -ESRCH)
		log_error("PID %d: no such process, or it has ended, or it is a kernel thread",
			  pid);
	else if (error == -EPERM || error == -EACCES)
		log_error(
			"PID %d: permission denied (another user's, or not dumpable); run leakmon as root, or with CAP_SYS_PTRACE; ptrace_scope=3 forbids it",
			pid);
	else if (error == -ENOMEM)
		log_error(
			"PID %d: out of memory%s: it takes about 70 bytes per block and 8 per pointer; the process is unharmed",
			pid,
			memory_room() < memory_available()
				? " (the limit of leakmon's control group)"
				: " on this machine");
	else if (error == -EFBIG)
		log_error(
			"PID %d: it has a mapping of more than 1 TiB (a sanitizer's shadow?), whose reading requires Linux 6.7",
			pid);
	else
		log_error("PID %d: %s", pid, strerror(-error));
}

static struct heap_image_options heap_image_options_of(const struct retain_run *run)
{
	return (struct heap_image_options){.core = run->core,
					   .no_stop = run->options->pause.no_stop,
					   .max_pause_ns = run->options->pause.max_pause_ns};
}

/* Takes the heap image. Returns NULL after an error message; the caller frees it. */
static struct retain *retain_run_begin(struct retain_run *run, pid_t pid)
{
	struct heap_image_options options = heap_image_options_of(run);
	const struct retain_sources sources = {.worker = run->stages.worker,
					       .processes = run->stages.processes,
					       .held = &run->held};
	struct retain *retain = NULL;
	int error;

	/* Only now: children of leakmon would inherit the limit. */
	memory_room_keep();
	progress_begin(&run->progress);
	error = retain_open(pid, &options, &sources, &retain);
	if (error)
		explain(pid, error);
	return retain;
}

typedef bool class_fits(const struct retain_tracked *, const struct block_class *, const char *);

/* Adds paths to the largest matching class. */
static int add_matching_class(struct retain *retain, const struct retain_tracked *tracked,
			      class_fits *fits, const char *wanted)
{
	for (size_t i = 0; i < retain->ranked_classes.list.count; i++) {
		uint32_t class = retain->ranked_classes.list.items[i];

		if (fits(tracked, &retain->classes.list.items[class], wanted))
			return retain_add_class_path(retain, class);
	}
	return -ENOENT;
}

/* Matches the size as reports print it; 1024 does not match 10240. */
static bool is_of_size(const struct block_class *class, const char *wanted)
{
	char name[64];
	const char *found;
	size_t end;

	snprintf(name, sizeof(name), "blocks of %" PRIu64 " bytes", class->size);
	found = strstr(name, wanted);
	if (!found || !*wanted)
		return false;
	end = (size_t)(found - name) + strlen(wanted);
	return !(isdigit((unsigned char)name[end - 1]) && isdigit((unsigned char)name[end])) &&
	       !(found > name && isdigit((unsigned char)found[-1]) &&
		 isdigit((unsigned char)found[0]));
}

static bool is_named(const struct retain_tracked *tracked, const struct block_class *class,
		     const char *wanted)
{
	(void)tracked;
	if (class->kind == CLASS_SIZE)
		return is_of_size(class, wanted);
	return class->name && text_find_class(class->name, wanted);
}

/* Matches the whole name of a managed class: `app.Entry`, not `app.Entry[]`. */
static bool is_called(const struct retain_tracked *tracked, const struct block_class *class,
		      const char *wanted)
{
	(void)tracked;
	return class->kind != CLASS_SIZE && class->name && strlen(class->name) == strlen(wanted) &&
	       text_find_class(class->name, wanted);
}

static bool is_allocated_below(const struct retain_tracked *tracked,
			       const struct block_class *class, const char *wanted)
{
	const struct report_site *site =
		class->kind == CLASS_SITE && class->site && class->site <= tracked->site_count
			? tracked->sites[class->site - 1]
			: NULL;

	for (size_t i = 0; site && i < site->frames.list.count; i++) {
		const char *function = site->frames.list.items[i].function;

		if (function && strstr(function, wanted))
			return true;
	}
	return false;
}

/* Prefers a class of exactly that name to one that contains it. */
static int add_named_class(struct retain *retain, const struct retain_tracked *tracked,
			   const char *wanted)
{
	int error = add_matching_class(retain, tracked, is_called, wanted);

	return error == -ENOENT ? add_matching_class(retain, tracked, is_named, wanted) : error;
}

static int warn_missing(int error, const char *what, const char *wanted)
{
	if (error != -ENOENT)
		return error;
	log_warning("no reachable block %s %s", what, wanted);
	return 0;
}

static int add_paths(const struct retain_options *options, const struct retain_tracked *tracked,
		     struct retain *retain)
{
	char address[32];
	int error = 0;

	if (!options->address && !options->class && !options->site)
		return retain_add_top_paths(retain, DEFAULT_PATHS);
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)options->address);
	if (options->address)
		error = warn_missing(retain_add_address_path(retain, options->address), "is at",
				     address);
	if (!error && options->class)
		error = warn_missing(add_named_class(retain, tracked, options->class), "has class",
				     options->class);
	if (!error && options->site)
		error = warn_missing(
			add_matching_class(retain, tracked, is_allocated_below, options->site),
			"was allocated below", options->site);
	return error;
}

/* Returns NULL when out of memory. */
static struct earlier_run *earlier_of(struct retain_run *run, pid_t pid)
{
	struct earlier_run *earlier;

	for (size_t i = 0; i < run->earlier.count; i++) {
		if (run->earlier.items[i].pid == pid)
			return &run->earlier.items[i];
	}
	earlier = vec_push(&run->earlier);
	if (earlier)
		*earlier = (struct earlier_run){.pid = pid};
	return earlier;
}

static int write_report(struct retain_run *run, const struct retain_result *result,
			const struct retain_diff *diff)
{
	const struct output_options *output = &run->options->session.output;
	struct retain_report report = {
		.result = result,
		.diff = diff,
		.top = output->top_given ? output->report.top : run->emitter.format->retain_top,
		.form = emit_form(output),
		.referrers = run->options->class || run->options->site,
	};

	return emit(&run->emitter, OUTPUT_RETAIN, &report, true);
}

static int record(const struct retain_options *options, const struct retain_result *result)
{
	int64_t number;
	int error;

	if (!options->recording)
		return 0;
	error = retain_writer_append(options->recording, result, options->label, &number);
	if (!error)
		log_info("recorded as run %lld of %s: `leakmon report %s --retain`",
			 (long long)number, options->recording, options->recording);
	return error;
}

/* Writes the changes since the earlier run (NULL: not kept); *result becomes the earlier run. */
static int report(struct retain_run *run, struct earlier_run *earlier, struct retain_result *result)
{
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	bool has_earlier = earlier && earlier->result.pid;
	int error = has_earlier ? retain_diff_build(&earlier->result, result, &diff) : 0;

	if (!error)
		error = write_report(run, result, has_earlier ? &diff : NULL);
	if (!error)
		error = record(run->options, result);
	if (!error && earlier)
		SWAP(earlier->result, *result);
	return error;
}

static void site_types_free(struct site_types *types)
{
	for (size_t i = 0; types->names && i < types->count; i++)
		free(types->names[i]);
	free(types->names);
}

static int find_site_types(const struct retain_tracked *tracked, struct site_types *types)
{
	types->names = calloc(tracked->site_count + 1, sizeof(*types->names));
	if (!types->names)
		return -ENOMEM;
	types->count = tracked->site_count;
	for (size_t i = 0; i < types->count; i++)
		types->names[i] = template_type_of_frames(&tracked->sites[i]->frames);
	return 0;
}

/*
 * Reads the heap profile of a Go program, with its growth if there are several readings. Returns 0
 * or -ENOMEM.
 */
static int find_heap_profile(const struct maps *maps, struct earlier_run *earlier,
			     struct retain_result *result)
{
	const struct program_reader *program = runtime_program(maps);
	int error;

	if (!program)
		return 0;
	result->no_malloc = program->is_alone(maps);
	result->heap_profile = calloc(1, sizeof(*result->heap_profile));
	if (!result->heap_profile)
		return -ENOMEM;
	error = program->heap_profile(maps, result->heap_profile);
	if (!error && earlier && !result->heap_profile->why)
		error = heap_profile_history_add(&earlier->profiles, result->heap_profile);
	return error;
}

/*
 * Notes the share of a managed heap without a walker: otherwise the result would seem to cover all
 * memory.
 */
static void find_managed(pid_t pid, struct retain_result *result)
{
	const struct runtime *runtime = runtime_of_process(pid);

	if (runtime && !runtime->walker)
		managed_share_read(pid, &result->managed);
}

/* Names call stacks that only have addresses. Returns 0 or -ENOMEM. */
static int name_profile(struct retain_run *run, pid_t pid, struct heap_profile *profile)
{
	struct symbolizer *symbolizer = run->stages.symbolizer;
	struct process *process = NULL;
	bool named = true;
	int error = 0;

	for (size_t i = 0; i < profile->sites.count; i++)
		named &= !profile->sites.items[i].depth;
	if (named)
		return 0;
	process_table_refresh(run->stages.processes, pid, &process);
	if (!process || symbolizer_refresh(symbolizer, (uint64_t)pid, process))
		return -ENOMEM;
	/* The first pass queues the lines, the second takes them. */
	for (int i = 0; i < 2; i++) {
		for (size_t j = 0; !error && j < profile->sites.count; j++) {
			struct heap_profile_site *site = &profile->sites.items[j];

			if (site->depth)
				error = symbolizer_name(symbolizer, (uint64_t)pid, site->addresses,
							site->depth, LINES_KNOWN, &site->frames);
		}
		if (!error && symbolizer_find_lines(symbolizer, LINES_WAIT_MS) == -ENOMEM)
			error = -ENOMEM;
	}
	symbolizer_release_lines(symbolizer);
	return error;
}

/*
 * Reads the profile of any source, with its growth if there are several readings. Returns 0;
 * -ENOENT: the process keeps none; or -ENOMEM.
 */
static int find_own_profile(struct retain_run *run, const struct maps *maps,
			    struct earlier_run *earlier, struct retain_result *result)
{
	int error;

	result->heap_profile = calloc(1, sizeof(*result->heap_profile));
	if (!result->heap_profile)
		return -ENOMEM;
	result->no_malloc = runtime_program_is_alone(maps);
	error = own_profile_read(maps, result->heap_profile);
	if (!error)
		error = name_profile(run, result->pid, result->heap_profile);
	if (!error && earlier && !result->heap_profile->why)
		error = heap_profile_history_add(&earlier->profiles, result->heap_profile);
	return error;
}

static void explain_own(pid_t pid, int error)
{
	if (error == -ENOENT)
		log_error(
			"PID %d: no heap profile of its own is found; leakmon reads those of " OWN_PROFILE_SOURCES,
			pid);
	else
		explain(pid, error);
}

/*
 * Reports the heap profile alone: without malloc there is no graph of blocks. Stops nothing.
 * Returns 0, or -errno after an error message.
 */
static int report_heap_profile(struct retain_run *run, pid_t pid, const struct maps *maps)
{
	struct earlier_run *earlier =
		run->options->session.schedule.repeat ? earlier_of(run, pid) : NULL;
	_cleanup_(retain_result_free) struct retain_result result = {
		.pid = pid, .profile_only = true, .settled = true};
	int error = run->options->session.schedule.repeat && !earlier ? -ENOMEM
		    : run->options->own ? find_own_profile(run, maps, earlier, &result)
					: find_heap_profile(maps, earlier, &result);

	if (error) {
		explain_own(pid, error);
		return error;
	}
	clock_gettime(CLOCK_REALTIME, &result.time);
	process_read_comm(result.pid, 0, result.comm, sizeof(result.comm));
	managed_share_read(pid, &result.managed);
	error = write_report(run, &result, NULL);
	if (!error && run->options->recording && result.heap_profile->why)
		log_warning("PID %d: its heap profile is not known, and not recorded", pid);
	else if (!error)
		error = record(run->options, &result);
	return error;
}

/* Concludes from the graph. Returns 0 or -ENOMEM; free *result in either case. */
static int conclude(struct retain_run *run, struct retain **retain,
		    const struct retain_tracked *tracked, struct retain_result *result)
{
	_cleanup_(site_types_free) struct site_types types = {0};
	struct heap_image_options options = heap_image_options_of(run);
	struct retain_sources sources = {.worker = run->stages.worker,
					 .processes = run->stages.processes,
					 .symbolizer = run->stages.symbolizer,
					 .held = &run->held,
					 .progress = &run->progress,
					 .tracked = tracked->blocks,
					 .tracked_count = tracked->count,
					 .complete = tracked->complete};
	struct retain_result_sources wanted = {.sites = tracked->sites,
					       .site_count = tracked->site_count,
					       .dropped = tracked->dropped,
					       .samples = run->emitter.format->wants_samples ||
							  run->options->recording};
	int error = find_site_types(tracked, &types);

	sources.types = types;
	if (!error)
		error = retain_confirm(retain, &options, &sources);
	if (!error)
		error = add_paths(run->options, tracked, *retain);
	if (!error)
		error = retain_result_build(*retain, &wanted, result);
	progress_end(&run->progress);
	if (!error && !run->core)
		find_managed((*retain)->pid, result);
	return error;
}

/* Concludes, writes the result and frees the image. Returns 0, or -errno after an error message. */
static int retain_run_finish(struct retain_run *run, struct retain *retain,
			     const struct retain_tracked *tracked)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	bool repeats = run->options->session.schedule.repeat;
	struct earlier_run *earlier = repeats ? earlier_of(run, retain->pid) : NULL;
	int error = repeats && !earlier ? -ENOMEM : conclude(run, &retain, tracked, &result);

	if (!error)
		error = find_heap_profile(&retain->heap_image.maps, earlier, &result);
	if (!error && earlier)
		error = witness_confirm_stale(retain, &earlier->look, &result);
	if (error)
		explain(retain->pid, error);
	else
		error = report(run, earlier, &result);
	retain_close(retain);
	return error;
}

/* -------- a census: no probes */

/* Waits for the next run; returns true if interrupted. */
static bool is_interrupted(const struct retain_options *options)
{
	struct pollfd poll_fd = {.fd = interrupt_fd(), .events = POLLIN};

	interrupt_ends(false); /* an interruption is no failure now */
	poll(&poll_fd, 1, (int)MIN(options->session.schedule.interval_ns / 1000000, INT32_MAX));
	if (interrupt_check())
		return true;
	interrupt_ends(true);
	return false;
}

/* Selects the processes. Returns 0, or -errno after an error message. */
static int select_processes(const struct retain_options *options, struct selection *selection)
{
	return selection_take(&options->session.targets.chosen, selection);
}

static int look_at(struct retain_run *run, pid_t pid)
{
	_cleanup_(maps_free) struct maps maps = {0};
	struct retain *retain;
	int error;

	if (process_is_32bit(pid)) {
		log_error("process %d runs a 32-bit program: leakmon reads heaps of 64-bit ones",
			  pid);
		return -EOPNOTSUPP;
	}
	error = maps_read(pid, MAPS_ALL, &maps);
	if (run->options->own) {
		if (error)
			explain(pid, error);
		return error ? error : report_heap_profile(run, pid, &maps);
	}
	if (!error && !run->options->census && runtime_program_is_alone(&maps))
		return report_heap_profile(run, pid, &maps);
	retain = retain_run_begin(run, pid);
	return retain ? retain_run_finish(run, retain, &(struct retain_tracked){0}) : -ESRCH;
}

static int run_once(struct retain_run *run)
{
	_cleanup_(selection_free) struct selection selection = {0};
	int error = select_processes(run->options, &selection), done = 0, failed = 0;

	for (size_t i = 0; !error && !failed && i < selection.pids.count; i++) {
		failed = look_at(run, selection.pids.items[i]);
		done += !failed;
		/* A process that was not named by its PID may end at any time. */
		if (failed == -ESRCH && !run->options->session.targets.chosen.pids.count)
			failed = 0;
	}
	run->runs++;
	return error ? error : failed ? failed : done ? 0 : -ESRCH;
}

static int run_core(struct retain_run *run)
{
	struct retain *retain;
	int error = core_open(&run->options->core, run->stages.worker, &run->core);

	if (error)
		return error;
	core_warn(run->core);
	log_info(
		"a core file lacks kernel-held references (epoll, timers, io_uring, signal stacks): blocks that only those hold seem unreachable");
	run->stages.processes->core = run->core;
	retain = retain_run_begin(run, core_layout(run->core)->pid);
	return retain ? retain_run_finish(run, retain, &(struct retain_tracked){0}) : -ENOMEM;
}

/*
 * Runs all. Nothing needs cleanup, so a signal may end leakmon at any time, except while a process
 * is stopped (heap/allocators/heap_image_stop.c).
 */
static int run_all(struct retain_run *run)
{
	const struct retain_options *options = run->options;
	const struct schedule *schedule = &options->session.schedule;
	int error;

	do
		error = run_once(run);
	while (!error && schedule->repeat && (!schedule->count || run->runs < schedule->count) &&
	       !is_interrupted(options));
	return error;
}

/* Runs without tracking. Returns the exit code. */
static int run_census(const struct retain_options *options)
{
	struct retain_run run;
	int error = retain_run_open(&run, options);

	signal(SIGPIPE, SIG_IGN);
	if (!error)
		error = options->core.path ? run_core(&run) : run_all(&run);
	retain_run_close(&run);
	return error ? EXIT_ERROR : EXIT_OK;
}

/* -------- with tracking */

/*
 * Heap images are taken at one report of the watch loop. A second report, right after, lists the
 * blocks that existed throughout: their call sites supplement the heap's own evidence, and are the
 * only evidence for blocks of an allocator without a reader.
 */

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

/* Maps the index of each site to its number, from 1. */
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

/* Lists blocks that existed before the image and still do. */
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

/* Logs advice for each cause. Returns the number of untracked allocations. */
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

/*
 * Collects the tracked blocks. began_here: leakmon started the process, so its first allocation was
 * tracked.
 */
static int read_tracked(const struct report *report, const struct retain *retain, bool began_here,
			struct retain_tracked *tracked)
{
	struct hash numbers = {0};
	int error = 0;

	for (size_t i = 0; !error && i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		if (process->process->pid != (uint32_t)retain->pid || process->process->exited)
			continue;
		free(tracked->sites);
		free(tracked->blocks);
		*tracked =
			(struct retain_tracked){.complete = began_here && process->process->exact,
						.dropped = explain_drops(process->process)};
		error = number_sites(process, &numbers, tracked);
		if (!error)
			error = list_blocks(report->snapshot, process->process,
					    retain->heap_image.started_ns, &numbers, tracked);
	}
	hash_free(&numbers);
	return error;
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
	bool named = tracking->run.options->session.targets.chosen.pids.count;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		int error = process->exited ? 0 : take_heap_image(tracking, (pid_t)process->pid);

		/* A process that was not named by its PID may end at any time. */
		if (error && named)
			return error;
	}
	return tracking->images.count ? REPORT_AGAIN : 0;
}

static int finish_one(struct tracking *tracking, const struct report *report, struct retain *retain)
{
	struct retain_tracked tracked = {0};
	int error = read_tracked(report, retain, tracking->run.options->session.targets.command,
				 &tracked);

	if (!error) {
		error = retain_run_finish(&tracking->run, retain, &tracked);
	} else {
		retain_close(retain);
	}
	free(tracked.blocks);
	free(tracked.sites);
	return error;
}

static int finish_heap_images(struct tracking *tracking, const struct report *report)
{
	const struct schedule *schedule = &tracking->run.options->session.schedule;
	int error = 0;

	for (size_t i = 0; i < tracking->images.count; i++) {
		int failed = finish_one(tracking, report, tracking->images.items[i]);

		error = error ? error : failed;
	}
	tracking->images.count = 0;
	tracking->run.runs++;
	tracking->done = error || !schedule->repeat ||
			 (schedule->count && tracking->run.runs >= schedule->count);
	return error;
}

static int take(void *context, const struct report *report, const char *label, bool last)
{
	struct tracking *tracking = context;

	(void)label;
	int error;

	if (tracking->done || (last && !tracking->images.count))
		return 0;
	/* It can take minutes. At an interrupt the kernel removes the probes, and a stopped process
	 * is resumed first (heap/allocators/heap_image_stop.c). */
	interrupt_ends(true);
	error = tracking->images.count ? finish_heap_images(tracking, report)
				       : take_heap_images(tracking, report);
	interrupt_ends(false);
	return error;
}

static bool is_done(void *context)
{
	const struct tracking *tracking = context;

	return tracking->done;
}

/* Logs why a run that ended with `code` has no result. Returns the exit code. */
static int explain_nothing(int code)
{
	if (interrupt_check()) {
		if (code == EXIT_OK)
			log_info("interrupted before the first INTERVAL had passed: no result");
		return interrupt_exit_code(EXIT_ERROR);
	}
	if (code != EXIT_ERROR)
		log_error(
			"all targets ended before the first INTERVAL had passed: give a shorter one");
	log_error("to read the heap without probes: leakmon retain --census");
	return code == EXIT_OK ? EXIT_ERROR : code;
}

/* Tracks for one interval first, so that blocks have call stacks. Returns the exit code. */
static int run_tracked(const struct retain_options *options)
{
	struct session_options watched = options->session;
	struct tracking tracking = {0};
	int error = retain_run_open(&tracking.run, options), code = EXIT_ERROR;

	watched.output.report.show_allocs = true;
	watched.tracking.older_ns = 0;
	watched.probes.no_usdt = true; /* samples would miss blocks */
	watched.schedule.count = 0;
	watched.output.path = NULL;
	if (!error)
		code = watch_run(&watched, &(struct run_hooks){.context = &tracking,
							       .take = take,
							       .is_done = is_done});
	if (!error && !tracking.run.runs)
		code = explain_nothing(code);
	for (size_t i = 0; i < tracking.images.count; i++)
		retain_close(tracking.images.items[i]);
	vec_free(&tracking.images);
	retain_run_close(&tracking.run);
	return code;
}

int retain_run(const struct retain_options *options)
{
	const struct selector_config *chosen = &options->session.targets.chosen;

	/* Without malloc there is nothing to track. */
	return options->census || options->own || options->core.path || go_programs_only(chosen)
		       ? run_census(options)
		       : run_tracked(options);
}
