/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cause of suspects' growth: live blocks, or what an allocator or the kernel keeps. The memory
 * of a process that grows is read once it is listed, and again when it is a suspect: what came in
 * between is its growth. The CPU time comes out of the budget; when nothing is saved up, nothing is
 * read.
 */
#ifndef LEAKMON_TRIAGE_CAUSES_H
#define LEAKMON_TRIAGE_CAUSES_H

#include "app/triage/triage.h"

struct causes;

/* NULL: out of memory. `triage` is borrowed. */
struct causes *causes_new(struct triage *triage);
void causes_free(struct causes *causes);

/* Explains what can be explained in a report, before it is written. The report borrows from
 * `causes`, until the next call. */
void causes_explain(struct causes *causes, struct triage_report *report);

#endif
