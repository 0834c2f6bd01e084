/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds the unwind row that covers an address: mapping, page, row; two binary searches. */
#ifndef LEAKMON_BPF_UNWIND_ROWS_H
#define LEAKMON_BPF_UNWIND_ROWS_H

#include "unwind_maps.bpf.h"

#define UNWIND_ROW_FOUND 0
#define UNWIND_ROW_MISSING 1
#define UNWIND_NO_FILE 1 /* the cfa_words of a LM_UNWIND_NONE row */

/*
 * Steps of a binary search over LM_MAX_RANGES mappings, and over the rows of one page (4096 bytes
 * of code have at most as many rows).
 */
#define RANGE_SEARCH_STEPS 13
#define ROW_SEARCH_STEPS 13

/* Finds the last mapping that starts at or below the address; the caller checks its end. */
static __always_inline int range_find(struct unwind_state *state, u64 address)
{
	u32 tgid = state->tgid; /* on the stack: 6.1 accepts keys nowhere else */
	void *mappings = bpf_map_lookup_elem(&unwind_ranges, &tgid);
	struct lm_range *range;
	u32 low, high, first = 0;
	u64 at;

	range = mappings ? bpf_map_lookup_elem(mappings, &first) : NULL;
	if (!range)
		return UNWIND_ROW_MISSING;
	at = range->start; /* read once: it may change concurrently */
	low = at >> 32;
	high = low + (u32)at;
	for (int i = 0; i < RANGE_SEARCH_STEPS && high - low > 1; i++) {
		u32 middle = (low + high) / 2;

		range = bpf_map_lookup_elem(mappings, &middle);
		if (!range)
			return UNWIND_ROW_MISSING;
		if (range->start <= address)
			low = middle;
		else
			high = middle;
	}
	range = bpf_map_lookup_elem(mappings, &low);
	if (!range || address < range->start || address >= range->end)
		return UNWIND_ROW_MISSING;
	state->range = *range;
	return UNWIND_ROW_FOUND;
}

/* Finds the row within the module: the last one with a pc at or below ours. */
static __always_inline int row_search(void *cells, u32 pc, struct lm_unwind_row *row)
{
	u32 page = (pc >> LM_UNWIND_PAGE_SHIFT) + 1, next, low, high, header = 0;
	struct lm_unwind_row *cell;

	cell = bpf_map_lookup_elem(cells, &header);
	if (!cell)
		return UNWIND_ROW_MISSING;
	if (page > cell->pc)
		page = cell->pc; /* after the last row, which reaches to the end */
	next = page + 1;
	cell = bpf_map_lookup_elem(cells, &page);
	if (!cell)
		return UNWIND_ROW_MISSING;
	low = cell->pc;
	cell = bpf_map_lookup_elem(cells, &next);
	if (!cell)
		return UNWIND_ROW_MISSING;
	high = cell->pc + 1; /* the next page's first row may begin inside this page */
	for (int i = 0; i < ROW_SEARCH_STEPS && high - low > 1; i++) {
		u32 middle = (low + high) / 2;

		cell = bpf_map_lookup_elem(cells, &middle);
		if (!cell)
			return UNWIND_ROW_MISSING;
		if (cell->pc <= pc)
			low = middle;
		else
			high = middle;
	}
	cell = bpf_map_lookup_elem(cells, &low);
	if (!cell || cell->pc > pc)
		return UNWIND_ROW_MISSING;
	*row = *cell;
	return UNWIND_ROW_FOUND;
}

/* In a module with rows, code that no row covers has no unwind information. */
static __always_inline int row_find(u32 module, u32 pc, struct lm_unwind_row *row)
{
	void *cells = bpf_map_lookup_elem(&unwind_modules, &module);

	if (!cells)
		return UNWIND_ROW_MISSING;
	if (row_search(cells, pc, row))
		row->kind = LM_UNWIND_NONE;
	return UNWIND_ROW_FOUND;
}

static __always_inline int unwind_row_find(struct unwind_state *state, u64 address,
					   struct lm_unwind_row *row)
{
	/* Successive frames are usually in the same mapping. */
	if (address < state->range.start || address >= state->range.end) {
		if (range_find(state, address))
			return UNWIND_ROW_MISSING;
	}
	if (state->range.module == LM_MODULE_NONE) {
		row->kind = LM_UNWIND_NONE;
		row->cfa_words = UNWIND_NO_FILE;
		return UNWIND_ROW_FOUND;
	}
	return row_find(state->range.module, (u32)(address - state->range.bias), row);
}

/* Finds the row with a cache: programs return to the same places. */
static __always_inline int unwind_row_known(struct thread *thread, u64 address,
					    struct lm_unwind_row *row)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_known_row *known =
		&thread->rows[(address ^ address >> 6) & (UNWIND_KNOWN_ROWS - 1)];

	if (known->address == address && known->row.pc == state->epoch) {
		*row = known->row;
		return UNWIND_ROW_FOUND;
	}
	if (unwind_row_find(state, address, row))
		return UNWIND_ROW_MISSING;
	known->address = address;
	known->row = *row;
	known->row.pc = state->epoch;
	return UNWIND_ROW_FOUND;
}

#endif
