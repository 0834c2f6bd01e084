// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon profile against what deceives whoever looks from outside: places that are used again,
 * contents that many blocks share, blocks that are written to, mapped memory, a size class that
 * falls quiet, threads that end, forks. One program does all of it at once, and knows what grows.
 * What takes a quarter of an hour, or swap, is in tests/unit/test_profile_sites.c.
 */
#include "harness.h"

#include <signal.h>

static double oldest_look(json_t *site)
{
	json_t *survival = json_object_get(site, "survival");
	size_t count = json_array_size(survival);

	return count ? real_at(json_array_get(survival, count - 1), "age_s") : 0;
}

static json_t *after(struct harness *harness, struct child *monitor, pid_t pid, json_int_t windows,
		     double age_s)
{
	for (;;) {
		json_t *report = monitor_report(harness, monitor);
		json_t *process = process_of(report, pid), *site = site_of(process, "grow_mapped");

		if (number_at(report, "windows") >= windows && site && oldest_look(site) >= age_s)
			return process;
	}
}

/* A limit of 95 % may miss the truth, but not by half of it. */
static void expect_growth(json_t *process, const char *function, double bytes_per_s)
{
	json_t *site = site_of(process, function);

	assert_non_null(site);
	if (real_at(site, "low") <= 0 || real_at(site, "low") > bytes_per_s * 1.5 ||
	    real_at(site, "high") < bytes_per_s / 1.5)
		fail_msg("%s: %.0f to %.0f bytes/s; %.0f in truth", function, real_at(site, "low"),
			 real_at(site, "high"), bytes_per_s);
}

static void what_grows_is_told_from_what_seems_to(void **state)
{
	static const char *const others[] = {"same_place", "first_of_two", "second_of_two",
					     "zeros",	   "mapped",	   "quiet"};
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "adversary");
	struct child *monitor =
		MONITOR_ATTACHED(harness, "profile", "-p", workload->pid_text, "--overhead", "20%",
				 "--format", "json", "-T", "0", "2");
	json_t *process, *truth, *site;
	char *line;
	double rate;

	process = after(harness, monitor, workload->pid, 8, 0);
	assert_non_null(site_of(process, "quiet"));
	child_signal(workload, SIGUSR1);
	process = after(harness, monitor, workload->pid, 40, 16);
	monitor_stop(harness, monitor);
	child_signal(workload, SIGTERM);
	line = child_line(harness, workload, &workload->out);
	truth = json_loads(line, 0, NULL);
	free(line);
	rate = real_at(truth, "grown") / real_at(truth, "ns") * 1e9;
	json_decref(truth);
	expect_growth(process, "grow_mapped", rate * 300000);
	expect_growth(process, "grow_in_thread", rate * 88);
	/* Another such block might stand there by now. */
	site = site_of(process, "grow_equal");
	assert_true(real_at(site, "low") == 0 && real_at(site, "high") > rate * 120 / 1.5);
	/* Alive, but not untouched. */
	site = site_of(process, "grow_touched");
	assert_true(real_at(site, "low") == 0 && real_at(site, "most") > rate * 136 / 1.5);
	assert_string_not_equal(json_string_value(json_object_get(site, "verdict")), "churning");
	for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
		site = site_of(process, others[i]);
		assert_non_null(site);
		assert_true(real_at(site, "low") == 0);
	}
	/* A child's blocks are not its parent's. */
	assert_null(site_of(process, "in_child"));
	assert_int_equal(child_end(harness, workload), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_grows_is_told_from_what_seems_to),
	};

	return cmocka_run_group_tests_name("e2e_profile_adversary", tests, NULL, NULL);
}
