/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Blocks of a profiled process that were allocated since the profile began and, as far as is known,
 * live: all of them where it is tracked exactly, else those that windows follow, each for as many
 * as it stands for. A scan of the heap tells which of them are really there.
 */
#ifndef LEAKMON_PROFILE_PROFILE_BLOCKS_H
#define LEAKMON_PROFILE_PROFILE_BLOCKS_H

#include "report/profile_report.h"

struct profile_block {
	uint64_t address, size; /* as requested */
	uint64_t born_ns;	/* CLOCK_MONOTONIC */
	uint32_t site;		/* profile_report_site.index */
	float weight;		/* of exact tracking 1 */
	bool untouched;		/* a window's: its contents have not changed since its end */
};

/* Zero-initialise; vec_free() the list. */
struct profile_blocks {
	VEC(struct profile_block) list; /* by address */
	bool exact;			/* every block since since_ns is among them */
	uint64_t since_ns;		/* CLOCK_MONOTONIC; 0: no tracking or window has begun */
};

struct profile_target;

/*
 * Reads them now, while the report that `process` stands in is being taken: exactly if tracking has
 * lasted since `since_ns` (CLOCK_MONOTONIC). 0 or -errno, and the list is empty then. A process of
 * a recording has none.
 */
int profile_blocks_read(const struct profile_report_process *process, uint64_t since_ns,
			struct profile_blocks *blocks);

#endif
