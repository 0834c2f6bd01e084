/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The user stack walk, behind one function: unwind_user.
 *
 * It runs where an allocator returned: the instruction pointer is already in the caller, and every
 * callee-saved register has the caller's value again (psABI x86-64, 3.2.1), so the allocator's own
 * frame needs no unwinding. From there it follows frame pointers.
 */
#ifndef LEAKMON_BPF_UNWIND_H
#define LEAKMON_BPF_UNWIND_H

#include "maps.bpf.h"

/* The largest step between two frames that is believed: more is a register that holds data. */
#define UNWIND_MAX_STEP (8ull << 20)
/* Addresses below are never code (vm.mmap_min_addr). */
#define UNWIND_MIN_ADDRESS 4096ull

struct stack_walk {
	u32 depth;
	u64 hash;
};

static __always_inline u64 unwind_hash(u64 hash, u64 address)
{
	hash = (hash ^ address) * 0x9E3779B97F4A7C15ull;
	return hash ^ hash >> 29;
}

/* Fills thread->frames, caller first; the hash also takes in the process. */
static __always_inline struct stack_walk unwind_user(struct pt_regs *ctx, struct thread *thread)
{
	struct stack_walk walk = {.depth = 1};
	u64 frame_pointer = PT_REGS_FP(ctx), lowest = PT_REGS_SP(ctx);
	u64 record[2]; /* the caller's frame pointer, the return address */

	thread->frames[0] = PT_REGS_IP(ctx);
	walk.hash = unwind_hash(thread->process * 0xff51afd7ed558ccdull, thread->frames[0]);
	for (u32 i = 1; i < LM_MAX_FRAMES; i++) {
		if (frame_pointer - lowest > UNWIND_MAX_STEP || frame_pointer & 7)
			break;
		if (bpf_probe_read_user(record, sizeof(record), (void *)frame_pointer))
			break;
		if (record[1] < UNWIND_MIN_ADDRESS)
			break;
		thread->frames[i] = record[1];
		walk.hash = unwind_hash(walk.hash, record[1]);
		walk.depth = i + 1;
		lowest = frame_pointer + sizeof(record);
		frame_pointer = record[0];
	}
	return walk;
}

#endif
