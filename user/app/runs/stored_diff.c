// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/stored_diff.h"

#include <errno.h>
#include <string.h>

#include "report/analyze/diff_build.h"
#include "report/analyze/site_trend.h"
#include "report/analyze/report_build.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "heap/memory/conclusion.h"
#include "report/memory_split.h"
#include "report/retain_diff.h"
#include "report/profile_diff.h"
#include "app/runs/stored_report.h"
#include "report/store/recording.h"

struct side {
	struct recording *recording; /* owned by the first side that opened it */
	char *path;		     /* without @SEQ */
	const char *at;		     /* points into path's allocation; NULL: not given */
	size_t position;
	struct history history; /* empty unless the format wants it */
	struct history around;	/* with later snapshots, too */
	struct snapshot snapshot;
	struct memory_history memory;
	struct report report;
};

static void side_free(struct side *side)
{
	report_free(&side->report);
	snapshot_free(&side->snapshot);
	memory_history_free(&side->memory);
	history_free(&side->history);
	history_free(&side->around);
	free(side->path);
}

/* Parses FILE@SEQ. An existing file with an @ in its name is taken as a whole. */
static int side_parse(struct side *side, const char *word)
{
	char *at;

	side->path = strdup(word);
	if (!side->path)
		return -ENOMEM;
	at = strrchr(side->path, '@');
	if (!at || !at[1] || at == side->path || !access(word, F_OK))
		return 0;
	*at = '\0';
	side->at = at + 1;
	return 0;
}

static int side_read(struct side *side, bool with_history)
{
	struct report_options all = {.sort = SORT_BYTES};
	int error = recording_find(side->recording, side->at, &side->position);

	if (with_history)
		all.history = &side->history;
	if (!error && with_history)
		error = recording_history(side->recording, side->position, &side->history);
	if (!error)
		error = recording_read(side->recording, side->position, &side->snapshot);
	if (!error)
		error = recording_memory(side->recording, side->position, &side->memory);
	if (error)
		return error;
	memory_history_conclude(&side->memory);
	error = report_build(&side->report, &side->snapshot, &all);
	side->report.memory = &side->memory;
	side->report.host = recording_host(side->recording);
	if (error)
		log_error("out of memory");
	return error ? error : recording_name(side->recording, &side->report);
}

/* Reads history around a side. `span`: the number of snapshots between the ends, for both. */
static int side_look_around(struct side *side, size_t span)
{
	size_t count, last;
	int error;

	recording_snapshots(side->recording, &count);
	last = MIN(side->position + MIN(span / LEVEL_SHARE, (size_t)LEVEL_SNAPSHOTS), count - 1);
	error = recording_history(side->recording, last, &side->around);
	if (error)
		return error;
	side->report.around = &side->around;
	side->report.around_span = MIN(span, side->around.times.count);
	return 0;
}

struct comparison {
	struct side before, after;
	bool one_recording;
	struct diff diff;
};

static void comparison_free(struct comparison *comparison)
{
	diff_free(&comparison->diff);
	side_free(&comparison->before);
	side_free(&comparison->after);
	if (!comparison->one_recording)
		recording_close(comparison->after.recording);
	recording_close(comparison->before.recording);
}

/* Parses the arguments. One FILE alone: its first snapshot, or the given one, against its last. */
static int parse(struct comparison *comparison, const struct diff_options *options)
{
	int error = side_parse(&comparison->before, options->before);

	if (!error)
		error = side_parse(&comparison->after,
				   options->after ? options->after : comparison->before.path);
	if (error) {
		log_error("out of memory");
		return error;
	}
	comparison->one_recording = !strcmp(comparison->before.path, comparison->after.path);
	/* Compare the ends of two recordings, but the beginning and the end of one. */
	if (comparison->one_recording && !comparison->before.at)
		comparison->before.at = "first";
	return 0;
}

static int open_both(struct comparison *comparison)
{
	int error = recording_open(&comparison->before.recording, comparison->before.path);

	if (error)
		return error;
	if (comparison->one_recording)
		comparison->after.recording = comparison->before.recording;
	else
		error = recording_open(&comparison->after.recording, comparison->after.path);
	return error;
}

/* Reads history around both ends; in one recording, they share the snapshots in between. */
static int look_around(struct comparison *comparison)
{
	struct side *before = &comparison->before, *after = &comparison->after;
	size_t spans[2];
	int error;

	if (comparison->one_recording) {
		spans[0] = MAX(before->position, after->position) + 1 -
			   MIN(before->position, after->position);
		spans[1] = spans[0];
	} else {
		recording_snapshots(before->recording, &spans[0]);
		recording_snapshots(after->recording, &spans[1]);
	}
	error = side_look_around(before, spans[0]);
	return error ? error : side_look_around(after, spans[1]);
}

static int compare(struct comparison *comparison, const struct diff_options *options)
{
	bool with_history = output_find(options->output.format)->wants_history;
	int error = side_read(&comparison->before, with_history);

	if (!error)
		error = side_read(&comparison->after, with_history);
	if (!error)
		error = look_around(comparison);
	if (error)
		return error;
	error = diff_build(&comparison->diff, &comparison->before.report, &comparison->after.report,
			   options->by, options->output.report.sort);
	comparison->diff.same_run = comparison->one_recording;
	if (!error)
		error = memory_changes_build(&comparison->diff, &comparison->diff.memory);
	if (error)
		log_error("out of memory");
	return error;
}

static const char *label_of(const struct side *side)
{
	size_t count;

	return recording_snapshots(side->recording, &count)[side->position].label;
}

static void describe(struct comparison *comparison, const struct diff_options *options)
{
	struct diff *diff = &comparison->diff;

	diff->before_name = comparison->before.path;
	diff->after_name = comparison->after.path;
	diff->before_label = label_of(&comparison->before);
	diff->after_label = label_of(&comparison->after);
	diff->top = options->output.report.top;
	diff->form = emit_form(&options->output);
	if (diff->unrelated)
		log_warning("no call stack of %s is in %s: are they of the same program?",
			    comparison->before.path, comparison->after.path);
}

static int exit_code_of(const struct diff_options *options, int64_t growth)
{
	if (growth <= 0 || (uint64_t)growth <= options->output.fail_over)
		return EXIT_OK;
	log_error("it grew by %lld bytes, more than --fail-over allows", (long long)growth);
	return EXIT_LEAK;
}

static int diff_snapshots(struct comparison *comparison, const struct diff_options *options)
{
	const struct diff *diff = &comparison->diff;

	if (compare(comparison, options))
		return EXIT_ERROR;
	describe(comparison, options);
	if (emit_once(&options->output, EMIT_ONCE_STREAM, OUTPUT_DIFF, diff))
		return EXIT_ERROR;
	return exit_code_of(options, (int64_t)(diff->stays_after.bytes - diff->stays_before.bytes));
}

/* -------- retentions */

static void describe_retentions(struct retain_diff_report *report, const struct side *before,
				size_t before_position, const struct side *after,
				size_t after_position)
{
	size_t count;
	const struct recording_retain *was =
		&recording_retains(before->recording, &count)[before_position];
	const struct recording_retain *is =
		&recording_retains(after->recording, &count)[after_position];

	report->before_name = before->path;
	report->after_name = after->path;
	report->before_number = was->number;
	report->after_number = is->number;
	report->before_label = was->label;
	report->after_label = is->label;
}

/* Compares Go programs without malloc: the later profile, with its growth. */
static int compare_profiles_of(struct retain_result *was, struct retain_result *is,
			       const struct output_options *output, int64_t *growth)
{
	_cleanup_(heap_profile_history_free) struct heap_profile_history history = {0};
	const struct output_format *format = output_find(output->format);
	struct retain_report report = {.result = is,
				       .top = output->top_given ? output->report.top
								: format->retain_top,
				       .form = emit_form(output)};

	if (heap_profile_history_add(&history, was->heap_profile) ||
	    heap_profile_history_add(&history, is->heap_profile)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	*growth = (int64_t)(is->heap_profile->bytes - was->heap_profile->bytes);
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_RETAIN, &report);
}

static int compare_retentions(const struct side *before, const struct side *after,
			      const struct output_options *output, int64_t *growth)
{
	_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	const struct output_format *format = output_find(output->format);
	struct retain_diff_report report = {.diff = &diff, .form = emit_form(output)};
	size_t before_position, after_position;
	int error = stored_check_format(output->format, OUTPUT_RETAIN_DIFF);

	if (!error)
		error = stored_retention_read(before->recording, before->at, &before_position,
					      &was);
	if (!error)
		error = stored_retention_read(after->recording, after->at, &after_position, &is);
	if (error)
		return error;
	if (was.profile_only && is.profile_only)
		return compare_profiles_of(&was, &is, output, growth);
	if (retain_diff_build(&was, &is, &diff)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	describe_retentions(&report, before, before_position, after, after_position);
	report.top = output->top_given ? output->report.top : format->retain_top;
	*growth = (int64_t)(retain_result_total(&is).bytes - retain_result_total(&was).bytes);
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_RETAIN_DIFF, &report);
}

static int diff_retentions(const struct comparison *comparison, const struct diff_options *options)
{
	int64_t growth = 0;
	int error = compare_retentions(&comparison->before, &comparison->after, &options->output,
				       &growth);

	return error ? EXIT_ERROR : exit_code_of(options, growth);
}

/* -------- profiles */

static int compare_profiles(const struct side *before, const struct side *after,
			    const struct output_options *output)
{
	_cleanup_(profile_report_free) struct profile_report was = {0}, is = {0};
	_cleanup_(profile_diff_free) struct profile_diff diff = {.before_name = before->path,
								 .after_name = after->path};
	const struct output_format *format = output_find(output->format);
	int error = stored_check_format(output->format, OUTPUT_PROFILE_DIFF);

	if (!error)
		error = stored_profile_read(before->recording, before->at, &was);
	if (!error)
		error = stored_profile_read(after->recording, after->at, &is);
	if (error)
		return error;
	if (profile_diff_build(&diff, &was, &is)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	diff.top = output->top_given ? output->report.top : format->default_top;
	diff.form = emit_form(output);
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_PROFILE_DIFF, &diff);
}

/* -------- goroutines */

/*
 * Reports the later of two readings, compared with the earlier if both are of one process, with the
 * time between them.
 */
static int compare_goroutines(const struct side *before, const struct side *after,
			      const struct output_options *output)
{
	_cleanup_(thread_report_free) struct thread_report was = {0}, is = {0};
	const struct recording_goroutines *first, *second;
	_cleanup_free_ char *since = NULL;
	size_t positions[2], count;
	int64_t span_ns;
	bool same;
	int error =
		stored_goroutines_read(before->recording, before->at, output, &positions[0], &was);

	if (!error)
		error = stored_goroutines_read(after->recording, after->at, output, &positions[1],
					       &is);
	if (error)
		return error;
	first = &recording_goroutines(before->recording, &count)[positions[0]];
	second = &recording_goroutines(after->recording, &count)[positions[1]];
	same = before->recording == after->recording && first->pid == second->pid &&
	       first->start_ticks == second->start_ticks && positions[0] <= positions[1];
	span_ns = (second->time.tv_sec - first->time.tv_sec) * INT64_C(1000000000) +
		  (second->time.tv_nsec - first->time.tv_nsec);
	if (asprintf(&since, "%s #%lld", before->path, (long long)first->number) < 0 ||
	    task_report_compare(was.processes.items[0].goroutines, is.processes.items[0].goroutines,
				(uint64_t)MAX(span_ns, 0), same)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	is.since = since;
	return emit_once(output, EMIT_ONCE_STREAM, OUTPUT_THREADS, &is);
}

/* -------- choice of the kind */

int stored_diff(const struct diff_options *options)
{
	_cleanup_(comparison_free) struct comparison comparison = {0};
	int error = parse(&comparison, options);

	if (!error)
		error = open_both(&comparison);
	if (error)
		return EXIT_ERROR;
	if (options->goroutines || (!options->retain_runs && !options->profiles &&
				    stored_goroutines_only(comparison.before.recording) &&
				    stored_goroutines_only(comparison.after.recording)))
		return compare_goroutines(&comparison.before, &comparison.after, &options->output)
			       ? EXIT_ERROR
			       : EXIT_OK;
	if (options->profiles ||
	    (!options->retain_runs && stored_profiles_only(comparison.before.recording) &&
	     stored_profiles_only(comparison.after.recording)))
		return compare_profiles(&comparison.before, &comparison.after, &options->output)
			       ? EXIT_ERROR
			       : EXIT_OK;
	if (options->retain_runs || (stored_retentions_only(comparison.before.recording) &&
				     stored_retentions_only(comparison.after.recording)))
		return diff_retentions(&comparison, options);
	return diff_snapshots(&comparison, options);
}
