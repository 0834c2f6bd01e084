/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * file:line of addresses, asked for in batches and without waiting: what is wanted queues up with
 * its module until modules_find_lines() has time for it. What was found is kept.
 */
#ifndef LEAKMON_SYMBOL_MODULE_LINES_H
#define LEAKMON_SYMBOL_MODULE_LINES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "symbol/intern.h"

struct module;
struct modules;

/* Where a module can be opened anew, and around which its debug files are looked for. */
struct module_place {
	int task;
	const struct mapping *mapping;
};

struct source_frame {
	const char *function; /* of an inlined one: readable, interned; else NULL */
	const char *file;     /* interned, or NULL */
	uint32_t line;
};

/* Of one address: the innermost inlined function first, the function itself last. */
struct source_lines {
	uint64_t vaddr;
	struct source_frame *frames;
	uint32_t count;
	bool known; /* not queued any more */
};

struct module_lines {
	struct hash index; /* vaddr -> place in list, plus 1 */
	VEC(struct source_lines) list;
	VEC(size_t) wanted; /* places in list */
	bool awaits_file;   /* it is being fetched: not looked for meanwhile */
	bool none;	    /* there are none to be had: not looked for again */
	bool opened;	    /* the descriptors are there; only until a release */
	int fd, alternate_fd;
	int task; /* of the place */
	struct mapping mapping;
};

/*
 * The lines of vaddr, of a loaded module; queued if they are not known yet. The path of the place
 * outlives the module. Good until the next call. NULL: out of memory.
 */
const struct source_lines *module_want_lines(struct module *module,
					     const struct module_place *place, uint64_t vaddr);

/*
 * Works on what is queued for at most timeout_ms (-1: until done; 0: takes what has arrived, and
 * asks on). 0: nothing is queued any more; -EAGAIN: something is, or waits for a file that is being
 * fetched, for which this does not wait; -ENOMEM.
 */
int modules_find_lines(struct modules *modules, struct intern *intern, int timeout_ms);

/* Gives up what a module wants, and closes its files: nobody maps it any more. */
void modules_abandon_lines(struct modules *modules, struct module *module);

/* Closes the files that lines were looked up in. Not while something is asked for. */
void modules_release_lines(struct modules *modules);

void module_lines_free(struct module_lines *lines);

#endif
