// SPDX-License-Identifier: GPL-2.0-or-later
/* --debuginfod with a real server on this machine, and with one that never answers. */
#include "harness.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <time.h>

#define SERVER "/usr/bin/debuginfod"

static void run(const char *format, ...) __attribute__((format(printf, 1, 2)));
static void run(const char *format, ...)
{
	char command[1024];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(command, sizeof(command), format, arguments);
	va_end(arguments);
	assert_int_equal(system(command), 0);
}

/* A workload of which the harness' directory has the stripped program, and `debug` the rest. */
static struct child *stripped_workload(struct harness *harness)
{
	const char *workloads = getenv("LEAKMON_WORKLOADS"), *here = harness->directory;
	struct child *workload;
	char path[64], *line;

	run("mkdir %s/debug && cp %s/leak %s/stripped", here,
	    workloads ? workloads : "build/workloads", here);
	run("objcopy --only-keep-debug %s/stripped %s/debug/leak.debug", here, here);
	run("strip %s/stripped", here);
	snprintf(path, sizeof(path), "%s/stripped", here);
	workload = child_start(harness, path, ARGUMENTS("stripped"), NULL);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

/* The harness removes files, but no directories. */
static void clean_up(const struct harness *harness)
{
	run("rm -rf %s/debug %s/cache %s/database*", harness->directory, harness->directory,
	    harness->directory);
}

static int listen_anywhere(int *port)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (struct sockaddr *)&address, size), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &size), 0);
	*port = ntohs(address.sin_port);
	return fd;
}

static void use_server(const struct harness *harness, int port)
{
	char text[128];

	snprintf(text, sizeof(text), "http://127.0.0.1:%d", port);
	setenv("DEBUGINFOD_URLS", text, 1);
	snprintf(text, sizeof(text), "%s/cache", harness->directory);
	mkdir(text, 0755);
	setenv("DEBUGINFOD_CACHE_PATH", text, 1);
}

static void server_start(struct harness *harness)
{
	char port_text[16], database[64], debug[64];
	struct child *server;
	int port;

	if (access(SERVER, X_OK)) {
		fprintf(stderr, "SKIPPED, nothing was tested: there is no %s\n", SERVER);
		skip();
	}
	close(listen_anywhere(&port));
	snprintf(port_text, sizeof(port_text), "%d", port);
	snprintf(database, sizeof(database), "%s/database", harness->directory);
	snprintf(debug, sizeof(debug), "%s/debug", harness->directory);
	unsetenv("DEBUGINFOD_URLS"); /* it would ask these in turn */
	server = child_start(
		harness, SERVER,
		ARGUMENTS("debuginfod", "-v", "-p", port_text, "-d", database, "-F", debug), NULL);
	/* What it says once a scan is over: the second one finds nothing new. */
	child_wait_text(harness, server, &server->err, "fts traversed");
	use_server(harness, port);
}

static json_t *frame_of(json_t *report, const struct child *workload, const char *function)
{
	json_t *process = process_of(report, workload->pid), *site, *frame;
	size_t i, j;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		json_array_foreach(json_object_get(site, "frames"), j, frame)
		{
			const char *name = json_string_value(json_object_get(frame, "function"));

			if (name && !strcmp(name, function))
				return frame;
		}
	}
	return NULL;
}

static void a_stripped_program_has_names_and_lines_from_the_server(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = stripped_workload(harness), *monitor;
	json_t *report, *frame;
	const char *file;

	server_start(harness);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "-T", "0",
				   "--debuginfod", "--format", "json", "3600");
	workload_do(harness, workload, "go");
	/* A first report asks the server; one that Ctrl-C asks for waits for nobody. */
	child_signal(monitor, SIGUSR1);
	monitor_report(harness, monitor);
	child_wait_text(harness, monitor, &monitor->err, "debuginfod: fetched the debug file of ");
	report = monitor_stop(harness, monitor);
	frame = frame_of(report, workload, "leak_a");
	if (!frame)
		child_fail(monitor, "leak_a has no name: %s",
			   json_dumps(process_of(report, workload->pid), JSON_INDENT(1)));
	file = json_string_value(json_object_get(frame, "file"));
	assert_non_null(file);
	assert_non_null(strstr(file, "leak.c"));
	assert_true(number_at(frame, "line") > 0);
	expect_truth(report, workload_ask(harness, workload, "ledger"));
	assert_non_null(strstr(monitor->err.text, "debuginfod: fetched the debug file of "));
	clean_up(harness);
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000ll + now.tv_nsec / 1000000;
}

/* It takes connections (the kernel does that) and says nothing. */
static void a_server_that_never_answers_keeps_no_report_waiting(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = stripped_workload(harness), *monitor;
	int port, silent = listen_anywhere(&port);
	int64_t start;
	json_t *report;

	assert_int_equal(listen(silent, 8), 0);
	use_server(harness, port);
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "-T", "0",
				   "--debuginfod", "--format", "json", "3600");
	workload_do(harness, workload, "go");
	for (int i = 0; i < 3; i++) {
		start = now_ms();
		child_signal(monitor, SIGUSR1);
		report = monitor_report(harness, monitor);
		assert_true(now_ms() - start < 2500);
		assert_null(frame_of(report, workload, "leak_a"));
	}
	start = now_ms();
	report = monitor_stop(harness, monitor);
	assert_true(now_ms() - start < 15000);
	expect_balance(report);
	close(silent);
	clean_up(harness);
}

static void without_servers_it_says_what_to_do(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = WORKLOAD(harness, "leak"), *monitor;

	unsetenv("DEBUGINFOD_URLS");
	monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "--debuginfod", "--format",
				   "json", "3600");
	monitor_stop(harness, monitor);
	assert_non_null(strstr(monitor->err.text, "DEBUGINFOD_URLS is not set"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		e2e_test(a_stripped_program_has_names_and_lines_from_the_server),
		e2e_test(a_server_that_never_answers_keeps_no_report_waiting),
		e2e_test(without_servers_it_says_what_to_do),
	};

	return cmocka_run_group_tests_name("e2e_debuginfod", tests, NULL, NULL);
}
