// SPDX-License-Identifier: GPL-2.0-or-later
/* --debuginfod with a real server on this machine, and with one that never answers. */
#include "harness.h"

#include <arpa/inet.h>
#include <limits.h>
#include <netinet/in.h>
#include <signal.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
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
	/* Its message after a scan: the second one finds nothing new. */
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
	/* A first report queries the server; a report on Ctrl-C does not wait for it. */
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

/* It accepts connections (by the kernel) and answers nothing. */
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

/* A hostile server's handling of a connection, after the request. */
enum lie {
	LIE_OTHER_BUILD, /* all of a file, which names the function, but is of another build */
	LIE_HUGE,	 /* announces 10 GB */
	LIE_ENDLESS,	 /* announces nothing, and never ends */
	LIE_DRIP,	 /* ten bytes a second */
	LIE_REDIRECT,	 /* elsewhere, and there again */
	LIE_NOTHING_MAX_ /* 404 */
};

static void say(int client, const char *text)
{
	if (write(client, text, strlen(text)) < 0)
		_exit(0);
}

static void send_file(int client, const char *path)
{
	static char bytes[1 << 20];
	char head[128];
	FILE *file = fopen(path, "re");
	size_t size = file ? fread(bytes, 1, sizeof(bytes), file) : 0;

	if (file)
		fclose(file);
	snprintf(head, sizeof(head), "HTTP/1.1 200 OK\r\nContent-Length: %zu\r\n\r\n", size);
	say(client, head);
	if (write(client, bytes, size) != (ssize_t)size)
		_exit(0);
}

static void send_on(int client, size_t at_once)
{
	static const char bytes[65536];
	const struct timespec pause = {.tv_nsec = 100000000};

	while (write(client, bytes, at_once) > 0)
		nanosleep(&pause, NULL);
}

static void lie_to(int client, enum lie lie, const char *path)
{
	char request[4096];

	if (read(client, request, sizeof(request)) <= 0)
		return;
	if (lie == LIE_OTHER_BUILD)
		send_file(client, path);
	else if (lie == LIE_REDIRECT)
		say(client, "HTTP/1.1 302 Found\r\nLocation: /again\r\nContent-Length: 0\r\n"
			    "Connection: close\r\n\r\n");
	else if (lie == LIE_NOTHING_MAX_)
		say(client, "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n"
			    "Connection: close\r\n\r\n");
	else
		say(client, lie == LIE_HUGE ? "HTTP/1.1 200 OK\r\n"
					      "Content-Length: 10000000000\r\n\r\n"
					    : "HTTP/1.1 200 OK\r\n\r\n");
	if (lie == LIE_HUGE || lie == LIE_ENDLESS)
		send_on(client, 65536);
	if (lie == LIE_DRIP)
		send_on(client, 1);
}

/* A process for each connection; they end with their clients. */
static pid_t liar_start(const struct harness *harness, enum lie lie, const char *path)
{
	int port, server = listen_anywhere(&port);
	pid_t pid;

	assert_int_equal(listen(server, 64), 0);
	use_server(harness, port);
	pid = fork();
	if (pid) {
		close(server);
		return pid;
	}
	signal(SIGCHLD, SIG_IGN);
	for (;;) {
		int client = accept(server, NULL, NULL);

		if (!fork()) {
			lie_to(client, lie, path);
			_exit(0);
		}
		close(client);
	}
}

/* The true names under a build-id that is not the program's. */
static void make_other_build(const struct harness *harness, char path[96])
{
	const char *here = harness->directory;

	snprintf(path, 96, "%s/debug/other.debug", here);
	run("objcopy -O binary --only-section=.note.gnu.build-id --set-section-flags "
	    ".note.gnu.build-id=alloc,load %s/stripped %s/debug/note && "
	    "printf '\\252\\273' | dd of=%s/debug/note bs=1 seek=16 conv=notrunc status=none && "
	    "objcopy --update-section .note.gnu.build-id=%s/debug/note %s/debug/leak.debug %s",
	    here, here, here, here, here, path);
}

/* No name, no half of a file, no wait that is longer than for a server that is silent. */
static void a_server_that_lies_gives_no_names_and_keeps_no_report_waiting(void **state)
{
	struct harness *harness = harness_bpf(state);
	struct child *workload = stripped_workload(harness), *monitor;
	char other[96];

	make_other_build(harness, other);
	for (enum lie lie = 0; lie <= LIE_NOTHING_MAX_; lie++) {
		pid_t liar = liar_start(harness, lie, other);
		json_t *report;
		int64_t start;

		monitor = MONITOR_ATTACHED(harness, "-p", workload->pid_text, "-o", "0", "-T", "0",
					   "-v", "--debuginfod", "--format", "json", "3600");
		workload_do(harness, workload, "go");
		child_signal(monitor, SIGUSR1);
		monitor_report(harness, monitor);
		if (lie == LIE_OTHER_BUILD)
			child_wait_text(harness, monitor, &monitor->err, "is another one, or none");
		if (lie == LIE_HUGE || lie == LIE_NOTHING_MAX_)
			child_wait_text(harness, monitor, &monitor->err, "there is no debug file");
		start = now_ms();
		report = monitor_stop(harness, monitor);
		assert_in_range(now_ms() - start, 0, 15000);
		assert_null(frame_of(report, workload, "leak_a"));
		expect_balance(report);
		run("! find %s/cache -name 'debuginfo.*' | grep .", harness->directory);
		kill(liar, SIGKILL);
		waitpid(liar, NULL, 0);
		run("rm -rf %s/cache", harness->directory);
	}
	clean_up(harness);
}

static void without_servers_it_names_the_remedy(void **state)
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
		e2e_test(a_server_that_lies_gives_no_names_and_keeps_no_report_waiting),
		e2e_test(without_servers_it_names_the_remedy),
	};

	return cmocka_run_group_tests_name("e2e_debuginfod", tests, NULL, NULL);
}
