/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The code that a process has mapped, now and before. */
#ifndef LEAKMON_SYMBOL_ADDRESS_SPACE_H
#define LEAKMON_SYMBOL_ADDRESS_SPACE_H

#include <stdbool.h>

#include "proc/maps.h"
#include "symbol/modules.h"

struct code_range {
	struct mapping mapping; /* its path is interned */
	int task;		/* whose /proc directory shows it */
	struct module *module;	/* NULL: see `why` */
	const char *why;	/* "anonymous code", "file gone", ...; static */
};

struct address_space {
	struct modules *modules;	/* whose modules the ranges hold; NULL: there are none */
	VEC(struct code_range) current; /* by ascending address */
	VEC(struct code_range) past;	/* vanished, the latest last; bounded */
};

/*
 * Reads the mappings again and opens what is new. *changed tells whether pointers from
 * address_space_find() are void now. 0, or -errno as maps_read(); then nothing has changed.
 */
int address_space_refresh(struct address_space *space, int pid, struct modules *modules,
			  struct intern *intern, bool *changed);

/* What is mapped at address, or was last; NULL: never code there. Good until a refresh. */
const struct code_range *address_space_find(const struct address_space *space, uint64_t address);

void address_space_free(struct address_space *space);

#endif
