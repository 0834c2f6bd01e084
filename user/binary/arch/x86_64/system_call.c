// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/system_call.h"

#include <errno.h>
#include <linux/audit.h>
#include <stddef.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>

#include "base/cleanup.h"

/* Values that a call returns inside the kernel (include/linux/errno.h). */
#define ERESTARTNOHAND 514l

#define X32_BIT 0x40000000u
/* Not in the headers of a 64-bit program (arch/x86/entry/syscalls/syscall_32.tbl). */
#define NR_RESTART_SYSCALL_32 0

/*
 * Calls that fail with EINTR after a stop (signal(7)); read(2) and write(2): of inotify, and of
 * sockets with a timeout. A call that has transferred a part returns the amount, not EINTR.
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

/* The same calls of a 32-bit program; semop(2) and all socket calls also have a common number. */
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

bool system_call_can_be_repeated(uint32_t architecture, uint32_t number)
{
	if (architecture == AUDIT_ARCH_I386)
		return is_among(calls_32, ARRAY_SIZE(calls_32), number);
	return is_among(calls_64, ARRAY_SIZE(calls_64), number & ~X32_BIT);
}

static const uint64_t loader_calls[] = {
	SYS_mmap,     SYS_mprotect,   SYS_munmap, SYS_openat,	       SYS_open,
	SYS_read,     SYS_pread64,    SYS_fstat,  SYS_newfstatat,      SYS_stat,
	SYS_close,    SYS_access,     SYS_brk,	  SYS_arch_prctl,      SYS_set_tid_address,
	SYS_readlink, SYS_readlinkat, SYS_rseq,	  SYS_set_robust_list, SYS_prlimit64,
	SYS_lseek,    SYS_getcwd,     SYS_fcntl,  SYS_faccessat,       SYS_getrandom,
	SYS_uname,    SYS_mremap,     SYS_lstat,  SYS_geteuid,	       SYS_getuid,
	SYS_getgid,   SYS_getegid,    SYS_execve, SYS_execveat,	       SYS_madvise,
};

bool system_call_is_of_loader(uint64_t number)
{
	for (size_t i = 0; i < ARRAY_SIZE(loader_calls); i++) {
		if (loader_calls[i] == number)
			return true;
	}
	return false;
}

uint32_t system_call_number(const struct machine_registers *registers)
{
	return (uint32_t)registers->general.orig_rax;
}

/* A 32-bit call returns half a register. */
long system_call_result(const struct machine_registers *registers, uint32_t architecture)
{
	/* Returning from an interrupt, or from a signal handler. */
	if ((int)registers->general.orig_rax < 0)
		return 0;
	return architecture == AUDIT_ARCH_I386 ? (int)registers->general.rax
					       : (long)registers->general.rax;
}

bool system_call_may_return(const struct machine_registers *registers, long result)
{
	return system_call_result(registers, AUDIT_ARCH_I386) == result;
}

struct seccomp_data system_call_restart(const struct machine_registers *registers,
					uint32_t architecture)
{
	if (architecture == AUDIT_ARCH_I386)
		return (struct seccomp_data){
			.nr = NR_RESTART_SYSCALL_32,
			.arch = architecture,
			.instruction_pointer = registers->general.rip,
			.args = {(uint32_t)registers->general.rbx, (uint32_t)registers->general.rcx,
				 (uint32_t)registers->general.rdx, (uint32_t)registers->general.rsi,
				 (uint32_t)registers->general.rdi,
				 (uint32_t)registers->general.rbp},
		};
	return (struct seccomp_data){
		.nr = (int)(SYS_restart_syscall | (registers->general.orig_rax & X32_BIT)),
		.arch = architecture,
		.instruction_pointer = registers->general.rip,
		.args = {registers->general.rdi, registers->general.rsi, registers->general.rdx,
			 registers->general.r10, registers->general.r8, registers->general.r9},
	};
}

/* The kernel keeps all arguments. */
void system_call_before(pid_t tid, struct system_call_before *before)
{
	(void)tid;
	before->number = -1;
}

int system_call_begin_again(pid_t tid, const struct machine_registers *registers,
			    const struct system_call_before *before)
{
	(void)registers, (void)before;
	return ptrace(PTRACE_POKEUSER, tid, offsetof(struct user, regs.rax), -ERESTARTNOHAND)
		       ? -errno
		       : 0;
}

/* The kernel decides only when the thread is resumed. */
void system_call_let_go(pid_t tid, const struct machine_registers *registers)
{
	(void)tid, (void)registers;
}
