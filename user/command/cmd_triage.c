// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon without a target: what grows on this machine, every INTERVAL. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "cli/values.h"
#include "triage/causes.h"
#include "command/command.h"
#include "triage/escalate.h"
#include "triage/kills.h"
#include "triage/managed_look.h"
#include "profile/profile_run.h"
#include "triage/sampling.h"
#include "monitor/emit.h"
#include "monitor/report_loop.h"
#include "triage/triage.h"

/* How often an open window is looked at. */
#define WINDOW_TICK_S 1.0
/* Of a profiled suspect. */
#define SITES_SHOWN 5

struct run {
	const struct triage_options *options;
	const struct output_format *format;
	FILE *out;
	struct emit_losses losses;
	struct listener *listener; /* --listen; or NULL */
	struct triage triage;
	struct escalation *escalation;	       /* NULL: no exact tracking was asked for */
	const struct profile_report *profiles; /* of suspects, while a report is made; or NULL */
	struct sampling *sampling;	       /* NULL with --no-stacks */
	struct causes *causes;
	struct kills *kills;
	bool polled;
	struct report_loop loop;
};

static bool is_profiled(const struct triage_options *options)
{
	return options->escalate && !options->exact;
}

static int open_output(struct run *run)
{
	const struct output_options *output = &run->options->session.output;
	int error;

	run->format = output_find(output->format);
	error = emit_open(output, run->format, &run->out);
	return error ? error : emit_listen(output, &run->listener);
}

static int run_open(struct run *run)
{
	const struct triage_options *options = run->options;
	const struct schedule *schedule = &options->session.schedule;
	double poll_interval_s = (double)MIN(schedule->interval_ns, TRIAGE_POLL_NS) / 1e9;
	int error = open_output(run);

	/* A profile has a loop of its own. */
	if (!error && !is_profiled(options))
		error = report_loop_open(&run->loop, schedule, false);
	if (!error)
		error = triage_open(&run->triage, poll_interval_s, options->budget);
	if (error)
		return error;
	run->triage.limits.near_share = options->near_limit;
	if (options->exact)
		run->escalation = escalation_new(options, &run->triage);
	if (!options->no_stacks)
		run->sampling = sampling_new(options->session.probes.stack_walk, &run->triage);
	run->causes = causes_new(&run->triage);
	run->kills = kills_new(&run->triage, !options->no_stacks);
	if (!run->escalation == !options->exact && !run->sampling == options->no_stacks &&
	    run->causes && run->kills)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static void run_close(struct run *run)
{
	escalation_free(run->escalation);
	sampling_free(run->sampling);
	causes_free(run->causes);
	kills_free(run->kills);
	triage_close(&run->triage);
	report_loop_close(&run->loop);
	listener_close(run->listener);
	if (run->out && run->out != stdout)
		fclose(run->out);
}

/* What is known of the suspects' call stacks, below them. */
static void hang_profiles(const struct profile_report *profiles, struct triage_entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		for (size_t j = 0; j < profiles->processes.count; j++) {
			const struct profile_report_process *process =
				&profiles->processes.items[j];

			if (!process->exited && process->pid == (uint32_t)entries->items[i].pid)
				entries->items[i].profiled = process;
		}
	}
}

static int write_report(struct run *run, bool last)
{
	const struct output_options *output = &run->options->session.output;
	struct triage_report report = {0};
	int error;

	/* Of who is killed nothing can be read any more: what was known last is shown. */
	if (run->sampling && !kills_take(run->kills))
		sampling_examine(run->sampling, last);
	run->triage.limits.news = false;
	error = triage_report(&run->triage, output->report.top, &report);
	if (error) {
		log_error("no report: %s", strerror(-error));
		return error;
	}
	kills_show(run->kills, &report);
	managed_look(&run->triage, &report);
	causes_explain(run->causes, &report);
	if (run->profiles)
		hang_profiles(run->profiles, &report.processes);
	report.colour = emit_wants_colour(output);
	report.cpu_s = triage_cpu_s();
	report.lost_reports = run->losses.reports;
	emit_serve_triage(run->listener, &report, &run->options->session.schedule);
	error = emit_triage(output, run->format, run->out, &run->losses, &report, last);
	if (!error && run->sampling && !last)
		sampling_update(run->sampling, &report);
	if (!error && run->escalation && !last)
		escalation_begin(run->escalation, &report);
	triage_report_free(&report);
	kills_reported(run->kills);
	return error;
}

/* What a window has found stands in a report of its own. */
static int end_window(struct run *run)
{
	int error;

	escalation_end(run->escalation);
	error = write_report(run, true);
	escalation_clear(run->escalation);
	return error;
}

/* Between reports, too: what is polled more often than it is reported. */
static int poll_if_due(void *context, const struct pollfd *fds, size_t count)
{
	struct run *run = context;
	int error = 0;

	(void)fds;
	(void)count;
	if (kills_take(run->kills))
		error = write_report(run, false);
	if (!error && triage_pause_s(&run->triage) <= 0) {
		error = triage_poll(&run->triage);
		if (run->sampling)
			sampling_consume(run->sampling);
		/* Who has come near to a limit is told of, and looked at, at once. */
		if (!error && (kills_take(run->kills) || run->triage.limits.news))
			error = write_report(run, false);
	}
	if (!error && run->escalation && escalation_is_over(run->escalation))
		error = end_window(run);
	return error;
}

static int wait_for(void *context, struct pollfds *fds)
{
	return pollfds_add(fds, kills_fd(((struct run *)context)->kills));
}

static int timeout_ms(void *context)
{
	struct run *run = context;
	double pause_s = triage_pause_s(&run->triage);

	if (run->escalation && escalation_is_running(run->escalation))
		pause_s = MIN(pause_s, WINDOW_TICK_S);
	return (int)(pause_s * 1000) + 1;
}

/* The last report comes with what an open window has found so far. */
static int make_report(void *context, enum report_cause cause)
{
	struct run *run = context;
	bool last = cause == REPORT_LAST;

	if (last && run->escalation && escalation_is_running(run->escalation))
		return end_window(run);
	return write_report(run, last);
}

static void say_begin(const struct run *run)
{
	log_info("watching %zu processes; first verdicts in about %.3g s",
		 run->triage.population.members.count + run->triage.population.waiting,
		 GROWTH_READINGS_MIN * run->triage.poll_interval_s);
}

static int loop(struct run *run)
{
	const struct run_hooks hooks = {.context = run,
					.report = make_report,
					.wait_for = wait_for,
					.handle = poll_if_due,
					.timeout_ms = timeout_ms};
	int error = triage_poll(&run->triage);

	if (error)
		return error;
	say_begin(run);
	return report_loop_run(&run->loop, &hooks);
}

/* -------- with suspects that are profiled */

static int take_profile(void *context, const struct profile_report *profiles, bool last)
{
	struct run *run = context;
	int error;

	run->profiles = profiles;
	error = write_report(run, last);
	run->profiles = NULL;
	return error;
}

static void polled(void *context)
{
	struct run *run = context;

	if (!run->polled)
		say_begin(run);
	run->polled = true;
	if (run->sampling)
		sampling_consume(run->sampling);
	if ((kills_take(run->kills) || run->triage.limits.news) && write_report(run, false))
		log_error("no report of who was killed, or is near to a limit");
}

/* Returns the exit code. */
static int profile_suspects(struct run *run)
{
	const struct triage_options *options = run->options;
	const struct tracking_options tracking = PROFILE_TRACKING;
	struct profile_options profile = {
		.session = options->session,
		.overhead = MIN(PROFILE_OVERHEAD, options->budget),
		.granted = PROFILE_GRANTED,
		.take = take_profile,
		.triage = &run->triage,
		.places = options->escalate,
		.polled = polled,
		.context = run,
	};

	profile.session.tracking = tracking;
	profile.session.tracking.debuginfod = options->session.tracking.debuginfod;
	profile.session.targets.come_later = true;
	profile.session.output.path = NULL; /* ours to write */
	profile.session.output.textfile_dir = NULL;
	profile.session.output.listen = NULL;
	profile.session.output.report.top = SITES_SHOWN;
	return profile_run(&profile);
}

static int run_triage(const void *options)
{
	const struct triage_options *triage = options;
	struct run run = {.options = triage, .loop = REPORT_LOOP_CLOSED};
	int error = run_open(&run);

	if (!error && is_profiled(triage))
		error = profile_suspects(&run) == EXIT_OK ? 0 : -ECANCELED;
	else if (!error)
		error = loop(&run);
	run_close(&run);
	return emit_finish(&triage->session.output, &run.losses, error, 0);
}

#define ESCALATE_DEFAULT 3

static int set_escalate(void *field, const struct option_row *row, const char *text)
{
	if (text)
		return value_set_number(field, row, text);
	*(uint64_t *)field = ESCALATE_DEFAULT;
	return 0;
}

/* What probes would do has no meaning as long as none is set. */
static const char *given_of(const struct given *given, const struct option_group *const groups[],
			    size_t count)
{
	const char *name = NULL;

	for (size_t i = 0; i < count && !name; i++)
		name = option_given_of(given, groups[i]);
	return name;
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
		log_error("no target: --%s applies to probes; add a target, as in `leakmon -p "
			  "PID`, or --escalate%s",
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
	{"escalate", 0, "[=K]", "profile up to K processes whose heap grows for sure (3)",
	 set_escalate, "an integer, e.g. 3, as in --escalate=3", FIELD(escalate), .minimum = 1,
	 .maximum = 50},
	{"exact", 0, NULL, "--escalate tracks the first suspects for a while instead",
	 value_set_flag, FIELD(exact)},
	{"near-limit", 0, "PERCENT", "look at once at who is that near to a memory limit (90%)",
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
		 "the call stacks that make them grow. The first verdicts take two minutes.\n"
		 "Where probes go applies to --escalate only, what is tracked to --exact.\n",
	.examples = "  leakmon                               which processes leak?\n"
		    "  leakmon --escalate 30                 and from which call stacks?\n"
		    "  leakmon --no-stacks --budget 0.2%     as cheap as can be\n"
		    "  leakmon --format prom --textfile-dir /var/lib/node-exporter 60\n"
		    "                                        metrics, every minute\n",
	.options_size = sizeof(defaults),
	.defaults = &defaults,
	.uses = {{&triage_group, 0},
		 {&format_group, PART(output)},
		 {&output_group, PART(output)},
		 {&textfile_group, PART(output)},
		 {&listen_group, PART(output)},
		 {&top_group, PART(output)},
		 {&debuginfod_group, PART(tracking)},
		 {&color_group, PART(output)},
		 TRACKING_USES},
	.positionals = SCHEDULE_WORDS(struct triage_options, session.schedule),
	.alternative = &command_watch,
	.alternative_how = "there is no target; add one, as in `leakmon -p PID`",
	.check = check,
	.free = session_options_free,
	.run = run_triage,
};
