// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/ledger_columns.h"

#include <stddef.h>

const size_t ledger_columns[LEDGER_COLUMNS] = {
	offsetof(struct ledger, allocations),
	offsetof(struct ledger, frees),
	offsetof(struct ledger, outstanding),
	offsetof(struct ledger, purged),
	offsetof(struct ledger, untracked_frees),
	offsetof(struct ledger, inherited_frees),
	offsetof(struct ledger, filtered),
	offsetof(struct ledger, unsampled),
	offsetof(struct ledger, failed),
	offsetof(struct ledger, abandoned),
	offsetof(struct ledger, outstanding_bytes),
	offsetof(struct ledger, scanned),
	offsetof(struct ledger, moved),
};

static const char *drop_cause(unsigned i)
{
	return drop_name((enum lm_drop)i);
}

static const char *lost_cause(unsigned i)
{
	return lost_name((enum lm_lost)i);
}

static const char *walk_end_cause(unsigned i)
{
	return walk_end_name((enum lm_walk_end)i);
}

const struct loss_kind loss_kinds[LOSS_KINDS] = {
	{"dropped", offsetof(struct ledger, dropped), LM_DROP_MAX_, drop_cause},
	{"lost_stack", offsetof(struct ledger, lost_stacks), LM_LOST_MAX_, lost_cause},
	{"walk_end", offsetof(struct ledger, walk_ends), LM_WALK_MAX_, walk_end_cause},
};
