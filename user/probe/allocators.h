/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocator table: which functions are probed, and what a call of each means.
 * Adding a function is adding a row.
 */
#ifndef LEAKMON_PROBE_ALLOCATORS_H
#define LEAKMON_PROBE_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>

/* What the arguments mean; each shape has a program of its own in bpf/heap.bpf.c. */
enum call_shape {
	SHAPE_SIZE,	      /* (size) -> pointer */
	SHAPE_COUNT_SIZE,     /* (n, size) -> pointer */
	SHAPE_ALIGN_SIZE,     /* (alignment, size) -> pointer */
	SHAPE_OUT_ALIGN_SIZE, /* (pointer *out, alignment, size) -> error number */
	SHAPE_RESIZE,	      /* (pointer, size) -> pointer */
	SHAPE_RESIZE_COUNT,   /* (pointer, n, size) -> pointer */
	SHAPE_FREE,	      /* (pointer) */
	SHAPE_MAX_,
};

struct call_shape_info {
	const char *program;
	unsigned arguments;   /* integer argument registers that the program reads */
	bool returns;	      /* its return is probed too */
	bool null_is_trivial; /* a call with a NULL first argument does nothing */
};

struct allocator_function {
	const char *name;
	enum call_shape shape;
};

extern const struct call_shape_info call_shapes[SHAPE_MAX_];
extern const struct allocator_function allocator_functions[];
extern const size_t allocator_function_count;

#endif
