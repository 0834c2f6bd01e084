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

size_t history_heights(const struct history *history, const struct history_series *series,
		       size_t width, unsigned char heights[SPARKLINE_WIDTH_MAX])
{
	size_t times = history->times.count;
	uint64_t maximum = maximum_of(series);

	width = MIN(MIN(width, SPARKLINE_WIDTH_MAX), times);
	for (size_t i = 0; i < width; i++) {
		uint64_t cell = cell_of(series, i * times / width, (i + 1) * times / width);

		heights[i] = maximum ? (unsigned char)((double)cell / (double)maximum * 8) : 0;
		/* A little is not nothing. */
		if (cell && !heights[i])
			heights[i] = 1;
	}
	return width;
}

const char *sparkline_block(unsigned char height)
{
	return blocks[MIN(height, ARRAY_SIZE(blocks) - 1)];
}

char *history_sparkline(const struct history *history, const struct history_series *series,
			size_t width, char text[SPARKLINE_SIZE])
{
	unsigned char heights[SPARKLINE_WIDTH_MAX];
	char *end = text;

	*text = '\0';
	width = history_heights(history, series, width, heights);
	for (size_t i = 0; i < width; i++)
		end = stpcpy(end, sparkline_block(heights[i]));
	return text;
}
