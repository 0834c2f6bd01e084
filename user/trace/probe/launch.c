// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/probe/launch.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/system_call.h"

/* More system calls than any loader makes before the program's own code runs. */
#define FOLLOW_MAX_STOPS 20000

static void streams_to_null(void)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
		dup2(null, fd);
}

static void __attribute__((noreturn)) child_run(const int go[2], const int result[2], char **argv)
{
	sigset_t none;
	char byte;
	int error;

	close(go[1]);
	close(result[0]);
	/* The program must not inherit signals that the monitor blocks and ignores. */
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	signal(SIGXFSZ, SIG_DFL);
	/* If the monitor is killed while the program is stopped, the program continues. */
	prctl(PR_SET_PDEATHSIG, SIGCONT);
	if (read(go[0], &byte, 1) != 1)
		_exit(127);
	execvp(argv[0], argv);
	error = errno;
	if (write(result[1], &error, sizeof(error)) < 0)
		_exit(126);
	_exit(127);
}

int launch_prepare(struct launch *launch, char **argv, bool silent)
{
	int go[2], result[2];
	pid_t pid;

	if (pipe2(go, O_CLOEXEC))
		return -errno;
	if (pipe2(result, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return -errno;
	}
	pid = fork();
	if (!pid && silent)
		streams_to_null();
	if (!pid)
		child_run(go, result, argv);
	close(go[0]);
	close(result[1]);
	*launch = (struct launch){.pid = pid, .go_fd = go[1], .result_fd = result[0]};
	if (pid > 0)
		return 0;
	launch_close(launch);
	return -EAGAIN;
}

int launch_start(struct launch *launch)
{
	int error = 0, status;

	if (write(launch->go_fd, "g", 1) != 1)
		return -errno;
	/* Closed by a successful exec, or carrying the reason of a failed one. */
	if (read(launch->result_fd, &error, sizeof(error)) == sizeof(error)) {
		waitpid(launch->pid, &status, 0);
		launch->pid = -1;
		return -error;
	}
	if (waitpid(launch->pid, &status, WUNTRACED) != launch->pid)
		return -errno;
	if (!WIFSTOPPED(status)) {
		launch->pid = -1;
		return -ECHILD;
	}
	return 0;
}

struct follower {
	pid_t pid;
	launch_mapped mapped;
	void *context;
	struct __ptrace_syscall_info entry; /* of the call in progress */
	int probed;
};

/* Returns whether the program's own code is about to run, so that following can end. */
static bool loader_is_done(const struct follower *follower)
{
	const struct __ptrace_syscall_info *entry = &follower->entry;

	if (!system_call_is_of_loader(entry->entry.nr))
		return true;
	/* A loader makes relocated data read-only (PT_GNU_RELRO) once every library is mapped. */
	return follower->probed > 0 && entry->entry.nr == SYS_mprotect &&
	       entry->entry.args[2] == PROT_READ;
}

/* Returns 1: done, 0: continue, -errno. */
static int on_syscall_stop(struct follower *follower)
{
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, follower->pid, sizeof(info), &info) < 0)
		return -errno;
	if (info.op == PTRACE_SYSCALL_INFO_ENTRY) {
		follower->entry = info;
		if (!loader_is_done(follower))
			return 0;
		follower->probed = follower->mapped(follower->context);
		return follower->probed < 0 ? follower->probed : 1;
	}
	if (info.op != PTRACE_SYSCALL_INFO_EXIT || follower->entry.entry.nr != SYS_mmap ||
	    !(follower->entry.entry.args[2] & PROT_EXEC) || (int)follower->entry.entry.args[4] < 0)
		return 0;
	follower->probed = follower->mapped(follower->context);
	return MIN(follower->probed, 0);
}

/*
 * Returns whether its next status change is its end, which is left to whoever wants its exit
 * status.
 */
static bool has_ended(pid_t pid)
{
	siginfo_t change = {0};

	if (waitid(P_PID, (id_t)pid, &change, WEXITED | WSTOPPED | __WALL | WNOWAIT))
		return false;
	return change.si_code == CLD_EXITED || change.si_code == CLD_KILLED ||
	       change.si_code == CLD_DUMPED;
}

/* Runs the child from stop to stop. Returns -ECHILD: it ended; else as on_syscall_stop. */
static int follow_one(struct follower *follower)
{
	int status, signal_number = 0, result = 0;

	if (has_ended(follower->pid))
		return -ECHILD;
	if (waitpid(follower->pid, &status, __WALL) != follower->pid)
		return -errno;
	if (!WIFSTOPPED(status))
		return -ECHILD;
	if (WSTOPSIG(status) == (SIGTRAP | 0x80))
		result = on_syscall_stop(follower);
	else if (status >> 16 == 0 && WSTOPSIG(status) != SIGCONT)
		signal_number = WSTOPSIG(status); /* a real signal: pass it on */
	if (!result && ptrace(PTRACE_SYSCALL, follower->pid, 0, signal_number))
		return -errno;
	return result;
}

int launch_follow(pid_t pid, launch_mapped mapped, void *context)
{
	struct follower follower = {.pid = pid, .mapped = mapped, .context = context};
	int result;

	/* A static program already has its allocator mapped. */
	follower.probed = mapped(context);
	if (follower.probed < 0 || ptrace(PTRACE_SEIZE, pid, 0, PTRACE_O_TRACESYSGOOD)) {
		result = follower.probed < 0 ? follower.probed : -errno;
		kill(pid, SIGCONT);
		return result;
	}
	kill(pid, SIGCONT);
	result = 0;
	for (int stops = 0; !result && stops < FOLLOW_MAX_STOPS; stops++)
		result = follow_one(&follower);
	ptrace(PTRACE_DETACH, pid, 0, 0);
	if (result == -ECHILD || result == -ESRCH)
		return 0; /* ended: whoever waits for it will learn */
	return MIN(result, 0);
}

void launch_close(struct launch *launch)
{
	if (launch->go_fd >= 0)
		close(launch->go_fd);
	if (launch->result_fd >= 0)
		close(launch->result_fd);
	launch->go_fd = launch->result_fd = -1;
}
