// SPDX-License-Identifier: GPL-2.0-or-later
#include "runs/diagnose_beside.h"

#include <stdlib.h>

#include "base/cleanup.h"
#include "monitor/session.h"
#include "monitor/session_threads.h"
#include "threads/live_census.h"

/* An increase that may be the start of a leak: diagnose/conclude.h decides at the end. */
#define NOTICE_MIN 3

struct beside_session {
	pid_t pid;
	enum beside_family family;
	struct session_options options;
	struct session session;
	bool attached;
	/* Filled by the last reading. */
	bool examined;
	struct snapshot snapshot;
	struct report report;
	struct thread_census census;
};

struct beside_row {
	void (*choose)(struct tracking_options *tracking); /* what the session tracks */
	void (*examine)(struct beside_session *beside, struct beside_evidence *evidence);
};

/* -------- descriptors */

static void choose_descriptors(struct tracking_options *tracking)
{
	tracking->no_threads = true;
	tracking->families[FAMILY_DESCRIPTORS] = true;
}

static const struct report *beside_report(struct beside_session *beside)
{
	beside->examined = !session_examine(&beside->session, &beside->snapshot, &beside->report);
	return beside->examined ? &beside->report : NULL;
}

static void examine_descriptors(struct beside_session *beside, struct beside_evidence *evidence)
{
	evidence->opened = beside_report(beside);
}

/* -------- threads */

static void choose_threads(struct tracking_options *tracking)
{
	tracking->no_threads = false;
}

static int name_created(struct symbolizer *symbolizer, pid_t pid, struct live_group *group)
{
	int error = symbolizer_name(symbolizer, (uint32_t)pid, group->addresses, group->depth,
				    LINES_KNOWN, &group->stack);

	if (!error && group->start_routine)
		error = symbolizer_name_function(symbolizer, (uint32_t)pid, group->start_routine,
						 LINES_KNOWN, &group->start);
	return error;
}

static int take_created(struct beside_session *beside)
{
	_cleanup_(session_threads_free) struct session_threads threads = {.keeps = true};
	_cleanup_(snapshot_free) struct snapshot snapshot = {0};
	_cleanup_(thread_table_free) struct thread_table table = {0};
	struct session *session = &beside->session;
	int error = session_snapshot(session, &threads, &snapshot);

	for (size_t i = 0; !error && i < threads.censuses.count; i++) {
		if (threads.censuses.items[i].pid != (uint32_t)beside->pid)
			continue;
		beside->census = threads.censuses.items[i];
		threads.censuses.items[i] = (struct thread_census){0};
		error = thread_table_read(&session->bpf, &table);
		if (!error)
			error = live_census_take(&beside->census, &table, &session->bpf,
						 session->stages.worker);
	}
	return error;
}

/* The threads that were created since the session began and still live. */
static void examine_threads(struct beside_session *beside, struct beside_evidence *evidence)
{
	struct symbolizer *symbolizer = beside->session.stages.symbolizer;
	struct live_group *most = NULL;

	if (take_created(beside))
		return;
	for (size_t i = 0; i < beside->census.live.count; i++) {
		struct live_group *group = &beside->census.live.items[i];

		if (!group->main && !group->before_attach && (!most || group->count > most->count))
			most = group;
	}
	if (!most || name_created(symbolizer, beside->pid, most))
		return;
	symbolizer_find_lines(symbolizer, session_lines_wait_ms(true));
	if (!name_created(symbolizer, beside->pid, most))
		evidence->created = most;
}

/* -------- all families */

static const struct beside_row rows[] = {
	[BESIDE_DESCRIPTORS] = {choose_descriptors, examine_descriptors},
	[BESIDE_THREADS] = {choose_threads, examine_threads},
};
_Static_assert(ARRAY_SIZE(rows) == BESIDE_MAX_, "a row for every family");

/* No other event of the process is watched. */
static void beside_open(struct beside_session *beside)
{
	static const struct session_options defaults = SESSION_DEFAULTS;
	pid_t *pid;

	beside->options = defaults;
	beside->options.tracking.no_heap = true;
	beside->options.tracking.older_ns = 0;
	beside->options.output.report.top = 0;
	beside->options.output.report.show_allocs = true; /* for their ages */
	rows[beside->family].choose(&beside->options.tracking);
	pid = vec_push(&beside->options.targets.chosen.pids);
	if (pid)
		*pid = beside->pid;
	beside->attached = pid && !session_open_beside(&beside->session, &beside->options);
}

void diagnose_beside_notice(struct diagnose_beside *beside, pid_t pid, enum beside_family family,
			    const struct diagnosed_count *count)
{
	struct beside_session *session;

	if (beside->sessions[family] || !count->known || count->now < count->before + NOTICE_MIN)
		return;
	session = calloc(1, sizeof(*session));
	if (!session)
		return;
	session->pid = pid;
	session->family = family;
	beside->sessions[family] = session;
	beside_open(session);
}

void diagnose_beside_examine(struct diagnose_beside *beside, struct beside_evidence *evidence)
{
	*evidence = (struct beside_evidence){0};
	for (size_t i = 0; i < BESIDE_MAX_; i++) {
		if (beside->sessions[i] && beside->sessions[i]->attached)
			rows[i].examine(beside->sessions[i], evidence);
	}
}

static void beside_close(struct beside_session *beside)
{
	if (beside->examined) {
		report_free(&beside->report);
		snapshot_free(&beside->snapshot);
	}
	thread_census_free(&beside->census);
	if (beside->attached)
		session_close(&beside->session);
	vec_free(&beside->options.targets.chosen.pids);
	free(beside);
}

void diagnose_beside_close(struct diagnose_beside *beside)
{
	for (size_t i = 0; i < BESIDE_MAX_; i++) {
		if (beside->sessions[i])
			beside_close(beside->sessions[i]);
		beside->sessions[i] = NULL;
	}
}
