/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Calls in flight. The outermost call of an allocator wins: calloc may call malloc on the same
 * thread, reallocarray jumps to realloc, a preloaded allocator may call the one below. Allocations
 * by inner calls are invisible. But a block on the ledger ends wherever it is freed, and changes
 * wherever it is resized: a library may evict its cache, or grow a table, inside its malloc.
 */
#ifndef LEAKMON_BPF_CALL_H
#define LEAKMON_BPF_CALL_H

#include "process.bpf.h"

/* sigaltstack(2): a handler on its own stack is a separate context. */
static __always_inline bool on_signal_stack(u64 sp)
{
	struct task_struct *task = bpf_get_current_task_btf();

	return sp - task->sas_ss_sp < task->sas_ss_size;
}

/*
 * Returns whether the call from a caller with this stack pointer is still running: its return probe
 * is still pending. It is not after a longjmp or an exception past it.
 */
__weak __noinline bool call_is_alive(u64 sp)
{
	return return_probe_waits(sp, return_trampoline());
}

static __always_inline bool is_resize(u32 kind)
{
	return kind >= CALL_RESIZE;
}

/* Ends a call without a result: it allocated nothing, and its old block is lost. */
static __always_inline void call_abandon(struct call *call, struct lm_ledger *ledger)
{
	if (call->kind == CALL_NONE)
		return;
	ledger_add(&ledger->abandoned, 1);
	if (is_resize(call->kind) && call->old_tracked) {
		ledger_add(&ledger->begun, 1);
		ledger_add(&ledger->purged, 1);
		ledger_add(&ledger->settled, 2);
	}
	call->kind = CALL_NONE;
}

/* Ends a call that may throw, without a result: it had begun no ledger change. */
static __always_inline void throwing_abandon(struct throwing_call *call, struct lm_ledger *ledger)
{
	if (call->pending)
		ledger_add(&ledger->abandoned, 1);
	call->pending = false;
}

/*
 * A signal handler on an alternate stack above the interrupted frame may allocate inside an
 * allocation. A second return probe would then kill the process: the kernel, comparing stack
 * pointers, takes the first one for dead (arch_uretprobe_is_alive() in its uprobes.c) and finds no
 * return address. Only a session program can decline the return probe.
 */
static __always_inline bool call_would_kill(struct pt_regs *ctx, struct thread *thread)
{
	u64 sp = caller_sp(ctx, 0);

	return session && thread->calls[0].kind != CALL_NONE && on_signal_stack(sp) &&
	       sp > thread->calls[0].sp && call_is_alive(thread->calls[0].sp);
}

static __always_inline bool call_is_running(const struct call *call, u64 sp)
{
	return call->kind != CALL_NONE && sp <= call->sp && call_is_alive(call->sp);
}

/* Returns where to note a call that begins now; NULL for an inner call. */
static __always_inline struct call *call_slot(struct pt_regs *ctx, struct thread *thread,
					      struct lm_ledger *ledger)
{
	u32 stack = on_signal_stack(PT_REGS_SP(ctx));

	if (call_is_running(&thread->calls[stack], caller_sp(ctx, 0)))
		return NULL;
	call_abandon(&thread->calls[stack], ledger);
	call_abandon(&thread->inner[stack], ledger);
	return &thread->calls[stack];
}

/* Returns where to note a resize inside a call; NULL inside another resize noted here. */
static __always_inline struct call *inner_slot(struct pt_regs *ctx, struct thread *thread,
					       struct lm_ledger *ledger)
{
	struct call *call = &thread->inner[on_signal_stack(PT_REGS_SP(ctx))];

	if (call_is_running(call, caller_sp(ctx, 0)))
		return NULL;
	call_abandon(call, ledger);
	return call;
}

/*
 * Returns whether a call without a followed return reached this function by a tail call: the two
 * are one call. Deeper calls look like later ones, because nothing shows that the first has
 * returned: they are counted, too.
 */
static __always_inline bool is_unfollowed(struct pt_regs *ctx, struct thread *thread)
{
	u64 sp = caller_sp(ctx, 0), return_address = 0;
	struct unfollowed_call *call = &thread->unfollowed[on_signal_stack(PT_REGS_SP(ctx))];

	if (!call->sp || sp != call->sp || !caller_address(ctx, 0, &return_address))
		return false;
	return return_address == call->return_address &&
	       (bpf_get_attach_cookie(ctx) & LM_COOKIE_FUNCTION_MASK) != call->function;
}

static __always_inline void unfollowed_note(struct pt_regs *ctx, struct thread *thread)
{
	struct unfollowed_call *call = &thread->unfollowed[on_signal_stack(PT_REGS_SP(ctx))];

	call->sp = caller_sp(ctx, 0);
	call->function = bpf_get_attach_cookie(ctx) & LM_COOKIE_FUNCTION_MASK;
	if (!caller_address(ctx, 0, &call->return_address))
		call->sp = 0;
}

/* Returns the call that returns here, or NULL for an inner call or one begun before the attach. */
static __always_inline struct call *call_returning(struct pt_regs *ctx, struct thread *thread)
{
	u64 sp = PT_REGS_SP(ctx); /* back to the caller's value */
	u32 stack = on_signal_stack(sp);
	struct call *call = &thread->calls[stack];

	if (call->kind != CALL_NONE && call->sp == sp)
		return call;
	call = &thread->inner[stack];
	return call->kind != CALL_NONE && call->sp == sp ? call : NULL;
}

#endif
