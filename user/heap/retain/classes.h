/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The class of a block, if it can be determined: a C++ object by its vtable and the type
 * information beside it (Itanium C++ ABI, 2.5 and 2.9), a C object by the table of functions that
 * its first word points to; else its allocation site, if known; else only its size. Objects of
 * managed languages have the runtime's class. Memory that belongs to such an object has its class,
 * but does not count as a block of it.
 */
#ifndef LEAKMON_RETAIN_CLASSES_H
#define LEAKMON_RETAIN_CLASSES_H

#include <stdbool.h>

#include "report/analyze/retention.h"
#include "heap/allocators/data_modules.h"
#include "heap/retain/heap_graph.h"
#include "report/retain_result.h"
#include "process/symbol/symbolizer.h"

/*
 * A block's type by its call stack: the C++ library allocates through templates, and
 * std::__new_allocator<Foo>::allocate() allocates Foo and nothing else.
 *
 * Only functions that can allocate nothing else are used. vector<Foo>::push_back() can: allocations
 * of Foo's constructor, if that was inlined into it. So without debug information, which names
 * inlined functions, optimised code usually reveals nothing; characters of strings and vectors of
 * pointers and numbers are recognised nevertheless.
 */

/*
 * Returns the type that a readable function name allocates, or NULL; the caller frees.
 * `inlines_known`: inlined functions would be separate frames.
 */
char *template_type(const char *function, bool inlines_known);

/*
 * Returns the type that the innermost frame other than operator new allocates, or NULL; the caller
 * frees.
 */
char *template_type_of_frames(const struct frames *frames);

struct block_class {
	enum class_kind kind;
	/*
	 * Interned or the heap image's; untrusted. CLASS_SITE: the type by its call stack, or NULL.
	 */
	const char *name, *module;
	/*
	 * CLASS_OPS: in the module's file; CLASS_SITE: a number for its stack that is the same in
	 * every run, or 0
	 */
	uint64_t offset;
	uint64_t size; /* CLASS_SIZE */
	uint32_t site; /* CLASS_SITE */
	uint64_t count, bytes;
	struct retention_total verdicts[VERDICT_MAX_]; /* filled by classes_count() */
	uint32_t distance; /* the maximum shortest path from a root to one of them; 0: none */
	uint64_t garbage;  /* objects, if all roots of the runtime are known */
};

struct classes {
	VEC(struct block_class) list;
	uint32_t *of_blocks; /* index in list, by block */
};

/* By number of a site - 1: the type, or NULL. */
struct site_types {
	char **names; /* owned */
	size_t count;
};

/*
 * Finds the classes of all blocks. Reads type information from the process, which may run
 * meanwhile: it is constant. Returns 0 or -ENOMEM.
 */
int classes_find(const struct heap_image *heap_image, const struct data_modules *modules,
		 const struct heap_graph *graph, const struct site_types *types,
		 struct intern *intern, struct classes *classes);

/* Fills verdicts and distances. Returns 0 or -ENOMEM. */
int classes_count(struct classes *classes, const struct heap_graph *graph,
		  const struct retention *retention);
void classes_free(struct classes *classes);

#endif
