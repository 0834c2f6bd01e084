/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The allocator table: the functions to probe, and the meaning of a call of each. To add a
 * function, add a row.
 */
#ifndef LEAKMON_PARSE_ALLOCATORS_H
#define LEAKMON_PARSE_ALLOCATORS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "leakmon_abi.h"

/* Meaning of the arguments; the programs of bpf/heap.bpf.c get it in the attach cookie. */
enum call_shape {
	SHAPE_SIZE,	      /* (size) -> pointer */
	SHAPE_COUNT_SIZE,     /* (n, size) -> pointer */
	SHAPE_ALIGN_SIZE,     /* (alignment or heap, size) -> pointer */
	SHAPE_OUT_ALIGN_SIZE, /* (pointer *out, alignment, size) -> error number */
	SHAPE_RESIZE,	      /* (pointer, size) -> pointer */
	SHAPE_RESIZE_COUNT,   /* (pointer, n, size) -> pointer */
	SHAPE_FREE,	      /* (pointer) */

	SHAPE_HEAP_COUNT_SIZE,	   /* (heap, n, size) -> pointer */
	SHAPE_HEAP_RESIZE,	   /* (heap, pointer, size) -> pointer */
	SHAPE_HEAP_RESIZE_COUNT,   /* (heap, pointer, n, size) -> pointer */
	SHAPE_RESIZE_OR_FREE,	   /* (pointer, size) -> pointer; NULL: the old block is freed */
	SHAPE_HEAP_RESIZE_OR_FREE, /* (heap, pointer, size) -> as RESIZE_OR_FREE */
	SHAPE_RESIZE_IN_PLACE,	   /* (pointer, size, ...) -> the block's size now */

	/* These may throw: no return probe may be in an exception's way (binary/arch/results.h). */
	SHAPE_NEW,	      /* (size) -> pointer */
	SHAPE_NEW_COUNT,      /* (n, size) -> pointer */
	SHAPE_HEAP_NEW,	      /* (heap, size) -> pointer */
	SHAPE_HEAP_NEW_COUNT, /* (heap, n, size) -> pointer */
	SHAPE_MAX_,
};

struct call_shape_info {
	unsigned arguments;   /* integer argument registers that the program reads */
	bool allocates;	      /* it allocates a block: its result is needed */
	bool returns;	      /* its return is probed, too */
	bool throws;	      /* plain probes only, at the entry and where the result is known */
	bool null_is_trivial; /* a call with a NULL first argument does nothing */
	/* The arguments in their usual registers; LM_ARGUMENTS_NAMED: none are usual. */
	enum lm_arguments usual;
	/* The index of each argument, from 1; 0: none. */
	unsigned size, count, pointer;
	bool or_free, in_place;
};

/*
 * The prefixes under which a row's name exists: malloc is also je_malloc, but mallocx is never
 * tc_mallocx.
 */
enum allocator_prefix {
	PREFIX_NONE,
	PREFIX_JE,   /* jemalloc as configured in redis and others */
	PREFIX_RJEM, /* jemalloc in Rust programs */
	PREFIX_TC,
	PREFIX_MI,
	PREFIX_MAX_,
};

struct allocator_function {
	const char *name; /* after the prefix */
	enum call_shape shape;
	unsigned prefixes; /* bits of enum allocator_prefix */
};

/* The allocator's maker, for people: a file with this symbol is of this family. */
struct allocator_family {
	const char *symbol, *name;
};

extern const struct call_shape_info call_shapes[SHAPE_MAX_];
extern const char *const allocator_prefixes[PREFIX_MAX_];
extern const struct allocator_function allocator_functions[];
extern const size_t allocator_function_count;
extern const struct allocator_family allocator_families[];
extern const size_t allocator_family_count;

/* The rows in order of their names. */
#define ALLOCATOR_MAX_ROWS 256
struct allocator_index {
	uint8_t rows[ALLOCATOR_MAX_ROWS];
};

void allocator_index_make(struct allocator_index *index);
/*
 * Returns the row of a symbol and its prefix, or -ENOENT. With the user's own prefix (not "") only
 * names with it match; a prefix that is not in the table may precede any name that also exists
 * without one.
 */
int allocator_index_find(const struct allocator_index *index, const char *symbol,
			 const char *own_prefix, enum allocator_prefix *prefix);

/*
 * Returns whether it is a C++ operator, by the Itanium ABI's names: a file with only these is no
 * allocator.
 */
bool allocator_is_operator(size_t function);

/*
 * Returns the arguments of the programs at an entry (include/leakmon_abi.h): `registers` has the
 * argument registers, by their number in instructions; `moved`: some have moved.
 */
uint64_t allocator_cookie(size_t function, const uint8_t *registers, bool moved);

#endif
