/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Ranks a snapshot: the sites of each process to show, in order. */
#ifndef LEAKMON_ANALYZE_REPORT_BUILD_H
#define LEAKMON_ANALYZE_REPORT_BUILD_H

#include "report/report.h"

/* Growth and integral need a history, age needs ages; without these, they rank by bytes. */
enum sort_key { SORT_BYTES, SORT_COUNT, SORT_GROWTH, SORT_INTEGRAL, SORT_AGE, SORT_MAX_ };

struct report_options {
	size_t top; /* sites per process and family; 0: all */
	enum sort_key sort;
	bool show_allocs;
	const struct history *history; /* already includes the snapshot; or NULL */
};

/* Ranks and cuts; frames are still empty. Returns 0 or -ENOMEM (then *report is untouched). */
int report_build(struct report *report, const struct snapshot *snapshot,
		 const struct report_options *options);
/* Parses "bytes" to SORT_BYTES; returns -EINVAL for an unknown word. */
int sort_key_parse(const char *text, enum sort_key *key);
const char *sort_key_name(enum sort_key key);

#endif
