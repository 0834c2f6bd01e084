// SPDX-License-Identifier: GPL-2.0-or-later
/* Opening a recording that may come from anybody, and the checks before anything in it is read. */
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/recording_state.h"
#include "store/schema.h"

#define CHECKED_BYTES_MAX (32 << 20)

/* SQLite would wait on a FIFO, and say less of a directory. */
int recording_check_file(const char *path)
{
	struct stat status;

	errno = 0;
	if (!stat(path, &status) && S_ISREG(status.st_mode))
		return 0;
	log_error("cannot read %s: %s; name a file that `leakmon record -o FILE` made", path,
		  S_ISREG(status.st_mode) || errno ? strerror(errno) : "not a regular file");
	return -ENOENT;
}

static int distrust(sqlite3 *database)
{
	int error = database_distrust(database);

	return error ? error : database_run(database, "PRAGMA query_only=ON");
}

/* A log beside the file that nobody may open: read-only media; then the file itself must do. */
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
	return code ? database_errno(code) : distrust(recording->database);
}

static int open_somehow(struct recording *recording)
{
	int64_t tables;
	int error = database_errno(
		sqlite3_open_v2(recording->path, &recording->database, SQLITE_OPEN_READONLY, NULL));

	if (!error)
		error = distrust(recording->database);
	if (!error)
		error = database_integer(recording->database, "SELECT count(*) FROM sqlite_schema",
					 &tables);
	if (error == -ENOENT || error == -EROFS)
		error = open_immutable(recording);
	return error;
}

/* SQLite's header (sqlite.org/fileformat2.html, 1.3) may be whole where the rest is not. */
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
	recording->version = version;
	if (version > 0 && version <= SCHEMA_VERSION)
		return 0;
	log_error("%s has schema %lld, and this leakmon knows schemas up to %d: use the newer "
		  "leakmon that made it",
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
 * The structure of all pages, or of a large file those of all tables but the two that make it
 * large: their rows are checked when they are read, and reading them all would take seconds.
 */
static int check_pages(const struct recording *recording)
{
	static const char *const small[] = {
		"PRAGMA quick_check('snapshots')", "PRAGMA quick_check('processes')",
		"PRAGMA quick_check('modules')",   "PRAGMA quick_check('mappings')",
		"PRAGMA quick_check('frames')",	   "PRAGMA quick_check('sites')",
		"PRAGMA quick_check('stacks')",
	};
	struct stat status = {0};
	int error = 0;

	stat(recording->path, &status);
	if (status.st_size <= CHECKED_BYTES_MAX)
		return check_part(recording, "PRAGMA quick_check(1)");
	for (size_t i = 0; i < ARRAY_SIZE(small) && !error; i++)
		error = check_part(recording, small[i]);
	return error;
}

int recording_open_database(struct recording *recording)
{
	int error = open_somehow(recording);

	if (error == -EROFS) {
		log_error("cannot read %s: snapshots that were not put into it yet are in %s-wal, "
			  "and this directory cannot be written to: copy both files to one that "
			  "can, and name that copy",
			  recording->path, recording->path);
		return error;
	}
	if (error && error != -EUCLEAN)
		return recording_fail(recording, error, "opening it");
	error = check_version(recording);
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
