// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon top without a target: shows growth on this machine, and tracks single processes on
 * request.
 */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "app/triage/causes.h"
#include "app/triage/kills.h"
#include "app/triage/managed_look.h"
#include "app/triage/sampling.h"
#include "app/top/attention.h"
#include "app/top/top_front.h"
#include "app/top/top_track.h"
#include "app/top/top_triage.h"
#include "output/output.h"
#include "output/replace_file.h"

struct overview {
	const struct top_options *options;
	struct top_front front;
	struct triage triage;
	struct causes *causes;	   /* NULL: out of memory */
	struct kills *kills;	   /* NULL: out of memory */
	struct sampling *sampling; /* NULL: out of memory, or a process is being tracked */
	struct attention attention;
	pid_t chosen; /* to be profiled or tracked; 0: none */
	bool exact;
	bool snapshot_wanted;
	bool done;
};

/* Writes a snapshot to its own file: a triage has no recording. */
static void take_snapshot(struct overview *overview, const struct triage_report *report)
{
	struct replace_file file = {0};
	time_t now = time(NULL);
	char name[64];
	struct tm local;
	int error;

	overview->snapshot_wanted = false;
	localtime_r(&now, &local);
	strftime(name, sizeof(name), "leakmon-%Y%m%d-%H%M%S.txt", &local);
	error = replace_file_open(&file, name, REPLACE_OR_WRITE);
	if (!error)
		error = output_find("text")->write[OUTPUT_TRIAGE](file.out, report);
	if (!error)
		error = replace_file_commit(&file, 0644);
	replace_file_abort(&file);
	if (error)
		log_error(
			"cannot write %s here: %s; start leakmon in a directory that you may write to",
			name, strerror(-error));
	else
		log_info("what grows is written to %s", name);
}

static int make_report(void *context, enum report_cause cause)
{
	struct overview *overview = context;
	struct triage_report report = {0};
	int error;

	if (cause == REPORT_LAST)
		return 0;
	if (overview->sampling)
		sampling_examine(overview->sampling, false);
	error = triage_report(&overview->triage, 0, &report);
	if (!error)
		managed_look(&overview->triage, &report);
	if (!error && overview->causes)
		causes_explain(overview->causes, &report);
	if (!error) {
		triage_report_doubt_groups(&report);
		error = top_model_take_triage(&overview->front.model, &report);
	}
	if (error)
		log_error("no report: %s", strerror(-error));
	if (!error && overview->snapshot_wanted)
		take_snapshot(overview, &report);
	if (!error && overview->sampling)
		sampling_update(overview->sampling, &report);
	triage_report_free(&report);
	top_front_draw(&overview->front);
	return error;
}

static int wait_for(void *context, struct pollfds *fds)
{
	struct overview *overview = context;
	int error = top_front_wait_for(&overview->front, fds);

	if (!error && overview->kills)
		error = pollfds_add(fds, kills_fd(overview->kills));
	if (!error && overview->front.model.classes.fd >= 0)
		error = pollfds_add(fds, overview->front.model.classes.fd);
	return error;
}

/* Takes kills, which the messages show. */
static void take_kills(struct overview *overview)
{
	if (overview->kills && kills_take(overview->kills)) {
		kills_reported(overview->kills);
		top_front_draw(&overview->front);
	}
}

static void count_classes(struct overview *overview)
{
	struct top_model *model = &overview->front.model;
	int error = class_count_start(&model->classes, model->wanted_pid);
	char text[96];

	if (error)
		snprintf(text, sizeof(text), "cannot count objects: %s", strerror(-error));
	else
		snprintf(text, sizeof(text), "counting the objects of PID %d...",
			 model->wanted_pid);
	top_model_say(model, text);
	top_front_draw(&overview->front);
}

/* Charges a count of classes as escalation: the user requested it, so no polls are shed for it. */
static void take_classes(struct overview *overview)
{
	struct class_count *classes = &overview->front.model.classes;
	double before_s = classes->cpu_s;
	bool complete = class_count_take(classes);

	overview->triage.escalation_cpu_s += classes->cpu_s - before_s;
	if (!complete)
		return;
	top_model_say(&overview->front.model, "");
	top_front_draw(&overview->front);
}

static void change_budget(struct overview *overview, bool more)
{
	double now_s = triage_now(&overview->triage);
	char text[96];

	attention_change(&overview->attention, more, now_s);
	triage_set_budget(&overview->triage, attention_limit(&overview->attention, now_s));
	overview->triage.budget.pause_max_s = ATTENTION_PAUSE_MAX_S;
	snprintf(text, sizeof(text), "polls may use %.3g %% of a core from now on",
		 100 * overview->triage.budget.limit);
	top_model_say(&overview->front.model, text);
	top_front_draw(&overview->front);
}

/* Updates the budget: a key raises it, and minutes without one lower it. */
static void attend(struct overview *overview)
{
	double now_s = triage_now(&overview->triage);

	if (overview->front.typed)
		overview->attention.typed_s = now_s;
	overview->front.typed = false;
	triage_set_budget(&overview->triage, attention_limit(&overview->attention, now_s));
}

static int act(struct overview *overview, enum top_action action)
{
	switch (action) {
	case TOP_BUDGET_MORE:
	case TOP_BUDGET_LESS:
		change_budget(overview, action == TOP_BUDGET_MORE);
		return 0;
	case TOP_QUIT:
		overview->done = true;
		return 0;
	case TOP_TRACK:
	case TOP_FOLLOW:
		overview->exact = action == TOP_TRACK;
		overview->chosen = overview->front.model.wanted_pid;
		return 0;
	case TOP_COUNT_CLASSES:
		count_classes(overview);
		return 0;
	case TOP_SNAPSHOT:
		overview->snapshot_wanted = true;
		return REPORT_AGAIN;
	case TOP_REFRESH:
		return REPORT_AGAIN;
	default:
		return 0;
	}
}

static int handle(void *context, const struct pollfd *fds, size_t count)
{
	struct overview *overview = context;
	enum top_action action;
	int error = 0;

	(void)count;
	take_kills(overview);
	take_classes(overview);
	if (triage_pause_s(&overview->triage) <= 0) {
		error = triage_poll(&overview->triage);
		if (overview->sampling)
			sampling_consume(overview->sampling);
		take_kills(overview);
	}
	if (error)
		return error;
	action = top_front_handle(&overview->front, fds);
	attend(overview);
	return act(overview, action);
}

static int timeout_ms(void *context)
{
	return (int)(triage_pause_s(&((struct overview *)context)->triage) * 1000) + 1;
}

static bool is_done(void *context)
{
	const struct overview *overview = context;

	return overview->done || overview->chosen;
}

/* Runs until the user quits or chooses a process. Returns 0, or -errno after a message. */
static int look_around(struct overview *overview)
{
	enum lm_stack_walk walk = overview->options->session.probes.stack_walk;
	const struct run_hooks hooks = {.context = overview,
					.report = make_report,
					.wait_for = wait_for,
					.handle = handle,
					.timeout_ms = timeout_ms,
					.is_done = is_done};
	struct report_loop loop = REPORT_LOOP_CLOSED;
	int error = report_loop_open(&loop, &overview->options->session.schedule, false);

	overview->chosen = 0;
	overview->sampling = sampling_new(walk, &overview->triage);
	if (!error)
		error = make_report(overview, REPORT_ASKED);
	if (!error)
		error = report_loop_run(&loop, &hooks);
	overview->done |= loop.finished; /* by a signal, or by COUNT */
	report_loop_close(&loop);
	/* While a process is tracked, nothing else is sampled. */
	sampling_free(overview->sampling);
	overview->sampling = NULL;
	return error;
}

/* Tracks the chosen process. Returns the exit code, or -1 to continue. */
static int track(struct overview *overview)
{
	struct top_options options = *overview->options;
	enum top_action end = TOP_QUIT;
	char text[64];
	int code = EXIT_ERROR;

	options.session.targets.chosen.pids.items = &overview->chosen;
	options.session.targets.chosen.pids.count = options.session.targets.chosen.pids.capacity =
		1;
	snprintf(text, sizeof(text), "attaching to PID %d...", overview->chosen);
	top_model_say(&overview->front.model, text);
	top_front_draw(&overview->front);
	if (!overview->exact)
		code = top_track_if_cheap(&options, overview->front.terminal, &overview->triage,
					  &end);
	if (end == TOP_FOLLOW)
		code = top_profile(&options, overview->front.terminal, &overview->triage, &end);
	if (overview->exact || end == TOP_TRACK)
		code = top_track(&options, overview->front.terminal, &overview->triage, &end);
	overview->attention.typed_s = triage_now(&overview->triage);
	/* A failure was logged: the overview shows it. */
	return end == TOP_LEAVE || code == EXIT_ERROR ? -1 : code;
}

static int run(struct overview *overview)
{
	int error = triage_poll(&overview->triage), code = -1;

	while (!error && code < 0) {
		error = look_around(overview);
		if (!error && overview->done)
			code = EXIT_OK;
		else if (!error)
			code = track(overview);
	}
	return error ? EXIT_ERROR : code;
}

int top_triage(const struct top_options *options, struct top_terminal *terminal)
{
	struct overview overview = {.options = options};
	uint64_t interval_ns = options->session.schedule.interval_ns;
	double poll_interval_s = (double)MIN(interval_ns, TRIAGE_POLL_NS) / 1e9;
	int code = EXIT_ERROR;

	overview.front.terminal = terminal;
	top_model_init(&overview.front.model, TOP_TRIAGE, NULL);
	if (asprintf(&overview.front.title, "this machine, every %.3g s",
		     (double)interval_ns / 1e9) < 0) {
		overview.front.title = NULL;
		log_error("out of memory");
		return EXIT_ERROR;
	}
	overview.attention.chosen = options->budget;
	if (!triage_open(&overview.triage, poll_interval_s,
			 attention_limit(&overview.attention, 0))) {
		if (!(options->budget > 0))
			overview.triage.budget.pause_max_s = ATTENTION_PAUSE_MAX_S;
		overview.causes = causes_new(&overview.triage);
		overview.kills = kills_new(&overview.triage, true);
		if (!top_front_open(terminal, &options->session.output))
			code = run(&overview);
		causes_free(overview.causes);
		kills_free(overview.kills);
		triage_close(&overview.triage);
	}
	top_front_close(&overview.front);
	return code;
}
