// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a process' books: exec and exit. Blocks are purged by user space, which may take its
 * time: a later incarnation of the same PID has another key.
 */
#include "call.bpf.h"
#include "process.bpf.h"

static __always_inline void process_close(struct task_struct *task, u64 exec_id, u32 state,
					  u32 event)
{
	lm_process_key key = process_key(task, exec_id);
	struct lm_process *process;
	u32 *slot = bpf_map_lookup_elem(&process_index, &key);

	process = slot ? bpf_map_lookup_elem(&processes, slot) : NULL;
	if (!process || process->state != LM_PROCESS_ALIVE)
		return;
	process->ended_ns = bpf_ktime_get_ns();
	process->state = state;
	__sync_fetch_and_add(&processes_alive, -1);
	event_send(event, key, 0, 0, 0, 0);
}

/* A thread killed inside realloc takes the old block's record with it. */
static __always_inline void thread_close(struct task_struct *task)
{
	struct thread *thread = bpf_task_storage_get(&threads, task, 0, 0);
	struct lm_ledger *ledger;
	lm_process_key key;
	u32 *slot;

	if (!thread || !thread->known)
		return;
	key = thread->process;
	/* Its process may have ended with another thread, and its slot may be somebody else's. */
	slot = bpf_map_lookup_elem(&process_index, &key);
	ledger = ledger_of(slot ? *slot : LM_SLOT_LOST);
	if (!ledger)
		return;
	call_abandon(&thread->calls[0], ledger);
	call_abandon(&thread->calls[1], ledger);
	call_abandon(&thread->inner[0], ledger);
	call_abandon(&thread->inner[1], ledger);
	throwing_abandon(&thread->throwing[0], ledger);
	throwing_abandon(&thread->throwing[1], ledger);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	thread_close(task);
	/* The main thread may go first: the process ends with its last thread. */
	if (task->signal->live.counter == 0)
		process_close(task, task->self_exec_id, LM_PROCESS_EXITED, LM_EVENT_EXIT);
	return 0;
}

/*
 * A program that leakmon launched is stopped here, before its first instruction, until the
 * allocators that it maps are probed: its first allocation is seen.
 */
SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task)
{
	process_close(task, task->self_exec_id - 1, LM_PROCESS_EXECED,
		      announce ? LM_EVENT_NONE : LM_EVENT_EXEC);
	if (announce)
		event_send(LM_EVENT_EXEC, process_key(task, task->self_exec_id), 0, 0, 0, 0);
	if (launched_tgid && (u32)task->tgid == launched_tgid) {
		bpf_send_signal(SIGSTOP);
		event_send(LM_EVENT_STOPPED, process_key(task, task->self_exec_id), 0, 0, 0, 0);
	}
	return 0;
}

/* A thread is no process: only the leader of a new thread group is. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	lm_process_key key = process_key(parent, parent->self_exec_id);

	/* What vfork made works on its parent's heap, until it execs. */
	if (!announce || child->pid != child->tgid || child->mm == parent->mm ||
	    !bpf_map_lookup_elem(&process_index, &key))
		return 0;
	event_send(LM_EVENT_FORK, process_key(child, child->self_exec_id), 0, 0, 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
