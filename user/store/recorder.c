// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recorder_state.h"
#include "store/schema.h"

/* A state is read from the full snapshot before it: this many others at most lie between. */
#define FULL_EVERY 32
/* The histograms of ages cost as much as all other numbers: so many snapshots have them all... */
#define AGES_FIRST 64
/* ...and then one of so many. */
#define AGES_EVERY 8

#ifndef LEAKMON_VERSION
#define LEAKMON_VERSION "0.1.0"
#endif

#define PUT_LEDGER_SQL "INSERT INTO ledgers VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

static const char hand_on_full_sql[] = "UPDATE snapshots SET is_full="
				       "(SELECT is_full FROM snapshots WHERE sequence=?1)"
				       " WHERE sequence=?2";
static const char count_rows_sql[] = "UPDATE snapshots SET rows="
				     "(SELECT count(*) FROM points WHERE snapshot=?2)"
				     " WHERE sequence=?2";
static const char all_snapshots_sql[] = "SELECT sequence,monotonic_ns,label IS NOT NULL,is_full"
					" FROM snapshots ORDER BY sequence";

static const char *const statements[] = {
	[PUT_SNAPSHOT] = "INSERT INTO snapshots VALUES(?,?,?,?,?,?,?,?,0)",
	[PUT_PROCESS] = "INSERT OR REPLACE INTO processes VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_MODULE] = "INSERT INTO modules VALUES(?,?,?)",
	[PUT_MAPPING] = "INSERT OR REPLACE INTO mappings VALUES(?,?,?)",
	[PUT_FRAME] = "INSERT INTO frames VALUES(?,nullif(?,0),?,?,?,?,nullif(?,0),?,?)",
	[PUT_SITE] = "INSERT OR REPLACE INTO sites VALUES(?,?,?,?,?,?,?)",
	[CLEAR_STACK] = "DELETE FROM stacks WHERE site=?",
	[PUT_STACK] = "INSERT INTO stacks VALUES(?,?,?)",
	[PUT_POINT] = "INSERT OR REPLACE INTO points VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_AGES] = "INSERT INTO ages VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_LEDGER] = PUT_LEDGER_SQL,
	[PUT_LOSS] = "INSERT INTO losses VALUES(?,?,?,?,?)",
	[SET_ROWS] = "UPDATE snapshots SET rows=?2 WHERE sequence=?1",
	[MOVE_POINTS] = "UPDATE OR IGNORE points SET snapshot=?2 WHERE snapshot=?1",
	[DROP_POINTS] = "DELETE FROM points WHERE snapshot=?1",
	[MOVE_AGES] = "UPDATE OR IGNORE ages SET snapshot=?2 WHERE snapshot=?1",
	[DROP_AGES] = "DELETE FROM ages WHERE snapshot=?1",
	[MOVE_LEDGERS] = "UPDATE OR IGNORE ledgers SET snapshot=?2 WHERE snapshot=?1",
	[DROP_LEDGERS] = "DELETE FROM ledgers WHERE snapshot=?1",
	[MOVE_LOSSES] = "UPDATE OR IGNORE losses SET snapshot=?2 WHERE snapshot=?1",
	[DROP_LOSSES] = "DELETE FROM losses WHERE snapshot=?1",
	[MOVE_THREADS] = "UPDATE OR IGNORE threads SET snapshot=?2 WHERE snapshot=?1",
	[DROP_THREADS] = "DELETE FROM threads WHERE snapshot=?1",
	[HAND_ON_FULL] = hand_on_full_sql,
	[DROP_SNAPSHOT] = "DELETE FROM snapshots WHERE sequence=?1",
	[COUNT_ROWS] = count_rows_sql,
	[ALL_SNAPSHOTS] = all_snapshots_sql,
};
_Static_assert(ARRAY_SIZE(statements) == RECORDER_STATEMENTS, "a text for every statement");

static int prepare(struct recorder *recorder)
{
	int code = SQLITE_OK;

	for (size_t i = 0; i < RECORDER_STATEMENTS && !code; i++)
		code = sqlite3_prepare_v3(recorder->database, statements[i], -1,
					  SQLITE_PREPARE_PERSISTENT, &recorder->statements[i],
					  NULL);
	return database_errno(code);
}

static int meta_write(sqlite3 *database)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	struct utsname host = {0};
	int error = database_errno(
		sqlite3_prepare_v2(database, "INSERT INTO meta VALUES(?,?)", -1, &statement, NULL));

	uname(&host);
	if (!error)
		error = database_do(statement, "tt", "leakmon", LEAKMON_VERSION);
	if (!error)
		error = database_do(statement, "tt", "host", host.nodename);
	if (!error)
		error = database_do(statement, "tt", "kernel", host.release);
	return error;
}

static int create(sqlite3 *database)
{
	char pragmas[256];
	int error;

	snprintf(pragmas, sizeof(pragmas),
		 "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA wal_autocheckpoint=250;"
		 "PRAGMA application_id=%d;"
		 "BEGIN; PRAGMA user_version=%d;",
		 SCHEMA_APPLICATION_ID, SCHEMA_VERSION);
	error = database_run(database, pragmas);
	if (!error)
		error = database_run(database, schema_sql);
	if (!error)
		error = meta_write(database);
	return error ? error : database_run(database, "COMMIT");
}

/* Readable by its owner only: a recording names files and functions of the targets. */
static int file_make(const char *path)
{
	int fd = open(path, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);

	if (fd < 0) {
		log_error("cannot record to %s: %s; %s", path, strerror(errno),
			  errno == EEXIST ? "name another file, or remove this one"
					  : "name a file in a directory that you may write to");
		return -errno;
	}
	close(fd);
	return 0;
}

/* SQLite gives some names a meaning: with a directory before it, a name is a name. */
static char *plain_path(const char *path)
{
	char *plain;

	return asprintf(&plain, "%s%s", *path == '/' ? "" : "./", path) < 0 ? NULL : plain;
}

static int database_make(struct recorder *recorder)
{
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	int error =
		database_errno(sqlite3_open_v2(recorder->path, &recorder->database, flags, NULL));

	if (!error) {
		sqlite3_busy_timeout(recorder->database, 2000);
		error = create(recorder->database);
	}
	return error ? error : prepare(recorder);
}

int recorder_open(struct recorder **recorder, const char *path,
		  const struct recorder_options *options)
{
	struct recorder *made = calloc(1, sizeof(*made));
	int error;

	if (made)
		made->path = plain_path(path);
	if (!made || !made->path) {
		free(made);
		log_error("out of memory");
		return -ENOMEM;
	}
	made->options = *options;
	made->since_full = FULL_EVERY;
	error = file_make(path);
	if (!error) {
		error = database_make(made);
		if (error) {
			log_error("cannot record to %s: %s; name a file on a local file system "
				  "with room",
				  path, strerror(-error));
			unlink(path);
		}
	}
	if (error)
		recorder_close(made);
	else
		*recorder = made;
	return error;
}

static int kept_reload(struct recorder *recorder)
{
	sqlite3_stmt *statement = recorder->statements[ALL_SNAPSHOTS];
	int more;

	recorder->kept.count = 0;
	while ((more = database_next(statement)) > 0) {
		struct kept_snapshot *kept = vec_push(&recorder->kept);

		if (!kept) {
			sqlite3_reset(statement);
			return -ENOMEM;
		}
		kept->sequence = sqlite3_column_int64(statement, 0);
		kept->monotonic_ns = (uint64_t)sqlite3_column_int64(statement, 1);
		kept->labelled = sqlite3_column_int(statement, 2);
		kept->full = sqlite3_column_int(statement, 3);
	}
	return more;
}

static int snapshot_write(struct recorder *recorder, const struct snapshot *snapshot,
			  const char *label)
{
	struct kept_snapshot *kept = vec_push(&recorder->kept);
	int64_t time_ns =
		(int64_t)snapshot->time.tv_sec * 1000000000 + (int64_t)snapshot->time.tv_nsec;

	if (!kept)
		return -ENOMEM;
	*kept = (struct kept_snapshot){.sequence = recorder->sequence,
				       .monotonic_ns = snapshot->monotonic_ns,
				       .labelled = label,
				       .full = recorder->full};
	return database_do(recorder->statements[PUT_SNAPSHOT], "iiitiiii", recorder->sequence,
			   time_ns, (int64_t)snapshot->monotonic_ns, label, (int64_t)recorder->full,
			   (int64_t)snapshot->has_ages, (int64_t)snapshot->sampled,
			   (int64_t)snapshot->scan_ns);
}

static int transaction(struct recorder *recorder, const struct report *report, const char *label)
{
	int error = database_run(recorder->database, "BEGIN IMMEDIATE");

	if (!error)
		error = snapshot_write(recorder, report->snapshot, label);
	if (!error)
		error = recorder_put_numbers(recorder, report);
	if (!error)
		error = database_do(recorder->statements[SET_ROWS], "ii", recorder->sequence,
				    recorder->rows);
	if (!error)
		error = recorder_keep(recorder);
	return error ? error : database_run(recorder->database, "COMMIT");
}

/* Sites of processes that are gone will not come back. */
static int sites_sweep(struct recorder *recorder)
{
	size_t kept = 0;

	for (size_t i = 0; i < recorder->sites.count; i++) {
		const struct recorded_site *site = &recorder->sites.items[i];

		if (!recorder->processes.items[site->process_row - 1].gone)
			recorder->sites.items[kept++] = *site;
	}
	if (kept == recorder->sites.count)
		return 0;
	recorder->sites.count = kept;
	return recorder_index_sites(recorder);
}

static int roll_back(struct recorder *recorder)
{
	int error;

	/* SQLite may have done it already. */
	database_run(recorder->database, "ROLLBACK");
	recorder->sequence = 0;
	recorder->since_full = FULL_EVERY;
	error = recorder_forget_rows(recorder);
	if (!error)
		error = kept_reload(recorder);
	if (!error && recorder->kept.count)
		recorder->sequence = recorder->kept.items[recorder->kept.count - 1].sequence;
	return error;
}

int recorder_append(struct recorder *recorder, const struct report *report, const char *label,
		    bool last)
{
	uint64_t sequence = report->snapshot->sequence;
	int error;

	recorder->sequence = MAX((int64_t)sequence, recorder->sequence + 1);
	recorder->appends++;
	recorder->rows = 0;
	recorder->full = last || recorder->since_full + 1 >= FULL_EVERY;
	recorder->ages = recorder->full || label || recorder->appends <= AGES_FIRST ||
			 recorder->appends % AGES_EVERY == 0;
	error = transaction(recorder, report, label);
	if (!error) {
		recorder->committed = recorder->counts;
		recorder->since_full = recorder->full ? 0 : recorder->since_full + 1;
		return sites_sweep(recorder);
	}
	recorder->missed++;
	log_error("snapshot %llu is not in the recording %s: %s (%s); those before it are%s",
		  (unsigned long long)sequence, recorder->path, strerror(-error),
		  sqlite3_errmsg(recorder->database),
		  error == -ENOSPC ? "; make room, and it goes on with the next one" : "");
	return roll_back(recorder) ? -ENOMEM : error;
}

uint64_t recorder_missed(const struct recorder *recorder)
{
	return recorder->missed;
}

uint64_t recorder_snapshots(const struct recorder *recorder)
{
	return recorder->kept.count;
}

void recorder_close(struct recorder *recorder)
{
	if (!recorder)
		return;
	for (size_t i = 0; i < RECORDER_STATEMENTS; i++)
		sqlite3_finalize(recorder->statements[i]);
	/* One plain file, which opens on read-only media too; a reader may prevent that. */
	if (recorder->database)
		database_run(recorder->database, "PRAGMA journal_mode=DELETE");
	sqlite3_close(recorder->database);
	vec_free(&recorder->processes);
	vec_free(&recorder->sites);
	vec_free(&recorder->kept);
	hash_free(&recorder->process_rows);
	hash_free(&recorder->site_positions);
	hash_free(&recorder->module_rows);
	hash_free(&recorder->frame_rows);
	hash_free(&recorder->mapping_rows);
	free(recorder->path);
	free(recorder);
}
