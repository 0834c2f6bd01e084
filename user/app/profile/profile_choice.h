/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `leakmon profile` without a target: the triage chooses the processes with certain heap growth,
 * the most urgent first, up to the number of slots. A process leaves when it ends, or when it has
 * not been a suspect for a while and another one waits.
 */
#ifndef LEAKMON_PROFILE_PROFILE_CHOICE_H
#define LEAKMON_PROFILE_PROFILE_CHOICE_H

#include "app/profile/profile_options.h"

struct profile_choice;
struct profile_options;

/*
 * Uses the caller's triage (options->triage, borrowed), or its own, which polls at most once per
 * INTERVAL and uses at most the share --overhead of one core. `options` is borrowed. Returns NULL
 * after a message.
 */
struct profile_choice *profile_choice_new(const struct profile_options *options);
void profile_choice_free(struct profile_choice *choice);

/* Returns the maximum number of processes chosen at a time. */
size_t profile_choice_places(const struct profile_options *options);

/*
 * Call it from time to time: polls if due, and lets processes join and leave the session; `busy`
 * (0: none) stays. Processes that leave are marked as ended. Returns 0, or -errno after a message.
 */
int profile_choice_tend(struct profile_choice *choice, struct session *session, pid_t busy);

/* Adds to the report why each process was chosen, and how many are watched. */
void profile_choice_explain(const struct profile_choice *choice, struct profile_report *report);

#endif
