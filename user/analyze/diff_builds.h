/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Whether two stacks are the same place in two builds of a program. A stack's number is made of
 * build-ids and addresses: of a program that was built anew, no stack would be found again. So
 * where a stack runs through a file of which the other side has no copy, the names of its functions
 * are compared instead. Internal to diff.c.
 */
#ifndef LEAKMON_ANALYZE_DIFF_BUILDS_H
#define LEAKMON_ANALYZE_DIFF_BUILDS_H

#include "analyze/report.h"
#include "base/hash.h"

/* The files that the stacks of a report run through. 0 or -ENOMEM. */
int diff_builds_of(struct hash *builds, const struct report *report);

/* A number for the stack: its own, or one that is the same in every build. */
uint64_t diff_stack_id(const struct hash *builds_of_other, const struct report_site *site);

#endif
