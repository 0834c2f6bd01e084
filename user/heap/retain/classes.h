/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The kind of a block, as far as it shows: a C++ object by its vtable and the type information
 * beside it (Itanium C++ ABI, 2.5 and 2.9), a C object by the table of functions that its first
 * word points to; else where it was allocated, where that is known; else only its size. Objects of
 * managed languages have the class that their runtime says. Memory that belongs to such an object
 * is of its class, but counts as no block of it.
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
 * Only functions are believed that can allocate nothing else. vector<Foo>::push_back() can: what
 * Foo's constructor allocates, where that was inlined into it. So without debug information, which
 * names inlined functions, optimised code mostly says nothing; characters of strings and vectors
 * of pointers and numbers are recognised all the same.
 */

/* The type that a readable function name says it allocates, or NULL; the caller frees.
 * `inlines_known`: whatever was inlined into it would be a frame of its own. */
char *template_type(const char *function, bool inlines_known);

/* The same of the innermost frame that is not operator new. */
char *template_type_of_frames(const struct frames *frames);

struct block_class {
	enum class_kind kind;
	/* Interned or the heap image's; untrusted. CLASS_SITE: what its call stack says of the
	 * type, or NULL. */
	const char *name, *module;
	uint64_t offset; /* CLASS_OPS: in the module's file; CLASS_SITE: a number
			  * for its stack that is the same in every run, or 0 */
	uint64_t size;	 /* CLASS_SIZE */
	uint32_t site;	 /* CLASS_SITE */
	uint64_t count, bytes;
	struct retention_total verdicts[VERDICT_MAX_]; /* once classes_count() has run */
	uint32_t distance; /* the longest shortest path from a root to one of them; 0: none */
	uint64_t garbage;  /* objects, if all roots of the runtime are known */
};

struct classes {
	VEC(struct block_class) list;
	uint32_t *of_blocks; /* place in list, by block */
};

/* By number of a site - 1: the type, or NULL. */
struct site_types {
	char **names; /* owned */
	size_t count;
};

/* Reads type information from the process, which may run meanwhile: it is constant. 0 or
 * -ENOMEM. */
int classes_find(const struct heap_image *heap_image, const struct data_modules *modules,
		 const struct heap_graph *graph, const struct site_types *types,
		 struct intern *intern, struct classes *classes);

/* Fills verdicts and distances. 0 or -ENOMEM. */
int classes_count(struct classes *classes, const struct heap_graph *graph,
		  const struct retention *retention);
void classes_free(struct classes *classes);

#endif
