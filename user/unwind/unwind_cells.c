// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/unwind_cells.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

/* Fills the page index: each entry is the cell of the last row at or below the page's start. */
static void index_pages(const struct unwind_table *table, struct lm_unwind_row *cells,
			uint32_t pages)
{
	uint32_t first_row = pages + 2;
	size_t row = 0;

	cells[0].pc = pages;
	for (uint32_t page = 0; page <= pages; page++) {
		uint64_t start = (uint64_t)page << LM_UNWIND_PAGE_SHIFT;

		while (row + 1 < table->count && table->rows[row + 1].pc <= start)
			row++;
		cells[1 + page].pc = first_row + (uint32_t)row;
	}
	/* Behind the last page nothing follows: its rows end with the table. */
	cells[1 + pages].pc = first_row + (uint32_t)table->count - 1;
}

int unwind_cells_build(const struct unwind_table *table, struct unwind_cells *cells)
{
	struct lm_unwind_row *items;
	uint32_t pages;
	size_t count;

	if (!table->count)
		return -ENOENT;
	pages = (table->rows[table->count - 1].pc >> LM_UNWIND_PAGE_SHIFT) + 1;
	count = 2 + (size_t)pages + table->count;
	items = calloc(count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	index_pages(table, items, pages);
	memcpy(items + 2 + pages, table->rows, table->count * sizeof(*items));
	*cells = (struct unwind_cells){.items = items, .count = (uint32_t)count};
	return 0;
}

void unwind_cells_free(struct unwind_cells *cells)
{
	free(cells->items);
	*cells = (struct unwind_cells){0};
}
