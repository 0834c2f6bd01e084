/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call stack maps the anonymous memory that grows outside malloc and managed heaps: pools,
 * allocators of programs and of languages without a reader. Pure functions.
 */
#ifndef LEAKMON_DIAGNOSE_MAPPINGS_H
#define LEAKMON_DIAGNOSE_MAPPINGS_H

#include "report/diagnosis.h"

/* New mappings of one process since they are followed. Borrowed. */
struct mapped_evidence {
	const struct report *report; /* with --mappings, of this process alone; NULL: none */
	const uint64_t *resident;    /* bytes, of each row of its process; swapped out ones count */
	uint64_t growth;	     /* of GROUP_OTHER in the same time, in bytes */
};

/*
 * Finds the call stack that most of the new memory comes from. False where new mappings do not
 * explain most of the growth: then older mappings fill, and nothing is known of the code.
 */
bool mappings_judge(const struct mapped_evidence *mapped, struct diagnosed_mapper *mapper);

#endif
