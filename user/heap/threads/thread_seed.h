/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Puts the threads on the ledger that were made before the probes were there.
 *
 * The probes come first, so nothing that happens to a thread from then on is missed; then the
 * process' own lists are walked, and each thread that has no record gets one: a dead one waits to
 * be reaped, a living one waits for its end. A thread can be reaped, end or be detached between the
 * walk and its record. So the lists are walked again, and what then is not as its record says is
 * taken off, or set right. That is repeated until a walk finds nothing new.
 *
 * A pthread_create that was entered before the probes were there and that is held up in front of
 * its clone for the whole time is missed; its end is counted as `untracked_ends`.
 */
#ifndef LEAKMON_THREADS_THREAD_SEED_H
#define LEAKMON_THREADS_THREAD_SEED_H

#include "binary/parse/thread_library.h"
#include "trace/probe/loader.h"

struct thread_seed {
	pid_t pid;
	const struct thread_layout *layout;
	uint64_t bias;	   /* of the library: address in the process minus the same in the file */
	uint32_t *next_id; /* of this process; kept between calls */
};

/* Threads that the ledger has as untracked until it was complete: it was looked at here. */
struct thread_missed {
	uint64_t ends, joins;
};

/* 0; -errno, and *why says what is unknown (a literal). */
int thread_seed(const struct bpf_side *bpf, const struct thread_seed *seed,
		struct thread_missed *missed, const char **why);

#endif
