/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which call stack maps the memory that grows outside malloc and managed heaps: anonymous memory of
 * pools, allocators of programs and of languages without a reader; and written copies of files'
 * pages. Pure functions.
 */
#ifndef LEAKMON_DIAGNOSE_MAPPINGS_H
#define LEAKMON_DIAGNOSE_MAPPINGS_H

#include "report/diagnosis.h"

/* New mappings of one process since they are followed. Borrowed. */
struct mapped_evidence {
	const struct report *report; /* with --mappings, of this process alone; NULL: none */
	const uint64_t *resident;    /* bytes, of each row of its process; swapped out ones count */
	/* In the same time, in bytes: of GROUP_OTHER, and of MEMORY_FILES_WRITTEN. */
	uint64_t growth, written_growth;
};

/*
 * Finds the call stack that most of the new memory comes from: of GROUP_OTHER, or of GROUP_FILES.
 * False where new mappings do not explain most of the growth: then older mappings fill, and nothing
 * is known of the code.
 */
bool mappings_judge(const struct mapped_evidence *mapped, enum memory_group group,
		    struct diagnosed_mapper *mapper);

#endif
