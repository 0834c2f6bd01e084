// SPDX-License-Identifier: GPL-2.0-or-later
#include "runs/stored_profile.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/command_line.h"
#include "monitor/emit.h"
#include "output/output.h"
#include "report/profile_diff.h"

bool stored_profiles_only(const struct recording *recording)
{
	size_t snapshots, profiles;

	recording_snapshots(recording, &snapshots);
	recording_profiles(recording, &profiles);
	return !snapshots && profiles;
}

static int check_format(const char *name, enum output_kind kind)
{
	const struct output_format *format = output_find(name);
	char phrase[CHOICES_PHRASE_SIZE];

	if (format && output_has(format, kind))
		return 0;
	log_error("--format %s cannot show %s: choose %s", name,
		  kind == OUTPUT_PROFILE ? "a profile" : "the difference of profiles",
		  choices_phrase(phrase, output_words(kind)));
	return -EINVAL;
}

static int read_profile(struct recording *recording, const char *at, struct profile_report *report)
{
	size_t position;
	int error = recording_find_profile(recording, at, &position);

	return error ? error : recording_read_profile(recording, position, report);
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
	return output->top_given ? output->report.top : format->default_top;
}

int stored_profile_report(struct recording *recording, const char *at,
			  const struct output_options *output)
{
	_cleanup_(profile_report_free) struct profile_report report = {0};
	const struct output_format *format = output_find(output->format);
	FILE *out;
	int error = check_format(output->format, OUTPUT_PROFILE);

	if (!error)
		error = read_profile(recording, at, &report);
	if (error)
		return error;
	error = emit_open_stream(output, &out);
	if (error)
		return error;
	emit_guard(output, out);
	report.lost_reports = recording_missed(recording);
	report.colour = emit_wants_colour(output);
	profile_report_cut(&report, top_of(output, format));
	return close_output(out, format->profile(out, &report));
}

int stored_profile_diff(const struct stored_profile_side *before,
			const struct stored_profile_side *after,
			const struct output_options *output)
{
	_cleanup_(profile_report_free) struct profile_report was = {0}, is = {0};
	_cleanup_(profile_diff_free) struct profile_diff diff = {.before_name = before->path,
								 .after_name = after->path};
	const struct output_format *format = output_find(output->format);
	FILE *out;
	int error = check_format(output->format, OUTPUT_PROFILE_DIFF);

	if (!error)
		error = read_profile(before->recording, before->at, &was);
	if (!error)
		error = read_profile(after->recording, after->at, &is);
	if (error)
		return error;
	if (profile_diff_build(&diff, &was, &is)) {
		log_error("out of memory");
		return -ENOMEM;
	}
	error = emit_open_stream(output, &out);
	if (error)
		return error;
	emit_guard(output, out);
	diff.top = top_of(output, format);
	diff.colour = emit_wants_colour(output);
	return close_output(out, format->profile_diff(out, &diff));
}
