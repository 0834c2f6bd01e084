/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `leakmon diagnose` of one process, by another leakmon that runs beside this one for a minute:
 * the recording continues, and a failed answer leaves it intact.
 *
 *	diagnose_child_start(&child, pid, reason);	one at a time
 *	if (diagnose_child_take(&child, &answer))	now and then: it never waits
 */
#ifndef LEAKMON_RUNS_DIAGNOSE_CHILD_H
#define LEAKMON_RUNS_DIAGNOSE_CHILD_H

#include <stdbool.h>
#include <sys/types.h>

struct diagnose_child {
	pid_t child;	    /* 0: none runs */
	pid_t pid;	    /* that it is about */
	const char *reason; /* static: report/stored_diagnosis.h */
	int fd;		    /* a file with what it says */
};

/* 0 or -errno: then none runs. */
int diagnose_child_start(struct diagnose_child *child, pid_t pid, const char *reason);

/*
 * True: it has ended. *answer is then an object of "processes" in user/schema/diagnosis.schema.json
 * as text, which the caller frees; NULL: it had none.
 */
bool diagnose_child_take(struct diagnose_child *child, char **answer);

/* Asks one that runs for the answer that it has by now, and waits for it, for some seconds; one
 * that needs longer is killed. Like diagnose_child_take(). */
bool diagnose_child_hurry(struct diagnose_child *child, char **answer);

/* The answer in what it said; the caller frees it; NULL: there is none. Exposed for the tests. */
char *diagnose_child_answer(const char *said);

#endif
