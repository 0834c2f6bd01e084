/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user stack walk, behind one function: unwind_user.
 *
 * It runs where an allocator returned: the instruction pointer is already in the caller, and every
 * callee-saved register has the caller's value again (psABI), so the allocator's own
 * frame needs no unwinding. From there each frame is left by the unwind row that covers it, or by
 * its frame pointer where no row does.
 */
#ifndef LEAKMON_BPF_UNWIND_H
#define LEAKMON_BPF_UNWIND_H

#include "unwind_step.bpf.h"

struct stack_walk {
	u32 depth;
	u32 end; /* enum lm_walk_end */
	u64 hash;
};

static __always_inline u64 unwind_hash(u64 hash, u64 address)
{
	hash = (hash ^ address) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 29;
}

/* Whether user space was told of this page, or of enough others, since it changed any rows. */
static __always_inline bool missing_is_told(struct unwind_state *state)
{
	u64 page = state->ip >> LM_UNWIND_PAGE_SHIFT;
	u32 count;

	if (state->missing != state->generation) {
		state->missing = state->generation;
		state->missing_count = 0;
	}
	count = state->missing_count;
	for (u32 i = 0; i < UNWIND_MISSING_PAGES; i++) {
		if (i < count && state->missing_pages[i] == page)
			return true;
	}
	if (count >= UNWIND_MISSING_PAGES)
		return true;
	state->missing_pages[count] = page;
	state->missing_count = count + 1;
	return false;
}

/* Tells user space that code runs for which there are no rows. */
static __always_inline void report_missing_rows(struct thread *thread)
{
	if (!missing_is_told(&thread->walk))
		event_send(LM_EVENT_NO_ROWS, thread->process, thread->walk.ip, 0, 0, 0);
}

/*
 * Whether the stack still holds what the step read, so that it would do the same again. The frame
 * pointer was mostly pushed first, and comes in the same read as the return address.
 */
static __always_inline bool step_holds(const struct unwind_step *step, u64 return_address)
{
	u64 saved[2];

	if (bpf_probe_read_user(saved, sizeof(saved), (void *)(step->cfa - sizeof(saved))) ||
	    saved[1] != return_address)
		return false;
	if (!step->fp_at)
		return true;
	if (step->fp_at != step->cfa - sizeof(saved) &&
	    bpf_probe_read_user(&saved[0], sizeof(u64), (void *)step->fp_at))
		return false;
	return saved[0] == step->fp;
}

/*
 * Loops over frames come in two parts: the first frames at once, and if there are more of them,
 * bpf_loop() calls a function for so many each time. The verifier goes through each part once or
 * twice, and not through every frame that a stack may have; most stacks end in the first.
 */
#define UNWIND_CHUNK 8u
#define UNWIND_MORE_CHUNKS ((LM_MAX_FRAMES + 1) / UNWIND_CHUNK - 1)

struct unwind_loop {
	struct thread *thread;
};

/* From the frame `first` on. 1: there is no more to compare; if the stack differs, no trail. */
static __always_inline int replay_frames(struct thread *thread, u32 first)
{
	struct unwind_trail *trail = &thread->trail;

	for (u32 i = 0; i < UNWIND_CHUNK; i++) {
		u32 at = first + i;

		if (at >= trail->depth)
			return 1;
		at &= LM_MAX_FRAMES;
		if (at && !step_holds(&trail->steps[at], thread->frames[at])) {
			trail->depth = 0;
			return 1;
		}
	}
	return 0;
}

static int replay_chunk(u32 chunk, struct unwind_loop *loop)
{
	return replay_frames(loop->thread, (chunk + 1) * UNWIND_CHUNK);
}

/*
 * Whether the latest walk can be had again without searching rows. It began with the same
 * registers, over the same rows; a step depends on nothing else but the words that it reads from
 * the stack, and these are compared one by one.
 */
static __always_inline bool trail_replays(struct unwind_loop *loop)
{
	struct thread *thread = loop->thread;
	struct unwind_trail *trail = &thread->trail;

	if (!trail->depth || trail->ip != thread->walk.ip || trail->sp != thread->walk.sp ||
	    trail->fp != thread->walk.fp || trail->generation != unwind_generation)
		return false;
	if (!replay_frames(thread, 0))
		bpf_loop(UNWIND_MORE_CHUNKS, replay_chunk, loop, 0);
	return trail->depth != 0;
}

/*
 * The frame that a walk starts in. `exact`: it was interrupted right there; else `ip` is a return
 * address.
 */
struct unwind_start {
	u64 ip, sp, fp;
	bool exact;
};

static __always_inline void unwind_begin(const struct unwind_start *start, struct thread *thread)
{
	struct unwind_state *state = &thread->walk;

	state->ip = start->ip;
	state->sp = start->sp;
	state->fp = start->fp;
	state->tgid = thread->process >> 32;
	state->exact_ip = start->exact;
	state->replayable = !start->exact;
	state->end = LM_WALK_TOO_DEEP;
	if (state->generation != unwind_generation) {
		state->generation = unwind_generation;
		state->range = (struct lm_range){};
	}
}

/* So many frames more. 1: the walk has ended. */
static __always_inline int walk_frames(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;

	for (u32 i = 0; i < UNWIND_CHUNK; i++) {
		u32 depth = state->depth;
		u64 frame;

		if (depth >= LM_MAX_FRAMES || unwind_step(state))
			return 1;
		barrier_var(depth); /* older verifiers forget the bound of what was spilled */
		depth &= LM_MAX_FRAMES;
		frame = state->ip | (state->exact_ip ? LM_FRAME_EXACT : 0);
		thread->frames[depth] = frame;
		trail->steps[depth].cfa = state->cfa;
		trail->steps[depth].fp_at = state->fp_at;
		trail->steps[depth].fp = state->fp;
		state->hash = unwind_hash(state->hash, frame);
		state->depth = depth + 1;
	}
	return 0;
}

static int walk_chunk(u32 chunk, struct unwind_loop *loop)
{
	(void)chunk;
	return walk_frames(loop->thread);
}

/*
 * From where unwind_begin() was told. Fills thread->frames, caller first; the hash also takes in
 * the process.
 */
static __always_inline struct stack_walk unwind_user(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	struct unwind_loop loop = {.thread = thread};
	struct stack_walk walk = {};

	if (!state->exact_ip && trail_replays(&loop)) {
		walk.depth = trail->depth;
		walk.hash = trail->hash;
		walk.end = LM_WALK_ROOT;
		return walk;
	}
	trail->ip = state->ip;
	trail->sp = state->sp;
	trail->fp = state->fp;
	thread->frames[0] = state->ip | (state->exact_ip ? LM_FRAME_EXACT : 0);
	state->hash = unwind_hash(thread->process * 0xff51afd7ed558ccdull, thread->frames[0]);
	state->depth = 1;
	if (!walk_frames(thread))
		bpf_loop(UNWIND_MORE_CHUNKS, walk_chunk, &loop, 0);
	walk.depth = state->depth;
	walk.hash = state->hash;
	walk.end = state->end;
	trail->depth = state->replayable && walk.end == LM_WALK_ROOT ? walk.depth : 0;
	trail->hash = walk.hash;
	trail->generation = state->generation;
	if (walk.end == LM_WALK_NO_ROWS)
		report_missing_rows(thread);
	return walk;
}

#endif
