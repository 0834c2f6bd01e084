// SPDX-License-Identifier: GPL-2.0-or-later
/* Processes that the kernel's blocks are for: each site has its own, the greatest first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "trace/collect/kernel_owners.h"

static void add(struct kernel_owners *owners, uint32_t site, uint32_t pid, int64_t bytes)
{
	struct kernel_owner_row *row = vec_push(&owners->list);

	assert_non_null(row);
	*row = (struct kernel_owner_row){{site, pid}, {bytes, bytes / 8, "nobody"}};
}

static void site_release(struct report_site *site)
{
	for (size_t i = 0; i < site->owners.count; i++)
		free(site->owners.items[i].cgroup);
	vec_free(&site->owners);
}

static void each_site_has_its_own_processes(void **state)
{
	_cleanup_(kernel_owners_free) struct kernel_owners owners = {0};
	_cleanup_(site_release) struct report_site three = {0}, seven = {0}, none = {0};

	(void)state;
	add(&owners, 7, 4194301, 80);
	add(&owners, 3, 4194301, 160);
	add(&owners, 7, 4194302, 8000);
	kernel_owners_sort(&owners);
	assert_int_equal(kernel_owners_fill(&owners, 3, &three), 0);
	assert_int_equal(kernel_owners_fill(&owners, 7, &seven), 0);
	assert_int_equal(kernel_owners_fill(&owners, 5, &none), 0);
	assert_int_equal(three.owners_total, 1);
	assert_int_equal(three.owners.items[0].bytes, 160);
	assert_int_equal(seven.owners_total, 2);
	assert_int_equal(seven.owners.items[0].pid, 4194302);
	assert_int_equal(seven.owners.items[0].count, 1000);
	assert_int_equal(seven.owners.items[1].pid, 4194301);
	assert_int_equal(none.owners_total, 0);
	assert_null(three.owners.items[0].cgroup); /* no such process */
}

static void a_process_that_lives_has_its_group(void **state)
{
	_cleanup_(kernel_owners_free) struct kernel_owners owners = {0};
	_cleanup_(site_release) struct report_site site = {0};
	char own[16] = "";
	_cleanup_fclose_ FILE *file = fopen("/proc/self/comm", "re");

	(void)state;
	assert_non_null(file);
	assert_non_null(fgets(own, sizeof(own), file));
	add(&owners, 0, (uint32_t)getpid(), 80);
	add(&owners, 0, (uint32_t)getppid(), 40); /* another name: the PID is another process's */
	snprintf(owners.list.items[0].owner.comm, 16, "%.*s", (int)strcspn(own, "\n"), own);
	kernel_owners_sort(&owners);
	assert_int_equal(kernel_owners_fill(&owners, 0, &site), 0);
	assert_non_null(site.owners.items[0].cgroup);
	assert_int_equal(site.owners.items[0].cgroup[0], '/');
	assert_null(site.owners.items[1].cgroup);
}

static void more_processes_than_are_shown_are_counted(void **state)
{
	_cleanup_(kernel_owners_free) struct kernel_owners owners = {0};
	_cleanup_(site_release) struct report_site site = {0};

	(void)state;
	for (uint32_t i = 0; i < 12; i++)
		add(&owners, 0, 4194100 + i, 8 + 8 * i);
	kernel_owners_sort(&owners);
	assert_int_equal(kernel_owners_fill(&owners, 0, &site), 0);
	assert_int_equal(site.owners.count, KERNEL_OWNERS_SHOWN);
	assert_int_equal(site.owners_total, 12);
	assert_int_equal(site.owners.items[0].bytes, 96);
	assert_int_equal(site.owners.items[KERNEL_OWNERS_SHOWN - 1].bytes, 64);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_site_has_its_own_processes),
		cmocka_unit_test(a_process_that_lives_has_its_group),
		cmocka_unit_test(more_processes_than_are_shown_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
