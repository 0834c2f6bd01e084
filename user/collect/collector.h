/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a collector remembers from one snapshot to the next. Internal to collect/. */
#ifndef LEAKMON_COLLECT_COLLECTOR_H
#define LEAKMON_COLLECT_COLLECTOR_H

#include "collect/collect.h"
#include "collect/place.h"

struct collector {
	const struct bpf_side *bpf;
	const struct collect_options *options;
	uint64_t sequence;
	uint64_t *purged; /* by slot: blocks that user space gave up */
	struct places places;
	struct ledger retired; /* the ledgers of processes whose slots were given back */
};

#endif
