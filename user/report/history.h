/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How processes and sites evolved: a series of snapshots as plain data, the same for a live run and
 * for a recording. For every snapshot, in order:
 *
 *	history_add(&history, &snapshot);	numbers of all its processes and sites
 *	history_name(&history, &report);	names of those sites that the report names
 *
 * Memory is bounded: when there are `max_times` snapshots, every second one is forgotten (never the
 * first, never the latest, never one with a label), so that the whole run stays in view at half the
 * resolution; beyond `max_sites` and `max_processes`, what holds nothing gives way, and
 * `untracked_sites` counts the sites without a place, or without one for their process. Sums over
 * time (integral_byte_s) are kept exact all the same.
 *
 * Pointers to sites and processes are good until the next history_add().
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
	uint64_t oldest_ns; /* 0: not known */
};

/* Dense: points.items[i] belongs to history.times.items[first + i], up to the latest time. */
struct history_series {
	size_t first;
	VEC(struct history_point)
	points;			/* a site that is gone goes on with zero bytes and count */
	double integral_byte_s; /* bytes held × seconds, by the trapezoid rule, of every snapshot */
};

struct history_process {
	lm_process_key key;
	uint32_t pid;
	char comm[16];	 /* untrusted */
	char *container; /* untrusted, or NULL: in none, or not known; owned */
	bool exited, has_sites;
	uint64_t age_ns; /* of the process at the latest snapshot; 0: not known */
	struct history_series series;
	/* By how many there are more live blocks than at the attach, tracked or not (from before
	 * it, filtered, not sampled, dropped), young ones included; as dense as series.points. */
	VEC(int64_t) live;
};

struct history_site {
	uint64_t id; /* symbolizer_stack_id: the same on every run and host; 0: not named yet */
	lm_process_key process;
	uint32_t pid;
	size_t process_index; /* into history.processes */
	uint32_t index;	      /* site.index, within its family */
	enum family_id family;
	enum site_kind kind;
	enum lm_lost lost;
	struct frames frames; /* of the latest report that named it; the list is owned, the strings
				 are the symbolizer's or the recording's; may be empty */
	uint64_t ages[SITE_AGES_MAX_]; /* blocks by age, when last known (see snapshot.h) */
	double hit_bytes;	       /* as in snapshot.h; 0: its numbers are exact */
	uint64_t native;	       /* symbolizer_native_id() of its stack */
	size_t merged;		       /* place in history.merged, plus 1; 0: it is alone */
	struct history_series series;
};

/* The sum of those sites of a process that have one native number: of one call, through code that
 * was compiled while it ran. */
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

/* `label` may be NULL. 0 or -ENOMEM (then the history is good for history_free() only). */
int history_add(struct history *history, const struct snapshot *snapshot, const char *label);

/* history_add() does, too: only for whoever has set numbers of sites since. 0 or -ENOMEM. */
int history_merge(struct history *history);

/* Strings in the report's frames must outlive the history. 0 or -ENOMEM. */
int history_name(struct history *history, const struct report *report);

/* NULL: not tracked. */
const struct history_site *history_site_find(const struct history *history, lm_process_key process,
					     const struct site *site);
const struct history_process *history_process_find(const struct history *history,
						   lm_process_key process, uint32_t pid);

/* The point at times.items[time]; all zero before the first. */
struct history_point history_point_at(const struct history_series *series, size_t time);

/* process->live at times.items[time]; 0 before the first. */
int64_t history_live_at(const struct history_process *process, size_t time);

/*
 * Bytes held as a line of at most `width` (1 to 64) block characters, oldest first, scaled to the
 * series' own maximum. Returns text (of SPARKLINE_SIZE bytes), empty when there is no point.
 */
#define SPARKLINE_WIDTH_MAX 64
#define SPARKLINE_SIZE (SPARKLINE_WIDTH_MAX * 3 + 1)

char *history_sparkline(const struct history *history, const struct history_series *series,
			size_t width, char text[SPARKLINE_SIZE]);

/* The same as heights, 0 (nothing) to 8. Returns how many. */
size_t history_heights(const struct history *history, const struct history_series *series,
		       size_t width, unsigned char heights[SPARKLINE_WIDTH_MAX]);

/* The character for a height. */
const char *sparkline_block(unsigned char height);
void history_free(struct history *history);

#endif
