// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/interrupted_call.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/cleanup.h"
#include "retain/seccomp_filter.h"

/* What a call returns inside the kernel (include/linux/errno.h). */
#define ERESTARTNOHAND 514
#define ERESTART_RESTARTBLOCK 516

#define X32_BIT 0x40000000u
/* Not in the headers of a 64-bit program (arch/x86/entry/syscalls/syscall_32.tbl). */
#define NR_RESTART_SYSCALL_32 0

/*
 * What fails with EINTR after a stop (signal(7)); read(2) and write(2): of inotify, and of sockets
 * with a time limit. Whatever has moved a part returns how much, not EINTR.
 */
static const uint32_t calls_64[] = {
	SYS_read,
	SYS_write,
	SYS_readv,
	SYS_writev,
	SYS_connect,
	SYS_accept,
	SYS_accept4,
	SYS_sendto,
	SYS_sendmsg,
	SYS_sendmmsg,
	SYS_recvfrom,
	SYS_recvmsg,
	SYS_recvmmsg,
	SYS_semop,
	SYS_semtimedop,
	SYS_fallocate,
	SYS_epoll_wait,
	SYS_epoll_pwait,
	SYS_epoll_pwait2,
	SYS_rt_sigtimedwait,
	SYS_io_getevents,
	SYS_io_pgetevents,
	SYS_io_uring_enter,
	/* x32: readv, writev, recvfrom, sendmsg, recvmsg, rt_sigtimedwait, recvmmsg, sendmmsg */
	515,
	516,
	517,
	518,
	519,
	523,
	537,
	538,
};

/* The same of a 32-bit program; semop(2) and all socket calls also have a common number. */
static const uint32_t calls_32[] = {
	3 /* read */,
	4 /* write */,
	145 /* readv */,
	146 /* writev */,
	102 /* socketcall */,
	117 /* ipc */,
	362 /* connect */,
	364 /* accept4 */,
	369 /* sendto */,
	370 /* sendmsg */,
	345 /* sendmmsg */,
	371 /* recvfrom */,
	372 /* recvmsg */,
	337 /* recvmmsg */,
	417 /* recvmmsg_time64 */,
	420 /* semtimedop_time64 */,
	324 /* fallocate */,
	256 /* epoll_wait */,
	319 /* epoll_pwait */,
	441 /* epoll_pwait2 */,
	177 /* rt_sigtimedwait */,
	421 /* rt_sigtimedwait_time64 */,
	247 /* io_getevents */,
	385 /* io_pgetevents */,
	416 /* io_pgetevents_time64 */,
	426 /* io_uring_enter */,
};

static bool is_among(const uint32_t *numbers, size_t count, uint32_t number)
{
	for (size_t i = 0; i < count; i++) {
		if (numbers[i] == number)
			return true;
	}
	return false;
}

bool interrupted_call_can_be_repeated(uint32_t architecture, uint32_t number)
{
	if (architecture == AUDIT_ARCH_I386)
		return is_among(calls_32, ARRAY_SIZE(calls_32), number);
	return is_among(calls_64, ARRAY_SIZE(calls_64), number & ~X32_BIT);
}

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

static struct seccomp_data restart_of(const struct user_regs_struct *registers,
				      uint32_t architecture)
{
	if (architecture == AUDIT_ARCH_I386)
		return (struct seccomp_data){
			.nr = NR_RESTART_SYSCALL_32,
			.arch = architecture,
			.instruction_pointer = registers->rip,
			.args = {(uint32_t)registers->rbx, (uint32_t)registers->rcx,
				 (uint32_t)registers->rdx, (uint32_t)registers->rsi,
				 (uint32_t)registers->rdi, (uint32_t)registers->rbp},
		};
	return (struct seccomp_data){
		.nr = (int)(SYS_restart_syscall | (registers->orig_rax & X32_BIT)),
		.arch = architecture,
		.instruction_pointer = registers->rip,
		.args = {registers->rdi, registers->rsi, registers->rdx, registers->r10,
			 registers->r8, registers->r9},
	};
}

/* Whether every filter of the thread lets it call restart_syscall(2). */
static bool may_go_on(pid_t tid, const struct user_regs_struct *registers, uint32_t architecture,
		      struct sock_filter *program)
{
	const struct seccomp_data call = restart_of(registers, architecture);

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

/* What its call returns; a 32-bit one has half a register. 0: it is in none. */
static long result_of(const struct user_regs_struct *registers, uint32_t architecture)
{
	/* On its way out of an interrupt, or of a signal handler. */
	if ((int)registers->orig_rax < 0)
		return 0;
	return architecture == AUDIT_ARCH_I386 ? (int)registers->rax : (long)registers->rax;
}

static bool is_mended(pid_t tid, const struct user_regs_struct *registers, uint32_t architecture,
		      struct sock_filter *program)
{
	switch (result_of(registers, architecture)) {
	case -EINTR:
		return interrupted_call_can_be_repeated(architecture,
							(uint32_t)registers->orig_rax);
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

	/* Most threads are in none of these. */
	if (result_of(registers, AUDIT_ARCH_I386) != -EINTR &&
	    result_of(registers, AUDIT_ARCH_I386) != -ERESTART_RESTARTBLOCK)
		return 0;
	architecture = architecture_of(tid);
	if (!architecture)
		return -ENOTSUP;
	if (!is_mended(tid, registers, architecture, program))
		return 0;
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rax), -(long)ERESTARTNOHAND)
		       ? -errno
		       : 1;
}
