// SPDX-License-Identifier: GPL-2.0-or-later
/* Programs for the trials that leakmon makes on itself before it touches a target. */
#include "kernel.h"

__u64 trial_entries = 0;
__u64 trial_returns = 0;

SEC("uprobe")
int trial_entry(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&trial_entries, 1);
	return 0;
}

SEC("uprobe")
int trial_return(struct pt_regs *ctx)
{
	__sync_fetch_and_add(&trial_returns, 1);
	return 0;
}

SEC("uprobe")
int trial_session(struct pt_regs *ctx)
{
	__sync_fetch_and_add(bpf_session_is_return() ? &trial_returns : &trial_entries, 1);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
