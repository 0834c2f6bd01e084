// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/store/recording.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "report/store/recording_state.h"
#include "report/store/schema.h"

/* Opens an untrusted recording, with the checks before anything in it is read. */

#define CHECKED_BYTES_MAX (32 << 20)
/* More than a recording has, even with indexes added by others. */
#define TABLES_MAX 1000

/* SQLite would wait on a FIFO, and report less about a directory. */
static int recording_check_file(const char *path)
{
	struct stat status;

	errno = 0;
	if (!stat(path, &status) && S_ISREG(status.st_mode))
		return 0;
	log_error("cannot read %s: %s; name a file that `leakmon record -o FILE` made", path,
		  S_ISREG(status.st_mode) || errno ? strerror(errno) : "not a regular file");
	return -ENOENT;
}

/* Genuine recordings take less than one step per byte, and up to 16 for the frames of stacks. */
#define WORK_MIN (1ll << 30)
#define WORK_PER_BYTE 32
/* The size of a sparse file is arbitrary. */
#define WORK_BYTES_MAX (1ll << 31)
#define STEPS_AT_ONCE 1000

void recording_begin(struct recording *recording)
{
	recording->work_left = recording->work_most;
}

int recording_work(struct recording *recording, uint64_t steps)
{
	if (recording->work_left >= 0)
		recording->work_left -= (int64_t)steps;
	return recording->work_left < 0 ? -EUCLEAN : 0;
}

static int steps_taken(void *recording)
{
	return recording_work(recording, STEPS_AT_ONCE) != 0;
}

static int distrust(struct recording *recording)
{
	int error = database_distrust(recording->database);

	sqlite3_progress_handler(recording->database, STEPS_AT_ONCE, steps_taken, recording);
	return error ? error : database_run(recording->database, "PRAGMA query_only=ON");
}

/* The log beside the file cannot be opened: on read-only media the file itself must do. */
static int open_immutable(struct recording *recording)
{
	_cleanup_free_ char *uri = NULL, *log = NULL;
	struct stat status;
	int code;

	if (strpbrk(recording->path, "?#%") ||
	    asprintf(&uri, "file:%s?immutable=1", recording->path) < 0 ||
	    asprintf(&log, "%s-wal", recording->path) < 0)
		return -ENOENT;
	if (!stat(log, &status) && status.st_size)
		return -EROFS;
	sqlite3_close(recording->database);
	recording->database = NULL;
	code = sqlite3_open_v2(uri, &recording->database, SQLITE_OPEN_READONLY | SQLITE_OPEN_URI,
			       NULL);
	return code ? database_errno(code) : distrust(recording);
}

static int open_somehow(struct recording *recording)
{
	int64_t tables;
	int error = database_errno(
		sqlite3_open_v2(recording->path, &recording->database, SQLITE_OPEN_READONLY, NULL));

	if (!error)
		error = distrust(recording);
	if (!error)
		error = database_integer(recording->database, "SELECT count(*) FROM sqlite_schema",
					 &tables);
	if (error == -ENOENT || error == -EROFS)
		error = open_immutable(recording);
	return error;
}

/* SQLite's header (sqlite.org/fileformat2.html, 1.3) may be intact in a damaged file. */
static bool has_our_header(const struct recording *recording)
{
	_cleanup_fclose_ FILE *file = fopen(recording->path, "re");
	uint8_t header[72];

	return file && fread(header, sizeof(header), 1, file) == 1 &&
	       !memcmp(header, "SQLite format 3", 16) &&
	       ((uint32_t)header[68] << 24 | header[69] << 16 | header[70] << 8 | header[71]) ==
		       SCHEMA_APPLICATION_ID;
}

static int check_version(struct recording *recording)
{
	int64_t application = 0, version = 0;
	int error = database_integer(recording->database, "PRAGMA application_id", &application);

	if (!error)
		error = database_integer(recording->database, "PRAGMA user_version", &version);
	if (error == -EUCLEAN && has_our_header(recording))
		return recording_fail(recording, error, "truncated or overwritten");
	if (error == -EUCLEAN || (!error && application != SCHEMA_APPLICATION_ID)) {
		log_error("%s is not a recording of leakmon: `leakmon record -o FILE` makes one",
			  recording->path);
		return -EINVAL;
	}
	if (error)
		return recording_fail(recording, error, "its header");
	if (version == SCHEMA_VERSION)
		return 0;
	log_error("%s has schema %lld; this leakmon reads schema %d: use the leakmon that made it",
		  recording->path, (long long)version, SCHEMA_VERSION);
	return -EPROTO;
}

static int check_part(const struct recording *recording, const char *sql)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int code = sqlite3_prepare_v2(recording->database, sql, -1, &statement, NULL);
	const char *answer;

	if (!code)
		code = sqlite3_step(statement);
	if (code != SQLITE_ROW)
		return recording_fail(recording, database_errno(code) ?: -EIO, "its pages");
	answer = database_text(statement, 0);
	if (answer && !strcmp(answer, "ok"))
		return 0;
	log_error("%s is damaged: %s; `sqlite3 FILE .recover` may save part of it", recording->path,
		  answer ? answer : "no answer");
	return -EUCLEAN;
}

/*
 * In a large file, checks all tables but the largest: these contain numbers, which are checked when
 * read, and reading them all would take seconds.
 */
static int check_small_tables(const struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *names = NULL;
	int more = 0, error = database_errno(sqlite3_prepare_v2(
			      recording->database,
			      "SELECT name FROM sqlite_schema WHERE type='table' AND name NOT IN"
			      " ('points','ages','by_dead','estimates','ledgers','losses')",
			      -1, &names, NULL));

	if (error)
		return recording_fail(recording, error, "its tables");
	while (!error && (more = database_next(names)) > 0) {
		char *sql = sqlite3_mprintf("PRAGMA quick_check(%Q)", database_text(names, 0));

		error = sql ? check_part(recording, sql) : recording_fail(recording, -ENOMEM, "");
		sqlite3_free(sql);
	}
	return more < 0 ? recording_fail(recording, more, "its tables") : error;
}

/* Checks the structure of pages. */
static int check_pages(const struct recording *recording)
{
	struct stat status = {0};

	stat(recording->path, &status);
	return status.st_size <= CHECKED_BYTES_MAX ? check_part(recording, "PRAGMA quick_check(1)")
						   : check_small_tables(recording);
}

/* A column may be an expression, which may take arbitrarily long to compute. */
static int check_schema(const struct recording *recording)
{
	int64_t tables = 0, computed = 0;
	int error = database_integer(recording->database, "SELECT count(*) FROM sqlite_schema",
				     &tables);

	if (!error && tables > TABLES_MAX)
		error = -EUCLEAN;
	if (!error)
		error = database_integer(recording->database,
					 "SELECT count(*) FROM sqlite_schema AS tables,"
					 " pragma_table_xinfo(tables.name) AS columns"
					 " WHERE tables.type='table' AND columns.hidden",
					 &computed);
	if (error == -EIO || (!error && computed))
		error = -EUCLEAN;
	return error ? recording_fail(recording, error, "its tables") : 0;
}

static int recording_open_database(struct recording *recording)
{
	struct stat status = {0};
	int error;

	stat(recording->path, &status);
	recording->work_most = WORK_MIN + MIN(status.st_size, WORK_BYTES_MAX) * WORK_PER_BYTE;
	recording_begin(recording);
	error = open_somehow(recording);
	if (error == -EROFS) {
		log_error(
			"cannot read %s: %s-wal has newer snapshots, and the directory is not writable: copy both files to a writable one",
			recording->path, recording->path);
		return error;
	}
	if (error && error != -EUCLEAN)
		return recording_fail(recording, error, "opening it");
	error = check_version(recording);
	if (!error)
		error = check_schema(recording);
	return error ? error : check_pages(recording);
}

int recording_verify(const char *path)
{
	struct recording recording = {.path = database_path(path)};
	int error = recording.path ? recording_check_file(path) : -ENOMEM;

	if (!error)
		error = recording_open_database(&recording);
	sqlite3_close(recording.database);
	free(recording.path);
	return error;
}

/* Moments for --at and @. */

#define NS_PER_S INT64_C(1000000000)

/* Kinds of moments: snapshots, or runs of `leakmon retain`. */
struct moment {
	uint64_t number;
	struct timespec time;
	const char *label;
	uint64_t monotonic_ns; /* of a snapshot */
};

struct moments {
	const char *path, *what;
	bool thinned;		 /* possibly, by --keep */
	bool one_run;		 /* all on one clock that cannot be set: monotonic_ns */
	VEC(struct moment) list; /* at least one */
};

static const struct moment *last_of(const struct moments *moments)
{
	return &moments->list.items[moments->list.count - 1];
}

/* Returns -ENOENT if there is no such number. */
static int find_sequence(const struct moments *moments, uint64_t sequence, size_t *position)
{
	for (size_t i = 0; i < moments->list.count; i++) {
		if (moments->list.items[i].number == sequence) {
			*position = i;
			return 0;
		}
	}
	log_error("%s has no %s %llu: it holds %zu, from %llu to %llu%s", moments->path,
		  moments->what, (unsigned long long)sequence, moments->list.count,
		  (unsigned long long)moments->list.items[0].number,
		  (unsigned long long)last_of(moments)->number,
		  moments->thinned && moments->list.count > 1 ? " (--keep may have thinned them)"
							      : "");
	return -ENOENT;
}

static bool find_label(const struct moments *moments, const char *label, size_t *position)
{
	for (size_t i = moments->list.count; i-- > 0;) {
		const char *text = moments->list.items[i].label;

		if (text && !strcmp(text, label)) {
			*position = i;
			return true;
		}
	}
	return false;
}

static bool parse_clock(const char *text, const struct tm *day, time_t *time)
{
	static const char *const forms[] = {"%H:%M:%S", "%H:%M"};

	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		struct tm moment = *day;
		const char *end;

		moment.tm_sec = 0;
		end = strptime(text, forms[i], &moment);
		if (end && !*end) {
			moment.tm_isdst = -1;
			*time = mktime(&moment);
			return true;
		}
	}
	return false;
}

/* "2026-11-20 13:00", "2026-11-20T13:00:05", or the clock alone: local time. */
static bool parse_time(const struct moments *moments, const char *text, time_t *time)
{
	const struct moment *last = last_of(moments);
	struct tm day = {0};
	const char *clock;

	localtime_r(&last->time.tv_sec, &day);
	if (parse_clock(text, &day, time))
		return true;
	clock = strptime(text, "%Y-%m-%d", &day);
	return clock && (*clock == ' ' || *clock == 'T') && parse_clock(clock + 1, &day, time);
}

/* "-10min", "-90s", "-1.5h" before the last. */
static bool parse_before(const char *text, int64_t *before_ns)
{
	static const struct {
		const char *name;
		double seconds;
	} units[] = {{"s", 1}, {"min", 60}, {"h", 3600}, {"d", 86400}};
	char *unit;
	double number;

	if (*text != '-' || !isdigit((unsigned char)text[1]))
		return false;
	number = strtod(text + 1, &unit);
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(unit, units[i].name) != 0)
			continue;
		*before_ns = (int64_t)(MIN(number * units[i].seconds, 1e9) * 1e9);
		return true;
	}
	return false;
}

static int64_t wall_ns(const struct moment *moment)
{
	return (int64_t)timespec_ns(&moment->time);
}

/* Returns how long before the last it was; the wall clock may have been set meanwhile. */
static int64_t age_ns(const struct moments *moments, const struct moment *moment)
{
	const struct moment *last = last_of(moments);

	return moments->one_run ? (int64_t)(last->monotonic_ns - moment->monotonic_ns)
				: wall_ns(last) - wall_ns(moment);
}

static int begins_later(const struct moments *moments)
{
	log_error(
		"%s begins later than that: its first %s is number %llu, see `leakmon report FILE --at first`",
		moments->path, moments->what, (unsigned long long)moments->list.items[0].number);
	return -ENOENT;
}

static int find_before(const struct moments *moments, int64_t before_ns, size_t *position)
{
	size_t i = moments->list.count;

	while (i && age_ns(moments, &moments->list.items[i - 1]) < before_ns)
		i--;
	if (!i)
		return begins_later(moments);
	*position = i - 1;
	return 0;
}

static int find_time(const struct moments *moments, int64_t time_ns, size_t *position)
{
	size_t i = moments->list.count;

	while (i && wall_ns(&moments->list.items[i - 1]) > time_ns)
		i--;
	if (!i)
		return begins_later(moments);
	*position = i - 1;
	return 0;
}

static int find(const struct moments *moments, const char *at, size_t *position)
{
	size_t length = at ? strlen(at) : 0;
	int64_t before_ns;
	time_t seconds;

	if (!at || !strcmp(at, "last")) {
		*position = moments->list.count - 1;
		return 0;
	}
	if (!strcmp(at, "first")) {
		*position = 0;
		return 0;
	}
	if (find_label(moments, at, position))
		return 0;
	if (length && strspn(at, "0123456789") == length)
		return find_sequence(moments, strtoull(at, NULL, 10), position);
	if (parse_before(at, &before_ns))
		return find_before(moments, before_ns, position);
	/* Includes the whole of the named second. */
	if (parse_time(moments, at, &seconds))
		return find_time(moments, (int64_t)seconds * NS_PER_S + NS_PER_S - 1, position);
	log_error(
		"`%s` is no %s of %s: give a number, a label, `first`, `last`, or a time: 13:00, '2026-11-20 13:00', -10min",
		at, moments->what, moments->path);
	return -EINVAL;
}

static int add(struct moments *moments, const struct moment *added)
{
	struct moment *moment = vec_push(&moments->list);

	if (!moment) {
		log_error("out of memory");
		return -ENOMEM;
	}
	*moment = *added;
	return 0;
}

int recording_find(const struct recording *recording, const char *at, size_t *position)
{
	struct moments moments = {
		.path = recording->path, .what = "snapshot", .thinned = true, .one_run = true};
	int error = 0;

	if (!recording->snapshots.count) {
		log_error("%s holds no snapshots, only runs of `leakmon retain`: add --retain",
			  recording->path);
		return -ENOENT;
	}
	for (size_t i = 0; i < recording->snapshots.count && !error; i++) {
		const struct recording_snapshot *snapshot = &recording->snapshots.items[i];

		error = add(&moments, &(struct moment){snapshot->sequence, snapshot->time,
						       snapshot->label, snapshot->monotonic_ns});
	}
	if (!error)
		error = find(&moments, at, position);
	vec_free(&moments.list);
	return error;
}

int recording_find_profile(const struct recording *recording, const char *at, size_t *position)
{
	struct moments moments = {.path = recording->path, .what = "profile", .thinned = true};
	int error = 0;

	if (!recording->profiles.count) {
		log_error(
			"%s holds no profile: `leakmon record --profile -p PID -o FILE` makes some",
			recording->path);
		return -ENOENT;
	}
	for (size_t i = 0; i < recording->profiles.count && !error; i++) {
		const struct recording_profile *profile = &recording->profiles.items[i];

		error = add(&moments,
			    &(struct moment){(uint64_t)profile->number, profile->time, NULL, 0});
	}
	if (!error)
		error = find(&moments, at, position);
	vec_free(&moments.list);
	return error;
}

int recording_find_goroutines(const struct recording *recording, const char *at, size_t *position)
{
	struct moments moments = {
		.path = recording->path, .what = "reading of goroutines", .thinned = true};
	int error = 0;

	if (!recording->goroutines.count) {
		log_error(
			"%s holds no goroutines: `leakmon record -p PID -o FILE` of a Go program makes some",
			recording->path);
		return -ENOENT;
	}
	for (size_t i = 0; i < recording->goroutines.count && !error; i++) {
		const struct recording_goroutines *run = &recording->goroutines.items[i];

		error = add(&moments, &(struct moment){(uint64_t)run->number, run->time, NULL, 0});
	}
	if (!error)
		error = find(&moments, at, position);
	vec_free(&moments.list);
	return error;
}

int recording_find_retain(const struct recording *recording, const char *at, size_t *position)
{
	struct moments moments = {.path = recording->path, .what = "retain run"};
	int error = 0;

	if (!recording->retains.count) {
		log_error(
			"%s holds no run of `leakmon retain`: `leakmon retain -p PID -o %s` adds one",
			recording->path, recording->path);
		return -ENOENT;
	}
	for (size_t i = 0; i < recording->retains.count && !error; i++) {
		const struct recording_retain *run = &recording->retains.items[i];

		error = add(&moments,
			    &(struct moment){(uint64_t)run->number, run->time, run->label, 0});
	}
	if (!error)
		error = find(&moments, at, position);
	vec_free(&moments.list);
	return error;
}

static const char *const statements[] = {
	[GET_SNAPSHOT] = "SELECT has_ages,sampled,scan_ns,has_owners,only_by_dead FROM snapshots "
			 "WHERE sequence=?",
	[GET_PROCESSES] = "SELECT id,key,pid,comm,exe,container_id,namespace,pod,container,host"
			  " FROM processes",
	[GET_HOSTS] = "SELECT name,boot_id,kernel,snapshots,first_ns,last_ns FROM hosts"
		      " ORDER BY name",
	[GET_POINTS] = "SELECT points.snapshot,site,bytes,count,allocated_bytes,allocated_count,"
		       "freed_bytes,freed_count,oldest_ms,snapshots.monotonic_ns"
		       " FROM points CROSS JOIN snapshots ON snapshots.sequence=points.snapshot"
		       " WHERE points.snapshot BETWEEN ? AND ? ORDER BY points.snapshot",
	[GET_AGES] = "SELECT site,s1,s10,min1,min10,h1,h6,day1 FROM ages"
		     " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_BY_DEAD] = "SELECT site,bytes,count FROM by_dead WHERE snapshot BETWEEN ? AND ? "
			"ORDER BY snapshot",
	[GET_ESTIMATES] = "SELECT site,hit_bytes,count_variance,hit_count FROM estimates"
			  " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_LOSSES] = "SELECT process,kind,cause,count,snapshot FROM losses"
		       " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_SITES] = "SELECT id,process,stack,lost,walk_end,family,kind,patterns FROM sites",
	[GET_STACK] = "SELECT frames.module,frames.offset,function,function_offset,file,line,"
		      "inlined,why,path,build_id,bias FROM stacks"
		      " JOIN frames ON frames.id=stacks.frame"
		      " LEFT JOIN modules ON modules.id=frames.module"
		      " LEFT JOIN mappings ON mappings.module=frames.module"
		      " AND mappings.process=?2 WHERE site=?1 ORDER BY position",
	[GET_DEAD] = "SELECT creator,count,before_attach,oldest_ns,newest_ns,stack_bytes,"
		     "resident_bytes,heap_bytes,heap_count FROM dead_threads"
		     " WHERE snapshot BETWEEN ? AND ? ORDER BY snapshot",
	[GET_CREATORS] = "SELECT id,process,stack,walk_end FROM creators",
	[GET_CREATOR_STACK] =
		"SELECT frames.module,frames.offset,function,function_offset,file,line,"
		"inlined,why,path,build_id,bias,position FROM creator_stacks"
		" JOIN frames ON frames.id=creator_stacks.frame"
		" LEFT JOIN modules ON modules.id=frames.module"
		" LEFT JOIN mappings ON mappings.module=frames.module"
		" AND mappings.process=?2 WHERE creator=?1 ORDER BY position",
	[GET_CREATOR_ADDRESSES] =
		"SELECT creator,position,offset+ifnull(bias,0) FROM creator_stacks"
		" JOIN creators ON creators.id=creator JOIN frames ON frames.id=frame"
		" LEFT JOIN mappings ON mappings.module=frames.module"
		" AND mappings.process=creators.process WHERE NOT inlined"
		" ORDER BY creator,position",
};

_Static_assert(ARRAY_SIZE(statements) == RECORDING_STATEMENTS, "a text for every statement");

static int prepare(struct recording *recording)
{
	for (size_t i = 0; i < RECORDING_STATEMENTS; i++) {
		if (sqlite3_prepare_v3(recording->database, statements[i], -1,
				       SQLITE_PREPARE_PERSISTENT, &recording->statements[i], NULL))
			return recording_fail(recording, -EUCLEAN, "its tables");
	}
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);
		char sql[FIGURES_SQL_SIZE];

		if (!family->table)
			continue;
		figures_select_sql(sql, family,
				   id == FAMILY_HEAP ? LEDGER_COLUMNS ",snapshot" : "");
		if (sqlite3_prepare_v3(recording->database, sql, -1, SQLITE_PREPARE_PERSISTENT,
				       &recording->get_figures[id], NULL))
			return recording_fail(recording, -EUCLEAN, "its tables");
	}
	return 0;
}

static int snapshot_add(struct recording *recording, sqlite3_stmt *statement, int *error)
{
	struct recording_snapshot *snapshot = vec_push(&recording->snapshots);
	uint64_t time_ns = database_unsigned(statement, 1, error);
	const char *label = database_text(statement, 3);

	if (!snapshot)
		return *error = -ENOMEM;
	snapshot->sequence = database_unsigned(statement, 0, error);
	snapshot->time = (struct timespec){.tv_sec = (time_t)(time_ns / 1000000000),
					   .tv_nsec = (long)(time_ns % 1000000000)};
	snapshot->monotonic_ns = database_unsigned(statement, 2, error);
	snapshot->full = database_unsigned(statement, 4, error) != 0;
	snapshot->rows = database_unsigned(statement, 5, error);
	snapshot->base = recording->snapshots.count - 1;
	if (!snapshot->full && snapshot->base)
		snapshot->base = snapshot[-1].base;
	if (label) {
		snapshot->label = strndup(label, RECORDING_TEXT_MAX);
		if (!snapshot->label)
			*error = -ENOMEM;
	}
	if (recording->snapshots.count > RECORDING_SNAPSHOTS_MAX)
		*error = -EUCLEAN;
	return *error;
}

static int list_snapshots(struct recording *recording)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	int more, error = database_errno(sqlite3_prepare_v2(
			  recording->database,
			  "SELECT sequence,time_ns,monotonic_ns,label,is_full,rows FROM snapshots"
			  " ORDER BY sequence",
			  -1, &statement, NULL));

	if (error)
		return recording_fail(recording, -EUCLEAN, "its snapshots");
	while (!error && (more = database_next(statement)) != 0)
		error = more < 0 ? more : snapshot_add(recording, statement, &error);
	if (error)
		return recording_fail(recording, error, "its snapshots");
	if (recording->snapshots.count && !recording->snapshots.items[0].full)
		return recording_fail(recording, -EUCLEAN, "its first snapshot is not whole");
	if (recording->snapshots.count || recording->retains.count || recording->profiles.count ||
	    recording->goroutines.count)
		return 0;
	log_error("%s holds no snapshot: the monitor ended before its first one", recording->path);
	return -ENODATA;
}

static int read_rows(struct recording *recording, enum recording_statement which,
		     void (*read)(struct recording *, sqlite3_stmt *, int *), const char *what)
{
	sqlite3_stmt *statement = recording->statements[which];
	int error = 0, more;

	while (!error && (more = database_next(statement)) != 0) {
		if (more < 0)
			error = more;
		else
			read(recording, statement, &error);
	}
	sqlite3_reset(statement);
	return error ? recording_fail(recording, error, what) : 0;
}

/* Returns NULL if missing, or out of memory. The caller frees it. */
static char *read_meta(const struct recording *recording, const char *key)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	const char *value = NULL;

	if (!sqlite3_prepare_v2(recording->database, "SELECT value FROM meta WHERE key=?", -1,
				&statement, NULL) &&
	    !database_bind(statement, "t", key) && sqlite3_step(statement) == SQLITE_ROW)
		value = database_text(statement, 0);
	return value ? strndup(value, RECORDING_TEXT_MAX) : NULL;
}

static int recording_load(struct recording *recording)
{
	int error = recording_open_database(recording);

	if (!error)
		error = prepare(recording);
	if (!error)
		error = recording_list_retains(recording);
	if (!error)
		error = recording_list_profiles(recording);
	if (!error)
		error = recording_list_goroutines(recording);
	if (!error)
		error = list_snapshots(recording);
	if (!error)
		error = read_rows(recording, GET_PROCESSES, process_row_read, "its processes");
	if (!error)
		error = read_rows(recording, GET_HOSTS, host_row_read, "its hosts");
	if (!error)
		error = read_rows(recording, GET_SITES, site_row_read, "its sites");
	if (!error)
		error = read_rows(recording, GET_CREATORS, creator_read,
				  "the creators of its threads");
	if (!error)
		error = read_rows(recording, GET_CREATOR_ADDRESSES, creator_address_read,
				  "the creators of its threads");
	recording->host = error ? NULL : read_meta(recording, "host");
	recording->boot_id = error ? NULL : read_meta(recording, "boot_id");
	recording->kernel = error ? NULL : read_meta(recording, "kernel");
	return error;
}

int recording_open(struct recording **recording, const char *path)
{
	struct recording *made;
	int error;

	error = recording_check_file(path);
	if (error)
		return error;
	made = calloc(1, sizeof(*made));
	if (made)
		made->path = database_path(path);
	if (!made || !made->path) {
		free(made);
		log_error("out of memory");
		return -ENOMEM;
	}
	error = recording_load(made);
	if (error)
		recording_close(made);
	else
		*recording = made;
	return error;
}

const struct recording_snapshot *recording_snapshots(const struct recording *recording,
						     size_t *count)
{
	*count = recording->snapshots.count;
	return recording->snapshots.items;
}

const char *recording_host(const struct recording *recording)
{
	return recording->host ? recording->host : "";
}

uint64_t recording_missed(const struct recording *recording)
{
	_cleanup_free_ char *missed = read_meta(recording, "missed");

	return missed ? strtoull(missed, NULL, 10) : 0;
}

const struct report_host *recording_hosts(const struct recording *recording, size_t *count)
{
	*count = recording->hosts.count;
	return recording->hosts.items;
}

void recording_close(struct recording *recording)
{
	if (!recording)
		return;
	for (size_t i = 0; i < RECORDING_STATEMENTS; i++)
		sqlite3_finalize(recording->statements[i]);
	for (size_t i = 0; i < FAMILY_MAX_; i++)
		sqlite3_finalize(recording->get_figures[i]);
	sqlite3_close(recording->database);
	for (size_t i = 0; i < recording->snapshots.count; i++)
		free(recording->snapshots.items[i].label);
	vec_free(&recording->snapshots);
	vec_free(&recording->retains);
	vec_free(&recording->profiles);
	vec_free(&recording->goroutines);
	vec_free(&recording->processes);
	vec_free(&recording->sites);
	hash_free(&recording->process_rows);
	hash_free(&recording->site_rows);
	for (size_t i = 0; i < recording->creators.count; i++)
		vec_free(&recording->creators.items[i].addresses);
	vec_free(&recording->creators);
	hash_free(&recording->creator_rows);
	intern_free(&recording->strings);
	vec_free(&recording->hosts);
	free(recording->host);
	free(recording->boot_id);
	free(recording->kernel);
	free(recording->path);
	free(recording);
}
