// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/window_scheduler.h"

#include <math.h>

#include "base/cleanup.h"

/* -------- the window budget of a process */

/* The meaning of "lately": the time constant for CPU time, and the weight of the newest window. */
#define LATELY_S 60.0
#define NEWEST_WEIGHT (1.0 / 3)
/* The length of a window aims at this many births, and at this multiple of the attach's cost. */
#define BIRTHS_WANTED 2000.0
#define ATTACH_TIMES 2.0
/*
 * Upper limits of a window's hits: absolute, since a process may free all day and allocate nothing;
 * and in seconds of earnings, so that a nearly idle process does not wait minutes for its next
 * window.
 */
#define HITS_COST_MAX_S 0.02
#define HITS_EARNED_IN_S 10.0
/*
 * The real cost of a window may be this many times its counted cost: the worst case is where the
 * kernel puts the process and one that waits for it on one CPU (see "What it costs" in
 * user/doc/profile.md).
 */
#define UNCOUNTED 1.5
/*
 * A window is closed early at this multiple of its expected cost, but not below the minimum. The
 * rest of its bound is for the grace that follows.
 */
#define SURPRISE 3.0
#define ALLOWANCE_MIN_S 0.02
#define ALLOWANCE_OF_BOUND 0.5
/*
 * The assumed slowdown under probes until windows have measured it: on average, and in a burst.
 * They have when the process has worked this long in them.
 */
#define FIRST_SLOWER 3.0
#define BURST_SLOWER 5.0
#define SHOWN_S 0.002
/* This many windows, with births counted for this long, show the rate of a nearly idle process. */
#define RATE_WINDOWS 2
#define RATE_BIRTHS_S 1.0
/* An attach uses at most this much of leakmon's CPU time: a longer one has waited. */
#define IDLE_ATTACH_MAX_S 0.03
/* The mean delay of the first window after it is earned: a user may be waiting. */
#define FIRST_DELAY_S 0.5
/*
 * Time for which a process may run into probes while the last ones are set, and after the bound is
 * reached, until they are detached.
 */
#define SETTING_S 0.01
#define OVERRUN_S 0.01
/*
 * Overrun of the first window, before bursts are known: detaching takes this long on a busy
 * machine.
 */
#define OVERRUN_FIRST_S 0.03

/* splitmix64 (Sebastiano Vigna, public domain). */
static double random_unit(struct window_budget *budget)
{
	uint64_t mixed = budget->random += 0x9e3779b97f4a7c15u;

	mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
	mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
	return (double)((mixed ^ mixed >> 31) >> 11) / 9007199254740992.0;
}

static void draw_next(struct window_budget *budget)
{
	budget->hazard = 0;
	budget->next = -log1p(-random_unit(budget));
}

void window_budget_init(struct window_budget *budget, double limit, double attach_s, uint64_t seed)
{
	*budget = (struct window_budget){.promised = limit,
					 .limit = limit / UNCOUNTED,
					 .attach_s = attach_s,
					 .idle_attach = PROFILE_IDLE_ATTACH,
					 .last_s = -1,
					 .random = seed};
	draw_next(budget);
}

static double clamp(double value, double low, double high)
{
	return fmin(fmax(value, low), high);
}

double window_budget_attach_loss_s(const struct window_budget *budget, double attach_s)
{
	return attach_s * fmin(budget->share, 1);
}

/*
 * Returns the loss of the process for an attach, or the part of leakmon's own time counted instead.
 */
static double attach_worth_s(const struct window_budget *budget)
{
	return fmax(window_budget_attach_loss_s(budget, budget->attach_s),
		    budget->idle_attach * fmin(budget->attach_s, IDLE_ATTACH_MAX_S));
}

static double earned_per_s(const struct window_budget *budget)
{
	return budget->limit * fmax(budget->share, budget->floor);
}

static double hits_cost_max_s(const struct window_budget *budget)
{
	return fmin(HITS_COST_MAX_S, HITS_EARNED_IN_S * earned_per_s(budget));
}

/*
 * Returns whether windows have measured the slowdown; windows between a program's bursts have not.
 */
static bool is_shown(const struct window_budget *budget)
{
	return budget->shown_s >= SHOWN_S;
}

/* Returns the expected time in probes per second, on average. */
static double expected_loss(const struct window_budget *budget)
{
	if (is_shown(budget))
		return budget->loss;
	return fmax(budget->loss, fmin(FIRST_SLOWER * budget->share, 1));
}

double window_budget_length_s(const struct window_budget *budget)
{
	double length = PROFILE_WINDOW_MAX_S, loss = expected_loss(budget);

	if (!budget->windows)
		return PROFILE_WINDOW_MIN_S;
	/* Choose the shortest length sufficient for both; a window that costs almost nothing gets
	 * the maximum. */
	if (loss > 0)
		length = fmin(length, hits_cost_max_s(budget) / loss);
	if (budget->births_per_s > 0)
		length = fmin(length, BIRTHS_WANTED / budget->births_per_s);
	if (loss > 0)
		length = fmax(length, ATTACH_TIMES * attach_worth_s(budget) / loss);
	return clamp(length, PROFILE_WINDOW_MIN_S, PROFILE_WINDOW_MAX_S);
}

double window_grace_s(double length_s)
{
	return clamp(length_s * PROFILE_GRACE_SHARE, PROFILE_GRACE_MIN_S, PROFILE_GRACE_MAX_S);
}

/* Returns the loss per second in a burst, which most windows of an idle process miss. */
static double burst_loss(const struct window_budget *budget)
{
	return fmin(FIRST_SLOWER * sqrt(budget->share * budget->peak), 1);
}

/* Returns the time for which a process may run into the probes of a window. */
static double probed_s(double length_s)
{
	return SETTING_S + length_s + 2 * window_grace_s(length_s);
}

static double expected_cost_s(const struct window_budget *budget)
{
	return window_budget_attach_loss_s(budget, budget->attach_s) +
	       probed_s(window_budget_length_s(budget)) * expected_loss(budget);
}

double window_budget_hits_per_s(const struct window_budget *budget)
{
	bool known = budget->windows >= RATE_WINDOWS &&
		     (is_shown(budget) || budget->births_s >= RATE_BIRTHS_S);

	return known ? budget->loss : INFINITY;
}

/*
 * Returns the cost of a window that meets the densest burst from its beginning; 0 once windows have
 * measured it.
 */
double window_budget_burst_s(const struct window_budget *budget)
{
	if (is_shown(budget))
		return 0;
	return fmin(BURST_SLOWER * budget->peak, 1) *
	       (probed_s(PROFILE_WINDOW_MIN_S) + OVERRUN_FIRST_S);
}

double window_budget_base_s(const struct window_budget *budget)
{
	return fmax(budget->used_s, budget->floor * budget->watched_s);
}

/* Returns the allowed loss so far less the actual loss. */
static double left_s(const struct window_budget *budget)
{
	return budget->promised * window_budget_base_s(budget) - budget->spent_s;
}

/* Subtract the loss until expensive probes are detached. */
double window_budget_bound_s(const struct window_budget *budget)
{
	return left_s(budget) -
	       (is_shown(budget) ? OVERRUN_S : OVERRUN_FIRST_S) * burst_loss(budget);
}

double window_budget_allowance_s(const struct window_budget *budget)
{
	return fmin(fmax(SURPRISE * expected_cost_s(budget), ALLOWANCE_MIN_S),
		    ALLOWANCE_OF_BOUND * window_budget_bound_s(budget));
}

bool window_budget_is_earned(const struct window_budget *budget)
{
	double expected_s = expected_cost_s(budget);

	return budget->spent_s + expected_s <= budget->limit * window_budget_base_s(budget) &&
	       UNCOUNTED * expected_s < window_budget_bound_s(budget) &&
	       window_budget_burst_s(budget) < left_s(budget);
}

static double windows_per_s(const struct window_budget *budget)
{
	double rate = earned_per_s(budget) / fmax(expected_cost_s(budget), attach_worth_s(budget));

	return budget->windows ? rate : fmax(rate, 1 / FIRST_DELAY_S);
}

bool window_budget_step(struct window_budget *budget, double now_s, double cpu_s)
{
	double elapsed_s = now_s - budget->last_s, used_s = fmax(cpu_s - budget->clock_s, 0);
	bool first = budget->last_s < 0;

	if (!first && elapsed_s <= 0)
		return false;
	budget->clock_s = fmax(cpu_s, budget->clock_s);
	budget->last_s = now_s;
	if (first)
		return false;
	/* The weight of a short history is small. */
	budget->watched_s += elapsed_s;
	budget->used_s += used_s;
	budget->share +=
		(used_s / elapsed_s - budget->share) *
		fmax(-expm1(-elapsed_s / LATELY_S), fmin(elapsed_s / budget->watched_s, 1));
	budget->peak = fmax(used_s / elapsed_s, budget->peak * exp(-elapsed_s / LATELY_S));
	budget->hazard += elapsed_s * windows_per_s(budget);
	if (budget->hazard < budget->next)
		return false;
	/* Draw again even if it is not earned, or windows would open just after busy phases. */
	draw_next(budget);
	return window_budget_is_earned(budget);
}

/*
 * For a window that ended before births counted, only the time in probes is known, and some hits
 * came while the probes were being set.
 */
static void learn_loss(struct window_budget *budget, const struct window_cost *cost, double weight)
{
	double loss = cost->hits_s / (SETTING_S + cost->open_s);

	if (cost->births_s > 0)
		loss = cost->births_hits_s / cost->births_s;
	else
		loss = fmax(loss, budget->loss);
	budget->loss += (loss - budget->loss) * weight;
}

void window_budget_spend(struct window_budget *budget, const struct window_cost *cost)
{
	double weight = budget->windows ? NEWEST_WEIGHT : 1;

	budget->spent_s += window_budget_attach_loss_s(budget, cost->attach_s) + cost->hits_s;
	if (cost->open_s <= 0 && cost->births_s <= 0)
		return;
	budget->attach_s += (cost->attach_s - budget->attach_s) * weight;
	budget->shown_s += cost->used_s;
	learn_loss(budget, cost, weight);
	if (cost->births_s <= 0 || cost->births < 0)
		return;
	budget->births_s += cost->births_s;
	budget->births_per_s += (cost->births / cost->births_s - budget->births_per_s) * weight;
	budget->windows++;
}

double window_budget_spent_share(const struct window_budget *budget)
{
	double base_s = window_budget_base_s(budget);

	return base_s > 0 ? budget->spent_s / base_s : 0;
}

/* -------- the scheduler: one window at a time */

/* Windows for each process before growth decides. */
#define FIRST_WINDOWS 3
/* Share of the limit reserved for windows and looks. */
#define WINDOWS_SHARE 0.5

void window_scheduler_init(struct window_scheduler *scheduler, double limit, double now_s)
{
	*scheduler = (struct window_scheduler){.limit = limit,
					       .clock_s = now_s,
					       .total_credit_s = WINDOW_CREDIT_S,
					       .windows_credit_s = WINDOW_CREDIT_S};
}

/* A token bucket: it fills by the clock and drains by use. */
static double credit_after(double credit_s, double earned_s, double used_s)
{
	return fmin(credit_s + earned_s, WINDOW_CREDIT_S) - used_s;
}

bool window_scheduler_has_credit(struct window_scheduler *scheduler, double now_s, double total_s,
				 double windows_s)
{
	double earned_s = scheduler->limit * fmax(now_s - scheduler->clock_s, 0);

	scheduler->total_credit_s =
		credit_after(scheduler->total_credit_s, earned_s, total_s - scheduler->total_s);
	scheduler->windows_credit_s =
		credit_after(scheduler->windows_credit_s, earned_s * WINDOWS_SHARE,
			     windows_s - scheduler->windows_s);
	scheduler->clock_s = fmax(now_s, scheduler->clock_s);
	scheduler->total_s = total_s;
	scheduler->windows_s = windows_s;
	return scheduler->total_credit_s > 0 || scheduler->windows_credit_s > 0;
}

static bool is_less_known(const struct window_candidate *one, const struct window_candidate *other)
{
	unsigned a = MIN(one->windows, FIRST_WINDOWS), b = MIN(other->windows, FIRST_WINDOWS);

	return a != b ? a < b : one->since_s < other->since_s;
}

static size_t least_known(const struct window_candidate *candidates, size_t count)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		if (candidates[i].is_due &&
		    (found == count || is_less_known(&candidates[i], &candidates[found])))
			found = i;
	}
	return found;
}

static size_t fastest(const struct window_candidate *candidates, size_t count)
{
	size_t found = count;

	for (size_t i = 0; i < count; i++) {
		if (candidates[i].is_due && candidates[i].growth > 0 &&
		    (found == count || candidates[i].growth > candidates[found].growth))
			found = i;
	}
	return found;
}

size_t window_scheduler_next(struct window_scheduler *scheduler,
			     const struct window_candidate *candidates, size_t count)
{
	size_t oldest = least_known(candidates, count), grows = fastest(candidates, count);

	if (oldest == count || candidates[oldest].windows < FIRST_WINDOWS)
		return oldest;
	scheduler->oldest_next = !scheduler->oldest_next;
	return scheduler->oldest_next || grows == count ? oldest : grows;
}

/* -------- slots: the followed processes */

struct profile_slot *profile_slots_find(const struct profile_slots *slots, pid_t pid,
					uint64_t start_ticks)
{
	for (size_t i = 0; i < slots->list.count; i++) {
		struct profile_slot *slot = &slots->list.items[i];

		if (slot->pid == pid && slot->start_ticks == start_ticks)
			return slot;
	}
	return NULL;
}

static struct profile_slot *find_stale(const struct profile_slots *slots, double now_s, pid_t busy)
{
	struct profile_slot *found = NULL;

	for (size_t i = 0; i < slots->list.count; i++) {
		struct profile_slot *slot = &slots->list.items[i];

		if (!slot->refused && slot->pid != busy &&
		    now_s - slot->suspect_s > PROFILE_SLOT_STAY_S &&
		    (!found || slot->suspect_s < found->suspect_s))
			found = slot;
	}
	return found;
}

static struct profile_slot *find_slowest(const struct profile_slots *slots, pid_t busy)
{
	struct profile_slot *found = NULL;

	for (size_t i = 0; i < slots->list.count; i++) {
		struct profile_slot *slot = &slots->list.items[i];

		if (!slot->refused && !slot->near_limit && slot->pid != busy &&
		    (!found || slot->per_s < found->per_s))
			found = slot;
	}
	return found;
}

bool profile_slots_has_room(const struct profile_slots *slots, double now_s, pid_t busy,
			    bool near_limit, struct profile_slot **evicted)
{
	size_t taken = 0;

	for (size_t i = 0; i < slots->list.count; i++)
		taken += !slots->list.items[i].refused;
	*evicted = taken < slots->limit ? NULL : find_stale(slots, now_s, busy);
	if (taken >= slots->limit && !*evicted && near_limit)
		*evicted = find_slowest(slots, busy);
	return taken < slots->limit || *evicted;
}

struct profile_slot *profile_slots_add(struct profile_slots *slots, const struct profile_slot *slot)
{
	struct profile_slot *taken = vec_push(&slots->list);

	if (taken)
		*taken = *slot;
	return taken;
}

void profile_slots_release(struct profile_slots *slots, struct profile_slot *slot)
{
	*slot = slots->list.items[--slots->list.count];
}

void profile_slots_expire(struct profile_slots *slots, double now_s,
			  bool (*is_alive)(const struct profile_slot *slot, void *context),
			  void *context)
{
	for (size_t i = slots->list.count; i-- > 0;) {
		struct profile_slot *slot = &slots->list.items[i];

		if ((slot->refused && now_s - slot->suspect_s > PROFILE_SLOT_REFUSED_S) ||
		    !is_alive(slot, context))
			profile_slots_release(slots, slot);
	}
}
