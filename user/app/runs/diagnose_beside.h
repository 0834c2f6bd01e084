/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sessions of `leakmon diagnose` beside the profile, each for one family of events of one process,
 * opened when a count of that family increases. A further family is a row of the table in
 * diagnose_beside.c.
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
	/* Bytes of anonymous memory; private. */
	double anonymous_first, anonymous_due;
	unsigned memory_readings;
};

/* Findings of the sessions, which own them. NULL: unknown. */
struct beside_evidence {
	const struct report *opened;	  /* from --descriptors, for this process only */
	const struct live_group *created; /* the largest group of threads since their number rose */
	/* the largest group of threads that ended and were not joined */
	const struct thread_group *ended;
	struct mapped_evidence mapped;
};

/*
 * Opens the session of `family` once `count` has increased. If it cannot be opened, only the
 * numbers are known.
 */
void diagnose_beside_notice(struct diagnose_beside *beside, pid_t pid, enum beside_family family,
			    const struct diagnosed_count *count);

/*
 * Opens the session of BESIDE_MAPPINGS once memory has grown outside malloc and managed heaps, and
 * that of BESIDE_THREADS once threads have ended unjoined. It reads memory a few times, without
 * stopping the process, each time when the growth of all anonymous memory has doubled. `first`: the
 * reading at the beginning; NULL: none.
 */
void diagnose_beside_notice_memory(struct diagnose_beside *beside,
				   const struct process_reading *reading,
				   const struct memory_process *first);

/*
 * Reads all sessions for the last time. `last`: the last reading of its memory; NULL: none.
 * *evidence is valid until diagnose_beside_close().
 */
void diagnose_beside_examine(struct diagnose_beside *beside, const struct memory_process *last,
			     struct beside_evidence *evidence);

/* Detaches and frees all sessions. */
void diagnose_beside_close(struct diagnose_beside *beside);

#endif
