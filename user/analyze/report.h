/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A snapshot ranked and named: the struct that every output format gets. */
#ifndef LEAKMON_ANALYZE_REPORT_H
#define LEAKMON_ANALYZE_REPORT_H

#include "collect/snapshot.h"
#include "symbol/symbolizer.h"

/* Growth and integral need a history, age needs ages; without, they rank by bytes. */
enum sort_key { SORT_BYTES, SORT_COUNT, SORT_GROWTH, SORT_INTEGRAL, SORT_AGE, SORT_MAX_ };

struct history;
struct history_site;
struct memory_history;
struct retain_result;
struct suppression;

/* What the monitor itself has cost so far; all zero: not known. */
struct report_cost {
	double cpu_s;
	uint64_t rss_bytes;
};

struct report_site {
	const struct site *site;
	uint64_t id;		  /* symbolizer_stack_id */
	struct frames frames;	  /* owned; empty for a lost site */
	VEC(struct block) blocks; /* owned; with --show-allocs: of this site, oldest first */
	const struct history_site *series; /* of the report's history, or NULL */
	const struct suppression *rule;	   /* that accepts it (analyze/suppress.h), or NULL */
};

/* Dead threads of one creator, named. */
struct report_dead {
	const struct dead_group *group;
	uint64_t id;		    /* symbolizer_stack_id of the creating stack */
	struct frames stack, start; /* owned; `start` has one frame, or none: not known */
};

struct report_process {
	const struct snapshot_process *process;
	VEC(struct report_site) sites;	    /* family by family: ranked, at most `top` of each */
	VEC(struct report_site) suppressed; /* all that --suppress accepts, not in `sites` */
	size_t sites_total;		    /* before the cut */
	size_t family_totals[FAMILY_MAX_];
	VEC(struct report_dead) dead; /* all of process->threads.groups, in their order */
};

/* Of a fleet. Texts are untrusted, as long-lived as the recording; NULL: not known. */
struct report_host {
	const char *name, *boot_id, *kernel;
	uint64_t snapshots;
	uint64_t first_ns, last_ns; /* its own, since 1970 */
};

struct report {
	const struct snapshot *snapshot; /* borrowed, must outlive the report */
	const struct history *history;	 /* borrowed: what came before, with it; or NULL */
	/* For a difference: what came before, with it, and after; or NULL; borrowed. And how many
	 * snapshots there are for both ends together, see analyze/level.h. */
	const struct history *around;
	size_t around_span;
	const struct retain_result *retained; /* who holds what, by process; or NULL; borrowed */
	size_t retained_count;
	/* Where memory was (memory/memory_split.h), by a process' PID and key; NULL: that was not
	 * looked at; borrowed. */
	const struct memory_history *memory;
	const struct oom_kills *oom; /* NULL: it is not looked for; borrowed */
	const char *host;	     /* where it was taken, untrusted; NULL: not known; borrowed */
	const struct report_host *hosts; /* of a fleet; or NULL; borrowed */
	size_t host_count;
	const struct fleet *fleet; /* its builds (analyze/fleet.h); NULL: none; borrowed */
	struct report_cost cost;
	uint64_t lost_reports; /* of this run, or recording, that could not be written so far */
	uint64_t fail_over;    /* outstanding bytes that are allowed, see --fail-over */
	bool show_allocs;
	bool colour;
	VEC(struct report_process) processes; /* most outstanding bytes first */
};

/* A process that the kernel killed for want of memory. */
struct oom_kill {
	pid_t pid;
	char *cgroup; /* whose memory it counted in; untrusted; owned; NULL: not known */
	/* The least of that and of all above it; UINT64_MAX: none, or not known. And the length of
	 * the path of the group whose it is, a part of `cgroup`; 0: the root's. */
	uint64_t limit_bytes;
	size_t limit_length;
	struct container *container; /* owned; NULL: none, or not known yet */
};

/* Whose limit it is; "/": the root's. NULL: not known, or out of memory. The caller frees it. */
char *oom_kill_limit_group(const struct oom_kill *kill);

/* How many there were of a name, in a container, since the monitor began. */
struct oom_total {
	char comm[16];
	struct container *container; /* owned; or NULL */
	uint64_t kills;
};

/* A call stack of the last one, by who called the allocator. Texts are untrusted and owned; NULL:
 * not known. */
struct oom_site {
	uint64_t id;
	char *function, *module, *file;
	uint32_t line;
	uint64_t bytes, count;	   /* that it held */
	double growth_bytes_per_s; /* of a profile, which has that instead */
};

#define OOM_SITES 5

struct oom_last {
	char comm[16];
	struct container *container; /* owned; or NULL */
	bool profiled;
	VEC(struct oom_site)
	sites; /* OOM_SITES at most, those that held most first; none: there
		  was no kill, or nothing is known */
};

struct oom_kills {
	struct oom_last last;
	VEC(struct oom_kill) list; /* that this report is made for; nothing of them comes later */
	VEC(struct oom_total) totals;
};

struct report_options {
	size_t top; /* sites per process and family; 0: all */
	enum sort_key sort;
	bool show_allocs;
	const struct history *history; /* that holds the snapshot already; or NULL */
};

/* Ranks and cuts; frames are still empty. 0 or -ENOMEM (then *report is untouched). */
int report_build(struct report *report, const struct snapshot *snapshot,
		 const struct report_options *options);
void report_free(struct report *report);

/* Keeps the first `top` sites of each family; 0: all. */
void report_cut(struct report *report, size_t top);

/* "bytes" -> SORT_BYTES; -EINVAL for anything unknown. */
int sort_key_parse(const char *text, enum sort_key *key);
const char *sort_key_name(enum sort_key key);

#endif
