/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * For triage's suspects that are Go programs: whether it is goroutines that become more and do not
 * end. Reading them takes milliseconds for each thousand, so that is done for few suspects, a few
 * times a minute, and only as the budget allows.
 */
#ifndef LEAKMON_TRIAGE_GOROUTINE_WATCH_H
#define LEAKMON_TRIAGE_GOROUTINE_WATCH_H

#include "app/triage/triage.h"

struct goroutine_watch;

/* Reads a suspect's goroutines if that is due, and gives its entry what is known of them. */
void goroutine_watch_look(struct triage *triage, struct member *member, struct triage_entry *entry);
void goroutine_watch_free(struct goroutine_watch *watch);

#endif
