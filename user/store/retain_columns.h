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

struct retention_total *retain_total_at(struct retain_result *result, size_t i);
const struct retention_total *retain_total_at_const(const struct retain_result *result, size_t i);

#endif
