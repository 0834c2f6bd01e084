// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/profile/profile_run.h"

#include <errno.h>
#include <math.h>
#include <string.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "app/monitor/emit.h"
#include "app/monitor/watch.h"
#include "app/profile/look.h"
#include "app/profile/profile_build.h"
#include "app/profile/profile_choice.h"
#include "app/profile/profile_target.h"
#include "app/profile/profile_window.h"
#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"

/*
 * Pause between the loop's checks: without a window, in one, and while its probes are detached. At
 * first it checks more often for bursts: a window in a burst costs the process most.
 */
#define TICK_S 0.1
#define TICK_FIRST_S 0.02
#define FIRST_S 60.0
#define TICK_OPEN_S 0.01
#define TICK_DETACHING_S 0.02
/* Pause between readings of a process's memory. */
#define MEMORY_EVERY_S 5.0
/* Pause before a process that could not be probed is retried; it grows each time. */
#define REFUSED_S 10.0
#define REFUSED_MAX_S 600.0
/*
 * Hits cost programs 0.8 to 1.3 times the calibrated cost (dripper at four paces, on a machine with
 * other load): limits assume this factor. A window counts as at least the rest of its time.
 */
#define HITS_DEARER 1.25
#define SLOWED_MAX 0.9
/*
 * Limits over all processes: followed blocks, 56 bytes each; and sites, 0.7 KB each, plus 4.1 KB
 * where blocks have outlived a window.
 */
#define SAMPLES_MAX 65536
#define SITES_MAX 4096
/* Maximum number of processes under exact tracking: each has a thread that watches its cost. */
#define EXACT_MOST 16
/* The share of leakmon's limit for cuts of exact tracking. */
#define CUTS_SHARE 0.5
/*
 * The share of the room for blocks that all exact tracking together may fill with unfollowed
 * blocks.
 */
#define EXACT_ROOM_SHARE 0.5

struct profile_run {
	const struct profile_options *options;
	struct session *session;
	struct profile_choice *choice; /* NULL: targets were named */
	struct look look;
	struct probe_calibration calibration;
	VEC(struct profile_target *) targets; /* owned */
	struct profile_window_run window;
	struct profile_target *open; /* the target with an open window, or NULL */
	struct window_scheduler scheduler;
	bool held_back; /* leakmon's own limit is used up, so windows wait */
	/* CPU time of leakmon before the first window; and of reports */
	double cpu_begin_s, reported_s;
	double births;	      /* in the open window; negative: unknown (so far) */
	double cpu_s, hits_s; /* of the target, when births began to count */
	double births_hits_s; /* cost of hits since, until births end */
	double slowed_s;      /* by which probes prolonged the births phase */
	int timer_fd;
	uint64_t begin_ns, sequence, seed;
	double spent_s, used_s; /* of targets that are gone */
};

static double now_of(const struct profile_run *run)
{
	return (double)(monotonic_ns() - run->begin_ns) / 1e9;
}

static double seconds_of(const struct profile_run *run, uint64_t ns)
{
	return (double)(int64_t)(ns - run->begin_ns) / 1e9;
}

/* -------- profiled processes */

static struct profile_target *target_find(struct profile_run *run, const struct tracked *tracked)
{
	for (size_t i = 0; i < run->targets.count; i++) {
		struct profile_target *target = run->targets.items[i];

		if (!target->ended && target->pid == tracked->probes.pid &&
		    target->start_ticks == tracked->start_ticks)
			return target;
	}
	return NULL;
}

static int target_add(struct profile_run *run, const struct tracked *tracked)
{
	struct profile_target *target = calloc(1, sizeof(*target));
	struct profile_target **slot = target ? vec_push(&run->targets) : NULL;

	if (!slot) {
		free(target);
		return -ENOMEM;
	}
	*slot = target;
	target->pid = tracked->probes.pid;
	target->start_ticks = tracked->start_ticks;
	profile_target_read_comm(target); /* it may end before its first report */
	target->container = container_copy(container_find(run->session->containers, target->pid));
	target->refused_for_s = REFUSED_S;
	target->memory_bytes = target->memory_read_s = -1;
	target->turn_s = now_of(run);
	if (clock_getcpuclockid(target->pid, &target->clock))
		target->refused_until_s = INFINITY; /* it has just ended */
	run->seed = run->seed * 6364136223846793005u + 1442695040888963407u;
	profiled_init(&target->profiled, run->seed);
	window_budget_init(&target->budget, run->options->overhead, run->calibration.attach_s,
			   run->seed ^ 0x9e3779b97f4a7c15u);
	target->budget.floor = run->options->floor;
	if (run->options->hasty)
		target->budget.idle_attach = PROFILE_IDLE_ATTACH_HASTY;
	return 0;
}

static void target_free(struct profile_run *run, struct profile_target *target)
{
	run->spent_s += target->budget.spent_s;
	run->used_s += window_budget_base_s(&target->budget);
	profile_target_free(target);
}

/* Updates the list of targets from the session, and notes which have ended. */
static int targets_follow(struct profile_run *run)
{
	struct session *session = run->session;
	int error = 0;

	for (size_t i = 0; i < run->targets.count; i++) {
		struct profile_target *target = run->targets.items[i];
		struct tracked *tracked = targets_find(session, target->pid);

		target->ended |= !tracked || tracked->start_ticks != target->start_ticks;
	}
	for (size_t i = 0; i < session->targets.list.count && !error; i++) {
		const struct tracked *tracked = &session->targets.list.items[i];

		if (!tracked->ended && !tracked->shares && !target_find(run, tracked))
			error = target_add(run, tracked);
	}
	return error;
}

static void target_restart(struct profile_run *run, struct profile_target *target,
			   lm_process_key key)
{
	run->seed = run->seed * 6364136223846793005u + 1442695040888963407u;
	profile_target_restart(target, run->seed, key);
}

/* -------- windows */

static size_t samples_of_all(const struct profile_run *run)
{
	size_t samples = 0;

	for (size_t i = 0; i < run->targets.count; i++)
		samples += run->targets.items[i]->profiled.samples;
	return samples;
}

/* Halves the samples of the process with most, until all fit. */
static void bound_samples(struct profile_run *run)
{
	while (samples_of_all(run) > SAMPLES_MAX) {
		struct profiled *most = &run->targets.items[0]->profiled;

		for (size_t i = 1; i < run->targets.count; i++) {
			struct profiled *other = &run->targets.items[i]->profiled;

			if (other->samples > most->samples)
				most = other;
		}
		profiled_halve(most);
	}
}

/* Returns the room for new sites of one process: at most half of the rest. */
static size_t site_room(const struct profile_run *run)
{
	size_t sites = 0;

	for (size_t i = 0; i < run->targets.count; i++)
		sites += run->targets.items[i]->profiled.sites.count;
	return sites < SITES_MAX ? (SITES_MAX - sites) / 2 : 0;
}

/* A window's counts by site. */
struct births {
	VEC(struct window_births) list;
	VEC(struct window_block) blocks;
	VEC(struct known_block) known;
	double count;
};

static void births_free(struct births *births)
{
	vec_free(&births->list);
	vec_free(&births->blocks);
	vec_free(&births->known);
}

static int list_births(const struct profile_window_run *window, struct births *births)
{
	for (size_t i = 1; i < window->after.sites; i++) {
		bool known = i < window->before.sites;
		uint64_t before = known ? window->before.blocks[i] : 0;
		struct window_births *site;

		if (window->after.blocks[i] <= before)
			continue;
		site = vec_push(&births->list);
		if (!site)
			return -ENOMEM;
		site->site = (uint32_t)i;
		site->blocks = window->after.blocks[i] - before;
		site->bytes = window->after.bytes[i] - (known ? window->before.bytes[i] : 0);
		births->count += (double)site->blocks;
	}
	return 0;
}

static int by_address(const void *left, const void *right)
{
	const struct known_block *a = left, *b = right;

	if (a->address != b->address)
		return a->address < b->address ? -1 : 1;
	return (a->born_ns > b->born_ns) - (a->born_ns < b->born_ns);
}

/* Lists the blocks born in the window, and all outstanding ones. Returns 0 or -ENOMEM. */
static int list_blocks(const struct profile_window_run *window, struct births *births)
{
	for (size_t i = 0; i < window->blocks.list.count; i++) {
		const struct outstanding *block = &window->blocks.list.items[i];
		struct known_block *known = vec_push(&births->known);
		struct window_block *born;

		if (!known)
			return -ENOMEM;
		*known = (struct known_block){block->address, block->born_ns};
		if (block->born_ns < window->births_from_ns ||
		    block->born_ns > window->births_to_ns || block->site == LM_SITE_LOST)
			continue;
		born = vec_push(&births->blocks);
		if (!born)
			return -ENOMEM;
		*born = (struct window_block){block->address, block->size, block->born_ns,
					      block->site};
	}
	if (births->known.count)
		qsort(births->known.items, births->known.count, sizeof(*births->known.items),
		      by_address);
	return 0;
}

static bool is_followed(const struct outstanding *block, void *context)
{
	return profile_index_has(context, block->address, block->born_ns);
}

/* Removes unfollowed blocks from the live set, to make room for the next window. */
static int forget_others(struct profile_run *run, const struct profile_target *target,
			 const struct outstanding_list *blocks)
{
	struct profile_index index = {0};
	int error = profiled_index(&target->profiled, &index);

	if (!error)
		error = window_blocks_forget(&run->session->bpf, target->key, blocks, is_followed,
					     &index);
	vec_free(&index.blocks);
	return error;
}

/* Looks once at the blocks of one window. Returns 0 or -ENOMEM: unreadable blocks are left out. */
static int look(struct profile_run *run, struct profile_target *target, size_t window)
{
	struct profiled *profiled = &target->profiled;
	size_t count = profiled->windows.items[window].samples.count;
	_cleanup_free_ struct look_request *requests = calloc(count + 1, sizeof(*requests));
	_cleanup_free_ struct look_result *results = calloc(count + 1, sizeof(*results));
	int error;

	if (!requests || !results)
		return -ENOMEM;
	profiled_look_begin(profiled, window, requests);
	error = count ? look_at(&run->look, target->pid, requests, count, results) : 0;
	profiled_look_finish(profiled, window, now_of(run), error ? NULL : results);
	return 0;
}

static double balance_of(const struct profile_window_run *window)
{
	return (double)(window->after.allocations - window->before.allocations) -
	       (double)(window->after.frees - window->before.frees);
}

static int take_births(struct profile_run *run, struct profile_target *target,
		       const struct profile_window_run *window, double slowed_s,
		       struct births *births)
{
	double from_s = seconds_of(run, window->births_from_ns);
	double to_s = seconds_of(run, window->births_to_ns);
	size_t samples = samples_of_all(run);
	struct window_taken taken = {
		.at_s = (from_s + to_s) / 2,
		.length_s = to_s - from_s - slowed_s,
		.wall_s = to_s - from_s,
		.end_s = seconds_of(run, window->read_ns),
		.balance = balance_of(window),
		.births = births->list.items,
		.birth_count = births->list.count,
		.blocks = births->blocks.items,
		.block_count = births->blocks.count,
		.room = samples < SAMPLES_MAX ? SAMPLES_MAX - samples : 0,
		.site_room = site_room(run),
	};
	int error;

	profiled_mark_freed(&target->profiled, births->known.items, births->known.count);
	error = profiled_take(&target->profiled, &taken);
	if (!error)
		error = look(run, target, target->profiled.windows.count - 1);
	bound_samples(run);
	return error;
}

/*
 * Returns whether blocks were dropped: the births would be incomplete, so the window does not
 * count.
 */
static bool lost_some(const struct profile_window_run *window, struct profile_target *target)
{
	uint64_t lost = window->after.dropped - window->before.dropped;

	target->dropped += lost;
	return lost != 0;
}

/* Counts a failed window; only -ENOMEM ends the run. */
static int miss(struct profile_target *target, int error)
{
	log_debug("PID %d: no window: %s", target->pid, strerror(-error));
	if (error == -ESRCH) /* it has ended, which is handled elsewhere */
		return 0;
	target->missed++;
	target->missed_why = -error;
	return error == -ENOMEM ? error : 0;
}

/*
 * Takes all counts of a window, or of a part of exact tracking. *count: births, untouched if some
 * were lost.
 */
static int absorb(struct profile_run *run, struct profile_target *target,
		  const struct profile_window_run *window, double slowed_s, double *count)
{
	struct births births = {0};
	int error = 0;

	target->key = window->after.process;
	if (target->key)
		memcpy(target->comm, window->after.comm, sizeof(target->comm));
	if (!lost_some(window, target)) {
		error = list_births(window, &births);
		if (!error)
			error = list_blocks(window, &births);
		if (!error)
			error = take_births(run, target, window, slowed_s, &births);
		*count = births.count;
	}
	births_free(&births);
	return error;
}

static int take_window(struct profile_run *run)
{
	struct profile_target *target = run->open;
	int error = profile_window_read(&run->window, run->session);

	if (!error && target->key && !run->window.after.process)
		error = -ESRCH; /* it ended in the window: keep its figures */
	if (error)
		return miss(target, error);
	if (target->key && run->window.after.process != target->key)
		target_restart(run, target, run->window.after.process);
	error = absorb(run, target, &run->window, run->slowed_s, &run->births);
	if (!error && target->key)
		error = forget_others(run, target, &run->window.blocks);
	return error;
}

/*
 * Handles a failure to open a window: the cost counts all the same, and the process is left alone
 * for a while.
 */
static int refuse(struct profile_run *run, struct profile_target *target, int error)
{
	window_budget_spend(&target->budget,
			    &(struct window_cost){.attach_s = run->window.attach_s});
	target->refused_until_s = now_of(run) + target->refused_for_s;
	target->refused_for_s = MIN(target->refused_for_s * 2, REFUSED_MAX_S);
	return miss(target, error);
}

static int open_window(struct profile_run *run, struct profile_target *target)
{
	const struct window_bounds bounds = {
		.length_s = window_budget_length_s(&target->budget),
		.allowance_s = window_budget_allowance_s(&target->budget),
		.bound_s = window_budget_bound_s(&target->budget),
		.attach_share = window_budget_attach_loss_s(&target->budget, 1),
		.trap_ns = run->calibration.trap_ns,
		.clock = target->clock,
	};
	int error = profile_window_open(&run->window, run->session, target->pid, &bounds);

	target->is_due = false;
	target->turn_s = now_of(run);
	if (error)
		return refuse(run, target, error);
	target->refused_for_s = REFUSED_S;
	run->open = target;
	run->births = -1;
	run->births_hits_s = 0;
	return 0;
}

static double cpu_used_s(const struct profile_run *run)
{
	return clock_s(CLOCK_PROCESS_CPUTIME_ID) + async_detach_cpu_s(run->window.detach);
}

/*
 * Sets *next to a target that is due, if leakmon's own budget allows, or NULL. Returns 0 or
 * -ENOMEM.
 */
static int next_target(struct profile_run *run, struct profile_target **next)
{
	_cleanup_free_ struct window_candidate *candidates =
		calloc(run->targets.count + 1, sizeof(*candidates));
	double total_s = cpu_used_s(run) - run->cpu_begin_s;
	size_t turn;

	*next = NULL;
	if (!candidates)
		return -ENOMEM;
	/* A screen costs more, but a user waits for it: the targets' own limits suffice. */
	run->held_back = !run->options->screen &&
			 !window_scheduler_has_credit(&run->scheduler, now_of(run), total_s,
						      total_s - run->reported_s);
	if (run->held_back)
		return 0;
	for (size_t i = 0; i < run->targets.count; i++) {
		const struct profile_target *target = run->targets.items[i];

		candidates[i] = (struct window_candidate){
			.is_due = target->is_due && !target->ended && !target->exact.open,
			.windows = target->budget.windows,
			.growth = target->growth,
			.since_s = target->turn_s};
	}
	turn = window_scheduler_next(&run->scheduler, candidates, run->targets.count);
	if (turn < run->targets.count)
		*next = run->targets.items[turn];
	return 0;
}

/* Accounts for the window after its last probe is detached: its whole cost is known. */
static void account(struct profile_run *run)
{
	const struct profile_window_run *window = &run->window;
	double hits_s = profile_window_hits_s(window);
	const struct window_cost spent = {
		.attach_s = window->attach_s,
		.hits_s = hits_s,
		.used_s = fmax(hits_s, window->used_s),
		.open_s = profile_window_open_s(window),
		.births_s = profile_window_births_s(window),
		.births_hits_s = run->births_hits_s,
		.births = run->births,
	};

	log_debug(
		"PID %d: a window of %.1f ms, %.0f births: %.2f ms for the attach, %.2f ms for traps",
		run->open->pid, spent.births_s * 1000, fmax(spent.births, 0), spent.attach_s * 1000,
		spent.hits_s * 1000);
	window_budget_spend(&run->open->budget, &spent);
	/* If a window fell due meanwhile, that was by the old cost. */
	run->open->is_due = false;
	run->open = NULL;
}

static void forget_ended(struct profile_run *run)
{
	for (size_t i = run->targets.count; i-- > 0;) {
		struct profile_target *target = run->targets.items[i];

		if (!target->ended || run->session->collect_options.keep_exited)
			continue;
		if (target == run->open) /* its probes are still being detached */
			account(run);
		target_free(run, target);
		run->targets.items[i] = run->targets.items[--run->targets.count];
	}
}

static bool is_too_dear(const struct profile_run *run)
{
	return profile_window_hits_s(&run->window) > run->window.allowance_s;
}

/*
 * Returns the time by which probes prolonged the window: hits slow work that a process does at its
 * own pace, even if it waits in between, since each round takes longer. Work by the clock is not
 * slowed. Which of them it does is unknown, so interval_rate() gets both times.
 */
static double slowed_by(const struct profile_run *run)
{
	const struct profile_window_run *window = &run->window;
	double length_s = (double)(window->births_to_ns - window->births_from_ns) / 1e9;
	double cores = (profile_target_cpu_s(run->open) - run->cpu_s) / fmax(length_s, 1e-6);

	return fmin(HITS_DEARER * run->births_hits_s / fmax(cores, 1), length_s * SLOWED_MAX);
}

static int begin_births(struct profile_run *run)
{
	int error = profile_window_begin_births(&run->window, run->session);

	run->cpu_s = profile_target_cpu_s(run->open);
	run->hits_s = profile_window_hits_s(&run->window);
	if (!error)
		return 0;
	profile_window_give_up(&run->window);
	return miss(run->open, error);
}

static int end_births(struct profile_run *run)
{
	int error = profile_window_end_births(&run->window, run->session);

	run->births_hits_s = profile_window_hits_s(&run->window) - run->hits_s;
	run->slowed_s = slowed_by(run);
	if (!error)
		return 0;
	profile_window_give_up(&run->window);
	return miss(run->open, error);
}

static int tend_window(struct profile_run *run)
{
	bool over = monotonic_ns() >= run->window.next_ns;

	if (run->window.stage == WINDOW_SETTLING && over)
		return begin_births(run);
	if (run->window.stage == WINDOW_BIRTHS && (over || is_too_dear(run)))
		return end_births(run);
	if (run->window.stage == WINDOW_GRACE && over)
		return take_window(run);
	return 0;
}

/* During a window nothing else is done: the process waits for it to end. */
static bool is_busy(void *context)
{
	const struct profile_run *run = context;

	return run->window.stage == WINDOW_SETTLING || run->window.stage == WINDOW_BIRTHS ||
	       run->window.stage == WINDOW_GRACE;
}

/*
 * Accounts for probes that were detached at their deadline, even if the window is still to be read.
 */
static void part(struct profile_run *run)
{
	if (!is_busy(run) && profile_window_is_detached(&run->window) && run->open)
		account(run);
}

/* -------- exact tracking, if cheap */

static size_t exact_count(const struct profile_run *run)
{
	size_t count = 0;

	for (size_t i = 0; i < run->targets.count; i++)
		count += run->targets.items[i]->exact.open;
	return count;
}

/*
 * Returns the share of a core that the process may lose to exact tracking: all processes that are,
 * or may be, profiled share --overhead of one core. In a hasty run each has it alone.
 */
static double exact_promise(const struct profile_run *run)
{
	size_t sharers = run->options->hasty ? 1
			 : run->choice	     ? profile_choice_places(run->options)
					     : run->targets.count;

	return run->options->overhead / (double)MAX(sharers, 1);
}

/* Returns the time left for a burst after `watched_s` and the attempts so far. */
static double exact_left_s(const struct profile_run *run, const struct profile_target *target)
{
	return run->options->hasty ? INFINITY
				   : exact_saved_s(&target->exact, target->budget.watched_s);
}

/*
 * Returns whether windows have shown exact tracking to be cheap; or, for a process that has not yet
 * earned such a window, whether it has saved up the worst case of an attempt.
 */
static bool exact_is_affordable(const struct profile_run *run, const struct profile_target *target)
{
	const struct window_budget *budget = &target->budget;
	double hits_per_s = window_budget_hits_per_s(budget);

	if (run->options->hasty)
		return true;
	return !run->held_back &&
	       (isinf(hits_per_s) ? !window_budget_is_earned(budget)
				  : exact_is_cheap(&target->exact, hits_per_s)) &&
	       window_budget_burst_s(budget) < exact_left_s(run, target);
}

/* A hasty run has one budget for both. */
static void charge_exact(struct profile_run *run, struct profile_target *target, double cost_s)
{
	*(run->options->hasty ? &target->budget.spent_s : &target->apart_s) += cost_s;
}

static void end_exact(struct profile_run *run, struct profile_target *target, enum exact_end end)
{
	struct exact_tracking *exact = &target->exact;

	charge_exact(run, target, exact_take_cost_s(exact));
	exact_close(exact, end, now_of(run));
	log_debug("PID %d: exact tracking ends after %.1f s, at %.0f hits/s (%d)", target->pid,
		  now_of(run) - exact->opened_s, exact_hits_per_s(exact), (int)end);
	if (end != EXACT_REPLACED)
		return;
	target_restart(run, target, 0);
	exact->tries = 0;
	exact->retry_s = 0;
}

static void begin_exact(struct profile_run *run, struct profile_target *target)
{
	int error = exact_open(&target->exact, run->session, target->pid, target->clock,
			       run->calibration.trap_ns, exact_left_s(run, target), now_of(run));
	double attach_s =
		window_budget_attach_loss_s(&target->budget, target->exact.window.attach_s);

	target->exact.spent_s += attach_s;
	charge_exact(run, target, attach_s);
	if (error)
		log_debug("PID %d: no exact tracking: %s", target->pid, strerror(-error));
}

static int end_part(struct profile_run *run, struct profile_target *target)
{
	struct exact_tracking *exact = &target->exact;
	int error = exact_cut_begin(exact, run->session);

	if (error == -ENOSPC)
		target->dropped += exact->window.after.dropped - exact->window.before.dropped;
	if (error)
		end_exact(run, target,
			  error == -ENOSPC   ? EXACT_NO_ROOM
			  : error == -ESTALE ? EXACT_REPLACED
					     : EXACT_FAILED);
	return error == -ENOMEM ? error : 0;
}

/* Removes unfollowed blocks to make room for windows of other processes, and for new blocks. */
static int thin_exact(struct profile_run *run, struct profile_target *target)
{
	struct exact_tracking *exact = &target->exact;
	double room = (double)run->options->session.tracking.max_blocks * EXACT_ROOM_SHARE /
		      (double)exact_count(run);

	if (run->options->hasty || (double)exact->window.blocks.list.count < room)
		return 0;
	exact->thinned = true;
	return forget_others(run, target, &exact->window.blocks);
}

static int take_part(struct profile_run *run, struct profile_target *target)
{
	struct exact_tracking *exact = &target->exact;
	double cost_s = exact_take_cost_s(exact), births = 0, begin_s = probe_thread_cpu_s();
	int error = exact_cut_read(exact, run->session);

	charge_exact(run, target, cost_s);
	if (!error)
		error = absorb(run, target, &exact->window, HITS_DEARER * cost_s, &births);
	if (!error && target->key)
		error = thin_exact(run, target);
	if (error) {
		end_exact(run, target, EXACT_FAILED);
		return error == -ENOMEM ? error : 0;
	}
	exact_cut_finish(exact, probe_thread_cpu_s() - begin_s);
	return 0;
}

static bool cut_is_due(const struct profile_run *run, const struct profile_target *target)
{
	double share = run->options->overhead * CUTS_SHARE / (double)exact_count(run);

	return (run->options->hasty || !run->held_back) && exact_cut_is_due(&target->exact, share);
}

static int tend_exact(struct profile_run *run, struct profile_target *target)
{
	struct exact_tracking *exact = &target->exact;

	exact->promised = exact_promise(run);
	if (!exact->open) {
		if (run->open != target && exact_is_due(exact, now_of(run)) &&
		    now_of(run) >= target->refused_until_s && exact_is_detached(exact) &&
		    exact_count(run) < EXACT_MOST && exact_is_affordable(run, target))
			begin_exact(run, target);
		return 0;
	}
	if (exact_has_overrun(exact)) {
		end_exact(run, target, EXACT_TOO_DEAR);
		return 0;
	}
	if (exact->window.stage == WINDOW_GRACE && monotonic_ns() >= exact->window.next_ns)
		return take_part(run, target);
	return cut_is_due(run, target) ? end_part(run, target) : 0;
}

/* -------- between windows */

static int look_where_due(struct profile_run *run, struct profile_target *target)
{
	size_t window;
	int error = 0;

	while (!error && (window = profiled_due(&target->profiled, now_of(run))) != SIZE_MAX)
		error = look(run, target, window);
	return error;
}

static int tend_target(struct profile_run *run, struct profile_target *target)
{
	double now_s = now_of(run);
	struct timespec cpu;
	int error;

	if (target->ended || clock_gettime(target->clock, &cpu))
		return 0;
	if (window_budget_step(&target->budget, now_s,
			       (double)cpu.tv_sec + (double)cpu.tv_nsec / 1e9))
		target->is_due = now_s >= target->refused_until_s && !target->exact.open &&
				 exact_is_detached(&target->exact);
	if (target->memory_read_s < 0 || now_s >= target->memory_read_s + MEMORY_EVERY_S)
		profile_target_read_memory(target, now_s);
	error = tend_exact(run, target);
	return error ? error : look_where_due(run, target);
}

/* Adds and drops targets. Targets dropped by the choice have not ended, and are not reported. */
static int choose_targets(struct profile_run *run)
{
	int error = targets_follow(run);
	double begin_s;

	if (error || !run->choice)
		return error;
	begin_s = cpu_used_s(run);
	error = profile_choice_tend(run->choice, run->session, run->open ? run->open->pid : 0);
	/* A triage of the caller has its own budget. */
	if (run->options->triage)
		run->cpu_begin_s += cpu_used_s(run) - begin_s;
	for (size_t i = run->targets.count; i-- > 0;) {
		struct profile_target *target = run->targets.items[i];

		if (target->ended || targets_find(run->session, target->pid))
			continue;
		target_free(run, target);
		run->targets.items[i] = run->targets.items[--run->targets.count];
	}
	return error ? error : targets_follow(run);
}

static int tend_targets(struct profile_run *run)
{
	struct profile_target *next = NULL;
	int error = choose_targets(run);

	for (size_t i = 0; i < run->targets.count && !error; i++)
		error = tend_target(run, run->targets.items[i]);
	if (!error && !run->open && profile_window_is_detached(&run->window))
		error = next_target(run, &next);
	return next ? open_window(run, next) : error;
}

static bool awaits_first_window(const struct profile_run *run)
{
	for (size_t i = 0; i < run->targets.count; i++) {
		const struct profile_target *target = run->targets.items[i];

		if (!target->ended && !target->budget.windows && target->budget.watched_s < FIRST_S)
			return true;
	}
	return false;
}

static void set_timer(const struct profile_run *run)
{
	double delay_s = awaits_first_window(run) ? TICK_FIRST_S : TICK_S;
	struct itimerspec timer = {0};

	if (run->window.stage == WINDOW_DETACHING) {
		delay_s = TICK_DETACHING_S;
	} else if (run->window.stage != WINDOW_CLOSED) {
		double left_s = seconds_of(run, run->window.next_ns) - now_of(run);

		delay_s = fmin(fmax(left_s, 1e-4), TICK_OPEN_S);
	}
	timer.it_value.tv_sec = (time_t)delay_s;
	timer.it_value.tv_nsec = (long)((delay_s - floor(delay_s)) * 1e9);
	timerfd_settime(run->timer_fd, 0, &timer, NULL);
}

static int tend(struct profile_run *run)
{
	int error = tend_window(run);

	part(run);
	if (!error && !is_busy(run))
		error = tend_targets(run);
	if (!error && !is_busy(run) && run->options->tended)
		run->options->tended(run->options->context);
	set_timer(run);
	if (error)
		log_error("the profile ends: %s", strerror(-error));
	return error;
}

/* Closes an open window early: a report on time matters more, and probes must not wait for it. */
static int close_window(struct profile_run *run)
{
	struct timespec pause = {.tv_nsec = (long)run->window.grace_ns};
	int error = 0;

	if (run->window.stage == WINDOW_SETTLING)
		profile_window_give_up(&run->window);
	if (run->window.stage == WINDOW_BIRTHS) {
		error = end_births(run);
		if (!error && run->window.stage == WINDOW_GRACE)
			nanosleep(&pause, NULL);
	}
	if (!error && run->window.stage == WINDOW_GRACE)
		error = take_window(run);
	return error;
}

/*
 * Returns whether the process has execed, or ended so long ago that its slot was reused. A process
 * that has just ended returns false: its last report is still to come.
 */
static bool was_replaced(const struct bpf_side *bpf, lm_process_key key)
{
	for (uint32_t slot = 1; slot < *bpf->process_count && slot < bpf->max_processes; slot++) {
		if (bpf->processes[slot].key == key)
			return bpf->processes[slot].state == LM_PROCESS_EXECED;
	}
	return true;
}

/* Ends exact tracking for the last report, with the latest blocks however complete. */
static int close_exact(struct profile_run *run)
{
	int error = 0;

	for (size_t i = 0; i < run->targets.count && !error; i++) {
		struct profile_target *target = run->targets.items[i];

		if (target->exact.open && target->exact.window.stage == WINDOW_BIRTHS)
			error = end_part(run, target);
		if (!error && target->exact.open && target->exact.window.stage == WINDOW_GRACE)
			error = take_part(run, target);
	}
	return error;
}

static void settle(struct profile_run *run, bool last)
{
	if (close_window(run) || targets_follow(run) || (last && close_exact(run)))
		log_error("out of memory");
	for (size_t i = 0; i < run->targets.count; i++) {
		struct profile_target *target = run->targets.items[i];

		if (!target->ended && target->key && was_replaced(&run->session->bpf, target->key))
			target_restart(run, target, 0);
	}
}

/* -------- a report */

static int build(struct profile_run *run, struct profile_report *report, bool last)
{
	const struct profile_sources sources = {
		.session = run->session,
		.choice = run->choice,
		.targets = run->targets.items,
		.target_count = run->targets.count,
		.calibration = &run->calibration,
		.limit = run->options->overhead,
		.held_back = run->held_back,
		.now_s = now_of(run),
		.detach_cpu_s = async_detach_cpu_s(run->window.detach),
		.spent_s = run->spent_s,
		.used_s = run->used_s,
	};

	report->sequence = ++run->sequence;
	report->probes_set = !async_detach_is_done(run->window.detach);
	return profile_build(&sources, report, last);
}

static int make_report(void *context, enum report_cause cause)
{
	struct profile_run *run = context;
	struct session *session = run->session;
	bool last = cause == REPORT_LAST;
	_cleanup_(profile_report_free) struct profile_report report = {0};
	double begin_s = cpu_used_s(run);
	int error;

	targets_notice_ends(session);
	settle(run, last || (run->options->closes && run->options->closes(run->options->context)));
	error = build(run, &report, last);
	if (error)
		log_error("out of memory");
	else if (run->options->take) {
		emit_serve(&session->emitter, OUTPUT_PROFILE, &report);
		error = run->options->take(run->options->context, &report, last);
	} else
		error = emit(&session->emitter, OUTPUT_PROFILE, &report, last);
	symbolizer_release_lines(session->stages.symbolizer);
	if (!error)
		error = session_update_targets(session);
	forget_ended(run);
	targets_drop_ended(session);
	/* A report that another run makes has its own budget. */
	if (run->options->triage)
		run->cpu_begin_s += cpu_used_s(run) - begin_s;
	else
		run->reported_s += cpu_used_s(run) - begin_s;
	return error;
}

/* -------- the loop's side */

static int begin(void *context, struct session *session)
{
	struct profile_run *run = context;
	int error = look_open(&run->look);

	run->session = session;
	run->begin_ns = monotonic_ns();
	run->seed = run->look.key.words[0];
	if (!error)
		error = profile_window_init(&run->window);
	run->timer_fd = error ? -1 : timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (!error && run->timer_fd < 0)
		error = -errno;
	if (error) {
		log_error("cannot begin to profile: %s", strerror(-error));
		return error;
	}
	run->calibration = probe_cost_guess();
	/* Calibrate before anything is probed: the kernel's counter covers all probed programs
	 * together. */
	probe_cost_calibrate(&session->bpf, &session->target_config, &run->calibration);
	if (run->options->session.targets.come_later) {
		run->choice = profile_choice_new(run->options);
		if (!run->choice)
			return -ENOMEM;
	}
	run->cpu_begin_s = cpu_used_s(run);
	window_scheduler_init(&run->scheduler, run->options->overhead, now_of(run));
	return tend(run);
}

static int wait_for(void *context, struct pollfds *fds)
{
	struct profile_run *run = context;
	const struct run_hooks *screen = run->options->screen;
	int error = pollfds_add(fds, run->timer_fd);

	return error || !screen ? error : screen->wait_for(screen->context, fds);
}

static int handle(void *context, const struct pollfd *fds, size_t count)
{
	struct profile_run *run = context;
	const struct run_hooks *screen = run->options->screen;
	int error = screen ? screen->handle(screen->context, fds + 1, count - 1) : 0;
	uint64_t expirations;

	if (error || !fds[0].revents || read(run->timer_fd, &expirations, sizeof(expirations)) < 0)
		return error;
	return tend(run);
}

static bool is_done(void *context)
{
	const struct run_hooks *screen = ((struct profile_run *)context)->options->screen;

	return screen && screen->is_done(screen->context);
}

static void targets_gone(void *context)
{
	const struct run_hooks *screen = ((struct profile_run *)context)->options->screen;

	screen->targets_gone(screen->context);
}

static void end(void *context)
{
	struct profile_run *run = context;

	if (run->window.detach && run->window.stage != WINDOW_CLOSED)
		profile_window_give_up(&run->window);
	profile_window_free(&run->window);
	for (size_t i = 0; i < run->targets.count; i++)
		target_free(run, run->targets.items[i]);
	vec_free(&run->targets);
	profile_choice_free(run->choice);
	if (run->timer_fd >= 0)
		close(run->timer_fd);
}

int profile_run(const struct profile_options *options)
{
	struct profile_run run = {.options = options, .timer_fd = -1};
	const struct run_hooks hooks = {.context = &run,
					.begin = begin,
					.report = make_report,
					.wait_for = wait_for,
					.handle = handle,
					.is_done = is_done,
					.is_busy = is_busy,
					.targets_gone = options->screen ? targets_gone : NULL,
					.end = end,
					.takes_kills = !options->triage,
					.leaves_kills = options->triage != NULL,
					.keeps_ended = true};

	return watch_run(&options->session, &hooks);
}
