/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The names of one process' addresses, kept so that asking again costs a hash lookup. */
#ifndef LEAKMON_SYMBOL_PROCESS_NAMES_H
#define LEAKMON_SYMBOL_PROCESS_NAMES_H

#include <stdbool.h>

#include "base/file_identity.h"
#include "base/hash.h"
#include "process/symbol/intern.h"
#include "process/symbol/module.h"
#include "process/symbol/symbolizer.h"
#include "process/target/process.h"

/* Names of the code that a process compiled itself, from its perf map. */

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

/* Whether it has code that may be in such a map. */
bool process_compiles(const struct process *process);

struct named {
	struct frame frame;
	const struct code_range *range; /* NULL: no code there */
	uint64_t vaddr;			/* what was looked up, in the file's own numbering */
};

/* Zeroed at first. */
struct process_names {
	const struct process *process; /* borrowed */
	uint64_t generation;	       /* of it, when the names were made */
	struct jit_names jit;
	struct hash index; /* address, as asked for -> place in list, plus 1 */
	VEC(struct named) list;
	uint64_t fetched; /* modules.fetched when the names were made */
};

/* The process has been refreshed; names that may be wrong now are forgotten. */
void process_names_refresh(struct process_names *names, const struct process *process);

/*
 * The name of an address, which may carry LM_FRAME_EXACT; without it, it is looked up by the byte
 * before it. *named is good until the next call. 0 or -ENOMEM.
 */
int process_names_find(struct process_names *names, struct modules *modules, struct intern *intern,
		       uint64_t address, struct named **named);

/* The lines of what was named, as far as they are known; *source is NULL: no file, so no lines. */
int named_want_lines(const struct named *named, const struct source_lines **source);
void process_names_free(struct process_names *names);

#endif
