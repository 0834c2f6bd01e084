// SPDX-License-Identifier: GPL-2.0-or-later
#include "profile/profile_window.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "profile/window_scheduler.h"

/* Probes go by themselves when the loop is held up for so long beyond the window's end. Reading the
 * live set takes 6 ms of CPU time, which on a machine that is busy are 100 ms. */
#define DEADLINE_SLACK_NS 300000000ull
#define GRACE_MIN_S 0.003
#define GRACE_MAX_S 0.05

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

/* What the target was found to be before may no longer hold: all of it is looked at anew. */
static int set_probes(struct session *session, struct tracked *tracked)
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

int profile_window_open(struct profile_window_run *window, struct session *session, pid_t pid,
			double length_s, double allowance_s)
{
	struct tracked *tracked = targets_find(session, pid);
	double begin_s = probe_thread_cpu_s(), grace_s = length_s * PROFILE_GRACE_SHARE;
	uint64_t now_ns;
	int error;

	if (!tracked)
		return -ESRCH;
	window->pid = pid;
	window->allowance_s = allowance_s;
	window->grace_ns = to_ns(MIN(MAX(grace_s, GRACE_MIN_S), GRACE_MAX_S));
	error = probe_cost_read(&session->bpf, &window->hits_before);
	if (!error)
		error = set_probes(session, tracked);
	/* It goes as it came. */
	window->attach_s = 2 * (probe_thread_cpu_s() - begin_s +
				(double)tracked->probes.attachments.apart_ns / 1e9);
	now_ns = monotonic_ns();
	window->length_ns = to_ns(length_s);
	window->next_ns = now_ns + window->grace_ns;
	window->stage = WINDOW_DETACHING;
	if (async_detach_add(window->detach, &tracked->probes.attachments,
			     error ? 0
				   : now_ns + window->length_ns + 2 * window->grace_ns +
					     DEADLINE_SLACK_NS))
		return -ENOMEM;
	if (error)
		return error;
	window->births_from_ns = window->births_to_ns = now_ns;
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
	window->next_ns = window->births_to_ns + window->grace_ns;
	window->stage = WINDOW_GRACE;
	return error;
}

void profile_window_give_up(struct profile_window_run *window)
{
	async_detach_now(window->detach);
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

double profile_window_hits_s(const struct profile_window_run *window, const struct bpf_side *bpf,
			     double trap_ns)
{
	struct lm_hits now;

	if (probe_cost_read(bpf, &now))
		return 0;
	return ((double)(now.ns - window->hits_before.ns) +
		(double)(now.count - window->hits_before.count) * trap_ns) /
	       1e9;
}
