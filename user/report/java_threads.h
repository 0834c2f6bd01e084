/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Java threads by name, group, state and where they are: plain data, made by
 * heap/runtime/hotspot/reader.h. All strings are untrusted, and the report's own.
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
	const char *of;	   /* their ThreadGroup; "": not known */
	const char *state; /* "parked"; static */
	bool daemon;
	uint64_t count;
	struct frames stack; /* innermost first; owned. Empty: in Java, or not known */
};

/* Values that a thread keeps of ThreadLocals that are gone: nobody can get them any more. */
#define JAVA_GONE_LOCALS_MAX 256
struct java_gone_local {
	const char *class;  /* of the values */
	const char *thread; /* as in java_thread_group; of virtual ones "" */
	bool is_virtual;
	uint64_t count;
};

struct java_thread_report {
	char version[24];		      /* of the JVM; "": not known */
	const char *why;		      /* they are not known; static; NULL: they are */
	uint64_t count, daemons;	      /* daemons: of them */
	uint64_t ended;			      /* since the start, as the JVM counts them */
	bool has_ended;			      /* it does */
	VEC(struct java_thread_group) groups; /* most threads first */
	VEC(struct java_gone_local) gone;     /* most values first */
	uint64_t gone_count;		      /* of all values, listed or not */
	uint64_t gone_virtual;		      /* of them in virtual threads */
	struct intern strings;
};

void java_thread_report_free(struct java_thread_report *report);

/* The first frame of the program's own; else the innermost one; NULL: there is none. */
const struct frame *java_thread_place(const struct frames *frames);

#endif
