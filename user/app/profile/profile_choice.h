/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * `leakmon profile` without a target: the triage chooses the processes: those with
 * certain heap growth, the most urgent first, and no more of them than there are slots. One leaves
 * when it ends, or when it has not been such a suspect for a while and another one waits.
 */
#ifndef LEAKMON_PROFILE_PROFILE_CHOICE_H
#define LEAKMON_PROFILE_PROFILE_CHOICE_H

#include "app/profile/profile_options.h"

struct profile_choice;
struct profile_options;

/*
 * By a triage of somebody else's, which goes on being his (options->triage), or by one of its own,
 * which polls once in INTERVAL at most and uses no more of one core than --overhead of a target.
 * `options` is borrowed. NULL after a message.
 */
struct profile_choice *profile_choice_new(const struct profile_options *options);
void profile_choice_free(struct profile_choice *choice);

/* How many processes are chosen at a time at most. */
size_t profile_choice_places(const struct profile_options *options);

/*
 * From time to time: polls, when that is due, and lets processes join and leave the session; `busy`
 * (0: nobody) stays. Those that leave are marked as ended. 0, or -errno after a message.
 */
int profile_choice_tend(struct profile_choice *choice, struct session *session, pid_t busy);

/* Why a process was chosen, and how many are watched. */
void profile_choice_explain(const struct profile_choice *choice, struct profile_report *report);

#endif
