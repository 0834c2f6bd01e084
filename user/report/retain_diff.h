/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Changes between two runs of `leakmon retain`, of one process or of two, by class. */
#ifndef LEAKMON_REPORT_RETAIN_DIFF_H
#define LEAKMON_REPORT_RETAIN_DIFF_H

#include "report/class_history.h"
#include "report/diff.h"
#include "report/retain_result.h"

/* A class, or a root. Roots of one name (a variable, threads of one name) form one row. */
struct retained_change {
	uint32_t before, after; /* its index (of several: of the first); RESULT_NONE: absent */
	struct retention_total was, is;
	/*
	 * Growth of the largest distance of a block of the class from a root: reveals a list that
	 * only grows longer. 0 if it did not grow.
	 */
	uint32_t farther;
};

/*
 * Returns whether a chain of them may have grown longer: it has that many links more. Else only the
 * path to them has changed.
 */
bool retained_change_lengthens(const struct retained_change *change);

/*
 * Returns whether it has grown by more than shortest paths vary in any program: by up to 20 steps
 * between runs of Tomcat and of Express. Blocks may be reached through a list of others, such as
 * HotSpot's class loaders: at least half of the new blocks must be links.
 */
bool retained_change_is_chain(const struct retained_change *change);

struct retained_changes {
	VEC(struct retained_change) list; /* the largest growth in bytes first */
};

struct retain_diff {
	const struct retain_result *before, *after; /* borrowed */
	struct retained_changes classes, roots;
	uint32_t *of_classes; /* indices in classes.list, by class of `after`; or RESULT_NONE */
};

/* A result for outputs. */
struct retain_report {
	const struct retain_result *result;
	const struct retain_diff *diff; /* from the previous run; NULL: this is the first one */
	/* Of the runs up to this one, which orders the classes; NULL: ordered by bytes. */
	const struct class_history *history;
	bool referrers; /* of the requested class are shown */
	size_t top;	/* limit of rows per list; 0: all */
	struct text_form form;
};

/* Changes from one run to another, of one recording or of two. */
struct retain_diff_report {
	const struct retain_diff *diff;
	const char *before_name, *after_name;	/* of the recordings, untrusted */
	int64_t before_number, after_number;	/* of the runs in them */
	const char *before_label, *after_label; /* or NULL */
	size_t top;
	struct text_form form;
};

/* Builds the changes. Returns 0 or -ENOMEM, then *diff is untouched. */
int retain_diff_build(const struct retain_result *before, const struct retain_result *after,
		      struct retain_diff *diff);
void retain_diff_free(struct retain_diff *diff);

static inline int64_t change_bytes(const struct retained_change *change)
{
	return (int64_t)(change->is.bytes - change->was.bytes);
}

static inline int64_t change_blocks(const struct retained_change *change)
{
	return (int64_t)(change->is.blocks - change->was.blocks);
}

enum diff_state retained_change_state(const struct retained_change *change);
/* Returns false for a root that retains nothing by itself in either run, and for unchanged rows. */
bool retained_change_is_news(const struct retained_change *change);

/* Return the later run that contains the change's row, and the index of the row in that run. */
static inline const struct retain_result *retained_change_side(const struct retain_diff *diff,
							       const struct retained_change *change)
{
	return change->after != RESULT_NONE ? diff->after : diff->before;
}

static inline uint32_t retained_change_place(const struct retained_change *change)
{
	return change->after != RESULT_NONE ? change->after : change->before;
}

#endif
