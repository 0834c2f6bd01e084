// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The end of a process's ledger: exec and exit. User space purges the blocks, at leisure: a later
 * incarnation of the same PID has another key.
 */
#include "call.bpf.h"
#include "process.bpf.h"
#include "sharer.bpf.h"

/* Returns whether it had a ledger. */
static __always_inline bool process_close(struct task_struct *task, u64 exec_id, u32 state)
{
	lm_process_key key = process_key(task, exec_id);
	struct lm_process *process;
	u32 *slot = bpf_map_lookup_elem(&process_index, &key);

	process = slot ? bpf_map_lookup_elem(&processes, slot) : NULL;
	if (!process || process->state != LM_PROCESS_ALIVE)
		return false;
	process->ended_ns = bpf_ktime_get_ns();
	process->state = state;
	__sync_fetch_and_add(&processes_alive, -1);
	return true;
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
	/* Its process may have ended with another thread, and its slot may have been reused. */
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

static __always_inline void group_end(struct task_struct *task)
{
	u32 tgid = task->tgid;

	process_close(task, task->self_exec_id, LM_PROCESS_EXITED);
	/* User space removes its own entries; it may not know those made here. */
	if (follow_forks && target_of(task))
		bpf_map_delete_elem(&targets, &tgid);
}

SEC("tp_btf/sched_process_exit")
int BPF_PROG(process_exit, struct task_struct *task)
{
	struct sharer *sharer = bpf_task_storage_get(&sharers, task, 0, 0);

	if (sharer)
		sharer_check(sharer, task);
	thread_close(task);
	/* The main thread may go first: the process ends with its last thread. */
	if (BPF_CORE_READ(task, signal, live.counter) == 0)
		group_end(task);
	return 0;
}

/* 6.10 on: an exec, with the old memory still in place. */
SEC("tp_btf/sched_prepare_exec")
int BPF_PROG(process_prepare_exec, struct task_struct *task)
{
	struct sharer *sharer = bpf_task_storage_get(&sharers, task, 0, 0);

	if (sharer)
		sharer_check(sharer, task);
	return 0;
}

/*
 * A program that leakmon launched is stopped here, before its first instruction, until the
 * allocators that it maps are probed, so that its first allocation is seen. A PID is no identity:
 * the program ends, its children are still watched, and an unrelated process may get its number.
 */
static __always_inline bool stop_launched(struct task_struct *task)
{
	u64 start;

	if (!launched_tgid || (u32)task->tgid != launched_tgid)
		return false;
	start = BPF_CORE_READ(task, group_leader, start_boottime);
	/* The first exec is the launched program's: its process waits until then. */
	if (!launched_start)
		launched_start = start;
	if (launched_start != start)
		return false;
	bpf_send_signal(SIGSTOP);
	__sync_fetch_and_add(&launched_stops, 1);
	return true;
}

/* The target's counters belonged to the previous program. */
static __always_inline void target_execed(struct lm_target *target, bool by_thread, bool stopped)
{
	target->hidden_tasks = 0;
	target->late_execs = 0;
	if (!by_thread)
		return;
	/*
	 * Probes are bound to the main thread's task, which is gone: nothing is seen until they are
	 * reattached.
	 */
	target->late_execs = !stopped;
	__sync_fetch_and_add(&target->thread_execs, 1);
}

/* Announces a child with its own memory; if children are followed, it becomes a target. */
static __always_inline void child_announce(struct task_struct *child)
{
	struct lm_target target = {};
	u32 tgid = child->tgid;

	if (!announce)
		return;
	target.start_ticks = BPF_CORE_READ(child, group_leader, start_boottime) / LM_TICK_NS;
	if (follow_forks && bpf_map_update_elem(&targets, &tgid, &target, BPF_ANY))
		__sync_fetch_and_add(&events_lost, 1); /* its children will be unknown */
	event_send(LM_EVENT_FORK, process_key(child, child->self_exec_id), 0, 0, 0, 0);
}

/* The name is sent with the event: the process may end before anyone can ask for it. */
static __always_inline void exec_announce(struct task_struct *task)
{
	u64 name[2] = {};

	bpf_get_current_comm(name, sizeof(name));
	event_send(LM_EVENT_EXEC, process_key(task, task->self_exec_id), name[0], name[1], 0, 0);
}

SEC("tp_btf/sched_process_exec")
int BPF_PROG(process_exec, struct task_struct *task, int old_pid)
{
	struct sharer *sharer = bpf_task_storage_get(&sharers, task, 0, 0);
	struct lm_target *target = target_of(task);
	bool closed, stopped;

	closed = process_close(task, task->self_exec_id - 1, LM_PROCESS_EXECED);
	stopped = stop_launched(task);
	if (sharer) {
		bpf_task_storage_delete(&sharers, task);
		child_announce(task);
	}
	if (target)
		target_execed(target, old_pid != task->pid, stopped);
	if (target || closed || announce)
		exec_announce(task);
	return 0;
}

/* Only the leader of a new thread group is a new process. */
SEC("tp_btf/sched_process_fork")
int BPF_PROG(process_fork, struct task_struct *parent, struct task_struct *child)
{
	struct mm_struct *mm = BPF_CORE_READ(child, mm);

	if (!mm)
		return 0;
	if (mm == BPF_CORE_READ(parent, mm))
		sharer_begin(parent, child);
	else if (child->pid == child->tgid && target_of(parent))
		child_announce(child);
	return 0;
}

/*
 * A process that shares memory for longer than until its exec gets its own probes. At the fork's
 * event it is not yet known whether the parent waits for it (vfork).
 */
SEC("tp_btf/sched_wakeup_new")
int BPF_PROG(process_wakes, struct task_struct *task)
{
	struct sharer *sharer;

	if (task->pid != task->tgid || BPF_CORE_READ(task, vfork_done))
		return 0;
	sharer = bpf_task_storage_get(&sharers, task, 0, 0);
	if (sharer)
		event_send(LM_EVENT_SHARE, process_key(task, task->self_exec_id), sharer->tgid, 0,
			   0, 0);
	return 0;
}

/* Since 6.9 the event carries the task (mm/oom_kill.c, mark_oom_victim()); before, its PID. */
struct trace_event_raw_mark_victim___of_task {
	u32 __data_loc_comm;
} __attribute__((preserve_access_index));

static __always_inline u32 victim_tgid(u64 argument)
{
	struct task_struct *task = (struct task_struct *)argument;

	if (bpf_core_field_exists(struct trace_event_raw_mark_victim___of_task, __data_loc_comm))
		return BPF_CORE_READ(task, tgid);
	return (u32)argument;
}

/*
 * It is being killed but has not ended: its blocks stay on the live set until user space purges
 * them.
 */
SEC("raw_tp/mark_victim")
int process_victim(struct bpf_raw_tracepoint_args *context)
{
	u32 tgid = victim_tgid(context->args[0]);

	if (bpf_map_lookup_elem(&targets, &tgid))
		event_send(LM_EVENT_VICTIM, (u64)tgid << 32, 0, 0, 0, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
