// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon report: shows one snapshot of a recording, with its history. */
#include <errno.h>

#include "app/command/command.h"
#include "app/runs/stored_report.h"
#include "base/cli/values.h"
#include "base/log.h"

static int run(const void *options)
{
	return stored_report(options);
}

static int check(void *options, const struct given *given)
{
	struct show_options *show = options;

	(void)given;
	if (!show->path) {
		log_error(
			"no recording: name one that `leakmon record -o FILE` made, as in `leakmon report FILE`");
		return -EINVAL;
	}
	if (show->retain_runs && stored_check_format(show->output.format, OUTPUT_RETAIN))
		return -EINVAL;
	if (show->goroutines && stored_check_format(show->output.format, OUTPUT_THREADS))
		return -EINVAL;
	return output_check(&show->output);
}

static const struct option_row report_rows[] = {
	{"at", 0, "TIME|SEQ", "the snapshot to show: a number, a label, 13:00, -10min (last)",
	 value_set_text, "a number, a label, `first`, `last` or a time",
	 .offset = offsetof(struct show_options, at)},
	{"host", 0, "NAME", "of a fleet (`leakmon merge`), only this host", value_set_text,
	 "the name of a host", .offset = offsetof(struct show_options, host)},
	{"oom", 0, NULL, "list the OOM kills in it; show the last one, or that of --at",
	 value_set_flag, .offset = offsetof(struct show_options, oom)},
	{"retain", 0, NULL, "show runs of `leakmon retain` in it, not snapshots", value_set_flag,
	 .offset = offsetof(struct show_options, retain_runs)},
	{"profile", 0, NULL, "show profiles of `leakmon record --profile` in it", value_set_flag,
	 .offset = offsetof(struct show_options, profiles)},
	{"goroutines", 0, NULL, "show the goroutines of a Go program in it", value_set_flag,
	 .offset = offsetof(struct show_options, goroutines)},
};
static const struct option_group report_group = {"What is shown", report_rows,
						 ARRAY_SIZE(report_rows)};

static const struct option_row format_rows[] = {
	FORMAT_ROW(OUTPUT_REPORT),
};
static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct show_options defaults = {.output = OUTPUT_DEFAULTS};

#define PART(member) offsetof(struct show_options, member)
const struct command command_report = {
	.name = "report",
	.summary = "show a snapshot of a recording",
	.usage = "  leakmon report FILE [--at TIME|SEQ] [OPTION...]\n",
	.about = "Shows one snapshot of a recording (--at; the last one by default) and its\n"
		 "history. The processes need not exist any more.\n",
	.examples =
		"  leakmon report web.lkm                as it was at the end\n"
		"  leakmon report web.lkm --at 13:00     as it was at one o'clock\n"
		"  leakmon report web.lkm --oom          what the OOM killer's last victim held\n"
		"  leakmon report web.lkm --sort growth  what grows fastest comes first\n"
		"  leakmon report web.lkm --format html > web.html\n"
		"                                        a page for any browser, offline\n"
		"  leakmon report web.lkm --format pprof --output web.pb.gz\n"
		"  leakmon report web.lkm --format folded | flamegraph.pl > web.svg\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&report_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&top_group, PART(output)},
		 {&sort_group, PART(output)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)}},
	.positionals = {{"FILE", "FILE", file_read_name, PART(path)}},
	.check = check,
	.run = run,
};
