// SPDX-License-Identifier: GPL-2.0-or-later
#include "runs/stored_retention.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/command_line.h"
#include "monitor/emit.h"
#include "output/retain_format.h"

bool stored_retentions_only(const struct recording *recording)
{
	size_t snapshots, runs;

	recording_snapshots(recording, &snapshots);
	recording_retains(recording, &runs);
	return !snapshots && runs;
}

static int close_output(FILE *out, int error)
{
	if (emit_close(out) && !error)
		error = -errno;
	if (error)
		emit_say_failed("the report", error);
	return error;
}

static size_t top_of(const struct output_options *output, const struct output_format *format)
{
	return output->top_given ? output->report.top : format->retain_top;
}

static int read_run(struct recording *recording, const char *at, size_t *position,
		    struct retain_result *result)
{
	int error = recording_find_retain(recording, at, position);

	return error ? error : recording_read_retain(recording, *position, result);
}

static int check(const char *name, enum output_kind kind)
{
	const struct output_format *format = output_find(name);
	char phrase[CHOICES_PHRASE_SIZE];

	if (format && output_has(format, kind))
		return 0;
	log_error("--format %s cannot show runs of `leakmon retain`: choose %s", name,
		  choices_phrase(phrase, output_words(kind)));
	return -EINVAL;
}

int stored_retention_check_format(const char *format)
{
	return check(format, OUTPUT_RETAIN);
}

int stored_retention_check_diff_format(const char *format)
{
	return check(format, OUTPUT_RETAIN_DIFF);
}

int stored_retention_report(struct recording *recording, const char *at,
			    const struct output_options *output)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	const struct output_format *format = output_find(output->format);
	struct retain_report report = {.result = &result, .colour = emit_wants_colour(output)};
	size_t position;
	FILE *out;
	int error = stored_retention_check_format(output->format);

	if (!error)
		error = read_run(recording, at, &position, &result);

	if (error)
		return error;
	error = emit_open_stream(output, &out);
	if (error)
		return error;
	emit_guard(output, out);
	report.top = top_of(output, format);
	return close_output(out, format->retain(out, &report));
}

static void describe(struct retain_diff_report *report, const struct stored_retention_side *before,
		     size_t before_position, const struct stored_retention_side *after,
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

static uint64_t bytes_of(const struct retain_result *result)
{
	uint64_t bytes = 0;

	for (size_t i = 0; i < VERDICT_MAX_; i++)
		bytes += result->totals[i].bytes;
	return bytes;
}

static int write_diff(const struct retain_diff_report *report, const struct output_options *output,
		      const struct output_format *format)
{
	FILE *out;
	int error = emit_open_stream(output, &out);

	if (error)
		return error;
	emit_guard(output, out);
	return close_output(out, format->retain_diff(out, report));
}

int stored_retention_diff(const struct stored_retention_side *before,
			  const struct stored_retention_side *after,
			  const struct output_options *output, int64_t *growth)
{
	_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	const struct output_format *format = output_find(output->format);
	struct retain_diff_report report = {.diff = &diff, .colour = emit_wants_colour(output)};
	size_t before_position, after_position;
	int error = stored_retention_check_diff_format(output->format);

	if (!error)
		error = read_run(before->recording, before->at, &before_position, &was);
	if (!error)
		error = read_run(after->recording, after->at, &after_position, &is);
	if (error)
		return error;
	if (retain_diff_build(&was, &is, &diff)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	describe(&report, before, before_position, after, after_position);
	report.top = top_of(output, format);
	*growth = (int64_t)(bytes_of(&is) - bytes_of(&was));
	return write_diff(&report, output, format);
}

static bool is_latest(const struct recording_retain *runs, size_t count, size_t i)
{
	for (size_t j = i + 1; j < count; j++) {
		if (runs[j].pid == runs[i].pid)
			return false;
	}
	return true;
}

int stored_retentions_read(struct recording *recording, struct stored_retentions *set)
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

void stored_retentions_free(struct stored_retentions *set)
{
	for (size_t i = 0; i < set->list.count; i++)
		retain_result_free(&set->list.items[i]);
	vec_free(&set->list);
}
