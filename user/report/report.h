/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot ranked and named: the struct for every output format. */
#ifndef LEAKMON_REPORT_REPORT_H
#define LEAKMON_REPORT_REPORT_H

#include "report/pushed.h"
#include "base/text.h"
#include "report/oom_kills.h"
#include "report/snapshot.h"
#include "process/symbol/symbolizer.h"

struct history;
struct history_site;
struct memory_history;
struct retain_result;

/* A rule of --suppress: report/analyze/suppress.h. */
struct suppression {
	char *pattern;	 /* owned */
	unsigned line;	 /* in its file */
	uint64_t sites;	 /* of the latest report it was applied to */
	uint64_t bytes;	 /* of these, outstanding */
	uint64_t blocks; /* of these, outstanding */
	bool used;	 /* by any report */
};

/* Cost of the monitor itself so far; all zero: not known. */
struct report_cost {
	double cpu_s;
	uint64_t rss_bytes;
};

/* A process on whose behalf the kernel allocated outstanding blocks of one call stack. */
struct site_owner {
	uint32_t pid;  /* 0: none, an interrupt of an idle CPU */
	char comm[16]; /* untrusted */
	char *cgroup;  /* untrusted; owned; NULL: it has ended */
	uint64_t bytes, count;
};

struct report_site {
	const struct site *site;
	uint64_t id;		  /* symbolizer_stack_id */
	struct frames frames;	  /* owned; empty for a lost site */
	VEC(struct block) blocks; /* owned; with --show-allocs: of this site, oldest first */
	VEC(struct site_owner)
	owners;		     /* owned; of FAMILY_KERNEL, some of them, the largest first */
	size_t owners_total; /* their total number */
	const struct history_site *series; /* of the report's history, or NULL */
	const struct suppression *rule;	   /* a matching one (report/analyze/suppress.h), or NULL */
};

/* Dead threads of one creator, named. */
struct report_dead {
	const struct dead_group *group;
	uint64_t id;		    /* symbolizer_stack_id of the creating stack */
	struct frames stack, start; /* owned; `start` has one frame, or none: unknown */
};

struct report_process {
	const struct snapshot_process *process;
	VEC(struct report_site) sites;	    /* family by family: ranked, at most `top` of each */
	VEC(struct report_site) suppressed; /* all sites accepted by --suppress, not in `sites` */
	size_t sites_total;		    /* before the cut */
	size_t family_totals[FAMILY_MAX_];
	VEC(struct report_dead) dead; /* all of process->threads.groups, in their order */
};

/* One host of a fleet. Texts are untrusted, and live as long as the recording; NULL: unknown. */
struct report_host {
	const char *name, *boot_id, *kernel;
	uint64_t snapshots;
	uint64_t first_ns, last_ns; /* its own, since 1970 */
};

struct stored_diagnoses;

struct report {
	const struct snapshot *snapshot; /* borrowed, must outlive the report */
	const struct history *history;	 /* borrowed: up to and including the snapshot; or NULL */
	/*
	 * For a difference: earlier snapshots, this one, and later ones; or NULL; borrowed. And the
	 * number of snapshots for both ends together, see report/analyze/site_trend.h.
	 */
	const struct history *around;
	size_t around_span;
	const struct retain_result *retained; /* retention, by process; or NULL; borrowed */
	size_t retained_count;
	/*
	 * The composition of memory (report/memory_split.h), by a process's PID and key; NULL: not
	 * examined; borrowed.
	 */
	const struct memory_history *memory;
	const struct stored_diagnoses *diagnoses; /* of a recording; or NULL; borrowed */
	const struct oom_kills *oom;		  /* NULL: not tracked; borrowed */
	const char *host; /* of the measurement; untrusted; NULL: unknown; borrowed */
	const struct report_host *hosts; /* of a fleet; or NULL; borrowed */
	size_t host_count;
	const struct fleet *fleet; /* its builds (report/fleet.h); NULL: none; borrowed */
	struct report_cost cost;
	uint64_t lost_reports; /* of this run, or recording, not written so far */
	struct pushed pushed;
	uint64_t fail_over; /* allowed outstanding bytes, see --fail-over */
	bool show_allocs;
	struct text_form form;
	VEC(struct report_process) processes; /* most outstanding bytes first */
};

void report_free(struct report *report);

/* Keeps the first `top` sites of each family; 0: all. */
void report_cut(struct report *report, size_t top);

/* Sites taken out of a process's part of a report. */
struct suppressed_total {
	uint64_t bytes, blocks;
};
struct suppressed_total report_suppressed(const struct report_process *process);

/* Returns the outstanding heap bytes that suppressions removed from a report. */
uint64_t report_suppressed_heap_bytes(const struct report *report);

#endif
