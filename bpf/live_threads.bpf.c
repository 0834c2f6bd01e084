// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists the live threads of traced processes, for a reader of the iterator. A block of any other
 * thread was allocated by a thread that has ended; so the probes need not track ends.
 */
#include "process.bpf.h"
#include "sharer.bpf.h"

/*
 * Notes a sharer that predates the attach. A process on its own heap differs from it in the mm's
 * owner, so no other task gets storage.
 */
static __always_inline void sharer_meet(struct task_struct *task, struct task_struct *owner)
{
	struct sharer *sharer;

	if (!target_of(owner))
		return;
	sharer = bpf_task_storage_get(&sharers, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!sharer)
		return;
	sharer->tgid = BPF_CORE_READ(owner, tgid);
	sharer->start_ticks = BPF_CORE_READ(owner, group_leader, start_boottime) / LM_TICK_NS;
	sharer_check(sharer, task);
}

SEC("iter/task")
int live_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *owner;
	struct lm_live_thread live = {};

	if (!task || !BPF_CORE_READ(task, mm) || task->flags & PF_EXITING)
		return 0;
	/* A vfork child allocates on its parent's heap. */
	owner = heap_owner(task);
	if (BPF_CORE_READ(owner, tgid) != task->tgid)
		sharer_meet(task, owner);
	live.process = process_key(owner, BPF_CORE_READ(owner, self_exec_id));
	if (!bpf_map_lookup_elem(&process_index, &live.process))
		return 0;
	live.start_ns = task->start_time;
	live.tid = task->pid;
	bpf_seq_write(ctx->meta->seq, &live, sizeof(live));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
