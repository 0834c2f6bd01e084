/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Pools of libraries: memory that a library gets from malloc in large blocks and hands out in
 * parts, or a hierarchy of blocks that it maintains. Such links lead to all memory ever handed out:
 * a path by the program's own pointers is more informative (STEP_POOL in path_costs.c).
 *
 * One field of a block identifies its kind: one row each in pool_kinds.c.
 */
#ifndef LEAKMON_RETAIN_POOL_KINDS_H
#define LEAKMON_RETAIN_POOL_KINDS_H

#include <stdbool.h>
#include <stdint.h>

struct data_modules;
struct heap_graph;

/*
 * Returns whether the word at index `place` makes its block of `size` bytes a pool: it is the end
 * of that block, `value` bytes from the block's start.
 */
bool pool_kinds_is_end(uint64_t place, uint64_t value, uint64_t size);

/* Returns the libraries with links that a process has loaded, a bit for each. */
uint32_t pool_kinds_loaded(const struct data_modules *modules);

/*
 * Returns whether an edge of a block is a link of such a library, of those in
 * graph->pool_libraries.
 */
bool pool_kinds_is_link(const struct heap_graph *graph, uint32_t block, uint32_t edge);

#endif
