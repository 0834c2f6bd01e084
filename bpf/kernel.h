/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The few kernel structs that leakmon reads, relocated against the running kernel's BTF (CO-RE).
 * Only fields that exist from 6.1 on: a moved field is found, a removed one fails the load.
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
	unsigned long vaddr; /* the trampoline that a uretprobe substitutes for a return address */
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

/* A return address that a return probe replaced, and its place on the stack. */
struct return_instance {
	unsigned long stack;
	unsigned long orig_ret_vaddr;
	struct return_instance *next;
};

struct completion;

struct bpf_run_ctx;

/* Begins with the bpf_run_ctx of a running session program; since 6.13. */
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
	struct bpf_run_ctx *bpf_ctx;   /* of the running BPF program */
	struct completion *vfork_done; /* not NULL: the parent waits for its exec or its end */
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	char comm[16];
};

/* include/linux/pid.h: one number per PID namespace, the initial one first. */
struct upid {
	int nr;
};

struct pid {
	unsigned int level;
	struct upid numbers[1];
};

/* The argument of a task iterator's program. */
struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

/* include/linux/sched.h; *_WORKER: threads that the kernel created for itself in a process */
#define PF_EXITING 0x00000004 /* it no longer runs the program's code */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000

/* include/linux/uprobes.h: beyond this the kernel silently omits return probes */
#define MAX_URETPROBE_DEPTH 64

/* include/uapi/asm-generic/signal.h */
#define SIGSTOP 19
/* include/uapi/asm-generic/errno-base.h */
#define ENOENT 2
#define E2BIG 7
#define ENOMEM 12
#define EEXIST 17

/*
 * The differences between processors. Arguments, results, the stack and frame pointers are read by
 * libbpf's names (PT_REGS_PARM1, PT_REGS_PARM1_SYSCALL, ...); the header in the processor's folder,
 * which the Makefile chooses (ARCH), has the rest:
 *
 *   caller_sp(), caller_address()  the stack pointer and the return address of the caller of the
 *                       function just entered, or after the stack pointer has moved down by
 *                       `words` words. The address may be unreadable.
 *   return_probe_place()  the `stack` of a return_instance of the call
 *   return_probe_waits()  whether that call has a return probe and has not returned
 *   regs_set()          sets the registers with which a walk begins
 *   regs_link()         the register in which a call leaves the return address; 0: none
 *   regs_are_of_user()
 *   register_at(), STACK_POINTER, condition_holds()  as instructions and attach cookies number them
 *   syscall_number()    at sys_exit; NR_MMAP, NR_MUNMAP, NR_BRK, NR_MREMAP
 *   task_is_compat(), syscall_is_mapping_compat(), NR_COMPAT_BRK  calls of 32-bit programs
 *   task_dispatches()   whether its system calls may be turned into SIGSYS (prctl(2), Syscall User
 *                       Dispatch)
 *   task_thread_pointer()  pthread_self() is a fixed distance below (code_thread_self_below())
 *   USER_MAX_ADDRESS, TRAMPOLINE_BITS
 *   machine_frame       the layout of frames (leakmon_abi.h)
 */
#include "machine.bpf.h"

/*
 * Valid only in session programs, which run at a function's entry and at its return. Reads the same
 * field as bpf_session_is_return(), which has no argument before 7.0 and one since: libbpf refuses
 * an object that declares the other form.
 */
static __always_inline bool session_run_is_return(void)
{
	const struct bpf_session_run_ctx *run = (void *)bpf_get_current_task_btf()->bpf_ctx;

	return BPF_CORE_READ(run, is_return);
}

#endif
