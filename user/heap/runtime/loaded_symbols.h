/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Exported variables of a file that a process has mapped, read through the tables of the process's
 * own loader (System V gABI, "Dynamic Section"; DT_GNU_HASH as in glibc's dl-lookup.c): for readers
 * that know a few names and have no worker to parse the file. The tables and the addresses are
 * untrusted.
 */
#ifndef LEAKMON_RUNTIME_LOADED_SYMBOLS_H
#define LEAKMON_RUNTIME_LOADED_SYMBOLS_H

#include "heap/allocators/data_modules.h"
#include "heap/runtime/target_memory.h"

#define LOADED_SYMBOLS_MAX 32

/* A module with only these variables, which target_variable() finds. */
struct loaded_module {
	struct data_modules modules; /* a list of one, `module` */
	struct data_module module;
	struct image image;
	struct symbol symbols[LOADED_SYMBOLS_MAX];
	char names[1024];
};

/*
 * Reads the addresses of up to LOADED_SYMBOLS_MAX `names`; those not exported are left out.
 * `mapping` is the first one of the file. 0; -ENOENT: it exports none of them. *module owns
 * nothing, and must not be moved; the mapping is borrowed.
 */
int loaded_module_read(struct target_memory *memory, const struct mapping *mapping,
		       const char *const *names, size_t count, struct loaded_module *module);

#endif
