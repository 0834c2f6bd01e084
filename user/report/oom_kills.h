/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Targets that the kernel killed for want of memory, and how many there were: plain data. */
#ifndef LEAKMON_REPORT_OOM_KILLS_H
#define LEAKMON_REPORT_OOM_KILLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct container;

/* A process that the kernel killed for want of memory. */
struct oom_kill {
	pid_t pid;
	char *cgroup; /* that its memory counted in; untrusted; owned; NULL: not known */
	/* The least of that and of all above it; UINT64_MAX: none, or not known. And the length of
	 * the path of the group that has it, a part of `cgroup`; 0: the root's. */
	uint64_t limit_bytes;
	size_t limit_length;
	struct container *container; /* owned; NULL: none, or not known yet */
};

/* The group with that limit; "/": the root's. NULL: not known, or out of memory. The caller frees
 * it. */
char *oom_kill_limit_group(const struct oom_kill *kill);

/* How many there were of a name, in a container, since the monitor began. */
struct oom_total {
	char comm[16];
	struct container *container; /* owned; or NULL */
	uint64_t kills;
};

/* A call stack of the last one, from the allocator's caller on. Texts are untrusted and owned;
 * NULL: not known. */
struct oom_site {
	uint64_t id;
	char *function, *module, *file;
	uint32_t line;
	uint64_t bytes, count;	   /* that it held */
	double growth_bytes_per_s; /* of a profile, which has that instead */
};

#define OOM_SITES 5

struct oom_last {
	char comm[16];
	struct container *container; /* owned; or NULL */
	bool profiled;
	VEC(struct oom_site)
	sites; /* OOM_SITES at most, those that held most first; none: there
		  was no kill, or nothing is known */
};

struct oom_kills {
	struct oom_last last;
	VEC(struct oom_kill) list; /* that this report is made for; nothing of them comes later */
	VEC(struct oom_total) totals;
};

#endif
