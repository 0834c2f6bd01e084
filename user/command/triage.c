// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon without a target: what grows on this machine, every INTERVAL. */
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pollable.h"
#include "command/command.h"
#include "command/escalate.h"
#include "output/output.h"
#include "triage/triage.h"

/* How often an open window is looked at. */
#define WINDOW_TICK_S 1.0

struct run {
	const struct options *options;
	const struct output_format *format;
	FILE *out;
	struct triage triage;
	struct escalation *escalation; /* NULL: not asked for */
	int signal_fd, report_fd;
	uint64_t reports;
	bool finished;
};

static int open_output(struct run *run)
{
	const struct options *options = run->options;

	run->format = output_find(options->format);
	if (!run->format || !run->format->write_triage) {
		log_error("--format %s needs a target: without one there are text and json",
			  options->format);
		return -EINVAL;
	}
	run->out = options->output ? fopen(options->output, "we") : stdout;
	if (run->out)
		return 0;
	log_error("cannot write to %s: %s; name a file in a directory that you may write to",
		  options->output, strerror(errno));
	return -errno;
}

static int open_loop(struct run *run)
{
	uint64_t interval_ns = run->options->interval_ns;
	int error;

	run->signal_fd = pollable_signals(false);
	error = MIN(run->signal_fd, 0);

	if (!error) {
		run->report_fd = pollable_interval(interval_ns);
		error = MIN(run->report_fd, 0);
	}
	if (error)
		log_error("cannot set up the event loop: %s", strerror(-error));
	return error;
}

static int run_open(struct run *run)
{
	const struct options *options = run->options;
	double poll_interval_s = (double)MIN(options->interval_ns, TRIAGE_POLL_NS) / 1e9;
	int error = open_output(run);

	if (!error)
		error = triage_open(&run->triage, poll_interval_s, options->budget);
	if (!error)
		error = open_loop(run);
	if (error || !options->escalate)
		return error;
	run->escalation = escalation_new(options, &run->triage);
	if (run->escalation)
		return 0;
	log_error("out of memory");
	return -ENOMEM;
}

static void run_close(struct run *run)
{
	escalation_free(run->escalation);
	triage_close(&run->triage);
	cleanup_close(&run->signal_fd);
	cleanup_close(&run->report_fd);
	if (run->out && run->out != stdout)
		fclose(run->out);
}

static int report(struct run *run, bool last)
{
	struct triage_report report = {0};
	int error = triage_report(&run->triage, run->options->report.top, &report);

	if (error) {
		log_error("no report: %s", strerror(-error));
		return error;
	}
	report.colour = !run->options->no_color && run->out == stdout && isatty(STDOUT_FILENO) &&
			!getenv("NO_COLOR");
	error = run->format->write_triage(run->out, &report);
	if (error)
		log_error("cannot write the report: %s", strerror(errno));
	run->reports++;
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
	error = report(run, true);
	escalation_clear(run->escalation);
	return error;
}

/* Between reports, too: what is polled more often than it is reported. */
static int poll_if_due(struct run *run)
{
	int error = triage_pause_s(&run->triage) > 0 ? 0 : triage_poll(&run->triage);

	if (!error && run->escalation && escalation_is_over(run->escalation))
		error = end_window(run);
	return error;
}

static int on_signal(struct run *run)
{
	struct signalfd_siginfo info;
	int error = 0;

	while (!error && read(run->signal_fd, &info, sizeof(info)) == sizeof(info)) {
		if (info.ssi_signo == SIGUSR1)
			error = report(run, false);
		else
			run->finished = true;
	}
	return error;
}

static bool is_last(const struct run *run)
{
	return run->options->count && run->reports + 1 >= run->options->count;
}

static bool timer_fired(int fd)
{
	uint64_t expirations;

	return read(fd, &expirations, sizeof(expirations)) == sizeof(expirations);
}

static int timeout_ms(const struct run *run)
{
	double pause_s = triage_pause_s(&run->triage);

	if (run->escalation && escalation_is_running(run->escalation))
		pause_s = MIN(pause_s, WINDOW_TICK_S);
	return (int)(pause_s * 1000) + 1;
}

static int wait_and_handle(struct run *run)
{
	struct pollfd fds[] = {
		{.fd = run->signal_fd, .events = POLLIN},
		{.fd = run->report_fd, .events = POLLIN},
	};
	int error = 0;

	if (poll(fds, ARRAY_SIZE(fds), timeout_ms(run)) < 0)
		return errno == EINTR ? 0 : -errno;
	if (fds[0].revents)
		error = on_signal(run);
	if (!error && !run->finished && fds[1].revents && timer_fired(run->report_fd)) {
		run->finished = is_last(run);
		if (!run->finished)
			error = report(run, false);
	}
	if (!error && !run->finished)
		error = poll_if_due(run);
	return error;
}

/* The last report, with what an open window has found so far. */
static int finish(struct run *run)
{
	if (run->escalation && escalation_is_running(run->escalation))
		return end_window(run);
	return report(run, true);
}

static int loop(struct run *run)
{
	int error = triage_poll(&run->triage);

	if (!error)
		log_info("watching %zu processes; first verdicts in about %.3g s",
			 run->triage.population.members.count,
			 GROWTH_READINGS_MIN * run->triage.poll_interval_s);
	while (!error && !run->finished)
		error = wait_and_handle(run);
	return error ? error : finish(run);
}

int command_triage(const struct options *options)
{
	struct run run = {.options = options, .signal_fd = -1, .report_fd = -1};
	int error = run_open(&run);

	if (!error)
		error = loop(&run);
	run_close(&run);
	return error ? EXIT_ERROR : EXIT_OK;
}
