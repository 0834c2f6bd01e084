// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --push and --webhook against servers that take everything, half, nothing, or nothing in time, and
 * without a trusted certificate: what arrives, what is lost, and what is reported. With and without
 * libcurl.
 */
#include <signal.h>

#include "push_server.h"
#include "shell.h"

static void expect_kept(struct harness *harness, const struct push_server *server, int count)
{
	char *text = shell(harness, 0, "ls %s | grep -c json; :", server->kept);

	assert_int_equal(atoi(text), count);
	free(text);
}

/* Returns a field of the first accepted request. */
static json_t *kept_first(struct harness *harness, const struct push_server *server)
{
	char *text = shell(harness, 0, "cat %s/0000.json", server->kept);
	json_t *kept = json_loads(text, 0, NULL);

	assert_non_null(kept);
	json_array_append_new(harness->documents, kept);
	free(text);
	return kept;
}

static const char *text_at(json_t *object, const char *outer, const char *key)
{
	const char *text = json_string_value(json_object_get(json_object_get(object, outer), key));

	assert_non_null(text);
	return text;
}

static void nothing_is_lost_when_half_of_the_requests_fail(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "half", false);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	char headers[64], expected[96], host[64] = "", *text;
	json_t *kept;

	snprintf(headers, sizeof(headers), "%s/headers", harness->directory);
	free(shell(harness, 0,
		   "printf '# ours\\nAuthorization: Bearer secret\\n\\nX-Scope-OrgID: us\\r\\n' "
		   ">%s",
		   headers));
	workload_do(harness, workload, "go");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--push",
				   server.url, "--push-headers", headers, "0.2");
	workload_do(harness, workload, "go");
	child_wait_text(harness, monitor, &monitor->err, "it answers HTTP 500: try again; ");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	kept = kept_first(harness, &server);
	assert_string_equal(json_string_value(json_object_get(kept, "path")), "/ingest");
	assert_string_equal(text_at(kept, "query", "format"), "pprof");
	assert_string_equal(text_at(kept, "headers", "authorization"), "Bearer secret");
	assert_string_equal(text_at(kept, "headers", "x-scope-orgid"), "us");
	gethostname(host, sizeof(host) - 1);
	snprintf(expected, sizeof(expected), "leak{pid=%s,host=%s}", workload->pid_text, host);
	assert_string_equal(text_at(kept, "query", "name"), expected);
	assert_string_equal(text_at(json_object_get(kept, "types"), "inuse_space", "aggregation"),
			    "average");
	/* A profile of the time after `go`. */
	text = shell(harness, 0, "for p in %s/*.pprof; do zcat $p | strings; done", server.kept);
	assert_non_null(strstr(text, "leak_c"));
	assert_non_null(strstr(text, "inuse_space"));
	free(text);
	/* A report of a process without call stacks yet has no profile. */
	text = strstr(monitor->err.text, "--push: ");
	for (char *next; (next = strstr(text + 1, "--push: "));)
		text = next;
	assert_non_null(strstr(text, "profiles reached localhost"));
	expect_kept(harness, &server, atoi(text + strlen("--push: ")));
}

static void the_monitor_does_not_wait_for_a_slow_server(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "slow", false);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;

	monitor = MONITOR_ATTACHED(harness, "record", "-p", workload->pid_text, "-o",
				   "/dev/shm/leakmon-push.lkm", "--older", "0", "--push",
				   server.url, "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGUSR1);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	unlink("/dev/shm/leakmon-push.lkm");
	assert_non_null(strstr(monitor->err.text, "reached localhost"));
	assert_null(strstr(monitor->err.text, "did not reach"));
}

/* KiB. */
static long resident_of(struct harness *harness, const struct child *monitor)
{
	char *text = shell(harness, 0,
			   "sed -n 's/^VmHWM:[^0-9]*\\([0-9]*\\).*/\\1/p' "
			   "/proc/$(pgrep -P %d -x leakmon-push)/status",
			   (int)monitor->pid);
	long kib = atol(text);

	free(text);
	return kib;
}

static void expect_no_rights(struct harness *harness, const struct child *monitor)
{
	char *text = shell(harness, 0,
			   "grep -E '^(Uid|CapEff|CapPrm|NoNewPrivs|Seccomp):' "
			   "/proc/$(pgrep -P %d -x leakmon-push)/status",
			   (int)monitor->pid);

	assert_string_equal(text, "Uid:\t65534\t65534\t65534\t65534\nCapPrm:\t0000000000000000\n"
				  "CapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
	free(text);
}

#define MANY 16

/* More profiles than the queue holds: one of each process in a report. */
static void memory_is_bounded_when_a_server_never_answers(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "silent", false);
	struct child *workloads[MANY], *monitor;
	char pids[MANY * 8] = "";
	unsigned lost, all;
	const char *said;

	for (size_t i = 0; i < MANY; i++) {
		workloads[i] = WORKLOAD(harness, "leak");
		snprintf(pids + strlen(pids), sizeof(pids) - strlen(pids), "%s%s", i ? "," : "",
			 workloads[i]->pid_text);
	}
	monitor = MONITOR_ATTACHED(harness, "-p", pids, "-o", "0", "--push", server.url, "0.05");
	expect_no_rights(harness, monitor);
	for (size_t i = 0; i < MANY; i++)
		workload_do(harness, workloads[i], "go");
	child_wait_text(harness, monitor, &monitor->err, "from now on profiles are lost");
	child_signal(monitor, SIGINT);
	assert_true(resident_of(harness, monitor) < 64 << 10);
	assert_int_equal(child_end(harness, monitor), 1);
	said = strstr(monitor->err.text, "profiles did not reach localhost: it has not answered");
	assert_non_null(said);
	while (said[-1] != '\n')
		said--;
	assert_int_equal(sscanf(said, "leakmon: --push: %u of %u profiles", &lost, &all), 2);
	assert_int_equal(lost, all);
	assert_true(all > 256);
}

static void an_untrusted_certificate_is_refused(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "ok", true);
	struct child *monitor = MONITOR(harness, "triage", "--no-stacks", "--near-limit", "1%",
					"--webhook", server.hook, "3600");

	child_wait_text(harness, monitor, &monitor->err, "watching");
	child_signal(monitor, SIGUSR1);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 1);
	assert_non_null(strstr(monitor->err.text, "its certificate is not trusted"));
	assert_non_null(strstr(monitor->err.text, "--push-ca FILE"));
	expect_kept(harness, &server, 0);
}

static void a_limit_that_is_near_is_an_event(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "ok", true);
	char at[80];
	struct child *monitor;

	/* The URL in a file, the certificate trusted. */
	snprintf(at, sizeof(at), "@%s/url", harness->directory);
	free(shell(harness, 0, "echo '%s' >%s", server.hook, at + 1));
	monitor = MONITOR(harness, "triage", "--no-stacks", "--near-limit", "1%", "--webhook", at,
			  "--push-ca", server.certificate, "3600");
	child_wait_text(harness, monitor, &monitor->err, "watching");
	child_signal(monitor, SIGUSR1);
	child_signal(monitor, SIGUSR1);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	free(shell(harness, 0,
		   "cd %s && test \"$(cat *.event | grep -c '\"kind\":\"machine\"')\" = 1",
		   server.kept));
	free(shell(harness, 0,
		   "for event in %s/*.event; do python3 -W ignore -m jsonschema -i $event "
		   "user/schema/event.schema.json || exit 1; done",
		   server.kept));
}

/* A triage samples call stacks: its events name the line, and not only the process. */
static void an_event_of_a_triage_names_the_line(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "ok", false);
	struct child *leaker = WORKLOAD(harness, "grower", "leak", "2000");
	struct child *monitor = MONITOR(harness, "triage", "--format", "json", "--budget", "100%",
					"--webhook", server.hook, "0.2");
	char *text = NULL;

	do {
		free(text);
		monitor_report(harness, monitor);
		text = shell(harness, 0,
			     "cat %s/*.event 2>/dev/null | grep '\"pid\":%s,'; :", server.kept,
			     leaker->pid_text);
	} while (!*text);
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 0);
	free(text);
	/* Checks its own event only: groups and other processes of this machine may leak, too. */
	text = shell(harness, 0, "cat %s/*.event | grep '\"pid\":%s,'", server.kept,
		     leaker->pid_text);
	assert_non_null(strstr(text, "leak_"));
	assert_non_null(strstr(text, "grower.c:"));
	free(text);
}

static void an_answer_of_diagnose_is_an_event(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct push_server server = push_server_start(harness, "ok", false);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;
	json_t *event;

	monitor = MONITOR(harness, "diagnose", "-p", workload->pid_text, "--for", "5s", "--webhook",
			  server.hook);
	assert_int_equal(child_end(harness, monitor), 0);
	expect_kept(harness, &server, 1);
	event = json_object_get(kept_first(harness, &server), "event");
	assert_string_equal(json_string_value(json_object_get(event, "event")), "diagnosed");
	assert_int_equal(number_at(event, "pid"), workload->pid);
	assert_string_equal(text_at(event, "answer", "verdict"), "no-leak");
	free(shell(harness, 0,
		   "python3 -W ignore -m jsonschema -i %s/0000.event "
		   "user/schema/event.schema.json",
		   server.kept));
}

static void what_cannot_be_pushed_to_is_reported_at_once(void **state)
{
	struct harness *harness = harness_any(state);
	char headers[64];

	snprintf(headers, sizeof(headers), "%s/headers", harness->directory);
	free(shell(harness, 0, "echo 'Bearer secret' >%s", headers));
	monitor_expect_error(harness, MONITOR(harness, "--webhook", "https://me:pw@host/"), 2,
			     "without a password");
	monitor_expect_error(harness, MONITOR(harness, "--webhook", "@/nonexistent"), 1,
			     "cannot read /nonexistent");
	monitor_expect_error(
		harness,
		MONITOR(harness, "--webhook", "http://localhost:1", "--webhook-headers", headers),
		1, "line 1: expected an HTTP header");
}

static void https_without_libcurl_is_refused(void **state)
{
	struct harness *harness = harness_any(state);

	monitor_expect_error(harness, MONITOR(harness, "--webhook", "https://localhost:1/hook"), 1,
			     "--webhook to https:// needs libcurl 7.66 or later: install libcurl4");
}

static void a_closed_port_is_named_as_the_cause(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;

	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "--push",
				   "http://localhost:1", "3600");
	workload_do(harness, workload, "go");
	child_signal(monitor, SIGINT);
	assert_int_equal(child_end(harness, monitor), 1);
	assert_non_null(strstr(monitor->err.text, "1 of 1 profile did not reach localhost: cannot "
						  "connect: Connection refused"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(nothing_is_lost_when_half_of_the_requests_fail),
		e2e_test(the_monitor_does_not_wait_for_a_slow_server),
		e2e_test(memory_is_bounded_when_a_server_never_answers),
		e2e_test(an_untrusted_certificate_is_refused),
		e2e_test(a_limit_that_is_near_is_an_event),
		e2e_test(an_event_of_a_triage_names_the_line),
		e2e_test(an_answer_of_diagnose_is_an_event),
		e2e_test(what_cannot_be_pushed_to_is_reported_at_once),
		without_libcurl(nothing_is_lost_when_half_of_the_requests_fail),
		without_libcurl(the_monitor_does_not_wait_for_a_slow_server),
		without_libcurl(memory_is_bounded_when_a_server_never_answers),
		without_libcurl(an_event_of_a_triage_names_the_line),
		without_libcurl(an_answer_of_diagnose_is_an_event),
		without_libcurl(a_closed_port_is_named_as_the_cause),
		without_libcurl(https_without_libcurl_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
