/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call stack leaks descriptors, from exact evidence: what each call stack opened and closed
 * since its process was followed, how old its open ones are, and how old those that it closed
 * became. Pure functions; the rule in words is in user/doc/diagnose.md.
 */
#ifndef LEAKMON_DIAGNOSE_DESCRIPTORS_H
#define LEAKMON_DIAGNOSE_DESCRIPTORS_H

#include "app/diagnose/count_series.h"
#include "report/diagnosis.h"

enum descriptors_verdict {
	DESCRIPTORS_NO_LEAK,  /* their number does not rise, or what is opened is closed again */
	DESCRIPTORS_COUNTED,  /* their number rises; no call stack is known */
	DESCRIPTORS_OPENED,   /* and one call stack opens most of them: *opener */
	DESCRIPTORS_SCATTERED /* and several open them: *opener is the first one, or none */
};

/*
 * `opened`: a report with --descriptors and its blocks (report.show_allocs), of this process alone,
 * since its descriptors became more; NULL: there is none. *opener is filled
 * where a call stack explains a tenth of the growth; otherwise it is untouched.
 */
enum descriptors_verdict descriptors_judge(const struct count_series *series,
					   const struct diagnosed_count *count,
					   const struct report *opened,
					   struct diagnosed_opener *opener);

/* For people; NULL for DESCRIPTORS_NO_LEAK. Static. */
const char *descriptors_why(enum descriptors_verdict verdict);

#endif
