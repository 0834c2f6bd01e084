/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The cause of suspects' growth: live blocks, or memory retained by an allocator or the kernel. The
 * memory of a growing process is read once it is listed, and again when it is a suspect: the
 * difference is its growth. The budget pays for the CPU time; without credit nothing is read.
 */
#ifndef LEAKMON_TRIAGE_CAUSES_H
#define LEAKMON_TRIAGE_CAUSES_H

#include "app/triage/triage.h"

struct causes;

/* Returns NULL when out of memory. `triage` is borrowed. */
struct causes *causes_new(struct triage *triage);
void causes_free(struct causes *causes);

/*
 * Explains the report's entries where possible, before it is written. The report borrows from
 * `causes` until the next call.
 */
void causes_explain(struct causes *causes, struct triage_report *report);

#endif
