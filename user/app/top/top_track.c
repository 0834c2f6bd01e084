// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/top/top_track.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/timerfd.h>
#include <time.h>
#include <unistd.h>

#include "report/analyze/report_build.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "app/profile/profile_run.h"
#include "app/top/top_front.h"
#include "app/monitor/watch.h"
#include "report/store/profile_runs.h"
#include "report/store/recorder.h"

struct track {
	const struct top_options *options;
	struct top_front front;
	struct triage *triage;		   /* which continues meanwhile, or NULL */
	double charged_s;		   /* CPU time already in the triage's budget */
	struct recorder *recorder;	   /* of snapshots; NULL: none yet */
	struct profile_recorder *profiles; /* of a profile */
	char *recording;		   /* its file; owned */
	bool snapshot_wanted;
	bool profile;
	bool if_cheap;	 /* continue exact tracking only while it is cheap */
	int timer_fd;	 /* for the first look at the rate; -1: none */
	double looked_s; /* time of the latest look at the rate; 0: never */
	uint64_t events; /* number of events at that time */
	bool done;
	enum top_action end;
};

/* Chooses the file name. Returns 0 or -ENOMEM. */
static int name_recording(struct track *track)
{
	time_t now = time(NULL);
	char name[64];
	struct tm local;

	localtime_r(&now, &local);
	strftime(name, sizeof(name), "leakmon-%Y%m%d-%H%M%S.lkm", &local);
	free(track->recording);
	track->recording = strdup(track->options->recording ? track->options->recording : name);
	return track->recording ? 0 : -ENOMEM;
}

/* Opens the recording for the first snapshot. Returns 0, or -errno after a message. */
static int open_recording(struct track *track)
{
	const struct recorder_options keep = {.keep_bytes = 0};
	int error;

	if (track->recorder || track->profiles)
		return 0;
	error = name_recording(track);
	if (error)
		return error;
	return track->profile ? profile_recorder_open(&track->profiles, track->recording, &keep)
			      : recorder_open(&track->recorder, track->recording, &keep);
}

static void take_snapshot(struct track *track, const struct report *report)
{
	int error = open_recording(track);

	track->snapshot_wanted = false;
	if (!error)
		error = recorder_append(track->recorder, report, track->options->label, false);
	if (!error)
		log_info(
			"snapshot %llu is in %s: `leakmon report %s` shows it, `leakmon diff %s` what grew since the first",
			(unsigned long long)recorder_snapshots(track->recorder), track->recording,
			track->recording, track->recording);
}

static void take_profile_snapshot(struct track *track, const struct profile_report *report)
{
	int error = open_recording(track);

	track->snapshot_wanted = false;
	if (!error)
		error = profile_recorder_append(track->profiles, report);
	if (!error)
		log_info("profile %llu is in %s: `leakmon report --profile %s` shows it",
			 (unsigned long long)profile_recorder_count(track->profiles),
			 track->recording, track->recording);
}

/* Shows a report that has been taken, or logs `error`. */
static int show(struct track *track, int error)
{
	if (error)
		log_error("out of memory");
	else if (track->front.terminal->open)
		top_front_draw(&track->front);
	return error;
}

static int take_profile(void *context, const struct profile_report *report, bool last)
{
	struct track *track = context;
	int error = top_model_take_profile(&track->front.model, report);

	(void)last;
	if (!error && track->snapshot_wanted)
		take_profile_snapshot(track, report);
	return show(track, error);
}

/* Each event costs the process one or two microseconds: at this rate 1 % of a core. */
#define CHEAP_EVENTS_PER_S 5000.0
#define LOOK_FIRST_S 0.1
#define LOOK_AGAIN_S 1

static void start_timer(struct track *track)
{
	const struct itimerspec times = {.it_value.tv_nsec = (long)(LOOK_FIRST_S * 1e9),
					 .it_interval.tv_sec = LOOK_AGAIN_S};

	track->looked_s = monotonic_s();
	track->timer_fd = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (track->timer_fd >= 0)
		timerfd_settime(track->timer_fd, 0, &times, NULL);
}

/* Switches to a profile if the process allocates too fast for exact tracking. */
static void look_at_rate(struct track *track, const struct report *report)
{
	const struct ledger *ledger = &report->snapshot->ledger;
	uint64_t events = ledger->allocations + ledger->frees + ledger->untracked_frees;
	double now_s = monotonic_s(), span_s = now_s - track->looked_s;

	if (!track->if_cheap || !track->looked_s || span_s < LOOK_FIRST_S / 2)
		return;
	if ((double)(events - track->events) > CHEAP_EVENTS_PER_S * span_s) {
		track->end = TOP_FOLLOW;
		track->done = true;
	}
	track->looked_s = now_s;
	track->events = events;
}

static int take(void *context, const struct report *report, const char *label, bool last)
{
	struct track *track = context;
	int error = top_model_take_report(&track->front.model, report);

	(void)label, (void)last;
	look_at_rate(track, report);
	if (!error && track->snapshot_wanted)
		take_snapshot(track, report);
	return show(track, error);
}

/* Opens the screen: the probes are attached by now. */
static int wait_for(void *context, struct pollfds *fds)
{
	struct track *track = context;
	struct top_terminal *terminal = track->front.terminal;
	int error;

	if (!terminal->open) {
		error = top_front_open(terminal, &track->options->session.output);

		if (error)
			return error;
		top_front_draw(&track->front);
	}
	error = top_front_wait_for(&track->front, fds);
	if (!error && track->if_cheap && track->timer_fd < 0)
		start_timer(track);
	return error ? error : pollfds_add(fds, track->timer_fd);
}

/*
 * Requests a report; once all targets have ended, there is nothing more to record. Returns
 * REPORT_AGAIN or 0.
 */
static int ask_for_report(struct track *track, bool snapshot)
{
	bool ended = track->front.model.ended;

	if (ended) {
		top_model_say(&track->front.model,
			      "the processes have ended, there is nothing new to come; q quits");
		top_front_draw(&track->front);
	}
	track->snapshot_wanted = snapshot && !ended;
	return ended ? 0 : REPORT_AGAIN;
}

/*
 * Charges tracking as escalation: the user requested it, so the triage must not shed work for it.
 */
static void charge(struct track *track)
{
	double now_s = triage_cpu_s();

	if (track->triage)
		track->triage->escalation_cpu_s += now_s - track->charged_s;
	track->charged_s = now_s;
}

static int poll_triage(struct track *track)
{
	int error;

	charge(track);
	error = triage_poll(track->triage);
	track->charged_s = triage_cpu_s();
	return error;
}

static int handle(void *context, const struct pollfd *fds, size_t count)
{
	struct track *track = context;
	enum top_action action;
	uint64_t ticks;
	int error = 0;

	(void)count;
	if (track->triage && triage_pause_s(track->triage) <= 0)
		error = poll_triage(track);
	if (error)
		return error;
	action = top_front_handle(&track->front, fds);
	switch (action) {
	case TOP_LEAVE:
	case TOP_TRACK:
	case TOP_QUIT:
		track->end = action;
		track->done = true;
		break;
	case TOP_SNAPSHOT:
		return ask_for_report(track, true);
	case TOP_REFRESH:
		return ask_for_report(track, false);
	default:
		break;
	}
	return track->timer_fd >= 0 && read(track->timer_fd, &ticks, sizeof(ticks)) > 0
		       ? REPORT_AGAIN
		       : 0;
}

static bool is_done(void *context)
{
	return ((struct track *)context)->done;
}

static void targets_gone(void *context)
{
	struct track *track = context;

	track->front.model.ended = true;
	top_front_draw(&track->front);
}

/* Makes the title from the targets on the command line. */
static int make_title(struct track *track)
{
	const struct target_options *targets = &track->options->session.targets;
	uint64_t interval_ns = track->options->session.schedule.interval_ns;
	static const char *const kinds[SELECT_MAX_] = {[SELECT_COMM] = "",
						       [SELECT_CGROUP] = "cgroup ",
						       [SELECT_CONTAINER] = "container ",
						       [SELECT_POD] = "pod "};
	size_t size;
	FILE *out = open_memstream(&track->front.title, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < targets->chosen.pids.count; i++)
		fprintf(out, "%s%d", i ? "," : "PID ", targets->chosen.pids.items[i]);
	for (enum selector_kind kind = 0; kind < SELECT_MAX_; kind++) {
		const struct selector_words *words = &targets->chosen.words[kind];

		for (size_t i = 0; i < words->count; i++)
			fprintf(out, "%s%s ", kinds[kind], words->items[i]);
	}
	if (targets->command)
		fputs(*targets->command, out);
	fprintf(out, ", every %.3g s", (double)interval_ns / 1e9);
	return fclose(out) ? -ENOMEM : 0;
}

/* Returns the screen's hooks, shared by profiles and exact tracking. */
static struct run_hooks screen_hooks(struct track *track)
{
	return (struct run_hooks){.context = track,
				  .wait_for = wait_for,
				  .handle = handle,
				  .is_done = is_done,
				  .targets_gone = targets_gone};
}

static int run_exact(struct track *track)
{
	struct session_options own = track->options->session;
	struct run_hooks hooks = screen_hooks(track);

	hooks.take = take;
	own.targets.silent_command = true;
	return watch_run(&own, &hooks);
}

/* Number of call stacks shown, by growth. */
#define PROFILE_SITES 50

static int run_profile(struct track *track)
{
	const struct tracking_options tracking = PROFILE_TRACKING;
	const struct run_hooks hooks = screen_hooks(track);
	struct profile_options profile = {.session = track->options->session,
					  .overhead = PROFILE_OVERHEAD,
					  .floor = PROFILE_FLOOR,
					  .take = take_profile,
					  .screen = &hooks,
					  .context = track};

	profile.session.tracking = tracking;
	profile.session.tracking.debuginfod = track->options->session.tracking.debuginfod;
	profile.session.output.report.top = PROFILE_SITES;
	return profile_run(&profile);
}

static void close_recording(struct track *track)
{
	if (track->recorder)
		log_info("%s holds %llu snapshots", track->recording,
			 (unsigned long long)recorder_snapshots(track->recorder));
	if (track->profiles)
		log_info("%s holds %llu profiles", track->recording,
			 (unsigned long long)profile_recorder_count(track->profiles));
	recorder_close(track->recorder);
	profile_recorder_close(track->profiles);
	free(track->recording);
}

static int run_screen(struct track *track, struct top_terminal *terminal, enum top_action *end)
{
	int code = EXIT_ERROR;

	track->charged_s = triage_cpu_s();
	track->end = TOP_QUIT;
	track->front.terminal = terminal;
	top_model_init(&track->front.model, track->profile ? TOP_PROFILE : TOP_TARGETS,
		       sort_key_name(track->options->session.output.report.sort));
	track->front.model.nested = track->triage;
	if (make_title(track))
		log_error("out of memory");
	else
		code = track->profile ? run_profile(track) : run_exact(track);
	charge(track);
	cleanup_close(&track->timer_fd);
	close_recording(track);
	top_front_close(&track->front);
	*end = track->end;
	return code;
}

int top_track(const struct top_options *options, struct top_terminal *terminal,
	      struct triage *triage, enum top_action *end)
{
	struct track track = {.options = options, .triage = triage, .timer_fd = -1};

	return run_screen(&track, terminal, end);
}

int top_track_if_cheap(const struct top_options *options, struct top_terminal *terminal,
		       struct triage *triage, enum top_action *end)
{
	struct track track = {
		.options = options, .triage = triage, .timer_fd = -1, .if_cheap = true};

	return run_screen(&track, terminal, end);
}

int top_profile(const struct top_options *options, struct top_terminal *terminal,
		struct triage *triage, enum top_action *end)
{
	struct track track = {
		.options = options, .triage = triage, .timer_fd = -1, .profile = true};

	return run_screen(&track, terminal, end);
}
