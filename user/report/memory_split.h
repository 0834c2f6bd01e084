/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reading of a process: plain numbers that can be kept, recorded, and compared with later ones;
 * and a series of them.
 */
#ifndef LEAKMON_REPORT_MEMORY_SPLIT_H
#define LEAKMON_REPORT_MEMORY_SPLIT_H

#include "base/hash.h"
#include "report/heap_floor.h"
#include "report/memory_report.h"
#include "report/report.h"

struct memory_amount {
	uint64_t resident, swapped;
};

struct memory_split {
	struct timespec time; /* of the reading; since 1970 */
	pid_t pid;
	uint64_t rss, pss, swap;
	struct memory_amount parts[MEMORY_PART_MAX_];
	/* What the process alone has: see memory_own(). Not recorded, nor are the three below. */
	uint64_t own;
	struct memory_forked forked;
	struct memory_fillable fillable[MEMORY_FILLABLE_MAX];
	size_t fillable_count;
	/* The allocator that keeps most of what is free inside malloc: "jemalloc 5.3"; "": not
	 * known. */
	char allocator[48];
	bool is_libc;			    /* the C library's own malloc */
	uint64_t trimmable, libc_trimmable; /* see memory_trimmable(); of that malloc alone */
	uint64_t arenas,
		arenas_free; /* of that malloc; free and resident in all but the main one */
	uint64_t live_stacks, ended_stacks; /* ended, never joined or kept for reuse */
	uint64_t huge_bytes, huge_zero; /* of huge pages; what was read of them stands for all */
	/* The key of its runtime, see report/runtime_label.h; NULL: none that is known. Static, or
	 * as a recording has it: untrusted, borrowed. */
	const char *runtime;
	const char *tool; /* for its objects, as it is running; NULL: what the runtime's row has */
	/* What its runtime counts. Not recorded. */
	struct heap_floor floor;
	struct heap_words words;
	struct heap_goal goal;
	const char *why; /* not all is known of the allocator; borrowed; NULL: it is */
};

/* All of a split but its parts: in recordings, and some in JSON. */
struct figures;
extern const struct figures memory_split_figures;

struct memory_split memory_split_of(const struct memory_process *process);

/* Resident bytes; for page tables, theirs; 0 of pages that became private. */
uint64_t memory_split_group(const struct memory_split *split, enum memory_group group);
/* Resident bytes that are free inside malloc. */
uint64_t memory_split_free(const struct memory_split *split);

/* For one process, by time; at least one. */
struct memory_series {
	/* With the PID, which process: its start in ticks; of a recording, its key, which it has
	 * from its first allocation on. Until then 0. */
	uint64_t key;
	pid_t pid;
	char comm[16]; /* untrusted */
	VEC(struct memory_split) splits;
	bool has_conclusion; /* from the first to the latest */
	struct memory_conclusion conclusion;
};

const struct memory_split *memory_series_latest(const struct memory_series *series);

struct memory_history {
	size_t max; /* splits of a process; 0: only its first */
	VEC(struct memory_series) list;
	struct hash positions; /* of a PID and a key in `list`; private */
};

/*
 * When a process has `max`, every second one is forgotten, never the first. 0 or -ENOMEM. A series
 * is good until the next call.
 */
int memory_history_add(struct memory_history *history, uint64_t key, const char *comm,
		       const struct memory_split *split);
/* NULL: there is none. */
const struct memory_series *memory_history_find(const struct memory_history *history, pid_t pid,
						uint64_t key);
/* For a process of a report; NULL: that was not looked at. */
const struct memory_series *memory_series_of(const struct report *report,
					     const struct snapshot_process *process);
/* Forgets series for which `is_kept` says no. */
void memory_history_keep(struct memory_history *history,
			 bool (*is_kept)(const struct memory_series *series, const void *context),
			 const void *context);
void memory_history_free(struct memory_history *history);

/* Where memory was at two times: of one process, or of all of one name together. */
struct memory_change {
	char comm[16]; /* untrusted */
	pid_t pid;     /* of one process; 0: of several, or of two */
	size_t processes_before, processes;
	uint64_t rss_before, rss;
	uint64_t groups_before[GROUP_AMOUNT_END], groups[GROUP_AMOUNT_END]; /* resident */
	bool has_conclusion;						    /* of one process */
	struct memory_conclusion conclusion;
};

struct memory_changes {
	VEC(struct memory_change) list; /* what grew most comes first */
};

/* Adds to the earlier side, or to the later one. `pid`: of which process; 0: to all of that name. 0
 * or -ENOMEM. */
int memory_changes_add(struct memory_changes *changes, const char *comm, pid_t pid,
		       const struct memory_split *split, bool later);
void memory_changes_sort(struct memory_changes *changes);
void memory_changes_free(struct memory_changes *changes);

#endif
