// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * --listen: answers to a scraper, `go tool pprof` and a browser, from a process that may do nothing
 * else, and that keeps answering under attack.
 */
#include <signal.h>

#include "shell.h"

#define GO_PPROF "/usr/lib/go-1.19/pkg/tool/linux_amd64/pprof"
/* The workload `leak`: per `go` 10 blocks of 100 in leak_a, 5 of 1000 in leak_b, 3 of 4096. */
#define GO_BYTES (10 * 100 + 5 * 1000 + 3 * 4096)

struct served {
	struct child *workload, *monitor;
	unsigned port;
};

/* The port is the kernel's choice; a report is requested, and is there when healthz is ok. */
static struct served serve(struct harness *harness)
{
	struct served served = {.workload = WORKLOAD(harness, "leak")};
	const char *line;

	served.monitor = MONITOR_ATTACHED(harness, "-p", served.workload->pid_text, "--older", "0",
					  "--listen", "127.0.0.1:0", "--format", "prom", "3600");
	line = strstr(served.monitor->err.text, "http://127.0.0.1:");
	assert_non_null(line);
	assert_int_equal(sscanf(line, "http://127.0.0.1:%u/", &served.port), 1);
	workload_do(harness, served.workload, "go");
	free(shell(harness, 0,
		   "test \"$(curl -s -o /dev/null -w '%%{http_code}' "
		   "http://127.0.0.1:%u/metrics)\" = 503",
		   served.port));
	child_signal(served.monitor, SIGUSR1);
	free(shell(harness, 0, "until curl -sf http://127.0.0.1:%u/healthz; do sleep 0.05; done",
		   served.port));
	return served;
}

static void end(struct harness *harness, struct served *served)
{
	child_signal(served->monitor, SIGINT);
	assert_int_equal(child_end(harness, served->monitor), 0);
	/* The port is closed. */
	free(shell(harness, 7, "curl -s http://127.0.0.1:%u/healthz", served->port));
}

static void metrics_profile_and_page_are_of_the_latest_report(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);
	const char *promtool = consumer("promtool");
	char line[64],
		*text = shell(harness, 0, "curl -sf http://127.0.0.1:%u/metrics", served.port);

	snprintf(line, sizeof(line), "leakmon_outstanding_bytes{comm=\"leak\"} %d\n", GO_BYTES);
	assert_non_null(strstr(text, line));
	free(text);
	text = shell(harness, 0, "curl -sf http://127.0.0.1:%u/metrics | %s check metrics 2>&1",
		     served.port, promtool);
	assert_string_equal(text, "");
	free(text);
	text = shell(harness, 0, "curl -sf http://127.0.0.1:%u/", served.port);
	assert_non_null(strstr(text, "<!doctype html>"));
	/* Its script follows the reports. */
	assert_non_null(strstr(text, "<meta name=\"leakmon-interval\" content=\"3600000\">\n"));
	assert_non_null(strstr(text, "leak_a"));
	free(text);
	end(harness, &served);
}

static void pprof_fetches_the_profile(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);
	static const char *const paths[] = {"profile", "debug/pprof/heap"};

	if (access(GO_PPROF, X_OK))
		skip();
	for (size_t i = 0; i < 2; i++) {
		char *text = shell(harness, 0,
				   "PPROF_TMPDIR=%s " GO_PPROF
				   " -top -unit=B http://127.0.0.1:%u/%s 2>&1",
				   harness->directory, served.port, paths[i]);

		assert_non_null(strstr(text, "12288B 67.19%"));
		assert_non_null(strstr(text, "leak_c"));
		free(text);
	}
	end(harness, &served);
}

/* The value of a line of its status. */
static void expect_status(struct harness *harness, long pid, const char *key, const char *value)
{
	char *text = shell(harness, 0, "sed -n 's/^%s:[\t ]*//p' /proc/%ld/status", key, pid);

	assert_string_equal(text, value);
	free(text);
}

static void the_server_has_no_rights(void **state)
{
	static const char *const none = "0000000000000000\n";
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);
	char *text = shell(harness, 0, "pgrep -P %d -x leakmon-http", (int)served.monitor->pid);
	long pid = strtol(text, NULL, 10);

	free(text);
	assert_true(pid > 0);
	expect_status(harness, pid, "Uid", "65534\t65534\t65534\t65534\n");
	expect_status(harness, pid, "CapEff", none);
	expect_status(harness, pid, "CapPrm", none);
	expect_status(harness, pid, "CapBnd", none);
	expect_status(harness, pid, "NoNewPrivs", "1\n");
	expect_status(harness, pid, "Seccomp", "2\n");
	/* Its sockets, inherited documents, and /dev/null. */
	text = shell(harness, 0,
		     "ls -l /proc/%ld/fd | grep -v '/dev/null\\|socket:\\|memfd:\\|total'; :", pid);
	assert_string_equal(text, "");
	free(text);
	end(harness, &served);
}

static void hostile_clients_are_bounded(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);
	char *text = shell(harness, 0, "python3 tests/e2e/listen.py %u 2>&1", served.port);

	assert_non_null(strstr(text, "at the end: "));
	print_message("%s", text);
	free(text);
	end(harness, &served);
}

/* The next report starts another one, at the same port. */
static void a_server_that_was_killed_is_replaced(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);
	char line[64], *text;

	free(shell(harness, 0, "pkill -KILL -P %d -x leakmon-http", (int)served.monitor->pid));
	workload_do(harness, served.workload, "go");
	child_signal(served.monitor, SIGUSR1);
	free(shell(harness, 0, "until curl -sf http://127.0.0.1:%u/healthz; do sleep 0.05; done",
		   served.port));
	text = shell(harness, 0,
		     "curl -sf --retry 5 --retry-all-errors http://127.0.0.1:%u/metrics",
		     served.port);
	snprintf(line, sizeof(line), "leakmon_outstanding_bytes{comm=\"leak\"} %d\n", 2 * GO_BYTES);
	assert_non_null(strstr(text, line));
	free(text);
	end(harness, &served);
}

/* SIGKILL of the monitor: the server dies with it. */
static void a_killed_monitor_leaves_no_server(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);

	child_signal(served.monitor, SIGKILL);
	assert_int_equal(child_end(harness, served.monitor), 128 + SIGKILL);
	free(shell(harness, 0,
		   "while curl -s -o /dev/null http://127.0.0.1:%u/healthz; do sleep 0.05; done",
		   served.port));
}

static void triage_and_profile_serve_what_they_have(void **state)
{
	static const struct {
		const char *command, *codes; /* expected codes of /metrics, /profile, / */
	} runs[] = {
		{"triage --no-stacks", "200 200 200 "},
		{"profile -p $PPID", "200 200 200 "},
	};
	struct harness *harness = harness_bpf(state);

	for (size_t i = 0; i < 2; i++) {
		char *text = shell(
			harness, 0,
			"%s %s --listen 127.0.0.1:0 --format prom 1 >/dev/null 2>%s/err & pid=$!; "
			"until port=$(sed -n 's/.*127.0.0.1:\\([0-9]*\\).*/\\1/p' %s/err | grep "
			".); "
			"do kill -0 $pid || { cat %s/err >&2; exit 9; }; sleep 0.05; done; "
			"until curl -sf http://127.0.0.1:$port/metrics >/dev/null; "
			"do kill -0 $pid || { cat %s/err >&2; exit 9; }; sleep 0.05; done; "
			"for path in metrics profile ''; do curl -s -o /dev/null -w '%%{http_code} "
			"' "
			"http://127.0.0.1:$port/$path; done; kill -INT $pid; wait $pid",
			getenv("LEAKMON_PROGRAM") ?: "build/leakmon", runs[i].command,
			harness->directory, harness->directory, harness->directory,
			harness->directory);

		assert_string_equal(text, runs[i].codes);
		free(text);
	}
}

static void a_port_that_is_taken_is_reported(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct served served = serve(harness);
	char address[32];
	struct child *second;

	snprintf(address, sizeof(address), "%u", served.port);
	second = MONITOR(harness, "-p", served.workload->pid_text, "--listen", address, "1", "1");
	assert_int_equal(child_end(harness, second), 1);
	assert_non_null(strstr(second->err.text, "Address already in use; name another port"));
	end(harness, &served);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(metrics_profile_and_page_are_of_the_latest_report),
		e2e_test(pprof_fetches_the_profile),
		e2e_test(the_server_has_no_rights),
		e2e_test(hostile_clients_are_bounded),
		e2e_test(a_server_that_was_killed_is_replaced),
		e2e_test(a_killed_monitor_leaves_no_server),
		e2e_test(triage_and_profile_serve_what_they_have),
		e2e_test(a_port_that_is_taken_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
