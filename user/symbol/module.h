/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * One mapped file, however many processes map it: its symbols, read at the first question, and the
 * names and lines that were asked for, kept so that asking again costs a hash lookup.
 */
#ifndef LEAKMON_SYMBOL_MODULE_H
#define LEAKMON_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/file_identity.h"
#include "base/hash.h"
#include "base/vec.h"
#include "parse/image.h"
#include "symbol/intern.h"
#include "symbol/module_lines.h"

struct modules;

struct module {
	struct file_identity identity;
	uint32_t number;       /* no other module has it */
	uint64_t key;	       /* of modules.index */
	size_t place;	       /* in modules.list */
	size_t users;	       /* how often it is held, see modules.h */
	uint64_t unused_since; /* while `users` is 0: modules.releases then */
	bool awaits_symbols;   /* a debug file that names more may still come */
	int fd;		       /* -1: too many are open; opened again when needed */
	bool loaded;	       /* `why` and `image` are final */
	const char *why;       /* why there is no image, or NULL */
	struct image image;    /* zero while there is none */
	struct hash functions; /* index of a symbol -> its readable name, interned */
	struct module_lines lines;
};

/* Reads the symbols if that was not done yet. NULL, or why there are none, as a static string. */
const char *module_load(struct modules *modules, struct module *module,
			const struct module_place *place);

/*
 * Looks whether the debug file that it waits for has come, and takes the names in it. Whether there
 * were any: names found before may be wrong then.
 */
bool module_take_symbols(struct modules *modules, struct module *module);

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
