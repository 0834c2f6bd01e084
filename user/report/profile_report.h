/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile as output formats get it: processes and their sites, ranked and named. */
#ifndef LEAKMON_REPORT_PROFILE_REPORT_H
#define LEAKMON_REPORT_PROFILE_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "report/pushed.h"
#include "base/text.h"
#include "base/vec.h"
#include "leakmon_abi.h"
#include "report/figures.h"
#include "process/symbol/symbolizer.h"

struct oom_kills;
struct profile_target;

/* An estimate with its limits, 95 %. */
struct interval {
	double estimate, low, high;
};

/* The ages at which blocks are looked at: 0 (the window's end), 1, 2, 4 ... 64 s, then a quarter
 * more each time, up to a day. */
#define PROFILE_AGES 41
#define PROFILE_AGE_SETTLED 7

enum profile_verdict {
	PROFILE_TOO_EARLY,
	PROFILE_CHURNING, /* its blocks die */
	PROFILE_RETAINED, /* they live, but are written to, die slowly, or no more come */
	PROFILE_LEAKING,  /* they come, live, and nothing ever touches them */
	PROFILE_VERDICT_MAX_,
};
const char *profile_verdict_name(enum profile_verdict verdict);

struct survival_point {
	double age_s;
	struct interval untouched, undead;
	double samples; /* that were alive at the age before */
};

struct site_judgement {
	enum profile_verdict verdict;
	double ready_s; /* until it is not too early; negative: not known; else 0 */
	const char *why;
	struct interval births_per_s;
	double birth_bytes_per_s;
	struct interval growth_blocks_per_s; /* untouched; `low` of those that are telling */
	struct interval growth_bytes_per_s;
	double most_bytes_per_s; /* upper limit if what is not known to be dead is alive */
	size_t age;		 /* up to which blocks were followed */
	struct survival_point survival[PROFILE_AGES];
	size_t points;
};

struct process_judgement {
	size_t windows;
	double tracked_s;
	struct interval net_blocks_per_s; /* allocations - frees, in the latest third */
};

/* Addresses of followed blocks that nothing has touched so far, the oldest first. */
#define PROFILE_EXAMPLES 8

struct profile_report_site {
	uint32_t index;	      /* of bpf_side.sites */
	uint64_t id;	      /* symbolizer_stack_id */
	struct frames frames; /* owned */
	enum lm_walk_end end;
	struct site_judgement judgement;
	uint64_t
		examples[PROFILE_EXAMPLES]; /* not shown and not recorded: for a scan of the heap */
	size_t example_count;
};

struct profile_report_process {
	uint32_t pid;
	char comm[16];
	char *exe; /* untrusted; owned; or NULL */
	bool exited;
	bool oom_killed; /* so, and by the kernel, for want of memory */
	struct process_judgement judgement;
	double memory_bytes;	    /* anonymous, resident and swapped out; negative: not known */
	double memory_growth_per_s; /* of it, in the latest third of the run */
	bool has_memory_growth;
	double explained; /* of that growth, the share that the sites account for; negative: nothing
			     is to be explained */
	double spent;	  /* of its CPU time, or of the floor's, what windows have cost it */
	double floor;	  /* share of a core that it counts as using, since it uses less; 0: none */
	double core;	  /* share of a core that all of this has cost it; not recorded */
	/* Every event is tracked since `exact_s` seconds, `events_per_s` of them; 0: it is profiled
	 * in windows. Then what exact tracking met when it was tried: why it ended (static; NULL:
	 * it was not tried). Not recorded. */
	double exact_s, events_per_s, hits_per_s;
	const char *exact_why;
	const struct profile_target *target; /* for profile_blocks_read(); NULL: of a recording */
	size_t samples;
	uint64_t dropped;    /* allocations that windows could not count */
	uint64_t unfollowed; /* those of call stacks that there was no room for */
	/* Windows that could not be opened, or read in time, and the errno of the latest; not kept
	 * in recordings. */
	uint64_t missed;
	int missed_why;
	VEC(struct profile_report_site) sites; /* those that surely grow most first */
	size_t sites_total;
	/* Why the triage chose it; a confidence of 0: it did not. */
	double chosen_per_s, chosen_confidence;
	bool chosen_near; /* for a memory limit that is near */
};

struct stored_diagnoses;

struct profile_report {
	struct timespec time; /* CLOCK_REALTIME */
	uint64_t sequence;
	double limit, spent; /* shares of the CPU time that the targets used */
	bool measured;	     /* what a trap costs; false: it is a guess */
	double trap_ns;
	size_t windows, samples;
	double tracked_s;
	double cpu_s;	/* of leakmon itself so far */
	bool held_back; /* by its own limit: windows wait until it is below that again */
	uint64_t rss_bytes;
	bool probes_set; /* now, or they are just being taken out */
	bool choosing;	 /* there is no target: the triage chooses among so many processes */
	size_t watched;
	struct text_form form;
	uint64_t lost_reports; /* of this run that could not be written so far */
	struct pushed pushed;
	const struct stored_diagnoses *diagnoses; /* of a recording; or NULL; borrowed */
	const struct oom_kills *oom; /* report/report.h; NULL: it is not looked for; borrowed */
	VEC(struct profile_report_process) processes; /* that grow most first */
};

/* Ranks sites and processes, and cuts the list of sites; 0: all. */
void profile_report_rank(struct profile_report *report, size_t top);
/* Only the first sites of each process; 0: all. */
void profile_report_cut(struct profile_report *report, size_t top);
void profile_report_free(struct profile_report *report);

/* For the latest window that came to nothing; NULL: none has. Static, or strerror()'s. */
const char *profile_missed_why(const struct profile_report_process *process);

/* Figures of the structs above, in the order of JSON. */
extern const struct figures profile_report_figures, profile_process_figures, survival_figures;
/* For a site, before and behind its survival. */
extern const struct figures profile_site_figures, profile_site_verdict_figures;

/* A rate per hour, for formats with whole numbers. */
static inline uint64_t profile_hourly(double per_s)
{
	return per_s > 0 ? (uint64_t)(per_s * 3600 + 0.5) : 0;
}

#endif
