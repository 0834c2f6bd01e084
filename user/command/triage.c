// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon without a target: what grows on this machine, every INTERVAL. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/command.h"
#include "command/emit.h"
#include "command/escalate.h"
#include "command/report_loop.h"
#include "command/sampling.h"
#include "triage/triage.h"

/* How often an open window is looked at. */
#define WINDOW_TICK_S 1.0

struct run {
	const struct options *options;
	const struct output_format *format;
	FILE *out;
	struct triage triage;
	struct escalation *escalation; /* NULL: not asked for */
	struct sampling *sampling;     /* NULL with --no-stacks */
	struct report_loop loop;
};

static int open_output(struct run *run)
{
	const struct options *options = run->options;

	run->format = output_find(options->format);
	if (run->format && run->format->write_triage)
		return emit_open(options, run->format, &run->out);
	log_error("--format %s needs a target: without one there are text, json and prom",
		  options->format);
	return -EINVAL;
}

static int run_open(struct run *run)
{
	const struct options *options = run->options;
	double poll_interval_s = (double)MIN(options->interval_ns, TRIAGE_POLL_NS) / 1e9;
	int error = open_output(run);

	if (!error)
		error = report_loop_open(&run->loop, options, false);
	if (!error)
		error = triage_open(&run->triage, poll_interval_s, options->budget);
	if (error)
		return error;
	if (options->escalate)
		run->escalation = escalation_new(options, &run->triage);
	if (!options->no_stacks)
		run->sampling = sampling_new(options, &run->triage);
	if (!run->escalation == !options->escalate && !run->sampling == options->no_stacks)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static void run_close(struct run *run)
{
	escalation_free(run->escalation);
	sampling_free(run->sampling);
	triage_close(&run->triage);
	report_loop_close(&run->loop);
	if (run->out && run->out != stdout)
		fclose(run->out);
}

static int write_report(struct run *run, bool last)
{
	struct triage_report report = {0};
	int error;

	if (run->sampling)
		sampling_examine(run->sampling, last);
	error = triage_report(&run->triage, run->options->report.top, &report);
	if (error) {
		log_error("no report: %s", strerror(-error));
		return error;
	}
	report.colour = emit_wants_colour(run->options);
	report.cpu_s = triage_cpu_s();
	error = emit_triage(run->options, run->format, run->out, &report, last);
	if (!error && run->sampling && !last)
		sampling_update(run->sampling, &report);
	if (!error && run->escalation && !last)
		escalation_begin(run->escalation, &report);
	triage_report_free(&report);
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
	if (triage_pause_s(&run->triage) <= 0) {
		error = triage_poll(&run->triage);
		if (run->sampling)
			sampling_consume(run->sampling);
	}
	if (!error && run->escalation && escalation_is_over(run->escalation))
		error = end_window(run);
	return error;
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

static int loop(struct run *run)
{
	const struct reporter reporter = {.context = run,
					  .report = make_report,
					  .handle = poll_if_due,
					  .timeout_ms = timeout_ms};
	int error = triage_poll(&run->triage);

	if (error)
		return error;
	log_info("watching %zu processes; first verdicts in about %.3g s",
		 run->triage.population.members.count + run->triage.population.waiting,
		 GROWTH_READINGS_MIN * run->triage.poll_interval_s);
	return report_loop_run(&run->loop, &reporter);
}

int command_triage(const struct options *options)
{
	struct run run = {.options = options, .loop = REPORT_LOOP_CLOSED};
	int error = run_open(&run);

	if (!error)
		error = loop(&run);
	run_close(&run);
	return emit_finish(options, error, 0);
}
