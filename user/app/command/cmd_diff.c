// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon diff: changes between two snapshots of one recording or of two. */
#include <errno.h>

#include "app/command/command.h"
#include "app/runs/stored_diff.h"
#include "app/runs/stored_report.h"
#include "base/cli/values.h"
#include "base/log.h"

static int run(const void *options)
{
	return stored_diff(options);
}

static int check(void *options, const struct given *given)
{
	struct diff_options *diff = options;

	(void)given;
	if (!diff->before) {
		log_error(
			"no recording: name one that `leakmon record -o FILE` made, as in `leakmon diff FILE`");
		return -EINVAL;
	}
	if (diff->retain_runs && stored_check_format(diff->output.format, OUTPUT_RETAIN_DIFF))
		return -EINVAL;
	if (diff->goroutines && stored_check_format(diff->output.format, OUTPUT_THREADS))
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
	{"goroutines", 0, NULL, "compare the goroutines of Go programs", value_set_flag,
	 .offset = offsetof(struct diff_options, goroutines)},
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
		 {&diff_fail_over_group, PART(output)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = {{"OLD", "FILE", file_read_name, PART(before)},
			{"NEW", "FILE", file_read_name, PART(after)}},
	.check = check,
	.run = run,
};
