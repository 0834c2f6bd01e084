/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Which part of a thread's stack belongs to which function, by unwinding the copy that a heap image
 * holds: rows of .eh_frame, and the frame pointer where there are none.
 */
#ifndef LEAKMON_RETAIN_STACK_FRAMES_H
#define LEAKMON_RETAIN_STACK_FRAMES_H

#include "heap/allocators/heap_image.h"

struct worker;

struct stack_frame {
	uint64_t low, high; /* [low, high): from its stack pointer to its caller's */
	uint64_t address;   /* one past an instruction of its function, as a return address is */
	uint32_t thread;
	bool outermost; /* no caller: what lies above is not of a function */
	bool has_cfa;	/* `high` is its CFA */
	bool rooted;	/* every frame of its thread is known, up to the first one */
	uint32_t depth; /* how many frames are further out */
};

/* Words of a frame with dead variables: see binary/parse/slots.h. */
struct dead_slots {
	uint64_t low, high; /* [low, high) */
};

struct stack_frames {
	VEC(struct stack_frame) list; /* by ascending address */
	VEC(struct dead_slots) dead;  /* likewise; where debug information is at hand */
};

/* 0 or -ENOMEM. Stacks that cannot be unwound have the frames up to there. */
int stack_frames_find(const struct heap_image *heap_image, struct worker *worker,
		      struct stack_frames *frames);
/*
 * The same of threads that run on, of which the heap image has nothing but maps, and the stacks
 * that were copied: where they stand is given, by index, and their frame pointers are not known.
 * Frames come by thread, innermost first; none is called dead. 0 or -ENOMEM.
 */
struct stack_starts {
	uint64_t *items;
	size_t count, capacity;
};
int stack_frames_walk(const struct heap_image *heap_image, const struct stack_starts *starts,
		      struct worker *worker, struct stack_frames *frames);
bool stack_frames_is_dead(const struct stack_frames *frames, uint64_t address);
void stack_frames_free(struct stack_frames *frames);

/* The frame that holds address; else the next one below it, or NULL. */
const struct stack_frame *stack_frames_at(const struct stack_frames *frames, uint64_t address);

#endif
