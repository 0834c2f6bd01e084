/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Names of the code that a process compiled itself, as it tells them in its perf map. */
#ifndef LEAKMON_SYMBOL_JIT_NAMES_H
#define LEAKMON_SYMBOL_JIT_NAMES_H

#include <stdbool.h>

#include "base/file_identity.h"
#include "symbol/module.h"
#include "target/process.h"

struct worker;

/* Zeroed at first. */
struct jit_names {
	bool opened; /* fd is there, and kept: what is written until the end can be read after it */
	bool stale;  /* the map has changed since it was read */
	bool failed; /* the map made its parser fail: not read again */
	bool cut;    /* it is too long, and that was said */
	int refused; /* -errno of the last attempt to open it */
	int fd;
	struct file_identity identity; /* of the map as last seen */
	struct symbol_table table;
	struct hash functions; /* place in the table -> readable name, interned */
};

/*
 * Looks whether there is a map, if the process has code that may be in one, and whether it has
 * changed. true: names found before may be wrong, and names not found may be found now. Nothing is
 * read yet.
 */
bool jit_names_refresh(struct jit_names *names, const struct process *process);

/* The function that holds the address of code in no file. 0; -ENOENT; -ENOMEM. */
int jit_names_find(struct jit_names *names, struct worker *worker, struct intern *intern,
		   uint64_t address, struct module_function *function);

void jit_names_free(struct jit_names *names);

#endif
