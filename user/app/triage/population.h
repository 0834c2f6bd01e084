/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All processes of the machine with their histories, updated by each poll. */
#ifndef LEAKMON_TRIAGE_POPULATION_H
#define LEAKMON_TRIAGE_POPULATION_H

#include "app/triage/growth.h"
#include "app/triage/process_reading.h"
#include "base/vec.h"

struct group;	     /* app/triage/groups.h */
struct triage_sites; /* report/triage_report.h */
struct triage_samples;
struct goroutine_watch;

struct member {
	struct process_reading reading;
	struct series series;
	struct group *group; /* borrowed, or NULL: its cgroup at the latest look */
	char *exe;	     /* target of /proc/PID/exe, untrusted; owned; NULL: unknown */
	double first_seen_s;
	double born_s;	    /* birth of its program if known: first_seen_s or earlier */
	double escalated_s; /* negative: never */
	double read_s;	    /* time of its latest reading */
	bool oom_told;	    /* its OOM kill has been reported */
	bool oom_counted;   /* it was counted as one of its group's kills */
	const struct triage_sites *sites;     /* findings of the escalation; borrowed */
	const struct triage_samples *sampled; /* borrowed from the sampling */
	struct managed_growth managed;
	struct goroutine_watch
		*goroutines;	 /* app/triage/goroutine_watch.h; owned; NULL: not read */
	struct held_growth held; /* only with a garbage collector */
};

struct population {
	VEC(struct member *) members; /* by ascending PID; owned */
	VEC(struct member *) ended; /* found gone by the latest poll; kept until the next; owned */
	size_t descriptors, max_descriptors;
	bool hidden;	/* /proc hides other users' processes (hidepid) */
	size_t waiting; /* processes seen but not yet examined */
};

/* Raises the limit of descriptors as far as allowed, and decides how many to keep. */
void population_init(struct population *population);
void population_free(struct population *population);

/*
 * Polls at `now_s`, seconds since the triage began: finds new and ended processes, and reads each
 * that has memory. Returns 0, -ENOMEM, or -errno of reading /proc itself.
 */
int population_poll(struct population *population, double now_s,
		    const struct reading_effort *effort);

/* Returns the member with that PID, or NULL. */
struct member *population_find(const struct population *population, pid_t pid);
/* Returns a process that the latest poll found gone, or NULL. */
struct member *population_find_ended(const struct population *population, pid_t pid);
/* Returns the same process, even if its PID was reused; NULL: it has ended. */
struct member *population_find_same(const struct population *population, pid_t pid,
				    uint64_t start_ticks);

/* Reads one quantity between two polls. Returns NAN if it cannot be read. */
double member_value_now(const struct member *member, enum quantity kind);

#endif
