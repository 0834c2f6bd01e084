/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a block's call stack says of its type: the C++ library allocates through templates, and
 * std::__new_allocator<Foo>::allocate() allocates Foo and nothing else.
 *
 * Only functions are believed that can allocate nothing else. vector<Foo>::push_back() can: what
 * Foo's constructor allocates, where that was inlined into it. So without debug information, which
 * tells of inlined functions, optimised code mostly says nothing; characters of strings and vectors
 * of pointers and numbers are told all the same.
 */
#ifndef LEAKMON_RETAIN_TEMPLATE_TYPES_H
#define LEAKMON_RETAIN_TEMPLATE_TYPES_H

#include <stdbool.h>

#include "symbol/symbolizer.h"

/* The type that a readable function name says it allocates, or NULL; the caller frees.
 * `inlines_known`: whatever was inlined into it would be a frame of its own. */
char *template_type(const char *function, bool inlines_known);

/* The same of the innermost frame that is not operator new. */
char *template_type_of_frames(const struct frames *frames);

/* operator new, or a function of the C++ standard library's. */
bool template_is_library(const char *function);

#endif
