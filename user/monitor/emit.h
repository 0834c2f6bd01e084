/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the reports of a run go: to a stream, or each into a file that it replaces. */
#ifndef LEAKMON_MONITOR_EMIT_H
#define LEAKMON_MONITOR_EMIT_H

#include "analyze/report_build.h"
#include "base/exit_code.h"
#include "report/report.h"
#include "output/output.h"
#include "serve/listener.h"

struct schedule;

/* Where reports go, and in which form. The texts are borrowed. */
struct output_options {
	const char *format;
	const char *path;	  /* file, or NULL: stdout */
	const char *textfile_dir; /* prom: the directory whose leakmon.prom is kept up to date */
	struct report_options report;
	const char *listen;   /* [ADDRESS:]PORT to serve reports at over HTTP, or NULL */
	const char *suppress; /* file of rules, see analyze/suppress.h; or NULL */
	const char *junit;    /* file that the last report is also written to; or NULL */
	bool top_given;
	bool no_color;
	uint64_t fail_over; /* exit 3 when more bytes are outstanding at the end; UINT64_MAX: off */
};

#define OUTPUT_DEFAULTS                                                                            \
	{                                                                                          \
		.format = "text", .report.sort = SORT_BYTES, .fail_over = UINT64_MAX               \
	}

/* Opens standard output or --output's file, or sees whether a file can be replaced there. 0, or
 * -errno after a message. */
int emit_open(const struct output_options *options, const struct output_format *format, FILE **out);

/* The same for what replaces no file: replace_file_open_stream() for --output. On failure *out is
 * untouched. */
int emit_open_stream(const struct output_options *options, FILE **out);

/* The message for what could not be written: `error` is -errno. */
void emit_say_failed(const char *what, int error);
/* From here until emit_close() an interruption that ends the process removes --output's file, if
 * `out` is one: for what is written once, and is of no use in parts. */
void emit_guard(const struct output_options *options, FILE *out);
/* 0, or -errno; standard output stays open. */
int emit_close(FILE *out);

/* Whether text goes to a terminal that shows colours, and nobody asked for none. */
bool emit_wants_colour(const struct output_options *options);

/* What of a run could not be written. Zero-initialise. */
struct emit_losses {
	uint64_t reports;
	int told; /* -errno that a message was about, until a report is written again */
};

/*
 * Writes a report in `format`. A format of which a file holds one report replaces --output's file
 * (or --textfile-dir's), and prints only the last one to standard output; output/replace_file.h
 * says what is replaced, and what is written to in place. A file that could not be replaced, or
 * appended to, is as it was.
 *
 * 0, or -errno after a message. With `losses` what cannot be written now, but perhaps later, is
 * counted there, said once, and no error, but that nobody reads standard output any more: -EPIPE,
 * without a message.
 */
int emit_report(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct report *report, bool last);
int emit_triage(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct triage_report *report, bool last);

int emit_memory(const struct output_options *options, const struct output_format *format, FILE *out,
		struct emit_losses *losses, const struct memory_report *report, bool last);
int emit_profile(const struct output_options *options, const struct output_format *format,
		 FILE *out, struct emit_losses *losses, const struct profile_report *report,
		 bool last);

/*
 * --listen: the process that serves reports over HTTP; *listener is NULL without that option. 0, or
 * -errno after a message. And a report for it, in every format that has one: what goes wrong is
 * logged, and ends nothing.
 */
int emit_listen(const struct output_options *options, struct listener **listener);
void emit_serve_report(struct listener *listener, const struct report *report,
		       const struct schedule *schedule);
void emit_serve_triage(struct listener *listener, const struct triage_report *report,
		       const struct schedule *schedule);
void emit_serve_profile(struct listener *listener, const struct profile_report *report,
			const struct schedule *schedule);

/*
 * The end of a run: the exit code for its `error` (0: none; -EPIPE of standard output is none), for
 * reports that are lost, and for what --fail-over says of what
 * is outstanding, with a message. After a run without an error --textfile-dir's file is taken away,
 * for it would grow stale.
 */
int emit_finish(const struct output_options *options, const struct emit_losses *losses, int error,
		uint64_t outstanding_bytes);

/* What this process has cost so far. */
struct report_cost emit_cost(void);

#endif
