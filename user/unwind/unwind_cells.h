/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Lays out a module's rows as the cells that the kernel side searches (leakmon_abi.h). */
#ifndef LEAKMON_UNWIND_UNWIND_CELLS_H
#define LEAKMON_UNWIND_UNWIND_CELLS_H

#include "parse/unwind_table.h"

struct unwind_cells {
	struct lm_unwind_row *items; /* owned */
	uint32_t count;
};

/* 0; -ENOENT: the table is empty; -ENOMEM. */
int unwind_cells_build(const struct unwind_table *table, struct unwind_cells *cells);
void unwind_cells_free(struct unwind_cells *cells);

#endif
