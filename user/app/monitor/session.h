/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One run of the monitor: all its resources, and the making of a report. */
#ifndef LEAKMON_MONITOR_SESSION_H
#define LEAKMON_MONITOR_SESSION_H

#include <stdio.h>

#include "report/history.h"
#include "trace/collect/collect.h"
#include "trace/collect/event_streams.h"
#include "app/monitor/emit.h"
#include "app/monitor/oom.h"
#include "app/monitor/report_loop.h"
#include "app/monitor/stages.h"
#include "app/monitor/targets.h"
#include "app/monitor/test_report.h"
#include "output/output.h"
#include "trace/probe/launch.h"
#include "trace/probe/loader.h"
#include "process/proc/selector.h"

struct session_threads;

/* The choice of watched processes. */
struct target_options {
	struct selector_config chosen;
	char **command;	     /* NULL-terminated argv to start, or NULL; owned */
	bool follow_forks;   /* forked children of targets become targets */
	bool come_later;     /* none now: the run finds them later */
	bool silent_command; /* hide its output: the terminal is in use */
};

/* The kinds of events to track. */
struct tracking_options {
	uint64_t older_ns; /* leave out blocks younger than this */
	uint64_t min_size, max_size;
	uint64_t sample_rate;  /* each allocation with probability 1/N; 1: all */
	uint64_t sample_bytes; /* Poisson by bytes with this mean; 0: off */
	uint64_t max_blocks, max_sites;
	uint64_t max_processes;	    /* 0: as many as the targets need */
	bool combined_only;	    /* per-site counters only, no ages */
	bool by_dead_threads;	    /* only blocks of threads that have ended */
	bool families[FAMILY_MAX_]; /* to track besides heap and threads */
	bool no_threads;	    /* do not track creators and joins of threads */
	bool no_heap;		    /* threads only */
	/* Kernel objects of the single target: trace/collect/kernel_objects.h; as in
	 * loader_config. */
	bool kernel_objects;
	uint32_t object_shift;
	bool trace;	     /* print each event */
	bool windowed;	     /* probes are set for short windows only: app/profile/profile_run.h */
	bool debuginfod;     /* fetch missing debug files from $DEBUGINFOD_URLS */
	bool empty_programs; /* benchmark: probes that do nothing */
};

#define TRACKING_DEFAULTS                                                                          \
	{                                                                                          \
		.older_ns = 500000000ull, .max_size = UINT64_MAX, .sample_rate = 1,                \
		.max_blocks = 1000000, .max_sites = 16384                                          \
	}

struct session_options {
	struct target_options targets;
	struct schedule schedule;
	struct tracking_options tracking;
	struct probe_options probes;
	struct output_options output;
};

#define SESSION_DEFAULTS                                                                           \
	{                                                                                          \
		.schedule = SCHEDULE_DEFAULTS, .tracking = TRACKING_DEFAULTS,                      \
		.probes = PROBE_DEFAULTS, .output = OUTPUT_DEFAULTS                                \
	}

struct session {
	/* -------- for the hooks of a run */
	const struct session_options *options;
	struct stages stages;
	struct target_config target_config;
	struct bpf_side bpf;
	struct targets targets;
	struct container_cache *containers;
	struct collect_options collect_options;
	struct event_streams streams;
	struct oom_kills oom; /* app/monitor/oom.h */
	struct emitter emitter;
	bool tracks_heap; /* false for `leakmon threads` without --heap */
	bool everywhere;  /* threads of all processes: see thread_shared */

	/* -------- private to monitor/ */
	struct blocks_map blocks_map; /* until loaded */
	struct selector *selector;    /* of --comm, --cgroup, ...; NULL: none */
	struct launch launch;	      /* pid -1: nothing was launched */
	struct collector *collector;
	bool beside;	      /* see session_open_beside() */
	bool many;	      /* more than one process may be watched */
	bool progress_shown;  /* an unfinished line on the terminal */
	bool follows_threads; /* false with --no-threads */
	struct thread_shared thread_shared;
	uint64_t outstanding_bytes; /* of the latest report, not accepted: for --fail-over */
	struct test_report tests;   /* --suppress, --junit */
	bool keeps_history;	    /* reports show their history */
	struct history history;
	const struct run_hooks *hooks; /* or NULL */
	const char *label;	       /* of the snapshot being taken, or NULL */
};

/*
 * Opens the output, tests the kernel, loads and attaches. Returns 0, or -errno after an error
 * message.
 */
int session_open(struct session *session, const struct session_options *options);
/*
 * Opens a session as session_open() does, but beside another run: an interruption ends that run,
 * not this one.
 */
int session_open_beside(struct session *session, const struct session_options *options);

/* Detaches, kills a launched program that never ran, and closes everything. */
void session_close(struct session *session);

/*
 * Takes a snapshot, names it and writes it; the last report of a run waits longer for line numbers.
 * Returns 0, REPORT_AGAIN (report_loop.h), or -errno after an error message.
 */
int session_report(struct session *session, bool last);

/*
 * Takes a snapshot, and fills in `threads` (session_threads.h). The caller frees both. Returns 0,
 * or -errno after an error message with *snapshot untouched.
 */
int session_snapshot(struct session *session, struct session_threads *threads,
		     struct snapshot *snapshot);

/* Returns how long a report may wait for line numbers, in milliseconds. */
int session_lines_wait_ms(bool last);

/*
 * Takes a snapshot and names it, for the caller to write; the report borrows from the snapshot, and
 * both borrow names from the session. Returns 0, or -errno after an error message (nothing to free
 * then).
 */
int session_examine(struct session *session, struct snapshot *snapshot, struct report *report);

/* Takes new line numbers, and files from --debuginfod, for the next report. */
void session_take_lines(struct session *session);

/* Updates the set of watched processes and purges ended ones. Returns 0 or -errno. */
int session_update_targets(struct session *session);

/*
 * Follows the loader of the launched program, which is stopped after an exec. Returns 0 or -errno.
 */
int session_follow(struct session *session);

#endif
