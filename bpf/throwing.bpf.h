/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Functions that may throw: operator new and related functions, in allocators that do not implement
 * them by malloc. A return probe replaces the return address with the kernel's trampoline; an
 * exception finds no unwind information there and ends the process. So plain probes only: one at
 * the entry, and one at each place from which the function surely returns with the result in a
 * known register (user/binary/arch/results.h).
 *
 * Such a call hides no inner calls, since an exception may have ended it unnoticed: calls of malloc
 * inside it are counted as they come, and a result of one of them is not counted again.
 */
#ifndef LEAKMON_BPF_THROWING_H
#define LEAKMON_BPF_THROWING_H

#include "account.bpf.h"
#include "arguments.bpf.h"
#include "call.bpf.h"

/* A tail call enters the next function in the same frame: the two are one call. */
static __always_inline bool is_continued(const struct throwing_call *call, u64 sp,
					 u64 return_address, u32 function)
{
	return call->sp == sp && call->return_address == return_address &&
	       call->function != function;
}

static __always_inline int throwing_begin(struct pt_regs *ctx)
{
	u64 sp = caller_sp(ctx, 0), return_address = 0, cookie;
	struct throwing_call *call;
	struct lm_ledger *ledger;
	struct thread *thread;
	u32 function;

	if (empty_programs)
		return 0;
	thread = thread_current();
	ledger = thread ? ledger_of(thread->slot) : NULL;
	if (!ledger || !call_slot(ctx, thread, ledger))
		return 0;
	if (!caller_address(ctx, 0, &return_address))
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	function = cookie & LM_COOKIE_FUNCTION_MASK;
	call = &thread->throwing[on_signal_stack(PT_REGS_SP(ctx))];
	if (!is_continued(call, sp, return_address, function))
		throwing_abandon(call, ledger);
	call->sp = sp;
	call->return_address = return_address;
	call->fp = PT_REGS_FP(ctx);
	call->size = cookie_size(ctx, cookie);
	call->function = function;
	call->pending = true;
	thread->returned = 0;
	return 0;
}

/* Returns the call whose result is now known, or NULL: shared code has other callers. */
static __always_inline struct throwing_call *throwing_ending(struct pt_regs *ctx,
							     struct thread *thread, u64 words)
{
	struct throwing_call *call = &thread->throwing[on_signal_stack(PT_REGS_SP(ctx))];
	u64 return_address = 0;

	if (!call->pending || call->sp != caller_sp(ctx, words) ||
	    !caller_address(ctx, words, &return_address))
		return NULL;
	return return_address == call->return_address ? call : NULL;
}

/* The stack is the caller's, as after the return. */
static __always_inline void new_account(struct thread *thread, struct lm_ledger *ledger,
					const struct throwing_call *call, u64 result)
{
	struct call born = {.size = call->size, .function = call->function};
	struct pt_regs caller = {};

	regs_set(&caller, call->return_address, call->sp, call->fp);
	if (!result)
		ledger_add(&ledger->failed, 1);
	else if (result != thread->returned)
		account_birth(&caller, thread, ledger, result, &born);
	if (result == thread->freed)
		thread->freed = 0;
}

static __always_inline int throwing_end(struct pt_regs *ctx)
{
	struct throwing_call *call;
	struct lm_ledger *ledger;
	struct thread *thread;
	u64 cookie, result;
	u32 condition;

	if (empty_programs)
		return 0;
	cookie = bpf_get_attach_cookie(ctx);
	condition = cookie >> LM_COOKIE_CONDITION_SHIFT & LM_COOKIE_CONDITION_MASK;
	if (condition && !condition_holds(ctx, condition - 1))
		return 0;
	thread = thread_current();
	ledger = thread ? ledger_of(thread->slot) : NULL;
	if (!ledger)
		return 0;
	call = throwing_ending(ctx, thread, cookie >> LM_COOKIE_WORDS_SHIFT);
	if (!call)
		return 0;
	result = register_at(ctx, cookie >> LM_COOKIE_REGISTER_SHIFT & 0xf);
	call->pending = false;
	new_account(thread, ledger, call, result);
	return 0;
}

#endif
