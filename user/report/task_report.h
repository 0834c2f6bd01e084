/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Tasks that a runtime schedules itself, by place of waiting and creator: goroutines of a Go
 * program, virtual threads of a JVM. Plain data, made by heap/runtime/go/reader.h and
 * heap/runtime/hotspot/reader.h, compared over time here. All strings are untrusted, and owned by
 * the report.
 */
#ifndef LEAKMON_REPORT_TASK_REPORT_H
#define LEAKMON_REPORT_TASK_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>
#include <time.h>

#include "base/hash.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"
#include "report/trend.h"

/* Since the first reading. */
struct task_growth {
	size_t readings; /* 0: only this one, and nothing else is known */
	uint64_t span_ns;
	uint64_t first_count;
	uint64_t come, gone; /* gone: ended, or waiting elsewhere */
	bool only_counts;    /* between two processes: these are unknown, and there is no verdict */
	enum trend_verdict verdict;
};

/* Tasks of one creator, in one state, at one place. */
struct task_group {
	uint64_t id;	   /* the same on every run of the program */
	const char *state; /* "chan receive", "running", ... */
	uint64_t count;
	/* Waiting times, as seen by its collector; unknown without one. */
	uint64_t waits_known, longest_ns, shortest_ns;
	struct frames stack, creator; /* innermost first; owned. Empty: unknown */
	struct task_growth growth;
};

struct task {
	uint64_t number; /* goid, thread ID */
	uint64_t group;	 /* its id */
};

struct task_report {
	char version[24];	/* of the runtime; "": unknown */
	const char *why;	/* why they are unknown; static; NULL: known */
	uint64_t count;		/* without the runtime's own */
	uint64_t system, ended; /* the runtime's own; kept for reuse */
	uint64_t unread;	/* changing or invalid, in no group */
	bool moved;		/* a collection interfered: some may be missing */
	/* Small groups left out of a recording; they are in `count`. */
	uint64_t left_groups, left_count;
	uint64_t time_ns;	       /* CLOCK_MONOTONIC */
	uint64_t stack_bytes;	       /* of all of them */
	VEC(struct task_group) groups; /* most tasks first */
	VEC(struct task) members;      /* by ascending number */
	struct intern strings;
};

struct figures;
extern const struct figures task_report_figures, task_group_figures;
/* Metrics of virtual threads only. */
extern const struct figures task_virtual_metrics;

void task_report_free(struct task_report *report);

/* Groups by descending count, members by ascending number. */
void task_report_sort(struct task_report *report);

/* Figures in recordings. */
extern const struct figures task_report_records, task_group_records;

/* A reading of one process; the report of a recorded one has no members. */
struct task_reading {
	struct timespec time;
	pid_t pid;
	uint64_t start_ticks; /* identifies the process, with the PID */
	char comm[16];
	struct task_report report;
};

/*
 * Compares a later reading with an earlier one: growth is since the earlier one, and vanished
 * groups are added with a count of 0 and the earlier one's frames and texts. `same_process`: both
 * count arrivals and departures since the same first reading. Returns 0 or -ENOMEM.
 */
int task_report_compare(const struct task_report *before, struct task_report *after,
			uint64_t span_ns, bool same_process);

/* Returns the first frame outside Go's runtime; else the innermost one; NULL: none. */
const struct frame *goroutine_place(const struct frames *frames);
/* Returns the first frame outside Java's library; else the innermost one; NULL: none. */
const struct frame *java_thread_place(const struct frames *frames);

/* The names of a kind of task in reports. */
struct task_kind {
	const char *one, *many; /* "goroutine", "goroutines" */
	const char *runtime;	/* "Go" */
	bool has_offsets;	/* frames have offsets in their functions */
	/* Returns the program's own frame in which one waits; NULL: none. */
	const struct frame *(*place)(const struct frames *frames);
};
extern const struct task_kind task_goroutines, task_virtual_threads;

/*
 * Returns the suspect group that has grown by most goroutines since the first reading: leaking ones
 * first. NULL: none grew by `least` or more.
 */
const struct task_group *task_report_growing(const struct task_report *report, uint64_t least);

/* The counts of groups over time, from a recording. Zero-initialise. */
struct task_counts {
	uint64_t id;
	uint64_t *counts; /* one per time; owned */
};
struct task_series {
	VEC(struct timespec) times;
	VEC(struct task_counts) groups;
	struct hash index; /* id -> index in groups, plus 1 */
};

/* Adds a count. All times must be known before the first one. Returns 0 or -ENOMEM. */
int task_series_put(struct task_series *series, uint64_t id, size_t time, uint64_t count);
/* Returns one count per time; NULL: unknown group. */
const uint64_t *task_series_find(const struct task_series *series, uint64_t id);
void task_series_free(struct task_series *series);

/* Earlier readings of one program, for comparison. Zero-initialise. */
struct task_history {
	uint64_t first_ns;
	size_t readings;
	VEC(struct task) members; /* of the last reading, by ascending number */
	VEC(struct task_past) groups;
	struct hash index; /* id -> index in groups, plus 1 */
};

struct task_past {
	uint64_t id, first_count, last_count, come, gone;
	size_t grown;	   /* readings with an increase */
	uint64_t grown_ns; /* the last of them */
	uint64_t seen_ns;  /* the last reading that contained it */
};

/*
 * Fills in the growth of every group, and remembers the reading. Growth is called leaking if it
 * continued at three of four readings or more, up to the last one, and not one goroutine left.
 * Returns 0 or -ENOMEM.
 */
int task_history_add(struct task_history *history, struct task_report *report);
void task_history_free(struct task_history *history);

#endif
