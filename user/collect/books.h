/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books of every process slot, summed over CPUs. Internal to collect/. */
#ifndef LEAKMON_COLLECT_BOOKS_H
#define LEAKMON_COLLECT_BOOKS_H

#include <stddef.h>
#include <stdint.h>

#include "collect/snapshot.h"
#include "probe/loader.h"

struct books {
	struct lm_ledger *slots; /* owned */
	size_t count;		 /* slot 0 included */
};

/* 0 or -errno, and *books untouched. Free with books_free. */
int books_read(const struct bpf_side *bpf, struct books *books);
void books_free(struct books *books);

/* One slot's, as it stands. 0 or -errno. */
int books_read_slot(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum);

/* Reads one slot for the last time, and zeroes it for the next process. 0 or -errno. */
int books_close(const struct bpf_side *bpf, uint32_t slot, struct lm_ledger *sum);

/*
 * The report's ledger of one slot, as it was `after`; `purged` is what user space gave up. `moved`
 * are the changes that had not ended when `before` was read: all zero for a slot that was not in
 * use then.
 */
void books_to_ledger(const struct lm_ledger *before, const struct lm_ledger *after, uint64_t purged,
		     struct ledger *ledger);

/* *total += *part, field by field. */
void ledger_add(struct ledger *total, const struct ledger *part);

#endif
