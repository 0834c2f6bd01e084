/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Birth and death of a block: the only writer of the live set, the sites and the ledger.
 *
 * Every allocation is counted exactly once, so that, with no call in flight, allocations = frees +
 * outstanding + purged + sum(dropped).
 */
#ifndef LEAKMON_BPF_ACCOUNT_H
#define LEAKMON_BPF_ACCOUNT_H

#include "maps.bpf.h"
#include "process.bpf.h"
#include "python.bpf.h"
#include "sample.bpf.h"
#include "unwind.bpf.h"

static __always_inline void site_count_birth(u32 index, u64 size)
{
	struct lm_site *site = bpf_map_lookup_elem(&sites, &index);
	u64 weight = sample_weight(size);

	if (!site)
		return;
	__sync_fetch_and_add(&site->allocated_bytes, size * weight);
	__sync_fetch_and_add(&site->allocated_count, weight);
}

static __always_inline void site_count_death(u32 index, u64 size)
{
	struct lm_site *site = bpf_map_lookup_elem(&sites, &index);
	u64 weight = sample_weight(size);

	if (!site)
		return;
	__sync_fetch_and_add(&site->freed_bytes, size * weight);
	__sync_fetch_and_add(&site->freed_count, weight);
}

/*
 * The room is shared: its last quarter is reserved for processes that hold less than an even share,
 * so that one fast leak cannot blind leakmon to the other processes.
 */
static __always_inline bool over_share(s64 used, s64 own, u64 room)
{
	/*
	 * At least two: a second process may run already, since processes are counted only from
	 * their first allocation on.
	 */
	u64 alive = processes_alive > 2 ? processes_alive : 2;

	return used > (s64)(room - room / 4) && own > (s64)(room / alive);
}

/* Adjusts a total that processes share, and one process's part of it. */
static __always_inline void share_add(s64 *used, s64 *own, s64 amount)
{
	if (!fair_share)
		return;
	__sync_fetch_and_add(used, amount);
	__sync_fetch_and_add(own, amount);
}

static __always_inline u32 site_take(void)
{
	u32 index = LM_SITE_LOST;

	if (!bpf_map_pop_elem(&free_sites, &index))
		return index;
	index = __sync_fetch_and_add(&site_count, 1);
	if (index < max_sites)
		return index;
	__sync_fetch_and_add(&site_count, -1);
	return LM_SITE_LOST;
}

/* Returns an index that proved unnecessary. See enum lm_index_state. */
static __always_inline void site_give_back(struct lm_site *site, u32 index)
{
	site->process = 0;
	if (!bpf_map_push_elem(&free_sites, &index, BPF_ANY))
		return;
	site->state = LM_INDEX_STRAY;
	__sync_fetch_and_add(&strays, 1);
}

/*
 * Publishes a new site under the hash of its stack. Returns its index, or that of a site published
 * first; LM_SITE_LOST if there is no room, and sets *cause.
 */
static __always_inline u32 site_publish(struct lm_site *site, u32 index, u64 hash, u32 *cause)
{
	int error = bpf_map_update_elem(&site_index, &hash, &index, BPF_NOEXIST);
	u32 *winner;

	if (!error)
		return index;
	winner = bpf_map_lookup_elem(&site_index, &hash);
	if (!map_is_full(error))
		*cause = LM_LOST_BUSY;
	site_give_back(site, index); /* usually because another thread was first */
	return winner ? *winner : LM_SITE_LOST;
}

struct stack_copy {
	const struct unwind_trail *trail;
	struct lm_stack *stack;
	u32 first, native, depth;
};

static int frame_copy(u32 i, struct stack_copy *copy)
{
	if (i >= copy->depth)
		return 1;
	copy->stack->frames[i & LM_MAX_FRAMES] =
		i < copy->native
			? copy->trail->frames[(copy->first + i) & LM_MAX_FRAMES]
			: copy->trail
				  ->window[PYTHON_NOTES + ((i - copy->native) & PYTHON_NOTES_MASK)];
	return 0;
}

/* Gives a new stack its index. The stack is written before the index is published. */
static __always_inline u32 site_open(struct thread *thread, struct lm_process *process,
				     const struct stack_walk *walk, u32 *cause)
{
	u32 index = site_take(), depth = walk->depth, published;
	u64 hash = walk->hash; /* on the stack: older verifiers accept keys nowhere else */
	struct stack_copy copy = {.trail = &thread->trail,
				  .first = walk->first,
				  .native = walk->native,
				  .depth = depth};
	struct lm_stack *stack;
	struct lm_site *site;

	stack = bpf_map_lookup_elem(&stacks, &index);
	site = bpf_map_lookup_elem(&sites, &index);
	if (index == LM_SITE_LOST || !stack || !site || depth > LM_MAX_FRAMES)
		return LM_SITE_LOST;
	copy.stack = stack;
	bpf_loop(LM_MAX_FRAMES, frame_copy, &copy, 0);
	site->hash = hash;
	site->depth = depth;
	site->end = walk->end;
	site->process = thread->process;
	published = site_publish(site, index, hash, cause);
	if (published == index)
		share_add(&sites_used, &process->sites, 1);
	return published;
}

/* Returns the index of a new stack, or LM_SITE_LOST and sets *cause. */
static __noinline u32 site_new(struct thread *thread, const struct stack_walk *walk, u32 *cause)
{
	struct lm_process *process;
	/* on the stack: older verifiers take no keys from a global function's arguments */
	u32 slot;

	if (!thread || !walk || !cause)
		return LM_SITE_LOST;
	slot = thread->slot;
	process = bpf_map_lookup_elem(&processes, &slot);
	*cause = LM_LOST_SITES_FULL;
	if (!process)
		return LM_SITE_LOST;
	if (fair_share && over_share(sites_used, process->sites, max_sites)) {
		*cause = LM_LOST_SITE_SHARE;
		return LM_SITE_LOST;
	}
	return site_open(thread, process, walk, cause);
}

static __always_inline void count_walk_end(struct lm_ledger *ledger, u32 end)
{
	if (end == LM_WALK_ROOT)
		return;
	barrier_var(end); /* or clang merges both checks, and older verifiers lose the bound */
	if (end < LM_WALK_MAX_)
		ledger_add(&ledger->walk_ends[end], 1);
}

#ifdef LEAKMON_SITES_ELSEWHERE
/* Defined in one object only, along with the stack walk. */
extern u32 site_walk(struct thread *thread, struct lm_ledger *ledger);
#else
/*
 * Python's frames follow the native ones, the outermost of which give way if space is short. The
 * walk's result goes through memory, whose contents the verifier does not track. Otherwise the
 * verifier would check all later code once for each outcome of a walk.
 */
static __always_inline void walk_add_python(struct thread *thread, struct stack_walk *walk)
{
	struct unwind_state *state = &thread->walk;
	u32 count;

	state->hash = walk->hash;
	state->end = walk->end;
	state->native = walk->depth;
	count = python_walk(thread);
	if (count > LM_PYTHON_FRAMES) {
		count = LM_PYTHON_FRAMES;
		state->end = LM_WALK_TOO_DEEP;
	}
	if (state->native > LM_MAX_FRAMES - count) {
		state->native = LM_MAX_FRAMES - count;
		state->end = LM_WALK_TOO_DEEP;
	}
	state->depth = state->native + count;
	barrier();
	walk->hash = state->hash;
	walk->end = state->end;
	walk->native = state->native;
	walk->depth = state->depth;
}

/*
 * Returns the site of the stack where unwind_begin() began. A global function: the verifier checks
 * it once per program, not once for each of the many states in which it is called.
 */
__noinline u32 site_walk(struct thread *thread, struct lm_ledger *ledger)
{
	u32 *found, index, cause = LM_LOST_SITES_FULL;
	struct known_site *known;
	struct stack_walk walk;

	if (!thread || !ledger)
		return LM_SITE_LOST;
	walk = unwind_user(thread);
	walk_add_python(thread, &walk);
	count_walk_end(ledger, walk.end);
	known = &thread->sites[walk.hash & (KNOWN_SITES - 1)];
	if (known->hash == walk.hash && known->recycled == thread->recycled)
		return known->site;
	found = bpf_map_lookup_elem(&site_index, &walk.hash);
	index = found ? *found : site_new(thread, &walk, &cause);
	if (index == LM_SITE_LOST) {
		barrier_var(cause); /* or older verifiers lose the bound */
		if (cause < LM_LOST_MAX_)
			ledger_add(&ledger->lost_stacks[cause], 1);
		return index;
	}
	known->hash = walk.hash;
	known->site = index;
	known->recycled = thread->recycled;
	return index;
}
#endif

static __always_inline u32 site_walked(const struct unwind_start *start, struct thread *thread,
				       struct lm_ledger *ledger)
{
	unwind_begin(start, thread);
	return site_walk(thread, ledger);
}

static __always_inline u32 site_current(struct pt_regs *ctx, struct thread *thread,
					struct lm_ledger *ledger)
{
	struct unwind_start start = unwind_start_at(ctx, false);

	return site_walked(&start, thread, ledger);
}

/* Counts one block more or less against its process's share. */
static __always_inline void block_share(struct thread *thread, s64 amount)
{
	struct lm_process *process;

	if (!fair_share)
		return;
	process = bpf_map_lookup_elem(&processes, &thread->slot);
	if (process)
		share_add(&blocks_used, &process->blocks, amount);
}

static __always_inline bool block_over_share(struct thread *thread)
{
	struct lm_process *process;

	if (!fair_share)
		return false;
	process = bpf_map_lookup_elem(&processes, &thread->slot);
	return process && over_share(blocks_used, process->blocks, max_blocks);
}

/* Handles the result of a delete from the live set, after the ledger change has begun. */
static __always_inline bool block_removed(struct thread *thread, struct lm_ledger *ledger,
					  long error)
{
	if (!error) {
		block_share(thread, -1);
		return true;
	}
	ledger_add(&ledger->settled, 1);
	if (error != -ENOENT)
		ledger_drop(ledger, LM_DROP_BUSY);
	return false;
}

/*
 * Takes the block at `address` off the live set into *block. The value is copied before the entry
 * is deleted; if two threads free at once, only one delete succeeds, returns true, and has begun a
 * change of the ledger (see struct lm_ledger). A delete that the kernel refuses is not retried: it
 * may have waited for a lock, and stalled the target.
 */
static __always_inline bool block_remove(struct thread *thread, struct lm_ledger *ledger,
					 u64 address, struct lm_block *block)
{
	struct lm_block_key key = {.address = address, .process = thread->process};
	struct lm_block *found = bpf_map_lookup_elem(&blocks, &key);

	if (!found)
		return false;
	*block = *found;
	ledger_add(&ledger->begun, 1);
	return block_removed(thread, ledger, bpf_map_delete_elem(&blocks, &key));
}

/*
 * Puts a block on the live set; an older block at that address was freed unseen. Returns the cause
 * of a drop, or LM_DROP_MAX_ on success.
 */
static __always_inline u32 block_insert(struct thread *thread, struct lm_ledger *ledger,
					u64 address, struct lm_block *block)
{
	struct lm_block_key key = {.address = address, .process = thread->process};
	struct lm_block old;
	int error = bpf_map_update_elem(&blocks, &key, block, BPF_NOEXIST);

	if (error == -EEXIST) {
		/* Unless another thread has taken it off meanwhile. */
		if (block_remove(thread, ledger, address, &old)) {
			ledger_add(&ledger->dropped[LM_DROP_MISSED_FREE], 1);
			ledger_add(&ledger->settled, 1);
			site_count_death(old.site, old.size);
		}
		error = bpf_map_update_elem(&blocks, &key, block, BPF_NOEXIST);
	}
	if (error)
		return map_is_full(error) ? LM_DROP_BLOCKS_FULL : LM_DROP_BUSY;
	block_share(thread, 1);
	return LM_DROP_MAX_;
}

static __always_inline void account_birth(struct pt_regs *ctx, struct thread *thread,
					  struct lm_ledger *ledger, u64 address,
					  const struct call *call)
{
	u64 size = call->size;
	struct lm_block block = {.size = size};
	u32 cause;

	if (size < min_size || size > max_size) {
		ledger_add(&ledger->filtered, 1);
		return;
	}
	if (!sample_keeps(size)) {
		ledger_add(&ledger->unsampled, 1);
		return;
	}
	if (thread->slot == LM_SLOT_LOST) {
		ledger_drop(ledger, thread->slot_cause);
		return;
	}
	if (block_over_share(thread)) {
		ledger_drop(ledger, LM_DROP_SHARE);
		return;
	}
	block.born_ns = bpf_ktime_get_ns();
	block.tid = (u32)bpf_get_current_pid_tgid();
	block.site = site_current(ctx, thread, ledger);
	ledger_add(&ledger->allocations, 1);
	cause = block_insert(thread, ledger, address, &block);
	if (cause != LM_DROP_MAX_)
		ledger_add(&ledger->dropped[cause == LM_DROP_BUSY ? LM_DROP_BUSY
								  : LM_DROP_BLOCKS_FULL],
			   1);
	ledger_add(&ledger->settled, 1);
	if (cause != LM_DROP_MAX_)
		return;
	site_count_birth(block.site, size);
	if (trace)
		event_send(LM_EVENT_ALLOCATE, thread->process, address, size, block.site,
			   call->function);
}

/*
 * Counts a free of a block that is not in the live set: inherited over a fork, or allocated before
 * the attach.
 */
static __always_inline void account_untracked(struct thread *thread, struct lm_ledger *ledger,
					      u64 address, void *live_set)
{
	struct lm_process *process = bpf_map_lookup_elem(&processes, &thread->slot);
	struct lm_block_key key = {.address = address};

	key.process = process ? process->parent : 0;
	if (key.process && bpf_map_lookup_elem(live_set, &key))
		ledger_add(&ledger->inherited_frees, 1);
	else
		ledger_add(&ledger->untracked_frees, 1);
}

/* Settles what block_remove began on this CPU. */
static __always_inline void account_death(struct thread *thread, struct lm_ledger *ledger,
					  u64 address, const struct lm_block *block, u32 function)
{
	ledger_add(&ledger->frees, 1);
	site_count_death(block->site, block->size);
	if (trace)
		event_send(LM_EVENT_FREE, thread->process, address, block->size, block->site,
			   function);
}

#endif
