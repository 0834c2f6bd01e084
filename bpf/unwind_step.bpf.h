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

/* Leaves a frame whose caller's stack pointer is `cfa` and whose return address is below it. */
static __always_inline int leave_frame(struct unwind_state *state, u64 cfa, u64 fp_at)
{
	u64 saved[2];

	state->cfa = cfa;
	state->fp_at = fp_at;
	if (fp_at == cfa - sizeof(saved)) { /* pushed first: both in one read */
		if (bpf_probe_read_user(saved, sizeof(saved), (void *)fp_at))
			return walk_end(state, LM_WALK_UNREADABLE);
		state->fp = saved[0];
	} else {
		if (bpf_probe_read_user(&saved[1], sizeof(u64), (void *)(cfa - sizeof(u64))))
			return walk_end(state, LM_WALK_UNREADABLE);
		if (fp_at && bpf_probe_read_user(&state->fp, sizeof(u64), (void *)fp_at))
			return walk_end(state, LM_WALK_UNREADABLE);
	}
	if ((saved[1] & TRAMPOLINE_BITS) == TRAMPOLINE_BITS) {
		state->replayable = false;
		saved[1] = return_address_at(cfa - sizeof(u64), saved[1]);
	}
	if (saved[1] < UNWIND_MIN_ADDRESS) {
		state->replayable = false; /* the end was read, too */
		return walk_end(state, LM_WALK_ROOT);
	}
	if (saved[1] >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	state->ip = saved[1];
	state->sp = cfa;
	state->exact_ip = false;
	return 0;
}

/* By the chain of frame pointers: each points at the caller's, above it the return address. */
static __always_inline int step_by_frame_pointer(struct unwind_state *state, u32 otherwise)
{
	u64 fp = state->fp;

	if (fp - state->sp > UNWIND_MAX_STEP || fp & 7)
		return walk_end(state, otherwise);
	return leave_frame(state, fp + 2 * sizeof(u64), fp);
}

static __always_inline int step_out_of_signal(struct unwind_state *state)
{
	u64 saved[2];

	state->replayable = false;
	if (bpf_probe_read_user(saved, sizeof(saved), (void *)(state->sp + SIGNAL_FRAME_SP)) ||
	    bpf_probe_read_user(&state->fp, sizeof(u64), (void *)(state->sp + SIGNAL_FRAME_FP)))
		return walk_end(state, LM_WALK_UNREADABLE);
	state->sp = saved[0];
	state->ip = saved[1];
	state->exact_ip = true;
	if (state->ip >= USER_MAX_ADDRESS)
		return walk_end(state, LM_WALK_UNREADABLE);
	return state->ip < UNWIND_MIN_ADDRESS ? walk_end(state, LM_WALK_ROOT) : 0;
}

static __always_inline int step_by_row(struct unwind_state *state, struct lm_unwind_row row)
{
	s64 offset = (s64)row.cfa_words * 8;
	u64 cfa = 0, fp_at;

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
		state->replayable = false;
		if (bpf_probe_read_user(&cfa, sizeof(cfa), (void *)(state->fp + offset)))
			return walk_end(state, LM_WALK_UNREADABLE);
		break;
	case LM_UNWIND_SP_DEREF:
		state->replayable = false;
		if (bpf_probe_read_user(&cfa, sizeof(cfa), (void *)(state->sp + offset)))
			return walk_end(state, LM_WALK_UNREADABLE);
		break;
	case LM_UNWIND_SIGNAL:
		return step_out_of_signal(state);
	case LM_UNWIND_END:
		return walk_end(state, LM_WALK_ROOT);
	default:
		return walk_end(state, LM_WALK_UNSUPPORTED);
	}
	fp_at = row.fp_words ? cfa + (s64)row.fp_words * 8 : 0;
	if (row.kind == LM_UNWIND_FP_DEREF && !row.fp_words)
		fp_at = state->fp;
	return leave_frame(state, cfa, fp_at);
}

#ifdef LEAKMON_UNWIND_ELSEWHERE
/* The maps of rows are in one object only (unwind_maps.bpf.h), and this with them. */
extern int unwind_step(struct unwind_state *state);
#else
/*
 * From one frame to its caller: 0, or 1 when the walk has ended. A global function, so that the
 * verifier checks it once and not once per frame.
 */
__noinline int unwind_step(struct unwind_state *state)
{
	struct lm_unwind_row row = {};
	u64 address;
	int found;

	if (!state)
		return 1;
	if (stack_walk == LM_STACK_WALK_FP)
		return step_by_frame_pointer(state, LM_WALK_ROOT);
	address = state->exact_ip ? state->ip : state->ip - 1;
	found = unwind_row_find(state, address, &row);
	if (found == UNWIND_ROW_FOUND && row.kind != LM_UNWIND_NONE)
		return step_by_row(state, row);
	if (found != UNWIND_ROW_FOUND)
		return walk_end(state, LM_WALK_NO_ROWS);
	if (stack_walk == LM_STACK_WALK_CFI || step_by_frame_pointer(state, LM_WALK_NO_FDE))
		return walk_end(state, LM_WALK_NO_FDE);
	/* It may have been data: only what leads to code is believed. */
	if (unwind_row_find(state, state->ip - 1, &row) != UNWIND_ROW_FOUND)
		return walk_end(state, LM_WALK_NO_FDE);
	state->replayable = false; /* that was a guess */
	return 0;
}
#endif

#endif
