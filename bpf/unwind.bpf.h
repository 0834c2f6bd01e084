/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user stack walk, behind one function: unwind_user.
 *
 * It runs where an allocator returned: the instruction pointer is already in the caller, and every
 * callee-saved register has the caller's value again (psABI), so the allocator's own frame needs no
 * unwinding. From there each frame is left by the unwind row that covers it, or by its frame
 * pointer where no row does.
 */
#ifndef LEAKMON_BPF_UNWIND_H
#define LEAKMON_BPF_UNWIND_H

#include "unwind_step.bpf.h"

static __always_inline u64 unwind_hash(u64 hash, u64 address)
{
	hash = (hash ^ address) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 29;
}

/* Returns whether this page, or enough others, were reported since user space last changed rows. */
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

/* Reports code without rows to user space. */
static __always_inline void report_missing_rows(struct thread *thread)
{
	if (!missing_is_told(&thread->walk))
		event_send(LM_EVENT_NO_ROWS, thread->process, thread->walk.ip, 0, 0, 0);
}

/*
 * A walk joins the latest one of its thread. Where a frame has the same address, stack pointer and
 * frame pointer as then, the same row leaves it, and the step reads the same places: if they hold
 * the same words, the next frame is the same, too, and so on to the root. The places of
 * neighbouring frames come in one read. Changed frames are walked by rows. Callee-saved registers
 * other than the frame pointer play no part in a step.
 *
 * Every loop over frames is a bpf_loop(): the verifier checks its body once or twice, not once per
 * frame.
 */
struct unwind_loop {
	struct thread *thread;
};

/* The hash slot of a frame's stack pointer in `places`. */
#define UNWIND_CHUNK 8u
#define UNWIND_MASK LM_MAX_FRAMES
#define UNWIND_WINDOW (UNWIND_WINDOW_WORDS * sizeof(u64))
#define UNWIND_NEAR (UNWIND_NEAR_WORDS * sizeof(u64))

static __always_inline u32 place_of(u64 sp)
{
	return (sp >> 4 ^ sp >> 10) & (UNWIND_PLACES - 1);
}

static __always_inline u64 state_frame(const struct unwind_state *state)
{
	return state->ip | (state->exact_ip ? LM_FRAME_EXACT : 0);
}

static __always_inline u64 state_at(const struct unwind_state *state)
{
	return (state->sp & UNWIND_SP_MASK) | (u64)(u8)state->fp_words << 56;
}

static __always_inline u64 step_sp(const struct unwind_step *step)
{
	return step->at & UNWIND_SP_MASK;
}

static __always_inline void frame_count(struct unwind_state *state, u64 frame)
{
	state->hash = unwind_hash(state->hash, frame);
	state->depth++;
}

/*
 * Stores a step's note of the frame that it left. It replaces the address, so that no later walk
 * takes the frame for the same: the interpreter may be elsewhere in it.
 */
static __always_inline void frame_note(struct unwind_state *state, u64 *frame)
{
	if (!state->note)
		return;
	*frame = state->note;
	state->hash = unwind_hash(state->hash, state->note);
	state->note = 0;
}

static __always_inline void trail_keep(struct unwind_trail *trail, u32 at, u64 frame,
				       const struct unwind_step *step)
{
	at &= UNWIND_MASK;
	trail->frames[at] = frame;
	trail->steps[at] = *step;
	trail->places[place_of(step->at & UNWIND_SP_MASK)] = at;
}

/* Returns whether the frame kept at `at` is the walk's current frame. */
static __always_inline bool frame_is_kept(struct unwind_trail *trail, u32 at,
					  const struct unwind_state *state)
{
	at &= UNWIND_MASK;
	return trail->frames[at] == state_frame(state) && step_sp(&trail->steps[at]) == state->sp &&
	       trail->steps[at].fp == state->fp;
}

/* Returns whether the latest walk came through the current frame: the walk continues there. */
static __always_inline bool trail_meets(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	u32 at = (trail->places[place_of(state->sp)] - trail->first) & UNWIND_MASK;

	if (at >= trail->end - trail->first)
		return false;
	at += trail->first;
	if (!frame_is_kept(trail, at, state))
		return false;
	trail->at = at;
	return true;
}

/*
 * Walks one frame that the latest walk did not pass. Returns 1 where the walks meet, or at the end.
 */
static int walk_fresh(u32 i, struct unwind_loop *loop)
{
	struct thread *thread = loop->thread;
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	u64 frame = state_frame(state);

	trail->same = trail_meets(thread);
	if (trail->same || i >= UNWIND_FRESH)
		return 1;
	i &= UNWIND_FRESH - 1;
	trail->fresh_frames[i] = frame;
	trail->fresh_steps[i].at = state_at(state);
	trail->fresh_steps[i].fp = state->fp;
	trail->fresh = i + 1;
	frame_count(state, frame);
	state->ended = unwind_step(thread);
	frame_note(state, &trail->fresh_frames[i]);
	return state->ended;
}

/* Puts the new frames before the one where the walks met, or in place of the first ones. */
static __always_inline void trail_settle(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	struct unwind_step step = {.at = state_at(state), .fp = state->fp};
	u64 frame = state_frame(state);

	if (trail->same)
		trail->first = trail->at - trail->fresh;
	trail->at = trail->first + trail->fresh;
	for (u32 i = 0; i < UNWIND_FRESH && i < trail->fresh; i++)
		trail_keep(trail, trail->first + i, trail->fresh_frames[i], &trail->fresh_steps[i]);
	if (trail->end - trail->first > LM_MAX_FRAMES) { /* they have overwritten the last ones */
		trail->end = trail->first + LM_MAX_FRAMES;
		trail->closed = false;
	}
	if (state->ended) {
		trail->at--;
		return;
	}
	if (!trail->same || trail->fresh)
		trail_keep(trail, trail->at, frame, &step);
	frame_count(state, frame);
}

/*
 * Copies the words of the frame with its stack pointer `offset` bytes above the window's beginning.
 * Returns false if the window does not contain them.
 */
static __always_inline bool window_has(const struct unwind_trail *trail, u64 offset, u32 span,
				       u64 *word)
{
	if (offset > span - sizeof(u64))
		return false;
	barrier_var(offset); /* older verifiers forget the bound of a spilled value */
	offset &= UNWIND_WINDOW - 1;
	*word = *(const u64 *)((const u8 *)trail->window + offset);
	return true;
}

/* Returns whether the words by which the walk reached this frame are unchanged. */
static __always_inline bool frame_holds(const struct unwind_trail *trail, u32 at, u64 base,
					u32 span)
{
	const struct unwind_step *step = &trail->steps[at & UNWIND_MASK];
	u64 offset = step_sp(step) - base, word;
	s32 fp_words = (s8)(step->at >> 56);

	if (fp_words == UNWIND_OPAQUE ||
	    !window_has(trail,
			offset + lm_return_words(&machine_frame, fp_words) * (s64)sizeof(u64), span,
			&word) ||
	    (word & machine_frame.code_mask) != trail->frames[at & UNWIND_MASK])
		return false;
	if (!fp_words)
		return true;
	return window_has(trail, offset + fp_words * (s64)sizeof(u64), span, &word) &&
	       word == step->fp;
}

/*
 * Chooses how many of the next frames one read covers, `left` at most, and sets its start and
 * length.
 */
static __always_inline u32 window_choose(struct unwind_trail *trail, u32 left, u64 *base, u64 *span)
{
	u32 at = trail->at, count = left < UNWIND_CHUNK ? left : UNWIND_CHUNK;

	*base = step_sp(&trail->steps[(at + 1) & UNWIND_MASK]) - UNWIND_NEAR;
	*span = step_sp(&trail->steps[(at + count) & UNWIND_MASK]) - *base;
	if (*span > UNWIND_WINDOW && count > UNWIND_CHUNK / 2) {
		count = UNWIND_CHUNK / 2;
		*span = step_sp(&trail->steps[(at + count) & UNWIND_MASK]) - *base;
	}
	if (*span > UNWIND_WINDOW && count > UNWIND_CHUNK / 4) {
		count = UNWIND_CHUNK / 4;
		*span = step_sp(&trail->steps[(at + count) & UNWIND_MASK]) - *base;
	}
	if (*span > UNWIND_WINDOW || *span < UNWIND_NEAR) {
		count = 1;
		*span = UNWIND_NEAR;
	}
	return count;
}

/*
 * Continues through kept frames that still hold, several at once. Returns false if the next one
 * does not. They are counted, except while the whole stack may be unchanged.
 */
static __always_inline bool walk_kept(struct thread *thread, u32 left, bool counts)
{
	struct unwind_trail *trail = &thread->trail;
	u32 at = trail->at, count, i;
	u64 base, span;

	count = window_choose(trail, left, &base, &span);
	barrier_var(span);
	if (span > UNWIND_WINDOW || bpf_probe_read_user(trail->window, span, (void *)base)) {
		trail->same = false;
		return false;
	}
	for (i = 0; i < UNWIND_CHUNK && i < count; i++) {
		if (!frame_holds(trail, at + 1, base, span))
			break;
		at++;
		if (counts)
			frame_count(&thread->walk, trail->frames[at & UNWIND_MASK]);
	}
	trail->at = at;
	trail->same = i == count;
	if (i)
		trail->behind = true;
	return i;
}

static __always_inline int walk_again(struct unwind_trail *trail, struct thread *thread)
{
	u32 left = trail->end - trail->at - 1;

	return !left || !walk_kept(thread, left, false) || !trail->same;
}

static int walk_again_on(u32 i, struct unwind_loop *loop)
{
	(void)i;
	return walk_again(&loop->thread->trail, loop->thread);
}

/* Counts the frames that were skipped on the way. */
static int count_kept(u32 i, struct unwind_loop *loop)
{
	struct unwind_trail *trail = &loop->thread->trail;

	frame_count(&loop->thread->walk, trail->frames[(trail->first + i) & UNWIND_MASK]);
	return 0;
}

/* Returns whether the whole stack is unchanged. If not, the walk stops where it differs. */
static __always_inline bool trail_repeats(struct unwind_loop *loop)
{
	struct thread *thread = loop->thread;
	struct unwind_trail *trail = &thread->trail;

	trail->at = trail->first;
	trail->same = true;
	if (!walk_again(trail, thread))
		bpf_loop(LM_MAX_FRAMES, walk_again_on, loop, 0);
	if (trail->same && trail->at + 1 == trail->end && trail->whole)
		return true;
	bpf_loop(trail->at - trail->first + 1, count_kept, loop, 0);
	return false;
}

/* Restores the registers of the frame at `at`. */
static __always_inline void state_catch_up(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	u32 at = trail->at & UNWIND_MASK;

	if (!trail->behind)
		return;
	trail->behind = false;
	state->exact_ip = trail->frames[at] >> 63;
	state->ip = LM_FRAME_ADDRESS(trail->frames[at]);
	state->sp = step_sp(&trail->steps[at]);
	state->fp = trail->steps[at].fp;
}

static __always_inline int walk_row(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	struct unwind_step step;
	u64 frame;

	state_catch_up(thread);
	state->ended = unwind_step(thread);
	frame_note(state, &trail->frames[trail->at & UNWIND_MASK]);
	if (state->ended)
		return 1;
	frame = state_frame(state);
	step.at = state_at(state);
	step.fp = state->fp;
	trail->at++;
	trail->same = (s32)(trail->end - trail->at) > 0 && frame_is_kept(trail, trail->at, state);
	trail_keep(trail, trail->at, frame, &step);
	frame_count(state, frame);
	return 0;
}

/* Walks one more frame, or several kept ones. Returns 1 when the walk has ended. */
static int walk_on(u32 i, struct unwind_loop *loop)
{
	struct thread *thread = loop->thread;
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	u32 left = trail->end - trail->at - 1, room = LM_MAX_FRAMES - state->depth;

	(void)i;
	if (state->depth >= LM_MAX_FRAMES)
		return 1;
	if (trail->same && !left && trail->closed) {
		state->closed = true;
		state->end = LM_WALK_ROOT;
		return 1;
	}
	if (trail->same && left && walk_kept(thread, left < room ? left : room, true))
		return 0;
	return walk_row(thread);
}

/*
 * The frame in which a walk starts. `exact`: it was interrupted at `ip`; otherwise `ip` is a return
 * address.
 */
struct unwind_start {
	u64 ip, sp, fp;
	u64 link;
	bool exact;
};

static __always_inline struct unwind_start unwind_start_at(const struct pt_regs *regs, bool exact)
{
	return (struct unwind_start){.ip = PT_REGS_IP(regs),
				     .sp = PT_REGS_SP(regs),
				     .fp = PT_REGS_FP(regs),
				     .link = regs_link(regs),
				     .exact = exact};
}

static __always_inline void unwind_begin(const struct unwind_start *start, struct thread *thread)
{
	struct unwind_state *state = &thread->walk;

	state->ip = start->ip;
	state->sp = start->sp;
	state->fp = start->fp;
	state_link(state, start->link);
	state->tgid = thread->process >> 32;
	state->exact_ip = start->exact;
	state->fp_words = UNWIND_OPAQUE;
	state->end = LM_WALK_TOO_DEEP;
	state->note = 0;
	if (state->generation != unwind_generation) {
		state->generation = unwind_generation;
		state->epoch++;
		state->range = (struct lm_range){};
	}
}

/*
 * Walks the stack from where unwind_begin() began. The frames are thread->trail's, from `first` on,
 * caller first; the hash also covers the process.
 */
static __always_inline struct stack_walk unwind_user(struct thread *thread)
{
	struct unwind_state *state = &thread->walk;
	struct unwind_trail *trail = &thread->trail;
	struct unwind_loop loop = {.thread = thread};
	struct stack_walk walk = {};

	state->ended = false;
	trail->behind = false;
	if (trail->epoch != state->epoch) {
		trail->epoch = state->epoch;
		trail->end = trail->first;
	}
	state->hash = thread->process * 0xff51afd7ed558ccdull;
	state->depth = 0;
	state->closed = false;
	if (trail->end != trail->first && frame_is_kept(trail, trail->first, state)) {
		if (trail_repeats(&loop))
			return trail->latest;
	} else {
		trail->fresh = 0;
		bpf_loop(UNWIND_FRESH + 1, walk_fresh, &loop, 0);
		trail_settle(thread);
	}
	if (!state->ended)
		bpf_loop(LM_MAX_FRAMES + 1, walk_on, &loop, 0);
	trail->end = trail->at + 1;
	trail->closed = state->closed;
	walk.first = trail->first;
	walk.depth = state->depth;
	walk.hash = state->hash;
	walk.end = state->end;
	trail->whole = trail->closed || walk.end == LM_WALK_TOO_DEEP;
	trail->latest = walk;
	if (walk.end == LM_WALK_NO_ROWS)
		report_missing_rows(thread);
	return walk;
}

#endif
