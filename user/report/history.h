/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The development of processes and sites: a series of snapshots as plain data, the same for a live
 * run and for a recording. For every snapshot, in order:
 *
 *   history_add(&history, &snapshot);  numbers of all its processes and sites
 *   history_name(&history, &report);   names of the sites that the report names
 *
 * Memory is bounded: when there are `max_times` snapshots, every second one is dropped (never the
 * first, never the latest, never one with a label), so that the whole run remains at half the
 * resolution; beyond `max_sites` and `max_processes`, series that hold nothing are evicted, and
 * `untracked_sites` counts the sites without a place, or without one for their process. Sums over
 * time (integral_byte_s) stay exact nevertheless.
 *
 * Pointers to sites and processes are valid until the next history_add().
 */
#ifndef LEAKMON_REPORT_HISTORY_H
#define LEAKMON_REPORT_HISTORY_H

#include "report/report.h"
#include "base/hash.h"
#include "report/snapshot.h"

struct history_time {
	uint64_t sequence;    /* snapshot.sequence */
	struct timespec time; /* CLOCK_REALTIME */
	uint64_t monotonic_ns;
	char *label; /* from --label, untrusted text, or NULL; owned */
};

struct history_point {
	uint64_t bytes, count; /* outstanding */
	uint64_t allocated_bytes, allocated_count;
	uint64_t freed_bytes, freed_count;
	uint64_t oldest_ns; /* 0: unknown */
};

/* Dense: points.items[i] belongs to history.times.items[first + i], up to the latest time. */
struct history_series {
	size_t first;
	VEC(struct history_point)
	points; /* after its end a site continues with zero bytes and count */
	/* bytes held × seconds, by the trapezoid rule, over every snapshot */
	double integral_byte_s;
};

struct history_process {
	lm_process_key key;
	uint32_t pid;
	char comm[16];	 /* untrusted */
	char *container; /* untrusted, or NULL: none or unknown; owned */
	bool exited, has_sites;
	uint64_t age_ns; /* of the process at the latest snapshot; 0: unknown */
	struct history_series series;
	/*
	 * Growth in live blocks since the attach, tracked or not (earlier, filtered, unsampled,
	 * dropped), including young ones; as dense as series.points.
	 */
	VEC(int64_t) live;
};

struct history_site {
	uint64_t id; /* symbolizer_stack_id: the same on every run and host; 0: unnamed */
	lm_process_key process;
	uint32_t pid;
	size_t process_index; /* into history.processes */
	uint32_t index;	      /* site.index, within its family */
	enum family_id family;
	enum site_kind kind;
	enum lm_lost lost;
	/*
	 * from the latest report that named it; the list is owned, the strings are the symbolizer's
	 * or the recording's; may be empty
	 */
	struct frames frames;
	uint64_t ages[SITE_AGES_MAX_]; /* blocks by age, when last known (see snapshot.h) */
	double hit_bytes;	       /* as in snapshot.h; 0: its numbers are exact */
	uint64_t native;	       /* symbolizer_native_id() of its stack */
	size_t merged;		       /* index in history.merged, plus 1; 0: not merged */
	struct history_series series;
};

/* The sum of a process's sites with one native number: of one call, through JIT-compiled code. */
struct history_merged {
	size_t stacks;
	struct history_site site; /* without frames */
};

struct history_limits {
	size_t max_times;     /* at least 4; 0: 240 */
	size_t max_sites;     /* 0: 4096 */
	size_t max_processes; /* 0: 32768 */
};

struct history {
	struct history_limits limits;
	VEC(struct history_time) times;
	VEC(struct history_process) processes;
	VEC(struct history_site) sites;
	VEC(struct history_merged) merged; /* rebuilt from `sites` by history_merge() */
	size_t untracked_sites;		   /* of the latest snapshot */
	struct hash site_positions, process_positions;
};

/*
 * Adds a snapshot. `label` may be NULL. Returns 0 or -ENOMEM (then only history_free() may follow).
 */
int history_add(struct history *history, const struct snapshot *snapshot, const char *label);

/*
 * Rebuilds the merged sites, as history_add() does: only after numbers of sites were changed.
 * Returns 0 or -ENOMEM.
 */
int history_merge(struct history *history);

/* Names sites. Strings in the report's frames must outlive the history. Returns 0 or -ENOMEM. */
int history_name(struct history *history, const struct report *report);

/* Return NULL if untracked. */
const struct history_site *history_site_find(const struct history *history, lm_process_key process,
					     const struct site *site);
const struct history_process *history_process_find(const struct history *history,
						   lm_process_key process, uint32_t pid);

/* Returns the point at times.items[time]; all zero before the first. */
struct history_point history_point_at(const struct history_series *series, size_t time);

/* Returns process->live at times.items[time]; 0 before the first. */
int64_t history_live_at(const struct history_process *process, size_t time);

/*
 * Draws the bytes held as a line of at most `width` (1 to 64) block characters, oldest first,
 * scaled to the series' own maximum. Returns text (of SPARKLINE_SIZE bytes), empty if there is no
 * point.
 */
#define SPARKLINE_WIDTH_MAX 64
#define SPARKLINE_SIZE (SPARKLINE_WIDTH_MAX * 3 + 1)

char *history_sparkline(const struct history *history, const struct history_series *series,
			size_t width, char text[SPARKLINE_SIZE]);

/* Fills heights from 0 (nothing) to 8 in the same way. Returns their number. */
size_t history_heights(const struct history *history, const struct history_series *series,
		       size_t width, unsigned char heights[SPARKLINE_WIDTH_MAX]);

/* Returns the character of a height. */
const char *sparkline_block(unsigned char height);
void history_free(struct history *history);

#endif
