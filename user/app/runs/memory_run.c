// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/memory_run.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "heap/memory/memory_parts.h"
#include "heap/memory/conclusion.h"
#include "heap/memory/cgroup_memory.h"
#include "heap/memory/sysv_segments.h"
#include "report/memory_split.h"
#include "binary/parse/questions.h"
#include "base/sandbox/worker.h"
#include "process/proc/container.h"
#include "process/proc/memory_room.h"

/* Readings of each process shown on a page. */
#define SPLITS 240
#define SPLITS_OF_ALL 60

struct memory_run {
	const struct memory_options *options;
	struct emitter emitter;
	uint64_t reports;
	struct memory_history history;
	struct cgroup_memories first_groups; /* the first reading of each group */
	struct sysv_report first_sysv;	     /* all segments at the first reading */
	struct timespec first_time;
	struct core *core;		    /* NULL: live processes */
	struct container_cache *containers; /* NULL: not needed */
};

static void explain(pid_t pid, int error)
{
	if (error == -ESRCH)
		log_error("PID %d: no such process, or it has ended, or it is a kernel thread",
			  pid);
	else if ((error == -EPERM || error == -EACCES) && !geteuid())
		log_error(
			"PID %d: smaps: permission denied; the process is in another user namespace, or a security module or sandbox protects it",
			pid);
	else if (error == -EPERM || error == -EACCES)
		log_error(
			"PID %d: smaps: permission denied (another user's, or not dumpable); run leakmon as root, or with CAP_SYS_PTRACE",
			pid);
	else if (error == -ENOENT)
		log_error("PID %d: this kernel has no /proc/PID/smaps (CONFIG_PROC_PAGE_MONITOR)",
			  pid);
	else
		log_error("PID %d: %s", pid, strerror(-error));
}

/* Selects the processes. Returns 0, or -errno after an error message. */
static int select_processes(const struct memory_options *options, struct selection *selection)
{
	struct selector_config config = options->targets; /* borrowed */

	config.all = selector_config_is_empty(&options->targets);
	return selection_take(&config, selection);
}

/*
 * Reads one process. One that was named must be readable; others may end, or belong to another
 * user.
 */
static int read_one(struct memory_run *run, pid_t pid, struct memory_report *report)
{
	struct memory_process process;
	struct memory_process *kept;
	bool is_named = !selector_config_is_empty(&run->options->targets);
	int error = memory_process_read(pid, is_named ? &run->options->pause : NULL, &process);

	if (error && run->options->targets.pids.count) {
		explain(pid, error);
		return error;
	}
	report->unreadable += error && error != -ESRCH;
	if (error)
		return error == -ENOMEM ? error : 0;
	kept = vec_push(&report->processes);
	if (!kept) {
		memory_process_free(&process);
		return -ENOMEM;
	}
	*kept = process;
	if (run->containers)
		kept->container = container_copy(container_find(run->containers, pid));
	return 0;
}

static int by_rss(const void *left_pointer, const void *right_pointer)
{
	const struct memory_process *left = left_pointer, *right = right_pointer;

	if (left->sum.rss != right->sum.rss)
		return left->sum.rss > right->sum.rss ? -1 : 1;
	return left->pid - right->pid;
}

static int write_report(struct memory_run *run, struct memory_report *report, bool last)
{
	if (report->processes.count)
		qsort(report->processes.items, report->processes.count,
		      sizeof(*report->processes.items), by_rss);
	return emit(&run->emitter, OUTPUT_MEMORY, report, last);
}

static bool wants_groups(const struct selector_config *targets)
{
	return targets->words[SELECT_CGROUP].count || targets->words[SELECT_CONTAINER].count ||
	       targets->words[SELECT_POD].count;
}

/* Reads the memory charged to the control groups of these processes. Returns 0 or -ENOMEM. */
static int read_groups(struct memory_run *run, struct memory_report *report)
{
	int error = 0;

	if (!wants_groups(&run->options->targets))
		return 0;
	for (size_t i = 0; !error && i < report->processes.count; i++) {
		const struct memory_process *process = &report->processes.items[i];

		struct cgroup_member member = {.pid = process->pid,
					       .start_ticks = process->start_ticks,
					       .pss = process->sum.pss,
					       .anon = process->sum.anonymous};

		memcpy(member.comm, process->comm, sizeof(member.comm));
		error = cgroup_memories_add(&report->groups, &member);
	}
	if (!error)
		error = cgroup_memories_read(&report->groups);
	for (size_t i = 0; i < report->groups.list.count && run->containers; i++) {
		struct cgroup_memory *group = &report->groups.list.items[i];

		group->container = container_copy(
			container_find(run->containers, group->members.items[0].pid));
	}
	return error ? error : cgroup_memories_conclude(&run->first_groups, &report->groups);
}

static void conclude(const struct memory_run *run, struct memory_report *report)
{
	for (size_t i = 0; i < report->processes.count; i++) {
		struct memory_process *process = &report->processes.items[i];
		const struct memory_series *series =
			memory_history_find(&run->history, process->pid, process->start_ticks);
		const struct memory_split now = memory_split_of(process);

		process->has_conclusion = series;
		if (series)
			memory_conclude(&series->splits.items[0], &now, &process->conclusion);
	}
}

static bool is_reported(const struct memory_series *series, const void *context)
{
	const struct memory_report *report = context;

	for (size_t i = 0; i < report->processes.count; i++) {
		if (report->processes.items[i].pid == series->pid &&
		    report->processes.items[i].start_ticks == series->key)
			return true;
	}
	return false;
}

/* Keeps the readings of live processes. Returns 0 or -ENOMEM. */
static int keep(struct memory_run *run, const struct memory_report *report)
{
	int error = 0;

	for (size_t i = 0; !error && i < report->processes.count; i++) {
		const struct memory_process *process = &report->processes.items[i];
		const struct memory_split now = memory_split_of(process);

		error = memory_history_add(&run->history, process->start_ticks, process->comm,
					   &now);
	}
	memory_history_keep(&run->history, is_reported, report);
	return error;
}

static int read_core(struct memory_run *run, struct memory_report *report)
{
	struct memory_process *process = vec_push(&report->processes);
	int error = process ? memory_core_read(run->core, process) : -ENOMEM;

	if (!error) {
		report->time = process->time;
		return 0;
	}
	report->processes.count = 0;
	log_error("%s: %s", run->options->core.path, strerror(-error));
	return error;
}

/*
 * Reads the segments related to the processes; none if the machine has no System V IPC, or
 * permission is lacking. Only the IPC namespace of the first target is read.
 */
static void read_sysv(struct memory_run *run, struct memory_report *report)
{
	const struct memory_process *first = report->processes.items;
	uint64_t since_ms =
		(uint64_t)MAX((report->time.tv_sec - run->first_time.tv_sec) * 1000 +
				      (report->time.tv_nsec - run->first_time.tv_nsec) / 1000000,
			      0);
	bool everywhere = selector_config_is_empty(&run->options->targets);

	if (!report->processes.count ||
	    sysv_segments_read(everywhere ? 0 : first->pid, &report->sysv))
		return;
	if (!everywhere)
		sysv_segments_select(&report->sysv, report);
	if (run->first_sysv.known)
		sysv_segments_compare(&run->first_sysv, since_ms, &report->sysv);
}

/* Reads the present processes, with conclusions. Returns 0, or -errno after a message. */
static int read_all(struct memory_run *run, struct memory_report *report)
{
	_cleanup_(selection_free) struct selection selection = {0};
	int error = select_processes(run->options, &selection);

	clock_gettime(CLOCK_REALTIME, &report->time);
	for (size_t i = 0; !error && i < selection.pids.count; i++)
		error = read_one(run, selection.pids.items[i], report);
	if (!error)
		error = read_groups(run, report);
	if (error == -ENOMEM)
		log_error("out of memory");
	if (error || report->processes.count) {
		conclude(run, report);
		read_sysv(run, report);
		return error;
	}
	log_error(
		"no process to report: all have ended, or none may be read; run leakmon as root, or with CAP_SYS_PTRACE");
	return -ESRCH;
}

static int run_report(void *context, enum report_cause cause)
{
	struct memory_run *run = context;
	const struct output_options *output = &run->options->output;
	_cleanup_(memory_report_free) struct memory_report report = {
		.sequence = ++run->reports,
		.top = output->report.top,
		.everywhere = !run->core && selector_config_is_empty(&run->options->targets),
		.form = emit_form(output),
	};
	int error = run->core ? read_core(run, &report) : read_all(run, &report);

	if (!error && (run->options->schedule.repeat || run->history.max))
		error = keep(run, &report);
	report.history = &run->history;
	return error ? error : write_report(run, &report, cause == REPORT_LAST);
}

/* Takes the baseline of later readings. Returns 0, or -errno after a message. */
static int read_first(struct memory_run *run)
{
	_cleanup_(memory_report_free) struct memory_report report = {0};
	int error = read_all(run, &report);

	if (!error)
		error = keep(run, &report);
	SWAP(run->first_sysv, report.sysv);
	run->first_time = report.time;
	if (!error)
		log_info(
			"read %zu process%s; what has grown since is shown from the next reading on",
			run->history.list.count, run->history.list.count == 1 ? "" : "es");
	return error;
}

static int run_repeatedly(struct memory_run *run)
{
	struct report_loop loop = REPORT_LOOP_CLOSED;
	const struct run_hooks hooks = {.context = run, .report = run_report};
	int error = report_loop_open(&loop, &run->options->schedule, false);

	if (!error)
		error = read_first(run);
	if (!error)
		error = report_loop_run(&loop, &hooks);
	report_loop_close(&loop);
	return error;
}

/* Opens the core file, if any. Returns 0, or -errno after an error message. */
static int open_core(struct memory_run *run)
{
	struct worker *worker = run->options->core.path ? worker_new(&parse_kinds, NULL) : NULL;
	int error = worker ? core_open(&run->options->core, worker, &run->core) : 0;

	if (!error && run->core)
		core_warn(run->core);
	worker_free(worker);
	if (error || run->core || !run->options->core.path)
		return error;
	log_error("out of memory");
	return -ENOMEM;
}

int memory_run(const struct memory_options *options)
{
	struct memory_run run = {.options = options};
	int error = emitter_open(&run.emitter, &options->output,
				 options->schedule.repeat ? EMIT_REPEATED : EMIT_ONCE);

	signal(SIGPIPE, SIG_IGN);
	if (error)
		return EXIT_ERROR;
	/* Keep fewer for the whole machine, which has many processes. */
	if (run.emitter.format->wants_history)
		run.history.max =
			selector_config_is_empty(&options->targets) ? SPLITS_OF_ALL : SPLITS;
	error = open_core(&run);
	if (run.emitter.format->single || wants_groups(&options->targets))
		run.containers = container_cache_new();
	if (!error && options->schedule.repeat) {
		error = run_repeatedly(&run);
	} else if (!error) {
		/* Forged heaps may claim any size. */
		memory_room_keep();
		error = run_report(&run, REPORT_LAST);
	}
	memory_history_free(&run.history);
	cgroup_memories_free(&run.first_groups);
	sysv_report_free(&run.first_sysv);
	core_free(run.core);
	container_cache_free(run.containers);
	if (emitter_close(&run.emitter))
		error = -EIO;
	/* Keep a file that was written once: cron(8) may run leakmon again. */
	if (options->schedule.repeat)
		return emitter_finish(&run.emitter, &options->output, error, 0);
	return error ? EXIT_ERROR : EXIT_OK;
}
