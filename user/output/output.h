/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats: one file each, one row in output.c. A format writes a finished report to a
 * stream and looks nothing up. Everything that came from the target is made inert on the way.
 */
#ifndef LEAKMON_OUTPUT_OUTPUT_H
#define LEAKMON_OUTPUT_OUTPUT_H

#include <stdio.h>

#include "analyze/diff.h"
#include "analyze/report.h"

struct triage_report;

struct output_format {
	const char *name;
	/* 0, or -errno when the stream failed: output_finish(). Flushes. */
	int (*write)(FILE *out, const struct report *report);
	/* The same of a triage; NULL: this format has none. */
	int (*write_triage)(FILE *out, const struct triage_report *report);
	/* What changed; NULL: this format has no way to say it. */
	int (*write_diff)(FILE *out, const struct diff *diff);
	bool single;	     /* a file holds one report: each replaces the one before */
	bool wants_history;  /* a difference is shown with what came before both sides */
	bool wants_retained; /* report->retained is shown */
	size_t default_top;  /* sites per process unless -T is given; 0: all */
};

/* NULL if there is no such format. */
const struct output_format *output_find(const char *name);
/* The i-th format, NULL past the last. */
const struct output_format *output_at(size_t i);

#endif
