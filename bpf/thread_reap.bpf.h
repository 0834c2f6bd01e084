/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Joins and detaches: how a thread leaves the books. */
#ifndef LEAKMON_BPF_THREAD_REAP_H
#define LEAKMON_BPF_THREAD_REAP_H

#include "thread_books.bpf.h"

static __always_inline void reap(lm_process_key process, lm_thread_id id)
{
	struct lm_thread_books *books = books_open(process);

	if (!books)
		count(&threads_lost);
	else if (id && record_remove(books, id))
		count(&books->joined);
	else
		count(&books->untracked_joins);
}

static __always_inline struct thread_call *call_note(struct pt_regs *ctx, u32 kind, u32 flag)
{
	struct lm_thread *record;
	struct task_struct *task = bpf_get_current_task_btf();
	struct thread_call *call;

	call = bpf_task_storage_get(&thread_calls, task, 0, BPF_LOCAL_STORAGE_GET_F_CREATE);
	if (!call)
		return NULL;
	/* musl detaches a thread that has ended by a jump to pthread_join: it remains a detach. */
	if (kind == THREAD_CALL_JOIN && call->kind == THREAD_CALL_DETACH &&
	    call->sp == PT_REGS_SP(ctx) && call->id)
		return call;
	call->process = process_of(task);
	call->id = id_of(call->process, PT_REGS_PARM1(ctx));
	call->sp = PT_REGS_SP(ctx);
	call->kind = kind;
	record = bpf_map_lookup_elem(&thread_records, &call->id);
	if (record)
		__sync_fetch_and_or(&record->flags, flag);
	return call;
}

/* The thread is detached, or as good as: only a call that is an error in itself fails. */
static __always_inline int detach_settle(struct thread_call *call)
{
	struct lm_thread_books *books;
	struct lm_thread *record;

	call->kind = THREAD_CALL_NONE;
	books = books_of(call->process);
	record = bpf_map_lookup_elem(&thread_records, &call->id);
	if (!record)
		return 0;
	if (!(__sync_fetch_and_or(&record->flags, LM_THREAD_DETACHED) & LM_THREAD_DETACHED) &&
	    books)
		count(&books->detached);
	if (record->died_ns || !record->tid)
		record_remove(books, call->id);
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
