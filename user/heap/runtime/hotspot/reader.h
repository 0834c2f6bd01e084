/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a JVM from outside while it runs, without stopping it. */
#ifndef LEAKMON_RUNTIME_HOTSPOT_READER_H
#define LEAKMON_RUNTIME_HOTSPOT_READER_H

#include <sys/types.h>

#include "base/vec.h"
#include "process/proc/maps.h"
#include "report/heap_floor.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"
#include "report/task_report.h"

struct dso_cache;
struct target_memory;
struct worker;

/* Java threads by name, group, state and where they are. All strings are untrusted, and the
 * report's own. */
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
	uint64_t gone_unlisted;		      /* of them, those that are not listed */
	uint64_t gone_virtual;		      /* of them, those in virtual threads */
	struct intern strings;
};

void java_thread_report_free(struct java_thread_report *report);

/*
 * Its threads; report->why says why they are not known. And its virtual threads, with nothing at
 * all if it uses none. Files are read by `worker`. 0 or -ENOMEM; java_thread_report_free() and
 * task_report_free() in any case.
 */
int java_threads_read(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		      struct java_thread_report *report, struct task_report *virtual);

/* Likewise of memory that is open. */
int java_threads_of(struct target_memory *memory, struct java_thread_report *report,
		    struct task_report *virtual);

/* Memory in its heap and outside, as the VM counts it; in bytes. */

/* Class loaders of one class. */
struct java_loaders {
	char *name; /* of their class, or as paths name those of the JDK; untrusted; owned */
	uint64_t loaders, classes;
	bool has_metaspace;
	uint64_t committed, used; /* metaspace */
};

/* Buffers of java.nio outside the heap. */
struct java_buffers {
	bool known;
	uint64_t count, bytes;
};

struct java_memory {
	char version[24];      /* "17.0.15"; "": not known */
	const char *why;       /* nothing is known; static; NULL: it is */
	const char *collector; /* "G1"; static */
	/* The heap: what objects, garbage among them, take; memory for it; -Xmx. */
	uint64_t used, committed, maximum;
	uint64_t kept; /* of `used`, what is not in Eden: collections have left it */
	/* As the VM counts them; and those of them, or cycles, that free old objects, too. Without
	 * counts that is any number that grows with each such one. */
	uint64_t collections, full_collections;
	bool has_counts;
	bool has_metaspace;
	uint64_t metaspace, metaspace_used; /* class space included */
	uint64_t class_space;		    /* of `metaspace` */
	uint64_t classes;		    /* arrays included */
	VEC(struct java_loaders) loaders;   /* those with most metaspace first */
	uint64_t code, code_limit;	    /* code cache, with its maps; 0: not known */
	uint64_t threads, thread_stacks;    /* of Java; address space, not resident */
	struct java_buffers direct, mapped;
	uint64_t direct_limit; /* 0: not known */
};

void java_memory_free(struct java_memory *java);

/*
 * Where its memory goes, in the heap and outside; java->why says why that is not known. No file is
 * read, and it may be any process with libjvm.so. 0 or -ENOMEM; java_memory_free() in any case.
 */
int java_memory_read(const struct maps *maps, struct java_memory *java);

/* Why its objects are not read; static; NULL: they are, or that is not known. */
const char *java_refusal(const struct maps *maps);

/* As java_memory_read(), of memory that is open, with its modules. */
int java_memory_of(struct target_memory *memory, struct java_memory *java);

/* What its collections leave. NULL: not known. */
struct heap_floor java_floor_of(const struct java_memory *java);

extern const struct memory_reader java_memory_reader;
extern const struct thread_reader java_thread_reader;

#endif
