/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exported variables of a file that a process has mapped, by the tables that the process's own
 * loader uses (System V gABI, "Dynamic Section"; DT_GNU_HASH as in glibc's dl-lookup.c): for
 * readers that know a few names and have no worker to read the file. The tables are the target's
 * word, as are the addresses.
 */
#ifndef LEAKMON_RUNTIME_LOADED_SYMBOLS_H
#define LEAKMON_RUNTIME_LOADED_SYMBOLS_H

#include "heap/allocators/data_modules.h"
#include "heap/runtime/target_memory.h"

#define LOADED_SYMBOLS_MAX 32

/* A module with these variables alone: target_variable() finds them. */
struct loaded_module {
	struct data_modules modules; /* of one, this: */
	struct data_module module;
	struct image image;
	struct symbol symbols[LOADED_SYMBOLS_MAX];
	char names[1024];
};

/*
 * `mapping` is the first one of the file; `names` of at most LOADED_SYMBOLS_MAX, those that are not
 * exported are left out. 0; -ENOENT: it has none of them. It owns nothing, and must not be moved;
 * the mapping is borrowed.
 */
int loaded_module_read(struct target_memory *memory, const struct mapping *mapping,
		       const char *const *names, size_t count, struct loaded_module *module);

#endif
