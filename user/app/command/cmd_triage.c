// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon without a target: growth on this machine, every INTERVAL. */
#include <errno.h>
#include <limits.h>
#include <signal.h>

#include "app/command/command.h"
#include "app/runs/triage_run.h"
#include "base/cleanup.h"
#include "base/cli/values.h"
#include "base/log.h"

static int run(const void *options)
{
	return triage_run(options);
}

#define ESCALATE_DEFAULT 3

static int set_escalate(void *field, const struct option_row *row, const char *text)
{
	if (text)
		return value_set_number(field, row, text);
	*(uint64_t *)field = ESCALATE_DEFAULT;
	return 0;
}

/* Options about probes are meaningless if none is set. */
static const char *given_of(const struct given *given, const struct option_group *const groups[],
			    size_t count)
{
	const char *name = NULL;

	for (size_t i = 0; i < count && !name; i++)
		name = option_given_of(given, groups[i]);
	return name;
}

/*
 * Returns whether INTERVAL was probably meant as a PID, after a message: in `leakmon 1234` nobody
 * would wait so long for the first report. Not after a command or an option: a service's start must
 * not depend on existing PIDs.
 */
#define INTERVAL_LIKELY_NS (600 * 1000000000ull)

static bool is_likely_pid(const struct schedule *schedule, const struct given *given)
{
	uint64_t number = schedule->interval_ns / 1000000000u;

	if (!given_is_bare(given) || !schedule->repeat || schedule->count ||
	    schedule->interval_ns <= INTERVAL_LIKELY_NS || schedule->interval_ns % 1000000000u ||
	    number > INT_MAX || kill((pid_t)number, 0))
		return false;
	log_error(
		"%llu is read as INTERVAL; for that process: `leakmon diagnose -p %llu`; for the interval: `leakmon triage %llu`",
		(unsigned long long)number, (unsigned long long)number, (unsigned long long)number);
	return true;
}

static int check(void *options, const struct given *given)
{
	static const struct option_group *const of_tracking[] = {&counting_group, &tracking_group,
								 &room_group, &fork_group};
	static const struct option_group *const of_probes[] = {&allocator_group, &usdt_group,
							       &probe_group, &stack_walk_group};
	struct triage_options *triage = options;
	const char *exact = option_is_given(given, "window")
				    ? "window"
				    : given_of(given, of_tracking, ARRAY_SIZE(of_tracking));
	const char *probes = given_of(given, of_probes, ARRAY_SIZE(of_probes));

	if (is_likely_pid(&triage->session.schedule, given))
		return -EINVAL;
	if (!triage->escalate && triage->exact) {
		log_error("--exact is for --escalate: add it, or leave --exact out");
		return -EINVAL;
	}
	if (triage->escalate && !triage->exact && exact) {
		log_error("--%s applies to exact tracking: add --exact, or leave --%s out", exact,
			  exact);
		return -EINVAL;
	}
	if (!triage->escalate && (exact || probes)) {
		log_error(
			"no target: --%s applies to probes; add a target, as in `leakmon -p PID`, or --escalate%s",
			exact ? exact : probes, exact ? " --exact" : "");
		return -EINVAL;
	}
	return session_options_check(&triage->session, given);
}

#define FIELD(name) .offset = offsetof(struct triage_options, name)
static const struct option_row triage_rows[] = {
	{"budget", 0, "PERCENT", "limit on CPU time, of one core; what exceeds it is shed (1%)",
	 value_set_percent, "a percentage, e.g. 1% or 0.2%", FIELD(budget), .minimum = 1000000,
	 .maximum = 100 * 1000000000ull, .limits = "0.001% to 100%"},
	{"no-stacks", 0, NULL, "do not sample call stacks of suspects: no BPF, no privileges",
	 value_set_flag, FIELD(no_stacks)},
	{"escalate", 0, "[=K]", "profile up to K processes with certain heap growth (3)",
	 set_escalate, "an integer, e.g. 3, as in --escalate=3", FIELD(escalate), .minimum = 1,
	 .maximum = 50},
	{"exact", 0, NULL, "with --escalate: track the first suspects for a while instead",
	 value_set_flag, FIELD(exact)},
	{"near-limit", 0, "PERCENT", "sample a process at once this near its memory limit (90%)",
	 value_set_percent, "a percentage, e.g. 90%", FIELD(near_limit), .minimum = 1000000000ull,
	 .maximum = 100 * 1000000000ull, .limits = "1% to 100%"},
	{"window", 0, "TIME", "how long --exact tracks them (30s)", value_set_duration,
	 "a time, e.g. 30s or 2m", FIELD(window_ns), .minimum = 1000000000ull,
	 .maximum = 3600 * 1000000000ull, .limits = "1s to 1h"},
};
#undef FIELD
static const struct option_group triage_group = {"Triage", triage_rows, ARRAY_SIZE(triage_rows)};

static const struct option_row format_rows[] = {FORMAT_ROW(OUTPUT_TRIAGE)};
static const struct option_group format_group = {"Output", format_rows, ARRAY_SIZE(format_rows)};

static const struct triage_options defaults = {
	.session = SESSION_DEFAULTS,
	.budget = 0.01,
	.window_ns = 30000000000ull,
	.near_limit = 0.9,
};

#define PART(member) offsetof(struct triage_options, session.member)
const struct command command_triage = {
	.name = "triage",
	.summary = "rank what grows on this machine (default without a target)",
	.usage = "  leakmon [triage] [OPTION...] [INTERVAL [COUNT]]\n",
	.about = "Ranks the processes of this machine by how fast and how surely they grow:\n"
		 "every INTERVAL seconds (5), COUNT times (until Ctrl-C), and once more at the\n"
		 "end. It reads /proc, which costs next to nothing; suspects are sampled for\n"
		 "the call stacks that make them grow. The first verdicts take two minutes.\n",
	.examples = "  leakmon                               which processes leak?\n"
		    "  leakmon --escalate 30                 and from which call stacks?\n"
		    "  leakmon --no-stacks --budget 0.2%     as cheap as can be\n"
		    "  leakmon --format prom --textfile-dir /var/lib/node-exporter 60\n"
		    "                                        metrics, every minute\n",
	.folded = {TITLE_TRACKED, TITLE_PROBES},
	.folded_for = "--escalate and --exact",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&triage_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&textfile_group, PART(output)},
		 {&listen_group, PART(output)},
		 {&webhook_group, PART(output)},
		 {&top_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&color_group, PART(output)},
		 TRACKING_USES},
	.positionals = SCHEDULE_WORDS(struct triage_options, session.schedule),
	.alternative = &command_watch,
	.alternative_how = "there is no target; add one, as in `leakmon -p PID`",
	.check = check,
	.free = session_options_free,
	.run = run,
	.is_monitor = true,
};
