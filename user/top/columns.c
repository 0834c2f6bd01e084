// SPDX-License-Identifier: GPL-2.0-or-later
#include "top/columns.h"

#include "base/cleanup.h"
#include "top/column_formats.h"

#define SORT_OF_TRIAGE                                                                             \
	{                                                                                          \
		{"urgency", 'u', TOP_URGENCY}, {"bytes", 'b', TOP_BYTES},                          \
			{"growth", 'g', TOP_GROWTH}, {"threads", 't', TOP_THREADS},                \
			{"files", 'o', TOP_FILES}, {"mappings", 'm', TOP_MAPPINGS},                \
			{"age", 'a', TOP_AGE},                                                     \
	}
#define SORT_OF_TRACKED                                                                            \
	{                                                                                          \
		{"bytes", 'b', TOP_BYTES}, {"count", 'c', TOP_COUNT}, {"growth", 'g', TOP_GROWTH}, \
			{"integral", 'i', TOP_INTEGRAL}, {"age", 'a', TOP_AGE},                    \
	}

#define COLUMNS_OF_TRIAGE                                                                          \
	{"IN", 8, true, CELLS_LEFT, 7, 0, column_format_place},                                    \
		{"ANON+SWAP", 10, false, CELLS_RIGHT, 3, TOP_BYTES, column_format_bytes},          \
		{"GROWTH/MIN", 14, false, CELLS_RIGHT, 2, TOP_GROWTH, column_format_triage_rate},  \
		{"THREADS", 7, false, CELLS_RIGHT, 8, TOP_THREADS, column_format_number},          \
		{"FILES", 6, false, CELLS_RIGHT, 9, TOP_FILES, column_format_number},              \
		{"MAPS", 6, false, CELLS_RIGHT, 10, TOP_MAPPINGS, column_format_number},           \
		{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},                    \
		{"SURE", 5, false, CELLS_RIGHT, 5, TOP_SURE, column_format_sure},                  \
		{"COURSE", 16, false, CELLS_LEFT, 4, 0, column_format_course},

const struct top_list top_lists[TOP_LISTS_] = {
	[TOP_TRIAGE] =
		{
			"Processes",
			"no process is seen yet",
			{{"PID", 7, false, CELLS_RIGHT, 0, 0, column_format_pid},
			 {"COMM", 15, false, CELLS_LEFT, 0, 0, column_format_name},
			 COLUMNS_OF_TRIAGE},
			SORT_OF_TRIAGE,
		},
	[TOP_GROUPS] =
		{
			"Containers and cgroups",
			"no container or cgroup is seen yet",
			{{"PROCS", 7, false, CELLS_RIGHT, 6, TOP_PROCESSES, column_format_number},
			 {"WHAT", 11, false, CELLS_LEFT, 11, 0, column_format_name},
			 COLUMNS_OF_TRIAGE},
			SORT_OF_TRIAGE,
		},
	[TOP_TARGETS] =
		{
			"Tracked processes",
			"no process has allocated anything yet",
			{
				{"PID", 7, false, CELLS_RIGHT, 0, 0, column_format_pid},
				{"COMM", 15, false, CELLS_LEFT, 0, 0, column_format_name},
				{"IN", 8, true, CELLS_LEFT, 9, 0, column_format_place},
				{"BYTES", 11, false, CELLS_RIGHT, 2, TOP_BYTES,
				 column_format_bytes},
				{"BLOCKS", 9, false, CELLS_RIGHT, 5, TOP_COUNT,
				 column_format_number},
				{"STACKS", 6, false, CELLS_RIGHT, 7, TOP_SITES,
				 column_format_number},
				{"GROWTH/S", 11, false, CELLS_RIGHT, 3, TOP_GROWTH,
				 column_format_rate},
				{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},
				{"SURE", 5, false, CELLS_RIGHT, 6, TOP_SURE, column_format_sure},
				{"COURSE", 24, false, CELLS_LEFT, 4, 0, column_format_course},
			},
			SORT_OF_TRACKED,
		},
	[TOP_CALLS] =
		{
			"Call stacks",
			"nothing is outstanding",
			{
				{"BYTES", 11, false, CELLS_RIGHT, 0, TOP_BYTES,
				 column_format_bytes},
				{"COUNT", 8, false, CELLS_RIGHT, 3, TOP_COUNT,
				 column_format_number},
				{"GROWTH/S", 11, false, CELLS_RIGHT, 2, TOP_GROWTH,
				 column_format_rate},
				{"OLDEST", 8, false, CELLS_RIGHT, 5, TOP_AGE, column_format_age},
				{"BYTES·S", 10, false, CELLS_RIGHT, 7, TOP_INTEGRAL,
				 column_format_bytes},
				{"VERDICT", 9, false, CELLS_LEFT, 1, 0, column_format_verdict},
				{"COURSE", 16, false, CELLS_LEFT, 4, 0, column_format_course},
				{"PID", 7, false, CELLS_RIGHT, 6, 0, column_format_pid, true},
				{"ALLOCATED BY", 24, true, CELLS_LEFT, 0, 0, column_format_where},
			},
			SORT_OF_TRACKED,
		},
};

/* What the shown columns need, with blanks between them. */
static size_t width_of(const struct top_list *list, const size_t widths[COLUMNS_MAX])
{
	size_t sum = 0;

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++)
		sum += widths[i] ? widths[i] + 1 : 0;
	return sum ? sum - 1 : 0;
}

/* The shown column that matters least; COLUMNS_MAX: all that are left must stay. */
static size_t least_of(const struct top_list *list, const size_t widths[COLUMNS_MAX])
{
	size_t least = COLUMNS_MAX;

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		if (widths[i] && list->columns[i].drop &&
		    (least == COLUMNS_MAX || list->columns[i].drop > list->columns[least].drop))
			least = i;
	}
	return least;
}

/* What is left goes to the column that takes it, or is taken from the last ones. */
static void settle(const struct top_list *list, size_t width, size_t widths[COLUMNS_MAX])
{
	size_t needed = width_of(list, widths);

	for (size_t i = 0; i < COLUMNS_MAX && list->columns[i].title; i++) {
		if (list->columns[i].takes_rest && widths[i] && needed < width)
			widths[i] += width - needed;
	}
	for (size_t i = COLUMNS_MAX; i-- > 0 && needed > width;) {
		size_t cut = MIN(widths[i], needed - width);

		widths[i] -= cut;
		needed = width_of(list, widths);
	}
}

void top_columns_fit(const struct top_list *list, bool many, size_t width,
		     size_t widths[COLUMNS_MAX])
{
	size_t least;

	for (size_t i = 0; i < COLUMNS_MAX; i++) {
		const struct top_column *column = &list->columns[i];

		widths[i] = column->title && (many || !column->of_many) ? column->width : 0;
	}
	while (width_of(list, widths) > width && (least = least_of(list, widths)) != COLUMNS_MAX)
		widths[least] = 0;
	settle(list, width, widths);
}
