/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Output formats: each is a row of the table in formats.h, with a writer for every kind of report
 * that the format can show. Commands derive their options, checks and completion from it. A writer
 * takes a finished report and a stream, and looks nothing up; it makes all text from the target
 * inert. All writers flush, and return 0, -errno if the stream failed (output_finish()), or
 * -ENOMEM.
 */
#ifndef LEAKMON_OUTPUT_OUTPUT_H
#define LEAKMON_OUTPUT_OUTPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Kinds of reports, and the struct for the writers of each. */
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
	/* By kind; NULL: this format cannot show it. */
	int (*write[OUTPUT_KIND_MAX_])(FILE *out, const void *report);
	bool single;	     /* a file holds one report, replaced by the next */
	bool wants_history;  /* a difference shows the history of both sides */
	bool wants_retained; /* report->retained is shown */
	bool wants_samples;  /* retain must fill in result->samples */
	/* Rows shown without -T; 0: all. Sites per process; rows of each list of retain. */
	size_t default_top, retain_top;
};

/* Returns the format with that name, or NULL. */
const struct output_format *output_find(const char *name);

static inline bool output_has(const struct output_format *format, enum output_kind kind)
{
	return format->write[kind];
}

/* Returns "text|json|...", the formats that support a kind, for the help of an option. */
const char *output_words(unsigned kind);

/*
 * Ends every writer: flushes. Returns 0, or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EPIPE, ...) if
 * writing failed; also -EIO if an earlier write failed and another one now succeeds.
 */
int output_finish(FILE *out);

#define OUTPUT_EXPLANATION_SIZE 160

/* Explains `error` (-errno) of writing, with the remedy, for a message. Returns text. */
const char *output_explain(int error, char text[OUTPUT_EXPLANATION_SIZE]);

#endif
