// SPDX-License-Identifier: GPL-2.0-or-later
#include "child.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"

#define NS_PER_S INT64_C(1000000000)
#define LIMIT_NS (120 * NS_PER_S)

int64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * NS_PER_S + now.tv_nsec;
}

int child_fail(const struct child *child, int error, const char *what)
{
	const char *line = "";
	int length = stream_last_line(&child->err, &line);

	snprintf(child->why->text, sizeof(child->why->text), "%s %s%s%.*s", child->name, what,
		 length ? ": " : "", length, line);
	return error;
}

int child_cpu_ns(const struct child *child, int64_t *ns)
{
	struct timespec cpu;
	clockid_t clock;

	if (clock_getcpuclockid(child->pid, &clock) || clock_gettime(clock, &cpu))
		return child_fail(child, -ESRCH, "has no CPU clock");
	*ns = cpu.tv_sec * NS_PER_S + cpu.tv_nsec;
	return 0;
}

static void child_exec(const char *const *argv, int in, int out, int err)
{
	sigset_t none;

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	execvp(argv[0], (char *const *)argv);
	dprintf(STDERR_FILENO, "cannot execute %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

static void child_name(struct child *child, const char *path)
{
	const char *slash = strrchr(path, '/');

	snprintf(child->name, sizeof(child->name), "%s", slash ? slash + 1 : path);
}

static int child_fork(struct child *child, const char *const *argv)
{
	int in[2] = {-1, -1}, out[2] = {-1, -1}, err[2] = {-1, -1};

	if (pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -errno; /* out of descriptors: the program ends */
	/* A full pipe would make a long report wait for us. */
	fcntl(out[0], F_SETPIPE_SZ, READ_SIZE);
	child->in = in[1];
	child->out.fd = out[0];
	child->err.fd = err[0];
	child->started_ns = now_ns();
	child->pid = fork();
	if (child->pid == 0)
		child_exec(argv, in[0], out[1], err[1]);
	close(in[0]);
	close(out[1]);
	close(err[1]);
	if (child->pid < 0)
		return -errno;
	setpgid(child->pid, child->pid);
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	return child->pidfd < 0 ? -errno : 0;
}

int child_start(struct child **child, const char *const *argv, struct why *why)
{
	_cleanup_(child_cleanup) struct child *started = calloc(1, sizeof(*started));
	int error;

	if (!started)
		return -ENOMEM;
	*started = (struct child){
		.pidfd = -1, .in = -1, .out = {.fd = -1}, .err = {.fd = -1}, .why = why};
	child_name(started, argv[0]);
	error = child_fork(started, argv);
	if (error)
		return child_fail(started, error, "could not be started");
	*child = TAKE_PTR(started);
	return 0;
}

void child_cleanup(struct child **slot)
{
	struct child *child = *slot;

	if (!child)
		return;
	if (child->pid > 0) {
		/* Kill the group: launchers have children. */
		kill(-child->pid, SIGKILL);
		kill(child->pid, SIGKILL);
		waitpid(child->pid, NULL, 0);
	}
	cleanup_close(&child->pidfd);
	cleanup_close(&child->in);
	stream_free(&child->out);
	stream_free(&child->err);
	free(child);
	*slot = NULL;
}

static void child_reap(struct child *child)
{
	int status = 0;

	if (waitpid(child->pid, &status, 0) != child->pid)
		return;
	child->pid = 0;
	close(child->pidfd);
	child->pidfd = -1;
	child->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int child_drain(struct child *child, const struct timespec *wait)
{
	struct pollfd ends[] = {{.fd = child->out.fd, .events = POLLIN},
				{.fd = child->err.fd, .events = POLLIN},
				{.fd = child->pidfd, .events = POLLIN}};
	sigset_t none;
	int error = 0;

	sigemptyset(&none);
	if (ppoll(ends, ARRAY_SIZE(ends), wait, &none) < 0)
		return -errno;
	if (ends[0].revents)
		error = stream_read(&child->out);
	if (!error && ends[1].revents)
		error = stream_read(&child->err);
	if (ends[2].revents)
		child_reap(child);
	return error;
}

static int child_pump(struct child *child, int64_t deadline_ns)
{
	int64_t left = deadline_ns - now_ns();
	struct timespec wait = {.tv_sec = left / NS_PER_S, .tv_nsec = left % NS_PER_S};

	if (left <= 0)
		return child_fail(child, -ETIMEDOUT, "did not answer in time");
	return child_drain(child, &wait);
}

int child_line(struct child *child, struct stream *stream, const char *prefix, char **line,
	       size_t *size)
{
	int64_t deadline_ns = now_ns() + LIMIT_NS;
	size_t length = 0;
	char *text = NULL;
	int error = 0;

	while (!error) {
		while (stream_take(stream, &text, &length)) {
			if (strncmp(text, prefix, strlen(prefix)))
				continue;
			if (line)
				*line = text;
			if (size)
				*size = length;
			return 0;
		}
		if (stream->fd < 0)
			return child_fail(child, -EPIPE, "ended too early");
		error = child_pump(child, deadline_ns);
	}
	return error;
}

int child_ask(struct child *child, const char *command, char **answer)
{
	if (dprintf(child->in, "%s\n", command) < 0)
		return child_fail(child, -EPIPE, "takes no more commands");
	return child_line(child, &child->out, "", answer, NULL);
}

int child_time(struct child *child, double *ns)
{
	unsigned long count, elapsed_ns;
	char *answer;
	int error = child_ask(child, "time", &answer);

	if (error)
		return error;
	if (sscanf(answer, "%lu %lu", &count, &elapsed_ns) != 2)
		return child_fail(child, -EPROTO, "did not answer with two numbers");
	*ns = (double)elapsed_ns / (double)count;
	return 0;
}

int child_do(struct child *child, const char *command)
{
	char *answer;
	int error = child_ask(child, command, &answer);

	if (!error && strcmp(answer, "done"))
		return child_fail(child, -EPROTO, "did not answer `done`");
	return error;
}

int child_end(struct child *child)
{
	return child_end_by(child, now_ns() + LIMIT_NS);
}

int child_end_by(struct child *child, int64_t deadline_ns)
{
	int error = 0;

	while (!error && child->pid)
		error = child_pump(child, deadline_ns);
	if (!error && child->code)
		return child_fail(child, -EPROTO, "failed");
	return error;
}

int workload_start(struct child **child, const char *const *argv, pid_t *pid, struct why *why)
{
	_cleanup_(child_cleanup) struct child *started = NULL;
	char *line;
	int error = child_start(&started, argv, why);

	if (!error)
		error = child_line(started, &started->out, "ready ", &line, NULL);
	if (error)
		return error;
	if (pid)
		*pid = (pid_t)strtol(line + strlen("ready "), NULL, 10);
	*child = TAKE_PTR(started);
	return 0;
}
