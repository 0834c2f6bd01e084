/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Examines triage's suspects that are Go programs: do goroutines accumulate? Reading them takes
 * milliseconds per thousand, so only a few suspects are read, a few times a minute, within the
 * budget.
 */
#ifndef LEAKMON_TRIAGE_GOROUTINE_WATCH_H
#define LEAKMON_TRIAGE_GOROUTINE_WATCH_H

#include "app/triage/triage.h"

struct goroutine_watch;

/* Reads a suspect's goroutines if that is due, and fills in the findings of its entry. */
void goroutine_watch_look(struct triage *triage, struct member *member, struct triage_entry *entry);
void goroutine_watch_free(struct goroutine_watch *watch);

#endif
