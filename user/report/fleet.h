/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fleet by its programs: which build of which program grows, on how many of the hosts that run
 * it, and at which call stacks. A call stack has one number on all hosts (symbolizer_stack_id), and
 * a build is identified by the build-id of its program's file.
 */
#ifndef LEAKMON_REPORT_FLEET_H
#define LEAKMON_REPORT_FLEET_H

#include "report/report.h"

/* Call stacks of a build that outputs show: those that grow on most hosts. */
#define FLEET_SITES_SHOWN 10

/* One call stack of one build, over all processes. */
struct fleet_site {
	/* of the process that holds most of it; for its frames; borrowed */
	const struct report_site *site;
	uint64_t bytes, count;
	size_t hosts;		 /* where the site exists now */
	size_t growing_hosts;	 /* where it grows in any process, certainly or possibly */
	double bytes_per_s;	 /* sum over those */
	double leak_bytes_per_s; /* sum over certain growth: TREND_LEAKING */
	/*
	 * It grows, and no earlier build of the program has a call stack with these functions;
	 * false also if there is no earlier build, or one has call stacks without names.
	 */
	bool is_new;
	size_t last_host, last_growing; /* during the build: indices of hosts, + 1 */
	/* during the build: hash of its functions; 0: one has no name */
	uint64_t names;
};

struct fleet_build {
	const char *comm;     /* untrusted; of its first process; borrowed */
	const char *exe;      /* its path, or NULL */
	const char *build_id; /* hex, or NULL: unknown */
	size_t hosts, growing_hosts, processes;
	uint64_t bytes, count;
	double bytes_per_s;	 /* of growing sites */
	double leak_bytes_per_s; /* of certainly growing sites */
	/* since 1970; when its first process was first seen to hold anything */
	uint64_t since_ns;
	VEC(struct fleet_site) sites; /* by number of hosts where it grows, then by bytes */
	size_t last_host, last_growing;
};

struct fleet {
	VEC(struct fleet_build) builds; /* by number of hosts where it grows, then by bytes */
};

void fleet_free(struct fleet *fleet);

#endif
