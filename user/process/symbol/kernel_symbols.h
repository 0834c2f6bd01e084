/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of kernel functions, from /proc/kallsyms. */
#ifndef LEAKMON_SYMBOL_KERNEL_SYMBOLS_H
#define LEAKMON_SYMBOL_KERNEL_SYMBOLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "process/symbol/symbolizer.h"

struct kernel_symbols;

/*
 * Reads a text in the format of /proc/kallsyms: only functions are kept. NULL: out of memory, or
 * `file` is NULL. A kernel that hides its addresses (sysctl kernel.kptr_restrict) shows zeros for
 * all: see kernel_symbols_hidden.
 */
struct kernel_symbols *kernel_symbols_read(FILE *file);
void kernel_symbols_free(struct kernel_symbols *symbols);

/* Returns whether addresses are hidden, so that nothing can be named. */
bool kernel_symbols_hidden(const struct kernel_symbols *symbols);

/*
 * Names return addresses, innermost first. Frames of the tracing machinery, and of the allocator
 * above its caller, are left out, so that the first frame is the requester of the memory; the name
 * of the outermost omitted one is `*allocator` (NULL: none), owned by `symbols`. *frames is
 * overwritten; its strings live as long as `symbols`. Returns 0 or -ENOMEM.
 */
int kernel_symbols_name(const struct kernel_symbols *symbols, const uint64_t *addresses,
			size_t depth, struct frames *frames, const char **allocator);

#endif
