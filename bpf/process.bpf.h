/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The caller: the process incarnation, its slot, and the state of the calling thread. */
#ifndef LEAKMON_BPF_PROCESS_H
#define LEAKMON_BPF_PROCESS_H

#include "maps.bpf.h"

/*
 * BPF_CORE_READ follows kernel pointers wherever a few nanoseconds do not matter. For each pointer
 * that a program follows directly, the verifier (since 6.3: type_is_trusted() and related
 * functions) searches all kernel types by name, up to four times, at every visit: half of the
 * loading time.
 */

/*
 * See lm_process_key. exec_id is a parameter because an exec closes the previous program's ledger.
 */
static __always_inline lm_process_key process_key(struct task_struct *task, u64 exec_id)
{
	u64 ticks = BPF_CORE_READ(task, group_leader, start_boottime) / LM_TICK_NS;
	u32 epoch = (u32)ticks + (u32)exec_id * LM_EPOCH_EXEC;

	return (u64)(u32)BPF_CORE_READ(task, tgid) << 32 | epoch;
}

/* Returns the watched target, or NULL: `task` may have the PID of an ended one. */
static __always_inline struct lm_target *target_of(struct task_struct *task)
{
	u32 tgid = BPF_CORE_READ(task, tgid);
	struct lm_target *target = bpf_map_lookup_elem(&targets, &tgid);
	u64 start;

	if (!target)
		return NULL;
	start = BPF_CORE_READ(task, group_leader, start_boottime);
	return target->start_ticks == start / LM_TICK_NS ? target : NULL;
}

static __always_inline struct lm_ledger *ledger_of(u32 slot)
{
	return bpf_map_lookup_elem(&ledgers, &slot);
}

static __always_inline void ledger_add(u64 *counter, u64 amount)
{
	/* Per CPU, but a preempted program may resume after another one counted here. */
	__sync_fetch_and_add(counter, amount);
}

/* Counts an allocation that is missing from the live set. */
static __always_inline void ledger_drop(struct lm_ledger *ledger, u32 cause)
{
	ledger_add(&ledger->allocations, 1);
	barrier_var(cause); /* or older verifiers lose the bound */
	if (cause < LM_DROP_MAX_)
		ledger_add(&ledger->dropped[cause], 1);
	ledger_add(&ledger->settled, 1);
}

/* NO_ROWS is no loss: truncated stacks are counted, and every report rechecks. */
static __always_inline void event_count_lost(u32 type)
{
	if (type == LM_EVENT_ALLOCATE || type == LM_EVENT_FREE)
		__sync_fetch_and_add(&calls_lost, 1);
	else if (type != LM_EVENT_NO_ROWS)
		__sync_fetch_and_add(&events_lost, 1);
}

static __always_inline void event_send(u32 type, lm_process_key process, u64 address, u64 size,
				       u32 site, u32 function)
{
	struct lm_event *event;

	event = bpf_ringbuf_reserve(&events, sizeof(*event), 0);
	if (!event) {
		event_count_lost(type);
		return;
	}
	*event = (struct lm_event){
		.type = type,
		.tid = (u32)bpf_get_current_pid_tgid(),
		.process = process,
		.address = address,
		.size = size,
		.time_ns = bpf_ktime_get_ns(),
		.site = site,
		.function = function,
	};
	bpf_ringbuf_submit(event, 0);
}

/* Returns the traced parent's key: a forked child's frees of inherited blocks are not errors. */
static __always_inline lm_process_key process_traced_parent(struct task_struct *leader)
{
	struct task_struct *parent = BPF_CORE_READ(leader, real_parent);
	lm_process_key key;

	if (!parent)
		return 0;
	key = process_key(parent, BPF_CORE_READ(parent, self_exec_id));
	return bpf_map_lookup_elem(&process_index, &key) ? key : 0;
}

/*
 * Returns whether an entry could not be added for lack of room. Up to 6.3 the kernel returned an
 * int here, and the upper half of the register is undefined: these results are ints.
 */
static __always_inline bool map_is_full(int error)
{
	return error == -E2BIG || error == -ENOMEM;
}

static __always_inline u32 slot_take(void)
{
	u32 slot = LM_SLOT_LOST;

	if (!bpf_map_pop_elem(&free_slots, &slot))
		return slot;
	slot = __sync_fetch_and_add(&process_count, 1);
	if (slot < max_processes)
		return slot;
	__sync_fetch_and_add(&process_count, -1);
	return LM_SLOT_LOST;
}

/* Returns a slot that proved unnecessary. See enum lm_index_state. */
static __always_inline void slot_give_back(struct lm_process *process, u32 slot)
{
	process->key = 0;
	if (!bpf_map_push_elem(&free_slots, &slot, BPF_ANY))
		return;
	process->state = LM_PROCESS_STRAY;
	__sync_fetch_and_add(&strays, 1);
}

/* Returns the slot of a new process; LM_SLOT_LOST on failure, and sets *cause. */
static __noinline u32 process_open(struct task_struct *owner, lm_process_key key, u32 *cause)
{
	struct task_struct *leader = BPF_CORE_READ(owner, group_leader);
	struct lm_process *process;
	u32 slot = slot_take();
	int error;

	*cause = LM_DROP_PROCESSES_FULL;

	process = bpf_map_lookup_elem(&processes, &slot);
	if (!process || slot == LM_SLOT_LOST)
		return LM_SLOT_LOST;
	process->parent = process_traced_parent(leader);
	process->start_boottime_ns = BPF_CORE_READ(leader, start_boottime);
	process->tgid = BPF_CORE_READ(owner, tgid);
	process->state = LM_PROCESS_ALIVE;
	bpf_probe_read_kernel(process->comm, sizeof(process->comm), leader->comm);
	process->key = key;
	error = bpf_map_update_elem(&process_index, &key, &slot, BPF_NOEXIST);
	if (error) {
		u32 *winner = bpf_map_lookup_elem(&process_index, &key);

		if (!map_is_full(error))
			*cause = LM_DROP_BUSY;
		slot_give_back(process, slot); /* usually because another thread was first */
		return winner ? *winner : LM_SLOT_LOST;
	}
	__sync_fetch_and_add(&processes_alive, 1);
	return slot;
}

/* Returns the process that owns the heap of `task`: for a vfork child, its parent. */
static __always_inline struct task_struct *heap_owner(struct task_struct *task)
{
	struct task_struct *owner = BPF_CORE_READ(task, mm, owner);

	return owner ? owner : task;
}

/* Returns the key of that process. */
static __always_inline lm_process_key heap_key(struct task_struct *task)
{
	struct task_struct *owner = heap_owner(task);

	return process_key(owner, BPF_CORE_READ(owner, self_exec_id));
}

/* A thread's first event, or its first after an exec: no call is in flight. */
static __always_inline void thread_reset(struct thread *thread, struct task_struct *task)
{
	thread->calls[0].kind = CALL_NONE;
	thread->calls[1].kind = CALL_NONE;
	thread->inner[0].kind = CALL_NONE;
	thread->inner[1].kind = CALL_NONE;
	thread->unfollowed[0].sp = 0;
	thread->unfollowed[1].sp = 0;
	thread->throwing[0].pending = false;
	thread->throwing[1].pending = false;
	thread->returned = 0;
	thread->freed = 0;
	thread->walk.generation = 0;
	thread->exec_id = task->self_exec_id;
	thread->process = heap_key(task);
}

/*
 * Fills in the process of the calling thread. Returns false if the thread is ending. A global
 * function, so that the verifier checks it once per program, not at every call.
 */
__weak __noinline bool thread_identify(struct thread *thread)
{
	struct task_struct *task = bpf_get_current_task_btf();
	lm_process_key key; /* on the stack: older verifiers accept keys nowhere else */
	u32 *slot, cause = 0;

	if (!thread || !BPF_CORE_READ(task, mm))
		return false;
	if (!thread->process || thread->exec_id != task->self_exec_id)
		thread_reset(thread, task);
	thread->recycled = recycle_generation;
	key = thread->process;
	slot = bpf_map_lookup_elem(&process_index, &key);
	thread->slot = slot ? *slot : process_open(heap_owner(task), key, &cause);
	thread->slot_cause = cause;
	/* Without a slot the next call tries again: slots become free. */
	thread->known = thread->slot != LM_SLOT_LOST;
	return true;
}

/*
 * Returns the calling thread's state, with its process filled in; NULL if the kernel has no memory
 * for it, or the thread is ending.
 */
static __always_inline struct thread *thread_current(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread *thread;

	thread = bpf_task_storage_get(&threads, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!thread)
		return NULL;
	if (thread->known && thread->exec_id == task->self_exec_id &&
	    thread->recycled == recycle_generation)
		return thread;
	return thread_identify(thread) ? thread : NULL;
}

/* Returns the address that return probes substitute for a return address; 0: none seen yet. */
static __always_inline u64 return_trampoline(void)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return BPF_CORE_READ(task, mm, uprobes_state.xol_area, vaddr) & machine_frame.code_mask;
}

/*
 * Returns why the return of a function that is entered now cannot be followed: the cause of a drop,
 * or LM_DROP_MAX_ if it can. The kernel limits the return probes of a thread, whichever tool they
 * belong to (prepare_uretprobe, kernel/events/uprobes.c). On every call's path: the pointer is
 * followed directly, and as a global function it is verified once per program.
 */
__weak __noinline u32 return_obstacle(void)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct uprobe_task *utask = task->utask;

	if (dispatch_kills && session && task_dispatches(task))
		return LM_DROP_DISPATCH;
	return utask && utask->depth >= MAX_URETPROBE_DEPTH ? LM_DROP_DEPTH : LM_DROP_MAX_;
}

#endif
