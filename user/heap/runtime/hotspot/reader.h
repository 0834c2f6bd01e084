/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readings of a JVM from outside while it runs, without stopping it. */
#ifndef LEAKMON_RUNTIME_HOTSPOT_READER_H
#define LEAKMON_RUNTIME_HOTSPOT_READER_H

#include <sys/types.h>

#include "process/proc/maps.h"
#include "report/java_memory.h"
#include "report/java_threads.h"
#include "report/task_report.h"

struct dso_cache;
struct target_memory;
struct worker;

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

/*
 * Where its memory goes, in the heap and outside; java->why says why that is not known. No file is
 * read, and it may be any process with libjvm.so. 0 or -ENOMEM; java_memory_free() in any case.
 */
int java_memory_read(const struct maps *maps, struct java_memory *java);

/* Why its objects are not read; static; NULL: they are, or that is not known. */
const char *java_refusal(const struct maps *maps);

/* As java_memory_read(), of memory that is open, with its modules. */
int java_memory_of(struct target_memory *memory, struct java_memory *java);

#endif
