// SPDX-License-Identifier: GPL-2.0-or-later
/* One answer: the growing part of programs that each have one leak, or none. */
#include "base/cleanup.h"
#include "dripper.h"
#include "retain_json.h"
#include "shell.h"

/* Sessions kept in a list, among others that are freed. */
#define PYTHON_LEAK                                                                                \
	"import time\n"                                                                            \
	"class Session:\n"                                                                         \
	"    def __init__(self): self.data = [1] * 10\n"                                           \
	"live = []\n"                                                                              \
	"print('ready', flush=True)\n"                                                             \
	"while True:\n"                                                                            \
	"    live.append(Session())\n"                                                             \
	"    others = [Session() for _ in range(20)]\n"                                            \
	"    time.sleep(0.002)\n"

/* As PYTHON_LEAK, with a list of constant length. */
#define PYTHON_STEADY                                                                              \
	"import collections, time\n"                                                               \
	"class Session:\n"                                                                         \
	"    def __init__(self): self.data = [1] * 10\n"                                           \
	"live = collections.deque((Session() for _ in range(100)), maxlen=100)\n"                  \
	"print('ready', flush=True)\n"                                                             \
	"while True:\n"                                                                            \
	"    live.append(Session())\n"                                                             \
	"    others = [Session() for _ in range(20)]\n"                                            \
	"    time.sleep(0.002)\n"

static struct child *python(struct harness *harness, const char *program)
{
	return start_ready(harness, "/usr/bin/python3", ARGUMENTS("python3", "-c", program), NULL);
}

static struct child *dripper(struct harness *harness, const char *rate)
{
	return dripper_run(harness, "dripper", NULL, rate, "20", NULL);
}

static json_t *diagnose_for(struct harness *harness, const char *list, const char *time, int code)
{
	struct child *monitor = MONITOR(harness, "diagnose", "-p", list, "--for", time,
					"--overhead", "20%", "--format", "json");
	json_t *report;

	child_end(harness, monitor);
	report = monitor_report(harness, monitor);
	if (monitor->code != code)
		json_dumpf(report, stderr, JSON_INDENT(1));
	assert_int_equal(monitor->code, code);
	return report;
}

static bool is_known(json_t *report)
{
	json_t *process;
	size_t i;

	json_array_foreach(json_object_get(report, "processes"), i, process)
	{
		if (!strcmp(text_at(process, "verdict"), "unknown"))
			return false;
	}
	return true;
}

/* Longer, if the machine had no time for enough scans. */
static json_t *diagnose(struct harness *harness, const char *const pids[3], int code)
{
	static const char *const times[] = {"15s", "45s", "75s"};
	json_t *report = NULL;
	char list[64];

	snprintf(list, sizeof(list), "%s,%s,%s", pids[0], pids[1], pids[2]);
	for (size_t i = 0; i < ARRAY_SIZE(times); i++) {
		report = diagnose_for(harness, list, times[i], code);
		if (is_known(report))
			break;
	}
	return report;
}

/* On failure, prints the whole answer. */
static void expect_verdict(json_t *process, const char *verdict)
{
	if (strcmp(text_at(process, "verdict"), verdict))
		fail_msg("not %s: %s", verdict, json_dumps(process, JSON_COMPACT));
}

static void a_leak_is_answered_by_what_grows(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *drips = dripper(harness, "2000"), *keeps = python(harness, PYTHON_LEAK),
		     *threads = WORKLOAD(harness, "grower", "threads", "3");
	const char *const pids[] = {drips->pid_text, keeps->pid_text, threads->pid_text};
	json_t *report = diagnose(harness, pids, 3), *process, *class;

	expect_schema(harness, report, "diagnosis");
	process = process_of(report, drips->pid);
	expect_verdict(process, "leaks");
	assert_string_equal(text_at(process, "part"), "native-blocks");
	assert_string_equal(text_at(json_object_get(process, "code"), "function"), "drip");
	class = json_object_get(process, "lost_class");
	assert_int_equal(number_at(class, "size"), 104);

	process = process_of(report, keeps->pid);
	expect_verdict(process, "grows");
	assert_string_equal(text_at(process, "part"), "managed-objects");
	class = json_array_get(json_object_get(process, "classes"), 0);
	assert_string_equal(text_at(class, "name"), "__main__.Session");
	assert_string_equal(
		text_at(json_object_get(json_object_get(process, "holder"), "root"), "name"),
		"module __main__ → live");

	process = process_of(report, threads->pid);
	expect_verdict(process, "grows");
	assert_string_equal(text_at(process, "part"), "threads");
	assert_true(stack_has_function(json_object_get(process, "creator"), "one_thread"));
}

static struct child *reported_start(struct harness *harness, const char *const *argv)
{
	const char *folder = getenv("LEAKMON_WORKLOADS");
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "build/workloads", argv[0]);
	return child_start(harness, path, argv, NULL);
}

/* Where every event is cheap to track, the answer has no estimate in it. */
static void the_code_that_explains_the_growth_is_named(void **state)
{
	static const struct {
		const char *program, *arguments[3], *verdict, *function;
		bool is_cheap; /* on any machine; else it depends on the cost of a trap */
		double share;
	} cases[] = {
		/* A second call stack has 1/300 of its growth, with distinct contents. */
		{"equal_messages", {"equal"}, "grows", "payload_make", true, 0.95},
		{"unwritten_buffers", {NULL}, "leaks", "buffer_alloc", true, 0.95},
		{"session_bursts", {"10000", "180000"}, "leaks", "session_open", true, 0.95},
		/* The first stack has 60 % of the growth, two others the rest. */
		{"order_book", {"varied"}, "grows", "lines_fill(Order&, int)", true, 0.5},
		{"session_bursts", {"20", "1000"}, "leaks", "session_open", false, 0.9},
	};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct harness *harness = harness_bpf(state);
		const char *const argv[] = {cases[i].program, cases[i].arguments[0],
					    cases[i].arguments[1], NULL};
		struct child *program = reported_start(harness, argv);
		struct child *monitor = MONITOR(harness, "diagnose", "-p", program->pid_text,
						"--for", "15s", "--format", "json");
		json_t *process;

		child_end(harness, monitor);
		process = process_of(monitor_report(harness, monitor), program->pid);
		expect_verdict(process, cases[i].verdict);
		assert_string_equal(text_at(process, "part"), "native-blocks");
		assert_string_equal(text_at(json_object_get(process, "code"), "function"),
				    cases[i].function);
		if (json_number_value(json_object_get(process, "share")) < cases[i].share)
			fail_msg("%s: too small a share: %s", cases[i].program,
				 json_dumps(process, JSON_COMPACT));
		if (cases[i].is_cheap)
			assert_true(real_at(json_object_get(process, "cost"), "exact_s") > 0);
		assert_true(real_at(json_object_get(process, "cost"), "core") <= 0.012);
		child_kill(program);
	}
}

static void a_file_in_memory_is_named(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *writes = WORKLOAD(harness, "grower", "shared", "2048");
	struct child *monitor = MONITOR(harness, "diagnose", "-p", writes->pid_text, "--for", "8s",
					"--format", "json");
	json_t *process, *file;

	child_end(harness, monitor);
	assert_int_equal(monitor->code, 3);
	process = process_of(monitor_report(harness, monitor), writes->pid);
	assert_string_equal(text_at(process, "part"), "tmpfs");
	file = json_object_get(process, "file");
	assert_int_equal(strncmp(text_at(file, "path"), "/memfd:", strlen("/memfd:")), 0);
}

static const char *monitor_path(void)
{
	const char *path = getenv("LEAKMON_PROGRAM");

	return path ? path : "build/leakmon";
}

/* Output of a program on the answers in the recording. */
static char *of_recording(struct harness *harness, const char *path, const char *program)
{
	return shell(harness, 0,
		     "%s report %s --format json | python3 -c 'import json, sys; d = "
		     "json.load(sys.stdin)[\"diagnoses\"]; %s'",
		     monitor_path(), path, program);
}

static void a_recording_gets_the_answer(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *drips = dripper(harness, "2000"), *monitor;
	char path[64], *text;

	snprintf(path, sizeof(path), "%s/drip.lkm", harness->directory);
	monitor = MONITOR(harness, "record", "--diagnose", "-p", drips->pid_text, "-o", path, "1");
	child_wait_text(harness, monitor, &monitor->err, "because it began to leak");
	child_wait_text(harness, monitor, &monitor->err, "its diagnosis is in");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	text = of_recording(harness, path,
			    "print(len(d), d[0][\"reason\"], d[0][\"answer\"][\"verdict\"], "
			    "d[0][\"answer\"][\"code\"][\"function\"])");
	assert_string_equal(text, "1 leaking leaks drip\n");
	free(text);
	text = shell(harness, 0, "%s report %s", monitor_path(), path);
	assert_non_null(strstr(text, "because it began to leak:\nPID "));
	assert_non_null(strstr(text, "\n  code     drip "));
	free(text);
	text = shell(harness, 0, "%s report %s --format html", monitor_path(), path);
	assert_non_null(strstr(text, "\"because\":\"it began to leak\""));
	free(text);
	free(shell(harness, 0,
		   "%s report %s --format json > %s.json && python3 -W ignore -m jsonschema -i "
		   "%s.json user/schema/report.schema.json",
		   monitor_path(), path, path, path));
}

/* A diagnosis that is still loading its probes has no answer yet; any other has one. */
static void the_end_of_a_recording_ends_a_diagnosis(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *drips = dripper(harness, "2000"), *monitor;
	char path[64];

	snprintf(path, sizeof(path), "%s/drip.lkm", harness->directory);
	monitor = MONITOR(harness, "record", "--diagnose", "-p", drips->pid_text, "-o", path, "1");
	child_wait_text(harness, monitor, &monitor->err, "because it began to leak");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_non_null(strstr(monitor->err.text, "its diagnosis is in")
				?: strstr(monitor->err.text, "its diagnosis has no answer"));
	free(shell(harness, 1, "pgrep -f '[d]iagnose -p %s '", drips->pid_text));
}

static void a_program_without_a_leak_is_not_accused(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *churns = dripper(harness, "0"), *turns = python(harness, PYTHON_STEADY),
		     *idles = WORKLOAD(harness, "grower", "idle");
	const char *const pids[] = {churns->pid_text, turns->pid_text, idles->pid_text};
	json_t *report = diagnose(harness, pids, 0);

	expect_schema(harness, report, "diagnosis");
	for (size_t i = 0; i < ARRAY_SIZE(pids); i++)
		assert_string_equal(text_at(process_of(report, atoi(pids[i])), "verdict"),
				    "no-leak");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_leak_is_answered_by_what_grows),
		e2e_test(the_code_that_explains_the_growth_is_named),
		e2e_test(a_file_in_memory_is_named),
		e2e_test(a_recording_gets_the_answer),
		e2e_test(the_end_of_a_recording_ends_a_diagnosis),
		e2e_test(a_program_without_a_leak_is_not_accused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
