/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts threads on the ledger that were created before the probes.
 *
 * The probes are set first, so no later event is missed; then the process's own lists are walked,
 * and each unknown thread gets a record: a dead thread waits to be reaped, a live one for its end.
 * A thread can be reaped, end or be detached between the walk and its record. So the lists are
 * walked again, and records that contradict them are removed or corrected, until a walk finds
 * nothing new.
 *
 * A pthread_create entered before the probes and held up before its clone during all walks is
 * missed; its end is counted as `untracked_ends`.
 */
#ifndef LEAKMON_THREADS_THREAD_SEED_H
#define LEAKMON_THREADS_THREAD_SEED_H

#include "binary/parse/thread_library.h"
#include "trace/probe/loader.h"

struct thread_seed {
	pid_t pid;
	const struct thread_layout *layout;
	uint64_t bias;	   /* of the library: address in the process minus address in the file */
	uint32_t *next_id; /* of this process; kept between calls */
};

/* Events that the ledger counted as untracked before it was complete; seeding accounts for them. */
struct thread_missed {
	uint64_t ends, joins;
};

/* Returns 0 or -errno; on error *why, a literal, says what is unknown. */
int thread_seed(const struct bpf_side *bpf, const struct thread_seed *seed,
		struct thread_missed *missed, const char **why);

#endif
