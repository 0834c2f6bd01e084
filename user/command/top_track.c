// SPDX-License-Identifier: GPL-2.0-or-later
#include "command/top_track.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "command/top_front.h"
#include "monitor/watch_loop.h"
#include "store/recorder.h"

struct track {
	const struct top_options *options;
	struct top_front front;
	struct triage *triage;	   /* that goes on meanwhile, or NULL */
	double charged_s;	   /* CPU time that the triage's budget knows of */
	struct recorder *recorder; /* of snapshots; NULL: none yet */
	char *recording;	   /* its file; owned */
	bool snapshot_wanted;
	bool done, leave;
};

/* Made by the first snapshot. 0, or -errno after a message. */
static int open_recording(struct track *track)
{
	const struct recorder_options keep = {.keep_bytes = 0};
	time_t now = time(NULL);
	char name[64];
	struct tm local;

	if (track->recorder)
		return 0;
	localtime_r(&now, &local);
	strftime(name, sizeof(name), "leakmon-%Y%m%d-%H%M%S.lkm", &local);
	free(track->recording);
	track->recording = strdup(track->options->recording ? track->options->recording : name);
	if (!track->recording)
		return -ENOMEM;
	return recorder_open(&track->recorder, track->recording, &keep);
}

static void take_snapshot(struct track *track, const struct report *report)
{
	int error = open_recording(track);

	track->snapshot_wanted = false;
	if (!error)
		error = recorder_append(track->recorder, report, track->options->label, false);
	if (!error)
		log_info("snapshot %llu is in %s: `leakmon report %s` shows it, `leakmon diff %s` "
			 "what grew since the first",
			 (unsigned long long)recorder_snapshots(track->recorder), track->recording,
			 track->recording, track->recording);
}

static int take(void *context, const struct report *report, const char *label, bool last)
{
	struct track *track = context;
	int error = top_model_take_report(&track->front.model, report);

	(void)label, (void)last;
	if (error) {
		log_error("out of memory");
		return error;
	}
	if (track->snapshot_wanted)
		take_snapshot(track, report);
	if (track->front.terminal->open)
		top_front_draw(&track->front);
	return 0;
}

/* By now the probes are in. */
static int wait_for(void *context, struct pollfds *fds)
{
	struct track *track = context;
	struct top_terminal *terminal = track->front.terminal;

	if (!terminal->open) {
		int error = top_front_open(terminal, &track->options->session.output);

		if (error)
			return error;
		top_front_draw(&track->front);
	}
	return top_front_wait_for(&track->front, fds);
}

/* What has been seen stays on the screen, but there is nothing more to write down. */
static int ask_for_report(struct track *track, bool snapshot)
{
	bool ended = track->front.model.ended;

	if (ended) {
		top_model_say(&track->front.model,
			      "the processes have ended, there is nothing new to come; q quits");
		top_front_draw(&track->front);
	}
	track->snapshot_wanted = snapshot && !ended;
	return !ended;
}

/* Tracking was asked for: it is no reason for the triage to shed anything. */
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
	int error = 0;

	(void)count;
	if (track->triage && triage_pause_s(track->triage) <= 0)
		error = poll_triage(track);
	if (error)
		return error;
	switch (top_front_handle(&track->front, fds)) {
	case TOP_LEAVE:
		track->leave = true;
		track->done = true;
		break;
	case TOP_QUIT:
		track->done = true;
		break;
	case TOP_SNAPSHOT:
		return ask_for_report(track, true);
	case TOP_REFRESH:
		return ask_for_report(track, false);
	default:
		break;
	}
	return 0;
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

/* What is watched, as the command line names it. */
static int make_title(struct track *track)
{
	const struct target_options *targets = &track->options->session.targets;
	uint64_t interval_ns = track->options->session.schedule.interval_ns;
	const struct {
		const char *what;
		const struct option_words *words;
	} selections[] = {{"", &targets->comms},
			  {"cgroup ", &targets->cgroups},
			  {"container ", &targets->containers},
			  {"pod ", &targets->pods}};
	size_t size;
	FILE *out = open_memstream(&track->front.title, &size);

	if (!out)
		return -ENOMEM;
	for (size_t i = 0; i < targets->pids.count; i++)
		fprintf(out, "%s%d", i ? "," : "PID ", targets->pids.items[i]);
	for (size_t i = 0; i < ARRAY_SIZE(selections); i++) {
		for (size_t j = 0; j < selections[i].words->count; j++)
			fprintf(out, "%s%s ", selections[i].what, selections[i].words->items[j]);
	}
	if (targets->command)
		fputs(*targets->command, out);
	fprintf(out, ", every %.3g s", (double)interval_ns / 1e9);
	return fclose(out) ? -ENOMEM : 0;
}

int top_track(const struct top_options *options, struct top_terminal *terminal,
	      struct triage *triage, bool *leave)
{
	static const struct live_sink live = {wait_for, handle, is_done, targets_gone};
	struct session_options own = options->session;
	struct track track = {.options = options, .triage = triage, .charged_s = triage_cpu_s()};
	struct report_sink sink = {.take = take, .live = &live, .context = &track};
	int code = EXIT_ERROR;

	own.targets.silent_command = true;
	track.front.terminal = terminal;
	top_model_init(&track.front.model, TOP_TARGETS,
		       sort_key_name(options->session.output.report.sort));
	track.front.model.nested = triage;
	if (make_title(&track))
		log_error("out of memory");
	else
		code = watch_run(&own, &sink);
	if (track.recorder)
		log_info("%s holds %llu snapshots", track.recording,
			 (unsigned long long)recorder_snapshots(track.recorder));
	charge(&track);
	recorder_close(track.recorder);
	free(track.recording);
	top_front_close(&track.front);
	*leave = track.leave;
	return code;
}
