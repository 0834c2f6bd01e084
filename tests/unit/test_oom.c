// SPDX-License-Identifier: GPL-2.0-or-later
/* Names of snapshots that are made of kills, and how kills are counted. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "app/monitor/oom.h"
#include "base/cleanup.h"
#include "process/proc/container.h"

static void add(struct oom_kills *kills, pid_t pid)
{
	struct oom_kill *kill = vec_push(&kills->list);

	assert_non_null(kill);
	*kill = (struct oom_kill){.pid = pid, .limit_bytes = UINT64_MAX};
}

static void a_label_names_the_killed_process(void **state)
{
	_cleanup_(oom_kills_free) struct oom_kills kills = {0}, read_back = {0};
	_cleanup_free_ char *label = NULL;

	(void)state;
	add(&kills, 1234);
	add(&kills, 7);
	label = oom_kills_label(&kills);
	assert_string_equal(label, "oom 1234,7");
	assert_int_equal(oom_kills_of_label(&read_back, label), 0);
	assert_int_equal(read_back.list.count, 2);
	assert_int_equal(read_back.list.items[0].pid, 1234);
	assert_int_equal(read_back.list.items[1].pid, 7);
}

/* Thousands of victims do not fit; no reported one is truncated. */
static void a_label_is_cut_between_numbers(void **state)
{
	_cleanup_(oom_kills_free) struct oom_kills kills = {0}, read_back = {0};
	_cleanup_free_ char *label = NULL;

	(void)state;
	for (pid_t i = 0; i < 200; i++)
		add(&kills, 4000000 + i);
	label = oom_kills_label(&kills);
	assert_int_equal(oom_kills_of_label(&read_back, label), 0);
	assert_in_range(read_back.list.count, 10, 199);
	for (size_t i = 0; i < read_back.list.count; i++)
		assert_int_equal(read_back.list.items[i].pid, 4000000 + i);
}

/* A recording is a file that anybody may have made. */
static void other_labels_report_no_kill(void **state)
{
	static const char *const labels[] = {
		NULL,	  "",	    "oom",	"oom ",	  "oom x",  "oomph 1",
		"oom -1", "oom 0",  "before 1", "oom 1x", "oom\t1", "oom 99999999999999999999",
		"OOM 1",  "oom ,1",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(labels); i++) {
		_cleanup_(oom_kills_free) struct oom_kills read_back = {0};

		assert_int_equal(oom_kills_of_label(&read_back, labels[i]), 0);
		assert_int_equal(read_back.list.count, 0);
	}
}

static void kills_are_counted_by_name_and_container(void **state)
{
	struct container one = {
		.id = "1111111111111111111111111111111111111111111111111111111111111111"};
	struct container other = {
		.id = "2222222222222222222222222222222222222222222222222222222222222222"};
	struct snapshot_process processes[] = {
		{.pid = 1, .comm = "web", .container = &one},
		{.pid = 2, .comm = "web", .container = &other},
		{.pid = 3, .comm = "web", .container = &one},
		{.pid = 4, .comm = "web"},
		{.pid = 5, .comm = "db", .container = &one},
	};
	const uint64_t expected[] = {2, 1, 1, 1};
	struct snapshot snapshot = {0};
	_cleanup_(oom_kills_free) struct oom_kills kills = {0};

	(void)state;
	snapshot.processes.items = processes;
	snapshot.processes.count = ARRAY_SIZE(processes);
	for (pid_t pid = 1; pid <= 5; pid++) {
		add(&kills, pid);
		assert_int_equal(oom_kills_count(&kills, &snapshot), 0);
		oom_kills_reported(&kills);
	}
	assert_int_equal(kills.totals.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(kills.totals.items[i].kills, expected[i]);
	assert_string_equal(kills.totals.items[3].comm, "db");
}

#define MANY_NAMES 300

/* In a loop of crashes each container is a new one. */
static void no_kill_is_left_uncounted_however_many_names_there_are(void **state)
{
	struct snapshot_process process = {.pid = 1};
	struct snapshot snapshot = {0};
	uint64_t sum = 0, nameless = 0;
	_cleanup_(oom_kills_free) struct oom_kills kills = {0};

	(void)state;
	snapshot.processes.items = &process;
	snapshot.processes.count = 1;
	for (unsigned i = 0; i < MANY_NAMES; i++) {
		snprintf(process.comm, sizeof(process.comm), "program %u", i);
		add(&kills, 1);
		assert_int_equal(oom_kills_count(&kills, &snapshot), 0);
		oom_kills_reported(&kills);
	}
	for (size_t i = 0; i < kills.totals.count; i++) {
		sum += kills.totals.items[i].kills;
		nameless += kills.totals.items[i].comm[0] ? 0 : kills.totals.items[i].kills;
	}
	assert_int_equal(sum, MANY_NAMES);
	assert_in_range(nameless, 1, MANY_NAMES / 2);
}

/* The largest ones of the latest kill only. */
static void the_last_ones_sites_are_kept_until_the_next_kill(void **state)
{
	struct frame frame = {.function = "leak", .module = "/bin/app", .line = 7};
	struct frames frames = {0}, none = {0};
	_cleanup_(oom_kills_free) struct oom_kills kills = {0};

	(void)state;
	frames.list.items = &frame;
	frames.list.count = 1;
	oom_kills_keep_of(&kills, "first", NULL, false);
	for (uint64_t i = 0; i < 2 * OOM_SITES; i++)
		oom_kills_keep_site(&kills, i, &frames, &(struct oom_site){.bytes = 100 - i});
	assert_int_equal(kills.last.sites.count, OOM_SITES);
	assert_int_equal(kills.last.sites.items[0].bytes, 100);
	assert_string_equal(kills.last.sites.items[0].function, "leak");
	assert_null(kills.last.sites.items[0].file);
	oom_kills_reported(&kills);
	assert_int_equal(kills.last.sites.count, OOM_SITES);
	oom_kills_keep_of(&kills, "second", NULL, true);
	oom_kills_keep_site(&kills, 1, &none, &(struct oom_site){.growth_bytes_per_s = 3});
	assert_int_equal(kills.last.sites.count, 1);
	assert_null(kills.last.sites.items[0].function);
	assert_true(kills.last.profiled);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_label_names_the_killed_process),
		cmocka_unit_test(a_label_is_cut_between_numbers),
		cmocka_unit_test(other_labels_report_no_kill),
		cmocka_unit_test(kills_are_counted_by_name_and_container),
		cmocka_unit_test(no_kill_is_left_uncounted_however_many_names_there_are),
		cmocka_unit_test(the_last_ones_sites_are_kept_until_the_next_kill),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
