/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What writing and reading must agree on. Internal to store/. */
#ifndef LEAKMON_STORE_LEDGER_COLUMNS_H
#define LEAKMON_STORE_LEDGER_COLUMNS_H

#include "collect/snapshot.h"

/* The columns of `ledgers` from `allocations` on, in order, as offsets into struct ledger. */
#define LEDGER_COLUMNS 13
extern const size_t ledger_columns[LEDGER_COLUMNS];

/* The kinds of `losses`: where their counts are, and the names of the causes. */
struct loss_kind {
	const char *name;
	size_t offset; /* of uint64_t[max] in struct ledger */
	unsigned max;
	const char *(*cause)(unsigned i);
};
#define LOSS_KINDS 3
extern const struct loss_kind loss_kinds[LOSS_KINDS];

/* Kinds beside those: why a process is inexact; which PID is meant. */
#define LOSS_INEXACT "inexact"
#define LOSS_INEXACT_PID "inexact_pid"

/* The columns of `ledgers` before these. */
enum process_state { PROCESS_ALIVE, PROCESS_EXITED, PROCESS_GONE };

#endif
