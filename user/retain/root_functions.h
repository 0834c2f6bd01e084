/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The function behind a return address, named once for each address. */
#ifndef LEAKMON_RETAIN_ROOT_FUNCTIONS_H
#define LEAKMON_RETAIN_ROOT_FUNCTIONS_H

#include "base/hash.h"
#include "symbol/intern.h"
#include "symbol/symbolizer.h"

struct root_functions {
	struct symbolizer *symbolizer; /* borrowed */
	uint64_t process;	       /* that it was refreshed for */
	struct intern *intern;	       /* borrowed */
	struct hash names, modules;    /* address -> interned string */
};

/* Interned, so equal names are the same pointer; NULL: no name, or out of memory. */
const char *root_function(struct root_functions *functions, uint64_t address, const char **module);
void root_functions_free(struct root_functions *functions);

#endif
