// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon top: full-screen in the terminal. */
#include "app/command/command.h"
#include "app/top/top_track.h"
#include "app/top/top_triage.h"
#include "base/cli/values.h"

static int run(const void *options)
{
	const struct top_options *top = options;
	struct top_terminal terminal = TOP_TERMINAL_CLOSED;
	enum top_action end;
	int code;

	if (top_terminal_check())
		return EXIT_ERROR;
	if (targets_none(&top->session.targets))
		code = top_triage(top, &terminal);
	else
		code = top_track(top, &terminal, NULL, &end);
	top_terminal_close(&terminal);
	return code;
}

static int check(void *options, const struct given *given)
{
	return session_options_check(&((struct top_options *)options)->session, given);
}

#define FIELD(name) .offset = offsetof(struct top_options, name)
static const struct option_row top_rows[] = {
	{"output", 0, "FILE", "the recording for snapshots (leakmon-TIME.lkm)", value_set_text,
	 FILE_EXPECTED, FIELD(recording)},
	{"label", 0, "TEXT", "name of snapshots taken with F2", value_set_text, TEXT_EXPECTED,
	 FIELD(label)},
	{"budget", 0, "PERCENT", "without a target: limit on CPU time (5% of a core; 1% when idle)",
	 value_set_percent, "a percentage, e.g. 1% or 0.2%", FIELD(budget), .minimum = 1000000,
	 .maximum = 100 * 1000000000ull, .limits = "0.001% to 100%"},
};
#undef FIELD
static const struct option_group screen_group = {"Screen", top_rows, ARRAY_SIZE(top_rows)};

static const struct top_options defaults = {
	.session = {.schedule = {.interval_ns = 2000000000ull},
		    .tracking = TRACKING_DEFAULTS,
		    .probes = PROBE_DEFAULTS,
		    .output = OUTPUT_DEFAULTS},
};

#define PART(member) offsetof(struct top_options, session.member)
const struct command command_top = {
	.name = "top",
	.summary = "browse processes and call stacks full-screen",
	.usage = "  leakmon top [TARGET] [OPTION...] [INTERVAL [COUNT]]\n"
		 "  leakmon top [OPTION...] [INTERVAL [COUNT]] -- CMD ARGS...\n",
	.about = "Full-screen, every INTERVAL seconds (2). Without a target: the processes of\n"
		 "this machine, fastest growth first; Enter tracks one exactly, or profiles it\n"
		 "if it allocates too fast (see `leakmon help profile`). With a target:\n"
		 "processes and call stacks with their growth; Enter shows the frames of one.\n"
		 "F1 lists the keys. What a started command prints is not shown.\n",
	.examples = "  leakmon top                           what grows on this machine?\n"
		    "  leakmon top -p 1234                   which call stacks of this process?\n"
		    "  leakmon top -n postgres --sort growth 10\n"
		    "                                        of all of these, every 10 s\n"
		    "  leakmon top --output web.lkm -- ./server\n"
		    "                                        F2 puts snapshots into web.lkm\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&target_group, PART(targets.chosen)},
		 {&launch_group, PART(targets)},
		 TRACKING_USES,
		 {&screen_group, 0},
		 {&sort_group, PART(output)},
		 {&fail_over_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&color_group, PART(output)},
		 {&benchmark_group, PART(tracking)}},
	.positionals = SCHEDULE_WORDS(struct top_options, session.schedule),
	.check = check,
	.free = session_options_free,
	.run = run,
	.is_monitor = true,
};
