// SPDX-License-Identifier: GPL-2.0-or-later
#include "store/recorder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "store/checkpointer.h"
#include "store/recording_state.h"
#include "store/schema.h"

#ifndef LEAKMON_VERSION
#define LEAKMON_VERSION "0.1.0"
#endif

static const char writing_sql[] = "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;";

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

static int add_version_2(sqlite3 *database)
{
	int error = database_run(database, schema_retain_sql);

	return error ? error : database_run(database, schema_threads_sql);
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
		error = database_run(database, schema_sql);
	if (!error)
		error = add_version_2(database);
	if (!error)
		error = database_run(database, schema_owners_sql);
	if (!error)
		error = meta_write(database);
	return error ? error : database_run(database, "COMMIT");
}

/* In one transaction: others see the old schema or the new one. */
static int upgrade(sqlite3 *database)
{
	int64_t version;
	int error = database_run(database, "BEGIN IMMEDIATE");

	if (!error)
		error = database_integer(database, "PRAGMA user_version", &version);
	if (!error && version < 2)
		error = add_version_2(database);
	if (!error && version < 3)
		error = database_run(database, schema_owners_sql);
	if (!error && version < SCHEMA_VERSION)
		error = set_number(database, "user_version", SCHEMA_VERSION);
	if (!error)
		error = database_run(database, "COMMIT");
	if (error)
		database_run(database, "ROLLBACK");
	return error;
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
	if (!error)
		error = upgrade(opened);
	if (error) {
		complain(path, error);
		return error;
	}
	*database = TAKE_PTR(opened);
	return 0;
}

void recorder_file_close(sqlite3 *database)
{
	if (!database)
		return;
	/* One plain file, which opens on read-only media too; others that have it open prevent it:
	 * they are not waited for. */
	sqlite3_busy_timeout(database, 0);
	database_run(database, "PRAGMA journal_mode=DELETE");
	sqlite3_close(database);
}
