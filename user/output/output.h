/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats: a row of the table in formats.h each, with a writer for every kind of report that
 * the format can show. What commands offer, check and complete follows from it. A writer takes a
 * finished report and a stream, and looks nothing up; everything that came from the target is made
 * inert on the way. All return 0, or -errno when the stream failed (output_finish()), or -ENOMEM;
 * and flush.
 */
#ifndef LEAKMON_OUTPUT_OUTPUT_H
#define LEAKMON_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Kinds of reports, and the struct that a writer of each gets. */
enum output_kind {
	OUTPUT_REPORT,	     /* struct report */
	OUTPUT_DIFF,	     /* struct diff */
	OUTPUT_TRIAGE,	     /* struct triage_report */
	OUTPUT_RETAIN,	     /* struct retain_report */
	OUTPUT_RETAIN_DIFF,  /* struct retain_diff_report */
	OUTPUT_THREADS,	     /* struct thread_report */
	OUTPUT_PROFILE,	     /* struct profile_report */
	OUTPUT_PROFILE_DIFF, /* struct profile_diff */
	OUTPUT_MEMORY,	     /* struct memory_report */
	OUTPUT_DIAGNOSIS,    /* struct diagnosis_report */
	OUTPUT_KIND_MAX_,
};

struct output_format {
	const char *name;
	/* By kind; NULL: this format has no way to show it. */
	int (*write[OUTPUT_KIND_MAX_])(FILE *out, const void *report);
	bool single;	     /* a file holds one report: each replaces the one before */
	bool wants_history;  /* a difference is shown with what came before both sides */
	bool wants_retained; /* report->retained is shown */
	bool wants_samples;  /* retain needs result->samples */
	/* Rows unless -T is given, 0: all. Sites per process; of each list of retain. */
	size_t default_top, retain_top;
};

/* NULL if there is no such format. */
const struct output_format *output_find(const char *name);

static inline bool output_has(const struct output_format *format, enum output_kind kind)
{
	return format->write[kind];
}

/* "text|json|...": the formats that have it, as an option's argument shows them. */
const char *output_words(unsigned kind);

/*
 * How every writer ends: flushes. 0, or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EPIPE, ...) when writing
 * failed; -EIO also: an earlier write to the stream did, and now it would not.
 */
int output_finish(FILE *out);

#define OUTPUT_EXPLANATION_SIZE 160

/* The meaning of `error` (-errno) of writing, and the remedy, for a message. Returns text. */
const char *output_explain(int error, char text[OUTPUT_EXPLANATION_SIZE]);

#endif
