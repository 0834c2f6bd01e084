// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/diagnose_run.h"

#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "app/diagnose/class_growth.h"
#include "app/diagnose/conclude.h"
#include "app/diagnose/heap_growth.h"
#include "heap/memory/cgroup_memory.h"
#include "heap/memory/conclusion.h"
#include "heap/memory/memory_parts.h"
#include "heap/memory/tmpfs_files.h"
#include "app/monitor/emit.h"
#include "app/monitor/report_push.h"
#include "app/monitor/stages.h"
#include "process/proc/container.h"
#include "trace/probe/held_words.h"
#include "process/proc/memory_room.h"
#include "app/profile/profile_run.h"
#include "report/memory_split.h"
#include "heap/retain/double_scan.h"
#include "heap/retain/result_build.h"
#include "app/runs/diagnose_beside.h"
#include "app/runs/diagnose_child.h"
#include "app/runs/diagnose_kernel.h"
#include "heap/runtime/runtime.h"
#include "app/triage/process_reading.h"
#include "app/triage/triage.h"

/* Interval of the profile's reports: for progress, and to check whether a look is due. */
#define STEP_NS 1000000000ull
/*
 * A later look takes longer than an earlier one: there is more to read, and the machine may have
 * become busier. The last one begins this many looks before the end, but at most this share of the
 * run.
 */
#define LOOK_MARGIN 1.5
#define CLOSING_SHARE 0.25
/* Maximum delay of the answer after the given time. */
#define ANSWER_WITHIN_S 30.0
/*
 * In a shorter run, scans of a managed heap come first: loading probes of the kernel's allocators
 * takes the time of a third scan.
 */
#define KERNEL_BESIDE_SCANS_S 30
/* The length of a trial of the kernel's objects, as a share of the run. */
#define KERNEL_TRIAL_SHARE 0.15
/* Seconds between polls of the processes to find suspects, and their share of a core. */
#define TRIAGE_S 1.0
#define GOROUTINE_READINGS 10
#define COUNT_READINGS 30
#define TRIAGE_BUDGET 0.01
#define SUSPECT_CONFIDENCE 0.5

struct subject {
	pid_t pid;
	char comm[16];
	struct process_reading reading;
	bool readable, ended;
	struct container *container; /* owned; NULL: not in a container */
	struct memory_process first, last;
	bool has_first, has_last;
	struct memory_conclusion conclusion;
	struct tmpfs_files first_files, last_files;
	bool has_files; /* both */
	struct diagnosed_count threads, descriptors;
	struct count_series thread_series, descriptor_series;
	struct retain_result scans[DIAGNOSE_SCANS];
	size_t scan_count;
	double scan_s;	   /* duration of the latest scan */
	double left_out_s; /* expected duration of the last scan if it was left out; else 0 */
	bool unscannable;  /* already logged */
	struct diagnose_beside beside;
	struct kernel_watch *kernel;	      /* owned; NULL: out of memory */
	const struct program_reader *program; /* NULL: it contains no runtime */
	struct task_history task_history;
	struct task_report goroutines; /* the latest */
	struct heap_profile_history profile_history;
	struct heap_profile heap_profile;    /* the latest */
	double readings[COUNT_READINGS + 2]; /* anonymous memory, in bytes */
	size_t reading_count;
	struct heap_tally *first_heap;	  /* of the first scan; owned; NULL: none */
	uint64_t begin_ns, first_heap_ns; /* of the first look, and of its scan */
	struct heap_growth growth, lost_growth;
	uint64_t limit_bytes, limit_used_bytes;
};

struct diagnose_run {
	const struct diagnose_options *options;
	struct stages stages;
	struct held_words *held; /* loaded with the first scan */
	struct subject subjects[DIAGNOSE_PROCESSES_MAX];
	size_t count;
	size_t gone; /* further ones, which ended before they became subjects */
	uint64_t begin_ns;
	/* A look is a reading and a scan of all subjects: duration of the first, and of the longest
	 * so far. */
	double first_look_s, look_s;
	double goroutines_due_s;
	double counts_due_s;
	unsigned put_off; /* looks postponed because probes were being removed */
	unsigned looked;  /* looks between the first and the last that are done or skipped */
	bool begun, closing, done;
	int error;
	bool leaks;
	struct report_push *push; /* --webhook, --otlp; or NULL */
};

static double seconds_since(uint64_t begin_ns)
{
	return (double)(monotonic_ns() - begin_ns) / 1e9;
}

/* -------- readings */

static void read_counts(struct subject *subject, bool first)
{
	static const struct reading_effort effort = {.files = true, .admission_s = 1};
	struct {
		struct diagnosed_count *count;
		struct count_series *series;
	} const counts[] = {
		[QUANTITY_THREADS] = {&subject->threads, &subject->thread_series},
		[QUANTITY_FILES] = {&subject->descriptors, &subject->descriptor_series},
	};

	if (!subject->readable || process_reading_update(&subject->reading, &effort)) {
		subject->ended |= subject->readable;
		return;
	}
	if (!subject->reading.has_memory) { /* a zombie */
		subject->ended = true;
		return;
	}
	memcpy(subject->comm, subject->reading.comm, sizeof(subject->comm));
	for (size_t i = 0; i < ARRAY_SIZE(counts); i++) {
		double value = subject->reading.quantities.values[i];

		if (!counts[i].count || !(value >= 0))
			continue;
		counts[i].count->known |= first;
		*(first ? &counts[i].count->before : &counts[i].count->now) = (uint64_t)value;
		count_series_add(counts[i].series, seconds_since(subject->begin_ns),
				 (uint64_t)value);
	}
	if (subject->reading_count < ARRAY_SIZE(subject->readings) &&
	    subject->reading.quantities.values[QUANTITY_HEAP] >= 0)
		subject->readings[subject->reading_count++] =
			subject->reading.quantities.values[QUANTITY_HEAP];
}

static void read_memory(const struct diagnose_run *run, struct subject *subject,
			struct memory_process *memory, bool *has)
{
	int error = memory_process_read(subject->pid, &run->options->pause, memory);

	*has = !error;
	subject->ended |= error == -ESRCH;
	if (error && error != -ESRCH)
		log_warning("PID %d: cannot read its memory map: %s", subject->pid,
			    strerror(-error));
}

static bool has_managed_objects(const struct subject *subject)
{
	return subject->scan_count && subject->scans[subject->scan_count - 1].runtimes.count &&
	       subject->scans[subject->scan_count - 1].runtimes.items[0].objects;
}

static void look_at_counts(const struct diagnose_run *run, struct subject *subject)
{
	read_counts(subject, false);
	if (subject->ended)
		return;
	diagnose_beside_notice(&subject->beside, subject->pid, BESIDE_DESCRIPTORS,
			       &subject->descriptors);
	diagnose_beside_notice(&subject->beside, subject->pid, BESIDE_THREADS, &subject->threads);
	diagnose_beside_notice_memory(&subject->beside, &subject->reading,
				      subject->has_first ? &subject->first : NULL);
	if (!has_managed_objects(subject) ||
	    run->options->for_ns >= KERNEL_BESIDE_SCANS_S * 1000000000ull)
		kernel_watch_notice(subject->kernel);
}

/* Reads goroutines without stopping the process, in a few milliseconds. */
static void read_goroutines(struct subject *subject, const struct maps *maps)
{
	struct task_report report = {0};
	int error = subject->program->tasks(maps, &report);

	if (!error && !report.why)
		error = task_history_add(&subject->task_history, &report);
	if (error || report.why) {
		task_report_free(&report);
		return;
	}
	task_report_free(&subject->goroutines);
	subject->goroutines = report;
}

/* Reads the process's own heap profile, without stopping it. */
static void read_heap_profile(struct subject *subject, const struct maps *maps)
{
	struct heap_profile profile = {0};
	int error = subject->program->heap_profile(maps, &profile);

	if (!error && !profile.why)
		error = heap_profile_history_add(&subject->profile_history, &profile);
	if (error || profile.why) {
		heap_profile_free(&profile);
		return;
	}
	heap_profile_free(&subject->heap_profile);
	subject->heap_profile = profile;
}

/* Reads the figures of the program's runtime, and its heap profile if `profile`: at both ends of
 * the run. */
static void read_program(struct subject *subject, bool profile)
{
	_cleanup_(maps_free) struct maps maps = {0};

	if (subject->ended || maps_read(subject->pid, MAPS_ALL, &maps))
		return;
	if (!subject->program)
		subject->program = runtime_program(&maps);
	if (!subject->program)
		return;
	read_goroutines(subject, &maps);
	if (profile)
		read_heap_profile(subject, &maps);
}

/* -------- scans of the heap */

/*
 * Paths are shown to this many reachable blocks of the call stack that grew most, the oldest ones.
 */
#define BLOCK_PATHS 8
static int add_block_paths(struct retain *retain, const struct profile_blocks *blocks,
			   const struct heap_growth *growth)
{
	size_t added = 0;
	int error = 0;

	if (!growth->sites.count)
		return 0;
	for (size_t i = 0; i < blocks->list.count && added < BLOCK_PATHS && !error; i++) {
		const struct profile_block *block = &blocks->list.items[i];

		if (block->site != growth->sites.items[0].site || !block->untouched ||
		    block_index_find(&retain->graph.index, block->address) == BLOCK_NONE)
			continue;
		error = retain_add_address_path(retain, block->address);
		added += !error;
		error = error == -ENOENT ? 0 : error;
	}
	return error;
}

/* Finds the allocators of the heap's growth since the first scan. */
static int explain_growth(struct subject *subject, struct retain *retain,
			  const struct profile_report_process *profile)
{
	_cleanup_free_ struct heap_tally *tally = malloc(sizeof(*tally));
	struct survivor_list survivors = {0};
	struct profile_blocks blocks = {0};
	int error = tally ? 0 : -ENOMEM;

	if (error || !subject->first_heap)
		return error;
	heap_tally_take(retain, tally);
	/* Blocks allocated after the scan are not in it, and are ignored. */
	if (profile)
		error = profile_blocks_read(profile, subject->first_heap_ns, &blocks);
	/* Blocks that existed at the first scan are not growth. */
	if (blocks.exact)
		blocks.since_ns = MAX(blocks.since_ns, subject->first_heap_ns);
	if (!error)
		error = survivors_find(retain, &blocks, retain->heap_image.started_ns, &survivors);
	log_debug("PID %d: %zu blocks followed, %zu rows of survivors", subject->pid,
		  blocks.list.count, survivors.list.count);
	if (!error)
		error = heap_growth_divide(subject->first_heap, tally, &survivors, false,
					   &subject->growth);
	for (size_t i = 0; i < MIN(subject->growth.sites.count, BLOCK_PATHS); i++)
		log_debug(
			"PID %d: site %u: %.0f bytes (%.0f to %.0f), %zu samples, born %.0f %.0f %.0f",
			subject->pid, subject->growth.sites.items[i].site,
			subject->growth.sites.items[i].bytes, subject->growth.sites.items[i].low,
			subject->growth.sites.items[i].high, subject->growth.sites.items[i].samples,
			subject->growth.sites.items[i].born[0],
			subject->growth.sites.items[i].born[1],
			subject->growth.sites.items[i].born[2]);
	if (!error)
		error = heap_growth_divide(subject->first_heap, tally, &survivors, true,
					   &subject->lost_growth);
	if (!error)
		error = add_block_paths(retain, &blocks, &subject->growth);
	vec_free(&survivors.list);
	vec_free(&blocks.list);
	return error;
}

/* Explains growth without a scan, if all blocks were tracked. */
static void explain_tracked(struct subject *subject, const struct profile_report_process *profile)
{
	struct profile_blocks blocks = {0};

	if (subject->growth.known || !profile)
		return;
	if (!profile_blocks_read(profile, subject->begin_ns, &blocks) && blocks.exact)
		heap_growth_track(&blocks, monotonic_ns(), &subject->growth);
	vec_free(&blocks.list);
}

static int keep_first_heap(struct subject *subject, const struct retain *retain)
{
	subject->first_heap = malloc(sizeof(*subject->first_heap));
	if (!subject->first_heap)
		return -ENOMEM;
	heap_tally_take(retain, subject->first_heap);
	subject->first_heap_ns = retain->heap_image.started_ns;
	return 0;
}

static int add_path(struct retain *retain, const struct retained_class *class)
{
	for (size_t i = 0; i < retain->classes.list.count; i++) {
		const struct block_class *known = &retain->classes.list.items[i];
		int error;

		if (known->kind != CLASS_RUNTIME || !known->name || !class->name ||
		    strcmp(known->name, class->name) != 0)
			continue;
		error = retain_add_class_path(retain, (uint32_t)i);
		return error == -ENOENT ? 0 : error;
	}
	return 0;
}

/*
 * Adds the path to the class that grew most, according to the scans so far and this one; or to all
 * growing classes, if a container with a limit may explain their growth.
 */
static int add_class_paths(const struct subject *subject, struct retain *retain,
			   const struct retain_result *result)
{
	struct diagnosis_evidence evidence = {.scan_count = subject->scan_count + 1};
	struct diagnosis found = {0};
	size_t wanted;
	int error = 0;

	for (size_t i = 0; i < subject->scan_count; i++)
		evidence.scans[i] = &subject->scans[i];
	evidence.scans[subject->scan_count] = result;
	diagnose_find_classes(&evidence, &found);
	wanted = diagnose_is_filling(&evidence) ? found.class_count
						: MIN(found.class_count, (size_t)1);
	for (size_t i = 0; i < wanted && !error; i++)
		error = add_path(retain, &result->classes.items[found.classes[i].class]);
	return error;
}

static int conclude_scan(struct diagnose_run *run, struct subject *subject, struct retain **retain,
			 const struct heap_image_options *options,
			 const struct profile_report_process *profile, bool last,
			 struct retain_result *result)
{
	const struct retain_sources sources = {.worker = run->stages.worker,
					       .processes = run->stages.processes,
					       .symbolizer = run->stages.symbolizer,
					       .held = &run->held};
	const struct retain_result_sources wanted = {0};
	_cleanup_(retain_result_free) struct retain_result classes = {0};
	int error = retain_confirm(retain, options, &sources);

	if (!error && !subject->scan_count)
		error = keep_first_heap(subject, *retain);
	if (!error && last)
		error = explain_growth(subject, *retain, profile);
	if (!error) {
		error = retain_result_build(*retain, &wanted, &classes);
		if (!error)
			error = add_class_paths(subject, *retain, &classes);
	}
	return error ? error : retain_result_build(*retain, &wanted, result);
}

/* Scans its heap once more; the last scan looks up the blocks of the profile (or NULL). */
static void scan(struct diagnose_run *run, struct subject *subject,
		 const struct profile_report_process *profile, bool last)
{
	const struct heap_image_options options = {.no_stop = run->options->pause.no_stop,
						   .max_pause_ns =
							   run->options->pause.max_pause_ns};
	const struct retain_sources sources = {.worker = run->stages.worker,
					       .processes = run->stages.processes,
					       .held = &run->held};
	struct retain *retain = NULL;
	uint64_t began_ns = monotonic_ns();
	int error;

	if (subject->ended || subject->unscannable || subject->scan_count == DIAGNOSE_SCANS)
		return;
	memory_room_keep();
	error = retain_open(subject->pid, &options, &sources, &retain);
	if (!error)
		error = conclude_scan(run, subject, &retain, &options, profile, last,
				      &subject->scans[subject->scan_count]);
	retain_close(retain);
	subject->ended |= error == -ESRCH;
	subject->scan_count += !error;
	subject->scan_s = seconds_since(began_ns);
	if (error && error != -ESRCH) {
		subject->unscannable = true;
		log_warning(
			"PID %d: its heap cannot be scanned (%s): what holds memory is not known",
			subject->pid, strerror(-error));
	}
}

/* Skips a scan that would delay the answer too much: tracked blocks suffice then. */
static void scan_last(struct diagnose_run *run, struct subject *subject,
		      const struct profile_report_process *profile)
{
	double due_s = (double)run->options->for_ns / 1e9 + ANSWER_WITHIN_S;

	if (subject->scan_count && seconds_since(run->begin_ns) + subject->scan_s > due_s)
		subject->left_out_s = subject->scan_s;
	else
		scan(run, subject, profile, true);
}

/* -------- the answer */

static const struct profile_report_process *profile_of(const struct profile_report *report,
						       pid_t pid)
{
	for (size_t i = 0; report && i < report->processes.count; i++) {
		if ((pid_t)report->processes.items[i].pid == pid)
			return &report->processes.items[i];
	}
	return NULL;
}

static void finish_subject(struct diagnose_run *run, struct subject *subject,
			   const struct profile_report *profile, struct diagnosis *diagnosis)
{
	const struct profile_report_process *profiled = profile_of(profile, subject->pid);
	struct diagnosis_evidence evidence = {
		.pid = subject->pid,
		.comm = subject->comm,
		.container = subject->container,
		.seconds = seconds_since(run->begin_ns),
		.profile = profiled,
	};
	struct beside_evidence beside;

	read_counts(subject, false);
	if (subject->program)
		read_program(subject, true);
	read_memory(run, subject, &subject->last, &subject->has_last);
	subject->has_files &= !tmpfs_files_read(subject->pid, &subject->last_files);
	cgroup_memory_limit(subject->pid, &subject->limit_bytes, &subject->limit_used_bytes);
	scan_last(run, subject, profiled);
	explain_tracked(subject, profiled);
	if (subject->has_first && subject->has_last) {
		const struct memory_split before = memory_split_of(&subject->first);
		const struct memory_split now = memory_split_of(&subject->last);

		memory_conclude(&before, &now, &subject->conclusion);
		evidence.conclusion = &subject->conclusion;
	}
	subject->threads.known &= !subject->ended;
	subject->descriptors.known &= !subject->ended;
	evidence.ended = subject->ended || (profiled && profiled->exited);
	evidence.first = subject->has_first ? &subject->first : NULL;
	evidence.last = subject->has_last ? &subject->last : NULL;
	evidence.heap_profile = subject->program ? &subject->heap_profile : NULL;
	evidence.goroutines = subject->program ? &subject->goroutines : NULL;
	evidence.first_files = subject->has_files ? &subject->first_files : NULL;
	evidence.last_files = subject->has_files ? &subject->last_files : NULL;
	evidence.threads = subject->threads;
	evidence.descriptors = subject->descriptors;
	evidence.thread_series = subject->thread_series;
	evidence.descriptor_series = subject->descriptor_series;
	diagnose_beside_examine(&subject->beside, subject->has_last ? &subject->last : NULL,
				&beside);
	kernel_watch_examine(subject->kernel, &evidence.kernel);
	evidence.mapped = beside.mapped;
	evidence.opened = beside.opened;
	evidence.created = beside.created;
	evidence.ended_threads = beside.ended;
	evidence.growth = &subject->growth;
	evidence.lost_growth = &subject->lost_growth;
	evidence.readings = subject->readings;
	evidence.reading_count = subject->reading_count;
	evidence.limit_bytes = subject->limit_bytes;
	evidence.limit_used_bytes = subject->limit_used_bytes;
	for (size_t i = 0; i < subject->scan_count; i++)
		evidence.scans[i] = &subject->scans[i];
	evidence.scan_count = subject->scan_count;
	diagnose_conclude(&evidence, diagnosis);
	diagnosis->scan_left_out_s = subject->left_out_s;
	diagnosis->own_cpu_s = emit_cost().cpu_s;
	run->leaks |=
		diagnosis->verdict == DIAGNOSIS_GROWS || diagnosis->verdict == DIAGNOSIS_LEAKS;
}

/* Pushes each answer in the form of `--format json`. */
static void push_answers(struct report_push *push, const struct diagnosis_report *report)
{
	for (size_t i = 0; push && i < report->count; i++) {
		struct diagnosis_report alone = *report; /* borrowed */
		_cleanup_free_ char *text = NULL, *answer = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		if (!out)
			return;
		alone.items += i;
		alone.count = 1;
		output_find("json")->write[OUTPUT_DIAGNOSIS](out, &alone);
		answer = fclose(out) ? NULL : diagnose_child_answer(text);
		if (answer)
			report_push_answer(push, answer);
	}
}

/* Writes the answers. `profile`: NULL without one. Returns 0, or -errno after a message. */
static int finish(struct diagnose_run *run, const struct profile_report *profile)
{
	const struct output_options *output = &run->options->profile.session.output;
	struct diagnosis diagnoses[DIAGNOSE_PROCESSES_MAX];
	struct diagnosis_report report = {
		.items = diagnoses, .count = run->count, .form = emit_form(output)};

	run->done = true;
	clock_gettime(CLOCK_REALTIME, &report.time);
	for (size_t i = 0; i < run->count; i++)
		finish_subject(run, &run->subjects[i], profile, &diagnoses[i]);
	push_answers(run->push, &report);
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_DIAGNOSIS, &report);
}

/* -------- while the profile runs */

static void show_progress(const struct diagnose_run *run, const struct profile_report *profile)
{
	if (!isatty(STDERR_FILENO) || log_get_level() > LOG_WARNING)
		return;
	fprintf(stderr, "\r\033[Kdiagnosing: %.0f of %.0f s, %zu windows, %zu samples",
		seconds_since(run->begin_ns), (double)run->options->for_ns / 1e9,
		profile ? profile->windows : 0, profile ? profile->samples : 0);
}

static void clear_progress(void)
{
	if (isatty(STDERR_FILENO))
		fputs("\r\033[K", stderr);
}

/* Returns when the last look must begin for the answer to be on time. */
static double closing_at_s(const struct diagnose_run *run)
{
	double for_s = (double)run->options->for_ns / 1e9;

	return for_s - MIN(run->look_s * LOOK_MARGIN, for_s * CLOSING_SHARE);
}

/* Returns whether the next report is the last one used. */
static bool closes(void *context)
{
	struct diagnose_run *run = context;

	run->closing = run->begun && seconds_since(run->begin_ns) >= closing_at_s(run);
	return run->closing;
}

static bool seems_to_grow(const struct subject *subject)
{
	struct diagnosis_evidence evidence = {.scan_count = subject->scan_count};

	for (size_t i = 0; i < subject->scan_count; i++)
		evidence.scans[i] = &subject->scans[i];
	return diagnose_objects_seem_to_grow(&evidence);
}

/*
 * Takes looks at managed heaps: one in the middle, if time permits; then two more if the number of
 * objects has risen by then.
 */
static void look_in_between(struct diagnose_run *run)
{
	static const double shares[] = {1.0 / 2, 2.0 / 3, 5.0 / 6};
	double begun_s = seconds_since(run->begin_ns), closing_s = closing_at_s(run);
	unsigned look = run->looked;

	_Static_assert(ARRAY_SIZE(shares) == DIAGNOSE_SCANS - 2,
		       "the first and the last are apart");
	if (look == ARRAY_SIZE(shares) ||
	    begun_s < run->first_look_s + (closing_s - run->first_look_s) * shares[look] -
			      run->look_s / 2)
		return;
	run->looked++;
	if (begun_s + run->look_s * LOOK_MARGIN > closing_s)
		return;
	for (size_t i = 0; i < run->count; i++) {
		struct subject *subject = &run->subjects[i];

		if (look ? seems_to_grow(subject) : has_managed_objects(subject))
			scan(run, subject, NULL, false);
	}
	run->look_s = MAX(run->look_s, seconds_since(run->begin_ns) - begun_s);
}

/*
 * While probes are removed from a process, its memory map is locked: a stop would last until that
 * ends, which is soon.
 */
#define PUT_OFF_MAX 5
static bool is_bad_moment(struct diagnose_run *run, const struct profile_report *profile)
{
	if (profile && profile->probes_set)
		return run->put_off++ < PUT_OFF_MAX;
	run->put_off = 0;
	return false;
}

/*
 * Takes the first look after the probes are set, so that they see the allocation of every block
 * missing from it.
 */
static int look_first(struct diagnose_run *run)
{
	size_t read = 0;

	run->begin_ns = monotonic_ns();
	for (size_t i = 0; i < run->count; i++) {
		struct subject *subject = &run->subjects[i];

		subject->begin_ns = run->begin_ns;
		subject->kernel = kernel_watch_open(subject->pid, (double)run->options->for_ns /
									  1e9 * KERNEL_TRIAL_SHARE);
		read_program(subject, true);
		read_counts(subject, true);
		read_memory(run, subject, &subject->first, &subject->has_first);
		subject->has_files = !tmpfs_files_read(subject->pid, &subject->first_files);
		scan(run, subject, NULL, false);
		read += subject->has_first || subject->scan_count;
	}
	run->begun = true;
	run->first_look_s = run->look_s = seconds_since(run->begin_ns);
	if (read)
		return 0;
	log_error(
		"no process can be read: ended, kernel threads, or another user's; run leakmon as root or with CAP_SYS_PTRACE");
	return -ESRCH;
}

/* Called for every second of the profile. */
static int take_profile(void *context, const struct profile_report *profile, bool last)
{
	struct diagnose_run *run = context;
	double for_s = (double)run->options->for_ns / 1e9, now_s;

	if (run->done)
		return 0;
	if (!run->begun) {
		run->error = look_first(run);
		run->done = run->error != 0;
		return run->error;
	}
	now_s = seconds_since(run->begin_ns);
	show_progress(run, profile);
	if (now_s >= run->goroutines_due_s) {
		run->goroutines_due_s = now_s + for_s / GOROUTINE_READINGS;
		for (size_t i = 0; i < run->count; i++) {
			if (run->subjects[i].program)
				read_program(&run->subjects[i], false);
		}
	}
	if (now_s >= run->counts_due_s) {
		run->counts_due_s = now_s + for_s / COUNT_READINGS;
		for (size_t i = 0; i < run->count; i++)
			look_at_counts(run, &run->subjects[i]);
	}
	if (!last && is_bad_moment(run, profile))
		return 0;
	look_in_between(run);
	if (!last && !run->closing)
		return 0;
	clear_progress();
	run->error = finish(run, profile);
	return run->error;
}

static bool all_ended(const struct diagnose_run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		if (!run->subjects[i].ended)
			return false;
	}
	return true;
}

/* Waits if no probe could be set: readings and scans must suffice. */
static int wait_without_profile(struct diagnose_run *run)
{
	double for_s = (double)run->options->for_ns / 1e9;

	if (all_ended(run) && run->begun)
		return finish(run, NULL);
	if (all_ended(run)) {
		log_error("PID %d has ended: there is no answer about it", run->subjects[0].pid);
		return -ESRCH;
	}
	log_warning("without call stacks: readings of memory and scans of the heap only");
	while (!run->done && !run->error && !interrupt_check()) {
		struct pollfd fd = {.fd = interrupt_fd(), .events = POLLIN};

		poll(&fd, 1, 1000);
		closes(run);
		take_profile(run, NULL, run->begun && seconds_since(run->begin_ns) >= for_s);
	}
	return run->done ? run->error : -EINTR;
}

/* Adds a subject. A process that has ended only loses its own answer. */
static int add_subject(struct diagnose_run *run, pid_t pid)
{
	struct subject *subject = &run->subjects[run->count];
	struct container_cache *containers;
	int error = process_reading_open(&subject->reading, pid);

	if (error == -ESRCH) {
		log_error("PID %d has ended: there is no answer about it", pid);
		run->gone++;
		return 0;
	}
	if (error) {
		log_error("PID %d: %s", pid, strerror(-error));
		return error;
	}
	subject->pid = pid;
	subject->readable = true;
	containers = container_cache_new();
	if (containers)
		subject->container = container_copy(container_find(containers, pid));
	container_cache_free(containers);
	run->count++;
	return 0;
}

/* Polls every process until the triage can judge. Returns 0, -EINTR, or -errno after a message. */
static int watch_all(struct triage *triage)
{
	int error = 0;

	while (!error && triage_now(triage) < GROWTH_READINGS_MIN * TRIAGE_S + 1) {
		struct pollfd fd = {.fd = interrupt_fd(), .events = POLLIN};

		if (triage_pause_s(triage) <= 0)
			error = triage_poll(triage);
		if (!error)
			poll(&fd, 1, (int)(triage_pause_s(triage) * 1000) + 1);
		if (!error)
			error = interrupt_check();
	}
	return error;
}

/* Finds subjects without a target: the triage's top suspects, if any grows. */
static int find_suspects(struct diagnose_run *run)
{
	struct triage triage;
	_cleanup_(triage_report_free) struct triage_report report = {0};
	int error = interrupt_open();

	if (!error)
		error = triage_open(&triage, TRIAGE_S, TRIAGE_BUDGET);
	if (error)
		return error;
	log_info("no target: finding the processes that grow, in about %.0f s",
		 GROWTH_READINGS_MIN * TRIAGE_S);
	error = watch_all(&triage);
	if (!error)
		error = triage_report(&triage, DIAGNOSE_PROCESSES_MAX, &report);
	for (size_t i = 0; !error && i < report.processes.count; i++) {
		const struct triage_entry *entry = &report.processes.items[i];

		if (entry->growth.confidence >= SUSPECT_CONFIDENCE && entry->growth.per_s > 0 &&
		    run->count < DIAGNOSE_PROCESSES_MAX)
			error = add_subject(run, entry->pid);
	}
	if (!error && !run->count && !run->gone)
		log_info(
			"no leak: none of %zu processes surely grew in %.0f s; for slow leaks run `leakmon`",
			report.processes.total, triage_now(&triage));
	triage_close(&triage);
	return error;
}

static int select_subjects(struct diagnose_run *run)
{
	_cleanup_(selection_free) struct selection selection = {0};
	int error;

	if (run->options->everywhere)
		return find_suspects(run);
	error = selection_take(&run->options->profile.session.targets.chosen, &selection);

	if (!error && selection.pids.count > DIAGNOSE_PROCESSES_MAX) {
		log_error(
			"%zu processes match: diagnose explains at most %d; name them with -p, `leakmon` shows which of them grow",
			selection.pids.count, DIAGNOSE_PROCESSES_MAX);
		return -E2BIG;
	}
	for (size_t i = 0; i < selection.pids.count && !error; i++)
		error = add_subject(run, selection.pids.items[i]);
	return !error && !run->count ? -ESRCH : error;
}

static void run_free(struct diagnose_run *run)
{
	for (size_t i = 0; i < run->count; i++) {
		struct subject *subject = &run->subjects[i];

		if (subject->readable)
			process_reading_close(&subject->reading);
		diagnose_beside_close(&subject->beside);
		kernel_watch_close(subject->kernel);
		container_free(subject->container);
		task_history_free(&subject->task_history);
		task_report_free(&subject->goroutines);
		heap_profile_history_free(&subject->profile_history);
		heap_profile_free(&subject->heap_profile);
		free(subject->first_heap);
		vec_free(&subject->growth.sites);
		vec_free(&subject->lost_growth.sites);
		tmpfs_files_free(&subject->first_files);
		tmpfs_files_free(&subject->last_files);
		memory_process_free(&subject->first);
		memory_process_free(&subject->last);
		for (size_t j = 0; j < subject->scan_count; j++)
			retain_result_free(&subject->scans[j]);
	}
	held_words_close(run->held);
	stages_close(&run->stages);
}

/*
 * Lists the PIDs of live subjects, even if they were selected by a pattern. Returns 0 or -ENOMEM.
 */
static int name_subjects(struct diagnose_run *run, struct selector_config *chosen)
{
	*chosen = (struct selector_config){0};
	for (size_t i = 0; i < run->count; i++) {
		pid_t *pid = run->subjects[i].ended ? NULL : vec_push(&chosen->pids);

		if (!pid && !run->subjects[i].ended)
			return -ENOMEM;
		if (pid)
			*pid = run->subjects[i].pid;
	}
	return 0;
}

/* Returns whether a further subject has ended. */
static bool note_ends(struct diagnose_run *run)
{
	static const struct reading_effort effort = {.admission_s = 1};
	bool noted = false;

	for (size_t i = 0; i < run->count; i++) {
		struct subject *subject = &run->subjects[i];

		if (subject->ended || !subject->readable)
			continue;
		subject->ended = process_reading_update(&subject->reading, &effort) ||
				 !subject->reading.has_memory;
		noted |= subject->ended;
	}
	return noted;
}

/*
 * Runs the profile, which calls take_profile() until done. A process that ends during the attach
 * ends the profile of all: then it runs again without that process. Returns 0 or -ENOMEM.
 */
static int profile_subjects(struct diagnose_run *run)
{
	struct profile_options profile = run->options->profile;
	struct selector_config *chosen = &profile.session.targets.chosen;
	int error;

	profile.session.schedule = (struct schedule){.interval_ns = STEP_NS,
						     .count = run->options->for_ns / STEP_NS + 1,
						     .repeat = true};
	profile.session.output.report.top = 0;
	profile.session.output.push = (struct push_options){0};
	profile.session.targets.come_later = false;
	profile.take = take_profile;
	profile.closes = closes;
	profile.context = run;
	do {
		error = name_subjects(run, chosen);
		if (!error && chosen->pids.count)
			profile_run(&profile);
		vec_free(&chosen->pids);
	} while (!error && !run->done && !interrupt_check() && note_ends(run));
	return error;
}

static int answer(struct diagnose_run *run)
{
	int error = profile_subjects(run);

	if (error || run->done)
		return error ? error : run->error;
	return interrupt_check() ? -EINTR : wait_without_profile(run);
}

int diagnose_run(const struct diagnose_options *options)
{
	struct diagnose_run run = {.options = options};
	int error = stages_open(&run.stages);

	if (error)
		log_error("out of memory");
	if (!error)
		error = report_push_open(&run.push, &options->profile.session.output.push);
	if (!error)
		error = select_subjects(&run);
	if (!error && run.count)
		error = answer(&run);
	clear_progress();
	run_free(&run);
	if (report_push_close(run.push) && !error)
		error = -EIO;
	return error ? interrupt_exit_code(EXIT_ERROR) : run.leaks ? EXIT_LEAK : EXIT_OK;
}
