// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profile_window.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <time.h>

#include "app/profile/window_scheduler.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * The probes are removed automatically when the loop is this late after the window's end. Reading
 * the live set takes 6 ms of CPU time, which is 100 ms on a busy machine.
 */
#define DEADLINE_SLACK_NS 300000000ull

static uint64_t to_ns(double seconds)
{
	return (uint64_t)(seconds * 1e9);
}

int profile_window_init(struct profile_window_run *window)
{
	*window = (struct profile_window_run){.detach = async_detach_new()};
	return window->detach ? 0 : -ENOMEM;
}

void profile_window_free(struct profile_window_run *window)
{
	async_detach_free(window->detach);
	window_counts_free(&window->before);
	window_counts_free(&window->after);
	vec_free(&window->blocks.list);
	window->detach = NULL;
}

/*
 * Checks the target again from the beginning, because earlier findings may no longer hold, and sets
 * the probes.
 */
static int renew_probes(struct session *session, struct tracked *tracked)
{
	pid_t pid = tracked->probes.pid;
	int error = target_check(pid, &session->target_config, false);

	if (error)
		return error;
	target_detach(&tracked->probes);
	tracked->probes = (struct target){.pid = pid};
	return target_attach(&tracked->probes, process_table_find(session->stages.processes, pid),
			     &session->target_config, &session->bpf);
}

/*
 * Raises this thread's priority: the process runs into probes until they are removed, and a window
 * that is read late is worthless. The thread sleeps most of that time, and must not wait for a CPU
 * when it wakes.
 */
static void hurry(struct profile_window_run *window)
{
	urgency_begin(&window->urgency);
}

static void calm_down(const struct profile_window_run *window)
{
	urgency_end(&window->urgency);
}

/* Called by the thread that closes the probes. */
static double left_s(void *context)
{
	const struct profile_window_run *window = context;

	return window->bound_s - profile_window_hits_s(window);
}

int profile_window_set_probes(struct profile_window_run *window, struct session *session, pid_t pid,
			      clockid_t clock, double trap_ns)
{
	struct tracked *tracked = targets_find(session, pid);
	double begin_s = probe_thread_cpu_s();
	int error;

	if (!tracked)
		return -ESRCH;
	window->pid = pid;
	window->bpf = &session->bpf;
	window->clock = clock;
	window->trap_ns = trap_ns;
	window->cpu_s = clock_s(clock);
	window->used_s = 0;
	error = probe_cost_read(&session->bpf, pid, &window->hits_before);
	if (!error)
		error = renew_probes(session, tracked);
	/* Detaching costs as much as attaching. */
	window->attach_s = 2 * (probe_thread_cpu_s() - begin_s +
				(double)tracked->probes.attachments.apart_ns / 1e9);
	window->open_ns = window->births_from_ns = window->births_to_ns = monotonic_ns();
	window->stage = WINDOW_DETACHING;
	return error;
}

int profile_window_hand_over(struct profile_window_run *window, struct session *session, pid_t pid,
			     uint64_t deadline_ns, const struct detach_guard *guard)
{
	struct tracked *tracked = targets_find(session, pid);

	return tracked ? async_detach_add(window->detach, &tracked->probes.attachments, deadline_ns,
					  guard)
		       : -ESRCH;
}

int profile_window_open(struct profile_window_run *window, struct session *session, pid_t pid,
			const struct window_bounds *bounds)
{
	const struct detach_guard guard = {left_s, window};
	uint64_t end_ns;
	int error, handed;

	hurry(window);
	error = profile_window_set_probes(window, session, pid, bounds->clock, bounds->trap_ns);
	if (error == -ESRCH && !targets_find(session, pid)) {
		calm_down(window);
		return error;
	}
	window->grace_ns = to_ns(window_grace_s(bounds->length_s));
	window->allowance_s = bounds->allowance_s - bounds->attach_share * window->attach_s;
	window->bound_s = bounds->bound_s - bounds->attach_share * window->attach_s;
	window->length_ns = to_ns(bounds->length_s);
	window->next_ns = window->open_ns + window->grace_ns;
	end_ns = window->open_ns + window->length_ns + 2 * window->grace_ns;
	/* After an error, too: then there are no probes to close. */
	handed = profile_window_hand_over(window, session, pid,
					  error ? 0 : end_ns + DEADLINE_SLACK_NS,
					  error ? NULL : &guard);
	if (error || handed) {
		calm_down(window);
		return error ? error : handed;
	}
	window->stage = WINDOW_SETTLING;
	return 0;
}

int profile_window_begin_births(struct profile_window_run *window, struct session *session)
{
	int error = window_counts_read(&session->bpf, window->pid, &window->before);

	window->births_from_ns = window->births_to_ns = monotonic_ns();
	window->next_ns = window->births_from_ns + window->length_ns;
	window->stage = WINDOW_BIRTHS;
	return error;
}

int profile_window_end_births(struct profile_window_run *window, struct session *session)
{
	int error = window_counts_read(&session->bpf, window->pid, &window->after);

	window->births_to_ns = monotonic_ns();
	window->used_s = clock_s(window->clock) - window->cpu_s;
	window->next_ns = window->births_to_ns + window->grace_ns;
	window->stage = WINDOW_GRACE;
	return error;
}

void profile_window_give_up(struct profile_window_run *window)
{
	async_detach_now(window->detach);
	if (window->stage != WINDOW_DETACHING && window->stage != WINDOW_CLOSED)
		calm_down(window);
	window->stage = WINDOW_DETACHING;
}

int profile_window_read(struct profile_window_run *window, struct session *session)
{
	lm_process_key process = window->after.process;
	bool in_time, same = !window->before.process || window->before.process == process;
	int error = 0;

	window->blocks.list.count = 0;
	if (process)
		error = window_blocks_read(&session->bpf, process, &window->blocks);
	window->read_ns = monotonic_ns();
	in_time = async_detach_now(window->detach);
	calm_down(window);
	window->stage = WINDOW_DETACHING;
	return error || (in_time && same) ? error : -ECANCELED;
}

bool profile_window_is_detached(struct profile_window_run *window)
{
	if (!async_detach_is_done(window->detach))
		return false;
	if (window->stage == WINDOW_DETACHING)
		window->stage = WINDOW_CLOSED;
	return true;
}

/* Returns when the thread began to detach the probes, or now if it has not. */
static uint64_t closed_ns(const struct profile_window_run *window)
{
	uint64_t closed_ns = async_detach_closed_ns(window->detach);

	return closed_ns ? closed_ns : monotonic_ns();
}

double profile_window_open_s(const struct profile_window_run *window)
{
	return (double)(closed_ns(window) - window->open_ns) / 1e9;
}

double profile_window_births_s(const struct profile_window_run *window)
{
	uint64_t end_ns = MIN(closed_ns(window), window->births_to_ns);

	return end_ns > window->births_from_ns ? (double)(end_ns - window->births_from_ns) / 1e9
					       : 0;
}

double profile_window_hits_s(const struct profile_window_run *window)
{
	double hits_s, used_s;
	struct lm_hits now;

	if (probe_cost_read(window->bpf, window->pid, &now))
		return 0;
	hits_s = ((double)(now.ns - window->hits_before.ns) +
		  (double)(now.count - window->hits_before.count) * window->trap_ns) /
		 1e9;
	used_s = clock_s(window->clock) - window->cpu_s;
	return used_s > 0 ? fmin(hits_s, used_s) : hits_s; /* negative: it may have ended */
}
