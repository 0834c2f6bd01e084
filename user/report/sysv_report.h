/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * System V shared memory (shmget(2)): segments by creator. They outlive every process. Plain data,
 * filled by heap/memory/sysv_segments.h.
 */
#ifndef LEAKMON_REPORT_SYSV_REPORT_H
#define LEAKMON_REPORT_SYSV_REPORT_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"

struct sysv_segment {
	uint32_t key, id, uid; /* uid: its creator's */
	pid_t creator;
	char comm[16];	   /* the creator's; untrusted; "": ended */
	uint64_t attached; /* number of attachments */
	uint64_t size, resident, swapped;
	int64_t created_s; /* since 1970; or changed by IPC_SET */
	bool is_new;	   /* absent at the first reading */
};

struct sysv_total {
	uint64_t segments, bytes; /* resident and in swap */
};

struct sysv_report {
	bool known;
	bool partial; /* there are more segments than were read */
	/*
	 * Segments created by the report's processes, and unattached ones created by ended
	 * processes of the same users; without a target, all. The largest first.
	 */
	VEC(struct sysv_segment) list;
	struct sysv_total all, unattached, orphans; /* orphans: unattached, creator ended */
	bool has_growth;			    /* there was an earlier reading */
	uint64_t since_ms;
	int64_t growth; /* of unattached bytes, since the first reading */
};

struct figures;
extern const struct figures sysv_segment_figures;

/* Sums up the list. */
void sysv_report_sum(struct sysv_report *report);
void sysv_report_free(struct sysv_report *report);

#endif
