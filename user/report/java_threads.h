/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Java threads by name, group, state and place: plain data, made by heap/runtime/hotspot/reader.h.
 * All strings are untrusted, and owned by the report.
 */
#ifndef LEAKMON_REPORT_JAVA_THREADS_H
#define LEAKMON_REPORT_JAVA_THREADS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"

struct java_thread_group {
	const char *name;  /* with # for each number: "pool-#-thread-#" */
	const char *of;	   /* their ThreadGroup; "": unknown */
	const char *state; /* "parked"; static */
	bool daemon;
	uint64_t count;
	struct frames stack; /* innermost first; owned. Empty: in Java, or unknown */
};

/* Values that a thread keeps of collected ThreadLocals: they are no longer accessible. */
#define JAVA_GONE_LOCALS_MAX 256
struct java_gone_local {
	const char *class;  /* of the values */
	const char *thread; /* as in java_thread_group; "" for virtual ones */
	bool is_virtual;
	uint64_t count;
};

struct java_thread_report {
	char version[24];		      /* of the JVM; "": unknown */
	const char *why;		      /* why they are unknown; static; NULL: known */
	uint64_t count, daemons;	      /* daemons: of them */
	uint64_t ended;			      /* since the start, by the JVM's count */
	bool has_ended;			      /* the JVM counts them */
	VEC(struct java_thread_group) groups; /* most threads first */
	VEC(struct java_gone_local) gone;     /* most values first */
	uint64_t gone_count;		      /* of all values, listed or not */
	uint64_t gone_virtual;		      /* of these in virtual threads */
	struct intern strings;
};

void java_thread_report_free(struct java_thread_report *report);

/* Returns the first frame of the program's own code; else the innermost one; NULL: none. */
const struct frame *java_thread_place(const struct frames *frames);

#endif
