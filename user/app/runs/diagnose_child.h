/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Runs `leakmon diagnose` of one process as a child, for about a minute: the recording continues,
 * and a failed answer leaves it intact.
 *
 *	diagnose_child_start(&child, pid, reason);	one at a time
 *	if (diagnose_child_take(&child, &answer))	from time to time: it never waits
 */
#ifndef LEAKMON_RUNS_DIAGNOSE_CHILD_H
#define LEAKMON_RUNS_DIAGNOSE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct diagnose_child {
	pid_t child;	    /* 0: not running */
	pid_t pid;	    /* of the diagnosed process */
	const char *reason; /* static: report/stored_diagnosis.h */
	int fd;		    /* a file with its output */
};

/* Starts the child. Returns 0 or -errno; on error none runs. */
int diagnose_child_start(struct diagnose_child *child, pid_t pid, const char *reason);

/*
 * Returns true when the child has ended. *answer is then an object of "processes" in
 * user/schema/diagnosis.schema.json as text, which the caller frees; NULL: no answer.
 */
bool diagnose_child_take(struct diagnose_child *child, char **answer);

/*
 * Asks a running child for its answer so far, and waits some seconds for it before killing it.
 * Returns true and the answer as diagnose_child_take() does.
 */
bool diagnose_child_hurry(struct diagnose_child *child, char **answer);

/*
 * Returns the answer within the child's output, NULL if there is none; the caller frees it. Exposed
 * for the tests.
 */
char *diagnose_child_answer(const char *said);

#endif
