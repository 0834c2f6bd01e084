/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The frames of Python code, behind one function: python_walk. It follows the interpreter's own
 * list of frames from the thread's state, which user space has found for each process
 * (user/heap/runtime/cpython/python_reader.h). Only code objects are noted: user space resolves
 * names.
 *
 * A frame is read in one piece, whatever its version: see struct lm_python.
 */
#ifndef LEAKMON_BPF_PYTHON_H
#define LEAKMON_BPF_PYTHON_H

#include "maps.bpf.h"
#include "unwind.bpf.h"

/* In thread->trail.window, which the walk no longer needs: a frame, and the notes of all frames. */
#define PYTHON_NOTES (LM_PYTHON_FRAME_BYTES / 8)
/*
 * The number of notes: in memory, because the verifier would follow each value of a variable
 * separately.
 */
#define PYTHON_DEPTH (PYTHON_NOTES + LM_PYTHON_FRAMES)
#define PYTHON_NOTES_MASK 63u
#define PYTHON_FIELD_MASK (LM_PYTHON_FRAME_BYTES - 8)

_Static_assert(LM_PYTHON_FRAMES == PYTHON_NOTES_MASK + 1, "a mask");
_Static_assert(PYTHON_DEPTH < UNWIND_WINDOW_WORDS, "room for all");

#ifndef LEAKMON_SITES_ELSEWHERE
struct python_walk {
	struct thread *thread;
	const struct lm_python *python;
	u64 frame;
	u64 hash;
};

static __always_inline u64 python_word(const struct thread *thread, u32 field)
{
	return *(const u64 *)((const u8 *)thread->trail.window + (field & PYTHON_FIELD_MASK));
}

/* Returns the 32-bit half of the word that holds `field`. */
static __always_inline u32 python_half(const struct thread *thread, u32 field)
{
	return python_word(thread, field) >> (field & 4 ? 32 : 0);
}

static __always_inline u8 python_byte(const struct thread *thread, u32 field)
{
	return python_word(thread, field) >> (field & 7) * 8;
}

static __always_inline u64 python_note(const struct thread *thread, const struct lm_python *python,
				       u64 code)
{
	u64 units = LM_PYTHON_NO_OFFSET, at, note;
	bool entered = python->kind == LM_PYTHON_OBJECTS;

	if (entered) {
		at = python_half(thread, python->instruction);
		if (!(at >> 31))
			units = at >> python->shift;
	} else {
		at = (python_word(thread, python->instruction) - code - python->bytecode) >> 1;
		if (at < LM_PYTHON_NO_OFFSET)
			units = at;
	}
	if (python->kind == LM_PYTHON_ENTERED)
		entered = python_byte(thread, python->owner);
	if (units > LM_PYTHON_NO_OFFSET)
		units = LM_PYTHON_NO_OFFSET;
	note = code >> LM_PYTHON_CODE_SHIFT & LM_PYTHON_CODE_MASK;
	note |= units << LM_PYTHON_OFFSET_SHIFT | LM_FRAME_PYTHON;
	return entered ? note | LM_PYTHON_FROM_C : note;
}

/* Frames that are objects have the fields of interest further on. */
static __always_inline bool python_frame_read(struct python_walk *walk)
{
	u64 *window = walk->thread->trail.window;

	if (walk->python->kind == LM_PYTHON_OBJECTS)
		return !bpf_probe_read_user(window, LM_PYTHON_FRAME_BYTES, (void *)walk->frame);
	return !bpf_probe_read_user(window, LM_PYTHON_NEAR_BYTES, (void *)walk->frame);
}

/* Notes one frame. Returns 1 when there are no more, or no room for more. */
static int python_step(u32 i, struct python_walk *walk)
{
	const struct lm_python *python = walk->python;
	struct thread *thread = walk->thread;
	u64 depth = thread->trail.window[PYTHON_DEPTH], code, note;

	(void)i;
	if (!walk->frame || !python_frame_read(walk))
		return 1;
	walk->frame = python_word(thread, python->previous);
	if (python->kind == LM_PYTHON_OWNED &&
	    python_byte(thread, python->owner) == LM_PYTHON_OWNED_BY_C) {
		walk->hash = unwind_hash(walk->hash, LM_PYTHON_FROM_C);
		if (depth)
			thread->trail.window[PYTHON_NOTES + ((depth - 1) & PYTHON_NOTES_MASK)] |=
				LM_PYTHON_FROM_C;
		return 0;
	}
	/* From 3.14 on the pointer has tag bits; before, these are zero. */
	code = python_word(thread, python->code) & ~3ull;
	if (!code || code & ~(LM_PYTHON_CODE_MASK << LM_PYTHON_CODE_SHIFT))
		return 1;
	if (depth >= LM_PYTHON_FRAMES) {
		thread->trail.window[PYTHON_DEPTH] = LM_PYTHON_FRAMES + 1;
		return 1;
	}
	note = python_note(thread, python, code);
	barrier_var(depth); /* or clang drops the mask, and older verifiers lose the bound */
	thread->trail.window[PYTHON_NOTES + (depth & PYTHON_NOTES_MASK)] = note;
	walk->hash = unwind_hash(walk->hash, note);
	thread->trail.window[PYTHON_DEPTH] = depth + 1;
	return 0;
}

static __always_inline u64 python_read(u64 address)
{
	u64 word = 0;

	bpf_probe_read_user(&word, sizeof(word), (void *)address);
	return word;
}

/*
 * Returns the number of frames noted, from PYTHON_NOTES on, innermost first; LM_PYTHON_FRAMES + 1
 * if there are more. The walk's hash includes them. A global function: the verifier checks it once.
 */
__noinline u32 python_walk(struct thread *thread)
{
	struct python_walk walk = {.thread = thread};
	u64 self, state;
	u32 tgid;

	if (!thread || !python_count)
		return 0;
	tgid = thread->walk.tgid;
	walk.python = bpf_map_lookup_elem(&pythons, &tgid);
	if (!walk.python)
		return 0;
	self = task_thread_pointer(bpf_get_current_task_btf());
	state = python_read(self + (s64)walk.python->state);
	/* A thread that has not entered Python yet has none. */
	if (!state || python_read(state + walk.python->handle) != self - walk.python->descriptor)
		return 0;
	walk.frame = python_read(state + walk.python->frame);
	if (walk.python->indirect && walk.frame)
		walk.frame = python_read(walk.frame + walk.python->current);
	walk.hash = thread->walk.hash;
	thread->trail.window[PYTHON_DEPTH] = 0;
	bpf_loop(2 * LM_PYTHON_FRAMES + 2, python_step, &walk, 0);
	if (thread->trail.window[PYTHON_DEPTH])
		thread->walk.hash = walk.hash;
	return thread->trail.window[PYTHON_DEPTH];
}
#endif

#endif
