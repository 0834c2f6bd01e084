// SPDX-License-Identifier: GPL-2.0-or-later
/* What each row says. Rows refer to rows of tables before theirs. */
#include "store/retain_rows.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/retain_columns.h"

/* No run of ours has more; a file that says so was made to be read for ever. */
#define ROWS_MAX (1u << 24)

const char *retain_row_text(struct retain_reader *reader, sqlite3_stmt *row, int column)
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
