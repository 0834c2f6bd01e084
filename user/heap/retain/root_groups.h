/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Root words put together by what people would name: a variable, the frames of a function, a
 * thread's thread-locals or registers, a stretch of memory that nobody knows.
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

/* The functions behind return addresses, each named once. */
struct root_functions {
	struct symbolizer *symbolizer; /* borrowed */
	uint64_t process;	       /* that it was refreshed for */
	struct intern *intern;	       /* borrowed */
	struct hash names, modules;    /* address -> interned string */
};

/* Interned, so equal names are the same pointer; NULL: no name, or out of memory. */
void root_functions_free(struct root_functions *functions);

struct root_group {
	enum root_kind kind;
	const char *name;	/* variable, function, register, "epoll", ...; NULL: see address */
	const char *module;	/* path of the file, or of the mapping; NULL or "": none */
	uint64_t address;	/* of the variable, frame or memory */
	uint64_t offset;	/* the same as the module's file counts it; 0: in no file */
	enum managed_rank rank; /* ROOT_RUNTIME: as struct managed_root has it */
	pid_t tid;		/* of a thread's; 0: of several */
	char comm[16];		/* likewise */
	uint32_t threads;	/* ROOT_THREAD_LOCAL: how many have one that holds something */
	pid_t last_tid;		/* the last of these */
	uint64_t words;		/* that hold something */
	bool stays;	 /* ROOT_STACK: a frame that stays as long as its thread; ROOT_REGISTER:
			  * calls preserve it */
	uint32_t holder; /* ROOT_UNTRACKED: the root that leads there, its place in the list
			  * plus 1; 0: none is known to */
};

struct root_groups {
	/* First those that a managed language names; other strong ones that last; stacks that stay;
	 * other strong ones; weak ones with a holder; others; stale ones. */
	VEC(struct root_group) list;
	uint32_t strong, weak, lasting, staying, through, stale; /* see struct retention_nodes */
	uint32_t *word_groups; /* of graph->roots, in their order */
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
 * leads to all of them. Names are interned. 0 or -ENOMEM.
 */
int root_groups_add(const struct root_sources *sources, struct intern *intern,
		    struct heap_graph *graph, struct root_groups *groups);
void root_groups_free(struct root_groups *groups);

/* An allocator's own metadata lead to all that it ever handed out. */
bool root_group_is_allocator(const struct root_group *group);

#endif
