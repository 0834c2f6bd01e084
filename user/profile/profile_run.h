/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon profile`: who is profiled, when their windows open, and when blocks are looked at. */
#ifndef LEAKMON_PROFILE_PROFILE_RUN_H
#define LEAKMON_PROFILE_PROFILE_RUN_H

#include <time.h>

#include "analyze/trend.h"
#include "profile/profile_choice.h"
#include "profile/profile_window.h"
#include "profile/window_scheduler.h"
#include "report/profile_report.h"
#include "profile/profiled.h"

struct profile_options {
	struct session_options session;
	double overhead; /* of the CPU time of each target */
	double granted;	 /* share of a core that each may lose beyond that */
	/* Takes named reports instead of the output format; NULL: none does. 0, or -errno after a
	 * message, which ends the run. */
	int (*take)(void *context, const struct profile_report *report, bool last);
	/* With targets.come_later: who chooses them, instead of a triage of the run's own, how many
	 * at most, and what is to be done after each of its polls. */
	struct triage *triage;
	size_t places;
	void (*polled)(void *context);
	/* A screen, which waits for keys and says when the run ends (its targets_gone is there);
	 * or NULL. */
	const struct run_hooks *screen;
	void *context;
};

_Static_assert(!offsetof(struct profile_options, session), "a session's options stand first");

struct profile_target {
	pid_t pid;
	uint64_t start_ticks;
	lm_process_key key; /* whose figures these are; 0: none yet */
	char comm[16];
	struct container *container; /* owned; NULL: none */
	struct profiled profiled;
	struct window_budget budget;
	clockid_t clock;
	bool is_due, ended;
	double growth; /* bytes per second for sure, by the latest report: who grows comes first */
	double turn_s; /* when it had its latest window, or came */
	double refused_until_s, refused_for_s; /* it could not be probed: not asked again before */
	uint64_t dropped;
	uint64_t missed;		    /* windows that could not be opened, or read in time */
	int missed_why;			    /* errno of the latest */
	double memory_bytes, memory_read_s; /* negative: not known, not read yet */
	VEC(struct trend_point) memory;	    /* bytes over time */
};

struct profile_run {
	const struct profile_options *options;
	struct session *session;
	struct profile_choice *choice; /* NULL: targets are named */
	struct look look;
	struct probe_calibration calibration;
	VEC(struct profile_target *) targets; /* owned */
	struct profile_window_run window;
	struct profile_target *open; /* whose window it is; NULL: nobody's */
	struct window_scheduler scheduler;
	bool held_back;			/* leakmon has used up what it may: windows wait */
	double cpu_begin_s, reported_s; /* CPU time of leakmon before the first one; for reports */
	double births;			/* in the open one; negative: not known (yet) */
	double open_cpu_s;		/* of its process, before it was opened */
	double cpu_s, hits_s;		/* of the same, when births began to count */
	double births_hits_s;		/* what hits have cost it since, until births end */
	double slowed_s;		/* by which its births took longer than they do alone */
	int timer_fd;
	uint64_t begin_ns, sequence, seed;
	double spent_s, used_s; /* of targets that are gone */
};

/* Since the run began. */
double profile_now_s(const struct profile_run *run);

/* CPU time of leakmon so far, with that of the processes that set and take out probes. */
double profile_cpu_s(const struct profile_run *run);

/* What it calls itself now; stays as it was if that cannot be read. */
void profile_read_comm(pid_t pid, char comm[16]);

/* Makes and writes a report. 0, or -errno after a message. */
int profile_run_report(struct profile_run *run, bool last);

/* Between reports, what the report needs: figures of processes that were replaced are given up, an
 * open window is brought to its end; and those that ended are forgotten, once they were reported.
 */
void profile_run_settle(struct profile_run *run);
void profile_run_forget_ended(struct profile_run *run);

/* Blocks stay in the live set for one window only, but for those that are followed. */
#define PROFILE_TRACKING                                                                           \
	{                                                                                          \
		.max_size = UINT64_MAX, .sample_rate = 1, .max_blocks = 131072,                    \
		.max_sites = 16384, .no_threads = true, .windowed = true                           \
	}
#define PROFILE_OVERHEAD 0.01
/* Of a core, for one that somebody waits for: a window in a quarter of a minute, if it idles. */
#define PROFILE_GRANTED 0.0005

/* Returns the exit code. */
int profile_run(const struct profile_options *options);

#endif
