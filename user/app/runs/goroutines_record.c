// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/goroutines_record.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "app/monitor/report_loop.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/exit_code.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "process/proc/process_list.h"

/* Reading goroutines takes 1/N of the time at most, so not every snapshot has them. */
#define READING_SHARE 100

/*
 * Records a reading; borrows the report from the census. Failures are logged and counted as missed.
 * Returns 0 or -ENOMEM.
 */
static int put(struct goroutines_record *record, const struct thread_census *census)
{
	struct task_reading reading = {.pid = (pid_t)census->pid, .report = *census->goroutines};
	struct process_entry process;

	if (process_read(reading.pid, &process))
		return 0; /* the process has ended */
	reading.start_ticks = process.start_ticks;
	memcpy(reading.comm, process.comm, sizeof(reading.comm));
	clock_gettime(CLOCK_REALTIME, &reading.time);
	if (!record->recorder &&
	    goroutine_recorder_open(&record->recorder, record->path, &record->keep))
		return 0;
	return goroutine_recorder_append(record->recorder, &reading) == -ENOMEM ? -ENOMEM : 0;
}

/*
 * Records the goroutines of a process. *found: whether it is a Go program; *why: the reason if they
 * cannot be recorded, else NULL.
 */
static int add(struct goroutines_record *record, pid_t pid, bool *found, const char **why)
{
	_cleanup_(thread_census_free) struct thread_census census = {.pid = (uint32_t)pid};
	int error = goroutines_add(&record->histories, &census);

	*found = !error && census.goroutines;
	*why = *found ? census.goroutines->why : NULL;
	return *found && !*why ? put(record, &census) : error;
}

int goroutines_record_report(struct goroutines_record *record, const struct report *report,
			     bool always)
{
	uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int error = 0;

	if (!always && monotonic_ns() < record->due_ns)
		return 0;
	for (size_t i = 0; i < report->processes.count && !error; i++) {
		const struct snapshot_process *process = report->processes.items[i].process;
		const char *why;
		bool found;

		if (!process->exited && process->pid && process->pid <= INT32_MAX)
			error = add(record, (pid_t)process->pid, &found, &why);
	}
	record->due_ns =
		monotonic_ns() + READING_SHARE * (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns);
	return error;
}

void goroutines_record_close(struct goroutines_record *record)
{
	goroutine_recorder_close(record->recorder);
	task_histories_free(&record->histories);
}

/* -------- programs without probes */

struct run {
	const struct record_options *options;
	struct goroutines_record record;
	bool ended; /* all processes have ended */
	bool said;
};

static int make_report(void *context, enum report_cause cause)
{
	struct run *run = context;
	const struct selector_config *chosen = &run->options->session.targets.chosen;
	size_t alive = 0;
	int error = 0;

	interrupt_removes(NULL); /* from now on the file is worth keeping */
	for (size_t i = 0; i < chosen->pids.count && !error; i++) {
		const char *why;
		bool found;

		error = add(&run->record, chosen->pids.items[i], &found, &why);
		alive += found;
		if (why && !run->said)
			log_error("PID %d: its goroutines are not recorded: %s",
				  (int)chosen->pids.items[i], why);
		run->said |= why != NULL;
	}
	run->ended = !alive;
	if (error)
		log_error("out of memory");
	else if (cause == REPORT_ASKED)
		log_info("%s: reading %llu of goroutines is recorded", run->options->path,
			 (unsigned long long)goroutine_recorder_count(run->record.recorder));
	return error;
}

static bool is_done(void *context)
{
	return ((struct run *)context)->ended;
}

/* Warns of options that need a session. */
static void warn_of_unused(const struct record_options *options)
{
	if (options->diagnose || options->label || options->profile)
		log_warning("without malloc only goroutines are recorded: --%s does nothing here",
			    options->diagnose ? "diagnose"
			    : options->label  ? "label"
					      : "profile");
}

static int finish(const struct run *run, int code)
{
	uint64_t count = goroutine_recorder_count(run->record.recorder);
	uint64_t missed = goroutine_recorder_missed(run->record.recorder);

	log_info("%s holds %llu reading%s of goroutines", run->options->path,
		 (unsigned long long)count, count == 1 ? "" : "s");
	if (missed)
		log_error("%llu readings could not be recorded: see the messages above",
			  (unsigned long long)missed);
	return missed && code == EXIT_OK ? EXIT_ERROR : code;
}

int goroutines_record_run(const struct record_options *options)
{
	struct run run = {.options = options,
			  .record = {.path = options->path,
				     .keep = {.keep_bytes = options->keep_bytes,
					      .keep_ns = options->keep_ns}}};
	struct report_loop loop = REPORT_LOOP_CLOSED;
	const struct run_hooks hooks = {.context = &run, .report = make_report, .is_done = is_done};
	int error, code;

	if (!access(options->path, F_OK)) {
		log_error("cannot record to %s: %s; name another file, or remove this one",
			  options->path, strerror(EEXIST));
		return EXIT_ERROR;
	}
	warn_of_unused(options);
	error = report_loop_open(&loop, &options->session.schedule, false);
	if (!error)
		error = goroutine_recorder_open(&run.record.recorder, options->path,
						&run.record.keep);
	if (!error) {
		interrupt_removes_database(options->path);
		error = make_report(&run, REPORT_INTERVAL); /* the baseline of growth */
	}
	if (!error && !run.ended)
		log_info("without malloc: goroutines are recorded, and no probes are set");
	if (!error && !run.ended)
		error = report_loop_run(&loop, &hooks);
	interrupt_removes(NULL);
	report_loop_close(&loop);
	code = error ? EXIT_ERROR : EXIT_OK;
	if (run.record.recorder) {
		bool made = goroutine_recorder_count(run.record.recorder) ||
			    goroutine_recorder_missed(run.record.recorder);

		code = made ? finish(&run, code) : EXIT_ERROR;
		goroutines_record_close(&run.record);
		/* Remove the file if the run never began. */
		if (!made)
			remove(options->path);
	} else {
		goroutines_record_close(&run.record);
	}
	return code;
}
