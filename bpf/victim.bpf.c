// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The victim family: OOM-killed processes of the whole machine. A separate object, without cost
 * until one is killed.
 */
#include "kernel.h"
#include "leakmon_victim.h"

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 64 << 10);
} victims SEC(".maps");

__u64 victims_lost = 0;

/* Since 6.9 the event carries the task (mm/oom_kill.c, mark_oom_victim()); before, its PID. */
struct trace_event_raw_mark_victim___with_task {
	u32 __data_loc_comm;
} __attribute__((preserve_access_index));

/* include/linux/mm_types.h, since 6.2; the order is that of enum MM_FILEPAGES and so on. */
struct percpu_counter___of_pages {
	s64 count;
} __attribute__((preserve_access_index));

/* atomic_long_t. */
struct counter___of_bytes {
	s64 counter;
} __attribute__((preserve_access_index));

struct mm_struct___percpu {
	struct percpu_counter___of_pages rss_stat[4];
	struct counter___of_bytes pgtables_bytes;
} __attribute__((preserve_access_index));

static __always_inline u64 not_negative(s64 count)
{
	return count > 0 ? count : 0;
}

static __always_inline void victim_describe(struct lm_victim *victim, struct task_struct *task)
{
	struct mm_struct___percpu *mm = (void *)BPF_CORE_READ(task, mm);

	victim->pid = BPF_CORE_READ(task, tgid);
	BPF_CORE_READ_STR_INTO(&victim->comm, task, group_leader, comm);
	if (!mm || !bpf_core_field_exists(mm->rss_stat))
		return;
	victim->has_task = 1;
	victim->file = not_negative(BPF_CORE_READ(mm, rss_stat[0].count));
	victim->anon = not_negative(BPF_CORE_READ(mm, rss_stat[1].count));
	victim->swap = not_negative(BPF_CORE_READ(mm, rss_stat[2].count));
	victim->shmem = not_negative(BPF_CORE_READ(mm, rss_stat[3].count));
	if (bpf_core_field_exists(mm->pgtables_bytes))
		victim->page_tables = not_negative(BPF_CORE_READ(mm, pgtables_bytes.counter));
}

SEC("raw_tp/mark_victim")
int victim_marked(struct bpf_raw_tracepoint_args *context)
{
	struct lm_victim *victim = bpf_ringbuf_reserve(&victims, sizeof(*victim), 0);

	if (!victim) {
		__sync_fetch_and_add(&victims_lost, 1);
		return 0;
	}
	__builtin_memset(victim, 0, sizeof(*victim));
	if (bpf_core_field_exists(struct trace_event_raw_mark_victim___with_task, __data_loc_comm))
		victim_describe(victim, (struct task_struct *)context->args[0]);
	else
		victim->pid = (u32)context->args[0];
	bpf_ringbuf_submit(victim, 0);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
