/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats: a row in output.c each, with a writer for every kind of report that the format
 * can show. What commands offer, check and complete follows from that table. A writer takes a
 * finished report and a stream, and looks nothing up; everything that came from the target is made
 * inert on the way. All return 0, or -errno when the stream failed (output_finish()), or -ENOMEM;
 * and flush.
 */
#ifndef LEAKMON_OUTPUT_OUTPUT_H
#define LEAKMON_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

struct diff;
struct memory_report;
struct profile_diff;
struct profile_report;
struct report;
struct retain_diff_report;
struct retain_report;
struct thread_report;
struct triage_report;

/* The columns of the table. */
enum output_kind {
	OUTPUT_REPORT,
	OUTPUT_DIFF,
	OUTPUT_TRIAGE,
	OUTPUT_RETAIN,
	OUTPUT_RETAIN_DIFF,
	OUTPUT_THREADS,
	OUTPUT_PROFILE,
	OUTPUT_PROFILE_DIFF,
	OUTPUT_MEMORY,
	OUTPUT_KIND_MAX_,
};

struct output_format {
	const char *name;
	/* NULL: this format has no way to show it. */
	int (*report)(FILE *out, const struct report *report);
	int (*diff)(FILE *out, const struct diff *diff);
	int (*triage)(FILE *out, const struct triage_report *report);
	int (*retain)(FILE *out, const struct retain_report *report);
	int (*retain_diff)(FILE *out, const struct retain_diff_report *report);
	int (*threads)(FILE *out, const struct thread_report *report);
	int (*profile)(FILE *out, const struct profile_report *report);
	int (*profile_diff)(FILE *out, const struct profile_diff *diff);
	int (*memory)(FILE *out, const struct memory_report *report);
	bool single;	     /* a file holds one report: each replaces the one before */
	bool wants_history;  /* a difference is shown with what came before both sides */
	bool wants_retained; /* report->retained is shown */
	bool wants_samples;  /* retain needs result->samples */
	/* Rows unless -T is given, 0: all. Sites per process; of each list of retain. */
	size_t default_top, retain_top;
};

/* NULL if there is no such format. */
const struct output_format *output_find(const char *name);
/* The i-th format, NULL past the last. */
const struct output_format *output_at(size_t i);

bool output_has(const struct output_format *format, enum output_kind kind);

/* "text|json|...": the formats that have it, as an option's argument shows them. */
const char *output_words(unsigned kind);

/*
 * How every writer ends: flushes. 0, or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EPIPE, ...) when writing
 * failed; -EIO also: an earlier write to the stream did, and now it would not.
 */
int output_finish(FILE *out);

#define OUTPUT_EXPLANATION_SIZE 160

/* What `error` (-errno) of writing means, and what to do about it, for a message. Returns text. */
const char *output_explain(int error, char text[OUTPUT_EXPLANATION_SIZE]);

#endif
