// SPDX-License-Identifier: GPL-2.0-or-later
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/bpf.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static const char *setting(const char *name, const char *otherwise)
{
	const char *value = getenv(name);

	return value && *value ? value : otherwise;
}

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

int harness_setup(void **state)
{
	struct harness *harness = calloc(1, sizeof(*harness));

	if (!harness)
		return -1;
	/* A child may close its end while we write to it. */
	signal(SIGPIPE, SIG_IGN);
	harness->documents = json_array();
	harness->limit_ms = atol(setting("LEAKMON_TEST_LIMIT", "120")) * 1000;
	strcpy(harness->directory, "/tmp/leakmon-e2e-XXXXXX");
	*state = harness;
	return mkdtemp(harness->directory) ? 0 : -1;
}

static void stream_close(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	free(stream->text);
	stream->text = NULL;
}

static void directory_remove(const char *directory)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", directory);
	if (system(command) != 0)
		print_error("%s failed\n", command);
}

int harness_teardown(void **state)
{
	struct harness *harness = *state;

	for (size_t i = 0; i < harness->count; i++) {
		struct child *child = &harness->children[i];

		if (child->pid) {
			kill(child->pid, SIGKILL);
			waitpid(child->pid, NULL, 0);
		}
		if (child->in >= 0)
			close(child->in);
		stream_close(&child->out);
		stream_close(&child->err);
	}
	json_decref(harness->documents);
	directory_remove(harness->directory);
	free(harness);
	return 0;
}

/* Why no test can run here, or NULL. */
static const char *obstacle(void)
{
	union bpf_attr attr = {
		.map_type = BPF_MAP_TYPE_ARRAY, .key_size = 4, .value_size = 4, .max_entries = 1};
	int fd;

	if (geteuid() != 0)
		return "not root";
	if (access("/sys/kernel/btf/vmlinux", R_OK))
		return "this kernel has no BTF";
	fd = (int)syscall(SYS_bpf, BPF_MAP_CREATE, &attr, sizeof(attr));
	if (fd < 0)
		return "the bpf system call is refused here";
	close(fd);
	return NULL;
}

struct harness *harness_any(void **state)
{
	if (access(setting("LEAKMON_PROGRAM", "build/leakmon"), X_OK))
		fail_msg("%s is not there: run `make`",
			 setting("LEAKMON_PROGRAM", "build/leakmon"));
	return *state;
}

struct harness *harness_bpf(void **state)
{
	const char *reason = obstacle();

	if (reason) {
		fprintf(stderr, "SKIPPED, nothing was tested: %s\n", reason);
		skip();
	}
	return harness_any(state);
}

void child_fail(const struct child *child, const char *format, ...)
{
	char message[512];
	va_list arguments;

	va_start(arguments, format);
	vsnprintf(message, sizeof(message), format, arguments);
	va_end(arguments);
	print_error("stderr of PID %s:\n%s\n", child->pid_text,
		    child->err.text ? child->err.text : "");
	fail_msg("%s", message);
	abort();
}

static void child_exec(const char *path, const char *const *argv, before_exec prepare, int in,
		       int out, int err)
{
	/* The program is opened first: `prepare` may take away the right to reach it. */
	int program = open(path, O_RDONLY | O_CLOEXEC);

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	/* A killed test program leaves no process behind. */
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (prepare)
		prepare();
	fexecve(program, (char *const *)argv, environ);
	dprintf(STDERR_FILENO, "cannot execute %s: %s\n", path,
		program < 0 ? "no such program: run `make`" : strerror(errno));
	_exit(127);
}

struct child *child_start(struct harness *harness, const char *path, const char *const *argv,
			  before_exec prepare)
{
	struct child *child = &harness->children[harness->count];
	int in[2], out[2], err[2];

	assert_true(harness->count < MAX_CHILDREN);
	assert_false(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC));
	*child = (struct child){.in = in[1], .out = {.fd = out[0]}, .err = {.fd = err[0]}};
	harness->count++;
	child->pid = fork();
	assert_true(child->pid >= 0);
	if (child->pid == 0)
		child_exec(path, argv, prepare, in[0], out[1], err[1]);
	snprintf(child->pid_text, sizeof(child->pid_text), "%d", child->pid);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	return child;
}

void child_signal(const struct child *child, int signal)
{
	assert_int_equal(kill(child->pid, signal), 0);
}

static void stream_read(struct stream *stream)
{
	char buffer[65536];
	ssize_t got = read(stream->fd, buffer, sizeof(buffer));

	if (got <= 0) {
		close(stream->fd);
		stream->fd = -1;
		return;
	}
	stream->text = realloc(stream->text, stream->size + got + 1);
	assert_non_null(stream->text);
	memcpy(stream->text + stream->size, buffer, got);
	stream->size += got;
	stream->text[stream->size] = '\0';
}

/* Reads what there is of both streams, so that the child never blocks on the other one. */
static void child_pump(struct child *child, int64_t deadline)
{
	struct pollfd ends[] = {{.fd = child->out.fd, .events = POLLIN},
				{.fd = child->err.fd, .events = POLLIN}};
	int64_t left = deadline - now_ms();

	if (left <= 0)
		child_fail(child, "PID %s: nothing more within the limit", child->pid_text);
	poll(ends, 2, (int)left);
	if (ends[0].revents)
		stream_read(&child->out);
	if (ends[1].revents)
		stream_read(&child->err);
}

void child_wait_text(struct harness *harness, struct child *child, struct stream *stream,
		     const char *text)
{
	int64_t deadline = now_ms() + harness->limit_ms;

	while (!stream->text || !strstr(stream->text, text)) {
		if (stream->fd < 0)
			child_fail(child, "PID %s ended without saying `%s`", child->pid_text,
				   text);
		child_pump(child, deadline);
	}
}

char *child_line(struct harness *harness, struct child *child, struct stream *stream)
{
	int64_t deadline = now_ms() + harness->limit_ms;
	char *start, *end;

	for (;;) {
		start = stream->text ? stream->text + stream->taken : NULL;
		end = start ? strchr(start, '\n') : NULL;
		if (end)
			break;
		if (stream->fd < 0)
			child_fail(child, "PID %s ended before its next line", child->pid_text);
		child_pump(child, deadline);
	}
	stream->taken = end + 1 - stream->text;
	return strndup(start, end - start);
}

int child_end(struct harness *harness, struct child *child)
{
	int64_t deadline = now_ms() + harness->limit_ms;
	int status;

	while (child->out.fd >= 0 || child->err.fd >= 0)
		child_pump(child, deadline);
	if (child->pid) {
		assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
		child->pid = 0;
		child->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return child->code;
}

static json_t *document_parse(struct harness *harness, struct child *child)
{
	char *line = child_line(harness, child, &child->out);
	json_error_t error;
	json_t *document = json_loads(line, 0, &error);

	if (!document)
		print_error("not JSON (%s): %.500s\n", error.text, line);
	free(line);
	assert_non_null(document);
	json_array_append_new(harness->documents, document);
	return document;
}

struct child *workload_start(struct harness *harness, const char *name, const char *const *argv)
{
	struct child *workload;
	char path[256], *line;

	snprintf(path, sizeof(path), "%s/%s", setting("LEAKMON_WORKLOADS", "build/workloads"), name);
	workload = child_start(harness, path, argv, NULL);
	line = child_line(harness, workload, &workload->out);
	assert_int_equal(strncmp(line, "ready ", 6), 0);
	free(line);
	return workload;
}

void workload_send(const struct child *workload, const char *command)
{
	assert_true(dprintf(workload->in, "%s\n", command) > 0);
}

void workload_do(struct harness *harness, struct child *workload, const char *command)
{
	char *answer;

	workload_send(workload, command);
	answer = child_line(harness, workload, &workload->out);
	assert_string_equal(answer, "done");
	free(answer);
}

json_t *workload_ask(struct harness *harness, struct child *workload, const char *command)
{
	workload_send(workload, command);
	return document_parse(harness, workload);
}

struct child *monitor_start(struct harness *harness, const char *const *argv, before_exec prepare)
{
	return child_start(harness, setting("LEAKMON_PROGRAM", "build/leakmon"), argv, prepare);
}

struct child *monitor_attached(struct harness *harness, struct child *monitor)
{
	child_wait_text(harness, monitor, &monitor->err, "leakmon: attached to PID ");
	return monitor;
}

json_t *monitor_report(struct harness *harness, struct child *monitor)
{
	return document_parse(harness, monitor);
}

json_t *monitor_stop(struct harness *harness, struct child *monitor)
{
	json_t *last = NULL;
	int code;

	child_signal(monitor, SIGINT);
	code = child_end(harness, monitor);
	if (code)
		child_fail(monitor, "leakmon exited with %d", code);
	while (monitor->out.taken < monitor->out.size)
		last = monitor_report(harness, monitor);
	assert_non_null(last);
	return last;
}

void monitor_expect_error(struct harness *harness, struct child *monitor, int code,
			  const char *words)
{
	int got = child_end(harness, monitor);

	if (got != code)
		child_fail(monitor, "exit code %d, must be %d", got, code);
	if (!monitor->err.text || !strstr(monitor->err.text, words))
		child_fail(monitor, "stderr does not say `%s`", words);
}

json_t *watch(struct harness *harness, struct child *workload, const char *command,
	      const char *const *argv)
{
	struct child *monitor = monitor_attached(harness, monitor_start(harness, argv, NULL));

	workload_do(harness, workload, command);
	return monitor_stop(harness, monitor);
}
