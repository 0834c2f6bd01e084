/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a running JVM from outside, without stopping it. */
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

/*
 * Java threads by name, group, state and stack. All strings are untrusted, and owned by the report.
 */
struct java_thread_group {
	const char *name;  /* numbers replaced by #: "pool-#-thread-#" */
	const char *of;	   /* their ThreadGroup; "": unknown */
	const char *state; /* "parked"; static */
	bool daemon;
	uint64_t count;
	struct frames stack; /* innermost first; owned. Empty: runs Java code, or unknown */
};

/*
 * Values that a thread keeps for collected ThreadLocals: the program cannot access them any more.
 */
#define JAVA_GONE_LOCALS_MAX 256
struct java_gone_local {
	const char *class;  /* of the values */
	const char *thread; /* as in java_thread_group; "" for virtual threads */
	bool is_virtual;
	uint64_t count;
};

struct java_thread_report {
	char version[24]; /* of the JVM; "": unknown */
	/* reason why threads are unknown; static; NULL: known */
	const char *why;
	uint64_t count, daemons;	      /* daemons: included in count */
	uint64_t ended;			      /* since the start, by the JVM's counters */
	bool has_ended;			      /* `ended` is known */
	VEC(struct java_thread_group) groups; /* most threads first */
	VEC(struct java_gone_local) gone;     /* most values first */
	uint64_t gone_count;		      /* of all values, listed or not */
	uint64_t gone_unlisted;		      /* unlisted values, included in gone_count */
	/* values in virtual threads, included in gone_count */
	uint64_t gone_virtual;
	struct intern strings;
};

void java_thread_report_free(struct java_thread_report *report);

/*
 * Reads the threads of a JVM; report->why says why they are unknown; and its virtual threads: all
 * zeros if it uses none. `worker` reads the files. 0 or -ENOMEM; the caller calls
 * java_thread_report_free() and task_report_free() in any case.
 */
int java_threads_read(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		      struct java_thread_report *report, struct task_report *virtual);

/* Reads the threads of a JVM whose memory is open; otherwise like java_threads_read(). */
int java_threads_of(struct target_memory *memory, struct java_thread_report *report,
		    struct task_report *virtual);

/* Memory of the heap and outside it, by the VM's own counters; in bytes. */

/* Class loaders of one class. */
struct java_loaders {
	char *name; /* of their class, or a JDK loader's as in paths; untrusted; owned */
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
	char version[24];      /* "17.0.15"; "": unknown */
	const char *why;       /* reason why nothing is known; static; NULL: known */
	const char *collector; /* "G1"; static */
	/* The heap: bytes of objects including garbage; committed; -Xmx. */
	uint64_t used, committed, maximum;
	uint64_t kept; /* `used` without Eden: survivors of collections */
	/* Numbers of collections by the VM's counter; and of collections or cycles that free old
	 * objects, too: without has_counts, any number that grows with each of these. */
	uint64_t collections, full_collections;
	bool has_counts;
	bool has_metaspace;
	uint64_t metaspace, metaspace_used; /* class space included */
	uint64_t class_space;		    /* of `metaspace` */
	uint64_t classes;		    /* arrays included */
	VEC(struct java_loaders) loaders;   /* most metaspace first */
	uint64_t code, code_limit;	    /* code cache, with its maps; 0: unknown */
	uint64_t threads, thread_stacks;    /* Java threads; address space, not resident bytes */
	struct java_buffers direct, mapped;
	uint64_t direct_limit; /* 0: unknown */
};

void java_memory_free(struct java_memory *java);

/*
 * Reads the uses of a JVM's memory, in the heap and outside; java->why says why they are unknown.
 * Reads no file; maps may be of any process with libjvm.so. 0 or -ENOMEM; the caller calls
 * java_memory_free() in any case.
 */
int java_memory_read(const struct maps *maps, struct java_memory *java);

/* Returns why the VM's objects are not read (static), or NULL if they are or that is unknown. */
const char *java_refusal(const struct maps *maps);

/* Reads a JVM whose memory is open, with its modules; otherwise like java_memory_read(). */
int java_memory_of(struct target_memory *memory, struct java_memory *java);

/* Returns the live bytes after the last collection; unknown if `java` is NULL. */
struct heap_floor java_floor_of(const struct java_memory *java);

extern const struct memory_reader java_memory_reader;
extern const struct thread_reader java_thread_reader;

#endif
