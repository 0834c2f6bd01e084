// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/retain_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "report/retain_result.h"
#include "report/store/database.h"
#include "report/store/figure_rows.h"
#include "report/store/heap_profile_rows.h"
#include "report/store/recorder_state.h"
#include "report/store/recording_state.h"

enum table { HEAD, ROOTS, CLASSES, LEAKS, PATHS, STEPS, SAMPLES, TABLES };

/* In reading order: rows refer to rows of earlier tables. */
static const struct figure_rows tables[] = {
	[HEAD] = {"retains",
		  "label",
		  "id",
		  "id",
		  {&retain_head_figures, &retain_image_figures, &retain_total_figures}},
	[ROOTS] = {"retain_roots",
		   "retain,root",
		   "retain",
		   "root",
		   {&retained_root_figures, &retained_root_amounts}},
	[CLASSES] = {"retain_classes",
		     "retain,class,stack",
		     "retain",
		     "class",
		     {&retained_class_figures, &retained_class_amounts}},
	[LEAKS] = {"retain_leaks",
		   "retain,position,stack",
		   "retain",
		   "position",
		   {&retained_leak_figures}},
	[PATHS] = {"retain_paths", "retain,path", "retain", "path", {&retained_path_figures}},
	[STEPS] = {"retain_steps",
		   "retain,position,path",
		   "retain",
		   "path,position",
		   {&retained_step_figures}},
	[SAMPLES] = {"retain_samples",
		     "retain,position,stack,root",
		     "retain",
		     "position",
		     {&retained_sample_figures}},
};
_Static_assert(ARRAY_SIZE(tables) == TABLES, "every table");

/* Number of columns before the figures. */
static const int keys[] = {[HEAD] = 1,	[ROOTS] = 2, [CLASSES] = 3, [LEAKS] = 3,
			   [PATHS] = 2, [STEPS] = 3, [SAMPLES] = 4};

struct retain_reader {
	struct recording *recording;
	struct retain_result *result;
	struct hash sites; /* a stack's number -> index in sites, plus 1 */
	int error;	   /* of any row so far */
};

/* More than any genuine run has; a file with more was made to take for ever. */
#define ROWS_MAX (1u << 24)

static void figures_into(struct retain_reader *reader, enum table table, sqlite3_stmt *statement,
			 void *row)
{
	figure_row_read(statement, keys[table], &tables[table], row, &reader->result->strings,
			&reader->error);
}

static void expect_below(struct retain_reader *reader, uint64_t number, uint64_t end)
{
	if (number >= end && !reader->error)
		reader->error = -EUCLEAN;
}

/* Rows are numbered from 0 on, without gaps. */
static bool is_next(struct retain_reader *reader, sqlite3_stmt *row, size_t count)
{
	expect_below(reader, count, ROWS_MAX);
	if (database_unsigned(row, 1, &reader->error) != count)
		expect_below(reader, 1, 1);
	return !reader->error;
}

/* Returns the row's entry in its table's vector; NULL: an error. */
#define row_push(reader, row, rows)                                                                \
	({                                                                                         \
		__typeof__((rows)->items) pushed_ = NULL;                                          \
		if (is_next((reader), (row), (rows)->count))                                       \
			pushed_ = vec_push(rows);                                                  \
		if (!pushed_ && !(reader)->error)                                                  \
			(reader)->error = -ENOMEM;                                                 \
		pushed_;                                                                           \
	})

/* Returns the site of a stack's number, made at its first use; 0: none. */
static uint32_t site(struct retain_reader *reader, sqlite3_stmt *row, int column)
{
	const char *stack = database_text(row, column);
	struct retained_site *added;
	uint64_t id, *known;

	if (!stack)
		return 0;
	id = strtoull(stack, NULL, 16);
	known = hash_put(&reader->sites, id, NULL);
	if (known && !*known) {
		added = vec_push(&reader->result->sites);
		if (added)
			added->id = id;
		*known = added ? reader->result->sites.count : 0;
	}
	if (!known || !*known) {
		reader->error = -ENOMEM;
		return 0;
	}
	return (uint32_t)*known;
}

static void head_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	figures_into(reader, HEAD, row, reader->result);
}

static void root_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retain_result *result = reader->result;
	struct retained_root *root = row_push(reader, row, &result->roots);

	if (!root)
		return;
	figures_into(reader, ROOTS, row, root);
	/* Ranked: roots that lead to nothing come last. */
	if (root->led.blocks || root->retained.blocks)
		result->retaining = result->roots.count;
}

static void class_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_class *class = row_push(reader, row, &reader->result->classes);

	if (!class)
		return;
	class->site = site(reader, row, 2);
	figures_into(reader, CLASSES, row, class);
}

static void leak_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_leak *leak = row_push(reader, row, &reader->result->leaks);

	if (!leak)
		return;
	leak->site = site(reader, row, 2);
	figures_into(reader, LEAKS, row, leak);
	expect_below(reader, leak->class, reader->result->classes.count);
}

static void path_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_path *path = row_push(reader, row, &reader->result->paths);

	if (!path)
		return;
	figures_into(reader, PATHS, row, path);
	expect_below(reader, path->class, reader->result->classes.count);
	expect_below(reader, path->root, reader->result->roots.count);
}

static void step_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	uint64_t path = database_unsigned(row, 2, &reader->error);
	struct retained_step *step;

	expect_below(reader, path, reader->result->paths.count);
	if (reader->error)
		return;
	step = row_push(reader, row, &reader->result->paths.items[path].steps);
	if (!step)
		return;
	figures_into(reader, STEPS, row, step);
	expect_below(reader, step->class, reader->result->classes.count);
}

static void sample_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_sample *sample = row_push(reader, row, &reader->result->samples);
	bool rooted = sqlite3_column_type(row, 3) != SQLITE_NULL;
	uint64_t root = rooted ? database_unsigned(row, 3, &reader->error) : 0;

	if (!sample)
		return;
	sample->site = site(reader, row, 2);
	sample->root = rooted ? (uint32_t)root : RESULT_NONE;
	figures_into(reader, SAMPLES, row, sample);
	expect_below(reader, sample->class, reader->result->classes.count);
	expect_below(reader, root, rooted ? reader->result->roots.count : 1);
}

/* Reads a result of `leakmon retain`. The file is untrusted. */

/* More than any genuine recording has; a file with more was made to take for ever. */
#define RUNS_MAX (1u << 20)

static const struct {
	void (*read)(struct retain_reader *reader, sqlite3_stmt *row);
	const char *what; /* for a message about damage */
} readers[] = {
	[HEAD] = {head_read, "a run"},
	[ROOTS] = {root_read, "its roots"},
	[CLASSES] = {class_read, "its classes"},
	[LEAKS] = {leak_read, "its leaks"},
	[PATHS] = {path_read, "its paths"},
	[STEPS] = {step_read, "its paths"},
	[SAMPLES] = {sample_read, "its samples"},
};
_Static_assert(ARRAY_SIZE(readers) == TABLES, "every table");

static int read_table(struct retain_reader *reader, enum table table, int64_t run)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error;

	error = figure_rows_select(reader->recording->database, &tables[table], &statement);
	if (!error)
		error = database_bind(statement, "i", run);
	while (!error && (more = database_next(statement)) != 0) {
		if (more > 0)
			readers[table].read(reader, statement);
		error = more < 0 ? more : reader->error;
	}
	return error ? recording_fail(reader->recording, error, readers[table].what) : 0;
}

static int read_stacks(struct retain_reader *reader)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = stored_stacks_prepare(reader->recording, &statement);

	for (size_t i = 0; i < reader->result->sites.count && !error; i++)
		error = stored_stack_read(reader->recording, &reader->result->strings, statement,
					  reader->result->sites.items[i].id,
					  &reader->result->sites.items[i].frames);
	return error ? recording_fail(reader->recording, error, "its stacks") : 0;
}

/* Checks that no path is empty. */
static int check_paths(const struct retain_reader *reader)
{
	for (size_t i = 0; i < reader->result->paths.count; i++) {
		if (!reader->result->paths.items[i].steps.count)
			return recording_fail(reader->recording, -EUCLEAN, "its paths");
	}
	return 0;
}

static int read_heap_profile(const struct retain_reader *reader, int64_t run)
{
	int error = heap_profile_rows_read(reader->recording, run, reader->result);

	return error ? recording_fail(reader->recording, error, "its heap profile") : 0;
}

int recording_read_retain(struct recording *recording, size_t position,
			  struct retain_result *result)
{
	struct retain_result made = {0};
	struct retain_reader reader = {.recording = recording, .result = &made};
	int error = 0;

	recording_begin(recording);
	for (enum table i = 0; i < TABLES && !error; i++)
		error = read_table(&reader, i, recording->retains.items[position].number);
	if (!error)
		error = read_stacks(&reader);
	if (!error)
		error = check_paths(&reader);
	if (!error)
		error = read_heap_profile(&reader, recording->retains.items[position].number);
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

struct writer {
	sqlite3 *database;
	const struct retain_result *result;
	int64_t number;
};

struct stack_text {
	char text[17];
};

/* Returns NULL if unknown. */
static const char *stack_of(const struct writer *writer, uint32_t number, struct stack_text *room)
{
	const struct retained_site *site = retained_site(writer->result, number);

	if (!site)
		return NULL;
	snprintf(room->text, sizeof(room->text), "%016" PRIx64, site->id);
	return room->text;
}

/* Binds figures after the parameters already bound. */
static int put_figures(sqlite3_stmt *statement, enum table table, const void *row)
{
	int error = figure_row_bind(statement, keys[table] + 1, &tables[table], row);

	return error ? error : database_next(statement);
}

static int put_root(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	int error = database_bind(statement, "ii", writer->number, (int64_t)i);

	return error ? error : put_figures(statement, ROOTS, &writer->result->roots.items[i]);
}

static int put_class(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_class *class = &writer->result->classes.items[i];
	struct stack_text room;
	int error = database_bind(statement, "iit", writer->number, (int64_t)i,
				  stack_of(writer, class->site, &room));

	return error ? error : put_figures(statement, CLASSES, class);
}

static int put_leak(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_leak *leak = &writer->result->leaks.items[i];
	struct stack_text room;
	int error = database_bind(statement, "iit", writer->number, (int64_t)i,
				  stack_of(writer, leak->site, &room));

	return error ? error : put_figures(statement, LEAKS, leak);
}

static int put_path(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	int error = database_bind(statement, "ii", writer->number, (int64_t)i);

	return error ? error : put_figures(statement, PATHS, &writer->result->paths.items[i]);
}

static int put_steps(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_path *path = &writer->result->paths.items[i];
	int error = 0;

	for (size_t j = 0; j < path->steps.count && !error; j++) {
		error = database_bind(statement, "iii", writer->number, (int64_t)j, (int64_t)i);
		if (!error)
			error = put_figures(statement, STEPS, &path->steps.items[j]);
	}
	return error;
}

static int put_sample(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_sample *sample = &writer->result->samples.items[i];
	const char *types = sample->root == RESULT_NONE ? "iitn" : "iiti";
	struct stack_text room;
	int error = database_bind(statement, types, writer->number, (int64_t)i,
				  stack_of(writer, sample->site, &room), (int64_t)sample->root);

	return error ? error : put_figures(statement, SAMPLES, sample);
}

static int put_frames(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_site *site = &writer->result->sites.items[i];

	return stored_stack_put(statement, site->id, &site->frames);
}

/* Lines come late: the latest stack replaces the earlier one. */
static int forget_frames(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	struct stack_text room;

	return database_do(statement, "t", stack_of(writer, (uint32_t)i + 1, &room));
}

static const struct {
	enum table table;
	const char *sql; /* NULL: that table's */
	size_t count;	 /* offset of the row count in the result */
	int (*put)(struct writer *, sqlite3_stmt *, size_t);
} writers[] = {
	{ROOTS, NULL, offsetof(struct retain_result, roots.count), put_root},
	{CLASSES, NULL, offsetof(struct retain_result, classes.count), put_class},
	{LEAKS, NULL, offsetof(struct retain_result, leaks.count), put_leak},
	{PATHS, NULL, offsetof(struct retain_result, paths.count), put_path},
	{STEPS, NULL, offsetof(struct retain_result, paths.count), put_steps},
	{SAMPLES, NULL, offsetof(struct retain_result, samples.count), put_sample},
	{TABLES, "DELETE FROM retain_stacks WHERE stack=?",
	 offsetof(struct retain_result, sites.count), forget_frames},
	/* Two sites of one stack differ only in uncompared properties. */
	{TABLES, STORED_STACK_INSERT, offsetof(struct retain_result, sites.count), put_frames},
};

static int put_rows(struct writer *writer, size_t i)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	size_t count =
		*(const size_t *)(const void *)((const char *)writer->result + writers[i].count);
	int error = writers[i].sql
			    ? database_errno(sqlite3_prepare_v2(writer->database, writers[i].sql,
								-1, &statement, NULL))
			    : figure_rows_insert(writer->database, &tables[writers[i].table],
						 &statement);

	for (size_t row = 0; row < count && !error; row++)
		error = writers[i].put(writer, statement, row);
	return error;
}

static int put_all(struct writer *writer, const char *label)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = figure_rows_insert(writer->database, &tables[HEAD], &statement);

	if (!error)
		error = database_bind(statement, "t", label);
	if (!error)
		error = put_figures(statement, HEAD, writer->result);
	writer->number = sqlite3_last_insert_rowid(writer->database);
	for (size_t i = 0; i < ARRAY_SIZE(writers) && !error; i++)
		error = put_rows(writer, i);
	if (!error)
		error = heap_profile_rows_put(writer->database, writer->number, writer->result);
	return error;
}

static int append(struct writer *writer, const char *label)
{
	int error = database_run(writer->database, "BEGIN IMMEDIATE");

	if (error)
		return error;
	error = put_all(writer, label);
	if (!error)
		error = database_run(writer->database, "COMMIT");
	if (error)
		database_run(writer->database, "ROLLBACK");
	return error;
}

int retain_writer_append(const char *path, const struct retain_result *result, const char *label,
			 int64_t *number)
{
	struct writer writer = {.result = result};
	int error = recorder_file_reopen(path, &writer.database);

	if (error)
		return error;
	error = append(&writer, label);
	if (error)
		log_error("this run is not in the recording %s: %s (%s); what was in it still is",
			  path, strerror(-error), sqlite3_errmsg(writer.database));
	else
		*number = writer.number;
	recorder_file_close(writer.database);
	return error;
}
