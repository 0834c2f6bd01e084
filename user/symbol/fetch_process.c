// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/fetch_process.h"

#include <cap-ng.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/cleanup.h"

/* The debug files of browsers are about half of that. */
#define MAX_FILE_BYTES (UINT64_C(2) << 30)
#define MAX_MEMORY_BYTES (UINT64_C(1) << 30)

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
	signal(SIGXFSZ, SIG_IGN); /* then its write fails, and it removes what it has written */
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

/* A server may send without end, and say what it likes of the length. */
static void set_limits(void)
{
	const struct rlimit file = {MAX_FILE_BYTES, MAX_FILE_BYTES};
	const struct rlimit memory = {MAX_MEMORY_BYTES, MAX_MEMORY_BYTES};

	if (setrlimit(RLIMIT_FSIZE, &file) || setrlimit(RLIMIT_AS, &memory))
		_exit(1);
}

/* Its own limits: without progress, and in all; and of the length that a server announces. */
static void set_environment(uint32_t max_seconds)
{
	char seconds[16], bytes[24];

	snprintf(seconds, sizeof(seconds), "%u", max_seconds);
	snprintf(bytes, sizeof(bytes), "%llu", (unsigned long long)MAX_FILE_BYTES);
	setenv("DEBUGINFOD_MAXSIZE", bytes, 1);
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
	set_limits(); /* last: what runs here may have more than that mapped already */
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

/* mkstemp("DIRECTORY/BUILD-ID/debuginfo.XXXXXX"), as libdebuginfod has it. */
static bool is_partial(const char *path)
{
	static const char begins[] = "debuginfo.";
	const char *name = strrchr(path, '/');

	return name && !strncmp(name + 1, begins, strlen(begins)) &&
	       strlen(name + 1) == strlen(begins) + strlen("XXXXXX");
}

/* Where it writes to. false: it does not. */
static bool find_partial(pid_t pid, char path[PATH_MAX])
{
	_cleanup_closedir_ DIR *directory = NULL;
	const struct dirent *entry;
	char fds[32];

	snprintf(fds, sizeof(fds), "/proc/%d/fd", pid);
	directory = opendir(fds);
	while (directory && (entry = readdir(directory))) {
		ssize_t length = readlinkat(dirfd(directory), entry->d_name, path, PATH_MAX - 1);

		path[length > 0 ? length : 0] = '\0';
		if (is_partial(path))
			return true;
	}
	return false;
}

void fetch_process_end(struct fetch_process *process)
{
	char path[PATH_MAX];
	bool is_writing;

	kill(process->pid, SIGSTOP);
	is_writing = find_partial(process->pid, path);
	kill(process->pid, SIGKILL);
	if (is_writing)
		unlink(path);
	close(process->fd);
	process->fd = -1;
}
