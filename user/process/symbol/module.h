/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in a mapped file (its facet DSO_SYMBOLS), however many processes map it: its symbols, read
 * at the first question, and the names and lines that were asked for, kept so that asking again
 * costs a hash lookup.
 */
#ifndef LEAKMON_SYMBOL_MODULE_H
#define LEAKMON_SYMBOL_MODULE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "binary/parse/image.h"
#include "process/proc/maps.h"
#include "process/symbol/intern.h"
#include "process/target/dso.h"

struct debuginfod;
struct module;
struct modules;

/*
 * file:line of addresses, asked for in batches and without waiting: what is wanted queues up with
 * its module until modules_find_lines() has time for it. What was found is kept.
 */

/* Where a module can be reopened, and around which its debug files are looked for. */
struct module_place {
	int task;
	const struct mapping *mapping;
};

struct source_frame {
	const char *function; /* of an inlined one: readable, interned; else NULL */
	const char *file;     /* interned, or NULL */
	uint32_t line;
};

/* For one address: the innermost inlined function first, the function itself last. */
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

/* Closes the files that lines were looked up in. Not while something is asked for. */
void modules_release_lines(struct modules *modules);

struct modules {
	struct dso_cache *dsos;	       /* borrowed */
	struct worker *worker;	       /* borrowed; reads the files */
	struct debuginfod *debuginfod; /* NULL: debug files are looked for on this machine only */
	uint64_t fetched;	       /* raised when a file that it fetched named something */
	size_t opened_lines;	       /* how many modules' line information is open */
	struct module *asked;	       /* its lines are being looked for; held; or NULL */
	size_t asked_count;	       /* how many: the first of those it wants */
};

struct module {
	struct dso *dso;       /* that has this facet */
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

/* For a DSO with held DSO_SYMBOLS. NULL: out of memory. */
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
