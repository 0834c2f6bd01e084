/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file's functions, sorted by address: compact, because some files have a million. */
#ifndef LEAKMON_ELF_SYMBOL_TABLE_H
#define LEAKMON_ELF_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

struct symbol {
	uint64_t address;
	uint32_t size; /* 0: up to the next symbol. Unsized ones get the rest of their section. */
	uint32_t name; /* offset in symbol_table.names */
};

struct symbol_table {
	struct symbol *symbols; /* ascending, one per address */
	size_t count;
	char *names; /* NUL-terminated, consecutive; raw, without symbol versions */
};

/*
 * Builds the table. Of several symbols at one address the best name is kept: global before weak
 * before local, sized before unsized, fewer leading underscores. `symbols` is sorted in place, and
 * may be freed afterwards. Names are cut at 4096 bytes; all together take at most 256 MiB (later
 * ones are left out). Returns 0 or -ENOMEM (then *table is untouched).
 */
int symbol_table_build(struct elf_symbols *symbols, struct symbol_table *table);
void symbol_table_free(struct symbol_table *table);

/*
 * Returns the function that contains `address`, or NULL: there is no function past the end of a
 * sized symbol, unless an enclosing one contains the address.
 */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
