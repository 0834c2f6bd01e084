// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads that live now, of traced processes: what a read of the iterator gives. A block whose
 * thread is not among them was allocated by one that has ended; so the probes need not care.
 */
#include "process.bpf.h"

SEC("iter/task")
int living_threads(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *owner;
	struct lm_living living = {};

	if (!task || !task->mm || task->flags & PF_EXITING)
		return 0;
	/* What vfork made allocates on its parent's heap. */
	owner = heap_owner(task);
	living.process = process_key(owner, owner->self_exec_id);
	if (!bpf_map_lookup_elem(&process_index, &living.process))
		return 0;
	living.start_ns = task->start_time;
	living.tid = task->pid;
	bpf_seq_write(ctx->meta->seq, &living, sizeof(living));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
