// SPDX-License-Identifier: GPL-2.0-or-later
#include "app/runs/diagnose_child.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "base/log.h"
#include "base/spawn.h"

#define SAID_MAX (16u << 20)
/* Time to rescan a heap of some GiB. */
#define HURRY_NS UINT64_C(30000000000)
#define HURRY_STEP_NS 20000000

extern char **environ;

static int spawn(struct diagnose_child *child, pid_t pid, int out)
{
	posix_spawn_file_actions_t actions;
	posix_spawnattr_t attributes;
	sigset_t none;
	char number[16];
	char *arguments[] = {"leakmon", "diagnose", "-p", number, "--format", "json", NULL};
	int error;

	snprintf(number, sizeof(number), "%d", (int)pid);
	posix_spawn_file_actions_init(&actions);
	posix_spawnattr_init(&attributes);
	posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
	posix_spawn_file_actions_adddup2(&actions, out, STDOUT_FILENO);
	posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
	sigemptyset(&none);
	error = spawn_signals_set(&attributes, &none);
	if (!error)
		error = -posix_spawn(&child->child, "/proc/self/exe", &actions, &attributes,
				     arguments, environ);
	posix_spawnattr_destroy(&attributes);
	posix_spawn_file_actions_destroy(&actions);
	if (error)
		child->child = 0;
	return error;
}

int diagnose_child_start(struct diagnose_child *child, pid_t pid, const char *reason)
{
	int fd = memfd_create("leakmon-diagnosis", MFD_CLOEXEC), error;

	if (fd < 0)
		return -errno;
	*child = (struct diagnose_child){.pid = pid, .reason = reason, .fd = fd};
	error = spawn(child, pid, fd);
	if (error)
		close(fd);
	return error;
}

char *diagnose_child_answer(const char *said)
{
	json_t *report = json_loads(said, JSON_DISABLE_EOF_CHECK, NULL);
	const json_t *answer = json_array_get(json_object_get(report, "processes"), 0);
	char *text = NULL;

	if (json_is_object(answer))
		text = json_dumps(answer, JSON_COMPACT | JSON_ENSURE_ASCII);
	json_decref(report);
	return text;
}

static char *read_answer(int fd)
{
	_cleanup_free_ char *said = NULL;
	struct stat status;

	if (fstat(fd, &status) || status.st_size <= 0 || status.st_size > SAID_MAX)
		return NULL;
	said = calloc(1, (size_t)status.st_size + 1);
	if (!said || pread(fd, said, (size_t)status.st_size, 0) != status.st_size)
		return NULL;
	return diagnose_child_answer(said);
}

bool diagnose_child_take(struct diagnose_child *child, char **answer)
{
	int status;

	if (!child->child || waitpid(child->child, &status, WNOHANG) == 0)
		return false;
	*answer = read_answer(child->fd);
	close(child->fd);
	child->child = 0;
	return true;
}

bool diagnose_child_hurry(struct diagnose_child *child, char **answer)
{
	const struct timespec step = {.tv_nsec = HURRY_STEP_NS};
	uint64_t until_ns = monotonic_ns() + HURRY_NS;

	if (!child->child)
		return false;
	kill(child->child, SIGINT);
	while (!diagnose_child_take(child, answer)) {
		if (monotonic_ns() > until_ns)
			kill(child->child, SIGKILL);
		nanosleep(&step, NULL);
	}
	return true;
}
