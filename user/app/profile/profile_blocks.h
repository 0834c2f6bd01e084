/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a profiled process that were allocated since the profile began and seem to be alive:
 * all of them under exact tracking, else those followed by windows, each with its weight. A scan of
 * the heap can confirm them.
 */
#ifndef LEAKMON_PROFILE_PROFILE_BLOCKS_H
#define LEAKMON_PROFILE_PROFILE_BLOCKS_H

#include "report/profile_report.h"

struct profile_block {
	uint64_t address, size; /* as requested */
	uint64_t born_ns;	/* CLOCK_MONOTONIC */
	uint32_t site;		/* profile_report_site.index */
	float weight;		/* 1 with exact tracking */
	bool untouched; /* from a window: its contents have not changed since the window's end */
};

/* Zero-initialise; vec_free() the list. */
struct profile_blocks {
	VEC(struct profile_block) list; /* by address */
	bool exact;			/* the list has every block since since_ns */
	uint64_t since_ns; /* CLOCK_MONOTONIC; 0: neither tracking nor a window has begun */
};

struct profile_target;

/*
 * Reads them now, in the hook that takes the report with `process`: exactly if tracking has lasted
 * since `since_ns` (CLOCK_MONOTONIC). Returns 0 or -errno; on error the list is empty, as for a
 * process of a recording.
 */
int profile_blocks_read(const struct profile_report_process *process, uint64_t since_ns,
			struct profile_blocks *blocks);

#endif
