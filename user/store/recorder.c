// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/recorder.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/checkpointer.h"
#include "store/recorder_file.h"
#include "store/recorder_state.h"

/* A state is read from the full snapshot before it: this many others at most lie between. */
#define FULL_EVERY 32
/* The histograms of ages cost as much as all other numbers: so many snapshots have them all... */
#define AGES_FIRST 64
/* ...and then one of so many. */
#define AGES_EVERY 8

#define PUT_LEDGER_SQL "INSERT INTO ledgers VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"

static const char hand_on_full_sql[] = "UPDATE snapshots SET is_full="
				       "(SELECT is_full FROM snapshots WHERE sequence=?1)"
				       " WHERE sequence=?2";
static const char count_rows_sql[] = "UPDATE snapshots SET rows="
				     "(SELECT count(*) FROM points WHERE snapshot=?2)"
				     " WHERE sequence=?2";
static const char all_snapshots_sql[] = "SELECT sequence,monotonic_ns,label IS NOT NULL,is_full"
					" FROM snapshots ORDER BY sequence";

/* Many frames at a time, which costs a third; a place without a frame is passed over: NOT NULL. */
#define FRAME(place, parameter) ",(?1,?2+" #place ",?" #parameter ")"
static const char put_stack_sql[] = "INSERT OR IGNORE INTO stacks VALUES(?1,?2,?3)" FRAME(1, 4)
	FRAME(2, 5) FRAME(3, 6) FRAME(4, 7) FRAME(5, 8) FRAME(6, 9) FRAME(7, 10) FRAME(8, 11)
		FRAME(9, 12) FRAME(10, 13) FRAME(11, 14) FRAME(12, 15) FRAME(13, 16) FRAME(14, 17)
			FRAME(15, 18);
_Static_assert(RECORDER_FRAMES_AT_ONCE == 16, "a row for every place");

static const char *const statements[] = {
	[PUT_SNAPSHOT] = "INSERT INTO snapshots VALUES(?,?,?,?,?,?,?,?,0,?,?)",
	[PUT_PROCESS] = "INSERT OR REPLACE INTO processes VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_MODULE] = "INSERT INTO modules VALUES(?,?,?)",
	[PUT_MAPPING] = "INSERT OR REPLACE INTO mappings VALUES(?,?,?)",
	[PUT_FRAME] = "INSERT INTO frames VALUES(?,nullif(?,0),?,?,?,?,nullif(?,0),?,?)",
	[PUT_SITE] = "INSERT OR REPLACE INTO sites VALUES(?,?,?,?,?,?,?)",
	[CLEAR_STACK] = "DELETE FROM stacks WHERE site=?",
	[PUT_STACK] = put_stack_sql,
	[PUT_POINT] = "INSERT OR REPLACE INTO points VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_AGES] = "INSERT INTO ages VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_BY_DEAD] = "INSERT INTO by_dead VALUES(?,?,?,?)",
	[PUT_LEDGER] = PUT_LEDGER_SQL,
	[PUT_LOSS] = "INSERT INTO losses VALUES(?,?,?,?,?)",
	[PUT_THREADS] = "INSERT OR REPLACE INTO threads VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?)",
	[PUT_CREATOR] = "INSERT OR REPLACE INTO creators VALUES(?,?,?,?)",
	[CLEAR_CREATOR_STACK] = "DELETE FROM creator_stacks WHERE creator=?",
	[PUT_CREATOR_STACK] = "INSERT INTO creator_stacks VALUES(?,?,?)",
	[PUT_DEAD] = "INSERT OR REPLACE INTO dead_threads VALUES(?,?,?,?,?,?,?,?,?,?)",
	[PUT_MAPPING_LEDGER] = "INSERT OR REPLACE INTO mapping_ledgers VALUES(?,?,?,?,?,?,?,?,?,?)",
	[SET_ROWS] = "UPDATE snapshots SET rows=?2 WHERE sequence=?1",
	[MOVE_POINTS] = "UPDATE OR IGNORE points SET snapshot=?2 WHERE snapshot=?1",
	[DROP_POINTS] = "DELETE FROM points WHERE snapshot=?1",
	[MOVE_AGES] = "UPDATE OR IGNORE ages SET snapshot=?2 WHERE snapshot=?1",
	[DROP_AGES] = "DELETE FROM ages WHERE snapshot=?1",
	[MOVE_BY_DEAD] = "UPDATE OR IGNORE by_dead SET snapshot=?2 WHERE snapshot=?1",
	[DROP_BY_DEAD] = "DELETE FROM by_dead WHERE snapshot=?1",
	[MOVE_LEDGERS] = "UPDATE OR IGNORE ledgers SET snapshot=?2 WHERE snapshot=?1",
	[DROP_LEDGERS] = "DELETE FROM ledgers WHERE snapshot=?1",
	[MOVE_LOSSES] = "UPDATE OR IGNORE losses SET snapshot=?2 WHERE snapshot=?1",
	[DROP_LOSSES] = "DELETE FROM losses WHERE snapshot=?1",
	[MOVE_THREADS] = "UPDATE OR IGNORE threads SET snapshot=?2 WHERE snapshot=?1",
	[DROP_THREADS] = "DELETE FROM threads WHERE snapshot=?1",
	[MOVE_DEAD] = "UPDATE OR IGNORE dead_threads SET snapshot=?2 WHERE snapshot=?1",
	[DROP_DEAD] = "DELETE FROM dead_threads WHERE snapshot=?1",
	[MOVE_MAPPING_LEDGERS] =
		"UPDATE OR IGNORE mapping_ledgers SET snapshot=?2 WHERE snapshot=?1",
	[DROP_MAPPING_LEDGERS] = "DELETE FROM mapping_ledgers WHERE snapshot=?1",
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

static int database_make(struct recorder *recorder, const char *path)
{
	int error = recorder_file_make(path, &recorder->database);

	if (!error)
		error = prepare(recorder);
	if (!error && checkpointer_start(&recorder->checkpointer, path, recorder->database))
		log_debug("recording: no thread for checkpoints, commits make them");
	return error;
}

int recorder_open(struct recorder **recorder, const char *path,
		  const struct recorder_options *options)
{
	struct recorder *made = calloc(1, sizeof(*made));
	int error;

	if (made)
		made->path = strdup(path);
	if (!made || !made->path) {
		free(made);
		log_error("out of memory");
		return -ENOMEM;
	}
	made->options = *options;
	made->since_full = FULL_EVERY;
	error = database_make(made, path);
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
	return database_do(recorder->statements[PUT_SNAPSHOT], "iiitiiiiii", recorder->sequence,
			   time_ns, (int64_t)snapshot->monotonic_ns, label, (int64_t)recorder->full,
			   (int64_t)snapshot->has_ages, (int64_t)snapshot->sampled,
			   (int64_t)snapshot->scan_ns, (int64_t)snapshot->has_owners,
			   (int64_t)snapshot->only_by_dead);
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
	checkpointer_stop(recorder->checkpointer);
	recorder_file_close(recorder->database);
	vec_free(&recorder->processes);
	vec_free(&recorder->sites);
	vec_free(&recorder->creators);
	vec_free(&recorder->kept);
	hash_free(&recorder->process_rows);
	hash_free(&recorder->site_positions);
	hash_free(&recorder->module_rows);
	hash_free(&recorder->frame_rows);
	hash_free(&recorder->mapping_rows);
	hash_free(&recorder->creator_rows);
	free(recorder->path);
	free(recorder);
}
