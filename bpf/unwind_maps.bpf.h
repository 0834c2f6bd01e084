/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The maps of unwind rows: module -> cells, process (tgid) -> its executable mappings. Separate
 * from maps.bpf.h because the BPF linker does not merge maps of maps: only one .bpf.c may include
 * this.
 */
#ifndef LEAKMON_BPF_UNWIND_MAPS_H
#define LEAKMON_BPF_UNWIND_MAPS_H

#include "maps.bpf.h"

struct unwind_cells {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct lm_unwind_row));
};

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, LM_MAX_MODULES);
	__type(key, u32);
	__array(values, struct unwind_cells);
} unwind_modules SEC(".maps");

struct unwind_mappings {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_INNER_MAP);
	__uint(max_entries, 1);
	__uint(key_size, sizeof(u32));
	__uint(value_size, sizeof(struct lm_range));
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH_OF_MAPS);
	__uint(max_entries, 1); /* set at load */
	__type(key, u32);
	__array(values, struct unwind_mappings);
} unwind_ranges SEC(".maps");

/* By tgid. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__uint(max_entries, LM_MAX_MADE_CODES);
	__type(key, u32);
	__type(value, struct lm_made_code);
} made_codes SEC(".maps");

#endif
