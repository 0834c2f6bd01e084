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

#ifdef __TARGET_ARCH_x86
#include "arch_x86_64.bpf.h"
#else
#error "this processor has no bpf/arch_*.bpf.h yet"
#endif

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

struct uprobe_task {
	unsigned int depth; /* return probes pending */
	struct return_instance *return_instances;
};

struct task_struct {
	struct thread_info thread_info;
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
	struct completion *vfork_done; /* not NULL: the parent waits for its exec or its end */
	unsigned long sas_ss_sp;
	unsigned long sas_ss_size;
	struct thread_struct thread;
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

/* include/linux/thread_info.h: its value is the running kernel's. */
enum syscall_work_bit {
	SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH = 5,
};

/* include/linux/sched.h; *_WORKER: threads that the kernel made for itself in a process */
#define PF_EXITING 0x00000004 /* it runs none of the program's code any more */
#define PF_IO_WORKER 0x00000010
#define PF_USER_WORKER 0x00004000

/* include/linux/uprobes.h: beyond it the kernel leaves return probes out, and tells nobody */
#define MAX_URETPROBE_DEPTH 64

/* include/uapi/asm-generic/signal.h */
#define SIGSTOP 19
/* include/uapi/asm-generic/errno-base.h */
#define ENOENT 2
#define E2BIG 7
#define ENOMEM 12
#define EEXIST 17

/* Whether system calls of this thread may be turned into SIGSYS (prctl(2), Syscall User Dispatch).
 */
static __always_inline bool task_dispatches(struct task_struct *task)
{
	return task->thread_info.syscall_work >>
		       bpf_core_enum_value(enum syscall_work_bit,
					   SYSCALL_WORK_BIT_SYSCALL_USER_DISPATCH) &
	       1;
}

/* Since 6.13, and only in session programs, which run at a function's entry and at its return. */
extern bool bpf_session_is_return(void) __weak __ksym;

#endif
