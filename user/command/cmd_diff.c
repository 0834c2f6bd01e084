// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon diff: what changed between two snapshots of one recording or of two. */
#include <errno.h>
#include <string.h>

#include "report/diff.h"
#include "analyze/diff_build.h"
#include "analyze/level.h"
#include "analyze/report_build.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "cli/values.h"
#include "command/command.h"
#include "runs/stored_retention.h"
#include "runs/stored_profile.h"
#include "memory/memory_split.h"
#include "monitor/emit.h"
#include "store/recording.h"

struct side {
	struct recording *recording; /* owned by the first side that opened it */
	char *path;		     /* without @SEQ */
	const char *at;		     /* into path's allocation; NULL: not said */
	size_t position;
	struct history history; /* empty unless the format wants it */
	struct history around;	/* with what came after the snapshot */
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

/* FILE@SEQ. A file whose very name holds an @ is that file. */
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
	error = report_build(&side->report, &side->snapshot, &all);
	side->report.memory = &side->memory;
	side->report.host = recording_host(side->recording);
	if (error)
		log_error("out of memory");
	return error ? error : recording_name(side->recording, &side->report);
}

/* `span`: how many snapshots both ends have for what is around them. */
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

/* One FILE alone: its first snapshot, or the one it names, against its last. */
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
	/* Two recordings are compared as they ended, one as it began and ended. */
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

/* Of one recording, the ends share what lies between them. */
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
	diff->same_run = comparison->one_recording;
	diff->top = options->output.report.top;
	diff->colour = emit_wants_colour(&options->output);
	if (diff->unrelated)
		log_warning("no call stack of %s is in %s: are they of the same program?",
			    comparison->before.path, comparison->after.path);
}

static int write_out(const struct comparison *comparison, const struct diff_options *options)
{
	const struct output_format *format = output_find(options->output.format);
	FILE *out;
	int error = emit_open_stream(&options->output, &out);

	if (error)
		return error;
	emit_guard(&options->output, out);
	error = format->diff(out, &comparison->diff);
	if (error)
		emit_say_failed("the difference", error);
	emit_close(out);
	return error;
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
	if (write_out(comparison, options))
		return EXIT_ERROR;
	return exit_code_of(options, (int64_t)(diff->stays_after.bytes - diff->stays_before.bytes));
}

static int diff_retained(const struct comparison *comparison, const struct diff_options *options)
{
	const struct side *before = &comparison->before, *after = &comparison->after;
	int64_t growth = 0;
	int error = stored_retention_diff(
		&(struct stored_retention_side){before->recording, before->path, before->at},
		&(struct stored_retention_side){after->recording, after->path, after->at},
		&options->output, &growth);

	return error ? EXIT_ERROR : exit_code_of(options, growth);
}

static int diff_profiles(const struct comparison *comparison, const struct diff_options *options)
{
	const struct side *before = &comparison->before, *after = &comparison->after;
	int error = stored_profile_diff(
		&(struct stored_profile_side){before->recording, before->path, before->at},
		&(struct stored_profile_side){after->recording, after->path, after->at},
		&options->output);

	return error ? EXIT_ERROR : EXIT_OK;
}

static int run(const void *options)
{
	const struct diff_options *wanted = options;
	_cleanup_(comparison_free) struct comparison comparison = {0};
	int error = parse(&comparison, wanted);

	if (!error)
		error = open_both(&comparison);
	if (error)
		return EXIT_ERROR;
	if (wanted->profiles ||
	    (!wanted->retain_runs && stored_profiles_only(comparison.before.recording) &&
	     stored_profiles_only(comparison.after.recording)))
		return diff_profiles(&comparison, wanted);
	if (wanted->retain_runs || (stored_retentions_only(comparison.before.recording) &&
				    stored_retentions_only(comparison.after.recording)))
		return diff_retained(&comparison, wanted);
	return diff_snapshots(&comparison, wanted);
}

static int check(void *options, const struct given *given)
{
	struct diff_options *diff = options;

	(void)given;
	if (!diff->before) {
		log_error("no recording: name one that `leakmon record -o FILE` made, as in "
			  "`leakmon diff FILE`");
		return -EINVAL;
	}
	if (diff->retain_runs && stored_retention_check_diff_format(diff->output.format))
		return -EINVAL;
	return output_check(&diff->output);
}

static const struct option_row diff_rows[] = {
	{"by", 0, "site|function|module|file|container|build|host", "what is compared (site)",
	 value_set_choice, NULL, .offset = offsetof(struct diff_options, by)},
	{"retain", 0, NULL, "compare runs of `leakmon retain`, not snapshots", value_set_flag,
	 .offset = offsetof(struct diff_options, retain_runs)},
	{"profile", 0, NULL, "compare profiles of `leakmon record --profile`", value_set_flag,
	 .offset = offsetof(struct diff_options, profiles)},
};
static const struct option_group diff_group = {"What is compared", diff_rows,
					       ARRAY_SIZE(diff_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_DIFF)};
static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct diff_options defaults = {.output = OUTPUT_DEFAULTS};

#define PART(member) offsetof(struct diff_options, member)
const struct command command_diff = {
	.name = "diff",
	.summary = "show what changed between two snapshots",
	.usage = "  leakmon diff OLD[@SEQ] NEW[@SEQ] [OPTION...]\n"
		 "  leakmon diff FILE [OPTION...]     (its first snapshot against its last)\n",
	.about = "Shows what changed between two snapshots, of one recording or of two: new,\n"
		 "grown, shrunk and gone call stacks, most bytes first.\n",
	.examples = "  leakmon diff web.lkm                  from the first to the last snapshot\n"
		    "  leakmon diff web.lkm@3 web.lkm@last   from the third one on\n"
		    "  leakmon diff old.lkm new.lkm --by function\n"
		    "                                        before and after a fix\n"
		    "  leakmon diff old.lkm new.lkm --format html > fix.html\n"
		    "  leakmon diff base.lkm run.lkm --fail-over 1M\n"
		    "                                        exit 3 if it grew by more\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&diff_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&top_group, PART(output)},
		 {&sort_group, PART(output)},
		 {&fail_over_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = {{"OLD", "FILE", file_read_name, PART(before)},
			{"NEW", "FILE", file_read_name, PART(after)}},
	.check = check,
	.run = run,
};
