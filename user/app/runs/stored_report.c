// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/stored_report.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "report/analyze/fleet_build.h"
#include "report/analyze/report_build.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text.h"
#include "base/cli/command_line.h"
#include "heap/memory/conclusion.h"
#include "report/memory_split.h"
#include "app/monitor/oom.h"
#include "report/retain_diff.h"
#include "report/fleet.h"
#include "report/history.h"
#include "report/profile_report.h"
#include "report/stored_diagnosis.h"

bool stored_profiles_only(const struct recording *recording)
{
	size_t snapshots, profiles;

	recording_snapshots(recording, &snapshots);
	recording_profiles(recording, &profiles);
	return !snapshots && profiles;
}

bool stored_retentions_only(const struct recording *recording)
{
	size_t snapshots, runs;

	recording_snapshots(recording, &snapshots);
	recording_retains(recording, &runs);
	return !snapshots && runs;
}

bool stored_goroutines_only(const struct recording *recording)
{
	size_t snapshots, runs, profiles, goroutines;

	recording_snapshots(recording, &snapshots);
	recording_retains(recording, &runs);
	recording_profiles(recording, &profiles);
	recording_goroutines(recording, &goroutines);
	return !snapshots && !runs && !profiles && goroutines;
}

int stored_check_format(const char *name, enum output_kind kind)
{
	static const char *const nouns[OUTPUT_KIND_MAX_] = {
		[OUTPUT_PROFILE] = "a profile",
		[OUTPUT_PROFILE_DIFF] = "the difference of profiles",
		[OUTPUT_RETAIN] = "runs of `leakmon retain`",
		[OUTPUT_RETAIN_DIFF] = "runs of `leakmon retain`",
		[OUTPUT_THREADS] = "goroutines",
	};
	const struct output_format *format = output_find(name);
	char phrase[CHOICES_PHRASE_SIZE];

	if (format && output_has(format, kind))
		return 0;
	log_error("--format %s cannot show %s: choose %s", name, nouns[kind],
		  choices_phrase(phrase, output_words(kind)));
	return -EINVAL;
}

int stored_profile_read(struct recording *recording, const char *at, struct profile_report *report)
{
	size_t position;
	int error = recording_find_profile(recording, at, &position);

	return error ? error : recording_read_profile(recording, position, report);
}

int stored_retention_read(struct recording *recording, const char *at, size_t *position,
			  struct retain_result *result)
{
	int error = recording_find_retain(recording, at, position);

	return error ? error : recording_read_retain(recording, *position, result);
}

int stored_goroutines_read(struct recording *recording, const char *at,
			   const struct output_options *output, size_t *position,
			   struct thread_report *report)
{
	const struct recording_goroutines *all;
	struct thread_census *census;
	size_t count;
	int error = stored_check_format(output->format, OUTPUT_THREADS);

	if (!error)
		error = recording_find_goroutines(recording, at, position);
	if (error)
		return error;
	all = recording_goroutines(recording, &count);
	census = vec_push(&report->processes);
	if (census)
		census->goroutines = calloc(1, sizeof(*census->goroutines));
	if (!census || !census->goroutines) {
		log_error("out of memory");
		return -ENOMEM;
	}
	report->time = all[*position].time;
	report->sequence = (uint64_t)all[*position].number;
	report->form = emit_form(output);
	report->stored = true;
	census->pid = (uint32_t)all[*position].pid;
	census->no_library = true;
	census->why = "only goroutines were recorded";
	memcpy(census->comm, all[*position].comm, sizeof(census->comm));
	return recording_read_goroutines(recording, *position, census->goroutines);
}

/* -------- profiles, retentions and goroutines */

static int report_profile(struct recording *recording, const char *at,
			  const struct output_options *output)
{
	_cleanup_(profile_report_free) struct profile_report report = {0};
	_cleanup_(stored_diagnoses_free) struct stored_diagnoses diagnoses = {0};
	const struct output_format *format = output_find(output->format);
	int error = stored_check_format(output->format, OUTPUT_PROFILE);

	if (!error)
		error = stored_profile_read(recording, at, &report);
	if (!error)
		error = recording_diagnoses(recording, at ? &report.time : NULL, &diagnoses);
	if (error)
		return error;
	report.diagnoses = &diagnoses;
	report.lost_reports = recording_missed(recording);
	report.form = emit_form(output);
	profile_report_cut(&report, output->top_given ? output->report.top : format->default_top);
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_PROFILE, &report);
}

/* Reads the history of one process, from its first run to the run at `position`. */
static int history_read(struct recording *recording, size_t position, pid_t pid,
			struct class_history *history)
{
	size_t count;
	const struct recording_retain *runs = recording_retains(recording, &count);
	int error = 0;

	for (size_t i = 0; !error && i <= position; i++) {
		_cleanup_(retain_result_free) struct retain_result result = {0};

		if (runs[i].pid != pid)
			continue;
		error = recording_read_retain(recording, i, &result);
		if (!error && class_history_add(history, &result)) {
			log_error("out of memory");
			error = -ENOMEM;
		}
	}
	return error;
}

/* Computes growth since the process's first run with a heap profile. */
static int heap_growth_read(struct recording *recording, size_t position,
			    struct retain_result *result)
{
	_cleanup_(heap_profile_history_free) struct heap_profile_history history = {0};
	size_t count;
	const struct recording_retain *runs = recording_retains(recording, &count);
	int error = 0;

	for (size_t i = 0; !error && i < position && !history.readings && result->heap_profile;
	     i++) {
		_cleanup_(retain_result_free) struct retain_result first = {0};

		if (runs[i].pid != result->pid)
			continue;
		error = recording_read_retain(recording, i, &first);
		if (!error && first.heap_profile)
			error = heap_profile_history_add(&history, first.heap_profile);
	}
	if (!error && history.readings)
		error = heap_profile_history_add(&history, result->heap_profile);
	return error;
}

static int report_retention(struct recording *recording, const char *at,
			    const struct output_options *output)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_(class_history_free) struct class_history history = {0};
	const struct output_format *format = output_find(output->format);
	struct retain_report report = {.result = &result, .form = emit_form(output)};
	size_t position;
	int error = stored_check_format(output->format, OUTPUT_RETAIN);

	if (!error)
		error = stored_retention_read(recording, at, &position, &result);
	if (!error && (output->report.sort == SORT_INTEGRAL || format->wants_history))
		error = history_read(recording, position, result.pid, &history);
	if (!error)
		error = heap_growth_read(recording, position, &result);
	if (error)
		return error;
	if (history.times.count > 1)
		report.history = &history;
	report.top = output->top_given ? output->report.top : format->retain_top;
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_RETAIN, &report);
}

static int report_goroutines(struct recording *recording, const char *at,
			     const struct output_options *output)
{
	_cleanup_(thread_report_free) struct thread_report report = {0};
	_cleanup_(task_series_free) struct task_series series = {0};
	size_t position;
	int error = stored_goroutines_read(recording, at, output, &position, &report);

	if (!error && output_find(output->format)->wants_history)
		error = recording_goroutine_series(recording, position, &series);
	if (error)
		return error;
	if (series.times.count > 1)
		report.processes.items[0].goroutine_series = &series;
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_THREADS, &report);
}

/* The latest retention of each process, in the order of their first runs. */
struct retentions {
	VEC(struct retain_result) list;
};

static bool is_latest(const struct recording_retain *runs, size_t count, size_t i)
{
	for (size_t j = i + 1; j < count; j++) {
		if (runs[j].pid == runs[i].pid)
			return false;
	}
	return true;
}

static int retentions_read(struct recording *recording, struct retentions *set)
{
	size_t count;
	const struct recording_retain *runs = recording_retains(recording, &count);
	int error = 0;

	for (size_t i = 0; i < count && !error; i++) {
		struct retain_result *result =
			is_latest(runs, count, i) ? vec_push(&set->list) : NULL;

		if (result)
			error = recording_read_retain(recording, i, result);
		else if (is_latest(runs, count, i))
			error = -ENOMEM;
	}
	return error;
}

static void retentions_free(struct retentions *set)
{
	for (size_t i = 0; i < set->list.count; i++)
		retain_result_free(&set->list.items[i]);
	vec_free(&set->list);
}

/* -------- snapshots */

struct source {
	struct recording *recording;
	struct history history;
	struct snapshot snapshot;
	struct report report;
	struct memory_history memory;
	struct retentions retained;
	struct oom_kills oom;
	struct stored_diagnoses diagnoses;
	size_t hosts;	     /* of a fleet; 0: not a fleet */
	struct report whole; /* of a fleet, uncut */
	struct fleet fleet;
};

static void source_free(struct source *source)
{
	fleet_free(&source->fleet);
	report_free(&source->whole);
	report_free(&source->report);
	memory_history_free(&source->memory);
	retentions_free(&source->retained);
	snapshot_free(&source->snapshot);
	history_free(&source->history);
	oom_kills_free(&source->oom);
	stored_diagnoses_free(&source->diagnoses);
	recording_close(source->recording);
}

static const char *label_at(const struct recording *recording, size_t position)
{
	size_t count;

	return recording_snapshots(recording, &count)[position].label;
}

/* Builds the fleet from all sites: those cut from the report exist on hosts, too. */
static int fleet_read(struct source *source)
{
	const struct report_options all = {.sort = SORT_BYTES, .history = &source->history};
	struct report *report = &source->report;
	size_t count;
	const struct report_host *hosts = recording_hosts(source->recording, &count);
	int error;

	if (!count)
		return 0;
	error = report_build(&source->whole, &source->snapshot, &all);
	source->whole.hosts = report->hosts = hosts;
	source->whole.host_count = report->host_count = count;
	if (!error && recording_name(source->recording, &source->whole))
		return -EUCLEAN; /* said */
	if (!error)
		error = fleet_build(&source->fleet, &source->whole);
	if (error)
		log_error("out of memory");
	else
		report->fleet = &source->fleet;
	return error;
}

static bool is_host(const struct recording *recording, const char *name)
{
	size_t count;
	const struct report_host *hosts = recording_hosts(recording, &count);

	for (size_t i = 0; i < count; i++) {
		if (!strcmp(hosts[i].name, name))
			return true;
	}
	return !count && !strcmp(recording_host(recording), name);
}

/* --host: removes all other hosts, from the ledger too. */
static int host_choose(struct source *source, const char *host)
{
	if (!is_host(source->recording, host)) {
		log_error(
			"--host %s: the recording has no host of that name; `leakmon report FILE --format json` names them",
			host);
		return -ENOENT;
	}
	if (source->hosts)
		snapshot_keep_host(&source->snapshot, host);
	return 0;
}

static int source_read(struct source *source, const struct show_options *options)
{
	struct report_options report = options->output.report;
	size_t position;
	int error = recording_find(source->recording, options->at, &position);

	if (!error)
		error = recording_history(source->recording, position, &source->history);
	if (!error)
		error = recording_read(source->recording, position, &source->snapshot);
	if (!error)
		error = recording_memory(source->recording, position, &source->memory);
	if (!error)
		recording_hosts(source->recording, &source->hosts);
	if (!error && options->host)
		error = host_choose(source, options->host);
	if (error)
		return error;
	report.history = &source->history;
	memory_history_conclude(&source->memory);
	error = report_build(&source->report, &source->snapshot, &report);
	if (!error)
		error = oom_kills_of_label(&source->oom, label_at(source->recording, position));
	if (error)
		log_error("out of memory");
	source->report.memory = &source->memory;
	source->report.oom = &source->oom;
	if (!error)
		error = recording_diagnoses(source->recording,
					    options->at ? &source->snapshot.time : NULL,
					    &source->diagnoses);
	source->report.diagnoses = &source->diagnoses;
	if (!error)
		error = recording_name(source->recording, &source->report);
	return error || options->host ? error : fleet_read(source);
}

static int report_snapshot(struct source *source, const struct show_options *options)
{
	int error = source_read(source, options);

	if (!error && output_find(options->output.format)->wants_retained)
		error = retentions_read(source->recording, &source->retained);
	source->report.retained = source->retained.list.items;
	source->report.retained_count = source->retained.list.count;
	source->report.lost_reports = error ? 0 : recording_missed(source->recording);
	source->report.host = error ? NULL : recording_host(source->recording);
	source->report.form = emit_form(&options->output);
	return error ? error
		     : emit_once(&options->output, EMIT_ONCE, OUTPUT_REPORT, &source->report);
}

/* Prints "#12 2026-11-22 13:00:05 oom 1234". */
static void kill_print(uint64_t number, const struct timespec *time, const char *what)
{
	char when[32] = "";
	struct tm local;

	if (localtime_r(&time->tv_sec, &local))
		strftime(when, sizeof(when), "%F %T", &local);
	fprintf(stderr, "#%llu  %s  ", (unsigned long long)number, when);
	text_print_inert(stderr, what);
	fputc('\n', stderr);
}

static int say_no_kill(const struct show_options *show)
{
	log_error("no target was OOM-killed while %s was recorded", show->path);
	return -ENOENT;
}

/* Chooses an OOM kill as choose_kill() does, among profiles; `own_at` has room for a number. */
static int choose_kill_of_profiles(const struct recording *recording, struct show_options *show,
				   char own_at[24])
{
	size_t count, kills = 0;
	const struct recording_profile *profiles = recording_profiles(recording, &count);

	for (size_t i = 0; i < count; i++) {
		char what[64];

		if (!profiles[i].oom_kills)
			continue;
		snprintf(what, sizeof(what), "%zu killed", profiles[i].oom_kills);
		kill_print((uint64_t)profiles[i].number, &profiles[i].time, what);
		snprintf(own_at, 24, "%lld", (long long)profiles[i].number);
		kills++;
	}
	if (kills && !show->at)
		show->at = own_at;
	return kills ? 0 : say_no_kill(show);
}

/*
 * Lists OOM kills, and chooses the last one unless --at names another. Returns 0; -ENOENT: there is
 * none; or -ENOMEM.
 */
static int choose_kill(const struct recording *recording, struct show_options *show)
{
	const char *at = show->at;
	size_t count, kills = 0;
	const struct recording_snapshot *snapshots = recording_snapshots(recording, &count);

	for (size_t i = 0; i < count; i++) {
		_cleanup_(oom_kills_free) struct oom_kills labelled = {0};

		if (oom_kills_of_label(&labelled, snapshots[i].label))
			return -ENOMEM;
		if (!labelled.list.count)
			continue;
		kill_print(snapshots[i].sequence, &snapshots[i].time, snapshots[i].label);
		kills++;
		if (!at)
			show->at = snapshots[i].label;
	}
	return kills ? 0 : say_no_kill(show);
}

/* -------- choice of the kind */

int stored_report(const struct show_options *options)
{
	struct show_options own = *options;
	const struct show_options *show = &own;
	_cleanup_(source_free) struct source source = {0};
	int error = recording_open(&source.recording, show->path);
	bool profiles;
	char at[24];

	profiles = !error && (show->profiles || (!show->retain_runs && !show->goroutines &&
						 stored_profiles_only(source.recording)));
	if (!error && show->oom)
		error = profiles ? choose_kill_of_profiles(source.recording, &own, at)
				 : choose_kill(source.recording, &own);
	if (error)
		return EXIT_ERROR;
	if (show->goroutines ||
	    (!profiles && !show->retain_runs && stored_goroutines_only(source.recording)))
		error = report_goroutines(source.recording, show->at, &show->output);
	else if (profiles)
		error = report_profile(source.recording, show->at, &show->output);
	else if (show->retain_runs || stored_retentions_only(source.recording))
		error = report_retention(source.recording, show->at, &show->output);
	else
		error = report_snapshot(&source, show);
	return error ? EXIT_ERROR : EXIT_OK;
}
