/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * OOM-killed processes during a triage, and the triage's record of them. A BPF program reports each
 * when it is chosen; without it a poll finds them: a process has ended, and the kill count of its
 * control group has risen.
 */
#ifndef LEAKMON_TRIAGE_KILLS_H
#define LEAKMON_TRIAGE_KILLS_H

#include "app/triage/triage.h"

struct kills;

/*
 * `use_bpf`: have a BPF program report kills; logs if the kernel refuses. Returns NULL when out of
 * memory. `triage` is borrowed.
 */
struct kills *kills_new(struct triage *triage, bool use_bpf);
void kills_free(struct kills *kills);

/* Returns a descriptor that is readable when a kill was reported; -1: only polls find kills. */
int kills_fd(const struct kills *kills);

/*
 * Takes the kills known so far; call it between a wait and the next poll, or right after a poll.
 * Returns true if some need a report.
 */
bool kills_take(struct kills *kills);

/*
 * Adds the kills to a report, which borrows them until kills_reported(); the triage must not be
 * polled in between.
 */
void kills_show(struct kills *kills, struct triage_report *report);
void kills_reported(struct kills *kills);

#endif
