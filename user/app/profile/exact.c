// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/exact.h"

#include <errno.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * The cost allowed for one burst, in seconds of the promise: 20 ms of CPU time at 1 % of a core.
 * Unused promise accumulates up to this.
 */
#define BURST_S 3.0
/* The real cost of probes may be this many times the counted cost: see window_scheduler.c. */
#define UNCOUNTED 1.5
/*
 * The first pause between attempts: a program that starts, or fills a cache, allocates far more
 * than later.
 */
#define RETRY_S 12.0
#define RETRY_DOUBLES 6
/* The share of the promise that the measured rate may use: rates vary. */
#define CHEAP_SHARE 0.5
/* Minimum pause between cuts. */
#define CUT_MIN_S 0.9
/*
 * Pause between reading counts and reading blocks: by then the program has filled in the newest
 * ones.
 */
#define GRACE_NS 10000000ull

void exact_free(struct exact_tracking *exact)
{
	if (!exact->window.detach)
		return;
	async_detach_now(exact->window.detach);
	profile_window_free(&exact->window);
}

bool exact_is_due(const struct exact_tracking *exact, double now_s)
{
	return !exact->open && now_s >= exact->retry_s;
}

/* Returns the cost, as a share of one core, that the counted hits may reach. */
static double allowed(const struct exact_tracking *exact)
{
	return exact->promised / UNCOUNTED;
}

bool exact_is_cheap(const struct exact_tracking *exact, double hits_per_s)
{
	return hits_per_s <= CHEAP_SHARE * allowed(exact);
}

double exact_saved_s(const struct exact_tracking *exact, double watched_s)
{
	return exact->promised * watched_s - exact->spent_s;
}

/* Called only by the thread that closes the probes. */
static double left_s(void *context)
{
	struct exact_tracking *exact = context;
	uint64_t now_ns = monotonic_ns();
	double hits_s = profile_window_hits_s(&exact->window);

	exact->credit_s += allowed(exact) * (double)(now_ns - exact->charged_ns) / 1e9;
	exact->credit_s = fmin(exact->credit_s, BURST_S * allowed(exact)) -
			  fmax(hits_s - exact->charged_s, 0);
	exact->charged_s = fmax(hits_s, exact->charged_s);
	exact->charged_ns = now_ns;
	return exact->credit_s;
}

int exact_open(struct exact_tracking *exact, struct session *session, pid_t pid, clockid_t clock,
	       double trap_ns, double saved_s, double now_s)
{
	struct profile_window_run *window = &exact->window;
	const struct detach_guard guard = {left_s, exact};
	int error, handed;

	if (!window->detach && profile_window_init(window))
		return -ENOMEM;
	exact->tries++;
	error = window_counts_read(&session->bpf, pid, &window->before);
	if (!error)
		error = profile_window_set_probes(window, session, pid, clock, trap_ns);
	exact->opened_s = now_s;
	exact->credit_s = fmin(BURST_S * allowed(exact), saved_s);
	exact->charged_s = exact->accounted_s = 0;
	exact->charged_ns = window->open_ns;
	exact->hits_begin = window->hits_before.count;
	exact->events_begin = window->before.allocations + window->before.frees;
	handed = profile_window_hand_over(window, session, pid, error ? 0 : UINT64_MAX,
					  error ? NULL : &guard);
	if (error || handed) {
		exact_close(exact, EXACT_FAILED, now_s);
		return error ? error : handed;
	}
	exact->open = true;
	exact->thinned = false;
	window->stage = WINDOW_BIRTHS;
	return 0;
}

bool exact_has_overrun(struct exact_tracking *exact)
{
	return exact->open && async_detach_closed_ns(exact->window.detach);
}

bool exact_cut_is_due(const struct exact_tracking *exact, double cpu_share)
{
	double since_s = (double)(monotonic_ns() - exact->window.births_from_ns) / 1e9;

	return exact->open && exact->window.stage == WINDOW_BIRTHS &&
	       since_s >= fmax(CUT_MIN_S, exact->cut_s / cpu_share);
}

int exact_cut_begin(struct exact_tracking *exact, struct session *session)
{
	struct profile_window_run *window = &exact->window;
	int error = profile_window_end_births(window, session);

	window->next_ns = window->births_to_ns + GRACE_NS;
	if (error)
		return error;
	if (window->before.process && window->after.process != window->before.process)
		return window->after.process ? -ESTALE : -ESRCH;
	return window->after.dropped > window->before.dropped ? -ENOSPC : 0;
}

int exact_cut_read(struct exact_tracking *exact, struct session *session)
{
	struct profile_window_run *window = &exact->window;
	int error = 0;

	window->blocks.list.count = 0;
	if (window->after.process)
		error = window_blocks_read(&session->bpf, window->after.process, &window->blocks);
	window->read_ns = monotonic_ns();
	return error;
}

void exact_cut_finish(struct exact_tracking *exact, double cpu_s)
{
	struct profile_window_run *window = &exact->window;

	exact->cut_s = cpu_s;
	window_counts_free(&window->before);
	window->before = window->after;
	window->after = (struct window_counts){0};
	window->births_from_ns = window->births_to_ns;
	window->stage = WINDOW_BIRTHS;
}

void exact_close(struct exact_tracking *exact, enum exact_end end, double now_s)
{
	exact->open = false;
	exact->end = end;
	exact->retry_s = now_s + ldexp(RETRY_S, (int)MIN(exact->tries - 1, RETRY_DOUBLES));
	async_detach_now(exact->window.detach);
	exact->window.stage = WINDOW_DETACHING;
}

bool exact_is_detached(struct exact_tracking *exact)
{
	return !exact->window.detach || profile_window_is_detached(&exact->window);
}

double exact_take_cost_s(struct exact_tracking *exact)
{
	double hits_s, cost_s;

	if (!exact->tries)
		return 0;
	hits_s = profile_window_hits_s(&exact->window);
	cost_s = fmax(hits_s - exact->accounted_s, 0);
	exact->accounted_s = fmax(hits_s, exact->accounted_s);
	exact->spent_s += cost_s;
	return cost_s;
}

double exact_hits_per_s(const struct exact_tracking *exact)
{
	double open_s = profile_window_open_s(&exact->window);
	struct lm_hits now;

	if (!exact->tries || open_s <= 0 ||
	    probe_cost_read(exact->window.bpf, exact->window.pid, &now))
		return 0;
	return (double)(now.count - exact->hits_begin) / open_s;
}

double exact_events_per_s(const struct exact_tracking *exact)
{
	const struct profile_window_run *window = &exact->window;
	double open_s = (double)(window->births_from_ns - window->open_ns) / 1e9;

	if (!exact->tries || open_s <= 0)
		return 0;
	return (double)(window->before.allocations + window->before.frees - exact->events_begin) /
	       open_s;
}
