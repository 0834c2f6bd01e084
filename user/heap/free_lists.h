/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Chunks of glibc's malloc that look as if they were in use, and are not: those in fast bins and in
 * the threads' caches, and the caches themselves.
 *
 * Source: glibc 2.26 to 2.41, malloc/malloc.c (tcache_perthread_struct, PROTECT_PTR).
 */
#ifndef LEAKMON_HEAP_FREE_LISTS_H
#define LEAKMON_HEAP_FREE_LISTS_H

#include "heap/heap_walk.h"

struct free_chunks {
	VEC(uint64_t) list; /* addresses of chunks (not of what malloc returned); ascending */
	size_t broken;	    /* lists that contradicted themselves before their end */
};

/* The fast bins of all arenas. 0 or -ENOMEM. */
int free_lists_add_fastbins(struct free_chunks *free_chunks, struct peek *peek,
			    const struct malloc_arenas *arenas, const struct heap_spans *spans);

/* The cache of the thread whose thread pointer is given, if it has one. 0 or -ENOMEM. */
int free_lists_add_cache(struct free_chunks *free_chunks, struct peek *peek,
			 uint64_t thread_pointer, const struct heap_spans *spans);

/* Every chunk that can only be a cache: when the threads' pointers are not known. 0 or -ENOMEM. */
int free_lists_add_all_caches(struct free_chunks *free_chunks, struct peek *peek,
			      const struct heap_spans *spans);

/* Sorts; to be called last. */
void free_lists_finish(struct free_chunks *free_chunks);
bool free_lists_has(const struct free_chunks *free_chunks, uint64_t chunk);
void free_lists_free(struct free_chunks *free_chunks);

#endif
