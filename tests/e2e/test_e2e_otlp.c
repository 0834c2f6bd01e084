// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --otlp against servers that take half, nothing in time, or a part: what arrives is decoded by the
 * collector's own schema (otlp_decode.js).
 */
#include <signal.h>

#include "push_server.h"
#include "shell.h"
#include "tree.h"

static void name_the_service(void)
{
	setenv("OTEL_SERVICE_NAME", "shop", 1);
}

/* A process that leaks all the time, with a service's name in its environment. */
static struct child *start_grower(struct harness *harness)
{
	struct child *grower = child_start(harness, "build/workloads/grower",
					   ARGUMENTS("grower", "leak", "2000"), name_the_service);

	child_wait_text(harness, grower, &grower->out, "ready");
	return grower;
}

/* Returns the server's records, one JSON object per line. Skips the test without the schema. */
static char *decoded(struct harness *harness, const struct push_server *server, const char *signal)
{
	char runtimes[400];
	char *slash;

	if (!tree_has("otlp", "/build/src/generated", runtimes, sizeof(runtimes)) ||
	    access("/usr/bin/node", X_OK)) {
		print_message("no schema of OTLP, see scripts/deps.sh runtimes\n");
		skip();
	}
	slash = strrchr(runtimes, '/');
	*slash = '\0';
	return shell(harness, 0, "node --no-deprecation tests/e2e/otlp_decode.js %s %s %s/*.%s",
		     runtimes, signal, server->kept, signal);
}

static void expect_in(const char *text, const char *wanted)
{
	if (!strstr(text, wanted))
		fail_msg("no %s in %.4000s", wanted, text);
}

static void wait_for_kept(struct harness *harness, const struct push_server *server,
			  const char *signal, int count)
{
	free(shell(harness, 0, "while [ $(ls %s | grep -c '%s$') -lt %d ]; do sleep 0.1; done",
		   server->kept, signal, count));
}

#define RECORDS_MAX 64

/* The site and the verdict of a request, which has one record. */
static void record_names(const char *line, char name[128])
{
	static const char *const keys[] = {"\"leakmon.verdict\"", "\"leakmon.site.id\""};

	*name = '\0';
	for (size_t i = 0; i < 2; i++) {
		const char *at = strstr(line, keys[i]);

		assert_non_null(at);
		at = strstr(at, "stringValue");
		snprintf(name + strlen(name), 128 - strlen(name), "%.*s ", (int)strcspn(at, "}"),
			 at);
	}
}

/* Each verdict once, and not with each report. */
static void expect_no_record_twice(char *text)
{
	char names[RECORDS_MAX][128];
	size_t count = 0;

	for (char *line = strtok(text, "\n"); line; line = strtok(NULL, "\n"))
		record_names(line, names[count++ % RECORDS_MAX]);
	assert_in_range(count, 1, RECORDS_MAX);
	for (size_t i = 0; i < count; i++) {
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(names[i], names[j]);
	}
}

static void metrics_and_verdicts_reach_a_collector_that_is_often_busy(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "busy", false);
	struct child *grower = start_grower(harness), *monitor;
	char *text;

	monitor = MONITOR_ATTACHED(harness, "-p", grower->pid_text, "-o", "0", "--otlp", server.url,
				   "0.5");
	wait_for_kept(harness, &server, "logs", 1);
	wait_for_kept(harness, &server, "metrics", 30);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	assert_null(strstr(monitor->err.text, "did not reach"));
	text = decoded(harness, &server, "logs");
	expect_in(text, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}}");
	expect_in(text, "{\"key\":\"host.id\"");
	expect_in(text, "\"eventName\":\"leakmon.verdict\"");
	expect_in(text, "{\"key\":\"code.file.path\",\"value\":{\"stringValue\":"
			"\"tests/workloads/grower.c\"}}");
	expect_in(text, "{\"key\":\"leakmon.build_id\"");
	expect_no_record_twice(text);
	free(text);
	text = decoded(harness, &server, "metrics");
	expect_in(text, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"shop\"}}");
	expect_in(text, "{\"name\":\"leakmon_outstanding_bytes\"");
	expect_in(text, "\"aggregationTemporality\":\"AGGREGATION_TEMPORALITY_CUMULATIVE\","
			"\"isMonotonic\":true");
	free(text);
}

static void the_context_of_an_sdk_names_the_service(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "ok", false);
	struct child *workload = WORKLOAD(harness, "otel_context"), *monitor;
	char *text;

	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--otlp",
				   server.url, "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	text = decoded(harness, &server, "metrics");
	expect_in(text, "{\"key\":\"service.name\",\"value\":{\"stringValue\":\"checkout\"}}");
	expect_in(text, "{\"key\":\"service.version\",\"value\":{\"stringValue\":\"1.2.3-rc1\"}}");
	expect_in(text, "{\"name\":\"leakmon_outstanding_bytes\",\"description\":\"Bytes allocated "
			"and not freed since the attach.\",\"unit\":\"By\",\"gauge\":"
			"{\"dataPoints\":[{\"timeUnixNano\":");
	expect_in(text, "\"asDouble\":10000,");
	free(text);
}

static void the_monitor_does_not_wait_for_a_silent_server(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "silent", false);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;

	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--format", "json",
				   "--otlp", server.url, "0.2");
	for (int i = 0; i < 5; i++)
		monitor_report(harness, monitor);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 1);
	assert_non_null(strstr(monitor->err.text, "metrics documents did not reach localhost: it "
						  "has not answered"));
}

static void items_that_a_server_rejects_are_losses(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "partial", false);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;

	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--otlp",
				   server.url, "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 1);
	assert_non_null(strstr(monitor->err.text,
			       "1 of 1 metrics document did not reach localhost: "
			       "it rejected 3 of the items in one: too old"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(metrics_and_verdicts_reach_a_collector_that_is_often_busy),
		e2e_test(the_context_of_an_sdk_names_the_service),
		e2e_test(the_monitor_does_not_wait_for_a_silent_server),
		e2e_test(items_that_a_server_rejects_are_losses),
		without_libcurl(metrics_and_verdicts_reach_a_collector_that_is_often_busy),
		without_libcurl(the_context_of_an_sdk_names_the_service),
		without_libcurl(the_monitor_does_not_wait_for_a_silent_server),
		without_libcurl(items_that_a_server_rejects_are_losses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
