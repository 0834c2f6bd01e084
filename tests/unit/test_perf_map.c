// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "binary/parse/perf_map.h"

static int write_map(const char *text, size_t size)
{
	int fd = memfd_create("map", MFD_CLOEXEC);

	assert_int_equal(write(fd, text, size), size);
	return fd;
}

static void read_map(const char *text, struct symbol_table *table)
{
	_cleanup_close_ int fd = write_map(text, strlen(text));

	assert_int_equal(perf_map_read(fd, table), 0);
}

static const char *name_at(const struct symbol_table *table, uint64_t address)
{
	const struct symbol *symbol = symbol_table_find(table, address);

	return symbol ? table->names + symbol->name : NULL;
}

static void assert_name(const struct symbol_table *table, uint64_t address, const char *name)
{
	const char *found = name_at(table, address);

	if (!name || !found)
		assert_ptr_equal(found, name);
	else
		assert_string_equal(found, name);
}

static void a_line_is_a_start_a_size_and_a_name_of_anything(void **state)
{
	static const struct {
		const char *line, *name;
	} cases[] = {
		{"1000 10 JS:*run /srv/my app.js:10:3\n", "JS:*run /srv/my app.js:10:3"},
		{"0x1000 0X10 Interpreter\n", "Interpreter"},
		{"0000000000001000 10 \x1b[31mred \xff\t \n", "\x1b[31mred \xff\t "},
		{"1000 10  b\n", " b"},
		{"1000 10 FfF\r\n", "FfF\r"},
		{"\n\n1000 10 f\n\n", "f"},
		{"garbage\n1000 10 f\n", "f"},
		{"1000 10\n", NULL},
		{"1000 10 \n", NULL},
		{"1000 0 f\n", NULL},
		{"1000\t10\tf\n", NULL},
		{"-1000 10 f\n", NULL},
		{"0x 10 f\n", NULL},
		{" 1000 10 f\n", NULL},
		{"1000 10 f", NULL},
		{"00000000000001000 10 f\n", NULL},
		{"1000 ffffffffffffffff f\n", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(symbol_table_free) struct symbol_table table = {0};

		read_map(cases[i].line, &table);
		assert_int_equal(table.count, cases[i].name != NULL);
		assert_name(&table, 0x100f, cases[i].name);
		assert_name(&table, 0xfff, NULL);
		assert_name(&table, 0x1010, NULL);
	}
}

static void the_line_that_is_being_written_is_left_out(void **state)
{
	_cleanup_(symbol_table_free) struct symbol_table table = {0};

	(void)state;
	read_map("1000 10 whole\n2000 10 hal", &table);
	assert_int_equal(table.count, 1);
	assert_name(&table, 0x1000, "whole");
}

static void names_end_at_a_nul_and_at_4096_bytes(void **state)
{
	static const char nul[] = "1000 10 one\0two\n2000 10 \0none\n3000 10 three\n";
	_cleanup_close_ int fd = write_map(nul, sizeof(nul) - 1);
	_cleanup_(symbol_table_free) struct symbol_table table = {0}, cut = {0};
	char line[6000] = "1000 10 ";

	(void)state;
	assert_int_equal(perf_map_read(fd, &table), 0);
	assert_int_equal(table.count, 2);
	assert_name(&table, 0x1000, "one");
	assert_name(&table, 0x3000, "three");
	memset(line + 8, 'x', sizeof(line) - 10);
	line[sizeof(line) - 2] = '\n';
	read_map(line, &cut);
	assert_int_equal(strlen(name_at(&cut, 0x1000)), 4096);
}

/* Each digit is the name at that multiple of 0x100; '.': none. */
static void the_newest_line_wins_where_several_overlap(void **state)
{
	static const struct {
		const char *map, *names;
	} cases[] = {
		{"000 200 1\n100 200 2\n", "122."},
		{"100 200 1\n000 200 2\n", "22.."},
		{"000 300 1\n100 100 2\n", "121."},
		{"100 100 1\n000 300 2\n", "222."},
		{"000 200 1\n000 100 2\n", "2..."},
		{"000 100 1\n000 200 2\n", "22.."},
		{"000 100 1\n000 100 2\n000 100 3\n", "3..."},
		{"200 100 1\n100 200 2\n000 200 3\n", "33.."},
		{"200 100 1\n000 100 2\n100 100 3\n", "231."},
		{"000 400 1\n100 200 2\n200 100 3\n", "1231"},
		{"100 100 1\n200 100 2\n300 100 3\n000 400 4\n", "4444"},
		{"000 400 4\n100 100 1\n200 100 2\n300 100 3\n", "4123"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(symbol_table_free) struct symbol_table table = {0};

		read_map(cases[i].map, &table);
		for (uint64_t k = 0; k < 4; k++) {
			char name[2] = {cases[i].names[k]};

			assert_name(&table, k * 0x100 + 0xff, name[0] == '.' ? NULL : name);
		}
	}
}

static void a_huge_map_is_read_up_to_the_limit(void **state)
{
	_cleanup_(symbol_table_free) struct symbol_table table = {0};
	_cleanup_close_ int fd = write_map("1000 10 first\n", 14);

	(void)state;
	assert_int_equal(ftruncate(fd, 10ll << 30), 0);
	assert_int_equal(pwrite(fd, "\n2000 10 inside\n", 16, PERF_MAP_MAX_BYTES - 16), 16);
	assert_int_equal(pwrite(fd, "3000 10 beyond\n", 15, PERF_MAP_MAX_BYTES), 15);
	assert_int_equal(perf_map_read(fd, &table), 0);
	assert_int_equal(table.count, 2);
	assert_name(&table, 0x1000, "first");
	assert_name(&table, 0x2000, "inside");
}

static void what_cannot_be_read_is_an_error(void **state)
{
	struct symbol_table table = {0};
	int pipes[2];

	(void)state;
	assert_int_equal(perf_map_read(-1, &table), -EIO);
	assert_int_equal(pipe(pipes), 0);
	/* Without a size, nothing is read, so nothing blocks. */
	assert_int_equal(perf_map_read(pipes[0], &table), 0);
	assert_int_equal(table.count, 0);
	symbol_table_free(&table);
	close(pipes[0]);
	close(pipes[1]);
}

static const char *map_path(void)
{
	static char path[64];

	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	return path;
}

static void write_file(const char *path)
{
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

	assert_int_equal(write(fd, "1000 10 f\n", 10), 10);
}

static void the_process_own_map_is_opened(void **state)
{
	_cleanup_(symbol_table_free) struct symbol_table table = {0};
	int fd;

	(void)state;
	assert_int_equal(perf_map_open(getpid()), -ENOENT);
	write_file(map_path());
	fd = perf_map_open(getpid());
	unlink(map_path());
	assert_true(fd >= 0);
	assert_int_equal(perf_map_read(fd, &table), 0);
	assert_name(&table, 0x1000, "f");
	close(fd);
}

static void nothing_but_a_regular_file_of_the_owner_is_opened(void **state)
{
	char other[80];

	(void)state;
	snprintf(other, sizeof(other), "%s.other", map_path());
	write_file(other);
	assert_int_equal(symlink(other, map_path()), 0);
	assert_int_equal(perf_map_open(getpid()), -ELOOP);
	unlink(map_path());
	unlink(other);
	assert_int_equal(mkfifo(map_path(), 0600), 0);
	assert_int_equal(perf_map_open(getpid()), -EINVAL);
	unlink(map_path());
	assert_int_equal(mkdir(map_path(), 0700), 0);
	assert_int_equal(perf_map_open(getpid()), -EINVAL);
	rmdir(map_path());
}

static void a_map_of_a_foreign_owner_is_refused(void **state)
{
	int fd;

	(void)state;
	if (geteuid())
		skip();
	write_file(map_path());
	assert_int_equal(chown(map_path(), 12345, 0), 0);
	fd = perf_map_open(getpid());
	unlink(map_path());
	assert_int_equal(fd, -EACCES);
}

static void a_process_that_is_gone_has_no_map(void **state)
{
	(void)state;
	assert_int_equal(perf_map_open(INT32_MAX), -ENOENT);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_a_start_a_size_and_a_name_of_anything),
		cmocka_unit_test(the_line_that_is_being_written_is_left_out),
		cmocka_unit_test(names_end_at_a_nul_and_at_4096_bytes),
		cmocka_unit_test(the_newest_line_wins_where_several_overlap),
		cmocka_unit_test(a_huge_map_is_read_up_to_the_limit),
		cmocka_unit_test(what_cannot_be_read_is_an_error),
		cmocka_unit_test(the_process_own_map_is_opened),
		cmocka_unit_test(nothing_but_a_regular_file_of_the_owner_is_opened),
		cmocka_unit_test(a_map_of_a_foreign_owner_is_refused),
		cmocka_unit_test(a_process_that_is_gone_has_no_map),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
