/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Control groups of a report: the kernel's charges to each, the processes in it, and its growth.
 * Read by heap/memory/cgroup_memory.h.
 */
#ifndef LEAKMON_REPORT_CGROUP_REPORT_H
#define LEAKMON_REPORT_CGROUP_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "process/proc/cgroup.h"
#include "process/proc/container.h"

/* In bytes, including groups below. */
struct cgroup_figures {
	uint64_t current, limit, swap; /* limit: CGROUP_NOT_KNOWN if none */
	uint64_t anon, file, shmem;    /* file: without shmem */
	uint64_t kernel;	       /* includes slab, sock, page tables and stacks */
	uint64_t slab, sock, page_tables, kernel_stack;
	uint64_t inactive_file, working_set;
	uint64_t oom_kills;
};

/* Share of the time in which some, or all, of its tasks waited for memory, in percent. */
struct cgroup_pressure {
	bool known;
	double some_10s, some_60s, full_10s, full_60s;
};

enum cgroup_verdict {
	CGROUP_STEADY,
	CGROUP_PROCESSES, /* anonymous memory of its processes */
	CGROUP_PAGE_CACHE,
	CGROUP_SHARED,
	CGROUP_KERNEL,
	CGROUP_MIXED,
	CGROUP_VERDICT_MAX_
};

/*
 * Causes of a group's growth: "slab", "sock", "page-cache", "tmpfs", ..., or "process": anonymous
 * memory of one of the processes read.
 */
struct cgroup_cause {
	const char *name; /* static */
	pid_t pid;	  /* of a process; else 0 */
	char comm[16];	  /* untrusted */
	int64_t bytes;	  /* positive */
};

#define CGROUP_CAUSES_MAX 10

struct cgroup_conclusion {
	enum cgroup_verdict verdict;
	int64_t total, anon, file, shmem, kernel;      /* growth */
	struct cgroup_cause causes[CGROUP_CAUSES_MAX]; /* the greatest first */
	size_t cause_count;
	char text[640];
};

/* A process whose memory is charged to a group. */
struct cgroup_member {
	pid_t pid;
	uint64_t start_ticks; /* identifies the process, with the PID */
	char comm[16];	      /* untrusted */
	uint64_t pss, anon;
};

struct cgroup_memory {
	char *path;		     /* untrusted; owned */
	struct container *container; /* of its processes; NULL: none, or not requested; owned */
	bool unified;		     /* v2 */
	int64_t time_ms;	     /* of the reading; since 1970 */
	bool known;		     /* its files were readable */
	struct cgroup_figures figures;
	struct cgroup_pressure pressure;
	VEC(struct cgroup_member) members;	/* among the processes read */
	uint64_t processes_pss, processes_anon; /* of the members */
	bool has_conclusion;
	struct cgroup_conclusion conclusion;
};

/* By path. */
struct cgroup_memories {
	VEC(struct cgroup_memory) list;
};

/* Returns e.g. "page-cache". Static. */
const char *cgroup_verdict_name(enum cgroup_verdict verdict);

/* Figures of the structs of these names. */
struct figures;
extern const struct figures cgroup_memory_figures, cgroup_conclusion_figures, cgroup_cause_figures;

void cgroup_memory_free(struct cgroup_memory *group);
void cgroup_memories_free(struct cgroup_memories *groups);

#endif
