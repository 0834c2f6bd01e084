// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "proc/file_cache.h"

static void count_release(void *value)
{
	(*(int *)value)++;
}

static struct stat version(ino_t inode, off_t size, time_t changed)
{
	return (struct stat){
		.st_dev = 1, .st_ino = inode, .st_size = size, .st_ctim = {.tv_sec = changed}};
}

static void a_version_of_a_file_has_its_own_value_until_the_end(void **state)
{
	struct file_cache *cache = file_cache_new(count_release);
	struct stat first = version(5, 100, 1), written = version(5, 100, 2),
		    other = version(6, 100, 1);
	int values[3] = {0};

	(void)state;
	assert_null(file_cache_get(cache, &first));
	assert_int_equal(file_cache_put(cache, &first, &values[0]), 0);
	assert_null(file_cache_get(cache, &written));
	assert_null(file_cache_get(cache, &other));
	assert_int_equal(file_cache_put(cache, &written, &values[1]), 0);
	assert_int_equal(file_cache_put(cache, &other, &values[2]), 0);
	assert_ptr_equal(file_cache_get(cache, &first), &values[0]);
	assert_ptr_equal(file_cache_get(cache, &written), &values[1]);
	assert_ptr_equal(file_cache_get(cache, &other), &values[2]);
	file_cache_free(cache);
	for (int i = 0; i < 3; i++)
		assert_int_equal(values[i], 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_version_of_a_file_has_its_own_value_until_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
