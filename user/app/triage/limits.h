/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How near the memory of control groups, and of the machine, is to its limit, and when it will be
 * there: each limit above a process counts, whoever set it.
 *
 * What counts is what the kernel cannot simply drop: usage less active_file and inactive_file (for
 * the machine, MemTotal less MemAvailable, with swap). Swap of groups is left out: where they may
 * swap, they come near before they are killed.
 */
#ifndef LEAKMON_TRIAGE_LIMITS_H
#define LEAKMON_TRIAGE_LIMITS_H

#include "app/triage/groups.h"
#include "base/hash.h"
#include "base/vec.h"
#include "report/analyze/time_left.h"
#include "report/triage_report.h"

#define LIMIT_POINTS 64
/* A group that will be at the limit within so long is near to it. */
#define LIMIT_SOON_S 300.0
/* A shorter observation is no trend, however often it was polled. */
#define LIMIT_SPAN_S 30.0
/* And is reported once in so long, between the reports of the interval. */
#define LIMIT_TOLD_S 60.0

struct limit_watch {
	struct limit facts;
	int limit_fd, usage_fd, stat_fd, pressure_fd; /* -1: not there */
	struct trend_point points[LIMIT_POINTS];
	size_t count;
	double told_s; /* when it came near, as far as that is news; 0: never */
	bool near, seen;
};

struct limits {
	VEC(struct limit_watch *) list; /* owned */
	struct hash places;		/* of a path and a kind -> place in list */
	double near_share; /* from so much of a limit on it is near; 0: none is looked at */
	unsigned polls;
	size_t groups; /* there were, when it was looked for limits */
	bool news;     /* one has come near since this was cleared */
	bool told_out; /* that descriptors ran out */
};

void limits_free(struct limits *limits);

/* After groups_poll(). 0 or -ENOMEM. */
int limits_poll(struct limits *limits, const struct groups *groups, double now_s);

/* The process to read: of those below it, the one that grew most lately, or is
 * largest; NULL: there is none. */
struct member *limit_suspect(const struct limit *limit, const struct population *population);

/* Part of usage that can be dropped, by the text of memory.stat. Exposed for the tests. */
double limits_parse_cache(const char *text, bool unified);
/* Used bytes and what there is, by the text of /proc/meminfo; false: it does not say. */
bool limits_parse_machine(const char *text, double *used, double *bytes);

#endif
