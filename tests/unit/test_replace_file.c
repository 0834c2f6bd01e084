// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "output/replace_file.h"

static char directory[] = "/tmp/leakmon-unit-XXXXXX";
static char path[64];

static int setup(void **state)
{
	(void)state;
	if (!mkdtemp(directory))
		return -1;
	snprintf(path, sizeof(path), "%s/out.prom", directory);
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	unlink(path);
	return rmdir(directory); /* fails if anything else was left behind */
}

static void write_file(const char *text)
{
	struct replace_file file = {0};

	assert_int_equal(replace_file_open(&file, path), 0);
	fputs(text, file.out);
	assert_int_equal(replace_file_commit(&file, 0644), 0);
	replace_file_abort(&file); /* nothing to do any more */
}

static void expect_file(const char *text)
{
	_cleanup_fclose_ FILE *file = fopen(path, "r");
	char line[64] = "";

	assert_non_null(file);
	assert_non_null(fgets(line, sizeof(line), file));
	assert_string_equal(line, text);
}

static void the_old_file_stays_until_the_new_one_is_whole(void **state)
{
	struct replace_file file = {0};
	struct stat status;

	(void)state;
	write_file("one\n");
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 07777, 0644);
	assert_int_equal(replace_file_open(&file, path), 0);
	fputs("two\n", file.out);
	fflush(file.out);
	expect_file("one\n");
	/* A reader of *.prom must not take the part for the whole. */
	assert_string_not_equal(file.temporary + strlen(file.temporary) - 5, ".prom");
	replace_file_abort(&file);
	expect_file("one\n");
	write_file("three\n");
	expect_file("three\n");
}

static void a_failed_write_leaves_the_old_file(void **state)
{
	struct replace_file file = {0};

	(void)state;
	write_file("good\n");
	assert_int_equal(replace_file_open(&file, path), 0);
	/* Whatever is written now fails. */
	file.out = freopen("/dev/full", "w", file.out);
	assert_non_null(file.out);
	fputs("bad\n", file.out);
	assert_int_equal(replace_file_commit(&file, 0644), -EIO);
	expect_file("good\n");
}

static void a_directory_that_is_not_there_is_an_error(void **state)
{
	struct replace_file file = {0};

	(void)state;
	assert_int_equal(replace_file_open(&file, "/nowhere/out.prom"), -ENOENT);
	assert_null(file.out);
	replace_file_abort(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_old_file_stays_until_the_new_one_is_whole),
		cmocka_unit_test(a_failed_write_leaves_the_old_file),
		cmocka_unit_test(a_directory_that_is_not_there_is_an_error),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
