/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Two profiles side by side: which call stacks grow faster or slower, and whether that is sure. */
#ifndef LEAKMON_REPORT_PROFILE_DIFF_H
#define LEAKMON_REPORT_PROFILE_DIFF_H

#include "report/profile_report.h"

struct profile_change {
	/* NULL: it has no such call stack. Borrowed. */
	const struct profile_report_process *process_before, *process_after;
	const struct profile_report_site *before, *after;
	double bytes_per_s; /* of growth: after - before */
	bool sure;	    /* their intervals of 95 % have nothing in common */
};

struct profile_diff {
	const struct profile_report *before, *after; /* borrowed */
	const char *before_name, *after_name;	     /* files; borrowed */
	VEC(struct profile_change) changes;	     /* what grows faster now comes first */
	size_t top;				     /* so many are shown; 0: all */
	struct text_form form;
};

/*
 * The same call stack (profile_report_site.id) of processes of one name is one: of the same PID if
 * there is one. 0 or -ENOMEM.
 */
int profile_diff_build(struct profile_diff *diff, const struct profile_report *before,
		       const struct profile_report *after);
void profile_diff_free(struct profile_diff *diff);

/* The one that is there: after, else before. */
const struct profile_report_site *profile_change_site(const struct profile_change *change);
const struct profile_report_process *profile_change_process(const struct profile_change *change);

#endif
