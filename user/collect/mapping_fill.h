/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From replayed mappings to the sites of a snapshot. Internal to collect/. */
#ifndef LEAKMON_COLLECT_MAPPING_FILL_H
#define LEAKMON_COLLECT_MAPPING_FILL_H

#include "collect/collect.h"
#include "collect/mappings.h"
#include "collect/snapshot.h"

/* 0 or -ENOMEM. */
int mapping_fill(const struct mappings *mappings, const struct bpf_side *bpf,
		 const struct collect_options *options, struct snapshot *snapshot);

#endif
