/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth between two readings of a process, and what that means: a leak, or memory that malloc, the
 * page cache or the kernel keeps. A pure function: user/doc/memory.md has the same table.
 */
#ifndef LEAKMON_MEMORY_CONCLUSION_H
#define LEAKMON_MEMORY_CONCLUSION_H

#include "report/diff.h"
#include "report/memory_split.h"

/* Less comes and goes in any program; nor does growth below 1 % of what there was matter. */
#define MEMORY_GROWTH_MIN (1 << 20)

/* Growth by `total`, of something that was `before`, that needs no cause. */
bool memory_is_steady(int64_t total, uint64_t before);

/* The first part that makes up half of a growth; `count`: none does. */
size_t memory_main_part(int64_t total, const int64_t *parts, size_t count);

/* Both are of the same process. */
void memory_conclude(const struct memory_split *before, const struct memory_split *now,
		     struct memory_conclusion *conclusion);

/* Conclusions from recorded readings of memory: each process over its run, and two sides of a
 * difference. */

/* From the first to the latest reading of each process. */
void memory_history_conclude(struct memory_history *history);

/*
 * Growth between the two sides: process by process within a run, else by name. Empty if neither
 * recording has it. 0 or -ENOMEM; to be freed in any case.
 */
int memory_changes_build(const struct diff *diff, struct memory_changes *changes);

#endif
