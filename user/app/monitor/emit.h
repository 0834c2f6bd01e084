/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Destinations of a run's reports: a stream, or a file that each report replaces. */
#ifndef LEAKMON_MONITOR_EMIT_H
#define LEAKMON_MONITOR_EMIT_H

#include "report/analyze/report_build.h"
#include "base/exit_code.h"
#include "base/text.h"
#include "report/report.h"
#include "output/output.h"
#include "base/serve/listener.h"
#include "base/serve/pusher.h"

struct report_push;
struct schedule;

/* Destinations and form of reports. The strings are borrowed. */
struct output_options {
	const char *format;
	const char *path;	  /* file, or NULL: stdout */
	const char *textfile_dir; /* prom: the directory of the leakmon.prom to keep current */
	struct report_options report;
	const char *listen;	  /* [ADDRESS:]PORT to serve reports at over HTTP, or NULL */
	struct push_options push; /* --push, --webhook */
	const char *suppress;	  /* file of rules, see report/analyze/suppress.h; or NULL */
	const char *junit;	  /* file for a copy of the last report, or NULL */
	bool top_given;
	bool no_color;
	bool bytes;	    /* exact sizes in text */
	uint64_t fail_over; /* exit 3 if more bytes are outstanding at the end; UINT64_MAX: off */
};

#define OUTPUT_DEFAULTS                                                                            \
	{                                                                                          \
		.format = "text", .report.sort = SORT_BYTES, .fail_over = UINT64_MAX               \
	}

/*
 * Returns the form of text: colour on a terminal that supports it, unless disabled; verbose with
 * -v.
 */
struct text_form emit_form(const struct output_options *options);

enum emit_mode {
	/* reports until the run ends: those that cannot be written are counted and dropped */
	EMIT_REPEATED,
	EMIT_ONCE,	      /* an interruption removes --output's file, useless in parts */
	EMIT_ONCE_STREAM,     /* as EMIT_ONCE, but no file is replaced */
	EMIT_REPEATED_STREAM, /* appends every report, whatever the format; errors are returned */
};

/* Writes the reports of a run, and counts the lost ones. Zero-initialise. */
struct emitter {
	const struct output_options *options; /* borrowed */
	const struct output_format *format;
	enum emit_mode mode;
	FILE *out;		   /* standard output if a file is replaced instead */
	struct listener *listener; /* --listen; or NULL */
	struct report_push *push;  /* --push, --webhook; or NULL */
	uint32_t interval_ms;	   /* between reports */
	uint32_t good_for_ms;	   /* age up to which a served report counts as current */
	bool served;		   /* the next report was already served */
	bool guarded;
	uint64_t lost;
	uint64_t not_pushed; /* documents; known at the end */
	int reported; /* -errno of the latest message; reset when a report is written again */
};

/*
 * Opens standard output or --output's file, or checks that the file can be replaced. Returns 0, or
 * -errno after a message. Call emitter_close() in either case.
 */
int emitter_open(struct emitter *emitter, const struct output_options *options,
		 enum emit_mode mode);
/* Starts the processes for --listen, --push and --webhook. Returns 0, or -errno after a message. */
int emitter_listen(struct emitter *emitter, const struct schedule *schedule);
/*
 * Closes the output. Returns 0, or -errno of pending writes; standard output stays open, and the
 * counts stay.
 */
int emitter_close(struct emitter *emitter);

/*
 * Writes a report of that kind (output/output.h has the structs), and serves it in every format
 * that has a document. A format with one report per file replaces --output's file (or
 * --textfile-dir's), and prints only the last report to standard output; output/replace_file.h says
 * which files are replaced and which are written in place. A file that could not be replaced, or
 * appended to, is unchanged.
 *
 * Returns 0, or -errno after a message. With EMIT_REPEATED, a failure that may be temporary is
 * counted, logged once, and returns 0, except that standard output has lost its reader: -EPIPE,
 * without a message.
 */
int emit(struct emitter *emitter, enum output_kind kind, const void *report, bool last);
/* Returns whether emit_serve() needs complete reports. */
bool emitter_serves(const struct emitter *emitter);
/* Returns the counts of pushed documents so far. */
struct pushed emit_pushed(const struct emitter *emitter);

/* Serves and pushes a report before it is cut for emit(). Failures are logged. */
void emit_serve(struct emitter *emitter, enum output_kind kind, const void *report);

/* Opens the output, writes a report and closes it. Returns 0, or -errno after a message. */
int emit_once(const struct output_options *options, enum emit_mode mode, enum output_kind kind,
	      const void *report);

/*
 * Ends a run: waits a bounded time for documents still to be pushed, and returns the exit code,
 * after a message. It follows from the run's `error` (0: none; -EPIPE of standard output counts as
 * none), lost reports, and --fail-over's limit on outstanding bytes. After a run without an error
 * --textfile-dir's file is removed, because it would grow stale.
 */
int emitter_finish(struct emitter *emitter, const struct output_options *options, int error,
		   uint64_t outstanding_bytes);

/* Returns the cost of this process so far. */
struct report_cost emit_cost(void);

#endif
