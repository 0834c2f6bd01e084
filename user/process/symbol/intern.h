/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A set of strings, each stored once, that live as long as the set. */
#ifndef LEAKMON_SYMBOL_INTERN_H
#define LEAKMON_SYMBOL_INTERN_H

#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"

struct intern {
	struct hash index; /* hash of a string -> its index in strings, plus 1 */
	VEC(char *) strings;
};

/* Returns the set's own copy of text, or NULL: out of memory. Returns NULL for NULL. */
const char *intern_string(struct intern *intern, const char *text);
void intern_free(struct intern *intern);

/*
 * Computes FNV-1a, 64 bits (draft-eastlake-fnv): the same on every host and run, for stored values.
 * Colliding strings can be chosen: in-memory tables use hash_text().
 */
uint64_t intern_hash(const char *text);

#endif
