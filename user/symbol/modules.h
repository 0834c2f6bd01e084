/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The files that processes have mapped, each held once. A module lives as long as some process'
 * address space holds it, and for a while after: the next process may map the same file.
 */
#ifndef LEAKMON_SYMBOL_MODULES_H
#define LEAKMON_SYMBOL_MODULES_H

#include "symbol/module.h"

struct debuginfod;

struct modules {
	VEC(struct module *) list;
	struct hash index;    /* of identities -> struct module * */
	uint32_t last_number; /* that a module was given */
	size_t unused;	      /* that nobody holds */
	uint64_t releases;    /* counted, to tell which is unused the longest */
	size_t open_files;
	struct worker *worker;	       /* reads the files */
	struct debuginfod *debuginfod; /* NULL: debug files are looked for on this machine only */
	uint64_t fetched;	       /* raised when a file that it fetched named something */
	size_t opened_lines;	       /* how many modules' line information is open */
	struct module *asked;	       /* whose lines are being looked for, or NULL */
	size_t asked_count;	       /* how many: the first of those it wants */
};

/*
 * The module of an open file, which is taken over in any case, held once more for the caller.
 * NULL: out of memory or no file.
 */
struct module *modules_add(struct modules *modules, int fd);
/* Holds it once more. */
void modules_hold(struct modules *modules, struct module *module);
/*
 * Undoes one hold. What nobody holds has its files closed at once; of those modules only the latest
 * are kept. Strings that were handed out are interned, and stay.
 */
void modules_release(struct modules *modules, struct module *module);
void modules_free(struct modules *modules);

/*
 * Takes what debuginfod has brought meanwhile, and raises `fetched` if that names anything.
 * Whether it may bring more is for debuginfod_wait() to say.
 */
void modules_take_fetched(struct modules *modules);

#endif
