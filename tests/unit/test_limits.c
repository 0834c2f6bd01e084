// SPDX-License-Identifier: GPL-2.0-or-later
/* Usage of a limit, from the kernel's own files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "app/triage/limits.h"
#include "base/descriptors.h"

static void page_cache_can_be_dropped(void **state)
{
	static const char v1[] = "cache 9\nactive_file 1\ninactive_file 2\n"
				 "total_inactive_file 4096\ntotal_active_file 100\n";
	static const char v2[] = "anon 9\nfile 5000\nshmem 7\ninactive_file 4096\n"
				 "active_file 200\nunevictable 0\n";

	(void)state;
	assert_float_equal(limits_parse_cache(v1, false), 4196, 0);
	assert_float_equal(limits_parse_cache(v2, true), 4296, 0);
	assert_float_equal(limits_parse_cache("", true), 0, 0);
	assert_float_equal(limits_parse_cache("active_files 8\nactive_file", true), 0, 0);
}

static void a_machine_has_its_swap_too(void **state)
{
	double used = -1, bytes = -1;

	(void)state;
	assert_true(limits_parse_machine("MemTotal:  1000 kB\nMemFree: 50 kB\n"
					 "MemAvailable: 300 kB\nSwapTotal: 500 kB\n"
					 "SwapFree: 400 kB\n",
					 &used, &bytes));
	assert_float_equal(bytes, 1500 * 1024, 0);
	assert_float_equal(used, 800 * 1024, 0);
	assert_true(
		limits_parse_machine("MemTotal: 1000 kB\nMemAvailable: 300 kB\n", &used, &bytes));
	assert_float_equal(used, 700 * 1024, 0);
	assert_false(limits_parse_machine("MemTotal: 1000 kB\n", &used, &bytes));
	assert_false(limits_parse_machine("", &used, &bytes));
}

#define MANY_GROUPS 300

static void write_in(const char *directory, size_t group, const char *name, const char *text)
{
	char path[128];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%zu/%s", directory, group, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void group_make(struct groups *groups, const char *directory, size_t i)
{
	struct group *group = calloc(1, sizeof(*group)), **slot = vec_push(&groups->list);
	char path[128];

	snprintf(path, sizeof(path), "%s/%zu", directory, i);
	assert_int_equal(mkdir(path, 0700), 0);
	write_in(directory, i, "memory.max", "1000000\n");
	write_in(directory, i, "memory.current", "990000\n");
	write_in(directory, i, "memory.stat", "anon 990000\n");
	snprintf(path, sizeof(path), "/%zu", i);
	group->path = strdup(path);
	*slot = group;
}

static size_t count_near(const struct limits *limits)
{
	size_t near = 0;

	for (size_t i = 0; i < limits->list.count; i++)
		near += limits->list.items[i]->near && *limits->list.items[i]->facts.path;
	return near;
}

static void the_limit_of_each_group_is_watched(void **state)
{
	char directory[] = "/tmp/leakmon-unit-XXXXXX", remove[128];
	struct groups groups = {.mount = {.root = "/", .unified = true}};
	struct limits limits = {.near_share = 0.9};

	(void)state;
	descriptors_raise_limit();
	if (!descriptors_left(4 * MANY_GROUPS))
		skip();
	assert_non_null(mkdtemp(directory));
	groups.mount.point = directory;
	for (size_t i = 0; i < MANY_GROUPS; i++)
		group_make(&groups, directory, i);
	assert_int_equal(limits_poll(&limits, &groups, 1), 0);
	assert_int_equal(count_near(&limits), MANY_GROUPS);
	/* Limits that have gone are not confused with their neighbours. */
	free(groups.list.items[0]->path);
	free(groups.list.items[0]);
	groups.list.items[0] = groups.list.items[--groups.list.count];
	assert_int_equal(limits_poll(&limits, &groups, 2), 0);
	assert_int_equal(count_near(&limits), MANY_GROUPS - 1);
	assert_int_equal(limits.list.count, MANY_GROUPS); /* with the machine */
	limits_free(&limits);
	for (size_t i = 0; i < groups.list.count; i++) {
		free(groups.list.items[i]->path);
		free(groups.list.items[i]);
	}
	vec_free(&groups.list);
	snprintf(remove, sizeof(remove), "rm -r %s", directory);
	assert_int_equal(system(remove), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_cache_can_be_dropped),
		cmocka_unit_test(a_machine_has_its_swap_too),
		cmocka_unit_test(the_limit_of_each_group_is_watched),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
