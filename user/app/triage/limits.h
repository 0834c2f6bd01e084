/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * How near the memory of control groups, and of the machine, is to its limit, and when it will
 * reach it: each limit above a process counts, whoever set it.
 *
 * The figure is memory that the kernel cannot simply drop: usage less active_file and inactive_file
 * (for the machine, MemTotal less MemAvailable, with swap). Swap of groups is left out: a group
 * that may swap comes near its limit before it is killed.
 */
#ifndef LEAKMON_TRIAGE_LIMITS_H
#define LEAKMON_TRIAGE_LIMITS_H

#include "app/triage/groups.h"
#include "base/hash.h"
#include "base/vec.h"
#include "report/analyze/time_left.h"
#include "report/triage_report.h"

#define LIMIT_POINTS 64
/* A group expected at its limit within this time is near it. */
#define LIMIT_SOON_S 300.0
/* A shorter observation makes no trend, however many its polls. */
#define LIMIT_SPAN_S 30.0
/* A near limit is reported once in this time, between the reports of the interval. */
#define LIMIT_TOLD_S 60.0

struct limit_watch {
	struct limit facts;
	int limit_fd, usage_fd, stat_fd, pressure_fd; /* -1: absent */
	struct trend_point points[LIMIT_POINTS];
	size_t count;
	double told_s; /* when it came near, while that is news; 0: never */
	bool near, seen;
};

struct limits {
	VEC(struct limit_watch *) list; /* owned */
	struct hash places;		/* hash of path and kind -> index in list */
	double near_share; /* a limit is near from this share on; 0: limits are not watched */
	unsigned polls;
	size_t groups; /* number of groups at the latest search */
	bool news;     /* a limit has come near since this was cleared */
	bool told_out; /* the lack of descriptors was logged */
};

void limits_free(struct limits *limits);

/* Reads all limits, after groups_poll(). Returns 0 or -ENOMEM. */
int limits_poll(struct limits *limits, const struct groups *groups, double now_s);

/* Returns the process below the limit that grew most lately, or else the largest; NULL: none. */
struct member *limit_suspect(const struct limit *limit, const struct population *population);

/* Returns the droppable part of usage from the text of memory.stat. Exposed for the tests. */
double limits_parse_cache(const char *text, bool unified);
/* Parses used and total bytes from the text of /proc/meminfo; returns false if they are missing. */
bool limits_parse_machine(const char *text, double *used, double *bytes);

#endif
