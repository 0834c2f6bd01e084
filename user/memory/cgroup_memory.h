/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What the kernel charges to a control group, beside what its processes have: page cache, shared
 * memory, kernel memory may be no process's at all.
 *
 * Sources: Documentation/admin-guide/cgroup-v2.rst, cgroup-v1/memory.rst, accounting/psi.rst; the
 * kubelet's working set: usage less inactive_file (cadvisor, container/libcontainer/handler.go).
 */
#ifndef LEAKMON_MEMORY_CGROUP_MEMORY_H
#define LEAKMON_MEMORY_CGROUP_MEMORY_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

/* Not in any file of the group. */
#define CGROUP_NOT_KNOWN UINT64_MAX

/* In bytes, those of groups below included. */
struct cgroup_figures {
	uint64_t current, limit, swap; /* limit: CGROUP_NOT_KNOWN if there is none */
	uint64_t anon, file, shmem;    /* file: without shmem */
	uint64_t kernel;	       /* slab, sock, page tables and stacks are parts of it */
	uint64_t slab, sock, page_tables, kernel_stack;
	uint64_t inactive_file, working_set;
	uint64_t oom_kills;
};

/* Share of the time in which some, or all, of its tasks waited for memory: percent. */
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

/* What a group grew by: "slab", "sock", "page-cache", "tmpfs", ..., or "process": anonymous memory
 * of one of those that were read. */
struct cgroup_cause {
	const char *name; /* static */
	pid_t pid;	  /* of a process; else 0 */
	char comm[16];	  /* untrusted */
	int64_t bytes;	  /* more than nothing */
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
	uint64_t start_ticks; /* with the PID, which process it is */
	char comm[16];	      /* untrusted */
	uint64_t pss, anon;
};

struct cgroup_memory {
	char *path;	 /* untrusted; owned */
	bool unified;	 /* v2 */
	int64_t time_ms; /* of the reading; since 1970 */
	bool known;	 /* its files could be read */
	struct cgroup_figures figures;
	struct cgroup_pressure pressure;
	VEC(struct cgroup_member) members;	/* among the processes that were read */
	uint64_t processes_pss, processes_anon; /* theirs */
	bool has_conclusion;
	struct cgroup_conclusion conclusion;
};

/* By path. */
struct cgroup_memories {
	VEC(struct cgroup_memory) list;
};

/* The group in whose memory a process counts; v1 says "/" of one that is ending. NULL: it cannot be
 * told, or out of memory. The caller frees it. */
char *cgroup_memory_path(pid_t pid, bool *unified);
/* The figures of the group at group->path, where hierarchies are usually mounted: group->known. */
void cgroup_memory_read(struct cgroup_memory *group);

/*
 * Where a process's memory counts, and what it may come to there. Zero-initialise: not known.
 */
struct cgroup_place {
	char *path; /* as of cgroup_memory_path(); untrusted; owned */
	bool unified;
	bool known; /* whether there is a limit */
	/* The least of the group's own and of all above it that leakmon sees; CGROUP_NOT_KNOWN:
	 * there is none. And how much of the path names the group whose it is; 0: the root. */
	uint64_t limit;
	size_t limit_length;
};

/* Reads where it is now; what can no longer be read, because it ends or its group is removed, stays
 * as it was. */
void cgroup_place_read(struct cgroup_place *place, pid_t pid);
/* The same of a group. */
void cgroup_place_set(struct cgroup_place *place, const char *path, bool unified);
void cgroup_place_free(struct cgroup_place *place);

const char *cgroup_verdict_name(enum cgroup_verdict verdict);

/* Counts a process in the group whose memory it is charged to. 0 or -ENOMEM. */
int cgroup_memories_add(struct cgroup_memories *groups, const struct cgroup_member *member);

/* When all are counted: groups inside other ones become part of them, and all are read where
 * hierarchies are usually mounted. 0 or -ENOMEM. */
int cgroup_memories_read(struct cgroup_memories *groups);

/* What grew in each group that `first` has, too; others are added to `first`. 0 or -ENOMEM. */
int cgroup_memories_conclude(struct cgroup_memories *first, struct cgroup_memories *now);
void cgroup_memories_free(struct cgroup_memories *groups);

/* Reads the files in a group's directory. 0; -ENOENT: there are none of a memory controller. */
int cgroup_memory_read_in(const char *directory, bool unified, struct cgroup_figures *figures,
			  struct cgroup_pressure *pressure);

void cgroup_conclude(const struct cgroup_memory *before, struct cgroup_memory *now);

#endif
