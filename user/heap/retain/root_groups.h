/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Groups root words by the names that people use: a variable, the frames of a function, a thread's
 * thread-locals or registers, a range of unknown memory.
 */
#ifndef LEAKMON_RETAIN_ROOT_GROUPS_H
#define LEAKMON_RETAIN_ROOT_GROUPS_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/retain/heap_graph.h"
#include "heap/retain/kernel_roots.h"
#include "report/retain_result.h"
#include "heap/retain/stack_frames.h"
#include "process/symbol/intern.h"
#include "process/symbol/symbolizer.h"

/* The functions of return addresses, each named once. */
struct root_functions {
	struct symbolizer *symbolizer; /* borrowed */
	uint64_t process;	       /* for which it was refreshed */
	struct intern *intern;	       /* borrowed */
	/* address -> interned string: equal ones are one pointer; NULL: none, or out of memory */
	struct hash names, modules;
};

/*
 * Frees the tables; the names stay in `intern`.
 */
void root_functions_free(struct root_functions *functions);

struct root_group {
	enum root_kind kind;
	const char *name;	/* variable, function, register, "epoll", ...; NULL: see address */
	const char *module;	/* path of the file, or of the mapping; NULL or "": none */
	uint64_t address;	/* of the variable, frame or memory */
	uint64_t offset;	/* the same address in the module's file; 0: in no file */
	enum managed_rank rank; /* ROOT_RUNTIME: from struct managed_root */
	pid_t tid;		/* of the thread; 0: several */
	char comm[16];		/* of the thread; "": several */
	/* ROOT_THREAD_LOCAL: number of threads whose copy holds something */
	uint32_t threads;
	pid_t last_tid; /* the last of these threads */
	uint64_t words; /* number of words that hold something */
	/* ROOT_STACK: a frame that lasts as long as its thread; ROOT_REGISTER: calls preserve it */
	bool stays;
	/* ROOT_UNTRACKED: the root that leads there, its index in the list plus 1; 0: none known */
	uint32_t holder;
};

struct root_groups {
	/*
	 * In order: those named by a managed language; other lasting strong ones; lasting stacks;
	 * other strong ones; weak ones with a holder; other weak ones; stale ones.
	 */
	VEC(struct root_group) list;
	uint32_t strong, weak, lasting, staying, through, stale; /* see struct retention_nodes */
	uint32_t *word_groups; /* of graph->roots, in the same order */
};

/* Sources of roots' names; all borrowed. */
struct root_sources {
	const struct heap_image *heap_image;
	const struct data_modules *modules;
	const struct thread_blocks *locals;
	const struct stack_frames *frames;
	const struct kernel_roots *held;
	struct root_functions *functions;
	bool complete; /* every block was tracked since the process began */
};

/*
 * Groups the roots of `graph`, and adds to graph->graph a node for each group and one more that
 * leads to all of them. Names are interned. Returns 0 or -ENOMEM.
 */
int root_groups_add(const struct root_sources *sources, struct intern *intern,
		    struct heap_graph *graph, struct root_groups *groups);
void root_groups_free(struct root_groups *groups);

/*
 * Returns whether it is an allocator's own metadata, which lead to all memory that it ever handed
 * out.
 */
bool root_group_is_allocator(const struct root_group *group);

#endif
