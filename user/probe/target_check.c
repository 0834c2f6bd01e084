// SPDX-License-Identifier: GPL-2.0-or-later
/* May this process be probed? The rules of no harm. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "probe/privileges.h"
#include "probe/target.h"

struct process_status {
	int tracer_pid;
	int threads;
	int seccomp; /* 0 none, 1 strict, 2 filter */
	char state;
	bool shadow_stack;
};

static int status_read(pid_t pid, struct process_status *status)
{
	static const char features[] = "x86_Thread_features:";
	char path[64], line[256];
	_cleanup_fclose_ FILE *stream = NULL;
	struct process_status read = {0};

	snprintf(path, sizeof(path), "/proc/%d/status", pid);
	stream = fopen(path, "re");
	if (!stream)
		return errno == ENOENT ? -ESRCH : -errno;
	while (fgets(line, sizeof(line), stream)) {
		sscanf(line, "TracerPid: %d", &read.tracer_pid);
		sscanf(line, "Seccomp: %d", &read.seccomp);
		sscanf(line, "Threads: %d", &read.threads);
		sscanf(line, "State: %c", &read.state);
		if (!strncmp(line, features, strlen(features)))
			read.shadow_stack = strstr(line, "shstk");
	}
	*status = read;
	return 0;
}

static int check_status(pid_t pid, const struct process_status *status,
			const struct target_config *config, enum log_level if_ended)
{
	if (status->state == 'Z' && status->threads > 1) {
		log_error(
			"the main thread of process %d has ended while other threads go on: the "
			"kernel offers no way to attach to what is left; watch it from its start, "
			"or at least from before that",
			pid);
		return -EOPNOTSUPP;
	}
	if (status->state == 'Z' || status->state == 'X') {
		log_print(if_ended,
			  "process %d has already ended (it is a zombie): it holds no memory", pid);
		return -ESRCH;
	}
	if (status->tracer_pid) {
		log_error("process %d is traced by process %d (a debugger, strace, ...): two sets "
			  "of breakpoints can kill it, so it is left alone; end the tracer first",
			  pid, status->tracer_pid);
		return -EBUSY;
	}
	if (status->seccomp && !config->features.seccomp_safe) {
		log_error(
			"process %d runs under a seccomp filter, and on this kernel a return probe "
			"kills such a process (a trial child has just shown it); update the "
			"kernel to one with commit cf6cb56ef244 (6.14, or a stable update)",
			pid);
		return -EOPNOTSUPP;
	}
	if (status->shadow_stack && !config->features.shadow_stack_safe) {
		log_error("process %d has a shadow stack, and on this kernel a return probe kills "
			  "such a process (a trial child has just shown it); update the kernel to "
			  "one with commit 488af8ea7131 (6.11)",
			  pid);
		return -EOPNOTSUPP;
	}
	return 0;
}

/*
 * A session program gives up the return of each call that such a thread makes, and so one that
 * begins to dispatch later is not harmed. But where another tool's return probe is on the same
 * function, even for another process, the kernel makes it in any process that holds a breakpoint
 * there: so none is put into one that is known to dispatch.
 */
static int check_dispatch(pid_t pid, const struct kernel_features *features)
{
	int dispatches;

	if (features->dispatch_safe)
		return 0;
	dispatches = feature_probe_dispatches(features, pid);
	/* Without type information nothing can be loaded: the loader explains that. */
	if (!dispatches || (dispatches < 0 && access("/sys/kernel/btf/vmlinux", R_OK)))
		return 0;
	if (dispatches < 0) {
		log_error("cannot tell whether process %d is under Syscall User Dispatch: %s; it "
			  "is left alone",
			  pid, strerror(-dispatches));
		return dispatches;
	}
	log_error("process %d is under Syscall User Dispatch (as emulators are, such as Wine), "
		  "and on this kernel a return probe kills such a process (a trial child has just "
		  "shown it); it is left alone",
		  pid);
	return -EOPNOTSUPP;
}

/* How many mappings hold code. 0, or -errno as maps_read(). */
static int count_code(pid_t pid, const struct target_config *config, size_t *count)
{
	struct process *process;
	int error = process_table_refresh(config->processes, pid, &process);

	*count = error ? 0 : process->code.count;
	return error;
}

static int check_memory(pid_t pid, const struct target_config *config, enum log_level if_ended)
{
	size_t count;
	int error = count_code(pid, config, &count);

	if (error == -EACCES || error == -EPERM) {
		privileges_explain();
		return error;
	}
	if (error == -ESRCH || (!error && !count)) {
		log_print(if_ended,
			  "process %d has no user memory: it is a kernel thread, or it is just "
			  "ending; leakmon watches programs",
			  pid);
		return -EINVAL;
	}
	if (error)
		log_error("cannot read the mappings of process %d: %s", pid, strerror(-error));
	return error;
}

bool target_is_ending(pid_t pid, const struct target_config *config)
{
	size_t count;
	int error = count_code(pid, config, &count);

	/* What may not be read is for target_check() to explain. */
	return error ? error == -ESRCH : !count;
}

static void explain_absence(pid_t pid)
{
	if (kill(pid, 0) && errno == ESRCH)
		log_error("there is no process %d; `ps -e` lists those there are (a PID inside a "
			  "container is not the one outside)",
			  pid);
	else
		log_error("process %d is there, but /proc does not show it: it is mounted with "
			  "hidepid, and leakmon may not see the processes of others; run it as "
			  "root, or with CAP_SYS_PTRACE",
			  pid);
}

int target_check(pid_t pid, const struct target_config *config, bool named)
{
	enum log_level if_ended = named ? LOG_ERROR : LOG_DEBUG;
	struct process_status status = {0};
	int error = status_read(pid, &status);

	if (error == -ESRCH) {
		if (named)
			explain_absence(pid);
		return error;
	}
	if (error) {
		log_error("cannot read the status of process %d: %s", pid, strerror(-error));
		return error;
	}
	error = check_status(pid, &status, config, if_ended);
	if (!error)
		error = check_memory(pid, config, if_ended);
	return error ? error : check_dispatch(pid, &config->features);
}
