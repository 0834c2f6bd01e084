/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Growth between two readings of a process, and its cause: a leak, or memory kept by malloc, the
 * page cache or the kernel. Pure functions: user/doc/memory.md has the same table.
 */
#ifndef LEAKMON_MEMORY_CONCLUSION_H
#define LEAKMON_MEMORY_CONCLUSION_H

#include "report/diff.h"
#include "report/memory_split.h"

/* Smaller growth is normal fluctuation; so is growth below 1 % of the earlier size. */
#define MEMORY_GROWTH_MIN (1 << 20)

/* Returns whether growth by `total` from `before` needs no cause. */
bool memory_is_steady(int64_t total, uint64_t before);

/* Returns the first part that makes up half of a growth; `count`: none does. */
size_t memory_main_part(int64_t total, const int64_t *parts, size_t count);

/* Draws the conclusion from two readings of the same process. */
void memory_conclude(const struct memory_split *before, const struct memory_split *now,
		     struct memory_conclusion *conclusion);

/* Conclusions from recorded readings of memory: for each process over its run, and for two sides of
 * a difference. */

/* Draws conclusions from the first to the latest reading of each process. */
void memory_history_conclude(struct memory_history *history);

/*
 * Computes the growth between the two sides: by process within a run, else by name. Empty if
 * neither recording has readings. 0 or -ENOMEM; the caller frees *changes in any case.
 */
int memory_changes_build(const struct diff *diff, struct memory_changes *changes);

#endif
