/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Concludes one answer from the evidence about a process. Pure functions: the readings are in
 * app/runs/diagnose_run.c, the rules in words in user/doc/diagnose.md.
 */
#ifndef LEAKMON_DIAGNOSE_CONCLUDE_H
#define LEAKMON_DIAGNOSE_CONCLUDE_H

#include "app/diagnose/count_series.h"
#include "app/diagnose/heap_growth.h"
#include "app/diagnose/kernel_memory.h"
#include "app/diagnose/mappings.h"
#include "heap/memory/tmpfs_files.h"
#include "report/diagnosis.h"

/*
 * Scans of a managed heap: at the beginning, in the middle and at the end; and two between these
 * last if objects seem to grow.
 */
#define DIAGNOSE_SCANS 5

/* All pointers are borrowed. Missing evidence is NULL or marked unknown. */
struct diagnosis_evidence {
	pid_t pid;
	const char *comm;
	const struct container *container; /* its container, or NULL */
	double seconds;
	bool ended;
	const struct memory_process *first, *last;
	const struct memory_conclusion *conclusion; /* between these two */
	struct diagnosed_count threads, descriptors;
	struct count_series thread_series, descriptor_series; /* the readings of these */
	const struct report *opened;   /* from --descriptors with ages, for this process only */
	struct mapped_evidence mapped; /* since anonymous memory began to grow */
	struct kernel_evidence kernel;
	/* the largest group of threads created since their number rose */
	const struct live_group *created;
	/* the largest group of threads that ended unjoined */
	const struct thread_group *ended_threads;
	const struct task_report *goroutines;		   /* the last reading of a Go program */
	const struct heap_profile *heap_profile;	   /* latest reading, with growth */
	const struct profile_report_process *profile;	   /* its sites ranked */
	const struct retain_result *scans[DIAGNOSE_SCANS]; /* in order of time */
	size_t scan_count;
	/* Growth between the first scan and the last, by call stack: of all blocks of malloc, and
	 * of the unreachable ones. */
	const struct heap_growth *growth, *lost_growth;
	/* Anonymous memory in bytes, at equal intervals from the beginning to the end. */
	const double *readings;
	size_t reading_count;
	const struct tmpfs_files *first_files, *last_files;
	uint64_t limit_bytes, limit_used_bytes; /* of its control group; 0: none */
};

/* Returns the call stack with the greatest certain growth; NULL: none grows. */
const struct profile_report_site *diagnose_site(const struct profile_report_process *profile);

/* Concludes; *diagnosis borrows from the evidence. */
void diagnose_conclude(const struct diagnosis_evidence *evidence, struct diagnosis *diagnosis);

#endif
