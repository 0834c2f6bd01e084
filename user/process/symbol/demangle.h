/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Readable names of C++ (Itanium ABI) and Rust (legacy and v0) functions. */
#ifndef LEAKMON_SYMBOL_DEMANGLE_H
#define LEAKMON_SYMBOL_DEMANGLE_H

#include <stdbool.h>

/*
 * Demangles "_ZN3foo3barEi" to "foo::bar(int)": with parameter types, without the return type of
 * templates. Returns NULL if the name is not mangled, is longer than 4096 bytes, or its readable
 * form would exceed 16384 (a short mangled name can expand endlessly), or out of memory. The caller
 * frees.
 */
char *demangle(const char *name);

/* Returns whether a readable name is operator new, or a function of the C++ standard library. */
bool demangle_is_library(const char *function);

#endif
