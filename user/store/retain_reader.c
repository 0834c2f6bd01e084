// SPDX-License-Identifier: GPL-2.0-or-later
/* From a recording to a result of `leakmon retain`. Nothing in the file is believed. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/recording_state.h"
#include "store/retain_rows.h"

/* No recording of ours has more; a file that says so was made to be read for ever. */
#define RUNS_MAX (1u << 20)

static int read_table(struct retain_reader *reader, size_t table, int64_t run)
{
	const struct retain_table *it = &retain_tables[table];
	bool old = reader->recording->version == 2 && it->sql_of_2;
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error = database_errno(sqlite3_prepare_v2(reader->recording->database,
								old ? it->sql_of_2 : it->sql, -1,
								&statement, NULL));

	if (!error)
		error = database_bind(statement, "i", run);
	while (!error && (more = database_next(statement)) != 0) {
		if (more > 0)
			it->read(reader, statement);
		error = more < 0 ? more : reader->error;
	}
	return error ? recording_fail(reader->recording, error, it->what) : 0;
}

static void frame_read(struct retain_reader *reader, sqlite3_stmt *row, struct frame *frame)
{
	int64_t line = sqlite3_column_int64(row, 7);

	frame->module = retain_row_text(reader, row, 0);
	frame->build_id = retain_row_text(reader, row, 1);
	frame->module_offset = (uint64_t)sqlite3_column_int64(row, 2);
	frame->address = (uint64_t)sqlite3_column_int64(row, 3);
	frame->function = retain_row_text(reader, row, 4);
	frame->offset = (uint64_t)sqlite3_column_int64(row, 5);
	frame->file = retain_row_text(reader, row, 6);
	frame->line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	frame->inlined = sqlite3_column_int64(row, 8) != 0;
	frame->why = retain_row_text(reader, row, 9);
}

static int stack_read(struct retain_reader *reader, sqlite3_stmt *statement,
		      struct retained_site *site)
{
	char stack[17];
	int more = 0, error;

	snprintf(stack, sizeof(stack), "%016llx", (unsigned long long)site->id);
	error = database_bind(statement, "t", stack);
	while (!error && (more = database_next(statement)) != 0) {
		struct frame *frame = more < 0 ? NULL : vec_push(&site->frames.list);

		if (frame)
			frame_read(reader, statement, frame);
		else
			reader->error = more < 0 ? more : -ENOMEM;
		if (site->frames.list.count > RECORDING_DEPTH_MAX)
			reader->error = -EUCLEAN;
		error = reader->error;
	}
	sqlite3_reset(statement);
	return error;
}

static int read_stacks(struct retain_reader *reader)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = database_errno(sqlite3_prepare_v2(
		reader->recording->database,
		"SELECT module,build_id,offset,address,function,function_offset,file,line,inlined,"
		"why FROM retain_stacks WHERE stack=? ORDER BY position",
		-1, &statement, NULL));

	for (size_t i = 0; i < reader->result->sites.count && !error; i++)
		error = stack_read(reader, statement, &reader->result->sites.items[i]);
	return error ? recording_fail(reader->recording, error, "its stacks") : 0;
}

/* A path leads somewhere. */
static int check_paths(const struct retain_reader *reader)
{
	for (size_t i = 0; i < reader->result->paths.count; i++) {
		if (!reader->result->paths.items[i].steps.count)
			return recording_fail(reader->recording, -EUCLEAN, "its paths");
	}
	return 0;
}

int recording_read_retain(struct recording *recording, size_t position,
			  struct retain_result *result)
{
	struct retain_result made = {0};
	struct retain_reader reader = {.recording = recording, .result = &made};
	int error = 0;

	for (size_t i = 0; i < RETAIN_TABLES && !error; i++)
		error = read_table(&reader, i, recording->retains.items[position].number);
	if (!error)
		error = read_stacks(&reader);
	if (!error)
		error = check_paths(&reader);
	hash_free(&reader.sites);
	retain_result_identify(&made);
	if (error)
		retain_result_free(&made);
	else
		*result = made;
	return error;
}

static int run_add(struct recording *recording, sqlite3_stmt *row)
{
	struct recording_retain *run = vec_push(&recording->retains);
	int error = 0;
	uint64_t time_ns = database_unsigned(row, 1, &error);
	const char *comm = database_text(row, 3);

	if (!run)
		return -ENOMEM;
	run->number = (int64_t)database_unsigned(row, 0, &error);
	run->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
				      .tv_nsec = (long)(time_ns % 1000000000)};
	run->pid = (pid_t)sqlite3_column_int(row, 2);
	snprintf(run->comm, sizeof(run->comm), "%s", comm ? comm : "");
	run->label = recording_text(recording, row, 4, &error);
	return !error && recording->retains.count > RUNS_MAX ? -EUCLEAN : error;
}

int recording_list_retains(struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error;

	if (recording->version < 2)
		return 0;
	error = database_errno(sqlite3_prepare_v2(
		recording->database, "SELECT id,time_ns,pid,comm,label FROM retains ORDER BY id",
		-1, &statement, NULL));
	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : run_add(recording, statement);
	return error ? recording_fail(recording, error, "its retain runs") : 0;
}

const struct recording_retain *recording_retains(const struct recording *recording, size_t *count)
{
	*count = recording->retains.count;
	return recording->retains.items;
}
