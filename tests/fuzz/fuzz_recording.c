// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness for the reader of recordings: the input changes values in a valid recording,
 * and adds rows to every table. Whatever its contents, the recording is read or rejected. Input:
 * changes of 12 bytes each: the action, the table, a column, a row, and a value. Seeds: not needed.
 * (SQLite's own reading of damaged files is fuzzed by SQLite.)
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "report/store/database.h"
#include "report/store/diagnosis_rows.h"
#include "report/store/profile_runs.h"
#include "unit/goroutine_fixture.h"
#include "unit/profile_report_fixture.h"
#include "unit/recording_reader.h"
#include "unit/retain_fixture.h"
#include "unit/store_fixture.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define TABLES_MAX 96
#define COLUMNS_MAX 64
#define NAME_MAX_BYTES 48

struct table {
	char name[NAME_MAX_BYTES];
	char columns[COLUMNS_MAX][NAME_MAX_BYTES];
	bool texts[COLUMNS_MAX];
	size_t column_count;
};

static struct {
	struct run *run;
	char good[80], changed[80];
	struct table tables[TABLES_MAX];
	size_t table_count;
} fuzzed;

struct change {
	uint8_t what, table, column, row;
	uint64_t value;
} __attribute__((packed));

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void record_snapshots(struct run *run)
{
	struct snapshot_process *process = run_process(run, 1234, "server");

	for (size_t tick = 1; tick <= 3; tick++) {
		_cleanup_(memory_history_free) struct memory_history memory = {0};
		struct memory_split split = {.pid = 1234, .rss = tick << 20, .arenas = 1};

		for (uint32_t index = 1; index <= 4; index++)
			run_site(process, index, tick * index, 64);
		check(!memory_history_add(&memory, process->key, "server", &split));
		run->memory = &memory;
		check(!run_append(run, tick == 2 ? "deploy" : NULL, false));
		run->memory = NULL;
	}
	run_end(run);
}

static void record_retention(const char *path)
{
	_cleanup_(retain_result_free) struct retain_result blocks = {0}, profile = {0};
	int64_t number;

	retain_fixture(&blocks);
	check(!retain_writer_append(path, &blocks, "before", &number));
	heap_profile_make(&profile, 40);
	check(!retain_writer_append(path, &profile, NULL, &number));
}

/* These two need a separate file. */
static void record_profile(const char *path)
{
	_cleanup_(profile_report_free) struct profile_report report = {0};
	struct profile_recorder *recorder;

	profile_report_fill(&report);
	profile_report_rank(&report, 0);
	check(!profile_recorder_open(&recorder, path, &(struct recorder_options){0}));
	check(!profile_recorder_append(recorder, &report));
	profile_recorder_close(recorder);
}

static void record_goroutines(const char *path)
{
	struct goroutine_recorder *recorder;

	check(!goroutine_recorder_open(&recorder, path, &(struct recorder_options){0}));
	for (uint64_t i = 0; i < 3; i++) {
		struct task_report report;

		goroutines_make(&report, 10 + i, 7, 2);
		goroutines_append(recorder, &report, (time_t)i * 5);
	}
	goroutine_recorder_close(recorder);
}

static void record_diagnosis(const char *path)
{
	const struct stored_diagnosis diagnosis = {
		.time = {.tv_sec = 1795179600},
		.pid = 1234,
		.comm = "server",
		.reason = DIAGNOSED_FOR_LEAK,
		.answer = "{\"pid\":1234,\"verdict\":\"leaks\",\"text\":[\"PID 1234\"]}",
	};

	check(!diagnosis_rows_append(path, &diagnosis, &(struct recorder_options){0}));
}

static void record(struct run *run)
{
	char path[80];

	record_snapshots(run);
	record_retention(run->path);
	record_diagnosis(run->path);
	snprintf(path, sizeof(path), "%s/profile.lkm", run->directory);
	record_profile(path);
	snprintf(path, sizeof(path), "%s/goroutines.lkm", run->directory);
	record_goroutines(path);
}

static void copy_name(char *to, const char *from)
{
	check(strlen(from) < NAME_MAX_BYTES);
	strcpy(to, from);
}

static void list_columns(sqlite3 *database, struct table *table)
{
	_cleanup_statement_ sqlite3_stmt *rows = NULL;

	check(!sqlite3_prepare_v2(database, "SELECT name, type FROM pragma_table_info(?)", -1,
				  &rows, NULL));
	check(!database_bind(rows, "t", table->name));
	while (database_next(rows) == 1) {
		check(table->column_count < COLUMNS_MAX);
		table->texts[table->column_count] = !strcmp(database_text(rows, 1), "TEXT");
		copy_name(table->columns[table->column_count++], database_text(rows, 0));
	}
}

static void list_tables(sqlite3 *database)
{
	_cleanup_statement_ sqlite3_stmt *rows = NULL;

	check(!sqlite3_prepare_v2(database,
				  "SELECT name FROM sqlite_schema WHERE type='table' ORDER BY name",
				  -1, &rows, NULL));
	while (database_next(rows) == 1) {
		struct table *table = &fuzzed.tables[fuzzed.table_count++];

		check(fuzzed.table_count <= TABLES_MAX);
		copy_name(table->name, database_text(rows, 0));
		list_columns(database, table);
	}
}

static void attach(sqlite3 *database, const char *name)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "ATTACH '%s/%s.lkm' AS %s", fuzzed.run->directory, name, name);
	check(!database_run(database, sql));
}

static bool is_empty(sqlite3 *database, const struct table *table)
{
	char sql[80];
	int64_t count = 0;

	snprintf(sql, sizeof(sql), "SELECT count(*) FROM main.\"%s\"", table->name);
	check(!database_integer(database, sql, &count));
	return !count;
}

static void fill_from(sqlite3 *database, const struct table *table, const char *other)
{
	char sql[160];

	snprintf(sql, sizeof(sql), "INSERT INTO main.\"%s\" SELECT * FROM %s.\"%s\"", table->name,
		 other, table->name);
	check(!database_run(database, sql));
}

/* One row; its numbers are 1. */
static void fill_with_ones(sqlite3 *database, const struct table *table)
{
	char sql[4096];
	size_t used =
		(size_t)snprintf(sql, sizeof(sql), "INSERT INTO main.\"%s\" VALUES(", table->name);

	for (size_t i = 0; i < table->column_count; i++)
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s%s", i ? "," : "",
					 table->texts[i] ? "'malloc'" : "1");
	check(used < sizeof(sql) - 1);
	strcpy(sql + used, ")");
	sqlite3_exec(database, sql, NULL, NULL, NULL);
}

/* Tables that the run has left empty get the rows of another file, or one. */
static void fill(sqlite3 *database)
{
	static const char *const others[] = {"profile", "goroutines"};

	for (size_t i = 0; i < ARRAY_SIZE(others); i++)
		attach(database, others[i]);
	for (size_t i = 0; i < fuzzed.table_count; i++) {
		const struct table *table = &fuzzed.tables[i];

		for (size_t k = 0; k < ARRAY_SIZE(others) && is_empty(database, table); k++)
			fill_from(database, table, others[k]);
		if (is_empty(database, table))
			fill_with_ones(database, table);
	}
}

static void remove_files(void)
{
	void *state = fuzzed.run;

	run_teardown(&state);
}

static void make(void)
{
	_cleanup_database_ sqlite3 *database = NULL;
	void *state;

	stderr = fopen("/dev/null", "we"); /* a message for every damaged value */
	check(!run_setup(&state));
	fuzzed.run = state;
	atexit(remove_files);
	record(fuzzed.run);
	snprintf(fuzzed.good, sizeof(fuzzed.good), "%s", fuzzed.run->path);
	snprintf(fuzzed.changed, sizeof(fuzzed.changed), "%s/changed.lkm", fuzzed.run->directory);
	check(!sqlite3_open(fuzzed.good, &database));
	check(!database_run(database, "PRAGMA journal_mode=DELETE"));
	list_tables(database);
	fill(database);
}

static void copy(void)
{
	_cleanup_fclose_ FILE *from = fopen(fuzzed.good, "re"), *to = fopen(fuzzed.changed, "we");
	char buffer[65536];
	size_t got;

	while ((got = fread(buffer, 1, sizeof(buffer), from)))
		check(fwrite(buffer, 1, got, to) == got);
}

/* Prints a small number, any number, a non-number, a meaningful text, or any text. */
static void print_value(char *text, size_t size, uint64_t value)
{
	static const char *const words[] = {"malloc", "thread", "leaking",
					    "global", "java",	"0,1,2"};

	switch (value % 8) {
	case 0:
		snprintf(text, size, "%d", (int)(value >> 3 & 31));
		break;
	case 1:
		snprintf(text, size, "%lld", (long long)value);
		break;
	case 2:
		snprintf(text, size, "NULL");
		break;
	case 3:
		snprintf(text, size, "'%s'", words[(value >> 3) % ARRAY_SIZE(words)]);
		break;
	case 4:
		snprintf(text, size, "CAST(x'%016llx' AS TEXT)", (unsigned long long)value);
		break;
	case 5:
		snprintf(text, size, "x'%016llx'", (unsigned long long)value);
		break;
	case 6:
		snprintf(text, size, "hex(zeroblob(%u))", (unsigned int)(value >> 3 & 0xfff));
		break;
	default:
		snprintf(text, size, "%d.5e%d", (int)(value >> 3 & 7), (int)(value >> 6 & 511));
	}
}

static void insert(sqlite3 *database, const struct table *table, uint64_t value)
{
	char sql[4096], text[64];
	size_t used = (size_t)snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO \"%s\" VALUES(",
				       table->name);

	for (size_t i = 0; i < table->column_count; i++) {
		/* Mostly small numbers: the numbers of other rows. */
		uint64_t bits = value >> i % 56;

		print_value(text, sizeof(text), bits % 4 ? bits >> 2 << 3 : bits >> 2);
		used += (size_t)snprintf(sql + used, sizeof(sql) - used, "%s%s", i ? "," : "",
					 text);
		check(used < sizeof(sql) - 2);
	}
	strcpy(sql + used, ")");
	sqlite3_exec(database, sql, NULL, NULL, NULL);
}

static void change(sqlite3 *database, const struct change *change)
{
	const struct table *table = &fuzzed.tables[change->table % fuzzed.table_count];
	const char *column = table->columns[change->column % table->column_count];
	char sql[512], text[64];

	print_value(text, sizeof(text), change->value);
	switch (change->what % 4) {
	case 0:
		insert(database, table, change->value);
		return;
	case 1:
		snprintf(sql, sizeof(sql), "UPDATE OR IGNORE \"%s\" SET \"%s\"=%s", table->name,
			 column, text);
		break;
	case 2:
		snprintf(sql, sizeof(sql), "DELETE FROM \"%s\" WHERE \"%s\"=%s", table->name,
			 column, text);
		break;
	default:
		snprintf(sql, sizeof(sql),
			 "UPDATE OR IGNORE \"%s\" SET \"%s\"=%s WHERE \"%s\"="
			 "(SELECT \"%s\" FROM \"%s\" LIMIT 1 OFFSET %d)",
			 table->name, column, text, column, column, table->name, change->row % 16);
	}
	sqlite3_exec(database, sql, NULL, NULL, NULL);
}

static void change_all(const uint8_t *data, size_t size)
{
	_cleanup_database_ sqlite3 *database = NULL;
	struct change next;

	check(!sqlite3_open(fuzzed.changed, &database));
	check(!database_run(database, "PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; BEGIN"));
	for (size_t i = 0; i + sizeof(next) <= size; i += sizeof(next)) {
		memcpy(&next, data + i, sizeof(next));
		change(database, &next);
	}
	check(!database_run(database, "COMMIT"));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (!fuzzed.table_count)
		make();
	copy();
	change_all(data, size);
	recording_read_everything(fuzzed.changed);
	return 0;
}
