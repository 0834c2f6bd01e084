// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/diagnosis_rows.h"

#include <errno.h>
#include <jansson.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/store/database.h"
#include "report/store/recorder_state.h"
#include "report/store/recording_state.h"

#define NS_PER_S INT64_C(1000000000)
/* More than any genuine recording has; a file with more was made to take for ever. */
#define DIAGNOSES_MAX 100000
#define LINES_MAX 1000

/* -------- writing */

/* Deletes those without room under --keep, or too old. */
static const char forget_sql[] =
	"DELETE FROM diagnoses WHERE id<>(SELECT max(id) FROM diagnoses) AND (time_ns<?1 OR"
	" (SELECT sum(length(answer)) FROM diagnoses AS later WHERE later.id>=diagnoses.id)>?2)";

static int run_prepared(sqlite3 *database, const char *sql, int64_t first, int64_t second)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = database_errno(sqlite3_prepare_v2(database, sql, -1, &statement, NULL));

	return error ? error : database_do(statement, "ii", first, second);
}

static int put(sqlite3 *database, const struct stored_diagnosis *diagnosis, int64_t time_ns)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int error = database_errno(sqlite3_prepare_v2(
		database, "INSERT INTO diagnoses(time_ns,pid,comm,reason,answer) VALUES(?,?,?,?,?)",
		-1, &statement, NULL));

	return error ? error
		     : database_do(statement, "iittt", time_ns, (int64_t)diagnosis->pid,
				   diagnosis->comm, diagnosis->reason, diagnosis->answer);
}

static int append(sqlite3 *database, const struct stored_diagnosis *diagnosis,
		  const struct recorder_options *keep)
{
	int64_t time_ns = (int64_t)timespec_ns(&diagnosis->time);
	int64_t since_ns = keep->keep_ns ? time_ns - (int64_t)keep->keep_ns : INT64_MIN;
	int64_t room = keep->keep_bytes ? (int64_t)(keep->keep_bytes / DIAGNOSES_SHARE) : INT64_MAX;
	int error = strlen(diagnosis->answer) > DIAGNOSIS_BYTES_MAX
			    ? -E2BIG
			    : database_run(database, "BEGIN IMMEDIATE");

	if (error)
		return error;
	error = put(database, diagnosis, time_ns);
	if (!error)
		error = run_prepared(database, forget_sql, since_ns, room);
	if (!error)
		error = database_run(database, "COMMIT");
	if (error)
		database_run(database, "ROLLBACK");
	return error;
}

int diagnosis_rows_append(const char *path, const struct stored_diagnosis *diagnosis,
			  const struct recorder_options *keep)
{
	sqlite3 *database = NULL;
	int error = recorder_file_reopen(path, &database);

	if (error)
		return error;
	error = append(database, diagnosis, keep);
	if (error)
		log_error("the answer about PID %d is not in the recording %s: %s",
			  (int)diagnosis->pid, path, strerror(-error));
	recorder_file_close(database);
	return error;
}

/* -------- reading: the file is untrusted */

static int take_lines(struct recording *recording, const json_t *text,
		      struct stored_diagnosis *diagnosis)
{
	const json_t *line;
	size_t i;

	json_array_foreach(text, i, line)
	{
		const char **added;

		if (!json_is_string(line) || i == LINES_MAX)
			return -EUCLEAN;
		added = vec_push(&diagnosis->lines);
		if (!added)
			return -ENOMEM;
		*added = intern_string(&recording->strings, json_string_value(line));
		if (!*added)
			return -ENOMEM;
	}
	return 0;
}

static int take_answer(struct recording *recording, const char *answer,
		       struct stored_diagnosis *diagnosis)
{
	json_t *object = answer && strlen(answer) <= DIAGNOSIS_BYTES_MAX
				 ? json_loads(answer, 0, NULL)
				 : NULL;
	_cleanup_free_ char *written = NULL;
	int error = json_is_object(object) ? 0 : -EUCLEAN;

	if (!error)
		error = take_lines(recording, json_object_get(object, "text"), diagnosis);
	if (!error)
		written = json_dumps(object, JSON_COMPACT | JSON_ENSURE_ASCII);
	if (written)
		diagnosis->answer = intern_string(&recording->strings, written);
	json_decref(object);
	return error || diagnosis->answer ? error : -ENOMEM;
}

static int row_read(struct recording *recording, sqlite3_stmt *row,
		    struct stored_diagnoses *diagnoses)
{
	struct stored_diagnosis *added =
		diagnoses->list.count < DIAGNOSES_MAX ? vec_push(&diagnoses->list) : NULL;
	uint64_t time_ns, pid;
	int error = 0;

	if (!added)
		return diagnoses->list.count < DIAGNOSES_MAX ? -ENOMEM : -EUCLEAN;
	time_ns = database_unsigned(row, 0, &error);
	added->time = (struct timespec){.tv_sec = (time_t)(time_ns / (uint64_t)NS_PER_S),
					.tv_nsec = (long)(time_ns % (uint64_t)NS_PER_S)};
	pid = database_unsigned(row, 1, &error);
	added->pid = (pid_t)pid;
	added->comm = recording_text(recording, row, 2, &error);
	added->reason = recording_text(recording, row, 3, &error);
	if (!error && (pid > INT32_MAX || !added->comm || !added->reason))
		error = -EUCLEAN;
	return error ? error : take_answer(recording, database_text(row, 4), added);
}

static bool is_after(const struct timespec *time, const struct timespec *until)
{
	return until && (time->tv_sec > until->tv_sec ||
			 (time->tv_sec == until->tv_sec && time->tv_nsec > until->tv_nsec));
}

int recording_diagnoses(struct recording *recording, const struct timespec *until,
			struct stored_diagnoses *diagnoses)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	struct stored_diagnosis *last;
	int more = 0, error;

	recording_begin(recording);
	error = database_errno(sqlite3_prepare_v2(recording->database,
						  "SELECT time_ns,pid,comm,reason,answer FROM "
						  "diagnoses ORDER BY id",
						  -1, &statement, NULL));
	while (!error && (more = database_next(statement)) != 0) {
		error = more < 0 ? more : row_read(recording, statement, diagnoses);
		last = &diagnoses->list.items[diagnoses->list.count - 1];
		if (error || !is_after(&last->time, until))
			continue;
		vec_free(&last->lines);
		diagnoses->list.count--;
	}
	if (!error)
		return 0;
	stored_diagnoses_free(diagnoses);
	return recording_fail(recording, error, "its diagnoses");
}
