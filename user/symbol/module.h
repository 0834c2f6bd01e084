/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One mapped file, however many processes map it: its symbols, read at the first question, and the
 * names and lines that were asked for, kept so that asking again costs a hash lookup.
 */
#ifndef LEAKMON_SYMBOL_MODULE_H
#define LEAKMON_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "base/hash.h"
#include "base/vec.h"
#include "proc/maps.h"
#include "symbol/image.h"
#include "symbol/intern.h"
#include "symbol/lines.h"

/* One version of one file. The inode alone may be reused, or its contents replaced in place. */
struct module_identity {
	uint64_t device, inode, size;
	struct timespec modified;
};

struct source_line {
	const char *file; /* interned, or NULL */
	uint32_t line;
};

struct module {
	struct module_identity identity;
	int fd;		    /* -1: too many are open; opened again when needed */
	bool loaded;	    /* `why` and `image` are final */
	const char *why;    /* why there is no image, or NULL */
	struct image image; /* zero while there is none */
	struct hash functions; /* index of a symbol -> its readable name, interned */
	struct hash line_index; /* vaddr -> place in source_lines, plus 1 */
	VEC(struct source_line) source_lines;
	struct lines *lines; /* open only between two calls of modules_release_lines() */
	bool no_lines;	     /* there is no line information: not looked for again */
};

struct modules {
	VEC(struct module *) list;
	struct hash index; /* of identities -> place in list, plus 1 */
	size_t open_files;
};

/* Where a module can be opened anew, and around which its debug files are looked for. */
struct module_place {
	int task;
	const struct mapping *mapping;
};

/* The module of an open file, which is taken over in any case. NULL: out of memory or no file. */
struct module *modules_add(struct modules *modules, int fd);
void modules_release_lines(struct modules *modules);
void modules_free(struct modules *modules);

/* Reads the symbols if that was not done yet. NULL, or why there are none, as a static string. */
const char *module_load(struct module *module, const struct module_place *place);

struct module_function {
	const char *name; /* demangled, interned */
	uint64_t start;
};

/*
 * The function that holds vaddr, of a loaded module.
 * 0; -ENOENT: no function there; -ENOMEM.
 */
int module_function(struct module *module, struct intern *intern, uint64_t vaddr,
		    struct module_function *function);

/* file:line of vaddr, of a loaded module; *line is zero if there is none. 0 or -ENOMEM. */
int module_line(struct module *module, const struct module_place *place, struct intern *intern,
		uint64_t vaddr, struct source_line *line);

#endif
