// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs with which leakmon tests itself before it touches a target. */
#include "kernel.h"

__u64 feature_probe_entries = 0;
__u64 feature_probe_returns = 0;

SEC("uprobe")
int feature_probe_entry(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&feature_probe_entries, 1);
	return 0;
}

SEC("uprobe")
int feature_probe_return(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&feature_probe_returns, 1);
	return 0;
}

SEC("uprobe")
int feature_probe_session(struct pt_regs *ctx)
{
	__sync_fetch_and_add(
		session_run_is_return() ? &feature_probe_returns : &feature_probe_entries, 1);
	return 0;
}

__u32 dispatch_tgid = 0;
bool dispatch_found = false;

/* Whether any thread of the process `dispatch_tgid` is under Syscall User Dispatch. */
SEC("iter/task")
int feature_probe_dispatch(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task;

	if (task && (u32)task->tgid == dispatch_tgid && task_dispatches(task))
		dispatch_found = true;
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
