/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The bound of a history, and where its sites are found. Internal to history.c. */
#ifndef LEAKMON_ANALYZE_HISTORY_ROOM_H
#define LEAKMON_ANALYZE_HISTORY_ROOM_H

#include "analyze/history.h"

size_t history_max_sites(const struct history *history);

/* Into site_positions. Two sites may have one key. */
uint64_t history_site_key(lm_process_key process, enum site_family family, uint32_t index);
bool history_site_is(const struct history_site *site, lm_process_key process,
		     const struct site *seen);

/*
 * Forgets sites and processes that hold nothing, where what is new in the snapshot finds no room: a
 * storm of short processes must not fill the history with what is gone. 0 or -ENOMEM.
 */
int history_make_room(struct history *history, const struct snapshot *snapshot);

#endif
