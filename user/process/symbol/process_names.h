/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of one process's addresses, cached so that repeating a question costs a hash lookup. */
#ifndef LEAKMON_SYMBOL_PROCESS_NAMES_H
#define LEAKMON_SYMBOL_PROCESS_NAMES_H

#include <stdbool.h>

#include "base/file_identity.h"
#include "base/hash.h"
#include "process/symbol/intern.h"
#include "process/symbol/module.h"
#include "process/symbol/symbolizer.h"
#include "process/target/process.h"

/* Names of JIT-compiled code, from the process's perf map. */

struct worker;

/* Zeroed at first. */
struct jit_names {
	bool opened; /* fd is open, and kept: the final contents can be read after the end */
	bool stale;  /* the map has changed since it was read */
	bool failed; /* its parser failed: not read again */
	bool cut;    /* too long; logged */
	int refused; /* -errno of the last open */
	int fd;
	struct file_identity identity; /* of the map when last seen */
	struct symbol_table table;
	struct hash functions; /* index in the table -> readable name, interned */
};

/* Returns whether it has code that such a map may list. */
bool process_compiles(const struct process *process);

struct named {
	struct frame frame;
	const struct code_range *range; /* NULL: no code there */
	uint64_t vaddr;			/* the address looked up, as in the file */
};

/* Zeroed at first. */
struct process_names {
	const struct process *process; /* borrowed */
	uint64_t generation;	       /* of the process, when the names were made */
	struct jit_names jit;
	struct hash index; /* address, as requested -> index in list, plus 1 */
	VEC(struct named) list;
	uint64_t fetched; /* modules.fetched when the names were made */
};

/* Forgets names that may be wrong after a refresh of the process. */
void process_names_refresh(struct process_names *names, const struct process *process);

/*
 * Finds the name of an address, which may carry LM_FRAME_EXACT; without it, the preceding byte is
 * looked up. *named is valid until the next call. Returns 0 or -ENOMEM.
 */
int process_names_find(struct process_names *names, struct modules *modules, struct intern *intern,
		       uint64_t address, struct named **named);

/*
 * Gets the known lines of a named address; sets *source to NULL if there is no file, so no lines.
 * Returns 0 or -ENOMEM.
 */
int named_want_lines(const struct named *named, const struct source_lines **source);
void process_names_free(struct process_names *names);

#endif
