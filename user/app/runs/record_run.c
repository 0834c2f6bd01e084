// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/record_run.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/interrupt.h"
#include "base/log.h"
#include "heap/memory/memory_parts.h"
#include "report/memory_split.h"
#include "app/monitor/watch.h"
#include "app/profile/profile_run.h"
#include "app/runs/goroutines_record.h"
#include "app/runs/record_diagnose.h"
#include "report/store/profile_runs.h"
#include "report/store/recorder.h"

/* Reading the breakdown of memory takes 1/N of the time at most, so not every snapshot has it. */
#define MEMORY_SHARE 100
/* Above this size one reading would take seconds, without snapshots in between. */
#define MEMORY_RSS_MAX (UINT64_C(16) << 30)

struct record_run {
	struct recorder *recorder;
	struct record_diagnose diagnose;
	struct goroutines_record goroutines;
	uint64_t memory_due_ns; /* on the monotonic clock */
	bool said_too_big;
};

static bool is_too_big(struct record_run *run, pid_t pid)
{
	struct memory_status status;
	uint64_t rss = memory_status_read(pid, &status)
			       ? 0
			       : status.rss_anon + status.rss_file + status.rss_shmem;

	if (rss <= MEMORY_RSS_MAX)
		return false;
	if (!run->said_too_big)
		log_info(
			"process %d has more than 16 GiB: its memory breakdown is not recorded; see `leakmon memory -p %d`",
			pid, pid);
	run->said_too_big = true;
	return true;
}

/* Reads the memory of a process; an unreadable one is left out. Returns 0 or -ENOMEM. */
static int memory_of(struct record_run *run, const struct snapshot_process *process,
		     struct memory_history *memory)
{
	struct memory_process now;
	struct memory_split split;
	int error;

	if (process->exited || !process->pid || process->pid > INT32_MAX ||
	    is_too_big(run, (pid_t)process->pid))
		return 0;
	error = memory_process_read((pid_t)process->pid, NULL, &now);
	if (error)
		return error == -ENOMEM ? error : 0;
	split = memory_split_of(&now);
	error = memory_history_add(memory, process->key, process->comm, &split);
	memory_process_free(&now);
	return error;
}

/* Reads the memory of all processes. Returns 0 or -ENOMEM. */
static int read_memories(struct record_run *run, const struct report *report,
			 struct memory_history *memory)
{
	uint64_t before_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
	int error = 0;

	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = memory_of(run, report->processes.items[i].process, memory);
	run->memory_due_ns =
		monotonic_ns() + MEMORY_SHARE * (clock_ns(CLOCK_PROCESS_CPUTIME_ID) - before_ns);
	return error;
}

/*
 * Records a snapshot. If it cannot be written, it is counted as missed and logged; the run goes on.
 */
static int take(void *context, const struct report *report, const char *label, bool last)
{
	_cleanup_(memory_history_free) struct memory_history memory = {0};
	struct record_run *run = context;
	struct report with_memory = *report; /* borrowed */
	int error = 0;

	interrupt_removes(NULL); /* from now on the file is worth keeping */
	if (last || label || monotonic_ns() >= run->memory_due_ns)
		error = read_memories(run, report, &memory);
	with_memory.memory = &memory;
	if (!error)
		error = recorder_append(run->recorder, &with_memory, label, last);
	if (!error && label)
		log_info("snapshot %llu is recorded as `%s`",
			 (unsigned long long)report->snapshot->sequence, label);
	if (error != -ENOMEM)
		error = goroutines_record_report(&run->goroutines, report, last || label);
	record_diagnose_report(&run->diagnose, report);
	return error == -ENOMEM ? error : 0;
}

static int finish(struct recorder *recorder, const struct record_options *options, int code)
{
	uint64_t missed = recorder_missed(recorder);

	log_info("%s holds %llu snapshot%s", options->path,
		 (unsigned long long)recorder_snapshots(recorder),
		 recorder_snapshots(recorder) == 1 ? "" : "s");
	if (!missed)
		return code;
	log_error("%llu snapshots could not be recorded: see the messages above",
		  (unsigned long long)missed);
	return code == EXIT_OK ? EXIT_ERROR : code;
}

/* -------- --profile */

/* Call stacks kept for each process, by growth. */
#define PROFILE_SITES 50

struct profile_recording {
	struct profile_recorder *recorder;
	struct record_diagnose diagnose;
};

static int take_profile(void *context, const struct profile_report *report, bool last)
{
	struct profile_recording *run = context;
	int error;

	(void)last;
	interrupt_removes(NULL); /* from now on the file is worth keeping */
	error = profile_recorder_append(run->recorder, report);
	record_diagnose_profile(&run->diagnose, report);
	return error == -ENOMEM ? -ENOMEM : 0;
}

static int finish_profiles(struct profile_recorder *recorder, const struct record_options *record,
			   int code)
{
	uint64_t missed = profile_recorder_missed(recorder),
		 count = profile_recorder_count(recorder);

	log_info("%s holds %llu profile%s", record->path, (unsigned long long)count,
		 count == 1 ? "" : "s");
	if (!missed)
		return code;
	log_error("%llu profiles could not be recorded: see the messages above",
		  (unsigned long long)missed);
	return code == EXIT_OK ? EXIT_ERROR : code;
}

static int run_profile(const struct record_options *record, const struct recorder_options *keep)
{
	struct profile_options profile = {.session = record->session,
					  .overhead = record->overhead,
					  .floor = PROFILE_FLOOR,
					  .take = take_profile};
	const struct tracking_options tracking = PROFILE_TRACKING;
	struct profile_recording run = {.diagnose = {.path = record->diagnose ? record->path : NULL,
						     .keep = *keep,
						     .push_options = &record->session.output.push}};
	int error, code;
	bool made;

	profile.session.tracking = tracking;
	profile.session.tracking.debuginfod = record->session.tracking.debuginfod;
	profile.session.output.report.top = PROFILE_SITES;
	interrupt_ends(false); /* until the file to remove on an interruption is known */
	error = profile_recorder_open(&run.recorder, record->path, keep);
	if (!error)
		interrupt_removes_database(record->path);
	interrupt_ends(true);
	if (error)
		return EXIT_ERROR;
	profile.context = &run;
	code = profile_run(&profile);
	interrupt_removes(NULL);
	if (record_diagnose_finish(&run.diagnose) && code == EXIT_OK)
		code = EXIT_ERROR;
	made = profile_recorder_count(run.recorder) || profile_recorder_missed(run.recorder);
	if (made)
		code = finish_profiles(run.recorder, record, code);
	profile_recorder_close(run.recorder);
	/* Remove the file if the run never began. */
	if (!made)
		remove(record->path);
	return code;
}

int record_run(const struct record_options *options)
{
	const struct recorder_options keep = {.keep_bytes = options->keep_bytes,
					      .keep_ns = options->keep_ns};
	struct record_run run = {.diagnose = {.path = options->diagnose ? options->path : NULL,
					      .keep = keep,
					      .push_options = &options->session.output.push},
				 .goroutines = {.path = options->path, .keep = keep}};
	const struct run_hooks hooks = {.context = &run,
					.take = take,
					.label = options->label,
					.needs_history = options->diagnose,
					.takes_kills = true};
	struct recorder *recorder;
	int error, code;

	if (go_programs_only(&options->session.targets.chosen))
		return goroutines_record_run(options);
	if (options->profile)
		return run_profile(options, &keep);
	interrupt_ends(false); /* until the file to remove on an interruption is known */
	error = recorder_open(&run.recorder, options->path, &keep);
	if (!error)
		interrupt_removes_database(options->path);
	interrupt_ends(true);
	if (error)
		return EXIT_ERROR;
	recorder = run.recorder;
	code = watch_run(&options->session, &hooks);
	interrupt_removes(NULL);
	if (record_diagnose_finish(&run.diagnose) && code == EXIT_OK)
		code = EXIT_ERROR;
	goroutines_record_close(&run.goroutines);
	/* Remove the file if the run never began. */
	if (!recorder_snapshots(recorder) && !recorder_missed(recorder)) {
		recorder_close(recorder);
		remove(options->path);
		return code;
	}
	code = finish(recorder, options, code);
	recorder_close(recorder);
	return code;
}
