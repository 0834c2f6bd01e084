/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the reports of a run go: to a stream, or each into a file that it replaces. */
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

/* Where reports go, and in which form. The texts are borrowed. */
struct output_options {
	const char *format;
	const char *path;	  /* file, or NULL: stdout */
	const char *textfile_dir; /* prom: the directory with the leakmon.prom to keep up to date */
	struct report_options report;
	const char *listen;	  /* [ADDRESS:]PORT to serve reports at over HTTP, or NULL */
	struct push_options push; /* --push, --webhook */
	const char *suppress;	  /* file of rules, see report/analyze/suppress.h; or NULL */
	const char *junit;	  /* file that the last report is also written to; or NULL */
	bool top_given;
	bool no_color;
	bool bytes;	    /* sizes in text */
	uint64_t fail_over; /* exit 3 when more bytes are outstanding at the end; UINT64_MAX: off */
};

#define OUTPUT_DEFAULTS                                                                            \
	{                                                                                          \
		.format = "text", .report.sort = SORT_BYTES, .fail_over = UINT64_MAX               \
	}

/* In colour on a terminal that shows them, unless somebody asked for none; verbose with -v. */
struct text_form emit_form(const struct output_options *options);

enum emit_mode {
	EMIT_REPEATED, /* reports until the run ends: what cannot be written is counted, and lost */
	EMIT_ONCE,     /* an interruption removes --output's file, which is of no use in parts */
	EMIT_ONCE_STREAM,     /* likewise, and no file is replaced */
	EMIT_REPEATED_STREAM, /* every report is appended, whatever the format; an error is one */
};

/* Where the reports of a run go, and how many of them were lost. Zero-initialise. */
struct emitter {
	const struct output_options *options; /* borrowed */
	const struct output_format *format;
	enum emit_mode mode;
	FILE *out;		   /* standard output while a file is replaced */
	struct listener *listener; /* --listen; or NULL */
	struct report_push *push;  /* --push, --webhook; or NULL */
	uint32_t interval_ms;	   /* between reports */
	uint32_t good_for_ms;	   /* until then a served report may stand for the present */
	bool served;		   /* the next report was already served */
	bool guarded;
	uint64_t lost;
	uint64_t not_pushed; /* documents, known at the end */
	int reported;	     /* -errno that a message was about, until a report is written again */
};

/* Opens standard output or --output's file, or sees whether a file can be replaced there. 0, or
 * -errno after a message. To be closed in either case. */
int emitter_open(struct emitter *emitter, const struct output_options *options,
		 enum emit_mode mode);
/* --listen, --push and --webhook: starts the processes that serve reports, and push them. 0, or
 * -errno after a message. */
int emitter_listen(struct emitter *emitter, const struct schedule *schedule);
/* 0, or -errno of what was written; standard output stays open, and the counts stay. */
int emitter_close(struct emitter *emitter);

/*
 * Writes a report of that kind (output/output.h has the structs), and serves it in every format
 * that has a document. A format of which a file holds one report replaces --output's file (or
 * --textfile-dir's), and prints only the last one to standard output; output/replace_file.h says
 * what is replaced, and what is written to in place. A file that could not be replaced, or appended
 * to, is as it was.
 *
 * 0, or -errno after a message. EMIT_REPEATED: what cannot be written now, but perhaps later, is
 * counted, said once, and no error, but that nobody reads standard output any more: -EPIPE, without
 * a message.
 */
int emit(struct emitter *emitter, enum output_kind kind, const void *report, bool last);
/* Whether all of a report is to be made, for emit_serve(). */
bool emitter_serves(const struct emitter *emitter);
/* What became of what was pushed so far. */
struct pushed emit_pushed(const struct emitter *emitter);

/* Serves and pushes a report before it is cut to what emit() is to write. What goes wrong is
 * logged. */
void emit_serve(struct emitter *emitter, enum output_kind kind, const void *report);

/* Opens, writes and closes. 0, or -errno after a message. */
int emit_once(const struct output_options *options, enum emit_mode mode, enum output_kind kind,
	      const void *report);

/*
 * The end of a run, which waits a bounded time for what is not pushed yet: the exit code for its
 * `error` (0: none; -EPIPE of standard output is none), for reports that are lost, and for what
 * --fail-over says of what is outstanding, with a message. After a run without an error
 * --textfile-dir's file is taken away, for it would grow stale.
 */
int emitter_finish(struct emitter *emitter, const struct output_options *options, int error,
		   uint64_t outstanding_bytes);

/* The cost of this process so far. */
struct report_cost emit_cost(void);

#endif
