// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of the harness that starts processes, reads their output, and ends them. */
#include "harness.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

static int64_t now_ms(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec * 1000 + now.tv_nsec / 1000000;
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
		       int out, int err, const sigset_t *mask)
{
	/* The program is opened first: `prepare` may take away the right to reach it. */
	int program = open(path, O_RDONLY | O_CLOEXEC);

	dup2(in, STDIN_FILENO);
	dup2(out, STDOUT_FILENO);
	dup2(err, STDERR_FILENO);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGHUP, SIG_DFL);
	signal(SIGINT, SIG_DFL);
	signal(SIGQUIT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	sigprocmask(SIG_SETMASK, mask, NULL);
	setpgid(0, 0);
	/* A killed test program must leave no process. */
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
	sigset_t all, mask;

	assert_true(harness->count < MAX_CHILDREN);
	assert_false(pipe2(in, O_CLOEXEC) || pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC));
	*child = (struct child){.in = in[1], .out = {.fd = out[0]}, .err = {.fd = err[0]}};
	harness->count++;
	/* A signal for it that comes before its exec is not for our handlers. */
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, &mask);
	child->pid = fork();
	if (child->pid == 0)
		child_exec(path, argv, prepare, in[0], out[1], err[1], &mask);
	sigprocmask(SIG_SETMASK, &mask, NULL);
	assert_true(child->pid >= 0);
	/* Set it in the parent, too: either may run first. After the exec the call is refused, and
	 * unnecessary. */
	setpgid(child->pid, child->pid);
	child->group = child->pid;
	child->pidfd = (int)syscall(SYS_pidfd_open, child->pid, 0);
	assert_true(child->pidfd >= 0);
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

/*
 * Reads the available data of both streams, so that the child never blocks on the other one.
 * Returns false when the child has ended and nothing is left: its children may keep its streams
 * open.
 */
static bool child_pump(struct child *child, int64_t deadline)
{
	struct pollfd ends[] = {{.fd = child->out.fd, .events = POLLIN},
				{.fd = child->err.fd, .events = POLLIN},
				{.fd = child->pidfd, .events = POLLIN}};
	int64_t left = deadline - now_ms();

	if (harness_interrupted())
		child_fail(child, "interrupted");
	if (left <= 0)
		child_fail(child, "PID %s: nothing more within the limit", child->pid_text);
	poll(ends, 3, (int)left);
	if (ends[0].revents)
		stream_read(&child->out);
	if (ends[1].revents)
		stream_read(&child->err);
	return ends[0].revents || ends[1].revents || !ends[2].revents;
}

void child_wait_text(struct harness *harness, struct child *child, struct stream *stream,
		     const char *text)
{
	int64_t deadline = now_ms() + harness->limit_ms;

	while (!stream->text || !strstr(stream->text, text)) {
		if (!child_pump(child, deadline))
			child_fail(child, "PID %s ended without saying `%s`", child->pid_text,
				   text);
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
		if (!child_pump(child, deadline))
			child_fail(child, "PID %s ended before its next line", child->pid_text);
	}
	stream->taken = end + 1 - stream->text;
	return strndup(start, end - start);
}

int child_end(struct harness *harness, struct child *child)
{
	int64_t deadline = now_ms() + harness->limit_ms;
	int status;

	while (child_pump(child, deadline))
		;
	if (child->pid) {
		assert_int_equal(waitpid(child->pid, &status, 0), child->pid);
		child->pid = 0;
		child->code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	}
	return child->code;
}

static void stream_close(struct stream *stream)
{
	if (stream->fd >= 0)
		close(stream->fd);
	stream->fd = -1;
	free(stream->text);
	stream->text = NULL;
}

void child_kill(struct child *child)
{
	kill(-child->group, SIGKILL);
	if (child->pid)
		waitpid(child->pid, NULL, 0);
	if (child->pidfd >= 0)
		close(child->pidfd);
	if (child->in >= 0)
		close(child->in);
	stream_close(&child->out);
	stream_close(&child->err);
}
