/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What thread_seed() keeps while it runs. Internal to thread_seed*.c. */
#ifndef LEAKMON_THREADS_THREAD_SEEDING_H
#define LEAKMON_THREADS_THREAD_SEEDING_H

#include "base/vec.h"
#include "threads/thread_seed.h"
#include "threads/thread_tasks.h"
#include "threads/thread_walk.h"

/* What was put on the books. */
struct seeded {
	lm_thread_id id;
	uint64_t handle;
	uint32_t tid, inner_tid; /* 0: it was dead */
	unsigned absences;	 /* looks that did not find it listed as it was */
	bool dropped;
};

struct seeding {
	const struct bpf_side *bpf;
	const struct thread_seed *seed;
	struct thread_tasks tasks;
	struct listed_threads listed;
	VEC(struct seeded) seeded;
	bool last; /* nothing is waited for any more */
	const char *why;
};

/* Reads the process's tasks and its lists of threads. 0 or -errno; seeding->why may say why. */
int seeding_look(struct seeding *seeding);

/*
 * Puts the listed threads on the books that are not there yet; *fresh: how many were new, or could
 * not be told yet. 0; -E2BIG or another -errno of the maps; -ENOMEM.
 */
int seeding_put_new(struct seeding *seeding, size_t *fresh);

/* Holds what was put there against the latest look. true: something must be looked at again. */
bool seeding_check(struct seeding *seeding);

/* Takes it off the books again. */
void seeding_drop(const struct seeding *seeding, struct seeded *seeded);

#endif
