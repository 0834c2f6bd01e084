/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the call stack that leaks descriptors, from exact evidence: the number that each call stack
 * opened and closed since its process was followed, the ages of its open ones, and the ages at
 * which it closed the others. Pure functions; the rule in words is in user/doc/diagnose.md.
 */
#ifndef LEAKMON_DIAGNOSE_DESCRIPTORS_H
#define LEAKMON_DIAGNOSE_DESCRIPTORS_H

#include "app/diagnose/count_series.h"
#include "report/diagnosis.h"

enum descriptors_verdict {
	DESCRIPTORS_NO_LEAK,  /* the number does not rise, or descriptors are closed again */
	DESCRIPTORS_COUNTED,  /* the number rises; no call stack is known */
	DESCRIPTORS_OPENED,   /* one call stack opens most of them: *opener */
	DESCRIPTORS_SCATTERED /* several call stacks open them: *opener is the first one, if any */
};

/*
 * Judges. `opened`: a report with --descriptors and its blocks (report.show_allocs), for this
 * process only, since its descriptors began to rise; NULL: none. *opener is set if a call stack
 * explains a tenth of the growth; otherwise it is untouched.
 */
enum descriptors_verdict descriptors_judge(const struct count_series *series,
					   const struct diagnosed_count *count,
					   const struct report *opened,
					   struct diagnosed_opener *opener);

/* Returns a text for people; NULL for DESCRIPTORS_NO_LEAK. Static. */
const char *descriptors_why(enum descriptors_verdict verdict);

#endif
