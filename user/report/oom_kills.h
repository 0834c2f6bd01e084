/* SPDX-License-Identifier: GPL-2.0-or-later */
/* OOM-killed targets, and their numbers: plain data. */
#ifndef LEAKMON_REPORT_OOM_KILLS_H
#define LEAKMON_REPORT_OOM_KILLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct container;

/* An OOM-killed process. */
struct oom_kill {
	pid_t pid;
	char *cgroup; /* charged with its memory; untrusted; owned; NULL: unknown */
	/*
	 * The lowest limit of that group and all above it; UINT64_MAX: none, or unknown. And the
	 * length of the path of the group with that limit, a part of `cgroup`; 0: the root's.
	 */
	uint64_t limit_bytes;
	size_t limit_length;
	struct container *container; /* owned; NULL: none, or not known yet */
};

/*
 * Returns the group with that limit; "/": the root's. NULL: unknown, or out of memory. The caller
 * frees it.
 */
char *oom_kill_limit_group(const struct oom_kill *kill);

/* The number of kills of a name, in a container, since the monitor began. */
struct oom_total {
	char comm[16];
	struct container *container; /* owned; or NULL */
	uint64_t kills;
};

/*
 * A call stack of the last one, from the allocator's caller on. Texts are untrusted and owned;
 * NULL: unknown.
 */
struct oom_site {
	uint64_t id;
	char *function, *module, *file;
	uint32_t line;
	uint64_t bytes, count;	   /* held by the site */
	double growth_bytes_per_s; /* from a profile, in place of bytes and count */
};

#define OOM_SITES 5

struct oom_last {
	char comm[16];
	struct container *container; /* owned; or NULL */
	bool profiled;
	VEC(struct oom_site)
	/* at most OOM_SITES, the largest first; none: there was no kill, or nothing is known */
	sites;
};

struct oom_kills {
	struct oom_last last;
	VEC(struct oom_kill) list; /* for which this report is made; no later report shows them */
	VEC(struct oom_total) totals;
};

#endif
