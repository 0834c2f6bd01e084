// SPDX-License-Identifier: GPL-2.0-or-later
/* From a recording to a result of `leakmon retain`. Nothing in the file is believed. */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "store/recording_state.h"
#include "store/retain_columns.h"

/* No run of ours has more; a file that says so was made to be read for ever. */
#define ROWS_MAX (1u << 24)
#define RUNS_MAX (1u << 20)

struct reader {
	struct recording *recording;
	struct retain_result *result;
	struct hash sites; /* of a stack's number -> place in sites, plus 1 */
	int error;
};

static const char *text(struct reader *reader, sqlite3_stmt *row, int column)
{
	_cleanup_free_ char *cut = NULL;
	const char *string = database_text(row, column), *kept;

	if (!string)
		return NULL;
	cut = strndup(string, RECORDING_TEXT_MAX);
	kept = cut ? intern_string(&reader->result->strings, cut) : NULL;
	if (!kept)
		reader->error = -ENOMEM;
	return kept;
}

static uint64_t number(struct reader *reader, sqlite3_stmt *row, int column)
{
	return database_unsigned(row, column, &reader->error);
}

static struct retention_total total(struct reader *reader, sqlite3_stmt *row, int column)
{
	struct retention_total read = {.blocks = number(reader, row, column)};

	read.bytes = number(reader, row, column + 1);
	return read;
}

/* A number that must be below `end`. */
static uint32_t place(struct reader *reader, sqlite3_stmt *row, int column, uint64_t end)
{
	uint64_t value = number(reader, row, column);

	if (value < end)
		return (uint32_t)value;
	if (!reader->error)
		reader->error = -EUCLEAN;
	return 0;
}

/* Rows are numbered from 0 on, without gaps. */
static bool is_next(struct reader *reader, sqlite3_stmt *row, size_t count)
{
	if (number(reader, row, 0) != count || count >= ROWS_MAX)
		reader->error = reader->error ? reader->error : -EUCLEAN;
	return !reader->error;
}

/* The site of a stack's number, made when it is first met; 0: none. */
static uint32_t site(struct reader *reader, sqlite3_stmt *row, int column)
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

static void head_read(struct reader *reader, sqlite3_stmt *row)
{
	struct retain_result *result = reader->result;
	uint64_t time_ns = number(reader, row, 0);
	const char *comm = database_text(row, 3);
	int column = RETAIN_HEAD_COLUMNS;

	result->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
					 .tv_nsec = (long)(time_ns % 1000000000)};
	result->pid = (pid_t)place(reader, row, 2, INT32_MAX);
	snprintf(result->comm, sizeof(result->comm), "%s", comm ? comm : "");
	result->allocator = text(reader, row, 4);
	result->why_not_stopped = text(reader, row, 5);
	result->settled = number(reader, row, 6) != 0;
	result->stopped = number(reader, row, 7) != 0;
	result->soft_dirty = number(reader, row, 8) != 0;
	result->pagemap = number(reader, row, 9) != 0;
	for (size_t i = 0; i < RETAINED_NUMBER_MAX_; i++)
		result->numbers[i] = number(reader, row, column++);
	for (size_t i = 0; i < RETAIN_TOTALS; i++, column += 2)
		*retain_total_at(result, i) = total(reader, row, column);
}

static void root_read(struct reader *reader, sqlite3_stmt *row)
{
	struct retain_result *result = reader->result;
	struct retained_root *root;
	const char *comm = database_text(row, 7);

	if (!is_next(reader, row, result->roots.count))
		return;
	root = vec_push(&result->roots);
	if (!root) {
		reader->error = -ENOMEM;
		return;
	}
	if (root_kind_parse(database_text(row, 1), &root->kind))
		reader->error = -EUCLEAN;
	root->name = text(reader, row, 2);
	root->module = text(reader, row, 3);
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

static void class_read(struct reader *reader, sqlite3_stmt *row)
{
	struct retained_class *class;

	if (!is_next(reader, row, reader->result->classes.count))
		return;
	class = vec_push(&reader->result->classes);
	if (!class) {
		reader->error = -ENOMEM;
		return;
	}
	if (class_kind_parse(database_text(row, 1), &class->kind))
		reader->error = -EUCLEAN;
	class->name = text(reader, row, 2);
	class->module = text(reader, row, 3);
	class->offset = number(reader, row, 4);
	class->size = number(reader, row, 5);
	class->site = site(reader, row, 6);
	class->distance = place(reader, row, 7, UINT32_MAX);
	class->total = total(reader, row, 8);
	class->verdicts[VERDICT_HELD] = total(reader, row, 10);
	class->verdicts[VERDICT_UNTRACKED] = total(reader, row, 12);
	class->verdicts[VERDICT_LOST] = total(reader, row, 14);
}

static void leak_read(struct reader *reader, sqlite3_stmt *row)
{
	struct retained_leak *leak;

	if (!is_next(reader, row, reader->result->leaks.count))
		return;
	leak = vec_push(&reader->result->leaks);
	if (!leak) {
		reader->error = -ENOMEM;
		return;
	}
	leak->class = place(reader, row, 1, reader->result->classes.count);
	leak->site = site(reader, row, 2);
	leak->example = number(reader, row, 3);
	leak->direct = total(reader, row, 4);
	leak->indirect = total(reader, row, 6);
}

static void path_read(struct reader *reader, sqlite3_stmt *row)
{
	struct retained_path *path;

	if (!is_next(reader, row, reader->result->paths.count))
		return;
	path = vec_push(&reader->result->paths);
	if (!path) {
		reader->error = -ENOMEM;
		return;
	}
	path->class = place(reader, row, 1, reader->result->classes.count);
	path->root = place(reader, row, 2, reader->result->roots.count);
	path->sharing = number(reader, row, 3);
	path->sampled = number(reader, row, 4);
}

static void step_read(struct reader *reader, sqlite3_stmt *row)
{
	uint32_t path = place(reader, row, 1, reader->result->paths.count);
	struct retained_step *step;

	if (reader->error || !is_next(reader, row, reader->result->paths.items[path].steps.count))
		return;
	step = vec_push(&reader->result->paths.items[path].steps);
	if (!step) {
		reader->error = -ENOMEM;
		return;
	}
	step->offset = number(reader, row, 2);
	step->address = number(reader, row, 3);
	step->size = number(reader, row, 4);
	step->class = place(reader, row, 5, reader->result->classes.count);
	step->width = place(reader, row, 6, UINT32_MAX);
	step->repeated = place(reader, row, 7, UINT32_MAX);
}

static enum verdict verdict_parse(struct reader *reader, const char *name)
{
	for (unsigned i = 0; name && i < VERDICT_MAX_; i++) {
		if (!strcmp(verdict_name((enum verdict)i), name))
			return (enum verdict)i;
	}
	reader->error = -EUCLEAN;
	return VERDICT_HELD;
}

static void sample_read(struct reader *reader, sqlite3_stmt *row)
{
	struct retained_sample *sample;

	if (!is_next(reader, row, reader->result->samples.count))
		return;
	sample = vec_push(&reader->result->samples);
	if (!sample) {
		reader->error = -ENOMEM;
		return;
	}
	sample->verdict = verdict_parse(reader, database_text(row, 1));
	sample->root = RESULT_NONE;
	if (sqlite3_column_type(row, 2) != SQLITE_NULL)
		sample->root = place(reader, row, 2, reader->result->roots.count);
	sample->class = place(reader, row, 3, reader->result->classes.count);
	sample->site = site(reader, row, 4);
	sample->total = total(reader, row, 5);
}

static const struct {
	const char *sql, *what;
	void (*read)(struct reader *, sqlite3_stmt *);
} tables[] = {
	{"SELECT time_ns,label,pid,comm,allocator,why_not_stopped,settled,stopped,soft_dirty,"
	 "pagemap,pause_ns,max_pause_ns,read_ns,total_ns,own_peak_bytes,writable_bytes,read_bytes,"
	 "swapped_bytes,pages_checked,pages_changed,blocks,walked,tracked,arenas,broken,broken_at,"
	 "broken_free_lists,held_blocks,held_bytes,untracked_blocks,untracked_bytes,"
	 "unreachable_blocks,unreachable_bytes,direct_blocks,direct_bytes,indirect_blocks,"
	 "indirect_bytes,through_blocks,through_bytes FROM retains WHERE id=?",
	 "a run", head_read},
	{"SELECT root,kind,name,module,address,offset,tid,comm,words,retained_blocks,"
	 "retained_bytes,led_blocks,led_bytes,through,threads FROM retain_roots WHERE retain=? "
	 "ORDER BY "
	 "root",
	 "its roots", root_read},
	{"SELECT class,kind,name,module,offset,size,stack,distance,blocks,bytes,held_blocks,"
	 "held_bytes,untracked_blocks,untracked_bytes,unreachable_blocks,unreachable_bytes"
	 " FROM retain_classes WHERE retain=? ORDER BY class",
	 "its classes", class_read},
	{"SELECT position,class,stack,example,direct_blocks,direct_bytes,indirect_blocks,"
	 "indirect_bytes FROM retain_leaks WHERE retain=? ORDER BY position",
	 "its leaks", leak_read},
	{"SELECT path,class,root,sharing,sampled FROM retain_paths WHERE retain=? ORDER BY path",
	 "its paths", path_read},
	{"SELECT position,path,offset,address,size,class,width,repeated FROM retain_steps"
	 " WHERE retain=? ORDER BY path,position",
	 "its paths", step_read},
	{"SELECT position,verdict,root,class,stack,blocks,bytes FROM retain_samples"
	 " WHERE retain=? ORDER BY position",
	 "its samples", sample_read},
};

static int read_table(struct reader *reader, size_t table, int64_t run)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0,
	    error = database_errno(sqlite3_prepare_v2(reader->recording->database,
						      tables[table].sql, -1, &statement, NULL));

	if (!error)
		error = database_bind(statement, "i", run);
	while (!error && (more = database_next(statement)) != 0) {
		if (more > 0)
			tables[table].read(reader, statement);
		error = more < 0 ? more : reader->error;
	}
	return error ? recording_fail(reader->recording, error, tables[table].what) : 0;
}

static void frame_read(struct reader *reader, sqlite3_stmt *row, struct frame *frame)
{
	int64_t line = sqlite3_column_int64(row, 7);

	frame->module = text(reader, row, 0);
	frame->build_id = text(reader, row, 1);
	frame->module_offset = (uint64_t)sqlite3_column_int64(row, 2);
	frame->address = (uint64_t)sqlite3_column_int64(row, 3);
	frame->function = text(reader, row, 4);
	frame->offset = (uint64_t)sqlite3_column_int64(row, 5);
	frame->file = text(reader, row, 6);
	frame->line = line > 0 && line <= UINT32_MAX ? (uint32_t)line : 0;
	frame->inlined = sqlite3_column_int64(row, 8) != 0;
	frame->why = text(reader, row, 9);
}

static int stack_read(struct reader *reader, sqlite3_stmt *statement, struct retained_site *site)
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

static int read_stacks(struct reader *reader)
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
static int check_paths(const struct reader *reader)
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
	struct reader reader = {.recording = recording, .result = &made};
	int error = 0;

	for (size_t i = 0; i < ARRAY_SIZE(tables) && !error; i++)
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
