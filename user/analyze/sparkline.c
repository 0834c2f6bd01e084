// SPDX-License-Identifier: GPL-2.0-or-later
#include "analyze/history.h"

#include "base/cleanup.h"

/* U+2581 to U+2588: eight heights; nothing held is a blank. */
static const char *const blocks[] = {
	" ",
	"\xe2\x96\x81",
	"\xe2\x96\x82",
	"\xe2\x96\x83",
	"\xe2\x96\x84",
	"\xe2\x96\x85",
	"\xe2\x96\x86",
	"\xe2\x96\x87",
	"\xe2\x96\x88",
};

static uint64_t maximum_of(const struct history_series *series)
{
	uint64_t maximum = 0;

	for (size_t i = 0; i < series->points.count; i++)
		maximum = MAX(maximum, series->points.items[i].bytes);
	return maximum;
}

/* The most that was held within one cell: a spike must not fall between two samples. */
static uint64_t cell_of(const struct history_series *series, size_t from, size_t to)
{
	uint64_t most = 0;

	for (size_t i = from; i < to; i++)
		most = MAX(most, history_point_at(series, i).bytes);
	return most;
}

char *history_sparkline(const struct history *history, const struct history_series *series,
			size_t width, char text[SPARKLINE_SIZE])
{
	size_t times = history->times.count;
	uint64_t maximum = maximum_of(series);
	char *end = text;

	*text = '\0';
	width = MIN(MIN(width, 64), times);
	for (size_t i = 0; i < width; i++) {
		uint64_t cell = cell_of(series, i * times / width, (i + 1) * times / width);
		size_t height = maximum ? (size_t)((double)cell / (double)maximum * 8) : 0;

		/* A little is not nothing. */
		if (cell && !height)
			height = 1;
		end = stpcpy(end, blocks[height]);
	}
	return text;
}
