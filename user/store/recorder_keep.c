// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --keep: which snapshots give way. Rows hold until the next row of their site, so a snapshot is
 * forgotten by handing those of its rows that the next one does not replace on to the next one.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "store/recorder_state.h"

/* The log grows to this between checkpoints (CHECKPOINT_PAGES of 4 KiB, and one snapshot or two).
 */
#define LOG_BYTES (UINT64_C(3) << 20)
/* Per append: more than one, so that the file shrinks below its limit at last. */
#define DROPS_MAX 2

static const struct {
	enum recorder_statement statement;
	bool moves; /* rows to the next snapshot, which needs none if it is a full one */
} steps[] = {
	{MOVE_POINTS, true},
	{DROP_POINTS, false},
	{MOVE_AGES, true},
	{DROP_AGES, false},
	{MOVE_BY_DEAD, true},
	{DROP_BY_DEAD, false},
	{MOVE_LEDGERS, true},
	{DROP_LEDGERS, false},
	{MOVE_LOSSES, true},
	{DROP_LOSSES, false},
	{MOVE_THREADS, true},
	{DROP_THREADS, false},
	{MOVE_DEAD, true},
	{DROP_DEAD, false},
	{MOVE_MAPPING_LEDGERS, true},
	{DROP_MAPPING_LEDGERS, false},
	{HAND_ON_FULL, true},
	{DROP_SNAPSHOT, false},
	{COUNT_ROWS, false},
};

static int snapshot_drop(struct recorder *recorder, size_t i)
{
	struct kept_snapshot *it = &recorder->kept.items[i], *next = it + 1;
	int error = 0;

	for (size_t s = 0; s < ARRAY_SIZE(steps) && !error; s++) {
		sqlite3_stmt *statement = recorder->statements[steps[s].statement];
		bool takes_next = sqlite3_bind_parameter_count(statement) == 2;

		if (steps[s].moves && next->full)
			continue;
		error = database_do(statement, takes_next ? "ii" : "i", it->sequence,
				    next->sequence);
	}
	if (error)
		return error;
	next->full |= it->full;
	memmove(&recorder->kept.items[i], &recorder->kept.items[i + 1],
		(recorder->kept.count - i - 1) * sizeof(*recorder->kept.items));
	recorder->kept.count--;
	return 0;
}

/* The one that is missed least: its gap is smallest for its age. 0: none may go. */
static size_t least_missed(const struct recorder *recorder)
{
	const struct kept_snapshot *kept = recorder->kept.items;
	size_t count = recorder->kept.count, best = 0;
	double least = 0;

	for (size_t i = 1; i + 1 < count; i++) {
		double gap = (double)(kept[i + 1].monotonic_ns - kept[i - 1].monotonic_ns);
		double age = (double)(kept[count - 1].monotonic_ns - kept[i].monotonic_ns);

		if (kept[i].labelled || (best && gap / age >= least))
			continue;
		least = gap / age;
		best = i;
	}
	return best;
}

static int bytes_used(struct recorder *recorder, uint64_t *bytes)
{
	int64_t pages, free_pages, page_size;
	int error = database_integer(recorder->database, "PRAGMA page_count", &pages);

	if (!error)
		error = database_integer(recorder->database, "PRAGMA freelist_count", &free_pages);
	if (!error)
		error = database_integer(recorder->database, "PRAGMA page_size", &page_size);
	if (!error)
		*bytes = (uint64_t)((pages - free_pages) * page_size);
	return error;
}

static int keep_size(struct recorder *recorder)
{
	uint64_t limit = recorder->options.keep_bytes, bytes;
	int error = bytes_used(recorder, &bytes);

	if (error || !limit)
		return error;
	limit -= limit > 2 * LOG_BYTES ? LOG_BYTES : limit / 4;
	for (int i = 0; i < DROPS_MAX && bytes > limit && !error; i++) {
		size_t victim = least_missed(recorder);

		if (!victim)
			return 0;
		error = snapshot_drop(recorder, victim);
	}
	return error;
}

static int keep_time(struct recorder *recorder)
{
	uint64_t keep_ns = recorder->options.keep_ns, now;
	int error = 0;

	if (!keep_ns || !recorder->kept.count)
		return 0;
	now = recorder->kept.items[recorder->kept.count - 1].monotonic_ns;
	for (size_t i = 0; i + 1 < recorder->kept.count && !error;) {
		if (recorder->kept.items[i].monotonic_ns + keep_ns >= now)
			break;
		if (recorder->kept.items[i].labelled)
			i++;
		else
			error = snapshot_drop(recorder, i);
	}
	return error;
}

int recorder_keep(struct recorder *recorder)
{
	int error = keep_time(recorder);

	return error ? error : keep_size(recorder);
}
