/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One mapped file, however many processes map it: its symbols, read at the first question, and the
 * names and lines that were asked for, kept so that asking again costs a hash lookup.
 */
#ifndef LEAKMON_SYMBOL_MODULE_H
#define LEAKMON_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "symbol/identity.h"
#include "symbol/image.h"
#include "symbol/intern.h"
#include "symbol/module_lines.h"

struct worker;

struct module {
	struct file_identity identity;
	uint32_t number;       /* no other module has it */
	int fd;		       /* -1: too many are open; opened again when needed */
	bool loaded;	       /* `why` and `image` are final */
	const char *why;       /* why there is no image, or NULL */
	struct image image;    /* zero while there is none */
	struct hash functions; /* index of a symbol -> its readable name, interned */
	struct module_lines lines;
};

struct modules {
	VEC(struct module *) list;
	struct hash index; /* of identities -> place in list, plus 1 */
	size_t open_files;
	struct worker *worker; /* reads the files */
	size_t opened_lines;   /* how many modules' line information is open */
	struct module *asked;  /* whose lines are being looked for, or NULL */
	size_t asked_count;    /* how many: the first of those it wants */
};

/* The module of an open file, which is taken over in any case. NULL: out of memory or no file. */
struct module *modules_add(struct modules *modules, int fd);
void modules_free(struct modules *modules);

/* Reads the symbols if that was not done yet. NULL, or why there are none, as a static string. */
const char *module_load(struct modules *modules, struct module *module,
			const struct module_place *place);

/* A descriptor of the module's file that the caller closes; -ESTALE: another version is there. */
int module_open(const struct module *module, const struct module_place *place);

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

/* A raw name from a file as people read it, interned; NULL: out of memory. */
const char *module_readable_name(struct intern *intern, const char *raw);

#endif
