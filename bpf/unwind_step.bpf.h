/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From one frame to its caller: by the unwind row that covers it, by its frame pointer, or out of a
 * signal handler.
 */
#ifndef LEAKMON_BPF_UNWIND_STEP_H
#define LEAKMON_BPF_UNWIND_STEP_H

#include "process.bpf.h"
#ifndef LEAKMON_UNWIND_ELSEWHERE
#include "unwind_rows.bpf.h"
#endif

/* The largest step between two frames that is believed of a frame pointer: more is data. */
#define UNWIND_MAX_STEP (8ull << 20)
/* Addresses below are never code (vm.mmap_min_addr). */
#define UNWIND_MIN_ADDRESS 4096ull

static __always_inline int walk_end(struct unwind_state *state, u32 end)
{
	state->end = end;
	return 1;
}

/* As many calls as can be inside each other under return probes, and be told apart here. */
#define UNWIND_HIJACKED_MAX 8

/*
 * What stood in this place on the stack before a return probe took it: some function up the stack
 * is probed, ours (pthread_create while it maps a stack, an allocator that maps an arena) or
 * another monitor's. `found` itself if none did; 0: it cannot be had.
 */
static __noinline u64 return_address_at(u64 place, u64 found)
{
	struct task_struct *task = bpf_get_current_task_btf();
	struct return_instance *instance;

	if (found != return_trampoline())
		return found;
	instance = BPF_CORE_READ(task, utask, return_instances);
	for (u32 i = 0; i < UNWIND_HIJACKED_MAX && instance; i++) {
		if (BPF_CORE_READ(instance, stack) == place)
			return BPF_CORE_READ(instance, orig_ret_vaddr);
		instance = BPF_CORE_READ(instance, next);
	}
	return 0;
}

/* What a step reads: the return address below `cfa`, and at `fp_at`, if it is not 0, fp. */
struct frame_read {
	u64 cfa, fp_at;
	u64 return_address, fp;
};

/*
 * Mostly both are within a few words: one read has them. The BPF stack has no room for these: on
 * 6.1 those of all functions from a program to here share 512 bytes.
 */
static __always_inline bool frame_read_near(struct thread *thread, struct frame_read *read)
{
	u64 *words = thread->trail.window;
	u64 below = read->cfa - read->fp_at;

	if (bpf_probe_read_user(words, UNWIND_NEAR_WORDS * sizeof(u64),
				(void *)(read->cfa - UNWIND_NEAR_WORDS * sizeof(u64))))
		return false;
	read->return_address = words[UNWIND_NEAR_WORDS - 1];
	if (!read->fp_at)
		return true;
	if (below > UNWIND_NEAR_WORDS * sizeof(u64) || below < 2 * sizeof(u64) || below & 7)
		return false;
	read->fp = words[(UNWIND_NEAR_WORDS - below / sizeof(u64)) & (UNWIND_NEAR_WORDS - 1)];
	thread->walk.fp_words = -(s32)(below / sizeof(u64));
	return true;
}

static __always_inline int frame_read(struct thread *thread, struct frame_read *read)
{
	thread->walk.fp_words = 0;
	if (frame_read_near(thread, read))
		return 0;
	thread->walk.fp_words = UNWIND_OPAQUE;
	if (bpf_probe_read_user(&read->return_address, sizeof(u64),
				(void *)(read->cfa - sizeof(u64))))
		return -1;
	return read->fp_at ? bpf_probe_read_user(&read->fp, sizeof(u64), (void *)read->fp_at) : 0;
}

/* Leaves a frame whose caller's stack pointer is `cfa` and whose return address is below it. */
static __always_inline int leave_frame(struct thread *thread, u64 cfa, u64 fp_at)
{
	struct unwind_state *state = &thread->walk;
	struct frame_read read = {.cfa = cfa, .fp_at = fp_at};
	u64 return_address;

	if (frame_read(thread, &read))
		return walk_end(state, LM_WALK_UNREADABLE);
	if (fp_at)
		state->fp = read.fp;
	return_address = read.return_address;
	if ((return_address & TRAMPOLINE_BITS) == TRAMPOLINE_BITS) {
		state->fp_words = UNWIND_OPAQUE;
		return_address = return_address_at(return_probe_place(cfa), return_address);
	}
	if (return_address < UNWIND_MIN_ADDRESS)
		return walk_end(state, LM_WALK_ROOT);
	if (return_address >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	state->ip = return_address;
	state->sp = cfa;
	state->exact_ip = false;
	return 0;
}

/* By the chain of frame pointers: each points at the caller's, above it the return address. */
static __always_inline int step_by_frame_pointer(struct thread *thread, u32 otherwise)
{
	struct unwind_state *state = &thread->walk;
	u64 fp = state->fp;

	if (fp - state->sp > UNWIND_MAX_STEP || fp & 7)
		return walk_end(state, otherwise);
	return leave_frame(thread, fp + 2 * sizeof(u64), fp);
}

static __always_inline int step_out_of_signal(struct unwind_state *state)
{
	u64 saved[2];

	state->fp_words = UNWIND_OPAQUE;
	if (bpf_probe_read_user(saved, sizeof(saved),
				(void *)(state->sp + machine_frame.signal_sp)) ||
	    bpf_probe_read_user(&state->fp, sizeof(u64),
				(void *)(state->sp + machine_frame.signal_fp)))
		return walk_end(state, LM_WALK_UNREADABLE);
	state->sp = saved[0];
	state->ip = saved[1];
	state->exact_ip = true;
	if (state->ip >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	return state->ip < UNWIND_MIN_ADDRESS ? walk_end(state, LM_WALK_ROOT) : 0;
}

static __always_inline int step_by_row(struct thread *thread, struct lm_unwind_row row)
{
	struct unwind_state *state = &thread->walk;
	s64 offset = (s64)row.cfa_words * 8;
	bool opaque = false;
	u64 cfa = 0, fp_at;
	int ended;

	switch (row.kind) {
	case LM_UNWIND_SP:
		cfa = state->sp + offset;
		break;
	case LM_UNWIND_FP:
		cfa = state->fp + offset;
		break;
	case LM_UNWIND_PLT:
		cfa = state->sp + 8 + ((state->ip & 15) >= row.cfa_words ? 8 : 0);
		break;
	case LM_UNWIND_FP_DEREF:
		opaque = true;
		if (bpf_probe_read_user(&cfa, sizeof(cfa), (void *)(state->fp + offset)))
			return walk_end(state, LM_WALK_UNREADABLE);
		break;
	case LM_UNWIND_SP_DEREF:
		opaque = true;
		if (bpf_probe_read_user(&cfa, sizeof(cfa), (void *)(state->sp + offset)))
			return walk_end(state, LM_WALK_UNREADABLE);
		break;
	case LM_UNWIND_SIGNAL:
		return step_out_of_signal(state);
	case LM_UNWIND_END:
		state->closed = true;
		return walk_end(state, LM_WALK_ROOT);
	default:
		return walk_end(state, LM_WALK_UNSUPPORTED);
	}
	fp_at = row.fp_words ? cfa + (s64)row.fp_words * 8 : 0;
	if (row.kind == LM_UNWIND_FP_DEREF && !row.fp_words)
		fp_at = state->fp;
	ended = leave_frame(thread, cfa, fp_at);
	if (opaque)
		state->fp_words = UNWIND_OPAQUE;
	return ended;
}

#ifdef LEAKMON_UNWIND_ELSEWHERE
/* The maps of rows are in one object only (unwind_maps.bpf.h), and this with them. */
extern int unwind_step(struct thread *thread);
#else
/*
 * From one frame to its caller: 0, or 1 when the walk has ended. A global function, so that the
 * verifier checks it once and not once per frame.
 */
__noinline int unwind_step(struct thread *thread)
{
	struct lm_unwind_row row = {};
	struct unwind_state *state;
	int found;

	if (!thread)
		return 1;
	state = &thread->walk;
	if (stack_walk == LM_STACK_WALK_FP)
		return step_by_frame_pointer(thread, LM_WALK_ROOT);
	found = unwind_row_known(thread, state->exact_ip ? state->ip : state->ip - 1, &row);
	if (found == UNWIND_ROW_FOUND && row.kind != LM_UNWIND_NONE)
		return step_by_row(thread, row);
	if (found != UNWIND_ROW_FOUND)
		return walk_end(state, LM_WALK_NO_ROWS);
	if (stack_walk == LM_STACK_WALK_CFI || step_by_frame_pointer(thread, LM_WALK_NO_FDE))
		return walk_end(state, LM_WALK_NO_FDE);
	/* It may have been data: only what leads to code is believed. */
	if (unwind_row_known(thread, state->ip - 1, &row) != UNWIND_ROW_FOUND)
		return walk_end(state, LM_WALK_NO_FDE);
	return 0;
}
#endif

#endif
