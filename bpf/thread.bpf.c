// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads family: creation, end and reaping of the threads of probed processes.
 *
 *   created   pthread_create is entered (stack, start routine, attributes), and the same thread
 *             then clones one of its own thread group: the child's thread pointer is its pthread_t
 *   ended     sched_process_exit
 *   detached  by attribute, or pthread_detach returned 0
 *   joined    the place in the C library that frees the descriptor for a join was reached, or
 *             (in libraries without such a place) a join function is about to return 0
 *
 * No join function gets a return probe: they are cancellation points. A join that times out, finds
 * the thread busy or is cancelled reaches neither place.
 *
 * A pthread_t can be reused as soon as it is reaped, on another CPU. So records have their own
 * identities, and an operation of several events keeps the identity with which it began.
 */
#define LEAKMON_UNWIND_ELSEWHERE
#define LEAKMON_SITES_ELSEWHERE
#include "own_stack.bpf.h"
#include "thread_birth.bpf.h"
#include "thread_reap.bpf.h"

/* include/linux/sched/signal.h */
#define SIGNAL_GROUP_EXIT 0x4

SEC("tp_btf/sched_process_fork")
int BPF_PROG(thread_fork, struct task_struct *parent, struct task_struct *child)
{
	struct thread_call *call;

	if (child->tgid != parent->tgid)
		return 0;
	call = bpf_task_storage_get(&thread_calls, parent, 0, 0);
	if (call && call->kind == THREAD_CALL_CREATE && !call->id)
		thread_born(call, child);
	return 0;
}

static __always_inline void end_untracked(struct task_struct *task)
{
	struct lm_thread_ledger *ledger;

	if (task->pid == task->tgid || task->flags & (PF_IO_WORKER | PF_USER_WORKER))
		return;
	ledger = thread_ledger_of(process_of(task));
	if (ledger)
		count(&ledger->untracked_ends);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(thread_exit, struct task_struct *task)
{
	struct lm_thread_ledger *ledger;
	struct lm_thread *record;
	lm_thread_id *found, id;
	u32 tid = task->pid;

	/* A thread that ends with its process leaves nothing behind. */
	if (BPF_CORE_READ(task, signal, flags) & SIGNAL_GROUP_EXIT ||
	    BPF_CORE_READ(task, signal, group_exec_task))
		return 0;
	found = bpf_map_lookup_elem(&thread_tids, &tid);
	if (!found) {
		end_untracked(task);
		return 0;
	}
	id = *found;
	bpf_map_delete_elem(&thread_tids, &tid);
	record = bpf_map_lookup_elem(&thread_records, &id);
	if (!record) /* joined: on older kernels the joiner wakes before this event */
		return 0;
	ledger = thread_ledger_of(record->process);
	if (ledger)
		count(&ledger->ended);
	bpf_probe_read_kernel(record->name, sizeof(record->name), task->comm);
	/* The later of this event and pthread_detach's return takes it off the ledger. */
	__sync_lock_test_and_set(&record->died_ns, bpf_ktime_get_ns());
	if (record->flags & LM_THREAD_DETACHED)
		record_remove(ledger, id);
	return 0;
}

/* glibc is about to free the descriptor of the joined thread. */
SEC("uprobe")
int thread_freed(struct pt_regs *ctx)
{
	lm_process_key process = process_of(bpf_get_current_task_btf());
	struct lm_thread_handle key = {.handle = PT_REGS_PARM1(ctx), .process = process};

	keep_own_stack(ctx);
	reap(process, id_of(process, key.handle));
	/* This pthread_t cannot be reused before the function returns. */
	bpf_map_delete_elem(&thread_handles, &key);
	return 0;
}

SEC("uprobe")
int thread_join(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	call_note(ctx, THREAD_CALL_JOIN, LM_THREAD_JOINING);
	return 0;
}

/* On the `ret` of a join function. */
SEC("uprobe")
int thread_joined(struct pt_regs *ctx)
{
	struct thread_call *call =
		bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), 0, 0);

	keep_own_stack(ctx);
	if (!call || call->kind != THREAD_CALL_JOIN || call->sp != caller_sp(ctx, 0))
		return 0;
	call->kind = THREAD_CALL_NONE;
	/* A thread already replaced by another was counted at that time. */
	if (!(u32)PT_REGS_RC(ctx) && (!call->id || bpf_map_lookup_elem(&thread_records, &call->id)))
		reap(call->process, call->id);
	return 0;
}

static __noinline int call_end(struct pt_regs *ctx)
{
	struct thread_call *call =
		bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), 0, 0);

	/* The stack pointer is back to the caller's. */
	if (!call || call->sp != PT_REGS_SP(ctx))
		return 0;
	if (call->kind == THREAD_CALL_CREATE)
		return create_end(ctx, call);
	return call->kind == THREAD_CALL_DETACH ? detach_end(ctx, call) : 0;
}

/* In heap.bpf.c: a session program also runs at the return; otherwise thread_return does. */
extern int session_is_return(void);

SEC("uprobe")
int thread_return(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	return call_end(ctx);
}

SEC("uprobe")
int thread_create(struct pt_regs *ctx)
{
	keep_own_stack(ctx);
	return session_is_return() ? call_end(ctx) : create_begin(ctx);
}

SEC("uprobe")
int thread_detach(struct pt_regs *ctx)
{
	struct thread_call *call;

	keep_own_stack(ctx);
	if (session_is_return())
		return call_end(ctx);
	call = call_note(ctx, THREAD_CALL_DETACH, LM_THREAD_DETACHING);
	if (call && !call->id)
		call->kind = THREAD_CALL_NONE;
	if (!call || !call->id)
		return session ? 1 : 0;
	if (!return_is_unseen())
		return 0;
	detach_settle(call);
	return session ? 1 : 0;
}

char LICENSE[] SEC("license") = "GPL";
