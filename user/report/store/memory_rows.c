// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/memory_rows.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "report/store/figure_rows.h"
#include "report/store/recording_state.h"

/* More than any machine has; sums of them still fit. */
#define BYTES_MAX (UINT64_C(1) << 56)
/* Per process: the number of points that a graph can show. */
#define HISTORY_SPLITS 480

static const struct figure_rows rows = {
	.table = "memory", .keys = "snapshot,process", .parts = {&memory_split_figures}};
#define KEYS 2

int memory_rows_put(sqlite3_stmt *put, sqlite3_stmt *put_part, int64_t snapshot, int64_t process,
		    const struct memory_split *split)
{
	int error = database_bind(put, "ii", snapshot, process);

	if (!error)
		error = figure_row_bind(put, KEYS + 1, &rows, split);
	if (!error)
		error = database_next(put);
	for (size_t part = 0; part < MEMORY_PART_MAX_ && !error; part++) {
		const struct memory_amount *amount = &split->parts[part];

		if (amount->resident || amount->swapped)
			error = database_do(put_part, "iitii", snapshot, process,
					    memory_part_name(part), (int64_t)amount->resident,
					    (int64_t)amount->swapped);
	}
	return error;
}

/* -------- reading: the file is untrusted */

struct reader {
	struct recording *recording;
	sqlite3_stmt *rows, *parts;
	struct memory_history *history;
	int error;
};

static uint64_t bytes_at(struct reader *reader, sqlite3_stmt *row, int column)
{
	uint64_t bytes = database_unsigned(row, column, &reader->error);

	if (bytes > BYTES_MAX)
		reader->error = -EUCLEAN;
	return bytes;
}

static void part_read(struct reader *reader, struct memory_split *split)
{
	const char *name = database_text(reader->parts, 0);

	for (size_t part = 0; name && part < MEMORY_PART_MAX_; part++) {
		if (strcmp(name, memory_part_name(part)) != 0)
			continue;
		split->parts[part].resident = bytes_at(reader, reader->parts, 1);
		split->parts[part].swapped = bytes_at(reader, reader->parts, 2);
		return;
	}
	reader->error = -EUCLEAN;
}

static void parts_read(struct reader *reader, int64_t snapshot, int64_t process,
		       struct memory_split *split)
{
	int more, error = database_bind(reader->parts, "ii", snapshot, process);

	while (!error && !reader->error && (more = database_next(reader->parts)) != 0) {
		error = more < 0 ? more : 0;
		if (!error)
			part_read(reader, split);
	}
	sqlite3_reset(reader->parts);
	reader->error = error ? error : reader->error;
}

static struct memory_split row_read(struct reader *reader)
{
	struct memory_split split = {0};

	figure_row_read(reader->rows, KEYS, &rows, &split, &reader->recording->strings,
			&reader->error);
	for (size_t i = 0; i < memory_split_figures.count; i++) {
		if (figure_value(&memory_split_figures.items[i], &split) > BYTES_MAX)
			reader->error = -EUCLEAN;
	}
	return split;
}

static void split_read(struct reader *reader)
{
	const struct recording *recording = reader->recording;
	int64_t process = sqlite3_column_int64(reader->rows, 1);
	const uint64_t *place = hash_get(&recording->process_rows, (uint64_t)process);
	const struct known_process *known = place ? &recording->processes.items[*place] : NULL;
	struct memory_split split = row_read(reader);

	if (!known || known->pid > INT32_MAX)
		reader->error = -EUCLEAN;
	if (!reader->error)
		parts_read(reader, sqlite3_column_int64(reader->rows, 0), process, &split);
	if (reader->error)
		return;
	split.pid = (pid_t)known->pid;
	reader->error = memory_history_add(reader->history, known->key, known->comm, &split);
}

static int prepare(struct reader *reader)
{
	sqlite3 *database = reader->recording->database;
	int error = database_errno(sqlite3_prepare_v2(
		database, "SELECT * FROM memory WHERE snapshot<=? ORDER BY process,snapshot", -1,
		&reader->rows, NULL));

	return error ? error
		     : database_errno(sqlite3_prepare_v2(
			       database,
			       "SELECT part,resident_bytes,swap_bytes FROM memory_parts"
			       " WHERE snapshot=? AND process=?",
			       -1, &reader->parts, NULL));
}

int recording_memory(struct recording *recording, size_t position, struct memory_history *history)
{
	int64_t sequence = (int64_t)recording->snapshots.items[position].sequence;
	struct memory_history made = {.max = HISTORY_SPLITS};
	struct reader reader = {.recording = recording, .history = &made};
	int more = 0;

	recording_begin(recording);
	reader.error = prepare(&reader);
	if (!reader.error)
		reader.error = database_bind(reader.rows, "i", sequence);
	while (!reader.error && (more = database_next(reader.rows)) != 0) {
		if (more > 0)
			split_read(&reader);
		else
			reader.error = more;
	}
	sqlite3_finalize(reader.rows);
	sqlite3_finalize(reader.parts);
	if (reader.error) {
		memory_history_free(&made);
		return recording_fail(recording, reader.error, "where memory was");
	}
	*history = made;
	return 0;
}
