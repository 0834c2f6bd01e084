/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OOM-killed processes while a triage runs, and what the triage knew of them:
 * reported by a BPF program as they are chosen, or, where there is none, found at a poll: a process
 * has ended, and the count of kills of its control group has risen.
 */
#ifndef LEAKMON_TRIAGE_KILLS_H
#define LEAKMON_TRIAGE_KILLS_H

#include "app/triage/triage.h"

struct kills;

/* `use_bpf`: unless the kernel refuses, which is said. NULL: out of memory. `triage` is
 * borrowed. */
struct kills *kills_new(struct triage *triage, bool use_bpf);
void kills_free(struct kills *kills);

/* Readable when one was reported; -1: they are found at polls only. */
int kills_fd(const struct kills *kills);

/* After a wait and before the next poll, or right after a poll: takes what is known by then. True:
 * a report is to be made of some. */
bool kills_take(struct kills *kills);

/* Hangs them on a report, which borrows them until kills_reported(); the triage must not be polled
 * in between. */
void kills_show(struct kills *kills, struct triage_report *report);
void kills_reported(struct kills *kills);

#endif
