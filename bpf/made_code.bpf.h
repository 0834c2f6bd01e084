/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Unwinds a frame in code that its process generates at run time, by the process's own record of
 * the code block (struct lm_made_code). The record is read during the walk, because it changes
 * whenever code is generated or dropped.
 */
#ifndef LEAKMON_BPF_MADE_CODE_H
#define LEAKMON_BPF_MADE_CODE_H

#include "unwind_maps.bpf.h"

#define MADE_HOPS 16 /* segments back to the first one of a block */
#define MADE_BLOCK_FREE 255
#define MADE_FRAME_MAX 32767
#define MADE_MISSING (-2)
#define MADE_NO_FRAME 0

static __always_inline const struct lm_code_heap *made_heap(const struct lm_made_code *code,
							    u64 address)
{
	for (int i = 0; i < LM_CODE_HEAPS; i++) {
		if (address >= code->heaps[i].low && address < code->heaps[i].high)
			return &code->heaps[i];
	}
	return NULL;
}

/*
 * Returns the first segment of the block that contains this one; sets *found to 0 if there is none.
 */
static __always_inline u64 made_block(const struct lm_code_heap *heap, u64 segment, bool *found)
{
	u8 back = 0;

	*found = false;
	for (int i = 0; i < MADE_HOPS; i++) {
		if (bpf_probe_read_user(&back, sizeof(back), (void *)(heap->segments + segment)) ||
		    back == MADE_BLOCK_FREE || back > segment)
			return 0;
		if (!back) {
			*found = true;
			return segment;
		}
		segment -= back;
	}
	return 0;
}

/*
 * Returns the number of words in the frame of the code at the walk's ip; fewer than 2: it has no
 * frame of its own. MADE_MISSING: no code is known there. A global function: the verifier checks it
 * once.
 */
__noinline int made_frame_words(struct thread *thread)
{
	const struct lm_made_code *code;
	const struct lm_code_heap *heap;
	u64 address, segment;
	s32 words = 0;
	u32 tgid;
	bool found;

	if (!thread)
		return MADE_MISSING;
	tgid = thread->walk.tgid;
	address = thread->walk.ip - 1;
	code = bpf_map_lookup_elem(&made_codes, &tgid);
	heap = code ? made_heap(code, address) : NULL;
	if (!heap)
		return MADE_MISSING;
	segment = made_block(heap, (address - heap->low) >> (code->shift & 31), &found);
	if (!found || bpf_probe_read_user(
			      &words, sizeof(words),
			      (void *)(heap->low + (segment << (code->shift & 31)) + code->frame)))
		return MADE_MISSING;
	if (words > MADE_FRAME_MAX)
		return MADE_MISSING;
	return words < 0 ? MADE_NO_FRAME : words;
}

#define JS_WORD(words, word) (words)[(word)-LM_JS_WORD_OFFSET]

/* Optimized code and builtins may have any value in these words. */
static __always_inline bool js_has_bytecode(const struct lm_made_code *code, const u64 *words)
{
	u64 array = JS_WORD(words, LM_JS_WORD_BYTECODE), map;

	return LM_JS_IS_POINTER(array) &&
	       !bpf_probe_read_user(&map, sizeof(map), (void *)(array - 1)) &&
	       map == code->bytecode;
}

/*
 * Returns the function of the frame that a step by frame pointer has just left, if V8 made it for
 * one; 0 for any other frame, or without V8. The step has read its words. The function's shared
 * info is noted, because a collection may move the function itself, while the part that all its
 * closures share mostly stays.
 *
 * `ip`: of a frame that is in no file; else 0.
 */
static __always_inline u64 js_note(struct thread *thread, u64 ip)
{
	const u64 *words = thread->trail.window + UNWIND_NEAR_WORDS - 2 + LM_JS_WORD_OFFSET;
	const struct lm_made_code *code;
	u32 tgid = thread->walk.tgid;
	u64 function = JS_WORD(words, LM_JS_WORD_FUNCTION), shared, at, note = LM_FRAME_INTERPRETED;
	bool has_bytecode;

	if (!LM_JS_IS_POINTER(JS_WORD(words, LM_JS_WORD_CONTEXT)) || !LM_JS_IS_POINTER(function))
		return 0;
	code = bpf_map_lookup_elem(&made_codes, &tgid);
	if (!code || !code->shared ||
	    bpf_probe_read_user(&shared, sizeof(shared), (void *)(function - 1 + code->shared)) ||
	    !LM_JS_IS_POINTER(shared))
		return 0;
	has_bytecode = js_has_bytecode(code, words);
	at = has_bytecode ? JS_WORD(words, LM_JS_WORD_OFFSET) >> 32 : 0;
	if (ip) {
		at = ip;
		note |= has_bytecode ? LM_FRAME_COMPILED : LM_FRAME_OPTIMIZED;
	}
	shared = shared >> 3 & ((1ull << LM_INTERPRETED_METHOD_BITS) - 1);
	return note | (at & LM_INTERPRETED_AT_MASK) << LM_INTERPRETED_METHOD_BITS | shared;
}

/* Finds the row of such code: *row is LM_UNWIND_MADE. */
static __always_inline int made_row(struct thread *thread, struct lm_unwind_row *row)
{
	int words;

	/* Interrupted here, its frame may be incomplete. */
	if (thread->walk.exact_ip) {
		row->kind = LM_UNWIND_UNSUPPORTED;
		return UNWIND_ROW_FOUND;
	}
	words = made_frame_words(thread);
	if (words == MADE_MISSING)
		return UNWIND_ROW_MISSING;
	row->kind = words >= 2 ? LM_UNWIND_SP : LM_UNWIND_FP;
	if (!machine_frame.return_words)
		row->kind |= LM_RETURN_BY_CFA;
	row->cfa_words = words >= 2 ? words : 2;
	row->fp_words = -2;
	return UNWIND_ROW_FOUND;
}

#endif
