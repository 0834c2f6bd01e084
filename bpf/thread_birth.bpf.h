/* SPDX-License-Identifier: GPL-2.0-or-later */
/* pthread_create: from the call to the record of the new thread. */
#ifndef LEAKMON_BPF_THREAD_BIRTH_H
#define LEAKMON_BPF_THREAD_BIRTH_H

#include "thread_ledger.bpf.h"

/*
 * Reads the attributes of the new thread; unreadable ones (glibc's thrd_create) count as defaults.
 */
static __always_inline u32 attributes(u64 attr, u64 cookie)
{
	u32 flags = 0, word;

	if (!attr)
		return 0;
	if (!bpf_probe_read_user(&word, sizeof(word), (void *)(attr + (cookie & 0xff))) &&
	    word & (cookie >> 16 & 0xffff))
		flags |= LM_THREAD_DETACHED;
	if (!bpf_probe_read_user(&word, sizeof(word), (void *)(attr + (cookie >> 8 & 0xff))) &&
	    word & (u32)(s32)(short)(cookie >> 32))
		flags |= LM_THREAD_OWN_STACK;
	return flags;
}

/* The walk begins in the caller's frame: the function has only just been entered. */
static __always_inline u32 site_of_caller(struct pt_regs *ctx, struct thread *thread)
{
	struct lm_ledger *ledger = ledger_of(thread->slot);
	struct pt_regs caller;
	u64 return_address;

	if (!ledger || thread->slot == LM_SLOT_LOST || !caller_address(ctx, 0, &return_address))
		return LM_SITE_LOST;
	regs_set(&caller, return_address, caller_sp(ctx, 0), PT_REGS_FP(ctx));
	return site_current(&caller, thread, ledger);
}

static __always_inline int create_begin(struct pt_regs *ctx)
{
	u64 attr = PT_REGS_PARM2(ctx), cookie = bpf_get_attach_cookie(ctx);
	struct thread_call *call;
	struct thread *thread;

	call = bpf_task_storage_get(&thread_calls, bpf_get_current_task_btf(), 0,
				    BPF_LOCAL_STORAGE_GET_F_CREATE);
	thread = thread_current();
	if (!call || !thread) {
		count(&threads_lost);
		return session ? 1 : 0;
	}
	call->process = thread->process;
	call->id = 0;
	call->sp = caller_sp(ctx, 0);
	call->start_routine = PT_REGS_PARM3(ctx);
	call->site = site_of_caller(ctx, thread);
	call->flags = attributes(attr, cookie);
	call->self_below = cookie >> LM_ATTR_SELF_SHIFT;
	call->kind = THREAD_CALL_CREATE;
	/*
	 * Without attributes pthread_create has nothing to set in the new thread, so it cannot fail
	 * late.
	 */
	return session && (!attr || return_is_unseen()) ? 1 : 0;
}

/* pthread_create failed: a thread already cloned ends by itself and is not counted. */
static __always_inline int create_end(struct pt_regs *ctx, struct thread_call *call)
{
	struct lm_thread_ledger *ledger;

	call->kind = THREAD_CALL_NONE;
	if (!(u32)PT_REGS_RC(ctx) || !call->id)
		return 0;
	ledger = thread_ledger_of(call->process);
	if (record_remove(ledger, call->id) && ledger)
		count(&ledger->failed);
	return 0;
}

/*
 * Counts the reaping of a thread whose pthread_t is reused: by a call that has not returned yet, or
 * unseen. The call may return right now on another CPU: a detach is counted by whoever marks it, a
 * join by whoever takes the record.
 */
static __always_inline void count_reaped(struct lm_thread_ledger *ledger, struct lm_thread *record,
					 lm_thread_id id)
{
	u32 flags = record->flags;

	if (flags & LM_THREAD_DETACHING)
		flags = __sync_fetch_and_or(&record->flags, LM_THREAD_DETACHED);
	if (!record_remove(ledger, id) && !(flags & LM_THREAD_DETACHING))
		return;
	if (flags & LM_THREAD_DETACHED)
		return; /* counted when that became known */
	if (flags & LM_THREAD_DETACHING)
		count(&ledger->detached);
	else if (flags & LM_THREAD_JOINING)
		count(&ledger->joined);
	else if (!(flags & LM_THREAD_BEFORE_ATTACH)) /* may have been put on the ledger too late */
		count(&ledger->reaped_unseen);
}

static __always_inline void handle_take(const struct lm_thread_handle *key,
					struct lm_thread_ledger *ledger, lm_thread_id id)
{
	lm_thread_id *old = bpf_map_lookup_elem(&thread_handles, key), old_id;
	struct lm_thread *record;

	if (old) {
		old_id = *old;
		record = bpf_map_lookup_elem(&thread_records, &old_id);
		if (record)
			count_reaped(ledger, record, old_id);
	}
	if (bpf_map_update_elem(&thread_handles, key, &id, BPF_ANY))
		count(&ledger->dropped);
}

static __always_inline void thread_born(struct thread_call *call, struct task_struct *child)
{
	struct lm_thread_ledger *ledger = thread_ledger_open(call->process);
	struct lm_thread_handle key = {.handle = task_thread_pointer(child) - call->self_below,
				       .process = call->process};
	struct lm_thread record = {
		.process = call->process,
		.handle = key.handle,
		.born_ns = bpf_ktime_get_ns(),
		.start_routine = call->start_routine,
		.tid = child->pid,
		.site = call->site,
		.flags = call->flags,
	};
	lm_thread_id id = __sync_fetch_and_add(&thread_count, 1) + 1;
	u32 tid = child->pid;

	if (!ledger) {
		count(&threads_lost);
		return;
	}
	count(&ledger->created);
	if (call->flags & LM_THREAD_DETACHED)
		count(&ledger->detached);
	if (bpf_map_update_elem(&thread_records, &id, &record, BPF_NOEXIST)) {
		count(&ledger->dropped);
		return;
	}
	handle_take(&key, ledger, id);
	if (bpf_map_update_elem(&thread_tids, &tid, &id, BPF_ANY)) {
		/* Without it, the thread's end would go unseen. */
		count(&ledger->dropped);
		record_remove(ledger, id);
	}
	call->id = id;
}

#endif
