// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The threads that live now, of traced processes: what a read of the iterator gives. A block whose
 * thread is not among them was allocated by one that has ended; so the probes need not care.
 */
#include "process.bpf.h"

/* include/linux/sched.h: it runs none of the program's code any more. */
#define PF_EXITING 0x4

#pragma clang attribute push(__attribute__((preserve_access_index)), apply_to = record)

struct bpf_iter_meta {
	struct seq_file *seq;
};

struct bpf_iter__task {
	struct bpf_iter_meta *meta;
	struct task_struct *task;
};

#pragma clang attribute pop

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
