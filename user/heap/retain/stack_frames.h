/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Assigns parts of a thread's stack to functions, by unwinding the copy in a heap image: with rows
 * of .eh_frame, and by the frame pointer where there are none.
 */
#ifndef LEAKMON_RETAIN_STACK_FRAMES_H
#define LEAKMON_RETAIN_STACK_FRAMES_H

#include "heap/allocators/heap_image.h"

struct worker;

struct stack_frame {
	uint64_t low, high; /* [low, high): from its stack pointer to its caller's */
	uint64_t address;   /* like a return address, one past an instruction of its function */
	uint32_t thread;
	bool outermost; /* no caller: memory above belongs to no function */
	bool has_cfa;	/* `high` is its CFA */
	bool rooted;	/* every frame of its thread is known, up to the first one */
	uint32_t depth; /* number of outer frames */
};

/* Words of a frame with dead variables: see binary/parse/slots.h. */
struct dead_slots {
	uint64_t low, high; /* [low, high) */
};

struct stack_frames {
	VEC(struct stack_frame) list; /* by ascending address */
	VEC(struct dead_slots) dead;  /* by ascending address; if debug information is available */
};

/*
 * Finds the frames. Returns 0 or -ENOMEM. A stack that cannot be fully unwound has its frames up to
 * there.
 */
int stack_frames_find(const struct heap_image *heap_image, struct worker *worker,
		      struct stack_frames *frames);
/*
 * Finds the frames of running threads, of which the heap image has only maps, and the copied
 * stacks: their instruction addresses are given, by index, and their frame pointers are unknown.
 * Frames come by thread, innermost first; no slots are called dead. Returns 0 or -ENOMEM.
 */
struct stack_starts {
	uint64_t *items;
	size_t count, capacity;
};
int stack_frames_walk(const struct heap_image *heap_image, const struct stack_starts *starts,
		      struct worker *worker, struct stack_frames *frames);
bool stack_frames_is_dead(const struct stack_frames *frames, uint64_t address);
void stack_frames_free(struct stack_frames *frames);

/* Returns the frame that contains address; else the next one below it, or NULL. */
const struct stack_frame *stack_frames_at(const struct stack_frames *frames, uint64_t address);

#endif
