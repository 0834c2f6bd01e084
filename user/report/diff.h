/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The difference between two snapshots, of one run or of two: the sites of both, matched by
 * properties that are the same on every run and host, and their difference: of the lasting part, if
 * the reports have the snapshots around them (report.around), with the momentary amounts beside it.
 */
#ifndef LEAKMON_REPORT_DIFF_H
#define LEAKMON_REPORT_DIFF_H

#include "report/memory_split.h"
#include "report/report.h"

/* The identity of a row. Function, module and file: of the frame that called the allocator. */
enum diff_group {
	DIFF_BY_SITE,
	DIFF_BY_FUNCTION,
	DIFF_BY_MODULE,
	DIFF_BY_FILE, /* file:line */
	DIFF_BY_CONTAINER,
	DIFF_BY_BUILD, /* program and build-id */
	DIFF_BY_HOST,
	DIFF_GROUP_MAX_,
};

enum diff_state { DIFF_NEW, DIFF_GROWN, DIFF_SHRUNK, DIFF_GONE, DIFF_SAME, DIFF_STATE_MAX_ };

struct diff_amount {
	uint64_t bytes, count;
};

/*
 * For a program that samples itself: bytes held, and bytes allocated and freed since the attach, as
 * sums over hits. All 0: its numbers are exact.
 */
struct diff_hits {
	struct poisson_sum held, allocated, freed;
};

struct diff_row {
	char *name;	  /* of the group, untrusted; NULL for a site; owned */
	const char *comm; /* of the process, for a site; NULL: a group of several */
	/* The group's largest site, of the later snapshot if present there. */
	const struct report_site *site;
	const struct report_site *earlier; /* of the earlier one; NULL: absent */
	size_t sites;			   /* number of sites of both snapshots */
	bool by_name; /* of two builds: matched by the names of their functions */
	struct diff_amount before, after; /* at the snapshots */
	/*
	 * The lasting part (report/analyze/site_trend.h). Both are the earlier amount if it
	 * fluctuates as before.
	 */
	struct diff_amount stays_before, stays_after;
	struct diff_amount low_before, high_before, low_after, high_after; /* ranges around them */
	bool grows;							   /* on either side */
	/* Part allocated by threads that have ended; with diff.has_owners. */
	struct diff_amount by_dead_before, by_dead_after;
	struct diff_hits hits_before, hits_after;
	enum diff_state state; /* of the lasting part */
};

/* Dead threads of one creator: bytes are those of their stacks. */
struct diff_dead {
	const char *comm;
	const struct report_dead *dead; /* of the later snapshot if present there */
	struct diff_amount before, after;
	enum diff_state state;
};

struct diff {
	const struct report *before, *after;  /* borrowed */
	const char *before_name, *after_name; /* of the recordings, untrusted; or NULL; borrowed */
	const char *before_label, *after_label; /* or NULL; borrowed */
	enum diff_group by;
	size_t top;	 /* rows to print; 0: all */
	bool same_run;	 /* both are of one run: their distance in time is meaningful */
	bool unrelated;	 /* no site is in both, and each has some */
	bool has_owners; /* both snapshots know the allocating threads */
	struct text_form form;
	size_t by_name; /* rows matched by the names of their functions */
	struct diff_amount total_before, total_after; /* without mappings, which contain the rest */
	struct diff_amount stays_before, stays_after; /* lasting parts, without mappings */
	struct diff_hits hits_before, hits_after;
	/* the snapshots around the two are known, and so are lasting parts */
	bool has_levels;
	struct memory_changes memory; /* composition of memory; empty: unknown */
	VEC(struct diff_row) rows;    /* sites that differ, or are in both; largest growth first */
	VEC(struct diff_dead) dead;   /* largest growth first */
	struct diff_amount dead_before, dead_after;
};

void diff_free(struct diff *diff);

/*
 * Computes 95 % limits of the difference in bytes between the two moments, of a row (or NULL: of
 * all) that is an estimate on either side. Returns false if it is exact.
 */
bool diff_limits(const struct diff *diff, const struct diff_row *row, struct bounds *limits);
/* Returns whether the limits include zero: the two may well be equal. */
static inline bool diff_is_chance(const struct bounds *limits)
{
	return limits->low <= 0 && limits->high >= 0;
}

/* Returns the state for a change from one amount to another. */
enum diff_state diff_state_of(const struct diff_amount *before, const struct diff_amount *after);

/* Returns "new", "grown", "shrunk", "gone", "same". */
const char *diff_state_name(enum diff_state state);
/* Returns "site", "function", "module", "file", "container", "build", "host". */
const char *diff_group_name(enum diff_group group);

/* Returns after - before, of the lasting part; sums of a process fit. */
static inline int64_t diff_bytes(const struct diff_row *row)
{
	return (int64_t)(row->stays_after.bytes - row->stays_before.bytes);
}
static inline int64_t diff_count(const struct diff_row *row)
{
	return (int64_t)(row->stays_after.count - row->stays_before.count);
}
/*
 * Returns whether the lasting part is unchanged although the snapshots differ: a burst, at one end
 * or both.
 */
static inline bool diff_is_burst(const struct diff_row *row)
{
	return row->state == DIFF_SAME &&
	       (row->after.bytes != row->before.bytes || row->after.count != row->before.count);
}

#endif
