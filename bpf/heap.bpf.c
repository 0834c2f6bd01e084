// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap family: one program per call shape, one for all returns, one for frees. The attach
 * cookie says which function is meant (user/probe/allocators.c).
 *
 * Order: a block is taken off the live set where free or realloc begins, and put on it where the
 * allocation returns. Otherwise another thread could be given the address before its record is
 * gone.
 */
#include "account.bpf.h"
#include "call.bpf.h"

/* What an entry program answers: with a session, whether the return is of interest. */
#define WANT_RETURN 0
#define SKIP_RETURN (session ? 1 : 0)

/* Where a thread's state cannot be had, the loss is charged to the slot that nobody owns. */
static __always_inline void count_no_thread(void)
{
	struct lm_ledger *ledger = ledger_of(LM_SLOT_LOST);

	if (ledger)
		ledger_add(&ledger->dropped[LM_DROP_THREAD_STATE], 1);
}

/* Which row of the allocator table is being called; only --trace asks. */
static __always_inline u32 function_current(struct pt_regs *ctx)
{
	return trace ? bpf_get_attach_cookie(ctx) : 0;
}

static __always_inline int call_begin(struct pt_regs *ctx, u32 kind, u64 size, u64 pointer)
{
	struct lm_ledger *ledger;
	struct thread *thread;
	struct call *call;

	if (empty_programs)
		return WANT_RETURN;
	thread = thread_current();
	ledger = thread ? ledger_of(thread->slot) : NULL;
	if (!ledger) {
		count_no_thread();
		return SKIP_RETURN;
	}
	if (call_would_kill(PT_REGS_SP(ctx), thread)) {
		ledger_add(&ledger->allocations, 1);
		ledger_add(&ledger->dropped[LM_DROP_HANDLER], 1);
		return SKIP_RETURN;
	}
	call = call_slot(ctx, thread, ledger);
	if (!call)
		return SKIP_RETURN;
	call->sp = PT_REGS_SP(ctx);
	call->size = size;
	call->pointer = pointer;
	call->kind = kind;
	call->function = function_current(ctx);
	if (kind == CALL_RESIZE)
		call->old_tracked = pointer && block_remove(thread->process, pointer, &call->old);
	return WANT_RETURN;
}

/* 64-bit product; an overflow becomes a size that no allocator can serve. */
static __always_inline u64 product(u64 count, u64 size)
{
	u64 limit;

	if (!size)
		return 0;
	limit = ~0ull / size;
	barrier_var(limit); /* or clang makes it a 128-bit multiplication, which BPF lacks */
	return count > limit ? ~0ull : count * size;
}

/* The old block of a realloc: freed when the call did it, else put back as it was. */
static __always_inline void resize_settle(struct thread *thread, struct lm_ledger *ledger,
					  struct call *call, u64 result)
{
	if (!call->pointer)
		return;
	if (!result && call->size) {
		if (call->old_tracked && !block_insert(thread, ledger, call->pointer, &call->old)) {
			ledger_add(&ledger->dropped[LM_DROP_RESTORE], 1);
			site_count_death(call->old.site, call->old.size);
		}
		return;
	}
	if (call->old_tracked)
		account_death(thread, ledger, call->pointer, &call->old, call->function);
	else
		account_untracked(thread, ledger, call->pointer);
}

/* The address that the allocator gave, or 0. */
static __always_inline u64 call_result(struct pt_regs *ctx, struct lm_ledger *ledger,
				       struct call *call)
{
	u64 result = PT_REGS_RC(ctx);

	if (call->kind != CALL_OUT)
		return result;
	if ((u32)result)
		return 0; /* posix_memalign returns an error number */
	if (bpf_probe_read_user(&result, sizeof(result), (void *)call->pointer)) {
		ledger_add(&ledger->allocations, 1);
		ledger_add(&ledger->dropped[LM_DROP_OUT_POINTER], 1);
		return 0;
	}
	return result;
}

static __noinline int call_end(struct pt_regs *ctx)
{
	struct lm_ledger *ledger;
	struct thread *thread;
	struct call *call;
	u64 result;

	if (empty_programs)
		return 0;
	thread = thread_current();
	ledger = thread ? ledger_of(thread->slot) : NULL;
	if (!ledger)
		return 0; /* counted where the call began */
	call = call_returning(ctx, thread);
	if (!call)
		return 0;
	result = call_result(ctx, ledger, call);
	if (call->kind == CALL_RESIZE)
		resize_settle(thread, ledger, call, result);
	if (result)
		account_birth(ctx, thread, ledger, result, call);
	else if (call->size || call->kind != CALL_RESIZE)
		ledger_add(&ledger->failed, 1);
	call->kind = CALL_NONE;
	return 0;
}

SEC("uprobe")
int heap_return(struct pt_regs *ctx)
{
	return call_end(ctx);
}

/* A session program also runs at the return; the others have heap_return there. */
static __always_inline bool at_return(void)
{
	return session && bpf_session_is_return();
}

SEC("uprobe")
int heap_size(struct pt_regs *ctx)
{
	if (at_return())
		return call_end(ctx);
	return call_begin(ctx, CALL_ALLOCATE, PT_REGS_PARM1(ctx), 0);
}

SEC("uprobe")
int heap_count_size(struct pt_regs *ctx)
{
	u64 size = empty_programs ? 0 : product(PT_REGS_PARM1(ctx), PT_REGS_PARM2(ctx));

	if (at_return())
		return call_end(ctx);
	return call_begin(ctx, CALL_ALLOCATE, size, 0);
}

SEC("uprobe")
int heap_align_size(struct pt_regs *ctx)
{
	if (at_return())
		return call_end(ctx);
	return call_begin(ctx, CALL_ALLOCATE, PT_REGS_PARM2(ctx), 0);
}

SEC("uprobe")
int heap_out_align_size(struct pt_regs *ctx)
{
	if (at_return())
		return call_end(ctx);
	return call_begin(ctx, CALL_OUT, PT_REGS_PARM3(ctx), PT_REGS_PARM1(ctx));
}

SEC("uprobe")
int heap_resize(struct pt_regs *ctx)
{
	if (at_return())
		return call_end(ctx);
	return call_begin(ctx, CALL_RESIZE, PT_REGS_PARM2(ctx), PT_REGS_PARM1(ctx));
}

SEC("uprobe")
int heap_resize_count(struct pt_regs *ctx)
{
	u64 size = empty_programs ? 0 : product(PT_REGS_PARM2(ctx), PT_REGS_PARM3(ctx));

	if (at_return())
		return call_end(ctx);
	return call_begin(ctx, CALL_RESIZE, size, PT_REGS_PARM1(ctx));
}

SEC("uprobe")
int heap_free(struct pt_regs *ctx)
{
	u64 address = PT_REGS_PARM1(ctx);
	struct lm_ledger *ledger;
	struct lm_block block;
	struct thread *thread;

	if (empty_programs || !address)
		return 0;
	thread = thread_current();
	ledger = thread ? ledger_of(thread->slot) : NULL;
	if (!ledger || !call_slot(ctx, thread, ledger))
		return 0;
	if (block_remove(thread->process, address, &block))
		account_death(thread, ledger, address, &block, function_current(ctx));
	else
		account_untracked(thread, ledger, address);
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
