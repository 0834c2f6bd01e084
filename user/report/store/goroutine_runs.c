// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/goroutine_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/store/figure_rows.h"
#include "report/store/recorder_state.h"
#include "report/store/recording_state.h"

#define NS_PER_S INT64_C(1000000000)
/* More than any genuine recording has; a file with more was made to take for ever. */
#define READINGS_MAX (1u << 20)
#define GROUPS_MAX (1u << 16)
/* Approximate size of a group's row on disk; measured with 120 groups. */
#define GROUP_BYTES 140
/* The number of points that a graph can show. */
#define SERIES_TIMES 480

static const struct figure_rows head_rows = {
	"goroutines", "id,time_ns,pid,start_ticks,comm", "id", "id", {&task_report_records}};
static const struct figure_rows group_rows = {"goroutine_groups",
					      "reading,position,stack,creator",
					      "reading",
					      "position",
					      {&task_group_records}};
#define HEAD_KEYS 5
#define GROUP_KEYS 4

/* -------- writing */

struct goroutine_recorder {
	sqlite3 *database;
	sqlite3_stmt *head, *group, *frames;
	char *path;
	struct recorder_options options;
	uint64_t count, missed;
	uint64_t rows; /* of groups, in the file */
};

/* NULL: no frames. */
static int put_stack(struct goroutine_recorder *recorder, const struct frames *frames,
		     char text[17], const char **stack)
{
	uint64_t id = symbolizer_stack_id(frames);

	*stack = NULL;
	if (!frames->list.count)
		return 0;
	snprintf(text, 17, "%016" PRIx64, id);
	*stack = text;
	return stored_stack_put(recorder->frames, id, frames);
}

static int put_group(struct goroutine_recorder *recorder, int64_t reading, int64_t position,
		     const struct task_group *group)
{
	char texts[2][17];
	const char *stack, *creator = NULL;
	int error = put_stack(recorder, &group->stack, texts[0], &stack);

	if (!error)
		error = put_stack(recorder, &group->creator, texts[1], &creator);
	if (!error)
		error = database_bind(recorder->group, "iitt", reading, position, stack, creator);
	if (!error)
		error = figure_row_bind(recorder->group, GROUP_KEYS + 1, &group_rows, group);
	return error ? error : database_next(recorder->group);
}

static bool is_kept(const struct task_report *report, size_t i)
{
	return i < GOROUTINE_GROUPS_KEPT / 2 ||
	       trend_is_suspect(report->groups.items[i].growth.verdict);
}

static int put_groups(struct goroutine_recorder *recorder, int64_t reading,
		      const struct task_report *report, struct task_report *head)
{
	int64_t position = 0;
	int error = 0;

	for (size_t i = 0; i < report->groups.count && !error; i++) {
		if (is_kept(report, i) && position < GOROUTINE_GROUPS_KEPT) {
			error = put_group(recorder, reading, position++, &report->groups.items[i]);
			continue;
		}
		head->left_groups++;
		head->left_count += report->groups.items[i].count;
	}
	recorder->rows += (uint64_t)position;
	return error;
}

static int64_t time_ns_of(const struct task_reading *reading)
{
	return (int64_t)timespec_ns(&reading->time);
}

static int put(struct goroutine_recorder *recorder, const struct task_reading *reading)
{
	struct task_report head = reading->report; /* borrowed */
	int64_t id;
	int error = database_integer(recorder->database,
				     "SELECT ifnull(max(id),0)+1 FROM goroutines", &id);

	if (!error)
		error = put_groups(recorder, id, &reading->report, &head);
	if (!error)
		error = database_bind(recorder->head, "iiiit", id, time_ns_of(reading),
				      (int64_t)reading->pid, (int64_t)reading->start_ticks,
				      reading->comm);
	if (!error)
		error = figure_row_bind(recorder->head, HEAD_KEYS + 1, &head_rows, &head);
	return error ? error : database_next(recorder->head);
}

#define NEITHER_END                                                                                \
	" id NOT IN (SELECT min(id) FROM goroutines GROUP BY pid,start_ticks"                      \
	" UNION ALL SELECT max(id) FROM goroutines GROUP BY pid,start_ticks)"

static int forget(struct goroutine_recorder *recorder, const char *which)
{
	char sql[512];
	int64_t rows = 0;
	int error;

	snprintf(sql, sizeof(sql), "DELETE FROM goroutines WHERE" NEITHER_END " AND %s", which);
	error = database_run(recorder->database, sql);
	if (!error && sqlite3_changes(recorder->database))
		error = database_run(recorder->database,
				     "DELETE FROM goroutine_groups WHERE reading NOT IN"
				     " (SELECT id FROM goroutines)");
	if (!error)
		error = database_integer(recorder->database,
					 "SELECT count(*) FROM goroutine_groups", &rows);
	if (!error)
		recorder->rows = (uint64_t)rows;
	return error;
}

/* Drops what --keep no longer allows. */
static int keep(struct goroutine_recorder *recorder, const struct task_reading *reading)
{
	uint64_t room = recorder->options.keep_bytes / GOROUTINES_SHARE / GROUP_BYTES;
	int error = 0;

	if (recorder->options.keep_ns) {
		char which[64];
		int64_t since = time_ns_of(reading) - (int64_t)recorder->options.keep_ns, old;

		snprintf(which, sizeof(which), "time_ns<%" PRId64, since);
		error = database_integer(
			recorder->database,
			"SELECT ifnull(min(time_ns),0) FROM goroutines WHERE" NEITHER_END, &old);
		if (!error && old < since)
			error = forget(recorder, which);
	}
	if (!error && room && recorder->rows > room)
		error = forget(recorder, "id IN (SELECT id FROM (SELECT id,row_number() OVER"
					 " (ORDER BY id) AS place FROM goroutines)"
					 " WHERE place%2=0)");
	return error;
}

int goroutine_recorder_append(struct goroutine_recorder *recorder,
			      const struct task_reading *reading)
{
	uint64_t rows = recorder->rows;
	int error = database_run(recorder->database, "BEGIN IMMEDIATE");

	if (!error)
		error = put(recorder, reading);
	if (!error)
		error = keep(recorder, reading);
	if (!error)
		error = database_run(recorder->database, "COMMIT");
	if (!error) {
		recorder->count++;
		return 0;
	}
	log_error("these goroutines are not in the recording %s: %s (%s); what was in it still is",
		  recorder->path, strerror(-error), sqlite3_errmsg(recorder->database));
	database_run(recorder->database, "ROLLBACK");
	recorder->rows = rows;
	recorder->missed++;
	return error;
}

static int prepare(struct goroutine_recorder *recorder)
{
	int64_t rows = 0;
	int error = figure_rows_insert(recorder->database, &head_rows, &recorder->head);

	if (!error)
		error = figure_rows_insert(recorder->database, &group_rows, &recorder->group);
	if (!error)
		error = database_errno(sqlite3_prepare_v2(recorder->database, STORED_STACK_INSERT,
							  -1, &recorder->frames, NULL));
	if (!error)
		error = database_integer(recorder->database,
					 "SELECT count(*) FROM goroutine_groups", &rows);
	recorder->rows = (uint64_t)rows;
	return error;
}

int goroutine_recorder_open(struct goroutine_recorder **recorder, const char *path,
			    const struct recorder_options *options)
{
	struct goroutine_recorder *made = calloc(1, sizeof(*made));
	int error;

	if (made)
		made->path = strdup(path);
	if (!made || !made->path) {
		free(made);
		log_error("out of memory");
		return -ENOMEM;
	}
	made->options = *options;
	error = recorder_file_reopen(path, &made->database);
	if (!error) {
		error = prepare(made);
		if (error)
			log_error("cannot record to %s: %s", path, strerror(-error));
	}
	if (error)
		goroutine_recorder_close(made);
	else
		*recorder = made;
	return error;
}

uint64_t goroutine_recorder_count(const struct goroutine_recorder *recorder)
{
	return recorder ? recorder->count : 0;
}

uint64_t goroutine_recorder_missed(const struct goroutine_recorder *recorder)
{
	return recorder ? recorder->missed : 0;
}

void goroutine_recorder_close(struct goroutine_recorder *recorder)
{
	if (!recorder)
		return;
	sqlite3_finalize(recorder->head);
	sqlite3_finalize(recorder->group);
	sqlite3_finalize(recorder->frames);
	recorder_file_close(recorder->database);
	free(recorder->path);
	free(recorder);
}

/* -------- reading: the file is untrusted */

struct reader {
	struct recording *recording;
	struct task_report *report;
	sqlite3_stmt *frames;
	int error;
};

static void read_stack(struct reader *reader, sqlite3_stmt *row, int column, struct frames *frames)
{
	const char *stack = database_text(row, column);

	if (stack && !reader->error)
		reader->error =
			stored_stack_read(reader->recording, &reader->recording->strings,
					  reader->frames, strtoull(stack, NULL, 16), frames);
}

static void read_group(struct reader *reader, sqlite3_stmt *row)
{
	struct task_group *group;

	if (database_unsigned(row, 1, &reader->error) != reader->report->groups.count ||
	    reader->report->groups.count >= GROUPS_MAX)
		reader->error = -EUCLEAN;
	group = reader->error ? NULL : vec_push(&reader->report->groups);
	if (!group) {
		reader->error = reader->error ? reader->error : -ENOMEM;
		return;
	}
	figure_row_read(row, GROUP_KEYS, &group_rows, group, &reader->recording->strings,
			&reader->error);
	if (!group->state)
		group->state = "";
	read_stack(reader, row, 2, &group->stack);
	read_stack(reader, row, 3, &group->creator);
}

static void read_head(struct reader *reader, sqlite3_stmt *row)
{
	figure_row_read(row, HEAD_KEYS, &head_rows, reader->report, &reader->recording->strings,
			&reader->error);
}

static int read_rows(struct reader *reader, const struct figure_rows *rows, int64_t number,
		     void (*read)(struct reader *, sqlite3_stmt *))
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error = figure_rows_select(reader->recording->database, rows, &statement);

	if (!error)
		error = database_bind(statement, "i", number);
	while (!error && (more = database_next(statement)) != 0) {
		if (more > 0)
			read(reader, statement);
		error = more < 0 ? more : reader->error;
	}
	return error;
}

int recording_read_goroutines(struct recording *recording, size_t position,
			      struct task_report *report)
{
	struct task_report made = {0};
	struct reader reader = {.recording = recording, .report = &made};
	int64_t number = recording->goroutines.items[position].number;
	int error;

	recording_begin(recording);
	error = stored_stacks_prepare(recording, &reader.frames);

	if (!error)
		error = read_rows(&reader, &head_rows, number, read_head);
	if (!error)
		error = read_rows(&reader, &group_rows, number, read_group);
	sqlite3_finalize(reader.frames);
	if (error) {
		task_report_free(&made);
		return recording_fail(recording, error, "its goroutines");
	}
	*report = made;
	return 0;
}

static int run_add(struct recording *recording, sqlite3_stmt *row)
{
	struct recording_goroutines *run = vec_push(&recording->goroutines);
	const char *comm = database_text(row, 4);
	int error = 0;
	uint64_t time_ns, pid;

	if (!run)
		return -ENOMEM;
	run->number = (int64_t)database_unsigned(row, 0, &error);
	time_ns = database_unsigned(row, 1, &error);
	run->time = (struct timespec){.tv_sec = (time_t)(time_ns / (uint64_t)NS_PER_S),
				      .tv_nsec = (long)(time_ns % (uint64_t)NS_PER_S)};
	pid = database_unsigned(row, 2, &error);
	run->pid = (pid_t)pid;
	run->start_ticks = database_unsigned(row, 3, &error);
	snprintf(run->comm, sizeof(run->comm), "%s", comm ? comm : "");
	run->count = database_unsigned(row, 5, &error);
	if (!error && (pid > INT32_MAX || recording->goroutines.count > READINGS_MAX))
		error = -EUCLEAN;
	return error;
}

int recording_list_goroutines(struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error;

	error = database_errno(sqlite3_prepare_v2(
		recording->database,
		"SELECT id,time_ns,pid,start_ticks,comm,count FROM goroutines ORDER BY id", -1,
		&statement, NULL));
	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : run_add(recording, statement);
	return error ? recording_fail(recording, error, "its goroutines") : 0;
}

const struct recording_goroutines *recording_goroutines(const struct recording *recording,
							size_t *count)
{
	*count = recording->goroutines.count;
	return recording->goroutines.items;
}

/* -------- over time */

static bool is_same_process(const struct recording_goroutines *one,
			    const struct recording_goroutines *other)
{
	return one->pid == other->pid && one->start_ticks == other->start_ticks;
}

/* Times that a graph can show, including the last one; `places`: reading -> time, plus 1. */
static int series_times(const struct recording *recording, size_t position,
			struct task_series *series, struct hash *places)
{
	const struct recording_goroutines *all = recording->goroutines.items;
	size_t count = 0, step, left;

	for (size_t i = 0; i <= position; i++)
		count += is_same_process(&all[i], &all[position]);
	step = MAX((count + SERIES_TIMES - 1) / SERIES_TIMES, 1);
	left = count ? (count - 1) % step : 0;
	for (size_t i = 0; i <= position; i++) {
		struct timespec *time;
		uint64_t *place;

		if (!is_same_process(&all[i], &all[position]) || left--)
			continue;
		left = step - 1;
		time = vec_push(&series->times);
		place = hash_put(places, (uint64_t)all[i].number, NULL);
		if (!time || !place)
			return -ENOMEM;
		*time = all[i].time;
		*place = series->times.count;
	}
	return 0;
}

static int count_read(sqlite3_stmt *row, const struct hash *places, struct task_series *series)
{
	const char *id = database_text(row, 1);
	int error = id ? 0 : -EUCLEAN;
	const uint64_t *place = hash_get(places, database_unsigned(row, 0, &error));
	uint64_t count = database_unsigned(row, 2, &error);

	if (error || !id || !place)
		return error;
	return task_series_put(series, strtoull(id, NULL, 16), *place - 1, count);
}

static int series_counts(const struct recording *recording, int64_t number,
			 const struct hash *places, struct task_series *series)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error;

	error = database_errno(sqlite3_prepare_v2(
		recording->database,
		"SELECT reading,group_id,count FROM goroutine_groups WHERE reading<=?1 AND"
		" group_id IN (SELECT group_id FROM goroutine_groups WHERE reading=?1)",
		-1, &statement, NULL));
	if (!error)
		error = database_bind(statement, "i", number);
	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : count_read(statement, places, series);
	return error;
}

int recording_goroutine_series(struct recording *recording, size_t position,
			       struct task_series *series)
{
	struct task_series made = {0};
	struct hash places = {0};
	int error;

	recording_begin(recording);
	error = series_times(recording, position, &made, &places);

	if (!error)
		error = series_counts(recording, recording->goroutines.items[position].number,
				      &places, &made);
	hash_free(&places);
	if (error) {
		task_series_free(&made);
		return recording_fail(recording, error, "its goroutines");
	}
	*series = made;
	return 0;
}
