/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What triage hands to the output: who grows, in order of rank. Plain data, all borrowed. */
#ifndef LEAKMON_TRIAGE_TRIAGE_REPORT_H
#define LEAKMON_TRIAGE_TRIAGE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "analyze/report.h"
#include "base/vec.h"
#include "proc/container.h"
#include "triage/growth.h"
#include "triage/quantity.h"

#define TRIAGE_SPARK_POINTS 16

/* What tracking for a while found out about one process. */
struct triage_sites {
	enum quantity kind;  /* what was tracked: heap or mapping */
	double window_s;     /* how long it lasted */
	double counted_s;    /* of it, what blocks must have been allocated in to count */
	double growth_per_s; /* of that in this time: bytes, mappings; what the shares are of */
	const struct report *report; /* of all processes of the window; owned by the escalation */
	const struct report_process *process; /* in it: sites by what survived; NULL: none */
	const char *refusal;		      /* why it was not tracked, or NULL */
};

struct triage_entry {
	pid_t pid;			   /* 0: a container or cgroup */
	const char *comm;		   /* untrusted; "" for a cgroup */
	const char *exe;		   /* untrusted; NULL: not known */
	const struct container *container; /* NULL: none */
	const char *cgroup;		   /* untrusted; NULL: the root, or not known */
	size_t processes;		   /* in it; 1 for a process */
	double age_s;			   /* since triage saw it first */
	struct quantities now;		   /* NAN: not known */
	struct growth growth;
	/* The kind's course over the window that decided, oldest first. */
	float spark[TRIAGE_SPARK_POINTS];
	size_t spark_count;
	const struct triage_sites *sites; /* NULL: not escalated */
};

struct triage_entries {
	struct triage_entry *items;  /* most urgent first; owned */
	size_t count;		     /* after the cut by --top */
	size_t total;		     /* before it */
	size_t verdicts[TREND_MAX_]; /* of all */
};

struct triage_report {
	uint64_t sequence;
	struct timespec time; /* CLOCK_REALTIME */
	double running_s, poll_interval_s;
	struct triage_entries processes, groups;
	bool hidden; /* hidepid */
	bool colour;
	/* What it costs, as shares of one core. */
	double budget_limit, budget_used;
	bool shed_mappings, shed_files;
	unsigned stretch;	 /* 1: polls as often as asked for */
	uint64_t resident_bytes; /* of leakmon */
	double cpu_s;		 /* of leakmon and its children so far */
};

void triage_report_free(struct triage_report *report);

#endif
