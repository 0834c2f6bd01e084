/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Compares two profiles: which call stacks grow faster or slower, and whether that is certain. */
#ifndef LEAKMON_REPORT_PROFILE_DIFF_H
#define LEAKMON_REPORT_PROFILE_DIFF_H

#include "report/profile_report.h"

struct profile_change {
	/* NULL: it lacks this call stack. Borrowed. */
	const struct profile_report_process *process_before, *process_after;
	const struct profile_report_site *before, *after;
	double bytes_per_s; /* of growth: after - before */
	bool sure;	    /* their 95 % intervals do not overlap */
};

struct profile_diff {
	const struct profile_report *before, *after; /* borrowed */
	const char *before_name, *after_name;	     /* files; borrowed */
	VEC(struct profile_change) changes;	     /* the largest increase of growth first */
	size_t top;				     /* limit of those shown; 0: all */
	struct text_form form;
};

/*
 * Matches call stacks (profile_report_site.id) of processes of one name, preferably of the same
 * PID. Returns 0 or -ENOMEM.
 */
int profile_diff_build(struct profile_diff *diff, const struct profile_report *before,
		       const struct profile_report *after);
void profile_diff_free(struct profile_diff *diff);

/* Return the side that exists: after, else before. */
const struct profile_report_site *profile_change_site(const struct profile_change *change);
const struct profile_report_process *profile_change_process(const struct profile_change *change);

#endif
