/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledgers of every process slot, summed over CPUs. Internal to collect/. */
#ifndef LEAKMON_COLLECT_LEDGERS_H
#define LEAKMON_COLLECT_LEDGERS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/snapshot.h"
#include "probe/loader.h"

struct ledgers {
	struct lm_ledger *slots; /* owned */
	size_t count;		 /* slot 0 included */
};

/* 0 or -errno, and *ledgers untouched. Free with ledgers_free. */
int ledgers_read(const struct bpf_side *bpf, struct ledgers *ledgers);
void ledgers_free(struct ledgers *ledgers);

/* One slot's, as it stands. 0 or -errno. */
int ledgers_read_slot(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum);

/* Reads one slot for the last time, and zeroes it for the next process. 0 or -errno. */
int ledgers_close(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum);

/*
 * The report's ledger of one slot, as it was `after`; `purged` is what user space gave up. `moved`
 * are the changes that had not ended when `before` was read: all zero for a slot that was not in
 * use then.
 */
void ledger_from_raw(const struct lm_ledger *before, const struct lm_ledger *after, uint64_t purged,
		     struct ledger *ledger);

/* *total += *part, field by field. */
void ledger_add(struct ledger *total, const struct ledger *part);

#endif
