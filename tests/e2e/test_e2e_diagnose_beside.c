// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * What diagnose watches besides memory blocks: descriptors by age, mappings, threads; and ended
 * processes.
 */
#include "base/cleanup.h"
#include "containers.h"
#include "retain_json.h"
#include "shell.h"

/* One of twenty is kept, all through one call stack. */
#define PYTHON_KEEPS                                                                               \
	"import os, time\n"                                                                        \
	"kept = []\n"                                                                              \
	"def handle(keep):\n"                                                                      \
	"    fd = os.open('/dev/null', os.O_RDONLY)\n"                                             \
	"    kept.append(fd) if keep else os.close(fd)\n"                                          \
	"print('ready', flush=True)\n"                                                             \
	"while True:\n"                                                                            \
	"    for i in range(20): handle(not i)\n"                                                  \
	"    time.sleep(0.1)\n"

/* For half of each four seconds 60 are open. */
#define PYTHON_BURSTS                                                                              \
	"import os, time\n"                                                                        \
	"print('ready', flush=True)\n"                                                             \
	"while True:\n"                                                                            \
	"    fds = [os.open('/dev/null', os.O_RDONLY) for _ in range(60)]\n"                       \
	"    time.sleep(2)\n"                                                                      \
	"    for fd in fds: os.close(fd)\n"                                                        \
	"    time.sleep(2)\n"

/* A pool that is full after some seconds. */
#define PYTHON_POOL                                                                                \
	"import os, time\n"                                                                        \
	"print('ready', flush=True)\n"                                                             \
	"fds = []\n"                                                                               \
	"while True:\n"                                                                            \
	"    if len(fds) < 60: fds.append(os.open('/dev/null', os.O_RDONLY))\n"                    \
	"    time.sleep(0.1)\n"

static struct child *python(struct harness *harness, const char *program)
{
	return start_ready(harness, "/usr/bin/python3", ARGUMENTS("python3", "-c", program), NULL);
}

/* Returns the share in a member that names code. */
static double share_of(json_t *report, pid_t pid, const char *member)
{
	json_t *found = json_object_get(process_of(report, pid), member);

	return json_is_object(found) ? real_at(found, "share") : 0;
}

/* `code`: negative: any. */
static json_t *diagnose(struct harness *harness, const char *list, const char *time, int code)
{
	struct child *monitor =
		MONITOR(harness, "diagnose", "-p", list, "--for", time, "--format", "json");
	json_t *report;

	child_end(harness, monitor);
	report = monitor_report(harness, monitor);
	if (code >= 0 && monitor->code != code)
		json_dumpf(report, stderr, JSON_INDENT(1));
	assert_true(code < 0 || monitor->code == code);
	expect_schema(harness, report, "diagnosis");
	return report;
}

/* Longer, if the machine had no time to follow most of the growth. */
static json_t *diagnose_share(struct harness *harness, const char *list, pid_t pid,
			      const char *member)
{
	static const char *const times[] = {"12s", "30s", "60s"};
	json_t *report = NULL;

	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		report = diagnose(harness, list, times[i], -1);
		if (share_of(report, pid, member) > 0.5) {
			assert_string_equal(text_at(process_of(report, pid), "verdict"), "grows");
			return report;
		}
	}
	fail_msg("no %s: %s", member, json_dumps(report, JSON_COMPACT));
	return report;
}

static void expect_part(json_t *process, const char *part)
{
	if (strcmp(text_at(process, "part"), part))
		fail_msg("not %s: %s", part, json_dumps(process, JSON_COMPACT));
}

static void what_outlives_the_closes_of_its_call_stack_leaks(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *keeps = python(harness, PYTHON_KEEPS);
	json_t *process = process_of(diagnose_share(harness, keeps->pid_text, keeps->pid, "opener"),
				     keeps->pid);
	json_t *opener = json_object_get(process, "opener");

	expect_part(process, "descriptors");
	assert_int_equal(number_at(opener, "opened"),
			 number_at(opener, "closed") + number_at(opener, "open"));
	assert_true(number_at(opener, "closed") > 10 * number_at(opener, "open"));
	assert_true(number_at(opener, "closes_reach_ms") < 1000);
	assert_true(number_at(opener, "oldest_ms") > number_at(opener, "closes_reach_ms"));
}

static void what_is_closed_again_is_no_leak(void **state)
{
	static const char *const programs[] = {PYTHON_BURSTS, PYTHON_POOL};
	struct harness *harness = harness_bpf(state);
	struct child *children[ARRAY_SIZE(programs)];
	json_t *report;
	char list[64];

	for (size_t i = 0; i < ARRAY_SIZE(programs); i++)
		children[i] = python(harness, programs[i]);
	snprintf(list, sizeof(list), "%s,%s", children[0]->pid_text, children[1]->pid_text);
	report = diagnose(harness, list, "21s", 0);
	for (size_t i = 0; i < ARRAY_SIZE(programs); i++) {
		json_t *process = process_of(report, children[i]->pid);

		expect_part(process, "nothing");
		assert_string_equal(text_at(process, "verdict"), "no-leak");
		assert_true(json_is_null(json_object_get(process, "opener")));
	}
}

static void threads_have_a_creator_and_its_share(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *threads = WORKLOAD(harness, "grower", "threads", "5");
	json_t *process = process_of(
		diagnose_share(harness, threads->pid_text, threads->pid, "creator"), threads->pid);
	json_t *creator = json_object_get(process, "creator");

	expect_part(process, "threads");
	assert_true(stack_has_function(creator, "one_thread"));
}

static void memory_outside_malloc_has_the_code_that_maps_it(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *maps = WORKLOAD(harness, "grower", "chunks", "20"),
		     *fills = WORKLOAD(harness, "grower", "parts", "20");
	json_t *report, *mapper;
	char list[64];

	snprintf(list, sizeof(list), "%s,%s", maps->pid_text, fills->pid_text);
	report = diagnose_share(harness, list, maps->pid, "mapper");
	expect_part(process_of(report, maps->pid), "other");
	mapper = json_object_get(process_of(report, maps->pid), "mapper");
	assert_true(stack_has_function(mapper, "one_chunk"));
	assert_int_equal(number_at(mapper, "bytes"), number_at(mapper, "count") * 65536);
	assert_true(number_at(mapper, "resident") + 65536 > number_at(mapper, "bytes"));
	/* For an older mapping that fills, the code is unknown. */
	expect_part(process_of(report, fills->pid), "other");
	assert_true(json_is_null(json_object_get(process_of(report, fills->pid), "mapper")));
}

static void a_process_that_is_gone_costs_its_own_answer_only(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *leaks = WORKLOAD(harness, "grower", "files", "20");
	struct child *ends =
		python(harness, "import time\nprint('ready', flush=True)\ntime.sleep(2)");
	struct child *monitor;
	json_t *report;
	char list[64];

	snprintf(list, sizeof(list), "%s,%s,4194300", leaks->pid_text, ends->pid_text);
	monitor = MONITOR(harness, "diagnose", "-p", list, "--for", "8s", "--format", "json");
	child_end(harness, monitor);
	assert_int_equal(monitor->code, 3);
	assert_non_null(strstr(monitor->err.text, "PID 4194300 has ended"));
	report = monitor_report(harness, monitor);
	assert_int_equal(json_array_size(json_object_get(report, "processes")), 2);
	expect_part(process_of(report, leaks->pid), "descriptors");
	assert_true(json_is_true(json_object_get(process_of(report, ends->pid), "exited")));
	monitor_expect_error(harness, MONITOR(harness, "diagnose", "-p", "4194300"), 1,
			     "PID 4194300 has ended");
}

static void a_process_in_a_container_has_its_name(void **state)
{
	struct harness *harness = containers_bpf(state);
	const struct container_spec spec = {
		.runtime = "runc", .image = IMAGE_GLIBC, .pod = "web-0"};
	struct running *container = container_start(harness, &spec);
	json_t *process, *named, *text;
	char pid[16];

	snprintf(pid, sizeof(pid), "%d", container->pid);
	process = process_of(diagnose(harness, pid, "5s", 0), container->pid);
	named = json_object_get(process, "container");
	assert_string_equal(text_at(named, "id"), container->id);
	assert_string_equal(text_at(named, "pod"), "web-0");
	assert_string_equal(text_at(named, "name"), "app");
	text = json_array_get(json_object_get(process, "text"), 0);
	assert_non_null(strstr(json_string_value(text), " in container shop/web-0/app: "));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(what_outlives_the_closes_of_its_call_stack_leaks),
		e2e_test(what_is_closed_again_is_no_leak),
		e2e_test(threads_have_a_creator_and_its_share),
		e2e_test(memory_outside_malloc_has_the_code_that_maps_it),
		e2e_test(a_process_that_is_gone_costs_its_own_answer_only),
		container_test(a_process_in_a_container_has_its_name),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
