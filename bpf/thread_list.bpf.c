// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Lists the threads of one process, for user space to read like a file. Otherwise user space would
 * need one file per thread for their TIDs in the process's own PID namespace, and could not learn
 * the process's key.
 */
#include "maps.bpf.h"
#include "process.bpf.h"

#include "leakmon_thread.h"

__u32 thread_list_tgid = 0;
/* The process is to get a slot, that is, to appear in reports. */
bool thread_list_opens = false;

/* Returns the TID in the innermost namespace; 0: the thread is gone. */
static __always_inline u32 inner_tid(struct task_struct *task)
{
	/*
	 * A pointer that the verifier does not track: older ones refuse arithmetic on tracked ones.
	 */
	struct pid *pid = BPF_CORE_READ(task, thread_pid);
	u64 level = BPF_CORE_READ(pid, level);
	u32 number = 0;

	bpf_probe_read_kernel(&number, sizeof(number),
			      (char *)&pid->numbers[0].nr +
				      level * bpf_core_type_size(struct upid));
	return number;
}

SEC("iter/task")
int thread_list(struct bpf_iter__task *ctx)
{
	struct task_struct *task = ctx->task, *owner;
	struct lm_task listed = {};
	struct mm_struct *mm;
	lm_process_key key;
	u32 cause;

	if (!task || task->tgid != thread_list_tgid)
		return 0;
	mm = BPF_CORE_READ(task, mm);
	owner = heap_owner(task);
	key = process_key(owner, BPF_CORE_READ(owner, self_exec_id));
	if (thread_list_opens && mm && !bpf_map_lookup_elem(&process_index, &key))
		process_open(owner, key, &cause);
	listed.process = key;
	listed.tid = task->pid;
	listed.inner_tid = inner_tid(task);
	listed.flags = mm ? 0 : LM_TASK_WITHOUT_MEMORY;
	if (task->flags & PF_EXITING)
		listed.flags |= LM_TASK_EXITING;
	bpf_seq_write(ctx->meta->seq, &listed, sizeof(listed));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
