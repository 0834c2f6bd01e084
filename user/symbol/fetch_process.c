// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/fetch_process.h"

#include <cap-ng.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>

#include "base/cleanup.h"

const char *fetch_obstacle(void)
{
	const char *urls = getenv("DEBUGINFOD_URLS"), *path = getenv("PATH");
	char file[PATH_MAX];

	if (!urls || !urls[strspn(urls, " ")])
		return "DEBUGINFOD_URLS is not set: export it with the servers to ask, such as "
		       "https://debuginfod.debian.net (sudo keeps it with "
		       "--preserve-env=DEBUGINFOD_URLS)";
	for (size_t length; path && *path; path += length + (path[length] == ':')) {
		length = strcspn(path, ":");
		snprintf(file, sizeof(file), "%.*s/" FETCH_PROGRAM, (int)MIN(length, 4000), path);
		if (!access(file, X_OK))
			return NULL;
	}
	return "there is no program " FETCH_PROGRAM ": install Debian's package debuginfod "
	       "(elsewhere elfutils-debuginfod-client)";
}

static void set_signals(void)
{
	sigset_t none;

	signal(SIGPIPE, SIG_DFL); /* what is ignored stays so over exec */
	signal(SIGXFSZ, SIG_DFL);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	/* Ctrl-C asks the monitor for its last report, which may want this file. */
	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static void set_files(int output)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	dup2(null, STDIN_FILENO);
	dup2(output, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	/* All others are closed by the exec. */
}

/* Without new privileges an exec by root gets back nothing of what was dropped. */
static void drop_capabilities(void)
{
	capng_clear(CAPNG_SELECT_ALL);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || capng_apply(CAPNG_SELECT_CAPS))
		_exit(1);
}

/* Its own limits: without progress, and in all. */
static void set_environment(uint32_t max_seconds)
{
	char seconds[16];

	snprintf(seconds, sizeof(seconds), "%u", max_seconds);
	setenv("DEBUGINFOD_TIMEOUT", seconds, 1);
	setenv("DEBUGINFOD_MAXTIME", seconds, 1);
	unsetenv("DEBUGINFOD_PROGRESS");
	unsetenv("DEBUGINFOD_VERBOSE");
}

static _Noreturn void run(const char *build_id, uint32_t max_seconds, int output)
{
	set_signals();
	set_files(output);
	set_environment(max_seconds);
	drop_capabilities();
	execlp(FETCH_PROGRAM, FETCH_PROGRAM, "debuginfo", build_id, (char *)NULL);
	_exit(127);
}

int fetch_process_start(const char *build_id, uint32_t max_seconds, struct fetch_process *process)
{
	_cleanup_close_ int output = -1;
	int ends[2];
	pid_t pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return -errno;
	output = ends[1];
	fcntl(ends[0], F_SETFL, O_NONBLOCK);
	pid = fork();
	if (pid == 0)
		run(build_id, max_seconds, output);
	if (pid < 0) {
		close(ends[0]);
		return -errno;
	}
	*process = (struct fetch_process){.pid = pid, .fd = ends[0]};
	return 0;
}

/* Its answer is one line, and comes with its end. */
int fetch_process_read(struct fetch_process *process)
{
	size_t room = sizeof(process->answer) - 1 - process->length;
	ssize_t got = read(process->fd, process->answer + process->length, room);
	char *newline;

	if (got > 0) {
		process->length += (size_t)got;
		return -EAGAIN;
	}
	if (got < 0 && (errno == EAGAIN || errno == EINTR))
		return -EAGAIN;
	newline = memchr(process->answer, '\n', process->length);
	if (!newline || process->answer[0] != '/')
		return -ENOENT;
	*newline = '\0';
	return 0;
}
