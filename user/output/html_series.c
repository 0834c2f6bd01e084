// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/html_series.h"

#include "base/cleanup.h"

/* More than a wide screen has pixels for a graph is wasted... */
#define COLUMNS_MAX 1200
/* ...and all series together are to stay small: 5 bytes a point, bytes and counts. */
#define POINTS_MAX 1000000
#define COLUMNS_MIN 60
#define NS_PER_MS 1000000

struct html_columns html_columns_of(const struct history *history)
{
	struct html_columns columns = {.history = history};
	size_t room;

	if (!history)
		return columns;
	room = POINTS_MAX / (history->sites.count + history->processes.count + 1);
	columns.count = MIN(history->times.count, MIN(MAX(room, COLUMNS_MIN), COLUMNS_MAX));
	return columns;
}

/* The first time that belongs to a column; of the one past the last, the number of times. */
static size_t column_start(const struct html_columns *columns, size_t column)
{
	size_t times = columns->history->times.count, count = columns->count;

	if (times == count || !column)
		return column;
	/* The first and the last column stand for one snapshot each. */
	if (column >= count)
		return times;
	return 1 + (column - 1) * (times - 2) / (count - 2);
}

static size_t column_last(const struct html_columns *columns, size_t column)
{
	return column_start(columns, column + 1) - 1;
}

static int64_t time_ms(const struct history_time *time)
{
	return (int64_t)time->time.tv_sec * 1000 + time->time.tv_nsec / NS_PER_MS;
}

static void labels_write(struct json_writer *json, const struct html_columns *columns)
{
	json_open(json, "labels", '[');
	for (size_t column = 0, i = 0; column < columns->count; column++) {
		for (; i <= column_last(columns, column); i++) {
			const char *label = columns->history->times.items[i].label;

			if (!label)
				continue;
			json_open(json, NULL, '[');
			json_put_number(json, NULL, column);
			json_put_string(json, NULL, label);
			json_close(json, ']');
		}
	}
	json_close(json, ']');
}

void html_columns_write(struct json_writer *json, const struct html_columns *columns)
{
	int64_t before_ms = 0;
	uint64_t before = 0;

	json_open(json, "times", '[');
	for (size_t i = 0; i < columns->count; i++) {
		int64_t now_ms = time_ms(&columns->history->times.items[column_last(columns, i)]);

		json_put_signed(json, NULL, now_ms - before_ms);
		before_ms = now_ms;
	}
	json_close(json, ']');
	json_open(json, "sequences", '[');
	for (size_t i = 0; i < columns->count; i++) {
		uint64_t now = columns->history->times.items[column_last(columns, i)].sequence;

		json_put_number(json, NULL, now - before);
		before = now;
	}
	json_close(json, ']');
	labels_write(json, columns);
}

struct peak {
	uint64_t bytes, count;
};

static struct peak column_peak(const struct html_columns *columns,
			       const struct history_series *series, size_t column)
{
	struct peak peak = {0};

	for (size_t i = column_start(columns, column); i <= column_last(columns, column); i++) {
		struct history_point point = history_point_at(series, i);

		peak.bytes = MAX(peak.bytes, point.bytes);
		peak.count = MAX(peak.count, point.count);
	}
	return peak;
}

static uint64_t peak_bytes(const struct peak *peak)
{
	return peak->bytes;
}

static uint64_t peak_count(const struct peak *peak)
{
	return peak->count;
}

/* Zeros are owed until something follows them. */
static void differences_write(struct json_writer *json, const char *key, const struct peak *peaks,
			      size_t count, uint64_t (*value_of)(const struct peak *))
{
	uint64_t before = 0;
	size_t owed = 0;

	json_open(json, key, '[');
	for (size_t i = 0; i < count; i++) {
		uint64_t value = value_of(&peaks[i]);

		if (i && value == before) {
			owed++;
			continue;
		}
		for (; owed; owed--)
			json_put_number(json, NULL, 0);
		json_put_signed(json, NULL, (int64_t)(value - before));
		before = value;
	}
	json_close(json, ']');
}

void html_series_write(struct json_writer *json, const struct html_columns *columns,
		       const struct history_series *series)
{
	struct peak peaks[COLUMNS_MAX];
	size_t first = 0;

	for (size_t i = 0; i < columns->count; i++)
		peaks[i] = column_peak(columns, series, i);
	while (first < columns->count && !peaks[first].bytes && !peaks[first].count)
		first++;
	json_put_number(json, "first", first);
	differences_write(json, "bytes", peaks + first, columns->count - first, peak_bytes);
	differences_write(json, "counts", peaks + first, columns->count - first, peak_count);
}
