/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a reading of a process comes to: plain numbers that can be kept, recorded, and compared with
 * later ones; and a series of them.
 */
#ifndef LEAKMON_MEMORY_MEMORY_SPLIT_H
#define LEAKMON_MEMORY_MEMORY_SPLIT_H

#include "memory/memory_parts.h"

struct memory_amount {
	uint64_t resident, swapped;
};

struct memory_split {
	struct timespec time; /* of the reading; since 1970 */
	pid_t pid;
	uint64_t rss, pss, swap;
	struct memory_amount parts[MEMORY_PART_MAX_];
	/* What keeps most of what is free inside malloc: "glibc 2.36"; "": not known. */
	char allocator[48];
	bool is_glibc;			     /* that is */
	uint64_t trimmable, glibc_trimmable; /* see memory_trimmable(); of glibc's heap alone */
	uint64_t arenas, arenas_free; /* of glibc; free and resident in all but the main one */
	uint64_t live_stacks, ended_stacks; /* ended, never joined or kept for reuse */
	uint64_t huge_bytes, huge_zero; /* of huge pages; what was read of them stands for all */
	enum managed_runtime runtime;
	const char *why; /* not all is known of the allocator; borrowed; NULL: it is */
};

struct memory_split memory_split_of(const struct memory_process *process);

/* Resident bytes. */
uint64_t memory_split_group(const struct memory_split *split, enum memory_group group);
/* Resident bytes that are free inside malloc. */
uint64_t memory_split_free(const struct memory_split *split);

/* Of one process, by time; at least one. */
struct memory_series {
	uint64_t key; /* with the PID, which process: its start in ticks; of a recording, its key */
	pid_t pid;
	char comm[16]; /* untrusted */
	VEC(struct memory_split) splits;
};

struct memory_history {
	size_t max; /* splits of a process; 0: only its first */
	VEC(struct memory_series) list;
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
/* Forgets series for which `is_kept` says no. */
void memory_history_keep(struct memory_history *history,
			 bool (*is_kept)(const struct memory_series *series, const void *context),
			 const void *context);
void memory_history_free(struct memory_history *history);

#endif
