// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The heap family: one program for the calls of C functions, and for their returns where it is
 * attached to both; one for returns elsewhere, one for frees, two for functions that may throw. The
 * attach cookie has the function and the meaning of its arguments (user/binary/parse/allocators.c).
 * The kernel verifies each program separately, and the stack walk dominates verification, so there
 * are as few programs as possible.
 *
 * Order: a block is taken off the live set where free or realloc begins, and put on it where the
 * allocation returns. Otherwise another thread could be given the address before its record is
 * gone.
 */
#include "account.bpf.h"
#include "arguments.bpf.h"
#include "call.bpf.h"
#include "own_stack.bpf.h"
#include "throwing.bpf.h"

/* The result of an entry program: in a session, whether the return is of interest. */
#define WANT_RETURN 0
#define SKIP_RETURN (session ? 1 : 0)

static __always_inline u64 hit_begin(void)
{
	return counts_hits ? bpf_ktime_get_ns() : 0;
}

/*
 * No program takes longer: the deepest stack walk needs a third of it. The excess is time stolen by
 * interrupts or the hypervisor; on a busy machine one such pause would exceed the cost of a whole
 * window.
 */
#define HIT_MAX_NS 100000

/* Returns `answer`, the program's result. */
static __always_inline int hit_end(u64 begin_ns, int answer)
{
	u32 slot = lm_hit_slot(bpf_get_current_pid_tgid() >> 32);
	struct lm_hits *counted;
	u64 spent_ns;

	if (!counts_hits)
		return answer;
	spent_ns = bpf_ktime_get_ns() - begin_ns;
	counted = bpf_map_lookup_elem(&hits, &slot);
	if (counted) {
		ledger_add(&counted->count, 1);
		ledger_add(&counted->ns, spent_ns < HIT_MAX_NS ? spent_ns : HIT_MAX_NS);
	}
	return answer;
}

/* Charges the loss of a thread without state to the slot that no process owns. */
static __always_inline void count_no_thread(void)
{
	struct lm_ledger *ledger = ledger_of(LM_SLOT_LOST);

	if (ledger)
		ledger_drop(ledger, LM_DROP_THREAD_STATE);
}

/*
 * Counts a free by a thread without state: a free needs little of it, and leaving the block on the
 * ledger would report a false leak.
 */
__noinline int free_without_thread(u64 address)
{
	struct lm_block_key key = {.address = address,
				   .process = heap_key(bpf_get_current_task_btf())};
	struct lm_block *found = bpf_map_lookup_elem(&blocks, &key), block;
	u32 *slot = bpf_map_lookup_elem(&process_index, &key.process);
	struct lm_process *process = slot ? bpf_map_lookup_elem(&processes, slot) : NULL;
	struct lm_ledger *ledger = slot ? ledger_of(*slot) : NULL;
	int error;

	if (!found || !process || !ledger)
		return 0;
	block = *found;
	ledger_add(&ledger->begun, 1);
	error = bpf_map_delete_elem(&blocks, &key);
	if (error) {
		ledger_add(&ledger->settled, 1);
		if (error != -ENOENT)
			ledger_drop(ledger, LM_DROP_BUSY);
		return 0;
	}
	share_add(&blocks_used, &process->blocks, -1);
	ledger_add(&ledger->frees, 1);
	site_count_death(block.site, block.size);
	return 0;
}

/* Returns the row of the allocator table being called; only --trace needs it. */
static __always_inline u32 function_current(struct pt_regs *ctx)
{
	return trace ? bpf_get_attach_cookie(ctx) & LM_COOKIE_FUNCTION_MASK : 0;
}

/* The old block of a resize stays in place. Settles the change that block_remove began. */
static __always_inline void resize_undo(struct thread *thread, struct lm_ledger *ledger,
					struct call *call)
{
	if (block_insert(thread, ledger, call->pointer, &call->old) != LM_DROP_MAX_) {
		ledger_add(&ledger->dropped[LM_DROP_RESTORE], 1);
		site_count_death(call->old.site, call->old.size);
	}
	ledger_add(&ledger->settled, 1);
}

/*
 * The call is noted, but its return will not be seen: its result is unknown, and dropped. A resize
 * hardly ever fails: its old block counts as gone. A block resized in place stays.
 */
static __always_inline int call_drop(struct pt_regs *ctx, struct thread *thread,
				     struct lm_ledger *ledger, struct call *call, u32 cause)
{
	u32 kind = call->kind;

	unfollowed_note(ctx, thread);
	call->kind = CALL_NONE;
	if (kind == CALL_RESIZE_IN_PLACE) {
		if (call->old_tracked)
			resize_undo(thread, ledger, call);
	} else if (is_resize(kind) && call->old_tracked) {
		account_death(thread, ledger, call->pointer, &call->old, call->function);
	} else if (is_resize(kind) && call->pointer) {
		account_untracked(thread, ledger, call->pointer, &blocks);
	}
	if (call->size < min_size || call->size > max_size) {
		ledger_add(&ledger->filtered, 1);
		return SKIP_RETURN;
	}
	ledger_drop(ledger, cause);
	return SKIP_RETURN;
}

static __always_inline int call_begin(struct pt_regs *ctx, u32 kind, u64 size, u64 pointer)
{
	struct lm_ledger *ledger;
	struct thread *thread;
	struct call *call;
	bool inner;
	u32 cause;

	thread = thread_current();
	ledger = thread ? ledger_of(thread->slot) : NULL;
	if (!ledger) {
		if (is_resize(kind) && pointer)
			free_without_thread(pointer);
		count_no_thread();
		return SKIP_RETURN;
	}
	if (call_would_kill(ctx, thread)) {
		ledger_drop(ledger, LM_DROP_HANDLER);
		return SKIP_RETURN;
	}
	call = call_slot(ctx, thread, ledger);
	inner = !call || is_unfollowed(ctx, thread);
	if (inner)
		call = is_resize(kind) && pointer ? inner_slot(ctx, thread, ledger) : NULL;
	if (!call)
		return SKIP_RETURN;
	call->sp = caller_sp(ctx, 0);
	call->size = size;
	call->pointer = pointer;
	call->kind = kind;
	call->function = function_current(ctx);
	if (is_resize(kind))
		call->old_tracked = pointer && block_remove(thread, ledger, pointer, &call->old);
	if (inner && !call->old_tracked) {
		call->kind = CALL_NONE;
		return SKIP_RETURN;
	}
	cause = return_obstacle();
	return cause == LM_DROP_MAX_ ? WANT_RETURN : call_drop(ctx, thread, ledger, call, cause);
}

/* Settles the old block of a realloc: freed if the call freed it, else restored. */
static __always_inline void resize_settle(struct thread *thread, struct lm_ledger *ledger,
					  struct call *call, u64 result)
{
	bool stays = !result && call->size && call->kind != CALL_RESIZE_OR_FREE;

	if (!call->pointer)
		return;
	if (!call->old_tracked) {
		if (!stays)
			account_untracked(thread, ledger, call->pointer, &blocks);
		return;
	}
	/* The entry may have been counted on another CPU: see struct lm_ledger. */
	ledger_add(&ledger->begun, 1);
	if (stays)
		resize_undo(thread, ledger, call);
	else
		account_death(thread, ledger, call->pointer, &call->old, call->function);
	ledger_add(&ledger->settled, 1);
}

/* Returns the address that the allocator gave, or 0. */
static __always_inline u64 call_result(struct pt_regs *ctx, struct lm_ledger *ledger,
				       struct call *call)
{
	u64 result = PT_REGS_RC(ctx);

	if (call->kind == CALL_RESIZE_IN_PLACE)
		return result >= call->size ? call->pointer : 0;
	if (call->kind != CALL_OUT)
		return result;
	if ((u32)result)
		return 0; /* posix_memalign returns an error number */
	if (bpf_probe_read_user(&result, sizeof(result), (void *)call->pointer)) {
		ledger_drop(ledger, LM_DROP_OUT_POINTER);
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
	if (is_resize(call->kind))
		resize_settle(thread, ledger, call, result);
	if (result)
		account_birth(ctx, thread, ledger, result, call);
	else if (call->size || !is_resize(call->kind))
		ledger_add(&ledger->failed, 1);
	thread->returned = result;
	if (result == thread->freed)
		thread->freed = 0;
	call->kind = CALL_NONE;
	return 0;
}

SEC("uprobe")
int heap_return(struct pt_regs *ctx)
{
	u64 begin_ns = hit_begin();

	keep_own_stack(ctx);
	return hit_end(begin_ns, call_end(ctx));
}

/* A session program also runs at the return; the others have heap_return there. */
static __always_inline bool at_return(void)
{
	return session && session_run_is_return();
}

/* Exported to the other families. */
__noinline int session_is_return(void)
{
	return at_return();
}

/* The request of a call. */
struct asked {
	u64 size, pointer;
	u32 kind; /* enum call_kind */
};

/* Reads it by the operands of the cookie: rare shapes, and arguments that have moved. */
static __noinline void asked_told(struct pt_regs *ctx, u64 cookie, struct asked *asked)
{
	asked->size = cookie_size(ctx, cookie);
	asked->pointer = operand_at(ctx, cookie, LM_COOKIE_POINTER_SHIFT);
	if (!(cookie >> LM_COOKIE_POINTER_SHIFT & LM_COOKIE_OPERAND_MASK))
		asked->kind = CALL_ALLOCATE;
	else if (cookie & LM_COOKIE_OR_FREE)
		asked->kind = CALL_RESIZE_OR_FREE;
	else
		asked->kind = cookie & LM_COOKIE_IN_PLACE ? CALL_RESIZE_IN_PLACE : CALL_RESIZE;
}

static __always_inline void asked_read(struct pt_regs *ctx, struct asked *asked)
{
	u64 cookie = bpf_get_attach_cookie(ctx);
	u32 arguments = cookie >> LM_COOKIE_ARGUMENTS_SHIFT & LM_COOKIE_ARGUMENTS_MASK;
	u64 first = PT_REGS_PARM1(ctx), second = PT_REGS_PARM2(ctx), third = PT_REGS_PARM3(ctx);

	/*
	 * Or clang puts the choice first, and then a load at a computed offset of the context,
	 * which the verifier refuses.
	 */
	barrier_var(first);
	barrier_var(second);
	barrier_var(third);
	*asked = (struct asked){.kind = CALL_ALLOCATE, .size = first};
	if (arguments == LM_ARGUMENTS_SIZE)
		return;
	if (arguments == LM_ARGUMENTS_POINTER_SIZE) {
		*asked = (struct asked){.kind = CALL_RESIZE, .size = second, .pointer = first};
	} else if (arguments == LM_ARGUMENTS_COUNT_SIZE) {
		asked->size = product(first, second);
	} else if (arguments == LM_ARGUMENTS_ANY_SIZE) {
		asked->size = second;
	} else if (arguments == LM_ARGUMENTS_OUT_ANY_SIZE) {
		*asked = (struct asked){.kind = CALL_OUT, .size = third, .pointer = first};
	} else if (arguments == LM_ARGUMENTS_POINTER_COUNT_SIZE) {
		*asked = (struct asked){
			.kind = CALL_RESIZE, .size = product(second, third), .pointer = first};
	} else {
		asked_told(ctx, cookie, asked);
	}
}

/* A separate function, like call_end(): only one of the two uses its stack at a time. */
static __noinline int call_enter(struct pt_regs *ctx)
{
	struct asked asked;

	if (empty_programs)
		return WANT_RETURN;
	asked_read(ctx, &asked);
	return call_begin(ctx, asked.kind, asked.size, asked.pointer);
}

SEC("uprobe")
int heap_call(struct pt_regs *ctx)
{
	u64 begin_ns = hit_begin();

	keep_own_stack(ctx);
	return hit_end(begin_ns, at_return() ? call_end(ctx) : call_enter(ctx));
}

SEC("uprobe")
int heap_new(struct pt_regs *ctx)
{
	u64 begin_ns = hit_begin();

	keep_own_stack(ctx);
	return hit_end(begin_ns, throwing_begin(ctx));
}

SEC("uprobe")
int heap_result(struct pt_regs *ctx)
{
	u64 begin_ns = hit_begin();

	keep_own_stack(ctx);
	return hit_end(begin_ns, throwing_end(ctx));
}

/*
 * Returns whether this free is the lower part of the latest one: operator delete and interposers
 * pass the same block, already off the ledger, to the free below.
 */
static __always_inline bool free_goes_on(struct thread *thread, u64 address, u64 sp)
{
	return thread->freed == address && sp <= thread->freed_sp;
}

static __always_inline int free_hit(struct pt_regs *ctx)
{
	u64 address = PT_REGS_PARM1(ctx);
	struct lm_ledger *ledger;
	struct lm_block block;
	struct thread *thread;
	bool inner;

	if (empty_programs || !address)
		return 0;
	thread = thread_current();
	if (!thread)
		return free_without_thread(address);
	ledger = ledger_of(thread->slot);
	if (!ledger)
		return 0;
	inner = !call_slot(ctx, thread, ledger) || is_unfollowed(ctx, thread);
	if (block_remove(thread, ledger, address, &block))
		account_death(thread, ledger, address, &block, function_current(ctx));
	else if (inner || free_goes_on(thread, address, PT_REGS_SP(ctx)))
		return 0; /* the block of an inner call is not on the ledger either */
	else
		account_untracked(thread, ledger, address, &blocks);
	thread->freed = address;
	thread->freed_sp = PT_REGS_SP(ctx);
	return 0;
}

SEC("uprobe")
int heap_free(struct pt_regs *ctx)
{
	u64 begin_ns = hit_begin();

	keep_own_stack(ctx);
	return hit_end(begin_ns, free_hit(ctx));
}

char LICENSE[] SEC("license") = "GPL";
