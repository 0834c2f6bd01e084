/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel structs that leakmon reads, relocated against the running kernel's BTF (CO-RE).
 * Only fields that exist from 6.1 on; a field that moves is found, one that goes fails the load.
 */
#ifndef LEAKMON_BPF_KERNEL_H
#define LEAKMON_BPF_KERNEL_H

#include <stdbool.h>

#include <linux/types.h>
#include <linux/bpf.h>
#include <linux/ptrace.h>
#include <bpf/bpf_helpers.h>
#include <bpf/bpf_tracing.h>
#include <bpf/bpf_core_read.h>

#include "leakmon_abi.h"

typedef __u8 u8;
typedef __u32 u32;
typedef __u64 u64;
typedef __s8 s8;
typedef __s32 s32;
typedef __s64 s64;

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

typedef struct {
	int counter;
} atomic_t;

struct xol_area {
	unsigned long vaddr; /* the trampoline that a uretprobe puts in place of a return address */
};

struct uprobes_state {
	struct xol_area *xol_area;
};

struct task_struct;

struct pid;

struct mm_struct {
	struct task_struct *owner;
	struct uprobes_state uprobes_state;
	unsigned long start_brk, brk; /* the program break */
};

struct signal_struct {
	atomic_t live; /* threads that have not yet exited */
	unsigned int flags;
	struct task_struct *group_exec_task; /* not NULL: its exec ends the other threads */
};

/* A return address that a return probe keeps, and the place on the stack that it took it from. */
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct completion;

struct bpf_run_ctx;

/* Begins with the bpf_run_ctx of a session program that runs; since 6.13. */
struct bpf_session_run_ctx {
	bool is_return;
};

struct uprobe_task {
	unsigned int depth; /* return probes pending */
	struct return_instance *return_instances;
};

struct task_struct {
	int pid;
	int tgid;
	u64 start_time, start_boottime;
	unsigned int flags; /* PF_* */
	u64 self_exec_id;
	struct mm_struct *mm;
	struct task_struct *group_leader;
	struct task_struct *real_parent;
	struct pid *thread_pid;
	struct signal_struct *signal;
	struct uprobe_task *utask;     /* NULL before its first breakpoint */
	struct bpf_run_ctx *bpf_ctx;   /* of the BPF program that runs */
	struct completion *vfork_done; /* not NULL: the parent waits for its exec or its end */
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	char comm[16];
};

/* include/linux/pid.h: one number for each PID namespace, the initial one first. */
struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

/* What the program of a task iterator is given. */
struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* include/linux/sched.h; *_WORKER: threads that the kernel made for itself in a process */
#define PF_EXITING 0x00000004 /* it runs none of the program's code any more */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000

/* include/linux/uprobes.h: beyond it the kernel silently leaves return probes out */
#define MAX_URETPROBE_DEPTH 64

/* include/uapi/asm-generic/signal.h */
#define SIGSTOP 19
/* include/uapi/asm-generic/errno-base.h */
#define ENOENT 2
#define E2BIG 7
#define ENOMEM 12
#define EEXIST 17

/*
 * What a processor differs in. Arguments, results, the stack and frame pointers are read by
 * libbpf's names (PT_REGS_PARM1, PT_REGS_PARM1_SYSCALL, ...); the header in the processor's folder,
 * which the Makefile chooses (ARCH), has the rest:
 *
 *   caller_sp(), caller_address()  of the function that was entered: its caller's stack pointer,
 * and where it goes on there. Or where the stack pointer has moved down since, by so many words.
 * The address may be unreadable. return_probe_place()  what a return_instance of the call has as
 * `stack` return_probe_waits()  whether that call has a return probe and has not returned
 *   regs_set()          so that a walk begins there
 *   regs_link()         the register that a call leaves the return address in; 0: there is none
 *   regs_are_of_user()
 *   register_at(), STACK_POINTER, condition_holds()  as instructions and attach cookies number them
 *   syscall_number()    at sys_exit; NR_MMAP, NR_MUNMAP, NR_BRK, NR_MREMAP
 *   task_is_compat(), syscall_is_mapping_compat(), NR_COMPAT_BRK  calls of 32-bit programs
 *   task_dispatches()   whether its system calls may be turned into SIGSYS (prctl(2), Syscall User
 *                       Dispatch)
 *   task_thread_pointer()  pthread_self() is a fixed distance below (code_thread_self_below())
 *   USER_MAX_ADDRESS, TRAMPOLINE_BITS
 *   machine_frame       what frames look like (leakmon_abi.h)
 */
#include "machine.bpf.h"

/* Only in session programs, which run at a function's entry and at its return. What
 * bpf_session_is_return() reads: that has no argument before 7.0 and one since, and libbpf refuses
 * an object that declares the other one. */
static __always_inline bool session_run_is_return(void)
{
	const struct bpf_session_run_ctx *run = (void *)bpf_get_current_task_btf()->bpf_ctx;

	return BPF_CORE_READ(run, is_return);
}

#endif
