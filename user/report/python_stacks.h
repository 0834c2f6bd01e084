/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The places of a Python program's threads, in its own functions: plain data, made by
 * heap/runtime/cpython/python_reader.h. All strings are untrusted, and owned by the report.
 */
#ifndef LEAKMON_REPORT_PYTHON_STACKS_H
#define LEAKMON_REPORT_PYTHON_STACKS_H

#include <stdint.h>

#include "base/vec.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"

/* Threads at the same place. */
struct python_group {
	uint64_t id;	     /* of the stack: the same on every run of the program */
	struct frames stack; /* innermost first; owned. Empty: outside Python code */
	VEC(uint32_t) tids;  /* of some; 0: not in this version */
};

struct python_stacks {
	char version[24]; /* "3.11.2"; "": unknown */
	bool untested;	  /* the version: unknown, but describes itself like a known one */
	const char *why;  /* why they are unknown; static; NULL: known */
	uint64_t interpreters;
	VEC(struct python_group) groups; /* most threads first */
	struct intern strings;
};

void python_stacks_free(struct python_stacks *stacks);
uint64_t python_stacks_threads(const struct python_stacks *stacks);

#endif
