// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/profile_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/store/figure_rows.h"
#include "report/store/recorder_state.h"
#include "report/store/recording_state.h"

/* More than any genuine run has; a file with more was made to take for ever. */
#define PROFILES_MAX (1u << 20)
#define PROCESSES_MAX (1u << 16)
#define SITES_MAX (1u << 16)

/* Values of `exited`: earlier readers took any nonzero value for an end. */
enum { ALIVE, EXITED, OOM_KILLED };

enum table { HEAD, PROCESSES, SITES, POINTS, TABLES };

static const struct figure_rows tables[] = {
	/* watched: -1: targets are named */
	[HEAD] = {"profiles", "id,watched", "id", "id", {&profile_report_figures}},
	[PROCESSES] = {"profile_processes",
		       "profile,process,exe,exited",
		       "profile",
		       "process",
		       {&profile_process_figures}},
	[SITES] = {"profile_sites",
		   "profile,process,site",
		   "profile",
		   "process,site",
		   {&profile_site_figures, &profile_site_verdict_figures}},
	[POINTS] = {"profile_survival",
		    "profile,process,site,position",
		    "profile",
		    "process,site,position",
		    {&survival_figures}},
};
_Static_assert(ARRAY_SIZE(tables) == TABLES, "every table");

/* Number of columns before the figures. */
static const int keys[] = {[HEAD] = 2, [PROCESSES] = 4, [SITES] = 3, [POINTS] = 4};

/* -------- writing */

struct profile_recorder {
	sqlite3 *database;
	char *path;
	struct recorder_options options;
	uint64_t count, missed;
	uint64_t missed_recorded; /* of them, those already in the recording */
	uint64_t first_ns;	  /* of the first profile, which stays */
};

struct profile_writer {
	sqlite3_stmt *statements[TABLES], *frames;
	int64_t profile;
};

/* Binds figures after the parameters already bound. */
static int put_figures(struct profile_writer *writer, enum table table, const void *row)
{
	sqlite3_stmt *statement = writer->statements[table];
	int error = figure_row_bind(statement, keys[table] + 1, &tables[table], row);

	return error ? error : database_next(statement);
}

static int put_site(struct profile_writer *writer, int64_t process, int64_t number,
		    const struct profile_report_site *site)
{
	int error =
		database_bind(writer->statements[SITES], "iii", writer->profile, process, number);

	if (!error)
		error = put_figures(writer, SITES, site);
	for (size_t i = 0; i < site->judgement.points && !error; i++) {
		error = database_bind(writer->statements[POINTS], "iiii", writer->profile, process,
				      number, (int64_t)i);
		if (!error)
			error = put_figures(writer, POINTS, &site->judgement.survival[i]);
	}
	return error ? error : stored_stack_put(writer->frames, site->id, &site->frames);
}

static int put_process(struct profile_writer *writer, int64_t number,
		       const struct profile_report_process *process)
{
	int error = database_bind(writer->statements[PROCESSES], "iiti", writer->profile, number,
				  process->exe,
				  (int64_t)(process->oom_killed ? OOM_KILLED
					    : process->exited	? EXITED
								: ALIVE));

	if (!error)
		error = put_figures(writer, PROCESSES, process);
	for (size_t i = 0; i < process->sites.count && !error; i++)
		error = put_site(writer, number, (int64_t)i, &process->sites.items[i]);
	return error;
}

static int64_t time_ns_of(const struct profile_report *report)
{
	return (int64_t)timespec_ns(&report->time);
}

static int put_report(struct profile_writer *writer, const struct profile_report *report)
{
	int error = database_bind(writer->statements[HEAD], "ii", writer->profile,
				  report->choosing ? (int64_t)report->watched : (int64_t)-1);

	if (!error)
		error = put_figures(writer, HEAD, report);
	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = put_process(writer, (int64_t)i, &report->processes.items[i]);
	return error;
}

static int writer_prepare(struct profile_writer *writer, sqlite3 *database)
{
	int error = database_errno(
		sqlite3_prepare_v2(database, STORED_STACK_INSERT, -1, &writer->frames, NULL));

	for (enum table i = 0; i < TABLES && !error; i++)
		error = figure_rows_insert(database, &tables[i], &writer->statements[i]);
	return error;
}

static int forget(sqlite3 *database, int64_t profile)
{
	int error = 0;

	for (enum table i = 0; i < TABLES && !error; i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s=%" PRId64, tables[i].table,
			 tables[i].of, profile);
		error = database_run(database, sql);
	}
	return error;
}

static bool is_too_big(const struct profile_recorder *recorder)
{
	int64_t pages = 0, unused = 0, size = 0;

	if (!recorder->options.keep_bytes ||
	    database_integer(recorder->database, "PRAGMA page_count", &pages) ||
	    database_integer(recorder->database, "PRAGMA freelist_count", &unused) ||
	    database_integer(recorder->database, "PRAGMA page_size", &size))
		return false;
	return (uint64_t)((pages - unused) * size) > recorder->options.keep_bytes;
}

/*
 * Deletes profiles beyond --keep: two at a time, so that the file eventually shrinks below its
 * limit.
 */
static int keep(struct profile_recorder *recorder, const struct profile_report *report)
{
	int64_t oldest, time_ns, since_ns = time_ns_of(report);
	int error = 0;

	since_ns -= recorder->options.keep_ns ? (int64_t)recorder->options.keep_ns : since_ns;
	for (int i = 0; i < 2 && !error; i++) {
		if (database_integer(recorder->database,
				     "SELECT id FROM profiles WHERE id>1 ORDER BY id LIMIT 1",
				     &oldest) ||
		    database_integer(recorder->database,
				     "SELECT time_ns FROM profiles WHERE id>1 ORDER BY id LIMIT 1",
				     &time_ns) ||
		    (uint64_t)oldest > recorder->count ||
		    (time_ns >= since_ns && !is_too_big(recorder)))
			break;
		error = forget(recorder->database, oldest);
	}
	return error;
}

static int put_missed(struct profile_recorder *recorder)
{
	char sql[80];

	snprintf(sql, sizeof(sql), "INSERT OR REPLACE INTO meta VALUES('missed',%" PRIu64 ")",
		 recorder->missed);
	return database_run(recorder->database, sql);
}

static int append(struct profile_recorder *recorder, const struct profile_report *report)
{
	struct profile_writer writer = {.profile = (int64_t)recorder->count + 1};
	int error = database_run(recorder->database, "BEGIN IMMEDIATE");

	if (error)
		return error;
	error = writer_prepare(&writer, recorder->database);
	if (!error)
		error = put_report(&writer, report);
	if (!error)
		error = keep(recorder, report);
	if (!error && recorder->missed != recorder->missed_recorded)
		error = put_missed(recorder);
	sqlite3_finalize(writer.frames);
	for (size_t i = 0; i < TABLES; i++)
		sqlite3_finalize(writer.statements[i]);
	if (!error)
		error = database_run(recorder->database, "COMMIT");
	if (error)
		database_run(recorder->database, "ROLLBACK");
	else
		recorder->missed_recorded = recorder->missed;
	return error;
}

int profile_recorder_append(struct profile_recorder *recorder, const struct profile_report *report)
{
	int error = append(recorder, report);

	if (error) {
		recorder->missed++;
		log_error(
			"this profile is not in the recording %s: %s (%s); what was in it still is",
			recorder->path, strerror(-error), sqlite3_errmsg(recorder->database));
		return error;
	}
	recorder->count++;
	return 0;
}

int profile_recorder_open(struct profile_recorder **recorder, const char *path,
			  const struct recorder_options *options)
{
	struct profile_recorder *made = calloc(1, sizeof(*made));
	int error = made ? recorder_file_make(path, &made->database) : -ENOMEM;

	if (!error) {
		made->options = *options;
		made->path = strdup(path);
		error = made->path ? 0 : -ENOMEM;
	}
	if (error == -ENOMEM)
		log_error("out of memory");
	if (error)
		profile_recorder_close(made);
	else
		*recorder = made;
	return error;
}

uint64_t profile_recorder_count(const struct profile_recorder *recorder)
{
	return recorder->count;
}

uint64_t profile_recorder_missed(const struct profile_recorder *recorder)
{
	return recorder->missed;
}

void profile_recorder_close(struct profile_recorder *recorder)
{
	if (!recorder)
		return;
	recorder_file_close(recorder->database);
	free(recorder->path);
	free(recorder);
}

/* -------- reading: the file is untrusted */

struct profile_reader {
	struct recording *recording;
	struct profile_report *report;
	int error;
};

static uint64_t number(struct profile_reader *reader, sqlite3_stmt *row, int column)
{
	return database_unsigned(row, column, &reader->error);
}

static void get_figures(struct profile_reader *reader, sqlite3_stmt *row, enum table table,
			void *into)
{
	figure_row_read(row, keys[table], &tables[table], into, &reader->recording->strings,
			&reader->error);
}

static void head_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	int64_t watched = sqlite3_column_int64(row, 1);

	reader->report->choosing = watched >= 0;
	reader->report->watched = watched >= 0 ? (size_t)watched : 0;
	get_figures(reader, row, HEAD, reader->report);
}

static void process_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	struct profile_report *report = reader->report;
	struct profile_report_process *process;
	const char *exe = database_text(row, 2);

	if (number(reader, row, 1) != report->processes.count ||
	    report->processes.count >= PROCESSES_MAX)
		reader->error = -EUCLEAN;
	process = reader->error ? NULL : vec_push(&report->processes);
	if (!process) {
		reader->error = reader->error ? reader->error : -ENOMEM;
		return;
	}
	process->exe = exe ? strndup(exe, RECORDING_TEXT_MAX) : NULL;
	process->exited = number(reader, row, 3) != ALIVE;
	process->oom_killed = number(reader, row, 3) == OOM_KILLED;
	get_figures(reader, row, PROCESSES, process);
}

static void site_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	uint64_t at = number(reader, row, 1);
	struct profile_report_process *process;
	struct profile_report_site *site;

	if (at >= reader->report->processes.count)
		reader->error = -EUCLEAN;
	if (reader->error)
		return;
	process = &reader->report->processes.items[at];
	if (number(reader, row, 2) != process->sites.count || process->sites.count >= SITES_MAX)
		reader->error = -EUCLEAN;
	site = reader->error ? NULL : vec_push(&process->sites);
	if (site)
		get_figures(reader, row, SITES, site);
	else
		reader->error = reader->error ? reader->error : -ENOMEM;
}

static void point_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	uint64_t process = number(reader, row, 1), site = number(reader, row, 2);
	struct profile_report *report = reader->report;
	struct site_judgement *judgement;

	if (process >= report->processes.count ||
	    site >= report->processes.items[process].sites.count)
		reader->error = -EUCLEAN;
	if (reader->error)
		return;
	judgement = &report->processes.items[process].sites.items[site].judgement;
	if (number(reader, row, 3) != judgement->points || judgement->points >= PROFILE_AGES) {
		reader->error = -EUCLEAN;
		return;
	}
	get_figures(reader, row, POINTS, &judgement->survival[judgement->points++]);
}

static int read_table(struct profile_reader *reader, enum table table, int64_t profile)
{
	static void (*const readers[TABLES])(struct profile_reader *, sqlite3_stmt *) = {
		[HEAD] = head_read,
		[PROCESSES] = process_read,
		[SITES] = site_read,
		[POINTS] = point_read,
	};
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0,
	    error = figure_rows_select(reader->recording->database, &tables[table], &statement);

	if (!error)
		error = database_bind(statement, "i", profile);
	while (!error && (more = database_next(statement)) != 0) {
		if (more > 0)
			readers[table](reader, statement);
		error = more < 0 ? more : reader->error;
	}
	return error ? recording_fail(reader->recording, error, "a profile") : 0;
}

static int read_stacks(struct profile_reader *reader)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = stored_stacks_prepare(reader->recording, &statement);

	for (size_t i = 0; i < reader->report->processes.count; i++) {
		struct profile_report_process *process = &reader->report->processes.items[i];

		for (size_t j = 0; j < process->sites.count && !error; j++)
			error = stored_stack_read(reader->recording, &reader->recording->strings,
						  statement, process->sites.items[j].id,
						  &process->sites.items[j].frames);
	}
	return error ? recording_fail(reader->recording, error, "its stacks") : 0;
}

int recording_read_profile(struct recording *recording, size_t position,
			   struct profile_report *report)
{
	struct profile_report made = {0};
	struct profile_reader reader = {.recording = recording, .report = &made};
	int error = 0;

	recording_begin(recording);
	for (enum table i = 0; i < TABLES && !error; i++)
		error = read_table(&reader, i, recording->profiles.items[position].number);
	if (!error)
		error = read_stacks(&reader);
	if (error)
		profile_report_free(&made);
	else
		*report = made;
	return error;
}

int recording_list_profiles(struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more = 0, error;

	error = database_errno(sqlite3_prepare_v2(recording->database,
						  "SELECT id,time_ns,(SELECT count(*) FROM "
						  "profile_processes WHERE profile=id AND exited=2)"
						  " FROM profiles ORDER BY id",
						  -1, &statement, NULL));
	while (!error && (more = database_next(statement)) != 0) {
		struct recording_profile *profile =
			more < 0 ? NULL : vec_push(&recording->profiles);
		uint64_t time_ns;

		if (!profile) {
			error = more < 0 ? more : -ENOMEM;
			break;
		}
		profile->number = (int64_t)database_unsigned(statement, 0, &error);
		time_ns = database_unsigned(statement, 1, &error);
		profile->oom_kills = (size_t)database_unsigned(statement, 2, &error);
		profile->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
						  .tv_nsec = (long)(time_ns % 1000000000)};
		if (recording->profiles.count > PROFILES_MAX)
			error = -EUCLEAN;
	}
	return error ? recording_fail(recording, error, "its profiles") : 0;
}

const struct recording_profile *recording_profiles(const struct recording *recording, size_t *count)
{
	*count = recording->profiles.count;
	return recording->profiles.items;
}
