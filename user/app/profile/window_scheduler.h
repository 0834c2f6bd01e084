/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which processes a profile follows, and when their windows open. Three parts, each of them pure
 * (clocks and costs are handed in):
 *
 * - a window budget per process: when its windows are due and how long they last, so that it loses
 *   no more than a share of the CPU time that it uses;
 * - one window scheduler: which of the due windows opens next, and whether leakmon has CPU time
 *   left for it, as only one window is open at a time;
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
/* Grace before births count, until the process runs as it does under probes, and after them, until
 * the program has filled in its newest blocks. A share of the window's length. */
#define PROFILE_GRACE_SHARE 0.1
#define PROFILE_GRACE_MIN_S 0.003
#define PROFILE_GRACE_MAX_S 0.05
/* Setting probes costs leakmon time, too: windows of a process that idles come no more often than
 * as if it lost so much of that. Less where somebody waits for one answer, for a minute. */
#define PROFILE_IDLE_ATTACH 0.2
#define PROFILE_IDLE_ATTACH_HASTY 0.04

/*
 * Windows begin at random, with exponential gaps: a Poisson process samples a program that works in
 * phases in proportion to their length. The rate follows the CPU time that the process has used
 * lately, not what it does just now. The most that a window can cost is earned before it opens, the
 * first one included: at no time has the process lost more than its limit. A window that turns out
 * dearer than expected is closed early, and the next one is delayed.
 *
 * Setting and closing probes delays a process only while it runs: of that CPU time, the share that
 * the process has used of a core lately is its loss.
 */
struct window_budget {
	double promised; /* share of the process's CPU time that it may lose */
	double limit;	 /* of it, what windows use by counted costs */
	/* Share of a core that a process which uses less counts as using; 0 unless set. */
	double floor;
	/* Share of leakmon's time for an attach that delays windows of a process that idles. */
	double idle_attach;
	double clock_s;	     /* latest reading of its CPU clock */
	double used_s;	     /* CPU time that it has used since the beginning */
	double spent_s;	     /* of it, the cost of windows */
	double watched_s;    /* wall clock time since the beginning */
	double share;	     /* CPU time per second, lately */
	double peak;	     /* most of it in one step, lately */
	double attach_s;     /* cost of opening and closing a window, lately */
	double loss;	     /* loss per second while births count, lately */
	double shown_s;	     /* CPU time that it has used in windows, with their hits */
	double births_s;     /* time for which births have counted in windows */
	double births_per_s; /* lately */
	double last_s;	     /* time of the latest step; negative: none yet */
	double hazard;	     /* of a window, accumulated since the latest one */
	double next;	     /* hazard at which the next one opens */
	uint64_t random;
	unsigned windows;
};

/* `limit`: share of its CPU time that the process may lose. Windows may use two thirds of it by
 * counted costs; the rest is for what cannot be counted. */
void window_budget_init(struct window_budget *budget, double limit, double attach_s, uint64_t seed);

/* From time to time; `cpu_s` is the process's CPU time. True: a window is due now. */
bool window_budget_step(struct window_budget *budget, double now_s, double cpu_s);

/* Whether the next window can be paid for, whenever it comes. */
bool window_budget_is_earned(const struct window_budget *budget);

/* Length of the next window, its grace, and the cost at which it is closed early. */
double window_budget_length_s(const struct window_budget *budget);
double window_grace_s(double length_s);
double window_budget_allowance_s(const struct window_budget *budget);
/* The cost at which its probes go at once, whatever becomes of the window. */
double window_budget_bound_s(const struct window_budget *budget);
/* Cost to the process of an attach, or an attach and a detach, of so much CPU time. */
double window_budget_attach_loss_s(const struct window_budget *budget, double attach_s);

struct window_cost {
	double attach_s;      /* CPU time of setting and closing the probes */
	double hits_s;	      /* CPU time of the process */
	double used_s;	      /* all CPU time of the process in the window, with the hits */
	double open_s;	      /* time for which the probes were in */
	double births_s;      /* time for which births counted; 0: the window was not opened */
	double births_hits_s; /* part of hits_s while births counted, without bursts before */
	double births;	      /* negative: the window was lost, and only its cost is known */
};

/* After a window. */
void window_budget_spend(struct window_budget *budget, const struct window_cost *cost);

/* The base of its cost's share: the CPU time that it has used, or would have by the floor. */
double window_budget_base_s(const struct window_budget *budget);

/* The loss per second that tracking every event would be, as windows have measured it; INFINITY:
 * they have not shown it yet. */
double window_budget_hits_per_s(const struct window_budget *budget);

/* The most that the process can lose before probes that meet its densest burst are out, as its CPU
 * clock has it; 0: windows have shown its rate. */
double window_budget_burst_s(const struct window_budget *budget);

/* Share of that which windows have cost so far. */
double window_budget_spent_share(const struct window_budget *budget);

/* -------- the scheduler: one window at a time */

/* CPU time that may be used at once, at the beginning and after a pause. */
#define WINDOW_CREDIT_S 0.5

struct window_scheduler {
	double limit;		   /* CPU time of leakmon, as a share of one core */
	double clock_s;		   /* time of the latest call */
	double total_s, windows_s; /* CPU time by then */
	double total_credit_s, windows_credit_s;
	bool oldest_next; /* the next turn is for the oldest, not for the fastest */
};

void window_scheduler_init(struct window_scheduler *scheduler, double limit, double now_s);

/*
 * Whether a window may open. Of CPU time so far, total_s is all of leakmon's, windows_s the part of
 * windows and looks, which may use half of the limit whatever reports cost.
 */
bool window_scheduler_has_credit(struct window_scheduler *scheduler, double now_s, double total_s,
				 double windows_s);

struct window_candidate {
	bool is_due;	  /* by its window budget */
	unsigned windows; /* so far */
	double growth;	  /* certain growth, bytes per second; <= 0: none */
	double since_s;	  /* time of its latest window, or since when it is followed */
};

/*
 * The index of the process that has its turn; `count`: none is due. Processes with the fewest
 * windows come first, until each has had a few: before that nothing is known of them. From then on
 * every other turn is for the fastest growth, the rest for the longest wait: a leak that begins
 * later is found, too.
 */
size_t window_scheduler_next(struct window_scheduler *scheduler,
			     const struct window_candidate *candidates, size_t count);

/* -------- slots: the processes that are followed, chosen as the profile runs */

#define PROFILE_SLOTS 16
/* A process that is no suspect any more keeps its slot for so long: its figures are worth it. */
#define PROFILE_SLOT_STAY_S 900.0
/* A process that could not be probed is tried again after so long. */
#define PROFILE_SLOT_REFUSED_S 600.0

struct profile_slot {
	pid_t pid;
	uint64_t start_ticks;
	double suspect_s; /* when it was a suspect last */
	double per_s, confidence;
	bool near_limit; /* close to a memory limit: it keeps its slot */
	bool refused;	 /* could not be probed: it does not count */
};

/* Zero-initialise, with a limit; vec_free() the list. */
struct profile_slots {
	VEC(struct profile_slot) list;
	size_t limit; /* processes at a time */
};

/* NULL: it has no slot. Valid until the next change. */
struct profile_slot *profile_slots_find(const struct profile_slots *slots, pid_t pid,
					uint64_t start_ticks);

/*
 * Whether a suspect without a slot can have one at `now_s`. *evicted is the slot to release for it,
 * NULL if one is free: the one that has been no suspect for longest, if that is long enough. A
 * process close to a memory limit, which may be its end, evicts the slowest growth instead. `busy`
 * (0: none) is never evicted.
 */
bool profile_slots_has_room(const struct profile_slots *slots, double now_s, pid_t busy,
			    bool near_limit, struct profile_slot **evicted);

/* NULL: out of memory. */
struct profile_slot *profile_slots_add(struct profile_slots *slots,
				       const struct profile_slot *slot);
/* Other slots may move. */
void profile_slots_release(struct profile_slots *slots, struct profile_slot *slot);

/* Releases the slots of processes that have ended, and refusals that have expired. */
void profile_slots_expire(struct profile_slots *slots, double now_s,
			  bool (*is_alive)(const struct profile_slot *slot, void *context),
			  void *context);

#endif
