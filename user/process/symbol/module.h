/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Names in a mapped file (its facet DSO_SYMBOLS), shared by all processes that map it: its symbols,
 * read at the first question, and the requested names and lines, cached so that repeating a
 * question costs a hash lookup.
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
 * file:line of addresses, requested in batches and without waiting: requests queue up in their
 * module until modules_find_lines() has time for them. Results are kept.
 */

/* Where a module can be reopened, and its debug files are looked for. */
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
	bool known; /* no longer queued */
};

struct module_lines {
	struct hash index; /* vaddr -> index in list, plus 1 */
	VEC(struct source_lines) list;
	VEC(size_t) wanted; /* indices in list */
	bool awaits_file;   /* being fetched: not looked for meanwhile */
	bool none;	    /* unavailable: not looked for again */
	bool opened;	    /* the descriptors are open; only until a release */
	int fd, alternate_fd;
	int task; /* of the place */
	struct mapping mapping;
};

/*
 * Returns the lines of vaddr, of a loaded module; queues it if unknown. The path of the place must
 * outlive the module. Valid until the next call. NULL: out of memory.
 */
const struct source_lines *module_want_lines(struct module *module,
					     const struct module_place *place, uint64_t vaddr);

/*
 * Works on the queue for at most timeout_ms (-1: until done; 0: takes arrived answers, and sends
 * the next request). Returns 0: the queue is empty; -EAGAIN: it is not, or waits for a file being
 * fetched, for which this does not wait; -ENOMEM.
 */
int modules_find_lines(struct modules *modules, struct intern *intern, int timeout_ms);

/* Closes the files in which lines were looked up. Not while a request is pending. */
void modules_release_lines(struct modules *modules);

struct modules {
	struct dso_cache *dsos;	       /* borrowed */
	struct worker *worker;	       /* borrowed; parses the files */
	struct debuginfod *debuginfod; /* NULL: debug files are looked for on this machine only */
	uint64_t fetched;	       /* incremented when a fetched file named something */
	size_t opened_lines;	       /* number of modules with open line information */
	struct module *asked;	       /* its lines are being requested; held; or NULL */
	size_t asked_count;	       /* how many: the first of its `wanted` */
};

struct module {
	struct dso *dso;       /* owner of this facet */
	bool awaits_symbols;   /* a debug file with more names may still come */
	bool loaded;	       /* `why` and `image` are final */
	const char *why;       /* why `image` is missing, or NULL */
	struct image image;    /* zero if missing */
	struct hash functions; /* index of a symbol -> its readable name, interned */
	struct module_lines lines;
};

void modules_init(struct modules *modules, struct dso_cache *dsos, struct worker *worker);
/* Releases all modules. */
void modules_free(struct modules *modules);

/* Returns the module of a DSO with held DSO_SYMBOLS. NULL: out of memory. */
struct module *module_get(struct dso *dso);

/* Reads the symbols if not done yet. Returns NULL, or why there are none, as a static string. */
const char *module_load(struct modules *modules, struct module *module,
			const struct module_place *place);

/*
 * Returns a descriptor of the module's file that the caller closes; -ESTALE: another version is
 * there.
 */
int module_open(const struct modules *modules, const struct module *module,
		const struct module_place *place);

struct module_function {
	const char *name; /* demangled, interned */
	uint64_t start;
};

/*
 * Finds the function that contains vaddr, of a loaded module. Returns 0; -ENOENT: no function
 * there; -ENOMEM.
 */
int module_function(struct module *module, struct intern *intern, uint64_t vaddr,
		    struct module_function *function);

/* Returns the readable form of a raw name, interned; NULL: out of memory. */
const char *module_readable_name(struct intern *intern, const char *raw);

#endif
