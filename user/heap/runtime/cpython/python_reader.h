/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Readings of a running Python program from outside, without stopping it: the positions of its
 * threads, and the functions and lines of code noted by the kernel side (LM_FRAME_PYTHON).
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

/* Returns whether a process maps a program or library of CPython: python3.*, libpython3.*. */
bool python_is_program(const struct maps *maps);

/* Positions of a program's threads in its own functions. All strings are untrusted, and owned by
 * the report. */

/* Threads with the same stack. */
struct python_group {
	uint64_t id;	     /* of the stack: the same in every run of the program */
	struct frames stack; /* innermost first; owned. Empty: outside of Python's code */
	VEC(uint32_t) tids;  /* TIDs of some threads; 0: not kept by this version */
};

struct python_stacks {
	char version[24]; /* "3.11.2"; "": unknown */
	bool untested;	  /* an untested version that describes itself like a known one */
	const char *why;  /* reason why stacks are unknown; static; NULL: known */
	uint64_t threads, interpreters;
	VEC(struct python_group) groups; /* most threads first */
	struct intern strings;
};

void python_stacks_free(struct python_stacks *stacks);

/* Reads the stacks of all threads; a thread that runs meanwhile may yield fewer frames. stacks->why
 * says why nothing is known. 0 or -ENOMEM; the caller calls python_stacks_free() in any case. */
int python_stacks_read(pid_t pid, struct worker *worker, struct dso_cache *dsos,
		       struct python_stacks *stacks);
/* Reads the stacks from open memory with its modules; *stacks is zeroed before. 0 or -ENOMEM. */
int python_stacks_of(struct target_memory *memory, struct python_stacks *stacks);

/* Uses of the memory for small objects; in bytes. The interpreter returns an arena to the kernel
 * once all of it is free. */

/* Objects of one class in sparsely used arenas. */
struct python_pin {
	char *name; /* "module.Qualname"; untrusted; owned; NULL: memory of objects' parts */
	uint64_t objects, bytes;
	uint64_t arenas; /* number of sparse arenas with such objects */
};

struct python_memory {
	char version[24]; /* "3.11.2"; "": unknown */
	bool untested;	  /* an untested version that describes itself like a known one */
	const char *why;  /* reason why nothing is known; static; NULL: known */
	uint64_t arenas, bytes;
	uint64_t used;	    /* objects and their tables */
	uint64_t pool_free; /* in partly used pools, for objects of one size each */
	uint64_t free;	    /* unused pools, for any size */
	uint64_t nonsense;  /* pools that changed during the read: not counted */
	/* Arenas used to at most 1 / PYTHON_SPARSE_PART, and the free bytes in them. */
	uint64_t sparse, sparse_free;
	VEC(struct python_pin) pins; /* in most sparse arenas first */
};
#define PYTHON_SPARSE_PART 4

void python_memory_free(struct python_memory *python);

/*
 * Reads the uses of the memory for small objects; python->why says why they are unknown. Reads no
 * file; the process, or core, must satisfy python_is_program(). 0 or -ENOMEM; the caller calls
 * python_memory_free() in any case.
 */
int python_memory_read(const struct maps *maps, struct python_memory *python);

/* Reads these from open memory with its modules; *python is zeroed before. 0 or -ENOMEM. */
int python_memory_of(struct target_memory *memory, struct python_memory *python);

/* Reads the traces of tracemalloc from open memory with its modules; *profile is zeroed before. 0;
 * -ENOENT: it traces nothing; -ENOMEM. The caller calls heap_profile_free() in any case. */
int python_traces_of(struct target_memory *memory, struct heap_profile *profile);

extern const struct memory_reader python_memory_reader;
extern const struct interpreter_reader python_interpreter_reader;
extern const struct thread_reader python_thread_reader;
extern const struct own_profile_source own_profile_tracemalloc;
extern const struct runtime runtime_cpython;

#endif
