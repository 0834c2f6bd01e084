// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/retain_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "report/retain_result.h"
#include "store/database.h"
#include "store/recorder_state.h"
#include "store/recording_state.h"

/* What writing and reading of retain results must agree on. Internal to store/. */

/* Columns of `retains` from time_ns on, before its numbers, which come in their order. */
#define RETAIN_HEAD_COLUMNS 10

/* And behind them, two columns each: held, untracked, unreachable, direct, indirect. */
#define RETAIN_TOTALS (VERDICT_MAX_ + 3)

/* Of `retains`, in that order; `dropped` came with version 3. */
#define RETAIN_RUN_COLUMNS(dropped)                                                                \
	"time_ns,label,pid,comm,allocator,why_not_stopped,settled,stopped,soft_dirty,pagemap,"     \
	"pause_ns,max_pause_ns,read_ns,total_ns,own_peak_bytes,writable_bytes,read_bytes,"         \
	"swapped_bytes,pages_checked,pages_changed,blocks,walked,tracked,arenas,broken,broken_at," \
	"broken_free_lists," dropped ",held_blocks,held_bytes,untracked_blocks,untracked_bytes,"   \
	"unreachable_blocks,unreachable_bytes,direct_blocks,direct_bytes,indirect_blocks,"         \
	"indirect_bytes,through_blocks,through_bytes"

/* The tables of a run of `leakmon retain`, row by row. Internal to store/. */

struct retain_reader {
	struct recording *recording;
	struct retain_result *result;
	struct hash sites; /* of a stack's number -> place in sites, plus 1 */
	int error;	   /* of any row up to now */
};

struct retain_table {
	const char *sql;  /* of a run's rows; one parameter: its number */
	const char *what; /* for a message that they are damaged */
	void (*read)(struct retain_reader *reader, sqlite3_stmt *row);
	const char *sql_of_2; /* for a recording of schema 2; NULL: the same */
};

/* In the order in which they must be read. */
#define RETAIN_TABLES 7

extern const struct retain_table retain_tables[RETAIN_TABLES];

/* The columns are in the order of the verdicts. */
_Static_assert(VERDICT_HELD == 0 && VERDICT_UNTRACKED == 1 && VERDICT_LOST == 2, "columns");

/* One column each in schema_retain_sql, and a mark in the statement that writes them. */
_Static_assert(RETAINED_NUMBER_MAX_ == 18, "columns");

static struct retention_total *retain_total_at(struct retain_result *result, size_t i)
{
	if (i < VERDICT_MAX_)
		return &result->totals[i];
	if (i == VERDICT_MAX_)
		return &result->direct;
	return i == VERDICT_MAX_ + 1 ? &result->indirect : &result->through;
}

static const struct retention_total *retain_total_at_const(const struct retain_result *result,
							   size_t i)
{
	return retain_total_at((struct retain_result *)result, i);
}

/* What each row says. Rows refer to rows of tables before theirs. */

/* No run of ours has more; a file that says so was made to be read for ever. */
#define ROWS_MAX (1u << 24)

/* An interned copy of a text, cut at RECORDING_TEXT_MAX; NULL: null, or no memory (error). */
static const char *retain_row_text(struct retain_reader *reader, sqlite3_stmt *row, int column)
{
	return recording_text_into(&reader->result->strings, row, column, &reader->error);
}

static uint64_t number(struct retain_reader *reader, sqlite3_stmt *row, int column)
{
	return database_unsigned(row, column, &reader->error);
}

static struct retention_total total(struct retain_reader *reader, sqlite3_stmt *row, int column)
{
	struct retention_total read = {.blocks = number(reader, row, column)};

	read.bytes = number(reader, row, column + 1);
	return read;
}

/* A number that must be below `end`. */
static uint32_t place(struct retain_reader *reader, sqlite3_stmt *row, int column, uint64_t end)
{
	uint64_t value = number(reader, row, column);

	if (value < end)
		return (uint32_t)value;
	if (!reader->error)
		reader->error = -EUCLEAN;
	return 0;
}

/* Rows are numbered from 0 on, without gaps. */
static bool is_next(struct retain_reader *reader, sqlite3_stmt *row, size_t count)
{
	if (number(reader, row, 0) != count || count >= ROWS_MAX)
		reader->error = reader->error ? reader->error : -EUCLEAN;
	return !reader->error;
}

/* The place of the row in its table's vector; NULL: an error. */
#define row_push(reader, row, rows)                                                                \
	({                                                                                         \
		__typeof__((rows)->items) pushed_ = NULL;                                          \
		if (is_next((reader), (row), (rows)->count))                                       \
			pushed_ = vec_push(rows);                                                  \
		if (!pushed_ && !(reader)->error)                                                  \
			(reader)->error = -ENOMEM;                                                 \
		pushed_;                                                                           \
	})

/* The site of a stack's number, made when it is first met; 0: none. */
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
	struct retain_result *result = reader->result;
	uint64_t time_ns = number(reader, row, 0);
	const char *comm = database_text(row, 3);
	int column = RETAIN_HEAD_COLUMNS;

	result->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
					 .tv_nsec = (long)(time_ns % 1000000000)};
	result->pid = (pid_t)place(reader, row, 2, INT32_MAX);
	snprintf(result->comm, sizeof(result->comm), "%s", comm ? comm : "");
	result->allocator = retain_row_text(reader, row, 4);
	result->why_not_stopped = retain_row_text(reader, row, 5);
	result->settled = number(reader, row, 6) != 0;
	result->stopped = number(reader, row, 7) != 0;
	result->soft_dirty = number(reader, row, 8) != 0;
	result->pagemap = number(reader, row, 9) != 0;
	for (size_t i = 0; i < RETAINED_NUMBER_MAX_; i++)
		result->numbers[i] = number(reader, row, column++);
	for (size_t i = 0; i < RETAIN_TOTALS; i++, column += 2)
		*retain_total_at(result, i) = total(reader, row, column);
}

static void root_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retain_result *result = reader->result;
	struct retained_root *root;
	const char *comm = database_text(row, 7);

	root = row_push(reader, row, &result->roots);
	if (!root)
		return;
	if (root_kind_parse(database_text(row, 1), &root->kind))
		reader->error = -EUCLEAN;
	root->name = retain_row_text(reader, row, 2);
	root->module = retain_row_text(reader, row, 3);
	root->address = number(reader, row, 4);
	root->offset = number(reader, row, 5);
	root->tid = (pid_t)place(reader, row, 6, INT32_MAX);
	snprintf(root->comm, sizeof(root->comm), "%s", comm ? comm : "");
	root->words = number(reader, row, 8);
	root->retained = total(reader, row, 9);
	root->led = total(reader, row, 11);
	root->through = number(reader, row, 13) != 0;
	root->threads = place(reader, row, 14, UINT32_MAX);
	/* Ranked: those that lead to nothing come last. */
	if (root->led.blocks)
		result->retaining = result->roots.count;
}

static void class_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_class *class;

	class = row_push(reader, row, &reader->result->classes);
	if (!class)
		return;
	if (class_kind_parse(database_text(row, 1), &class->kind))
		reader->error = -EUCLEAN;
	class->name = retain_row_text(reader, row, 2);
	class->module = retain_row_text(reader, row, 3);
	class->offset = number(reader, row, 4);
	class->size = number(reader, row, 5);
	class->site = site(reader, row, 6);
	class->distance = place(reader, row, 7, UINT32_MAX);
	class->total = total(reader, row, 8);
	class->verdicts[VERDICT_HELD] = total(reader, row, 10);
	class->verdicts[VERDICT_UNTRACKED] = total(reader, row, 12);
	class->verdicts[VERDICT_LOST] = total(reader, row, 14);
}

static void leak_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_leak *leak;

	leak = row_push(reader, row, &reader->result->leaks);
	if (!leak)
		return;
	leak->class = place(reader, row, 1, reader->result->classes.count);
	leak->site = site(reader, row, 2);
	leak->example = number(reader, row, 3);
	leak->direct = total(reader, row, 4);
	leak->indirect = total(reader, row, 6);
}

static void path_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_path *path;

	path = row_push(reader, row, &reader->result->paths);
	if (!path)
		return;
	path->class = place(reader, row, 1, reader->result->classes.count);
	path->root = place(reader, row, 2, reader->result->roots.count);
	path->sharing = number(reader, row, 3);
	path->sampled = number(reader, row, 4);
}

static void step_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	uint32_t path = place(reader, row, 1, reader->result->paths.count);
	struct retained_step *step;

	if (reader->error)
		return;
	step = row_push(reader, row, &reader->result->paths.items[path].steps);
	if (!step)
		return;
	step->offset = number(reader, row, 2);
	step->address = number(reader, row, 3);
	step->size = number(reader, row, 4);
	step->class = place(reader, row, 5, reader->result->classes.count);
	step->width = place(reader, row, 6, UINT32_MAX);
	step->repeated = place(reader, row, 7, UINT32_MAX);
}

static enum verdict verdict_parse(struct retain_reader *reader, const char *name)
{
	for (unsigned i = 0; name && i < VERDICT_MAX_; i++) {
		if (!strcmp(verdict_name((enum verdict)i), name))
			return (enum verdict)i;
	}
	reader->error = -EUCLEAN;
	return VERDICT_HELD;
}

static void sample_read(struct retain_reader *reader, sqlite3_stmt *row)
{
	struct retained_sample *sample;

	sample = row_push(reader, row, &reader->result->samples);
	if (!sample)
		return;
	sample->verdict = verdict_parse(reader, database_text(row, 1));
	sample->root = RESULT_NONE;
	if (sqlite3_column_type(row, 2) != SQLITE_NULL)
		sample->root = place(reader, row, 2, reader->result->roots.count);
	sample->class = place(reader, row, 3, reader->result->classes.count);
	sample->site = site(reader, row, 4);
	sample->total = total(reader, row, 5);
}

const struct retain_table retain_tables[] = {
	{"SELECT " RETAIN_RUN_COLUMNS("dropped") " FROM retains WHERE id=?", "a run", head_read,
	 "SELECT " RETAIN_RUN_COLUMNS("0") " FROM retains WHERE id=?"},
	{"SELECT root,kind,name,module,address,offset,tid,comm,words,retained_blocks,"
	 "retained_bytes,led_blocks,led_bytes,through,threads FROM retain_roots WHERE retain=?"
	 " ORDER BY root",
	 "its roots", root_read,
	 "SELECT root,kind,name,module,address,offset,tid,comm,words,retained_blocks,"
	 "retained_bytes,led_blocks,led_bytes,through,0 FROM retain_roots WHERE retain=?"
	 " ORDER BY root"},
	{"SELECT class,kind,name,module,offset,size,stack,distance,blocks,bytes,held_blocks,"
	 "held_bytes,untracked_blocks,untracked_bytes,unreachable_blocks,unreachable_bytes"
	 " FROM retain_classes WHERE retain=? ORDER BY class",
	 "its classes", class_read, NULL},
	{"SELECT position,class,stack,example,direct_blocks,direct_bytes,indirect_blocks,"
	 "indirect_bytes FROM retain_leaks WHERE retain=? ORDER BY position",
	 "its leaks", leak_read, NULL},
	{"SELECT path,class,root,sharing,sampled FROM retain_paths WHERE retain=? ORDER BY path",
	 "its paths", path_read, NULL},
	{"SELECT position,path,offset,address,size,class,width,repeated FROM retain_steps"
	 " WHERE retain=? ORDER BY path,position",
	 "its paths", step_read, NULL},
	{"SELECT position,verdict,root,class,stack,blocks,bytes FROM retain_samples"
	 " WHERE retain=? ORDER BY position",
	 "its samples", sample_read, NULL},
};

_Static_assert(ARRAY_SIZE(retain_tables) == RETAIN_TABLES, "every table");

/* From a recording to a result of `leakmon retain`. Nothing in the file is believed. */

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

static int read_stacks(struct retain_reader *reader)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = stored_stacks_prepare(reader->recording, &statement);

	for (size_t i = 0; i < reader->result->sites.count && !error; i++)
		error = stored_stack_read(&reader->result->strings, statement,
					  reader->result->sites.items[i].id,
					  &reader->result->sites.items[i].frames);
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
	const struct retained_site *site = &writer->result->sites.items[i];

	return stored_stack_put(statement, site->id, &site->frames);
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
	{STORED_STACK_INSERT, offsetof(struct retain_result, sites.count), put_frames},
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
