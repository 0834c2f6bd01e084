// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/store/checkpointer.h"
#include "report/store/database.h"
#include "report/store/memory_rows.h"
#include "report/store/recorder_state.h"
#include "report/store/recording_state.h"
#include "report/store/schema.h"

/* Recordings as files: created, opened for appending, and closed as one plain file. */

static const char writing_sql[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;";

/* Distinguishes machines of one name. NULL: unknown. */
static const char *boot_id_read(char text[64])
{
	_cleanup_fclose_ FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");

	return file && fscanf(file, "%63s", text) == 1 ? text : NULL;
}

static int meta_write(sqlite3 *database)
{
	char boot_id[64];
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
	if (!error)
		error = database_do(statement, "tt", "boot_id", boot_id_read(boot_id));
	return error;
}

static int set_number(sqlite3 *database, const char *pragma, int number)
{
	char sql[64];

	snprintf(sql, sizeof(sql), "PRAGMA %s=%d", pragma, number);
	return database_run(database, sql);
}

static int prepare_to_write(sqlite3 *database)
{
	int error = database_run(database, writing_sql);

	return error ? error : set_number(database, "wal_autocheckpoint", CHECKPOINT_PAGES);
}

static int create_tables(sqlite3 *database)
{
	char sql[FIGURES_SQL_SIZE];
	int error = 0;

	for (size_t i = 0; schema_sql[i] && !error; i++)
		error = database_run(database, schema_sql[i]);
	for (size_t id = FAMILY_HEAP + 1; id < FAMILY_MAX_ && !error; id++) {
		if (!family_get(id)->table)
			continue;
		figures_create_sql(sql, family_get(id));
		error = database_run(database, sql);
	}
	return error;
}

static int create(sqlite3 *database)
{
	int error = prepare_to_write(database);

	if (!error)
		error = set_number(database, "application_id", SCHEMA_APPLICATION_ID);
	if (!error)
		error = database_run(database, "BEGIN");
	if (!error)
		error = set_number(database, "user_version", SCHEMA_VERSION);
	if (!error)
		error = create_tables(database);
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

static int open_file(const char *path, sqlite3 **database)
{
	_cleanup_free_ char *plain = database_path(path);
	int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX;
	int error = plain ? database_errno(sqlite3_open_v2(plain, database, flags, NULL)) : -ENOMEM;

	return error ? error : database_distrust(*database);
}

static void complain(const char *path, int error)
{
	log_error("cannot record to %s: %s; name a file on a local file system with room", path,
		  strerror(-error));
}

/* Creates the file, which must not exist. Returns 0, or -errno after an error message. */
int recorder_file_make(const char *path, sqlite3 **database)
{
	_cleanup_database_ sqlite3 *opened = NULL;
	int error = file_make(path);

	if (error)
		return error;
	error = open_file(path, &opened);
	if (!error)
		error = create(opened);
	if (error) {
		complain(path, error);
		unlink(path);
		return error;
	}
	*database = TAKE_PTR(opened);
	return 0;
}

/* Opens an existing recording, or creates it. Returns 0, or -errno after an error message. */
int recorder_file_reopen(const char *path, sqlite3 **database)
{
	_cleanup_database_ sqlite3 *opened = NULL;
	int error;

	if (access(path, F_OK) && errno == ENOENT)
		return recorder_file_make(path, database);
	error = recording_verify(path);
	if (error)
		return error;
	error = open_file(path, &opened);
	if (!error)
		error = prepare_to_write(opened);
	if (error) {
		complain(path, error);
		return error;
	}
	*database = TAKE_PTR(opened);
	return 0;
}

/* Merges the log into the file, unless others have it open, too. NULL is allowed. */
void recorder_file_close(sqlite3 *database)
{
	if (!database)
		return;
	/*
	 * One plain file, which can be opened on read-only media, too; not possible, and not
	 * awaited, while others have it open.
	 */
	sqlite3_busy_timeout(database, 0);
	database_run(database, "PRAGMA journal_mode=DELETE");
	sqlite3_close(database);
}

/*
 * --keep: drops snapshots. Rows hold until the next row of their site, so dropping a snapshot moves
 * those of its rows to the next one that this does not replace.
 */

/*
 * The log grows to this between checkpoints (CHECKPOINT_PAGES of 4 KiB, and one or two snapshots).
 */
#define LOG_BYTES (UINT64_C(3) << 20)

/* Dropped per append: more than one, so that the file eventually shrinks below its limit. */
#define DROPS_MAX 2

static int snapshot_drop(struct recorder *recorder, size_t i)
{
	struct kept_snapshot *it = &recorder->kept.items[i], *next = it + 1;
	int error = 0;

	/* A full snapshot needs no earlier rows, except of data that is read less often. */
	for (size_t table = 0; table < recorder->held_table_count && !error; table++) {
		if (!next->full || recorder->held_tables[table].even_to_full)
			error = database_do(recorder->held_tables[table].move, "ii", it->sequence,
					    next->sequence);
		if (!error)
			error = database_do(recorder->held_tables[table].drop, "i", it->sequence);
	}
	if (!error && !next->full)
		error = database_do(recorder->statements[HAND_ON_FULL], "ii", it->sequence,
				    next->sequence);
	if (!error)
		error = database_do(recorder->statements[DROP_SNAPSHOT], "i", it->sequence);
	if (!error)
		error = database_do(recorder->statements[COUNT_ROWS], "ii", it->sequence,
				    next->sequence);
	if (error)
		return error;
	next->full |= it->full;
	memmove(&recorder->kept.items[i], &recorder->kept.items[i + 1],
		(recorder->kept.count - i - 1) * sizeof(*recorder->kept.items));
	recorder->kept.count--;
	return 0;
}

/* Returns the least valuable one: with the smallest gap for its age. 0: none may go. */
static size_t least_missed(const struct recorder *recorder)
{
	const struct kept_snapshot *kept = recorder->kept.items;
	size_t count = recorder->kept.count, best = 0;
	double least = 0;

	for (size_t i = 1; i + 1 < count; i++) {
		double gap = (double)(kept[i + 1].monotonic_ns - kept[i - 1].monotonic_ns);
		double age = (double)(kept[count - 1].monotonic_ns - kept[i].monotonic_ns);

		if (kept[i].labelled || (best && gap / age >= least))
			continue;
		least = gap / age;
		best = i;
	}
	return best;
}

static int bytes_used(struct recorder *recorder, uint64_t *bytes)
{
	int64_t pages, free_pages, page_size;
	int error = database_integer(recorder->database, "PRAGMA page_count", &pages);

	if (!error)
		error = database_integer(recorder->database, "PRAGMA freelist_count", &free_pages);
	if (!error)
		error = database_integer(recorder->database, "PRAGMA page_size", &page_size);
	if (!error)
		*bytes = (uint64_t)((pages - free_pages) * page_size);
	return error;
}

static int keep_size(struct recorder *recorder)
{
	uint64_t limit = recorder->options.keep_bytes, bytes;
	int error = bytes_used(recorder, &bytes);

	if (error || !limit)
		return error;
	limit -= limit > 2 * LOG_BYTES ? LOG_BYTES : limit / 4;
	for (int i = 0; i < DROPS_MAX && bytes > limit && !error; i++) {
		size_t victim = least_missed(recorder);

		if (!victim)
			return 0;
		error = snapshot_drop(recorder, victim);
	}
	return error;
}

static int keep_time(struct recorder *recorder)
{
	uint64_t keep_ns = recorder->options.keep_ns, now;
	int error = 0;

	if (!keep_ns || !recorder->kept.count)
		return 0;
	now = recorder->kept.items[recorder->kept.count - 1].monotonic_ns;
	for (size_t i = 0; i + 1 < recorder->kept.count && !error;) {
		if (recorder->kept.items[i].monotonic_ns + keep_ns >= now)
			break;
		if (recorder->kept.items[i].labelled)
			i++;
		else
			error = snapshot_drop(recorder, i);
	}
	return error;
}

/* Drops what --keep no longer allows. */
static int recorder_keep(struct recorder *recorder)
{
	int error = keep_time(recorder);

	return error ? error : keep_size(recorder);
}

/* A state is read from the preceding full snapshot: at most this many others lie between. */
#define FULL_EVERY 32

/* Age histograms cost as much as all other numbers: this many snapshots have them all... */
#define AGES_FIRST 64

/* ...and then one in this many. */
#define AGES_EVERY 8

static const char hand_on_full_sql[] = "UPDATE snapshots SET is_full="
				       "(SELECT is_full FROM snapshots WHERE sequence=?1)"
				       " WHERE sequence=?2";

static const char count_rows_sql[] = "UPDATE snapshots SET rows="
				     "(SELECT count(*) FROM points WHERE snapshot=?2)"
				     " WHERE sequence=?2";

static const char all_snapshots_sql[] = "SELECT sequence,monotonic_ns,label IS NOT NULL,is_full"
					" FROM snapshots ORDER BY sequence";

/* Many frames at a time, which costs a third; an entry without a frame is skipped: NOT NULL. */
#define FRAME(place, parameter) ",(?1,?2+" #place ",?" #parameter ")"

static const char put_stack_sql[] = "INSERT OR IGNORE INTO stacks VALUES(?1,?2,?3)" FRAME(1, 4)
	FRAME(2, 5) FRAME(3, 6) FRAME(4, 7) FRAME(5, 8) FRAME(6, 9) FRAME(7, 10) FRAME(8, 11)

		FRAME(9, 12) FRAME(10, 13) FRAME(11, 14) FRAME(12, 15) FRAME(13, 16) FRAME(14, 17)

			FRAME(15, 18);

_Static_assert(RECORDER_FRAMES_AT_ONCE == 16, "a row for every place");

/* An ended process no longer shows its executable. */
static const char put_process_sql[] =
	"INSERT OR REPLACE INTO processes VALUES(?1,?2,?3,?4,"
	"ifnull(?5,(SELECT exe FROM processes WHERE id=?1)),?6,?7,?8,?9,?10)";

static const char *const statements[] = {
	[PUT_SNAPSHOT] = "INSERT INTO snapshots VALUES(?,?,?,?,?,?,?,?,0,?,?)",
	[PUT_PROCESS] = put_process_sql,
	[PUT_MODULE] = "INSERT INTO modules VALUES(?,?,?)",
	[PUT_MAPPING] = "INSERT OR REPLACE INTO mappings VALUES(?,?,?)",
	[PUT_FRAME] = "INSERT INTO frames VALUES(?,nullif(?,0),?,?,?,?,nullif(?,0),?,?)",
	[PUT_SITE] = "INSERT OR REPLACE INTO sites VALUES(?,?,?,?,?,?,?,?)",
	[CLEAR_STACK] = "DELETE FROM stacks WHERE site=?",
	[PUT_STACK] = put_stack_sql,
	[PUT_POINT] = "INSERT OR REPLACE INTO points VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_AGES] = "INSERT INTO ages VALUES(?,?,?,?,?,?,?,?,?)",
	[PUT_BY_DEAD] = "INSERT INTO by_dead VALUES(?,?,?,?)",
	[PUT_ESTIMATE] = "INSERT INTO estimates VALUES(?,?,?,?,?)",
	[PUT_LOSS] = "INSERT INTO losses VALUES(?,?,?,?,?)",
	[PUT_CREATOR] = "INSERT OR REPLACE INTO creators VALUES(?,?,?,?)",
	[CLEAR_CREATOR_STACK] = "DELETE FROM creator_stacks WHERE creator=?",
	[PUT_CREATOR_STACK] = "INSERT INTO creator_stacks VALUES(?,?,?)",
	[PUT_DEAD] = "INSERT OR REPLACE INTO dead_threads VALUES(?,?,?,?,?,?,?,?,?,?)",
	[PUT_MEMORY] = MEMORY_PUT_SQL,
	[PUT_MEMORY_PART] = MEMORY_PART_PUT_SQL,
	[SET_ROWS] = "UPDATE snapshots SET rows=?2 WHERE sequence=?1",
	[HAND_ON_FULL] = hand_on_full_sql,
	[DROP_SNAPSHOT] = "DELETE FROM snapshots WHERE sequence=?1",
	[COUNT_ROWS] = count_rows_sql,
	[ALL_SNAPSHOTS] = all_snapshots_sql,
	[PUT_MISSED] = "INSERT OR REPLACE INTO meta VALUES('missed',?)",
};

_Static_assert(ARRAY_SIZE(statements) == RECORDER_STATEMENTS, "a text for every statement");

static int prepare_one(struct recorder *recorder, const char *sql, sqlite3_stmt **statement)
{
	return database_errno(sqlite3_prepare_v3(recorder->database, sql, -1,
						 SQLITE_PREPARE_PERSISTENT, statement, NULL));
}

/* Losses come before the ledgers, on which they depend: */
#define WITHOUT_LEDGER                                                                             \
	" AND NOT EXISTS(SELECT 1 FROM ledgers WHERE snapshot=?2 AND process=losses.process)"

/*
 * Parts of memory come before the rows that they belong to. Nothing is kept of a process missing in
 * a full snapshot.
 */
#define WITHOUT_MEMORY(table)                                                                      \
	" AND NOT EXISTS(SELECT 1 FROM memory it WHERE it.snapshot=?2 AND it.process=" table       \
	".process) AND (NOT (SELECT is_full FROM snapshots WHERE sequence=?2) OR EXISTS("          \
	"SELECT 1 FROM ledgers WHERE ledgers.snapshot=?2 AND ledgers.process=" table ".process))"

static int prepare_held(struct recorder *recorder, const char *table, const char *condition)
{
	struct held_table *held = &recorder->held_tables[recorder->held_table_count++];
	char sql[FIGURES_SQL_SIZE];
	int error;

	snprintf(sql, sizeof(sql), "UPDATE OR IGNORE %s SET snapshot=?2 WHERE snapshot=?1%s", table,
		 condition);
	error = prepare_one(recorder, sql, &held->move);
	snprintf(sql, sizeof(sql), "DELETE FROM %s WHERE snapshot=?1", table);
	return error ? error : prepare_one(recorder, sql, &held->drop);
}

static int prepare_family(struct recorder *recorder, enum family_id id)
{
	const struct family *family = family_get(id);
	char sql[FIGURES_SQL_SIZE];
	int error;

	if (!family->table)
		return 0;
	figures_insert_sql(sql, family, id == FAMILY_HEAP ? LEDGER_COLUMNS : "");
	error = prepare_one(recorder, sql, &recorder->put_figures[id]);
	return error ? error : prepare_held(recorder, family->table, "");
}

static int prepare(struct recorder *recorder)
{
	static const struct {
		const char *table, *condition;
		bool even_to_full;
	} held[] = {
		{"points", "", false},
		{"ages", "", false},
		{"by_dead", "", false},
		{"estimates", "", false},
		{"dead_threads", "", false},
		{"losses", WITHOUT_LEDGER, false},
		{"memory_parts", WITHOUT_MEMORY("memory_parts"), true},
		{"memory", WITHOUT_MEMORY("memory"), true},
	};
	int error = 0;

	_Static_assert(ARRAY_SIZE(held) + FAMILY_MAX_ == HELD_TABLES_MAX, "room for all");
	for (size_t i = 0; i < RECORDER_STATEMENTS && !error; i++)
		error = prepare_one(recorder, statements[i], &recorder->statements[i]);
	for (size_t i = 0; i < ARRAY_SIZE(held) && !error; i++) {
		recorder->held_tables[recorder->held_table_count].even_to_full =
			held[i].even_to_full;
		error = prepare_held(recorder, held[i].table, held[i].condition);
	}
	for (size_t id = 0; id < FAMILY_MAX_ && !error; id++)
		error = prepare_family(recorder, id);
	return error;
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
	int64_t time_ns = (int64_t)timespec_ns(&snapshot->time);

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
	if (!error && recorder->missed != recorder->missed_recorded)
		error = database_do(recorder->statements[PUT_MISSED], "i",
				    (int64_t)recorder->missed);
	return error ? error : database_run(recorder->database, "COMMIT");
}

/* Sites of ended processes do not return. */
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
		recorder->missed_recorded = recorder->missed;
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
	for (size_t i = 0; i < FAMILY_MAX_; i++)
		sqlite3_finalize(recorder->put_figures[i]);
	for (size_t i = 0; i < recorder->held_table_count; i++) {
		sqlite3_finalize(recorder->held_tables[i].move);
		sqlite3_finalize(recorder->held_tables[i].drop);
	}
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
