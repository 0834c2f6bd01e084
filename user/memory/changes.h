/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What recorded readings of memory say: each process over its run, and two sides of a difference.
 */
#ifndef LEAKMON_MEMORY_CHANGES_H
#define LEAKMON_MEMORY_CHANGES_H

#include "report/diff.h"
#include "report/memory_split.h"

/* From the first to the latest reading of each process. */
void memory_history_conclude(struct memory_history *history);

/*
 * What grew between the two sides: process by process within a run, else by name. Empty if neither
 * recording has it. 0 or -ENOMEM; to be freed in any case.
 */
int memory_changes_build(const struct diff *diff, struct memory_changes *changes);

#endif
