// SPDX-License-Identifier: GPL-2.0-or-later
/* With a debuginfod-find of our own, whose answer depends on the beginning of the build-id. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "process/symbol/debuginfod.h"

static char directory[] = "/tmp/leakmon-debuginfod-XXXXXX";

/* aa: finds the file; bb: finds nothing; cc: never answers; dd: half a line; ee: no absolute path
 * ff: gets a part of the file, and then nothing more */
static const char script[] = "#!/bin/sh\n"
			     "directory=${0%/*}\n"
			     "[ \"$1\" = debuginfo ] || exit 1\n"
			     "echo $2 >> $directory/asked\n"
			     "grep CapEff /proc/self/status > $directory/capabilities\n"
			     "echo $DEBUGINFOD_TIMEOUT $DEBUGINFOD_MAXTIME $DEBUGINFOD_MAXSIZE "
			     "$(ulimit -f) $(ulimit -v) > $directory/limits\n"
			     "case $2 in\n"
			     "aa*) echo $directory/file ;;\n"
			     "cc*) exec sleep 1000 ;;\n"
			     "dd*) printf %s $directory/file ;;\n"
			     "ff*) exec sleep 1000 > $directory/debuginfo.aB3456 ;;\n"
			     "ee*) echo ../../$directory/file ;;\n"
			     "*) exit 1 ;;\n"
			     "esac\n";

static void write_file(const char *name, const char *text, mode_t mode)
{
	_cleanup_close_ int fd = -1;
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void read_file(const char *name, char *text, size_t size)
{
	_cleanup_close_ int fd = -1;
	char path[128];
	ssize_t length;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	length = read(fd, text, size - 1);
	text[length > 0 ? length : 0] = '\0';
}

static int set_up(void **state)
{
	char path[256];

	(void)state;
	if (!mkdtemp(directory))
		return -1;
	write_file("debuginfod-find", script, 0755);
	write_file("file", "contents", 0644);
	snprintf(path, sizeof(path), "%s:/usr/bin:/bin", directory);
	setenv("PATH", path, 1);
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	log_set_level(LOG_ERROR);
	return 0;
}

static int tear_down(void **state)
{
	_cleanup_closedir_ DIR *opened = opendir(directory);
	const struct dirent *entry;

	(void)state;
	while (opened && (entry = readdir(opened)))
		unlinkat(dirfd(opened), entry->d_name, 0);
	return rmdir(directory);
}

/* The result of debuginfod_open() once nothing is pending. */
static int outcome(struct debuginfod *debuginfod, const char *build_id)
{
	int fd = debuginfod_open(debuginfod, build_id, "/usr/lib/libx.so");

	if (fd != -EAGAIN)
		return fd;
	assert_int_equal(debuginfod_wait(debuginfod, 20000), 0);
	assert_true(debuginfod_take(debuginfod));
	assert_false(debuginfod_take(debuginfod));
	return debuginfod_open(debuginfod, build_id, "/usr/lib/libx.so");
}

static void a_file_that_is_found_is_opened_as_often_as_wanted(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(10000);
	char text[16] = "";
	int fd = outcome(debuginfod, "aa01");

	(void)state;
	assert_true(fd >= 0);
	assert_int_equal(read(fd, text, sizeof(text)), 8);
	assert_string_equal(text, "contents");
	close(fd);
	fd = debuginfod_open(debuginfod, "aa01", "/usr/lib/libx.so");
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(debuginfod_fd(debuginfod), -1);
	debuginfod_free(debuginfod);
}

static void the_program_runs_without_capabilities_and_with_our_limits(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(7000);
	char text[64];

	(void)state;
	assert_int_equal(outcome(debuginfod, "bb01"), -ENOENT);
	read_file("capabilities", text, sizeof(text));
	assert_string_equal(text, "CapEff:\t0000000000000000\n");
	read_file("limits", text, sizeof(text));
	/* The file's in units of 512 bytes, the memory's in units of 1024. */
	assert_string_equal(text, "6 6 2147483648 4194304 1048576\n");
	debuginfod_free(debuginfod);
}

static void what_no_server_has_is_asked_for_once(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(10000);
	char asked[256];

	(void)state;
	write_file("asked", "", 0644);
	assert_int_equal(outcome(debuginfod, "bb02"), -ENOENT);
	assert_int_equal(outcome(debuginfod, "bb02"), -ENOENT);
	read_file("asked", asked, sizeof(asked));
	assert_string_equal(asked, "bb02\n");
	debuginfod_free(debuginfod);
}

static void only_a_whole_absolute_path_is_an_answer(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(10000);

	(void)state;
	assert_int_equal(outcome(debuginfod, "dd01"), -ENOENT);
	assert_int_equal(outcome(debuginfod, "ee01"), -ENOENT);
	debuginfod_free(debuginfod);
}

static bool is_there(const char *name)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	return access(path, F_OK) == 0;
}

static void nothing_is_left_of_a_fetch_that_is_ended(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(60000);

	(void)state;
	assert_int_equal(debuginfod_open(debuginfod, "ff01", "/lib/a.so"), -EAGAIN);
	for (int tries = 0; tries < 500 && !is_there("debuginfo.aB3456"); tries++)
		usleep(10000);
	assert_true(is_there("debuginfo.aB3456"));
	usleep(100000); /* until sleep has taken the shell's place */
	debuginfod_free(debuginfod);
	assert_false(is_there("debuginfo.aB3456"));
}

static void a_server_that_never_answers_costs_a_deadline_and_no_wait(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(300);
	struct fetch_progress progress;

	(void)state;
	assert_false(debuginfod_progress(debuginfod, &progress));
	assert_int_equal(debuginfod_open(debuginfod, "cc01", "/lib/a.so"), -EAGAIN);
	assert_int_equal(debuginfod_open(debuginfod, "cc01", "/lib/a.so"), -EAGAIN);
	assert_false(debuginfod_take(debuginfod));
	assert_true(debuginfod_progress(debuginfod, &progress));
	assert_string_equal(progress.path, "/lib/a.so");
	assert_int_equal(progress.others, 0);
	assert_int_equal(debuginfod_wait(debuginfod, 10), -EAGAIN);
	assert_true(debuginfod_fd(debuginfod) >= 0);
	assert_int_equal(outcome(debuginfod, "cc01"), -ENOENT);
	debuginfod_free(debuginfod);
}

/* Within a deadline the test's server, a shell script, must have recorded its requests. */
static void servers_that_let_three_deadlines_pass_are_not_asked_again(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(1000);
	char asked[256], build_id[8];

	(void)state;
	write_file("asked", "", 0644);
	for (int i = 0; i < 3; i++) {
		snprintf(build_id, sizeof(build_id), "cc1%d", i);
		assert_int_equal(outcome(debuginfod, build_id), -ENOENT);
	}
	assert_int_equal(debuginfod_open(debuginfod, "aa02", "/lib/a.so"), -ENOENT);
	read_file("asked", asked, sizeof(asked));
	assert_string_equal(asked, "cc10\ncc11\ncc12\n");
	debuginfod_free(debuginfod);
}

static void many_files_take_turns_and_all_come(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(20000);
	struct fetch_progress progress;
	char build_id[8];

	(void)state;
	for (int i = 0; i < 40; i++) {
		snprintf(build_id, sizeof(build_id), "aa%02x", 0x40 + i);
		assert_int_equal(debuginfod_open(debuginfod, build_id, "/lib/a.so"), -EAGAIN);
	}
	assert_true(debuginfod_progress(debuginfod, &progress));
	assert_int_equal(progress.others, 39);
	assert_int_equal(debuginfod_wait(debuginfod, 30000), 0);
	for (int i = 0; i < 40; i++) {
		int fd;

		snprintf(build_id, sizeof(build_id), "aa%02x", 0x40 + i);
		fd = debuginfod_open(debuginfod, build_id, "/lib/a.so");
		assert_true(fd >= 0);
		close(fd);
	}
	debuginfod_free(debuginfod);
}

static void its_descriptor_wakes_whoever_waits(void **state)
{
	struct debuginfod *debuginfod = debuginfod_new(20000);
	struct pollfd waited = {.events = POLLIN};

	(void)state;
	assert_int_equal(debuginfod_open(debuginfod, "aa80", "/lib/a.so"), -EAGAIN);
	for (bool changed = false; !changed; changed = debuginfod_take(debuginfod)) {
		waited.fd = debuginfod_fd(debuginfod);
		assert_int_equal(poll(&waited, 1, 10000), 1);
	}
	assert_int_equal(debuginfod_fd(debuginfod), -1);
	debuginfod_free(debuginfod);
}

static void what_is_missing_is_explained(void **state)
{
	(void)state;
	assert_null(fetch_obstacle());
	setenv("DEBUGINFOD_URLS", " ", 1);
	assert_non_null(strstr(fetch_obstacle(), "DEBUGINFOD_URLS is not set"));
	unsetenv("DEBUGINFOD_URLS");
	assert_non_null(strstr(fetch_obstacle(), "DEBUGINFOD_URLS is not set"));
	setenv("DEBUGINFOD_URLS", "http://localhost:1", 1);
	setenv("PATH", "/nowhere:", 1);
	assert_non_null(strstr(fetch_obstacle(), "install Debian's package debuginfod"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_file_that_is_found_is_opened_as_often_as_wanted),
		cmocka_unit_test(the_program_runs_without_capabilities_and_with_our_limits),
		cmocka_unit_test(what_no_server_has_is_asked_for_once),
		cmocka_unit_test(only_a_whole_absolute_path_is_an_answer),
		cmocka_unit_test(nothing_is_left_of_a_fetch_that_is_ended),
		cmocka_unit_test(a_server_that_never_answers_costs_a_deadline_and_no_wait),
		cmocka_unit_test(servers_that_let_three_deadlines_pass_are_not_asked_again),
		cmocka_unit_test(many_files_take_turns_and_all_come),
		cmocka_unit_test(its_descriptor_wakes_whoever_waits),
		cmocka_unit_test(what_is_missing_is_explained), /* the last: breaks PATH */
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
