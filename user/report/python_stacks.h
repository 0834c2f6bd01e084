/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Where the threads of a Python program are, in its own functions: plain data, made by
 * heap/runtime/cpython/python_reader.h. All strings are untrusted, and the report's own.
 */
#ifndef LEAKMON_REPORT_PYTHON_STACKS_H
#define LEAKMON_REPORT_PYTHON_STACKS_H

#include <stdint.h>

#include "base/vec.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"

/* Threads that stand at the same place. */
struct python_group {
	uint64_t id;	     /* of the stack: the same on every run of the program */
	struct frames stack; /* innermost first; owned. Empty: outside of Python's code */
	VEC(uint32_t) tids;  /* of some; 0: this version has none */
};

struct python_stacks {
	char version[24]; /* "3.11.2"; "": not known */
	bool untested;	  /* the version: it describes itself as one that is known */
	const char *why;  /* they are not known; static; NULL: they are */
	uint64_t interpreters;
	VEC(struct python_group) groups; /* most threads first */
	struct intern strings;
};

void python_stacks_free(struct python_stacks *stacks);
uint64_t python_stacks_threads(const struct python_stacks *stacks);

#endif
