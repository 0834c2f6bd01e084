// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/row.h"

#include <stdio.h>
#include <string.h>

void top_rows_free(struct top_rows *rows)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		struct top_row *row = &rows->list.items[i];

		free(row->name);
		free(row->place);
		free(row->evidence);
		vec_free(&row->frames.list);
	}
	vec_free(&rows->list);
}

const struct top_row *top_rows_find(const struct top_rows *rows, uint64_t identity)
{
	for (size_t i = 0; i < rows->list.count; i++) {
		if (rows->list.items[i].identity == identity)
			return &rows->list.items[i];
	}
	return NULL;
}

static bool holds(const char *text, const char *words)
{
	return text && strcasestr(text, words);
}

bool top_row_holds(const struct top_row *row, const char *words)
{
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", row->pid);
	if (!*words || holds(row->name, words) || holds(row->place, words))
		return true;
	if (row->name && row->pid && !strcmp(pid, words))
		return true;
	for (size_t i = 0; i < row->frames.list.count; i++) {
		const struct frame *frame = &row->frames.list.items[i];

		if (holds(frame->function, words) || holds(frame->file, words) ||
		    holds(frame->module, words))
			return true;
	}
	return !strcasecmp(trend_verdict_name(row->verdict), words);
}
