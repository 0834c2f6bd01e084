// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/triage_run.h"

#include <errno.h>
#include <string.h>

#include "app/monitor/emit.h"
#include "app/monitor/report_loop.h"
#include "app/profile/profile_run.h"
#include "app/runs/early_screen.h"
#include "app/triage/causes.h"
#include "app/triage/kills.h"
#include "app/triage/managed_look.h"
#include "app/triage/sampling.h"
#include "app/triage/triage.h"
#include "base/cleanup.h"
#include "base/log.h"

/* Interval between checks of an open window. */
#define WINDOW_TICK_S 1.0
/* Call stacks of a profiled suspect in a report. */
#define SITES_SHOWN 5

struct triage_run {
	const struct triage_options *options;
	struct emitter emitter;
	struct triage triage;
	struct escalation *escalation;	       /* NULL: no exact tracking requested */
	const struct profile_report *profiles; /* of suspects, while a report is made; or NULL */
	struct sampling *sampling;	       /* NULL with --no-stacks */
	struct causes *causes;
	struct kills *kills;
	struct early_screen screen;
	bool polled;
	struct report_loop loop;
};

static bool is_profiled(const struct triage_options *options)
{
	return options->escalate && !options->exact;
}

static int open_output(struct triage_run *run)
{
	const struct session_options *session = &run->options->session;
	int error = emitter_open(&run->emitter, &session->output, EMIT_REPEATED);

	return error ? error : emitter_listen(&run->emitter, &session->schedule);
}

static int run_open(struct triage_run *run)
{
	const struct triage_options *options = run->options;
	const struct schedule *schedule = &options->session.schedule;
	double poll_interval_s = (double)MIN(schedule->interval_ns, TRIAGE_POLL_NS) / 1e9;
	int error = open_output(run);

	/* A profile has its own loop. */
	if (!error && !is_profiled(options))
		error = report_loop_open(&run->loop, schedule, false);
	if (!error)
		error = triage_open(&run->triage, poll_interval_s, options->budget);
	if (error)
		return error;
	early_screen_init(&run->screen, &options->session.output, schedule->count);
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

static void run_close(struct triage_run *run)
{
	escalation_free(run->escalation);
	sampling_free(run->sampling);
	causes_free(run->causes);
	kills_free(run->kills);
	triage_close(&run->triage);
	report_loop_close(&run->loop);
	emitter_close(&run->emitter);
}

/* Adds the call stacks of profiled suspects. */
static void attach_profiles(const struct profile_report *profiles, struct triage_entries *entries)
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

/* Writes a report. `asked`: it must not be omitted. */
static int write_report(struct triage_run *run, bool asked, bool last)
{
	const struct output_options *output = &run->options->session.output;
	struct triage_report report = {0};
	int error;

	/* After a kill the process cannot be read: report the earlier state. */
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
	triage_report_doubt_groups(&report);
	if (run->profiles)
		attach_profiles(run->profiles, &report.processes);
	report.samples_stacks = run->sampling;
	report.form = emit_form(output);
	report.lost_reports = run->emitter.lost;
	report.pushed = emit_pushed(&run->emitter);
	error = early_screen_emit(&run->screen, &run->emitter, &report, asked, last);
	if (!error && run->sampling && !last)
		sampling_update(run->sampling, &report);
	if (!error && run->escalation && !last)
		escalation_begin(run->escalation, &report);
	triage_report_free(&report);
	kills_reported(run->kills);
	return error;
}

/* Ends a window, and reports its results separately. */
static int end_window(struct triage_run *run)
{
	int error;

	escalation_end(run->escalation);
	error = write_report(run, true, true);
	escalation_clear(run->escalation);
	return error;
}

/* Polls are more frequent than reports. */
static int poll_if_due(void *context, const struct pollfd *fds, size_t count)
{
	struct triage_run *run = context;
	int error = 0;

	(void)fds;
	(void)count;
	if (kills_take(run->kills))
		error = write_report(run, true, false);
	if (!error && triage_pause_s(&run->triage) <= 0) {
		error = triage_poll(&run->triage);
		if (run->sampling)
			sampling_consume(run->sampling);
		/* Report, and sample, a process close to a limit at once. */
		if (!error && (kills_take(run->kills) || run->triage.limits.news))
			error = write_report(run, true, false);
	}
	if (!error && run->escalation && escalation_is_over(run->escalation))
		error = end_window(run);
	return error;
}

static int wait_for(void *context, struct pollfds *fds)
{
	return pollfds_add(fds, kills_fd(((struct triage_run *)context)->kills));
}

static int timeout_ms(void *context)
{
	struct triage_run *run = context;
	double pause_s = triage_pause_s(&run->triage);

	if (run->escalation && escalation_is_running(run->escalation))
		pause_s = MIN(pause_s, WINDOW_TICK_S);
	return (int)(pause_s * 1000) + 1;
}

/* Makes a report; the last one includes the results so far of an open window. */
static int make_report(void *context, enum report_cause cause)
{
	struct triage_run *run = context;
	bool last = cause == REPORT_LAST;

	if (last && run->escalation && escalation_is_running(run->escalation))
		return end_window(run);
	return write_report(run, cause == REPORT_ASKED, last);
}

static void say_begin(const struct triage_run *run)
{
	double first_s = GROWTH_READINGS_MIN * run->triage.poll_interval_s;

	log_info("watching %zu processes; first verdicts in about %.3g s%s%s",
		 run->triage.population.members.count + run->triage.population.waiting, first_s,
		 first_s > 60 ? ", of fast growth in 30 s" : "",
		 run->screen.wanted && !run->screen.terminal
			 ? "; until then only what seems to grow is reported"
			 : "");
}

static int loop(struct triage_run *run)
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

/* -------- with profiled suspects */

static int take_profile(void *context, const struct profile_report *profiles, bool last)
{
	struct triage_run *run = context;
	int error;

	run->profiles = profiles;
	error = write_report(run, false, last);
	run->profiles = NULL;
	return error;
}

static void polled(void *context)
{
	struct triage_run *run = context;

	if (!run->polled)
		say_begin(run);
	run->polled = true;
	if (run->sampling)
		sampling_consume(run->sampling);
	if ((kills_take(run->kills) || run->triage.limits.news) && write_report(run, true, false))
		log_error("cannot report OOM kills, or processes close to a memory limit");
}

/* Reports a kill at once. */
static void tended(void *context)
{
	struct triage_run *run = context;

	if (kills_take(run->kills) && write_report(run, true, false))
		log_error("cannot report OOM kills");
}

/* Runs with a profile of the suspects. Returns the exit code. */
static int profile_suspects(struct triage_run *run)
{
	const struct triage_options *options = run->options;
	const struct tracking_options tracking = PROFILE_TRACKING;
	struct profile_options profile = {
		.session = options->session,
		.overhead = MIN(PROFILE_OVERHEAD, options->budget),
		.floor = PROFILE_FLOOR,
		.take = take_profile,
		.triage = &run->triage,
		.places = options->escalate,
		.polled = polled,
		.tended = tended,
		.context = run,
	};

	profile.session.tracking = tracking;
	profile.session.tracking.debuginfod = options->session.tracking.debuginfod;
	profile.session.targets.come_later = true;
	profile.session.output.path = NULL; /* this run writes the output */
	profile.session.output.textfile_dir = NULL;
	profile.session.output.listen = NULL;
	profile.session.output.push = (struct push_options){0};
	profile.session.output.report.top = SITES_SHOWN;
	return profile_run(&profile);
}

int triage_run(const struct triage_options *options)
{
	struct triage_run run = {.options = options, .loop = REPORT_LOOP_CLOSED};
	int error = run_open(&run);

	if (!error && is_profiled(options))
		error = profile_suspects(&run) == EXIT_OK ? 0 : -ECANCELED;
	else if (!error)
		error = loop(&run);
	run_close(&run);
	return emitter_finish(&run.emitter, &options->session.output, error, 0);
}
