/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What writing and reading of retain results must agree on. Internal to store/. */
#ifndef LEAKMON_STORE_RETAIN_COLUMNS_H
#define LEAKMON_STORE_RETAIN_COLUMNS_H

#include "retain/result.h"
#include "store/database.h"

/* Columns of `retains` from time_ns on, before its numbers, which come in their order. */
#define RETAIN_HEAD_COLUMNS 10
/* And behind them, two columns each: held, untracked, unreachable, direct, indirect. */
#define RETAIN_TOTALS (VERDICT_MAX_ + 3)

/* Of `retains`, in that order; `dropped` came with version 3. */
#define RETAIN_RUN_COLUMNS(dropped)                                                                \
	"time_ns,label,pid,comm,allocator,why_not_stopped,settled,stopped,soft_dirty,pagemap,"     \
	"pause_ns,max_pause_ns,read_ns,total_ns,own_peak_bytes,writable_bytes,read_bytes,"         \
	"swapped_bytes,pages_checked,pages_changed,blocks,walked,tracked,arenas,broken,broken_at," \
	"broken_free_lists," dropped ",held_blocks,held_bytes,untracked_blocks,untracked_bytes,"   \
	"unreachable_blocks,unreachable_bytes,direct_blocks,direct_bytes,indirect_blocks,"         \
	"indirect_bytes,through_blocks,through_bytes"

struct retention_total *retain_total_at(struct retain_result *result, size_t i);
const struct retention_total *retain_total_at_const(const struct retain_result *result, size_t i);

#endif
