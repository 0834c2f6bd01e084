// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/retain_writer.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recorder_file.h"
#include "store/retain_columns.h"

struct writer {
	sqlite3 *database;
	const struct retain_result *result;
	int64_t number;
};

/* A number of the target's that may be anything, as readers can take it. */
static int64_t plain(uint64_t number)
{
	return (int64_t)(number & INT64_MAX);
}

struct stack_text {
	char text[17];
};

/* NULL: not known. */
static const char *stack_of(const struct writer *writer, uint32_t number, struct stack_text *room)
{
	const struct retained_site *site = retained_site(writer->result, number);

	if (!site)
		return NULL;
	snprintf(room->text, sizeof(room->text), "%016" PRIx64, site->id);
	return room->text;
}

static int put_head(struct writer *writer, sqlite3_stmt *statement, const char *label)
{
	const struct retain_result *result = writer->result;
	int64_t time_ns = (int64_t)result->time.tv_sec * 1000000000 + result->time.tv_nsec;
	int error = database_bind(
		statement, "ititttiiii", (int64_t)time_ns, label, (int64_t)result->pid,
		result->comm, result->allocator, result->why_not_stopped, (int64_t)result->settled,
		(int64_t)result->stopped, (int64_t)result->soft_dirty, (int64_t)result->pagemap);
	int column = RETAIN_HEAD_COLUMNS;

	for (size_t i = 0; i < RETAINED_NUMBER_MAX_ && !error; i++)
		error = database_errno(
			sqlite3_bind_int64(statement, ++column, plain(result->numbers[i])));
	for (size_t i = 0; i < RETAIN_TOTALS && !error; i++) {
		const struct retention_total *total = retain_total_at_const(result, i);

		error = database_errno(
			sqlite3_bind_int64(statement, ++column, plain(total->blocks)));
		if (!error)
			error = database_errno(
				sqlite3_bind_int64(statement, ++column, plain(total->bytes)));
	}
	return error ? error : database_next(statement);
}

static int put_root(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_root *root = &writer->result->roots.items[i];

	return database_do(statement, "iitttiiitiiiiiii", writer->number, (int64_t)i,
			   root_kind_name(root->kind), root->name, root->module,
			   plain(root->address), plain(root->offset), (int64_t)root->tid,
			   root->comm, plain(root->words), plain(root->retained.blocks),
			   plain(root->retained.bytes), plain(root->led.blocks),
			   plain(root->led.bytes), (int64_t)root->through, (int64_t)root->threads);
}

static int put_class(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_class *class = &writer->result->classes.items[i];
	const struct retention_total *verdicts = class->verdicts;
	struct stack_text room;

	return database_do(
		statement, "iitttiitiiiiiiiii", writer->number, (int64_t)i,
		class_kind_name(class->kind), class->name, class->module, plain(class->offset),
		plain(class->size), stack_of(writer, class->site, &room), (int64_t) class->distance,
		plain(class->total.blocks), plain(class->total.bytes),
		plain(verdicts[VERDICT_HELD].blocks), plain(verdicts[VERDICT_HELD].bytes),
		plain(verdicts[VERDICT_UNTRACKED].blocks), plain(verdicts[VERDICT_UNTRACKED].bytes),
		plain(verdicts[VERDICT_LOST].blocks), plain(verdicts[VERDICT_LOST].bytes));
}

static int put_leak(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_leak *leak = &writer->result->leaks.items[i];
	struct stack_text room;

	return database_do(statement, "iiitiiiii", writer->number, (int64_t)i, (int64_t)leak->class,
			   stack_of(writer, leak->site, &room), plain(leak->example),
			   plain(leak->direct.blocks), plain(leak->direct.bytes),
			   plain(leak->indirect.blocks), plain(leak->indirect.bytes));
}

static int put_path(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_path *path = &writer->result->paths.items[i];

	return database_do(statement, "iiiiii", writer->number, (int64_t)i, (int64_t)path->class,
			   (int64_t)path->root, plain(path->sharing), plain(path->sampled));
}

static int put_steps(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_path *path = &writer->result->paths.items[i];
	int error = 0;

	for (size_t j = 0; j < path->steps.count && !error; j++) {
		const struct retained_step *step = &path->steps.items[j];

		error = database_do(statement, "iiiiiiiii", writer->number, (int64_t)i, (int64_t)j,
				    plain(step->offset), plain(step->address), plain(step->size),
				    (int64_t)step->class, (int64_t)step->width,
				    (int64_t)step->repeated);
	}
	return error;
}

static int put_sample(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct retained_sample *sample = &writer->result->samples.items[i];
	bool rooted = sample->root != RESULT_NONE;
	struct stack_text room;
	int error = database_bind(statement, "iitiitii", writer->number, (int64_t)i,
				  verdict_name(sample->verdict), (int64_t)sample->root,
				  (int64_t)sample->class, stack_of(writer, sample->site, &room),
				  plain(sample->total.blocks), plain(sample->total.bytes));

	if (!error && !rooted)
		error = database_errno(sqlite3_bind_null(statement, 4));
	return error ? error : database_next(statement);
}

static int put_frames(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	const struct frames *frames = &writer->result->sites.items[i].frames;
	struct stack_text room;
	const char *stack = stack_of(writer, (uint32_t)i + 1, &room);
	int error = 0;

	for (size_t j = 0; j < frames->list.count && !error; j++) {
		const struct frame *frame = &frames->list.items[j];

		error = database_do(statement, "tittiititiit", stack, (int64_t)j, frame->module,
				    frame->build_id, plain(frame->module_offset),
				    plain(frame->address), frame->function, plain(frame->offset),
				    frame->file, (int64_t)frame->line, (int64_t)frame->inlined,
				    frame->why);
	}
	return error;
}

/* Lines come late: the latest stack is the one that is kept. */
static int forget_frames(struct writer *writer, sqlite3_stmt *statement, size_t i)
{
	struct stack_text room;

	return database_do(statement, "t", stack_of(writer, (uint32_t)i + 1, &room));
}

static const struct {
	const char *sql;
	size_t count; /* offset in the result of how many there are */
	int (*put)(struct writer *, sqlite3_stmt *, size_t);
} tables[] = {
	{"INSERT INTO retain_roots VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	 offsetof(struct retain_result, roots.count), put_root},
	{"INSERT INTO retain_classes VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	 offsetof(struct retain_result, classes.count), put_class},
	{"INSERT INTO retain_leaks VALUES(?,?,?,?,?,?,?,?,?)",
	 offsetof(struct retain_result, leaks.count), put_leak},
	{"INSERT INTO retain_paths VALUES(?,?,?,?,?,?)",
	 offsetof(struct retain_result, paths.count), put_path},
	{"INSERT INTO retain_steps VALUES(?,?,?,?,?,?,?,?,?)",
	 offsetof(struct retain_result, paths.count), put_steps},
	{"INSERT INTO retain_samples VALUES(?,?,?,?,?,?,?,?)",
	 offsetof(struct retain_result, samples.count), put_sample},
	{"DELETE FROM retain_stacks WHERE stack=?", offsetof(struct retain_result, sites.count),
	 forget_frames},
	/* Two sites of one stack differ in what is not compared. */
	{"INSERT OR REPLACE INTO retain_stacks VALUES(?,?,?,?,?,?,?,?,?,nullif(?,0),?,?)",
	 offsetof(struct retain_result, sites.count), put_frames},
};

static int put_table(struct writer *writer, size_t table)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	size_t count =
		*(const size_t *)(const void *)((const char *)writer->result + tables[table].count);
	int error = database_errno(
		sqlite3_prepare_v2(writer->database, tables[table].sql, -1, &statement, NULL));

	for (size_t i = 0; i < count && !error; i++)
		error = tables[table].put(writer, statement, i);
	return error;
}

#define FIVE "?,?,?,?,?,"
static const char put_retain_sql[] = "INSERT INTO retains(" RETAIN_RUN_COLUMNS(
	"dropped") ") VALUES(" FIVE FIVE FIVE FIVE FIVE FIVE FIVE "?,?,?,?,?)";
_Static_assert(RETAIN_HEAD_COLUMNS + RETAINED_NUMBER_MAX_ + 2 * RETAIN_TOTALS == 40,
	       "a mark for every column");

static int put_all(struct writer *writer, const char *label)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = database_errno(
		sqlite3_prepare_v2(writer->database, put_retain_sql, -1, &statement, NULL));

	if (!error)
		error = put_head(writer, statement, label);
	writer->number = sqlite3_last_insert_rowid(writer->database);
	for (size_t i = 0; i < ARRAY_SIZE(tables) && !error; i++)
		error = put_table(writer, i);
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
