/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins and detaches: how a thread leaves the ledger. */
#ifndef LEAKMON_BPF_THREAD_REAP_H
#define LEAKMON_BPF_THREAD_REAP_H

#include "thread_ledger.bpf.h"

static __always_inline void reap(lm_process_key process, lm_thread_id id)
{
	struct lm_thread_ledger *ledger = thread_ledger_open(process);

	if (!ledger)
		count(&threads_lost);
	else if (id && record_remove(ledger, id))
		count(&ledger->joined);
	else
		count(&ledger->untracked_joins);
}

static __always_inline struct thread_call *call_note(struct pt_regs *ctx, u32 kind, u32 flag)
{
	struct lm_thread *record;
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_call *call;

	call = bpf_task_storage_get(&thread_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call) {
		count(&threads_lost);
		return NULL;
	}
	/* musl detaches an ended thread by a jump to pthread_join: it remains a detach. */
	if (kind == THREAD_CALL_JOIN && call->kind == THREAD_CALL_DETACH &&
	    call->sp == caller_sp(ctx, 0) && call->id)
		return call;
	call->process = process_of(task);
	call->id = id_of(call->process, PT_REGS_PARM1(ctx));
	call->sp = caller_sp(ctx, 0);
	call->kind = kind;
	record = bpf_map_lookup_elem(&thread_records, &call->id);
	if (record)
		__sync_fetch_and_or(&record->flags, flag);
	return call;
}

/* The thread is detached, or about to be: only a call that is itself an error fails. */
static __always_inline int detach_settle(struct thread_call *call)
{
	struct lm_thread_ledger *ledger;
	struct lm_thread *record;

	call->kind = THREAD_CALL_NONE;
	ledger = thread_ledger_of(call->process);
	record = bpf_map_lookup_elem(&thread_records, &call->id);
	if (!record)
		return 0;
	if (!(__sync_fetch_and_or(&record->flags, LM_THREAD_DETACHED) & LM_THREAD_DETACHED) &&
	    ledger)
		count(&ledger->detached);
	if (record->died_ns || !record->tid)
		record_remove(ledger, call->id);
	return 0;
}

static __always_inline int detach_end(struct pt_regs *ctx, struct thread_call *call)
{
	if (!(u32)PT_REGS_RC(ctx))
		return detach_settle(call);
	call->kind = THREAD_CALL_NONE;
	return 0;
}

#endif
