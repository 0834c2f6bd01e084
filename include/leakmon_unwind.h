/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Finds a frame's caller: by the unwind row that covers the frame, by its frame pointer, or out of
 * a signal handler. The kernel side and the user side walk stacks by the same rules.
 *
 * An includer first defines how to read the target's memory:
 *
 *   LM_UNWIND_MEMORY                                  the type that `memory` points to
 *   LM_UNWIND_READ(memory, to, size, address)         0, or an error
 */
#ifndef LEAKMON_UNWIND_H
#define LEAKMON_UNWIND_H

#include "leakmon_abi.h"

#ifndef LM_UNWIND_READ
#error "how is memory read?"
#endif

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

/* Addresses below this are never code (vm.mmap_min_addr). */
#define LM_UNWIND_MIN_ADDRESS 4096ull

/* The registers of a frame. */
struct lm_frame {
	__u64 ip, sp, fp;
	__u64 link; /* valid only in an interrupted frame: all others have made a call */
};

/* Addresses in a frame of its caller's registers. */
struct lm_caller {
	__u64 sp;	 /* the stack pointer's value: the CFA */
	__u64 return_at; /* the return address; 0: it is in the link register */
	__u64 fp_at;	 /* the frame pointer; 0: unchanged from the frame */
};

#define LM_WORD sizeof(__u64)

/*
 * Returns the distance from the CFA to the return address, in words, if fp is saved at `fp_words`.
 */
static __always_inline __s32 lm_return_words(const struct lm_frame_abi *abi, __s32 fp_words)
{
	return abi->return_words ? abi->return_words : fp_words + 1;
}

/* A frame pointer points to the caller's; the return address follows. */
static __always_inline struct lm_caller lm_caller_by_fp(__u64 fp)
{
	return (struct lm_caller){.sp = fp + 2 * LM_WORD, .return_at = fp + LM_WORD, .fp_at = fp};
}

/* Computes the CFA. Returns LM_WALK_MAX_ on success, else how the walk ends here. */
static __always_inline enum lm_walk_end lm_row_cfa(struct lm_unwind_row row, __u32 kind,
						   const struct lm_frame *frame,
						   LM_UNWIND_MEMORY *memory, __u64 *cfa)
{
	__u64 offset = (__u64)((__s64)row.cfa_words * (__s64)LM_WORD);

	switch (kind) {
	case LM_UNWIND_SP:
		*cfa = frame->sp + offset;
		return LM_WALK_MAX_;
	case LM_UNWIND_FP:
		*cfa = frame->fp + offset;
		return LM_WALK_MAX_;
	case LM_UNWIND_PLT:
		*cfa = frame->sp + LM_WORD +
		       ((frame->ip & 15) >= (__u64)row.cfa_words ? LM_WORD : 0);
		return LM_WALK_MAX_;
	case LM_UNWIND_FP_DEREF:
		if (LM_UNWIND_READ(memory, cfa, sizeof(*cfa), frame->fp + offset))
			return LM_WALK_UNREADABLE;
		return LM_WALK_MAX_;
	case LM_UNWIND_SP_DEREF:
		if (LM_UNWIND_READ(memory, cfa, sizeof(*cfa), frame->sp + offset))
			return LM_WALK_UNREADABLE;
		return LM_WALK_MAX_;
	case LM_UNWIND_END:
		return LM_WALK_ROOT;
	default:
		return LM_WALK_UNSUPPORTED;
	}
}

/* Sets the location of the return address on processors with a link register. */
static __always_inline void lm_row_link(struct lm_unwind_row row, struct lm_caller *caller)
{
	__u64 fp_offset = (__u64)((__s64)row.fp_words * (__s64)LM_WORD);
	__u64 offset = (__u64)((__s64)row.cfa_words * (__s64)LM_WORD);

	switch (row.kind & ~LM_UNWIND_KIND_MASK) {
	case LM_RETURN_IN_RECORD:
		caller->fp_at = caller->sp - offset + fp_offset;
		caller->return_at = caller->fp_at + LM_WORD;
		break;
	case LM_RETURN_BY_CFA:
		caller->fp_at = caller->sp + fp_offset;
		caller->return_at = caller->fp_at + LM_WORD;
		break;
	case LM_RETURN_ALONE:
		caller->return_at = caller->sp + fp_offset;
		caller->fp_at = 0;
		break;
	default:
		caller->return_at = 0;
	}
}

/*
 * Fills *caller from the row that covers the frame's instruction, of any kind but LM_UNWIND_NONE
 * and LM_UNWIND_SIGNAL. Returns LM_WALK_MAX_ on success, else how the walk ends here: LM_WALK_ROOT
 * if the frame has no caller.
 */
static __always_inline enum lm_walk_end
lm_row_apply(const struct lm_frame_abi *abi, struct lm_unwind_row row, const struct lm_frame *frame,
	     LM_UNWIND_MEMORY *memory, struct lm_caller *caller)
{
	__u32 kind = abi->return_words ? row.kind : row.kind & LM_UNWIND_KIND_MASK;
	__u64 cfa = 0;
	enum lm_walk_end end = lm_row_cfa(row, kind, frame, memory, &cfa);

	if (end != LM_WALK_MAX_)
		return end;
	caller->sp = cfa;
	caller->return_at = cfa + (__u64)((__s64)abi->return_words * (__s64)LM_WORD);
	caller->fp_at = row.fp_words ? cfa + (__u64)((__s64)row.fp_words * (__s64)LM_WORD) : 0;
	/* A function that realigned its stack, as gcc compiles it (binary/elf/cfi.h). */
	if (kind == LM_UNWIND_FP_DEREF && !row.fp_words)
		caller->fp_at = frame->fp;
	if (!abi->return_words)
		lm_row_link(row, caller);
	return LM_WALK_MAX_;
}

/*
 * Replaces the frame, the kernel's signal frame, with the interrupted one. Returns 0, or an error
 * of the read.
 */
static __always_inline int lm_signal_leave(const struct lm_frame_abi *abi, LM_UNWIND_MEMORY *memory,
					   struct lm_frame *frame)
{
	__u64 saved[2];

	if (LM_UNWIND_READ(memory, saved, sizeof(saved), frame->sp + abi->signal_sp) ||
	    LM_UNWIND_READ(memory, &frame->fp, sizeof(frame->fp), frame->sp + abi->signal_fp))
		return -1;
	if (abi->signal_link &&
	    LM_UNWIND_READ(memory, &frame->link, sizeof(frame->link), frame->sp + abi->signal_link))
		return -1;
	frame->sp = saved[0];
	frame->ip = saved[1];
	return 0;
}

#endif
