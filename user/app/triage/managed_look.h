/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For triage's suspects that have a garbage collector: whether it is its heap that grows, and of a
 * JVM whether its collections leave more. Reading the sizes of all mappings of a process takes
 * milliseconds, so that is done for the first few suspects, each a few times a minute, and only as
 * the budget allows; but one that would be called leaking gets its turn in any case. Until it is
 * known what grows, it is not called so.
 */
#ifndef LEAKMON_TRIAGE_MANAGED_LOOK_H
#define LEAKMON_TRIAGE_MANAGED_LOOK_H

#include "app/triage/triage.h"

/* Reads the processes that are due, and gives the report's entries what is known of them. */
void managed_look(struct triage *triage, struct triage_report *report);

#endif
