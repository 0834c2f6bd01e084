/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A profile for output formats: processes and their sites, ranked and named. */
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

/* An estimate with its 95 % limits. */
struct interval {
	double estimate, low, high;
};

/*
 * The ages at which blocks are checked: 0 (the window's end), 1, 2, 4 ... 64 s, then a quarter more
 * each time, up to a day.
 */
#define PROFILE_AGES 41
#define PROFILE_AGE_SETTLED 7

enum profile_verdict {
	PROFILE_TOO_EARLY,
	PROFILE_CHURNING, /* its blocks die */
	PROFILE_RETAINED, /* they survive, but are written to, die slowly, or no more come */
	PROFILE_LEAKING,  /* they keep coming, survive, and are never touched */
	PROFILE_VERDICT_MAX_,
};
const char *profile_verdict_name(enum profile_verdict verdict);

struct survival_point {
	double age_s;
	struct interval untouched, undead;
	double samples; /* alive at the previous age */
};

struct site_judgement {
	enum profile_verdict verdict;
	double ready_s; /* until a verdict is possible; negative: unknown; else 0 */
	const char *why;
	struct interval births_per_s;
	double birth_bytes_per_s;
	struct interval growth_blocks_per_s; /* untouched; `low` of the conclusive ones */
	struct interval growth_bytes_per_s;
	double most_bytes_per_s; /* upper limit, counting all blocks not known to be dead */
	size_t age;		 /* up to which blocks were followed */
	struct survival_point survival[PROFILE_AGES];
	size_t points;
};

struct process_judgement {
	size_t windows;
	double tracked_s;
	struct interval net_blocks_per_s; /* allocations - frees, in the latest third */
};

/* Addresses of followed blocks that are untouched so far, the oldest first. */
#define PROFILE_EXAMPLES 8

struct profile_report_site {
	uint32_t index;	      /* of bpf_side.sites */
	uint64_t id;	      /* symbolizer_stack_id */
	struct frames frames; /* owned */
	enum lm_walk_end end;
	struct site_judgement judgement;
	/* not shown and not recorded: for a scan of the heap */
	uint64_t examples[PROFILE_EXAMPLES];
	size_t example_count;
};

struct profile_report_process {
	uint32_t pid;
	char comm[16];
	char *exe; /* untrusted; owned; or NULL */
	bool exited;
	bool oom_killed; /* exited because it was OOM-killed */
	struct process_judgement judgement;
	double memory_bytes;	    /* anonymous, resident and swapped out; negative: unknown */
	double memory_growth_per_s; /* in the latest third of the run */
	bool has_memory_growth;
	/* share of that growth that the sites explain; negative: nothing to explain */
	double explained;
	double spent; /* share of its CPU time, or of the floor, that windows have cost it */
	double floor; /* minimum share of a core counted as its use, if it uses less; 0: none */
	double core;  /* share of a core that everything has cost it; not recorded */
	/*
	 * Every event has been tracked for `exact_s` seconds, `events_per_s` of them; 0: it is
	 * profiled in windows. Then the result of an attempt at exact tracking: why it ended
	 * (static; NULL: not tried). Not recorded.
	 */
	double exact_s, events_per_s, hits_per_s;
	const char *exact_why;
	const struct profile_target *target; /* for profile_blocks_read(); NULL: from a recording */
	size_t samples;
	uint64_t dropped;    /* allocations that windows could not count */
	uint64_t unfollowed; /* of call stacks without room */
	/*
	 * Windows that could not be opened, or read in time, and the errno of the latest; not
	 * recorded.
	 */
	uint64_t missed;
	int missed_why;
	VEC(struct profile_report_site) sites; /* most certain growth first */
	size_t sites_total;
	/* Why the triage chose it; a confidence of 0: it did not. */
	double chosen_per_s, chosen_confidence;
	bool chosen_near; /* because a memory limit is near */
};

struct stored_diagnoses;

struct profile_report {
	struct timespec time; /* CLOCK_REALTIME */
	uint64_t sequence;
	double limit, spent; /* shares of the CPU time that the targets used */
	bool measured;	     /* the cost of a trap; false: an estimate */
	double trap_ns;
	size_t windows, samples;
	double tracked_s;
	double cpu_s;	/* of leakmon itself so far */
	bool held_back; /* by its own limit: windows wait until it is below */
	uint64_t rss_bytes;
	bool probes_set; /* now, or just being removed */
	bool choosing;	 /* no target: the triage chooses among `watched` processes */
	size_t watched;
	struct text_form form;
	uint64_t lost_reports; /* of this run, not written so far */
	struct pushed pushed;
	const struct stored_diagnoses *diagnoses; /* of a recording; or NULL; borrowed */
	const struct oom_kills *oom;		  /* report/report.h; NULL: not tracked; borrowed */
	VEC(struct profile_report_process) processes; /* most growth first */
};

/* Ranks sites and processes, and cuts the list of sites to `top`; 0: all. */
void profile_report_rank(struct profile_report *report, size_t top);
/* Keeps only the first `top` sites of each process; 0: all. */
void profile_report_cut(struct profile_report *report, size_t top);
void profile_report_free(struct profile_report *report);

/* Returns why the latest window failed; NULL: none did. Static, or strerror()'s. */
const char *profile_missed_why(const struct profile_report_process *process);

/* Figures of the structs above, in the order of JSON. */
extern const struct figures profile_report_figures, profile_process_figures, survival_figures;
/* Of a site, before and after its survival. */
extern const struct figures profile_site_figures, profile_site_verdict_figures;

/* Returns a rate per hour, for formats with whole numbers. */
static inline uint64_t profile_hourly(double per_s)
{
	return per_s > 0 ? (uint64_t)(per_s * 3600 + 0.5) : 0;
}

#endif
