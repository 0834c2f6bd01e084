// SPDX-License-Identifier: GPL-2.0-or-later
/* What `leakmon retain` stops goes on as if nothing had been, whatever becomes of leakmon itself.
 */
#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "retain_json.h"

/* Of each kind of filter; LEAKMON_STOPS says how often instead. */
#define STOPS 8

static char state_of(pid_t pid)
{
	char path[64], line[512];
	const char *name_end;
	FILE *file;
	size_t got;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "re");
	assert_non_null(file);
	got = fread(line, 1, sizeof(line) - 1, file);
	fclose(file);
	line[got] = '\0';
	name_end = strrchr(line, ')');
	assert_non_null(name_end);
	return name_end[2];
}

static void expect_undisturbed(struct child *target, json_t *truth)
{
	json_t *interrupted = json_object_get(truth, "interrupted"), *call;
	size_t i, wrong = 0;

	json_array_foreach(json_object_get(truth, "calls"), i, call)
	{
		json_int_t error = number_at(call, "error");

		/* What the kernel cannot do, or a container must not. */
		if (!number_at(call, "returns") ||
		    (number_at(call, "returns") == 1 && (error == ENOSYS || error == EINVAL)))
			continue;
		print_error("%s returned %lld times, first with error %lld\n",
			    text_at(call, "kind"), (long long)number_at(call, "returns"),
			    (long long)error);
		wrong++;
	}
	if (wrong)
		child_fail(target, "%zu kinds of call were disturbed", wrong);
	assert_int_equal(i, 52);
	assert_int_equal(number_at(interrupted, "others"), 0);
	assert_int_equal(number_at(interrupted, "failed"), number_at(interrupted, "handled"));
}

/* Its handler still runs, and its call still fails with EINTR. */
static void expect_interruptions(struct harness *harness, struct child *target)
{
	json_int_t before = number_at(
		json_object_get(workload_ask(harness, target, "truth"), "interrupted"), "failed");
	json_int_t after = before;

	for (int i = 0; i < 1000 && after < before + 10; i++) {
		wait_ms(1);
		after = number_at(
			json_object_get(workload_ask(harness, target, "truth"), "interrupted"),
			"failed");
	}
	assert_true(after >= before + 10);
}

static void stop_often(struct harness *harness, struct child *target, size_t stops)
{
	char count[24], *line;
	struct child *monitor;
	json_t *report;

	snprintf(count, sizeof(count), "%zu", stops);
	monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format", "json",
			  "0.001", count);
	for (size_t i = 0; i < stops; i++) {
		line = child_line(harness, monitor, &monitor->out);
		report = json_loads(line, 0, NULL);
		free(line);
		assert_non_null(report);
		if (!json_is_true(json_object_get(json_object_get(report, "picture"), "stopped")))
			print_message(
				"run %zu: %s\n", i,
				text_at(json_object_get(report, "picture"), "why_not_stopped"));
		json_decref(report);
	}
	assert_int_equal(child_end(harness, monitor), 0);
}

static void no_call_is_disturbed(void **state)
{
	static const char *const filters[] = {"none", "lenient", "errno", "strict"};
	struct harness *harness = harness_any(state);
	const char *given = getenv("LEAKMON_STOPS");
	size_t stops = given ? strtoul(given, NULL, 10) : STOPS;

	for (size_t i = 0; i < 4; i++) {
		struct child *target = WORKLOAD(harness, "waiter", filters[i]);

		workload_do(harness, target, "start");
		workload_do(harness, target, "more");
		stop_often(harness, target, stops);
		expect_undisturbed(target, workload_ask(harness, target, "truth"));
		expect_interruptions(harness, target);
		workload_send(target, "quit");
		assert_int_equal(child_end(harness, target), 0);
	}
}

/* One second is what it is, however often the sleeper is stopped; but for a filter without
 * restart_syscall(2), where it begins anew. */
static void a_time_limit_is_kept(void **state)
{
	static const struct {
		const char *filter;
		bool kept;
	} cases[] = {{"none", true}, {"lenient", true}, {"strict", false}};
	struct harness *harness = harness_any(state);

	for (size_t i = 0; i < 3; i++) {
		struct child *target = WORKLOAD(harness, "waiter", cases[i].filter), *monitor;
		json_t *slept;

		monitor = MONITOR(harness, "retain", "-p", target->pid_text, "--census", "--format",
				  "json", "0.1", "20");
		free(child_line(harness, monitor, &monitor->out));
		slept = workload_ask(harness, target, "sleep");
		assert_int_equal(number_at(slept, "error"), 0);
		assert_true(number_at(slept, "ms") >= 1000);
		/* All twenty take two seconds at least. */
		assert_int_equal(state_of(monitor->pid) != 'Z' && number_at(slept, "ms") < 1900,
				 cases[i].kept);
		assert_int_equal(child_end(harness, monitor), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(no_call_is_disturbed),
		e2e_test(a_time_limit_is_kept),
	};

	return cmocka_run_group_tests_name("e2e_retain_stop", tests, NULL, NULL);
}
