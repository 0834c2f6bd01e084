/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The label of a site where there is room for one function: the first that is the user's. The same
 * rule for every output, so that a name seen in one is found in the others.
 */
#ifndef LEAKMON_SYMBOL_SITE_LABEL_H
#define LEAKMON_SYMBOL_SITE_LABEL_H

#include <stdbool.h>

#include "symbol/symbolizer.h"

/*
 * A frame of that stack: not the C library's, the C++ or the Rust library's, no wrapper of an
 * allocator, not what starts programs and threads (_start); where Python's own frames are known,
 * not its interpreter's, nor its library's. True of what has no name.
 */
bool site_label_is_users(const struct frames *frames, const struct frame *frame);

/*
 * From the caller of the allocator on, the first frame that is not the C library's, the C++ or the
 * Rust library's, and no wrapper of an allocator (xmalloc, g_strdup, PyMem_Malloc). Where all are:
 * the first of Python's library, the first with a name, else the first. NULL: there is none.
 */
const struct frame *site_label_frame(const struct frames *frames);

/* The function of that frame; NULL: it has no name. */
const char *site_label_function(const struct frames *frames);

/*
 * A readable name with its template arguments as "<>", as heaptrack has it. The caller frees;
 * NULL: out of memory.
 */
char *site_label_collapse(const char *function);

#endif
