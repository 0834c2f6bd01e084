// SPDX-License-Identifier: GPL-2.0-or-later
/* Checkpoints in a separate thread: nothing is lost, nothing waits, and the log has a bound. */
#include <errno.h>
#include <signal.h>
#include <sqlite3.h>
#include <sys/mount.h>
#include <sys/wait.h>

#include "report/store/checkpointer.h"
#include "report/store/recorder_state.h"
#include "unit/store_fixture.h"

/* Pages of 4,096 bytes, as in SQLite. */
#define PAGE 4096

struct written {
	struct run *run;
	sqlite3 *database;
	struct checkpointer *checkpointer;
};

static void written_open(struct written *written, struct run *run)
{
	*written = (struct written){.run = run};
	assert_int_equal(recorder_file_make(run->path, &written->database), 0);
	assert_int_equal(database_run(written->database, "CREATE TABLE pages(content)"), 0);
	assert_int_equal(checkpointer_start(&written->checkpointer, run->path, written->database),
			 0);
}

static void written_close(struct written *written)
{
	checkpointer_stop(written->checkpointer);
	recorder_file_close(written->database);
}

/* Commits at least that many pages at once. */
static int commit_pages(struct written *written, size_t pages)
{
	char sql[160];

	snprintf(sql, sizeof(sql),
		 "WITH RECURSIVE n(i) AS (VALUES(1) UNION ALL SELECT i+1 FROM n WHERE i<%zu)"
		 " INSERT INTO pages SELECT zeroblob(%d) FROM n",
		 pages, PAGE - 100);
	return database_run(written->database, sql);
}

static int64_t size_of(const struct run *run, const char *ending)
{
	struct stat status = {0};
	char path[80];

	snprintf(path, sizeof(path), "%s%s", run->path, ending);
	return stat(path, &status) ? -1 : status.st_size;
}

static int64_t pages_in(const char *path)
{
	_cleanup_database_ sqlite3 *database = NULL;
	int64_t count;

	assert_int_equal(sqlite3_open(path, &database), SQLITE_OK);
	assert_int_equal(database_integer(database, "SELECT count(*) FROM pages", &count), 0);
	return count;
}

/* Counts pages as if the log were lost: only data in the file counts. */
static int64_t pages_without_log(const struct run *run)
{
	char copy[80], command[200];

	snprintf(copy, sizeof(copy), "%s/copy.lkm", run->directory);
	snprintf(command, sizeof(command), "cp %s %s", run->path, copy);
	assert_int_equal(system(command), 0);
	return pages_in(copy);
}

static void what_was_committed_comes_into_the_file(void **state)
{
	_cleanup_(written_close) struct written written;

	written_open(&written, *state);
	checkpointer_settle(written.checkpointer);
	for (int i = 1; i <= 5; i++) {
		assert_int_equal(commit_pages(&written, CHECKPOINT_PAGES), 0);
		checkpointer_settle(written.checkpointer);
		assert_int_equal(pages_without_log(*state), i * CHECKPOINT_PAGES);
	}
}

static void few_pages_stay_in_the_log(void **state)
{
	_cleanup_(written_close) struct written written;

	written_open(&written, *state);
	checkpointer_settle(written.checkpointer);
	assert_int_equal(commit_pages(&written, CHECKPOINT_PAGES / 2), 0);
	assert_int_equal(pages_without_log(*state), 0);
	assert_int_equal(pages_in(written.run->path), CHECKPOINT_PAGES / 2);
}

static void the_log_has_a_bound_however_fast_it_is_written(void **state)
{
	_cleanup_(written_close) struct written written;

	written_open(&written, *state);
	for (int i = 0; i < 4 * CHECKPOINT_PAGES_MAX / 10; i++) {
		assert_int_equal(commit_pages(&written, 10), 0);
		assert_true(size_of(*state, "-wal") < (CHECKPOINT_PAGES_MAX + 50) * PAGE);
	}
	assert_int_equal(pages_in(written.run->path), 4 * CHECKPOINT_PAGES_MAX);
}

static void a_reader_keeps_its_view_and_loses_nobody_anything(void **state)
{
	_cleanup_(written_close) struct written written;
	_cleanup_database_ sqlite3 *reader = NULL;
	int64_t count;

	written_open(&written, *state);
	assert_int_equal(commit_pages(&written, 7), 0);
	assert_int_equal(sqlite3_open(written.run->path, &reader), SQLITE_OK);
	assert_int_equal(database_run(reader, "BEGIN; SELECT count(*) FROM pages"), 0);
	for (int i = 0; i < 4; i++)
		assert_int_equal(commit_pages(&written, CHECKPOINT_PAGES_MAX / 2), 0);
	checkpointer_settle(written.checkpointer);
	assert_int_equal(database_integer(reader, "SELECT count(*) FROM pages", &count), 0);
	assert_int_equal(count, 7);
	assert_int_equal(database_run(reader, "COMMIT"), 0);
	assert_int_equal(database_integer(reader, "SELECT count(*) FROM pages", &count), 0);
	assert_int_equal(count, 7 + 2 * CHECKPOINT_PAGES_MAX);
	checkpointer_settle(written.checkpointer);
	assert_int_equal(pages_without_log(*state), 7 + 2 * CHECKPOINT_PAGES_MAX);
}

static void fill_disk(const char *path)
{
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	while (fputc('x', file) != EOF && !fflush(file))
		;
	fclose(file);
}

/* Captures messages to the operator until said(), in a file on another disk. */
static int listen_to_messages(FILE *heard)
{
	int before = dup(STDERR_FILENO);

	fflush(stderr);
	assert_true(dup2(fileno(heard), STDERR_FILENO) >= 0);
	return before;
}

static void said(FILE *heard, int before, char *text, size_t size)
{
	fflush(stderr);
	assert_true(dup2(before, STDERR_FILENO) >= 0);
	close(before);
	rewind(heard);
	text[fread(text, 1, size - 1, heard)] = '\0';
}

/* The log is there, and as large as it will be; only the file would have to grow. */
static void fill_log(struct written *written)
{
	for (int i = 0; i < 3; i++) {
		assert_int_equal(commit_pages(written, 1), 0);
		checkpointer_settle(written->checkpointer);
	}
	assert_int_equal(commit_pages(written, CHECKPOINT_PAGES + 50), 0);
	checkpointer_settle(written->checkpointer);
}

static void a_full_disk_leaves_all_in_the_log_and_moves_it_later(void **state)
{
	_cleanup_fclose_ FILE *heard = tmpfile();
	struct written written;
	struct run *run = *state;
	char ballast[64], text[4096];
	const char *message;
	int64_t size;
	int before;

	if (mount("none", run->directory, "tmpfs", 0, "size=4m")) {
		print_message("SKIPPED: no tmpfs can be mounted here\n");
		skip();
	}
	snprintf(ballast, sizeof(ballast), "%s/ballast", run->directory);
	written_open(&written, run);
	fill_log(&written);
	size = size_of(run, "");
	fill_disk(ballast);
	before = listen_to_messages(heard);
	assert_int_equal(commit_pages(&written, CHECKPOINT_PAGES + 10), 0);
	for (int i = 0; i < 3; i++) {
		checkpointer_settle(written.checkpointer);
		assert_int_equal(commit_pages(&written, 1), 0);
	}
	said(heard, before, text, sizeof(text));
	message = strstr(text, "-wal, where they are safe");
	assert_non_null(message);
	assert_non_null(strstr(message, "No space left on device; make room"));
	assert_null(strstr(message + 1, "-wal, where they are safe"));
	assert_int_equal(size_of(run, ""), size);
	assert_int_equal(pages_in(run->path), 3 + 2 * CHECKPOINT_PAGES + 60 + 3);
	unlink(ballast);
	checkpointer_settle(written.checkpointer);
	assert_true(size_of(run, "") > size);
	written_close(&written);
	assert_int_equal(size_of(run, "-wal"), -1);
	assert_int_equal(pages_in(run->path), 3 + 2 * CHECKPOINT_PAGES + 60 + 3);
	assert_int_equal(umount(run->directory), 0);
}

/* Reports each finished commit on `fd`, until it is killed. */
static void __attribute__((noreturn)) write_until_killed(struct run *run, int fd)
{
	struct written written;

	written_open(&written, run);
	while (!commit_pages(&written, 60)) {
		if (write(fd, "c", 1) != 1)
			break;
	}
	_exit(1);
}

static int64_t kill_after(struct run *run, useconds_t microseconds)
{
	int64_t commits = 0;
	int ends[2], status;
	char byte;
	pid_t child;

	assert_int_equal(pipe(ends), 0);
	child = fork();
	if (!child)
		write_until_killed(run, ends[1]);
	close(ends[1]);
	/* The first one reports that there is a file. */
	assert_int_equal(read(ends[0], &byte, 1), 1);
	usleep(microseconds);
	kill(child, SIGKILL);
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_true(WIFSIGNALED(status));
	for (commits = 1; read(ends[0], &byte, 1) == 1;)
		commits++;
	close(ends[0]);
	return commits;
}

static void a_kill_at_any_moment_loses_no_commit(void **state)
{
	struct run *run = *state;
	const char *rounds = getenv("LEAKMON_KILLS");

	for (int i = 0; i < (rounds ? atoi(rounds) : 12); i++) {
		_cleanup_database_ sqlite3 *database = NULL;
		_cleanup_statement_ sqlite3_stmt *check = NULL;
		int64_t commits = kill_after(run, (useconds_t)(i * 7919 % 60000)), pages;

		pages = pages_in(run->path);
		/* The checkpointer may have been killed between its last commit and the message
		 * about it. */
		assert_true(pages == commits * 60 || pages == commits * 60 + 60);
		assert_int_equal(sqlite3_open(run->path, &database), SQLITE_OK);
		assert_int_equal(
			sqlite3_prepare_v2(database, "PRAGMA integrity_check", -1, &check, NULL),
			SQLITE_OK);
		assert_int_equal(sqlite3_step(check), SQLITE_ROW);
		assert_string_equal(database_text(check, 0), "ok");
		sqlite3_finalize(check);
		check = NULL;
		sqlite3_close(database);
		database = NULL;
		unlink(run->path);
	}
}

/* The one thread that is not this one. */
static pid_t written_thread(void)
{
	_cleanup_closedir_ DIR *tasks = opendir("/proc/self/task");
	struct dirent *entry;
	pid_t other = 0;

	assert_non_null(tasks);
	while ((entry = readdir(tasks)) != NULL) {
		pid_t tid = (pid_t)strtol(entry->d_name, NULL, 10);

		if (tid && tid != getpid())
			other = tid;
	}
	assert_true(other);
	return other;
}

/* SIGINT and SIGTERM go to the waiting thread, whatever the masks of others. */
static void the_thread_takes_no_signal(void **state)
{
	_cleanup_(written_close) struct written written;
	unsigned long long blocked = 0;
	char path[64], line[128];
	FILE *status;
	pid_t other = 0;

	written_open(&written, *state);
	checkpointer_settle(written.checkpointer);
	other = written_thread();
	snprintf(path, sizeof(path), "/proc/self/task/%d/status", other);
	status = fopen(path, "r");
	assert_non_null(status);
	while (fgets(line, sizeof(line), status))
		sscanf(line, "SigBlk: %llx", &blocked);
	fclose(status);
	assert_true(blocked & 1ull << (SIGINT - 1));
	assert_true(blocked & 1ull << (SIGTERM - 1));
	assert_true(blocked & 1ull << (SIGUSR1 - 1));
	assert_true(blocked & 1ull << (SIGCHLD - 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		store_test(what_was_committed_comes_into_the_file),
		store_test(few_pages_stay_in_the_log),
		store_test(the_log_has_a_bound_however_fast_it_is_written),
		store_test(a_reader_keeps_its_view_and_loses_nobody_anything),
		store_test(a_full_disk_leaves_all_in_the_log_and_moves_it_later),
		store_test(a_kill_at_any_moment_loses_no_commit),
		store_test(the_thread_takes_no_signal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
