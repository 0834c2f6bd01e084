// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>

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
	return rmdir(directory); /* fails if any other file remains */
}

static void write_file(const char *text)
{
	struct replace_file file = {0};

	assert_int_equal(replace_file_open(&file, path, REPLACE_OR_WRITE), 0);
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
	assert_int_equal(replace_file_open(&file, path, REPLACE_OR_WRITE), 0);
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
	assert_int_equal(replace_file_open(&file, path, REPLACE_OR_WRITE), 0);
	/* From now on every write fails. */
	file.out = freopen("/dev/full", "w", file.out);
	assert_non_null(file.out);
	fputs("bad\n", file.out);
	assert_int_equal(replace_file_commit(&file, 0644), -ENOSPC);
	expect_file("good\n");
}

static void a_directory_that_is_not_there_is_an_error(void **state)
{
	struct replace_file file = {0};

	(void)state;
	assert_int_equal(replace_file_open(&file, "/nowhere/out.prom", REPLACE_OR_WRITE), -ENOENT);
	assert_null(file.out);
	replace_file_abort(&file);
}

static void write_to(const char *place, const char *text, int expected)
{
	struct replace_file file = {0};
	int error = replace_file_open(&file, place, REPLACE_OR_WRITE);

	if (!error) {
		fputs(text, file.out);
		error = replace_file_commit(&file, 0644);
	}
	replace_file_abort(&file);
	assert_int_equal(error, expected);
}

static void name_in_directory(char name[96], const char *last)
{
	snprintf(name, 96, "%s/%s", directory, last);
}

/* A private copy of /dev/null: over a renamed file the whole machine would stumble. */
static void a_device_stays_a_device(void **state)
{
	struct replace_file file = {0};
	struct stat status;
	char device[96];

	(void)state;
	name_in_directory(device, "null");
	if (mknod(device, S_IFCHR | 0666, makedev(1, 3))) {
		print_message("SKIPPED: devices are made by root\n");
		skip();
	}
	write_to(device, "lost\n", 0);
	write_to(device, "lost again\n", 0);
	assert_int_equal(replace_file_open(&file, device, REPLACE_ONLY), -EEXIST);
	assert_int_equal(lstat(device, &status), 0);
	assert_true(S_ISCHR(status.st_mode));
	assert_int_equal(status.st_rdev, makedev(1, 3));
	unlink(device);
}

static void nothing_is_written_to_a_disk_or_a_directory(void **state)
{
	char disk[96];

	(void)state;
	name_in_directory(disk, "disk");
	/* No driver has this number. */
	if (!mknod(disk, S_IFBLK | 0600, makedev(4095, 0))) {
		FILE *out = NULL;

		write_to(disk, "x", -ENOTSUP);
		assert_int_equal(replace_file_open_stream(disk, &out), -ENOTSUP);
		assert_null(out);
		unlink(disk);
	}
	write_to(directory, "x", -EISDIR);
}

static void a_link_stays_and_what_it_leads_to_is_written_whole(void **state)
{
	struct replace_file file = {0};
	struct stat before, after;
	char link[96];

	(void)state;
	write_file("a longer text than the one that follows\n");
	assert_int_equal(stat(path, &before), 0);
	name_in_directory(link, "link");
	assert_int_equal(symlink("out.prom", link), 0);
	assert_int_equal(replace_file_open(&file, link, REPLACE_ONLY), -EEXIST);
	assert_int_equal(replace_file_open(&file, link, REPLACE_OR_WRITE), 0);
	fputs("half", file.out);
	replace_file_abort(&file);
	expect_file("a longer text than the one that follows\n");
	write_to(link, "short\n", 0);
	assert_int_equal(stat(path, &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	assert_int_equal(after.st_size, 6);
	expect_file("short\n");
	assert_int_equal(lstat(link, &after), 0);
	assert_true(S_ISLNK(after.st_mode));
	unlink(path);
	write_to(link, "anew\n", 0); /* it leads to nothing */
	expect_file("anew\n");
	unlink(link);
}

static void *read_fifo(void *fifo)
{
	static char text[64];
	FILE *file = fopen(fifo, "r");

	if (!file || !fgets(text, sizeof(text), file) || fgetc(file) != EOF)
		text[0] = '\0';
	if (file)
		fclose(file);
	return text;
}

static void a_fifo_gives_each_report_to_its_end(void **state)
{
	struct stat status;
	pthread_t reader;
	char fifo[96];
	void *text;

	(void)state;
	name_in_directory(fifo, "fifo");
	assert_int_equal(mkfifo(fifo, 0600), 0);
	write_to(fifo, "nobody\n", -ENXIO);
	for (int i = 0; i < 2; i++) {
		assert_int_equal(pthread_create(&reader, NULL, read_fifo, fifo), 0);
		write_to(fifo, "report\n", 0);
		assert_int_equal(pthread_join(reader, &text), 0);
		assert_string_equal(text, "report\n");
	}
	assert_int_equal(lstat(fifo, &status), 0);
	assert_true(S_ISFIFO(status.st_mode));
	unlink(fifo);
}

/* As after `>> out.prom 9>&1`: existing data is kept, by name and by link. */
static void names_of_our_own_descriptors_go_on_where_these_stand(void **state)
{
	char link[96], number[32], text[64] = "";
	FILE *out = NULL;
	ssize_t length;
	int fd;

	(void)state;
	write_file("kept\n");
	fd = open(path, O_RDWR);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), 5);
	snprintf(number, sizeof(number), "/dev/fd/%d", fd);
	write_to(number, "one\n", 0);
	name_in_directory(link, "own");
	assert_int_equal(symlink(number, link), 0);
	write_to(link, "two\n", 0);
	assert_int_equal(replace_file_open_stream(link, &out), 0);
	fputs("three\n", out);
	fclose(out);
	length = pread(fd, text, sizeof(text) - 1, 0);
	assert_int_equal(length, 19);
	assert_string_equal(text, "kept\none\ntwo\nthree\n");
	close(fd);
	write_to(number, "x", -ENOENT);
	unlink(link);
}

static void a_limit_on_the_size_of_files_has_its_own_name(void **state)
{
	struct rlimit before, small;

	(void)state;
	write_file("good\n");
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
	small = (struct rlimit){.rlim_cur = 8, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
	write_to(path, "more than eight bytes\n", -EFBIG);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
	expect_file("good\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_old_file_stays_until_the_new_one_is_whole),
		cmocka_unit_test(a_failed_write_leaves_the_old_file),
		cmocka_unit_test(a_directory_that_is_not_there_is_an_error),
		cmocka_unit_test(a_device_stays_a_device),
		cmocka_unit_test(nothing_is_written_to_a_disk_or_a_directory),
		cmocka_unit_test(a_link_stays_and_what_it_leads_to_is_written_whole),
		cmocka_unit_test(a_fifo_gives_each_report_to_its_end),
		cmocka_unit_test(names_of_our_own_descriptors_go_on_where_these_stand),
		cmocka_unit_test(a_limit_on_the_size_of_files_has_its_own_name),
	};

	return cmocka_run_group_tests(tests, setup, teardown);
}
