/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ranges and the ledger of a process. Internal to collect/. */
#ifndef LEAKMON_COLLECT_MAPPING_RANGES_H
#define LEAKMON_COLLECT_MAPPING_RANGES_H

#include "base/hash.h"
#include "base/vec.h"
#include "trace/collect/mappings.h"

/* The kind of earlier mappings, as distinct from new ones. */
#define KIND_BEFORE LM_KIND_MAX_

/* A call in progress on one thread, and the ranges it has removed so far. */
struct mapping_call {
	uint32_t tid;
	struct ranges removed, lifted;
};

struct mapping_process {
	lm_process_key key;
	bool inexact;
	bool untold; /* it changed without an event: /proc/PID/maps must be read */
	struct ranges ranges;
	struct mapping_ledger ledger; /* `outstanding` and `ranges` are not kept */
	VEC(struct mapping_call) calls;
	VEC(struct mapping_site) sites;
	struct hash site_index; /* MAPPING_SITE_KEY -> index in `sites` */
};

#define MAPPING_SITE_KEY(site, kind) ((uint64_t)(site) << 8 | (kind))

/* Returns the counted bytes of a set. */
uint64_t mapping_bytes(const struct ranges *ranges);

int mapping_process_apply(struct mapping_process *process, const struct lm_mapping_event *event);
void mapping_process_free(struct mapping_process *process);

/*
 * Removes the counted ranges between `start` and `end` from the ledger, for which an event is
 * missing; *loss, a field of the ledger, counts the cause. Returns 0 or -ENOMEM.
 */
int mapping_give_up(struct mapping_process *process, uint64_t start, uint64_t end, uint64_t *loss);

/*
 * Adds a new range to the ledger. If part of it is still counted, the event of its removal was
 * lost. Returns 0 or -ENOMEM.
 */
int mapping_place(struct mapping_process *process, uint64_t start, uint64_t end,
		  const struct range_tag *tag);

#endif
