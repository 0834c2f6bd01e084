/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * A reading of a process: plain numbers that can be kept, recorded, and compared with later ones;
 * and a series of readings.
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
	/*
	 * The process's own memory: see memory_own(). Neither this nor the next three are recorded.
	 */
	uint64_t own;
	struct memory_forked forked;
	struct memory_fillable fillable[MEMORY_FILLABLE_MAX];
	size_t fillable_count;
	/* The allocator with most of the free memory inside malloc: "jemalloc 5.3"; "": unknown. */
	char allocator[48];
	bool is_libc;			    /* the C library's own malloc */
	uint64_t trimmable, libc_trimmable; /* see memory_trimmable(); of libc's malloc alone */
	uint64_t arenas,
		/* of libc's malloc; free and resident in all arenas but the main one */
		arenas_free;
	uint64_t live_stacks, ended_stacks; /* ended, never joined or kept for reuse */
	uint64_t huge_bytes, huge_zero; /* of huge pages; estimated from the part that was read */
	/*
	 * The key of its runtime, see report/runtime_label.h; NULL: none known. Static, or from a
	 * recording: untrusted, borrowed.
	 */
	const char *runtime;
	const char *tool; /* for its objects, as currently run; NULL: the runtime's default */
	/* Counts of its runtime. Not recorded. */
	struct heap_floor floor;
	struct heap_words words;
	struct heap_goal goal;
	/* why the allocator is partly unknown; borrowed; NULL: fully known */
	const char *why;
};

/* All of a split but its parts: for recordings, and partly for JSON. */
struct figures;
extern const struct figures memory_split_figures;

struct memory_split memory_split_of(const struct memory_process *process);

/* Returns resident bytes; for page tables, their bytes; 0 for pages that became private. */
uint64_t memory_split_group(const struct memory_split *split, enum memory_group group);
/* Returns the resident free bytes inside malloc. */
uint64_t memory_split_free(const struct memory_split *split);

/* The readings of one process, by time; at least one. */
struct memory_series {
	/*
	 * Identifies the process, with the PID: its start in ticks; in a recording, its key, which
	 * is 0 until its first allocation.
	 */
	uint64_t key;
	pid_t pid;
	char comm[16]; /* untrusted */
	VEC(struct memory_split) splits;
	bool has_conclusion; /* from the first to the latest */
	struct memory_conclusion conclusion;
};

const struct memory_split *memory_series_latest(const struct memory_series *series);

struct memory_history {
	size_t max; /* readings per process; 0: only the first */
	VEC(struct memory_series) list;
	struct hash positions; /* PID and key -> index in `list`; private */
};

/*
 * Adds a reading. When a process has `max`, every second one is dropped, never the first. Returns 0
 * or -ENOMEM. A series is valid until the next call.
 */
int memory_history_add(struct memory_history *history, uint64_t key, const char *comm,
		       const struct memory_split *split);
/* Returns the series of a process, or NULL. */
const struct memory_series *memory_history_find(const struct memory_history *history, pid_t pid,
						uint64_t key);
/* Returns the series of a report's process; NULL: not examined. */
const struct memory_series *memory_series_of(const struct report *report,
					     const struct snapshot_process *process);
/* Drops series for which `is_kept` returns false. */
void memory_history_keep(struct memory_history *history,
			 bool (*is_kept)(const struct memory_series *series, const void *context),
			 const void *context);
void memory_history_free(struct memory_history *history);

/* The composition of memory at two times: of one process, or of all of one name together. */
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
	VEC(struct memory_change) list; /* largest growth first */
};

/*
 * Adds to the earlier or the later side. `pid`: the process; 0: all of that name. Returns 0 or
 * -ENOMEM.
 */
int memory_changes_add(struct memory_changes *changes, const char *comm, pid_t pid,
		       const struct memory_split *split, bool later);
void memory_changes_sort(struct memory_changes *changes);
void memory_changes_free(struct memory_changes *changes);

#endif
