/* SPDX-License-Identifier: GPL-2.0-or-later */
/* All processes of the machine with their pasts, kept up to date poll by poll. */
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
	struct group *group; /* borrowed, or NULL: the cgroup it was in when last looked at */
	char *exe;	     /* as /proc/PID/exe says, untrusted; owned; NULL: not known */
	double first_seen_s;
	double born_s;	    /* when its program began, as far as known: first_seen_s or before */
	double escalated_s; /* negative: never */
	double read_s;	    /* its latest reading */
	bool oom_told;	    /* that the kernel kills it for want of memory: said */
	bool oom_counted;   /* it is taken for one of the kills that its group counts */
	const struct triage_sites *sites;     /* what that found; borrowed from the escalation */
	const struct triage_samples *sampled; /* borrowed from the sampling */
	struct managed_growth managed;
	struct goroutine_watch
		*goroutines;	 /* app/triage/goroutine_watch.h; owned; NULL: not read */
	struct held_growth held; /* only with a garbage collector */
};

struct population {
	VEC(struct member *) members; /* by ascending PID; owned */
	VEC(struct member *) ended;   /* found gone at the latest poll; until the next one; owned */
	size_t descriptors, max_descriptors;
	bool hidden;	/* /proc hides processes of others (hidepid) */
	size_t waiting; /* processes that are known to be there, and were not looked at yet */
};

/* Learns how many descriptors may be kept, and asks for as many as are allowed. */
void population_init(struct population *population);
void population_free(struct population *population);

/*
 * One poll at `now_s`, seconds since the triage began: new and ended processes, and a reading of
 * each that has memory. 0, -ENOMEM, or -errno of reading /proc itself.
 */
int population_poll(struct population *population, double now_s,
		    const struct reading_effort *effort);

/* NULL: there is none. */
struct member *population_find(const struct population *population, pid_t pid);
/* Among those that the latest poll found gone, or NULL. */
struct member *population_find_ended(const struct population *population, pid_t pid);
/* The same process, whoever has its PID now; NULL: it has ended. */
struct member *population_find_same(const struct population *population, pid_t pid,
				    uint64_t start_ticks);

/* Reads one quantity between two polls. NAN: cannot be read. */
double member_value_now(const struct member *member, enum quantity kind);

#endif
