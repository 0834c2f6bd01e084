// SPDX-License-Identifier: GPL-2.0-or-later
/* Files in memory: that this process has, and the one of two readings that grew for it. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/memory/tmpfs_files.h"

#define MIB (1u << 20)

static const struct tmpfs_file *file_of(const struct tmpfs_files *files, ino_t inode)
{
	for (size_t i = 0; i < files->list.count; i++)
		if (files->list.items[i].inode == inode)
			return &files->list.items[i];
	return NULL;
}

static void a_memfd_is_found_by_its_descriptor(void **state)
{
	struct tmpfs_files before = {0}, now = {0};
	char *data = calloc(1, 2 * MIB);
	int fd = memfd_create("planted", MFD_CLOEXEC);
	const struct tmpfs_file *file;
	struct tmpfs_growth growth;
	struct stat status;

	(void)state;
	assert_true(fd >= 0 && data);
	assert_int_equal(fstat(fd, &status), 0);
	assert_int_equal(tmpfs_files_read(getpid(), &before), 0);
	assert_int_equal(write(fd, data, 2 * MIB), 2 * MIB);
	assert_int_equal(tmpfs_files_read(getpid(), &now), 0);
	file = file_of(&now, status.st_ino);
	assert_non_null(file);
	assert_string_equal(file->path, "/memfd:planted (deleted)");
	assert_true(file->open);
	assert_int_equal(file->bytes, 2 * MIB);
	growth = tmpfs_files_grown(&before, &now);
	assert_ptr_equal(growth.file, file);
	assert_int_equal(growth.before, 0);
	tmpfs_files_free(&before);
	tmpfs_files_free(&now);
	close(fd);
	free(data);
}

static void plant(struct tmpfs_files *files, uint64_t inode, uint64_t bytes, bool open)
{
	struct tmpfs_file *file = vec_push(&files->list);

	assert_non_null(file);
	*file = (struct tmpfs_file){
		.device = 1, .inode = inode, .bytes = bytes, .open = open, .path = strdup("/f")};
	assert_non_null(file->path);
}

static void a_file_grows_for_the_process_that_writes_it(void **state)
{
	static const struct {
		uint64_t grown, written;
		bool open, is_new, partial, found;
	} cases[] = {
		{4 * MIB, 0, true, false, false, true},	       /* open for writing */
		{MIB - 1, 0, true, false, false, false},       /* too small a change */
		{4 * MIB, 4 * MIB, false, false, false, true}, /* written, and closed again */
		{4 * MIB, 5 * MIB, false, false, false, true},
		{4 * MIB, 6 * MIB, false, false, false, false}, /* it may have written another */
		{4 * MIB, 3 * MIB, false, false, false, false}, /* another one wrote, too */
		{4 * MIB, 0, false, false, false, false},
		{4 * MIB, 0, true, true, false, true},
		{4 * MIB, 0, true, true, true, false}, /* it may have been there before */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct tmpfs_files before = {.has_written = true,
					     .written = 7,
					     .partial = cases[i].partial},
				   now = {.has_written = true, .written = 7 + cases[i].written};
		struct tmpfs_growth growth;

		plant(&before, 1, MIB, false);
		if (!cases[i].is_new)
			plant(&before, 2, MIB, false);
		plant(&now, 1, MIB, true);
		plant(&now, 2, (cases[i].is_new ? 0 : MIB) + cases[i].grown, cases[i].open);
		growth = tmpfs_files_grown(&before, &now);
		if (cases[i].found) {
			assert_ptr_equal(growth.file, &now.list.items[1]);
			assert_int_equal(growth.before, cases[i].is_new ? 0 : MIB);
		} else {
			assert_null(growth.file);
		}
		tmpfs_files_free(&before);
		tmpfs_files_free(&now);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_memfd_is_found_by_its_descriptor),
		cmocka_unit_test(a_file_grows_for_the_process_that_writes_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
