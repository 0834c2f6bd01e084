/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Examines triage's suspects with a garbage collector: does the managed heap grow, and in a JVM, do
 * collections leave more behind? Reading the sizes of all mappings of a process takes milliseconds,
 * so only the first few suspects are read, each a few times a minute, within the budget; but a
 * process that would be called leaking gets its turn in any case. Until the growing part is known,
 * it is not called leaking.
 */
#ifndef LEAKMON_TRIAGE_MANAGED_LOOK_H
#define LEAKMON_TRIAGE_MANAGED_LOOK_H

#include "app/triage/triage.h"

/* Reads the processes that are due, and fills in the findings of the report's entries. */
void managed_look(struct triage *triage, struct triage_report *report);

#endif
