/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where the memory for Python's small objects goes: plain data, made by
 * heap/runtime/cpython/memory.c. In bytes. The interpreter gives an arena back to the kernel when
 * all of it is free. */
#ifndef LEAKMON_REPORT_PYTHON_MEMORY_H
#define LEAKMON_REPORT_PYTHON_MEMORY_H

#include <stdint.h>

#include "base/vec.h"

/* Objects of one class in arenas that are hardly used. */
struct python_pin {
	char *name; /* "module.Qualname"; untrusted; owned; NULL: memory that belongs to objects */
	uint64_t objects, bytes;
	uint64_t arenas; /* in so many of them */
};

struct python_memory {
	char version[24]; /* "3.11.2"; "": not known */
	bool untested;	  /* the version: it describes itself as one that is known */
	const char *why;  /* nothing is known; static; NULL: it is */
	uint64_t arenas, bytes;
	uint64_t used;	    /* objects, and tables that belong to them */
	uint64_t pool_free; /* in pools of which a part is in use, for objects of one size each */
	uint64_t free;	    /* pools that are not in use, for any size */
	uint64_t nonsense;  /* pools that changed while they were read: not counted */
	/* Arenas of which at most a PYTHON_SPARSE_PART-th is in use, and what is free in them. */
	uint64_t sparse, sparse_free;
	VEC(struct python_pin) pins; /* those in most sparse arenas first */
};
#define PYTHON_SPARSE_PART 4

struct figures;
extern const struct figures python_memory_figures, python_pin_figures;

void python_memory_free(struct python_memory *python);

#endif
