/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Answers of `leakmon diagnose` in a recording (`record --diagnose`):
 * report/store/diagnosis_rows.h.
 */
#ifndef LEAKMON_REPORT_STORED_DIAGNOSIS_H
#define LEAKMON_REPORT_STORED_DIAGNOSIS_H

#include <sys/types.h>
#include <time.h>

#include "base/vec.h"

/* Values of stored_diagnosis.reason: why it was requested. */
#define DIAGNOSED_FOR_LEAK "leaking"
#define DIAGNOSED_FOR_LIMIT "limit-near"

/* Texts are borrowed and untrusted. */
struct stored_diagnosis {
	struct timespec time;
	pid_t pid;
	const char *comm, *reason;
	/* One object of "processes" in user/schema/diagnosis.schema.json, in ASCII, on one line. */
	const char *answer;
	VEC(const char *) lines; /* of its text; owned */
};

struct stored_diagnoses {
	VEC(struct stored_diagnosis) list; /* the oldest first */
};

/* Returns "a call stack leaks"; an unknown reason is returned unchanged. */
const char *stored_diagnosis_reason(const struct stored_diagnosis *diagnosis);

void stored_diagnoses_free(struct stored_diagnoses *diagnoses);

#endif
