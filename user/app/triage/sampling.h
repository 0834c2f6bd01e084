/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Call stacks of what grows, sampled in the suspects of the triage and in nobody else: which code
 * touches new pages, maps, creates threads; and of open files, which kinds there are more of. It
 * lasts for as long as a process is suspected, and the longer it lasts the better it knows.
 *
 * What it costs, ours and in the suspects, is charged to the budget; when nothing is saved up
 * any more, it stops until there is.
 */
#ifndef LEAKMON_TRIAGE_SAMPLING_H
#define LEAKMON_TRIAGE_SAMPLING_H

#include "app/triage/triage.h"
#include "leakmon_abi.h"

struct sampling;

/* NULL: out of memory. `triage` is borrowed. Nothing is loaded before there is a suspect. */
struct sampling *sampling_new(enum lm_stack_walk stack_walk, struct triage *triage);
void sampling_free(struct sampling *sampling);

/* Takes what has come; after each poll. */
void sampling_consume(struct sampling *sampling);

/*
 * Before a report: weighs and names what was sampled, and hangs it on the members of the
 * population, where it stays until the next call. The last report of a run waits for lines.
 */
void sampling_examine(struct sampling *sampling, bool last);

/* After a report: follows those that it suspects, and lets go of others. */
void sampling_update(struct sampling *sampling, const struct triage_report *report);

#endif
