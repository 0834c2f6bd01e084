// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/arch/system_call.h"

#include <elf.h>
#include <errno.h>
#include <linux/audit.h>
#include <stdio.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "base/cleanup.h"

/*
 * Calls that fail with EINTR after a stop (signal(7)); read(2) and write(2): of inotify, and of
 * sockets with a timeout. A call that has transferred a part returns the amount, not EINTR.
 */
static const uint32_t calls[] = {
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
	SYS_epoll_pwait,
	441 /* epoll_pwait2 */,
	SYS_rt_sigtimedwait,
	SYS_io_getevents,
	SYS_io_pgetevents,
	SYS_io_uring_enter,
};

static const uint64_t loader_calls[] = {
	SYS_mmap,
	SYS_mprotect,
	SYS_munmap,
	SYS_openat,
	SYS_read,
	SYS_pread64,
	SYS_fstat,
	SYS_newfstatat,
	SYS_close,
	SYS_brk,
	SYS_set_tid_address,
	SYS_readlinkat,
	SYS_rseq,
	SYS_set_robust_list,
	SYS_prlimit64,
	SYS_lseek,
	SYS_getcwd,
	SYS_fcntl,
	SYS_faccessat,
	SYS_getrandom,
	SYS_uname,
	SYS_mremap,
	SYS_geteuid,
	SYS_getuid,
	SYS_getgid,
	SYS_getegid,
	SYS_execve,
	SYS_execveat,
	SYS_madvise,
};

/* 32-bit calls have another table; leakmon stops no such process. */
bool system_call_can_be_repeated(uint32_t architecture, uint32_t number)
{
	if (architecture != AUDIT_ARCH_AARCH64)
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		if (calls[i] == number)
			return true;
	}
	return false;
}

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
	return (uint32_t)registers->call;
}

/* Values that a call returns inside the kernel (include/linux/errno.h). */
#define ERESTART_RESTARTBLOCK 516l

/* Calls that continue by restart_syscall(2). */
static bool has_restart_block(int32_t number)
{
	return number == SYS_nanosleep || number == SYS_clock_nanosleep || number == SYS_futex;
}

/*
 * The kernel decides before the stop whether to restart a call (do_signal(),
 * arch/arm64/kernel/signal.c): if so, the call's arguments are restored, and the program counter is
 * back on it. After the stop it changes the number to restart_syscall(2) if necessary.
 */
long system_call_result(const struct machine_registers *registers, uint32_t architecture)
{
	(void)architecture;
	if (registers->begins_again)
		return has_restart_block(registers->call) ? -ERESTART_RESTARTBLOCK : 0;
	return registers->call < 0 ? 0 : (long)registers->general.regs[0];
}

bool system_call_may_return(const struct machine_registers *registers, long result)
{
	return system_call_result(registers, AUDIT_ARCH_AARCH64) == result;
}

struct seccomp_data system_call_restart(const struct machine_registers *registers,
					uint32_t architecture)
{
	struct seccomp_data data = {
		.nr = SYS_restart_syscall,
		.arch = architecture,
		.instruction_pointer = registers->general.pc,
	};

	for (int i = 0; i < 6; i++)
		data.args[i] = registers->general.regs[i];
	return data;
}

void system_call_before(pid_t tid, struct system_call_before *before)
{
	_cleanup_fclose_ FILE *file = NULL;
	char path[64];

	before->number = -1;
	snprintf(path, sizeof(path), "/proc/%d/syscall", tid);
	file = fopen(path, "re");
	/* Unknown for a running thread. */
	if (!file || fscanf(file, "%d %llx %llx %llx %llx %llx %llx %llx %llx", &before->number,
			    &before->arguments[0], &before->arguments[1], &before->arguments[2],
			    &before->arguments[3], &before->arguments[4], &before->arguments[5],
			    &before->sp, &before->ip) != 9)
		before->number = -1;
}

/* Returns whether it is the call seen before: all but the result is unchanged. */
static bool is_the_same(const struct machine_registers *registers,
			const struct system_call_before *before)
{
	for (int i = 1; i < 6; i++) {
		if (registers->general.regs[i] != before->arguments[i])
			return false;
	}
	return before->number >= 0 && before->number == registers->call &&
	       before->sp == registers->general.sp && before->ip == registers->general.pc;
}

/* Returns whether an unblocked signal is pending for the thread. True if unknown. */
static bool has_signal(pid_t tid)
{
	_cleanup_fclose_ FILE *file = NULL;
	unsigned long long own = 0, shared = 0, blocked = 0;
	char path[64], line[256];

	snprintf(path, sizeof(path), "/proc/%d/status", tid);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		sscanf(line, "SigPnd: %llx", &own);
		sscanf(line, "ShdPnd: %llx", &shared);
		if (sscanf(line, "SigBlk: %llx", &blocked) == 1)
			return ((own | shared) & ~blocked) != 0;
	}
	return true;
}

static int write_registers(pid_t tid, const struct user_regs_struct *registers)
{
	struct user_regs_struct copy = *registers;
	struct iovec from = {&copy, sizeof(copy)};

	return ptrace(PTRACE_SETREGSET, tid, NT_PRSTATUS, &from) ? -errno : 0;
}

/*
 * The processor ignores the top byte of the program counter (TCR_EL1.TBI0), but the kernel, which
 * compares it with the call's address, then finds no call to change.
 */
#define UNKNOWN_PLACE (1ull << 56)

/* Makes the thread run its `svc` again, and restores x0, which holds the result. */
int system_call_begin_again(pid_t tid, const struct machine_registers *registers,
			    const struct system_call_before *before)
{
	struct user_regs_struct again = registers->general;

	if (has_signal(tid))
		return -ENOTSUP;
	if (registers->begins_again) {
		again.pc |= UNKNOWN_PLACE;
		return write_registers(tid, &again);
	}
	if (!is_the_same(registers, before))
		return -ENOTSUP;
	again.regs[0] = before->arguments[0];
	again.pc -= 4;
	return write_registers(tid, &again);
}

/* Its handler would run, and then the call again: as if there had been no signal. */
void system_call_let_go(pid_t tid, const struct machine_registers *registers)
{
	if (has_signal(tid))
		write_registers(tid, &registers->general);
}
