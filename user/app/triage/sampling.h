/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Samples call stacks of growth, in the triage's suspects only: the code that touches new pages,
 * maps memory or creates threads; and for open files, the kinds that increase. Sampling lasts as
 * long as a process is suspected, and improves with time.
 *
 * The cost, ours and in the suspects, is charged to the budget; without credit sampling stops until
 * there is more.
 */
#ifndef LEAKMON_TRIAGE_SAMPLING_H
#define LEAKMON_TRIAGE_SAMPLING_H

#include "app/triage/triage.h"
#include "leakmon_abi.h"

struct sampling;

/*
 * Returns NULL when out of memory. `triage` is borrowed. Nothing is loaded before there is a
 * suspect.
 */
struct sampling *sampling_new(enum lm_stack_walk stack_walk, struct triage *triage);
void sampling_free(struct sampling *sampling);

/* Takes the samples received so far; call it after each poll. */
void sampling_consume(struct sampling *sampling);

/*
 * Call it before a report: attributes and names the samples, and puts the results on the members of
 * the population, where they stay until the next call. The last report of a run waits for lines.
 */
void sampling_examine(struct sampling *sampling, bool last);

/* Call it after a report: follows its suspects and releases all others. */
void sampling_update(struct sampling *sampling, const struct triage_report *report);

#endif
