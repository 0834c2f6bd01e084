/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a mapped file says of names (its facet DSO_SYMBOLS), however many processes map it: its
 * symbols, read at the first question, and the names and lines that were asked for, kept so that
 * asking again costs a hash lookup.
 */
#ifndef LEAKMON_SYMBOL_MODULE_H
#define LEAKMON_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "parse/image.h"
#include "symbol/intern.h"
#include "symbol/module_lines.h"
#include "target/dso.h"

struct debuginfod;

struct modules {
	struct dso_cache *dsos;	       /* borrowed */
	struct worker *worker;	       /* borrowed; reads the files */
	struct debuginfod *debuginfod; /* NULL: debug files are looked for on this machine only */
	uint64_t fetched;	       /* raised when a file that it fetched named something */
	size_t opened_lines;	       /* how many modules' line information is open */
	struct module *asked;	       /* whose lines are being looked for, held; or NULL */
	size_t asked_count;	       /* how many: the first of those it wants */
};

struct module {
	struct dso *dso;       /* whose facet it is */
	bool awaits_symbols;   /* a debug file that names more may still come */
	bool loaded;	       /* `why` and `image` are final */
	const char *why;       /* why there is no image, or NULL */
	struct image image;    /* zero while there is none */
	struct hash functions; /* index of a symbol -> its readable name, interned */
	struct module_lines lines;
};

void modules_init(struct modules *modules, struct dso_cache *dsos, struct worker *worker);
/* Releases all modules. */
void modules_free(struct modules *modules);

/*
 * Takes what debuginfod has brought meanwhile, and raises `fetched` if that names anything.
 * Whether it may bring more is for debuginfod_wait() to say.
 */
void modules_take_fetched(struct modules *modules);

/* Of a DSO whose DSO_SYMBOLS somebody holds. NULL: out of memory. */
struct module *module_get(struct dso *dso);

/* Reads the symbols if that was not done yet. NULL, or why there are none, as a static string. */
const char *module_load(struct modules *modules, struct module *module,
			const struct module_place *place);

/* A descriptor of the module's file that the caller closes; -ESTALE: another version is there. */
int module_open(const struct modules *modules, const struct module *module,
		const struct module_place *place);

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
