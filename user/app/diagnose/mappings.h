/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds the call stack that maps growing memory outside malloc and managed heaps: anonymous memory
 * of pools, and of allocators and runtimes without a reader; and written copies of file pages. Pure
 * functions.
 */
#ifndef LEAKMON_DIAGNOSE_MAPPINGS_H
#define LEAKMON_DIAGNOSE_MAPPINGS_H

#include "report/diagnosis.h"

/* New mappings of one process since the session began. Borrowed. */
struct mapped_evidence {
	const struct report *report; /* from --mappings, for this process only; NULL: none */
	const uint64_t *resident;    /* bytes, including swap, of each row of its process */
	/* Growth in the same time, in bytes: of GROUP_OTHER, and of MEMORY_FILES_WRITTEN. */
	uint64_t growth, written_growth;
};

/*
 * Finds the call stack with most of the new memory of GROUP_OTHER, or of GROUP_FILES. Returns false
 * if new mappings do not explain most of the growth: then older mappings are filling, and their
 * code is unknown.
 */
bool mappings_judge(const struct mapped_evidence *mapped, enum memory_group group,
		    struct diagnosed_mapper *mapper);

#endif
