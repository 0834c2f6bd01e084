/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A fleet by what runs on it: which build of which program grows, on how many of the hosts that run
 * it, and at which call stacks. A call stack has one number on all hosts (symbolizer_stack_id), and
 * a build is known by the build-id of its program's file.
 */
#ifndef LEAKMON_REPORT_FLEET_H
#define LEAKMON_REPORT_FLEET_H

#include "report/report.h"

/* Call stacks of a build that outputs show; those that grow on most hosts. */
#define FLEET_SITES_SHOWN 10

/* One call stack of one build, over all processes. */
struct fleet_site {
	const struct report_site
		*site; /* of the process that holds most; for its frames; borrowed */
	uint64_t bytes, count;
	size_t hosts;		 /* that have it now */
	size_t growing_hosts;	 /* where it grows, for sure or perhaps, in any process */
	double bytes_per_s;	 /* of those together */
	double leak_bytes_per_s; /* of those that grow for sure: TREND_LEAKING */
	/* It grows, and no build of the program that was seen earlier has a call stack of these
	 * functions; false also where there is no earlier build, or one has call stacks without
	 * names. */
	bool is_new;
	size_t last_host, last_growing; /* while it is built: places of hosts, + 1 */
	uint64_t names;			/* likewise: of its functions; 0: one has no name */
};

struct fleet_build {
	const char *comm;     /* untrusted; of its first process; borrowed */
	const char *exe;      /* its path, or NULL */
	const char *build_id; /* hex, or NULL: not known */
	size_t hosts, growing_hosts, processes;
	uint64_t bytes, count;
	double bytes_per_s;	 /* of sites that grow */
	double leak_bytes_per_s; /* of those that grow for sure */
	uint64_t since_ns;	 /* 1970; when its first process was first seen to hold anything */
	VEC(struct fleet_site) sites; /* most hosts where it grows first, then most bytes */
	size_t last_host, last_growing;
};

struct fleet {
	VEC(struct fleet_build) builds; /* likewise */
};

void fleet_free(struct fleet *fleet);

#endif
