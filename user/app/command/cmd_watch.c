// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/command/command.h"
#include "app/monitor/watch.h"
#include "base/cleanup.h"
#include "base/cli/values.h"

/* Returns whether only one report is needed: a check at the end, without readers meanwhile. */
static bool is_check(const struct session_options *options)
{
	const struct output_options *output = &options->output;

	return (output->fail_over != UINT64_MAX || output->junit) && !options->schedule.repeat &&
	       !output->listen && !output->textfile_dir && !push_is_wanted(&output->push);
}

static int check(void *words, const struct given *given)
{
	struct session_options *options = words;

	if (is_check(options))
		options->schedule.interval_ns = 0;
	return session_options_check(options, given);
}

static int run(const void *options)
{
	return watch_run(options, NULL);
}

static const struct option_row format_rows[] = {
	FORMAT_ROW(OUTPUT_REPORT),
};

static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct option_row trace_rows[] = {
	{"trace", 't', NULL, "also print every allocation and free as it happens", value_set_flag,
	 .offset = offsetof(struct tracking_options, trace)},
};

static const struct option_group trace_group = {"Output", trace_rows, ARRAY_SIZE(trace_rows)};

static const struct session_options defaults = SESSION_DEFAULTS;

#define PART(member) offsetof(struct session_options, member)

const struct command command_watch = {
	.name = "watch",
	.summary = "show outstanding allocations by call stack (default with a target)",
	.usage = "  leakmon [watch] TARGET [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon [watch] [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
	.about = "Shows what running programs have allocated and not freed, by call stack:\n"
		 "every INTERVAL seconds (5), COUNT times (until Ctrl-C), and once more at the\n"
		 "end; with --fail-over or --junit at the end alone, unless INTERVAL is given.\n"
		 "SIGUSR1 asks for a report now. The exit status of a CMD that fails is "
		 "leakmon's.\n",
	.examples =
		"  leakmon -p 1234                       report every 5 s until Ctrl-C\n"
		"  leakmon -p 1234 10 6                  six reports, 10 s apart\n"
		"  leakmon -p 1234 -o 60000 -T 3 60      top 3, only blocks over 1 min old\n"
		"  leakmon -p 1234 --format json 60 >> leaks.ndjson\n"
		"                                        a line of JSON every minute\n"
		"  leakmon --fail-over 1M -- ./server    start it; exit 3 if over 1 MiB is left\n"
		"  leakmon --fail-over 0 --suppress known.txt --junit leaks.xml -- ./tests\n"
		"                                        in continuous integration\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 TRACKING_USES,
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&textfile_group, PART(output)},
		 {&listen_group, PART(output)},
		 {&push_group, PART(output)},
		 {&webhook_group, PART(output)},
		 {&top_group, PART(output)},
		 {&sort_group, PART(output)},
		 {&blocks_group, PART(output)},
		 {&trace_group, PART(tracking)},
		 {&fail_over_group, PART(output)},
		 {&test_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&bytes_group, PART(output)},
		 {&color_group, PART(output)},
		 {&benchmark_group, PART(tracking)}},
	.positionals = SCHEDULE_WORDS(struct session_options, schedule),
	.implied_by = {&target_group, &launch_group},
	.follows_options = true,
	.alternative = &command_triage,
	.alternative_how = "leave out the target",
	.check = check,
	.free = session_options_free,
	.run = run,
	.is_monitor = true,
};
