/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The ledger of mappings, in bytes: mapped = unmapped + outstanding + purged. */
#ifndef LEAKMON_COLLECT_MAPPING_LEDGER_H
#define LEAKMON_COLLECT_MAPPING_LEDGER_H

#include <stdint.h>

struct mapping_ledger {
	uint64_t mapped;
	uint64_t unmapped;
	uint64_t outstanding;
	uint64_t purged; /* given up because the process exited or replaced itself */
	uint64_t ranges; /* outstanding; not bytes: what a hole split counts twice */
	/* Losses. Any of them breaks exactness. */
	uint64_t events_lost; /* calls, not bytes; of a process: its 32-bit ones only */
	uint64_t missed;      /* came mapped over what was still counted; part of unmapped */
	uint64_t healed;      /* found or given up when /proc/PID/maps was read to mend a loss */
};

#endif
