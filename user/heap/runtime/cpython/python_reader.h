/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of a Python program from outside, while it runs, without stopping it: where its threads
 * are, and the functions and lines of code that the kernel side has met (LM_FRAME_PYTHON).
 */
#ifndef LEAKMON_RUNTIME_PYTHON_READER_H
#define LEAKMON_RUNTIME_PYTHON_READER_H

#include <sys/types.h>

#include "base/vec.h"
#include "leakmon_abi.h"
#include "process/proc/maps.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"
#include "report/heap_profile.h"

struct dso_cache;
struct target_memory;
struct worker;

/* Whether a process maps a program or library of CPython's: python3.*, libpython3.*. */
bool python_is_program(const struct maps *maps);

/* Where the threads of a program are, in its own functions. All strings are untrusted, and the
 * report's own. */

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
	uint64_t threads, interpreters;
	VEC(struct python_group) groups; /* most threads first */
	struct intern strings;
};

void python_stacks_free(struct python_stacks *stacks);

/* Where all threads are now; a thread that goes on meanwhile may yield fewer frames. stacks->why
 * says why nothing is known; 0 or -ENOMEM. python_stacks_free() in any case. */
int python_stacks_read(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		       struct python_stacks *stacks);
/* Likewise of memory that is open, with its modules; *stacks is zeros before. */
int python_stacks_of(struct target_memory *memory, struct python_stacks *stacks);

/* Where the memory for small objects goes; in bytes. The interpreter gives an arena back to the
 * kernel when all of it is free. */

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

void python_memory_free(struct python_memory *python);

/*
 * Where the memory for small objects goes; python->why says why that is not known. No file is read,
 * and it may be any process that python_is_program() or a core of one. 0 or -ENOMEM;
 * python_memory_free() in any case.
 */
int python_memory_read(const struct maps *maps, struct python_memory *python);

/* Likewise of memory that is open, with its modules; *python is zeros before. */
int python_memory_of(struct target_memory *memory, struct python_memory *python);

/* Reads the traces of tracemalloc from memory that is open, with its modules; *profile is zeros
 * before. 0; -ENOENT: it traces nothing; -ENOMEM. heap_profile_free() in any case. */
int python_traces_of(struct target_memory *memory, struct heap_profile *profile);

extern const struct memory_reader python_memory_reader;
extern const struct interpreter_reader python_interpreter_reader;
extern const struct thread_reader python_thread_reader;
extern const struct own_profile_source own_profile_tracemalloc;
extern const struct runtime runtime_cpython;

#endif
