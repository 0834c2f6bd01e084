/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Processes that share a target's memory: children of vfork (posix_spawn, too) and clone(CLONE_VM),
 * until an exec. Breakpoints are in the memory, so these processes hit them; but a probe of
 * uprobe_multi checks whether the thread group is the target's (uprobe_prog_run,
 * kernel/trace/bpf_trace.c), and ignores them.
 *
 * Hardly any of them touches the heap: most exec at once. The kernel creates task->utask at a
 * task's first breakpoint (handle_swbp, kernel/events/uprobes.c), which is therefore evidence of a
 * hit.
 */
#ifndef LEAKMON_BPF_SHARER_H
#define LEAKMON_BPF_SHARER_H

#include "process.bpf.h"

struct sharer {
	u64 start_ticks; /* of the memory's owner: see lm_target */
	u32 tgid;
	bool counted;
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct sharer);
} sharers __weak SEC(".maps");

/* Notes a new task that shares a target's memory; its own children are noted, too. */
static __always_inline void sharer_begin(struct task_struct *parent, struct task_struct *child)
{
	struct sharer *made, *sharer = bpf_task_storage_get(&sharers, parent, 0, 0);
	struct sharer begun = {.tgid = parent->tgid};

	if (sharer) {
		begun.tgid = sharer->tgid;
		begun.start_ticks = sharer->start_ticks;
	} else if (child->pid != child->tgid || !target_of(parent)) {
		return; /* a thread of the target itself, or no target */
	} else {
		begun.start_ticks =
			BPF_CORE_READ(parent, group_leader, start_boottime) / LM_TICK_NS;
	}
	made = bpf_task_storage_get(&sharers, child, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!made) {
		__sync_fetch_and_add(&events_lost, 1);
		return;
	}
	made->tgid = begun.tgid;
	made->start_ticks = begun.start_ticks;
}

static __always_inline bool sharer_is_probed(struct task_struct *task)
{
	struct lm_target *own = target_of(task);

	return own && own->followed;
}

static __always_inline void sharer_count(struct sharer *sharer, struct task_struct *task)
{
	u32 tgid = sharer->tgid;
	struct lm_target *target = bpf_map_lookup_elem(&targets, &tgid);

	if (!target || target->start_ticks != sharer->start_ticks)
		return;
	target->hidden_tgid = task->tgid;
	__sync_fetch_and_add(&target->hidden_tasks, 1);
}

/*
 * Charges the target if `task` hit a breakpoint unseen by any probe. Called before the task
 * releases the memory, because the evidence goes with it. If that is too late (before 6.16 an exit
 * is reported afterwards), possible hits are charged.
 */
static __always_inline void sharer_check(struct sharer *sharer, struct task_struct *task)
{
	if (!sees_group_only || sharer->counted ||
	    (BPF_CORE_READ(task, mm) && !BPF_CORE_READ(task, utask)) || sharer_is_probed(task))
		return;
	sharer->counted = true;
	sharer_count(sharer, task);
}

#endif
