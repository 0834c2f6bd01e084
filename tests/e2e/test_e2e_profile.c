// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * leakmon profile on real programs. At 20 % instead of 1 % of their time, so that a minute
 * replaces a quarter of an hour; checks that need minutes of age (verdicts) are in
 * tests/unit/test_profile_sites.c, on a simulated clock, with the same code.
 */
#include "base/cleanup.h"
#include "dripper.h"
#include "shell.h"

#include <linux/capability.h>
#include <sys/prctl.h>

#define LIBRARIES "/usr/lib/x86_64-linux-gnu/"

/*
 * 200 blocks of 100 bytes per second, among as many allocations as the machine manages. A 95 %
 * interval may miss the truth, but not by half of it.
 */
static void expect_drip(struct harness *harness, const char *name, const char *library)
{
	struct child *workload = dripper_start(harness, name, library, NULL);
	struct child *monitor = PROFILE(harness, workload);
	json_t *report = after_windows(harness, monitor, 40), *process, *drip, *churn;
	double rate;

	monitor_stop(harness, monitor);
	rate = rate_of(harness, workload);
	process = process_of(report, workload->pid ? workload->pid : atoi(workload->pid_text));
	assert_int_equal(site_rank(process, "drip"), 0);
	drip = site_of(process, "drip");
	assert_true(real_at(drip, "low") > 0);
	assert_true(real_at(drip, "low") < rate * 100 * 1.5);
	assert_true(real_at(drip, "high") > rate * 100 / 1.5);
	assert_true(real_at(drip, "births_low") < rate * 1.5);
	assert_true(real_at(drip, "births_high") > rate / 1.5);
	churn = site_of(process, "churn");
	assert_true(real_at(churn, "births_per_s") > 10 * real_at(drip, "births_per_s"));
	assert_true(real_at(churn, "low") < real_at(drip, "low"));
	assert_string_not_equal(json_string_value(json_object_get(churn, "verdict")), "leaking");
	assert_true(json_is_true(json_object_get(json_object_get(report, "overhead"), "measured")));
}

static void a_leak_is_the_first_site_with_glibc(void **state)
{
	expect_drip(harness_bpf(state), "dripper", NULL);
}

static void a_leak_is_the_first_site_with_musl(void **state)
{
	expect_drip(harness_bpf(state), "dripper_musl", NULL);
}

static void a_leak_is_the_first_site_with_jemalloc(void **state)
{
	expect_drip(harness_bpf(state), "dripper", LIBRARIES "libjemalloc.so.2");
}

static void a_leak_is_the_first_site_with_tcmalloc(void **state)
{
	expect_drip(harness_bpf(state), "dripper", LIBRARIES "libtcmalloc_minimal.so.4");
}

static void a_leak_is_the_first_site_with_mimalloc(void **state)
{
	expect_drip(harness_bpf(state), "dripper", LIBRARIES "libmimalloc.so.2.0");
}

/* The address may hold another such block by now: no lower limit, whatever the estimate. */
static void contents_that_all_blocks_share_prove_nothing(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_start(harness, "dripper", NULL, "zeros");
	struct child *monitor = PROFILE(harness, workload);
	json_t *report = after_windows(harness, monitor, 20), *drip;

	drip = site_of(process_of(report, workload->pid), "drip");
	assert_true(real_at(drip, "growth_bytes_per_s") > 0);
	assert_true(real_at(drip, "low") == 0);
	monitor_stop(harness, monitor);
}

static void drop_sys_admin(void)
{
	if (prctl(PR_CAPBSET_DROP, CAP_SYS_ADMIN, 0, 0, 0))
		_exit(126);
}

/* As pods run it: the kernel's own count of program costs requires CAP_SYS_ADMIN. */
static void traps_count_without_cap_sys_admin(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_start(harness, "dripper", NULL, NULL);
	struct child *monitor =
		monitor_start(harness,
			      ARGUMENTS("leakmon", "profile", "-v", "-p", workload->pid_text,
					"--overhead", "20%", "--format", "json", "2"),
			      drop_sys_admin);
	double births = 0, traps_ms = 0;

	/* A window with few of them may cost less than stated. */
	while (births < 100) {
		char *line = child_line(harness, monitor, &monitor->err);
		const char *window = strstr(line, "a window of ");
		double in_window, window_ms;

		if (window &&
		    sscanf(window, "a window of %*f ms, %lf births: %*f ms for the attach, %lf",
			   &in_window, &window_ms) == 2) {
			births += in_window;
			traps_ms += window_ms;
		}
		free(line);
	}
	assert_true(traps_ms > 0);
	monitor_stop(harness, monitor);
	rate_of(harness, workload);
}

/* Output of a command about a recording. */
static json_t *shown(struct harness *harness, const char *command, const char *path, const char *at)
{
	struct child *child = at ? MONITOR(harness, command, path, "--format", "json", "--at", at)
				 : MONITOR(harness, command, path, "--format", "json");
	json_t *report = monitor_report(harness, child);

	assert_int_equal(child_end(harness, child), 0);
	return report;
}

static void profiles_are_recorded_shown_and_compared(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_start(harness, "dripper", NULL, NULL), *monitor;
	pid_t pid = workload->pid;
	json_t *first, *last, *changes, *change;
	char path[64];
	size_t i;

	snprintf(path, sizeof(path), "%s/run.lkm", harness->directory);
	monitor = MONITOR(harness, "record", "--profile", "-p", workload->pid_text, "-o", path,
			  "--overhead", "20%", "3", "4");
	child_wait_text(harness, monitor, &monitor->err, "holds 4 profiles");
	assert_int_equal(child_end(harness, monitor), 0);
	rate_of(harness, workload);
	first = shown(harness, "report", path, "1");
	last = shown(harness, "report", path, NULL);
	expect_schema(harness, last, "profile");
	assert_int_equal(number_at(first, "sequence"), 1);
	assert_int_equal(number_at(last, "sequence"), 4);
	assert_true(number_at(last, "windows") > number_at(first, "windows"));
	assert_int_not_equal(site_rank(process_of(last, pid), "drip"), SIZE_MAX);
	last = shown(harness, "diff", path, NULL);
	expect_schema(harness, last, "profile_diff");
	changes = json_object_get(last, "changes");
	json_array_foreach(changes, i, change)
	{
		assert_int_equal(number_at(change, "pid"), pid);
	}
	assert_true(json_array_size(changes) >= 3);
}

/* No report shows a higher cost than the limit, from the first window of a program on that only
 * allocates; reports match the schema. */
static void the_target_loses_no_more_than_it_may(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_run(harness, "dripper", NULL, "20000", "0", NULL);
	struct child *monitor = MONITOR(harness, "profile", "-p", workload->pid_text, "--overhead",
					"3%", "--format", "json", "0.5");
	json_t *report, *overhead;

	/* Twice the limit: where setting or closing probes stalls, on a machine that is busy with
	 * other tests, the cost is known afterwards. */
	do {
		report = monitor_report(harness, monitor);
		overhead = json_object_get(report, "overhead");
		assert_true(real_at(overhead, "limit") == 0.03);
		assert_true(real_at(overhead, "spent") <= 0.06);
		assert_true(real_at(process_of(report, workload->pid), "spent") <= 0.06);
	} while (number_at(report, "windows") < 2);
	assert_true(real_at(overhead, "spent") > 0);
	expect_schema(harness, report, "profile");
	monitor_stop(harness, monitor);
}

/* The greatest age at which a site's blocks were checked. */
static double oldest_look(json_t *site)
{
	json_t *survival = json_object_get(site, "survival");
	size_t count = json_array_size(survival);

	return count ? real_at(json_array_get(survival, count - 1), "age_s") : 0;
}

/* 2 MB a second stand out on any machine; other growing processes may be chosen, too. */
static void without_a_target_what_grows_is_profiled_while_it_lives(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = dripper_run(harness, "dripper", NULL, "20000", "20", NULL);
	struct child *monitor =
		MONITOR(harness, "profile", "--overhead", "5%", "--format", "json", "0.5");
	pid_t pid = workload->pid;
	json_t *report, *process, *chosen;

	do {
		report = monitor_report(harness, monitor);
		process = process_in(report, pid);
		assert_true(number_at(report, "watched") > 1);
		assert_true(json_array_size(json_object_get(report, "processes")) <= 16);
	} while (!process || number_at(process, "windows") < 5 ||
		 oldest_look(site_of(process, "drip")) < 2);
	chosen = json_object_get(process, "chosen");
	assert_true(real_at(chosen, "heap_bytes_per_s") > 1e6);
	assert_true(real_at(chosen, "confidence") > 0.5);
	assert_int_equal(site_rank(process, "drip"), 0);
	expect_schema(harness, report, "profile");
	rate_of(harness, workload);
	do
		report = monitor_report(harness, monitor);
	while (process_in(report, pid));
	monitor_stop(harness, monitor);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_leak_is_the_first_site_with_glibc),
		e2e_test(a_leak_is_the_first_site_with_musl),
		e2e_test(a_leak_is_the_first_site_with_jemalloc),
		e2e_test(a_leak_is_the_first_site_with_tcmalloc),
		e2e_test(a_leak_is_the_first_site_with_mimalloc),
		e2e_test(contents_that_all_blocks_share_prove_nothing),
		e2e_test(the_target_loses_no_more_than_it_may),
		e2e_test(traps_count_without_cap_sys_admin),
		e2e_test(profiles_are_recorded_shown_and_compared),
		e2e_test(without_a_target_what_grows_is_profiled_while_it_lives),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
