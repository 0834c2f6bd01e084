/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Decides which processes a profile follows, and when their windows open. Three parts, each of them
 * pure (the caller passes in clocks and costs):
 *
 * - a window budget per process: when its windows are due and how long they last, so that its loss
 * stays within a share of its own CPU time;
 * - one window scheduler: which of the due windows opens next, and whether leakmon has CPU time
 * left for it, as only one window is open at a time;
 * - profile slots: which processes are followed at all, where a triage chooses them.
 */
#ifndef LEAKMON_PROFILE_WINDOW_SCHEDULER_H
#define LEAKMON_PROFILE_WINDOW_SCHEDULER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* -------- the window budget of a process */

#define PROFILE_WINDOW_MIN_S 0.01
#define PROFILE_WINDOW_MAX_S 1.0
/*
 * Grace before births count, until the process has adapted to the probes, and after them, until the
 * program has filled in its newest blocks. A share of the window's length.
 */
#define PROFILE_GRACE_SHARE 0.1
#define PROFILE_GRACE_MIN_S 0.003
#define PROFILE_GRACE_MAX_S 0.05
/*
 * Setting probes costs leakmon time, too: windows of an idle process are as rare as if it lost this
 * share of that time. Less in a hasty run, whose user waits a minute for one answer.
 */
#define PROFILE_IDLE_ATTACH 0.2
#define PROFILE_IDLE_ATTACH_HASTY 0.04

/*
 * Windows begin at random, with exponential gaps: a Poisson process samples a program with phases
 * in proportion to their length. The rate follows the recent CPU time of the process, not the
 * momentary one. The maximum cost of a window is earned before it opens, even for the first: at no
 * time has the process lost more than its limit. A window that costs more than expected is closed
 * early, and the next one is delayed.
 *
 * Setting and closing probes delays a process only while it runs: its loss is that CPU time times
 * its recent share of a core.
 */
struct window_budget {
	double promised; /* share of the process's CPU time that it may lose */
	double limit;	 /* the part of it for counted costs of windows */
	/* Minimum share of a core credited to a process; 0 unless set. */
	double floor;
	/* Share of leakmon's attach time that delays windows of an idle process. */
	double idle_attach;
	double clock_s;	     /* latest reading of its CPU clock */
	double used_s;	     /* CPU time of the process since the beginning */
	double spent_s;	     /* the part of it that windows have cost */
	double watched_s;    /* wall clock time since the beginning */
	double share;	     /* CPU time per second, lately */
	double peak;	     /* its maximum in one step, lately */
	double attach_s;     /* cost of opening and closing a window, lately */
	double loss;	     /* loss per second while births count, lately */
	double shown_s;	     /* CPU time of the process in windows, with their hits */
	double births_s;     /* time in which births have counted in windows */
	double births_per_s; /* lately */
	double last_s;	     /* time of the latest step; negative: none yet */
	double hazard;	     /* of a window, accumulated since the latest one */
	double next;	     /* hazard at which the next one opens */
	uint64_t random;
	unsigned windows;
};

/*
 * Initialises the budget. `limit`: share of its CPU time that the process may lose. Windows may use
 * two thirds of it by counted costs; the rest is for costs that cannot be counted.
 */
void window_budget_init(struct window_budget *budget, double limit, double attach_s, uint64_t seed);

/*
 * Call it from time to time; `cpu_s` is the process's CPU time. Returns true when a window is due.
 */
bool window_budget_step(struct window_budget *budget, double now_s, double cpu_s);

/* Returns whether the budget covers the next window, whenever it opens. */
bool window_budget_is_earned(const struct window_budget *budget);

/* Return the length of the next window, its grace, and the cost at which it is closed early. */
double window_budget_length_s(const struct window_budget *budget);
double window_grace_s(double length_s);
double window_budget_allowance_s(const struct window_budget *budget);
/* Returns the cost at which its probes are detached at once, even if the window is lost. */
double window_budget_bound_s(const struct window_budget *budget);
/*
 * Returns the loss of the process for an attach, or an attach and a detach, that took attach_s of
 * CPU time.
 */
double window_budget_attach_loss_s(const struct window_budget *budget, double attach_s);

struct window_cost {
	double attach_s;      /* CPU time of setting and closing the probes */
	double hits_s;	      /* CPU time that the process lost */
	double used_s;	      /* all CPU time of the process in the window, with the hits */
	double open_s;	      /* time for which the probes were attached */
	double births_s;      /* time in which births counted; 0: the window was not opened */
	double births_hits_s; /* part of hits_s while births counted, without earlier bursts */
	double births;	      /* negative: the window was lost, and only its cost is known */
};

/* Charges a window after its end. */
void window_budget_spend(struct window_budget *budget, const struct window_cost *cost);

/*
 * Returns the base of the cost's share: the CPU time of the process, or that of the floor if
 * larger.
 */
double window_budget_base_s(const struct window_budget *budget);

/*
 * Returns the loss per second if every event were tracked, as measured by windows; INFINITY: not
 * yet known.
 */
double window_budget_hits_per_s(const struct window_budget *budget);

/*
 * Returns the maximum loss by the process's CPU clock until probes in its densest burst are
 * detached; 0: windows have measured its rate.
 */
double window_budget_burst_s(const struct window_budget *budget);

/* Returns the share of that base that windows have cost so far. */
double window_budget_spent_share(const struct window_budget *budget);

/* -------- the scheduler: one window at a time */

/* CPU time that may be used at once, at the beginning and after a pause. */
#define WINDOW_CREDIT_S 0.5

struct window_scheduler {
	double limit;		   /* CPU time of leakmon, as a share of one core */
	double clock_s;		   /* time of the latest call */
	double total_s, windows_s; /* CPU time at that call */
	double total_credit_s, windows_credit_s;
	bool oldest_next; /* the next turn is for the longest wait, not for the fastest growth */
};

void window_scheduler_init(struct window_scheduler *scheduler, double limit, double now_s);

/*
 * Returns whether a window may open. total_s: all CPU time of leakmon so far; windows_s: the part
 * for windows and looks, which may use half of the limit whatever reports cost.
 */
bool window_scheduler_has_credit(struct window_scheduler *scheduler, double now_s, double total_s,
				 double windows_s);

struct window_candidate {
	bool is_due;	  /* by its window budget */
	unsigned windows; /* so far */
	double growth;	  /* certain growth, bytes per second; <= 0: none */
	double since_s;	  /* time of its latest window, or of its arrival */
};

/*
 * Returns the index of the next process, or `count` if none is due. Processes with the fewest
 * windows come first, until each has had a few: before that nothing is known of them. From then on
 * every other turn is for the fastest growth, the rest for the longest wait, so that later leaks
 * are found, too.
 */
size_t window_scheduler_next(struct window_scheduler *scheduler,
			     const struct window_candidate *candidates, size_t count);

/* -------- slots: the followed processes, chosen as the profile runs */

#define PROFILE_SLOTS 16
/* How long a process keeps its slot after it stopped being a suspect: its figures are valuable. */
#define PROFILE_SLOT_STAY_S 900.0
/* Pause before a process that could not be probed is retried. */
#define PROFILE_SLOT_REFUSED_S 600.0

struct profile_slot {
	pid_t pid;
	uint64_t start_ticks;
	double suspect_s; /* when it was last a suspect */
	double per_s, confidence;
	bool near_limit; /* close to a memory limit: it keeps its slot */
	bool refused;	 /* could not be probed: takes no slot */
};

/* Zero-initialise all but `limit`; vec_free() the list. */
struct profile_slots {
	VEC(struct profile_slot) list;
	size_t limit; /* processes at a time */
};

/* Returns the slot of a process, or NULL. Valid until the next change. */
struct profile_slot *profile_slots_find(const struct profile_slots *slots, pid_t pid,
					uint64_t start_ticks);

/*
 * Returns whether a suspect without a slot can have one at `now_s`. *evicted is the slot to release
 * for it, or NULL if one is free: the slot whose process has not been a suspect for the longest
 * time, if long enough. A process close to a memory limit, which may be its end, evicts the slowest
 * growth instead. `busy` (0: none) is never evicted.
 */
bool profile_slots_has_room(const struct profile_slots *slots, double now_s, pid_t busy,
			    bool near_limit, struct profile_slot **evicted);

/* Adds a slot. Returns NULL when out of memory. */
struct profile_slot *profile_slots_add(struct profile_slots *slots,
				       const struct profile_slot *slot);
/* Releases a slot; others may move. */
void profile_slots_release(struct profile_slots *slots, struct profile_slot *slot);

/* Releases the slots of ended processes, and expired refusals. */
void profile_slots_expire(struct profile_slots *slots, double now_s,
			  bool (*is_alive)(const struct profile_slot *slot, void *context),
			  void *context);

#endif
