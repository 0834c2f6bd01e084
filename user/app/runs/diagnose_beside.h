/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What `leakmon diagnose` watches beside the profile: sessions of their own, each for one family of
 * events of one process, opened when a number of that family becomes more. A further family is a
 * row of the table in diagnose_beside.c.
 */
#ifndef LEAKMON_RUNS_DIAGNOSE_BESIDE_H
#define LEAKMON_RUNS_DIAGNOSE_BESIDE_H

#include "app/diagnose/mappings.h"
#include "app/triage/process_reading.h"

enum beside_family { BESIDE_DESCRIPTORS, BESIDE_THREADS, BESIDE_MAPPINGS, BESIDE_MAX_ };

struct beside_session;

/* The sessions of one process. Zeroed: none is open. */
struct diagnose_beside {
	struct beside_session *sessions[BESIDE_MAX_]; /* owned; NULL: not opened */
	/* Of anonymous memory, in bytes; private. */
	double anonymous_first, anonymous_due;
	unsigned memory_readings;
};

/* What the sessions found; borrowed from them. NULL: nothing is known. */
struct beside_evidence {
	const struct report *opened;	  /* with --descriptors, of this process alone */
	const struct live_group *created; /* most threads since they became more */
	const struct thread_group *ended; /* likewise, that ended and were not joined */
	struct mapped_evidence mapped;
};

/*
 * Opens the session of `family` once `count` became more. Without a session, because it could not
 * be opened, only the numbers are known.
 */
void diagnose_beside_notice(struct diagnose_beside *beside, pid_t pid, enum beside_family family,
			    const struct diagnosed_count *count);

/*
 * Opens the session of BESIDE_MAPPINGS once memory grew outside malloc and managed heaps, and that
 * of BESIDE_THREADS once threads have ended that nobody joined: by a few readings of memory,
 * without a stop, each when all anonymous memory has doubled its growth. `first`: the reading at
 * the beginning; NULL: there is none.
 */
void diagnose_beside_notice_memory(struct diagnose_beside *beside,
				   const struct process_reading *reading,
				   const struct memory_process *first);

/* `last`: the last reading of its memory; NULL: there is none. Reads all sessions for the last
 * time. *evidence is good until diagnose_beside_close(). */
void diagnose_beside_examine(struct diagnose_beside *beside, const struct memory_process *last,
			     struct beside_evidence *evidence);

/* Detaches and frees all sessions. */
void diagnose_beside_close(struct diagnose_beside *beside);

#endif
