// SPDX-License-Identifier: GPL-2.0-or-later
#include "pause/interrupted_call.h"

#include <errno.h>
#include <stdio.h>
#include <sys/ptrace.h>

#include "arch/system_call.h"
#include "base/cleanup.h"
#include "pause/seccomp_filter.h"

/* What a call returns inside the kernel (include/linux/errno.h). */
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

/* Whether any filter is there, if the kernel does not show filters. True also if not known. */
static bool has_filter(pid_t tid)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64], line[256];
	int mode;

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "Seccomp: %d", &mode) == 1)
			return mode != 0;
	}
	return true;
}

/* Whether every filter of the thread lets it call restart_syscall(2). */
static bool may_go_on(pid_t tid, const struct user_regs_struct *registers, uint32_t architecture,
		      struct sock_filter *program)
{
	const struct seccomp_data call = system_call_restart(registers, architecture);

	for (long i = 0;; i++) {
		long count = ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, NULL);

		if (count < 0 && (errno == ENOENT || (errno == EINVAL && !i)))
			return true;
		/* Without CAP_SYS_ADMIN, or CONFIG_CHECKPOINT_RESTORE. */
		if (count < 0)
			return !has_filter(tid);
		if (count > BPF_MAXINSNS ||
		    ptrace(PTRACE_SECCOMP_GET_FILTER, tid, i, program) != count ||
		    !seccomp_filter_allows(program, (size_t)count, &call))
			return false;
	}
}

/* AUDIT_ARCH_...; 0: not known. */
static uint32_t architecture_of(pid_t tid)
{
	struct __ptrace_syscall_info info = {0};

	if (ptrace(PTRACE_GET_SYSCALL_INFO, tid, sizeof(info), &info) < 0)
		return 0;
	return info.arch;
}

static bool is_mended(pid_t tid, const struct user_regs_struct *registers, uint32_t architecture,
		      struct sock_filter *program)
{
	switch (system_call_result(registers, architecture)) {
	case -EINTR:
		return system_call_can_be_repeated(architecture, system_call_number(registers));
	case -ERESTART_RESTARTBLOCK:
		return !may_go_on(tid, registers, architecture, program);
	default:
		return false;
	}
}

int interrupted_call_mend(pid_t tid, const struct user_regs_struct *registers,
			  struct sock_filter *program)
{
	uint32_t architecture;
	int error;

	/* Most threads are in none of these. */
	if (!system_call_may_return(registers, -EINTR) &&
	    !system_call_may_return(registers, -ERESTART_RESTARTBLOCK))
		return 0;
	architecture = architecture_of(tid);
	if (!architecture)
		return -ENOTSUP;
	if (!is_mended(tid, registers, architecture, program))
		return 0;
	error = system_call_set_result(tid, -(long)ERESTARTNOHAND);
	return error ? error : 1;
}
