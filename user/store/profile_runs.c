// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/profile_runs.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/database.h"
#include "store/recorder_state.h"
#include "store/recording_state.h"

/* No run of ours makes more; a file that says so was made to be read for ever. */
#define PROFILES_MAX (1u << 20)
#define PROCESSES_MAX (1u << 16)
#define SITES_MAX (1u << 16)

/* What stands in `exited`: readers before this took whatever is not 0 for an end. */
enum { ALIVE, EXITED, OOM_KILLED };

/* -------- columns of real numbers: NaN is NULL */

struct real {
	const char *name;
	size_t offset;
};

struct reals {
	const struct real *items;
	size_t count;
};

static const struct real head_reals[] = {
	{"overhead_limit", offsetof(struct profile_report, limit)},
	{"spent", offsetof(struct profile_report, spent)},
	{"trap_ns", offsetof(struct profile_report, trap_ns)},
	{"tracked_s", offsetof(struct profile_report, tracked_s)},
	{"cpu_s", offsetof(struct profile_report, cpu_s)},
};

#define OF_PROCESS(member) offsetof(struct profile_report_process, member)
static const struct real process_reals[] = {
	{"tracked_s", OF_PROCESS(judgement.tracked_s)},
	{"spent", OF_PROCESS(spent)},
	{"net_blocks", OF_PROCESS(judgement.net_blocks_per_s.estimate)},
	{"net_blocks_low", OF_PROCESS(judgement.net_blocks_per_s.low)},
	{"net_blocks_high", OF_PROCESS(judgement.net_blocks_per_s.high)},
	{"memory_bytes", OF_PROCESS(memory_bytes)},
	{"memory_growth", OF_PROCESS(memory_growth_per_s)},
	{"explained", OF_PROCESS(explained)},
	{"chosen_growth", OF_PROCESS(chosen_per_s)},
	{"chosen_confidence", OF_PROCESS(chosen_confidence)},
};

#define OF_SITE(member) offsetof(struct profile_report_site, judgement.member)
static const struct real site_reals[] = {
	{"births", OF_SITE(births_per_s.estimate)},
	{"births_low", OF_SITE(births_per_s.low)},
	{"births_high", OF_SITE(births_per_s.high)},
	{"birth_bytes", OF_SITE(birth_bytes_per_s)},
	{"growth_blocks", OF_SITE(growth_blocks_per_s.estimate)},
	{"growth_blocks_low", OF_SITE(growth_blocks_per_s.low)},
	{"growth_blocks_high", OF_SITE(growth_blocks_per_s.high)},
	{"growth_bytes", OF_SITE(growth_bytes_per_s.estimate)},
	{"growth_bytes_low", OF_SITE(growth_bytes_per_s.low)},
	{"growth_bytes_high", OF_SITE(growth_bytes_per_s.high)},
	{"most_bytes", OF_SITE(most_bytes_per_s)},
	{"ready_s", OF_SITE(ready_s)},
};

static const struct real point_reals[] = {
	{"age_s", offsetof(struct survival_point, age_s)},
	{"untouched", offsetof(struct survival_point, untouched.estimate)},
	{"untouched_low", offsetof(struct survival_point, untouched.low)},
	{"untouched_high", offsetof(struct survival_point, untouched.high)},
	{"undead", offsetof(struct survival_point, undead.estimate)},
	{"undead_low", offsetof(struct survival_point, undead.low)},
	{"undead_high", offsetof(struct survival_point, undead.high)},
	{"samples", offsetof(struct survival_point, samples)},
};

enum table { HEAD, PROCESSES, SITES, POINTS, TABLES };

static const struct profile_table {
	const char *name;
	const char *columns; /* before the real numbers */
	size_t plain;	     /* how many those are */
	const char *order;
	struct reals reals;
} tables[] = {
	[HEAD] = {"profiles",
		  "id,time_ns,sequence,windows,samples,resident_bytes,watched,measured",
		  8,
		  "id",
		  {head_reals, ARRAY_SIZE(head_reals)}},
	[PROCESSES] = {"profile_processes",
		       "profile,process,pid,comm,exe,exited,windows,samples,dropped,unfollowed,"
		       "sites_total,has_growth",
		       12,
		       "process",
		       {process_reals, ARRAY_SIZE(process_reals)}},
	[SITES] = {"profile_sites",
		   "profile,process,site,stack,walk_end,verdict,why",
		   7,
		   "process,site",
		   {site_reals, ARRAY_SIZE(site_reals)}},
	[POINTS] = {"profile_survival",
		    "profile,process,site,position",
		    4,
		    "process,site,position",
		    {point_reals, ARRAY_SIZE(point_reals)}},
};
_Static_assert(ARRAY_SIZE(tables) == TABLES, "every table");

#define SQL_SIZE 1024

static void columns_write(FILE *sql, const struct profile_table *table)
{
	fputs(table->columns, sql);
	for (size_t i = 0; i < table->reals.count; i++)
		fprintf(sql, ",%s", table->reals.items[i].name);
}

static int prepare(sqlite3 *database, enum table which, bool insert, sqlite3_stmt **statement)
{
	const struct profile_table *table = &tables[which];
	char text[SQL_SIZE] = "";
	FILE *sql = fmemopen(text, sizeof(text), "w");

	if (!sql)
		return -ENOMEM;
	fputs(insert ? "INSERT INTO " : "SELECT ", sql);
	if (insert)
		fprintf(sql, "%s(", table->name);
	columns_write(sql, table);
	fputs(insert ? ") VALUES(?" : " FROM ", sql);
	for (size_t i = 1; i < table->plain + table->reals.count && insert; i++)
		fputs(",?", sql);
	if (insert)
		fputc(')', sql);
	else
		fprintf(sql, "%s WHERE %s=? ORDER BY %s", table->name,
			which == HEAD ? "id" : "profile", table->order);
	fclose(sql);
	return database_errno(sqlite3_prepare_v2(database, text, -1, statement, NULL));
}

/* -------- writing */

struct profile_recorder {
	sqlite3 *database;
	char *path;
	struct recorder_options options;
	uint64_t count, missed;
	uint64_t missed_told; /* of them, those that the recording tells */
	uint64_t first_ns;    /* of the first profile, which stays */
};

struct profile_writer {
	sqlite3_stmt *statements[TABLES], *frames;
	int64_t profile;
};

/* Behind what is bound already. */
static int put_reals(struct profile_writer *writer, enum table table, const void *row)
{
	sqlite3_stmt *statement = writer->statements[table];
	const struct reals *reals = &tables[table].reals;
	int column = (int)tables[table].plain, error = 0;

	for (size_t i = 0; i < reals->count && !error; i++) {
		double value;

		memcpy(&value, (const char *)row + reals->items[i].offset, sizeof(value));
		error = database_errno(sqlite3_bind_double(statement, ++column, value));
	}
	return error ? error : database_next(statement);
}

static int put_frames(struct profile_writer *writer, const char *stack, const struct frames *frames)
{
	int error = 0;

	for (size_t i = 0; i < frames->list.count && !error; i++) {
		const struct frame *frame = &frames->list.items[i];

		error = database_do(writer->frames, "tittiititiit", stack, (int64_t)i,
				    frame->module, frame->build_id,
				    (int64_t)(frame->module_offset & INT64_MAX),
				    (int64_t)(frame->address & INT64_MAX), frame->function,
				    (int64_t)(frame->offset & INT64_MAX), frame->file,
				    (int64_t)frame->line, (int64_t)frame->inlined, frame->why);
	}
	return error;
}

static int put_site(struct profile_writer *writer, int64_t process, int64_t number,
		    const struct profile_report_site *site)
{
	char stack[17];
	int error;

	snprintf(stack, sizeof(stack), "%016" PRIx64, site->id);
	error = database_bind(writer->statements[SITES], "iiitttt", writer->profile, process,
			      number, stack, walk_end_name(site->end),
			      profile_verdict_name(site->judgement.verdict), site->judgement.why);
	if (!error)
		error = put_reals(writer, SITES, site);
	for (size_t i = 0; i < site->judgement.points && !error; i++) {
		error = database_bind(writer->statements[POINTS], "iiii", writer->profile, process,
				      number, (int64_t)i);
		if (!error)
			error = put_reals(writer, POINTS, &site->judgement.survival[i]);
	}
	return error ? error : put_frames(writer, stack, &site->frames);
}

static int put_process(struct profile_writer *writer, int64_t number,
		       const struct profile_report_process *process)
{
	int error =
		database_bind(writer->statements[PROCESSES], "iiittiiiiiii", writer->profile,
			      number, (int64_t)process->pid, process->comm, process->exe,
			      (int64_t)(process->oom_killed ? OOM_KILLED
					: process->exited   ? EXITED
							    : ALIVE),
			      (int64_t)process->judgement.windows, (int64_t)process->samples,
			      (int64_t)process->dropped, (int64_t)process->unfollowed,
			      (int64_t)process->sites_total, (int64_t)process->has_memory_growth);

	if (!error)
		error = put_reals(writer, PROCESSES, process);
	for (size_t i = 0; i < process->sites.count && !error; i++)
		error = put_site(writer, number, (int64_t)i, &process->sites.items[i]);
	return error;
}

static int64_t time_ns_of(const struct profile_report *report)
{
	return (int64_t)report->time.tv_sec * 1000000000 + report->time.tv_nsec;
}

static int put_report(struct profile_writer *writer, const struct profile_report *report)
{
	int error = database_bind(writer->statements[HEAD], "iiiiiiii", writer->profile,
				  time_ns_of(report), (int64_t)report->sequence,
				  (int64_t)report->windows, (int64_t)report->samples,
				  (int64_t)report->rss_bytes,
				  report->choosing ? (int64_t)report->watched : (int64_t)-1,
				  (int64_t)report->measured);

	if (!error)
		error = put_reals(writer, HEAD, report);
	for (size_t i = 0; i < report->processes.count && !error; i++)
		error = put_process(writer, (int64_t)i, &report->processes.items[i]);
	return error;
}

static int writer_prepare(struct profile_writer *writer, sqlite3 *database)
{
	int error = database_errno(sqlite3_prepare_v2(database,
						      "INSERT OR REPLACE INTO retain_stacks"
						      " VALUES(?,?,?,?,?,?,?,?,?,nullif(?,0),?,?)",
						      -1, &writer->frames, NULL));

	for (enum table i = 0; i < TABLES && !error; i++)
		error = prepare(database, i, true, &writer->statements[i]);
	return error;
}

static int forget(sqlite3 *database, int64_t profile)
{
	int error = 0;

	for (enum table i = 0; i < TABLES && !error; i++) {
		char sql[128];

		snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE %s=%" PRId64, tables[i].name,
			 i == HEAD ? "id" : "profile", profile);
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

/* What --keep allows no longer: two at a time, so that the file shrinks below its limit at last. */
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
	if (!error && recorder->missed != recorder->missed_told)
		error = put_missed(recorder);
	sqlite3_finalize(writer.frames);
	for (size_t i = 0; i < TABLES; i++)
		sqlite3_finalize(writer.statements[i]);
	if (!error)
		error = database_run(recorder->database, "COMMIT");
	if (error)
		database_run(recorder->database, "ROLLBACK");
	else
		recorder->missed_told = recorder->missed;
	return error;
}

int profile_recorder_append(struct profile_recorder *recorder, const struct profile_report *report)
{
	int error = append(recorder, report);

	if (error) {
		recorder->missed++;
		log_error("this profile is not in the recording %s: %s (%s); what was in it still "
			  "is",
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

/* -------- reading: nothing in the file is believed */

struct profile_reader {
	struct recording *recording;
	struct profile_report *report;
	int error;
};

static uint64_t number(struct profile_reader *reader, sqlite3_stmt *row, int column)
{
	return database_unsigned(row, column, &reader->error);
}

static void get_reals(struct profile_reader *reader, sqlite3_stmt *row, enum table table,
		      void *into)
{
	const struct reals *reals = &tables[table].reals;
	int column = (int)tables[table].plain;

	for (size_t i = 0; i < reals->count; i++, column++) {
		int type = sqlite3_column_type(row, column);
		double value = type == SQLITE_NULL ? NAN : sqlite3_column_double(row, column);

		if (type != SQLITE_NULL && type != SQLITE_FLOAT && type != SQLITE_INTEGER)
			reader->error = -EUCLEAN;
		memcpy((char *)into + reals->items[i].offset, &value, sizeof(value));
	}
}

static void head_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	struct profile_report *report = reader->report;
	uint64_t time_ns = number(reader, row, 1);
	int64_t watched = sqlite3_column_int64(row, 6);

	report->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
					 .tv_nsec = (long)(time_ns % 1000000000)};
	report->sequence = number(reader, row, 2);
	report->windows = number(reader, row, 3);
	report->samples = number(reader, row, 4);
	report->rss_bytes = number(reader, row, 5);
	report->choosing = watched >= 0;
	report->watched = watched >= 0 ? (size_t)watched : 0;
	report->measured = number(reader, row, 7) != 0;
	get_reals(reader, row, HEAD, report);
}

static void process_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	struct profile_report *report = reader->report;
	struct profile_report_process *process;
	const char *comm = database_text(row, 3), *exe = database_text(row, 4);
	uint64_t pid = number(reader, row, 2);

	if (number(reader, row, 1) != report->processes.count || pid > INT32_MAX ||
	    report->processes.count >= PROCESSES_MAX)
		reader->error = -EUCLEAN;
	process = reader->error ? NULL : vec_push(&report->processes);
	if (!process) {
		reader->error = reader->error ? reader->error : -ENOMEM;
		return;
	}
	process->pid = (uint32_t)pid;
	snprintf(process->comm, sizeof(process->comm), "%s", comm ? comm : "");
	process->exe = exe ? strndup(exe, RECORDING_TEXT_MAX) : NULL;
	process->exited = number(reader, row, 5) != ALIVE;
	process->oom_killed = number(reader, row, 5) == OOM_KILLED;
	process->judgement.windows = number(reader, row, 6);
	process->samples = number(reader, row, 7);
	process->dropped = number(reader, row, 8);
	process->unfollowed = number(reader, row, 9);
	process->sites_total = number(reader, row, 10);
	process->has_memory_growth = number(reader, row, 11) != 0;
	get_reals(reader, row, PROCESSES, process);
}

static void end_and_verdict_read(struct profile_reader *reader, sqlite3_stmt *row,
				 struct profile_report_site *site)
{
	const char *end = database_text(row, 4), *verdict = database_text(row, 5);
	unsigned i = 0;

	while (i < LM_WALK_MAX_ && (!end || strcmp(end, walk_end_name(i)) != 0))
		i++;
	site->end = i < LM_WALK_MAX_ ? (enum lm_walk_end)i : 0;
	i = 0;
	while (i < PROFILE_VERDICT_MAX_ &&
	       (!verdict || strcmp(verdict, profile_verdict_name(i)) != 0))
		i++;
	if (i == PROFILE_VERDICT_MAX_)
		reader->error = -EUCLEAN;
	else
		site->judgement.verdict = (enum profile_verdict)i;
}

static void site_read(struct profile_reader *reader, sqlite3_stmt *row)
{
	uint64_t at = number(reader, row, 1);
	const char *stack = database_text(row, 3);
	struct profile_report_process *process;
	struct profile_report_site *site;

	if (at >= reader->report->processes.count || !stack)
		reader->error = -EUCLEAN;
	if (reader->error)
		return;
	process = &reader->report->processes.items[at];
	if (number(reader, row, 2) != process->sites.count || process->sites.count >= SITES_MAX)
		reader->error = -EUCLEAN;
	site = reader->error ? NULL : vec_push(&process->sites);
	if (!site) {
		reader->error = reader->error ? reader->error : -ENOMEM;
		return;
	}
	site->id = strtoull(stack, NULL, 16);
	end_and_verdict_read(reader, row, site);
	site->judgement.why = recording_text(reader->recording, row, 6, &reader->error);
	get_reals(reader, row, SITES, site);
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
	get_reals(reader, row, POINTS, &judgement->survival[judgement->points++]);
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
	int more = 0, error = prepare(reader->recording->database, table, false, &statement);

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
			error = stored_stack_read(&reader->recording->strings, statement,
						  process->sites.items[j].id,
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

	if (recording->version < 4)
		return 0;
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
