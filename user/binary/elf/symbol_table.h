/* SPDX-License-Identifier: GPL-2.0-or-later */
/* One file's functions, sorted by address: compact, because some files have a million. */
#ifndef LEAKMON_ELF_SYMBOL_TABLE_H
#define LEAKMON_ELF_SYMBOL_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

struct symbol {
	uint64_t address;
	uint32_t size; /* 0: reaches to the next symbol. Unsized ones get their section's rest. */
	uint32_t name; /* place in symbol_table.names */
};

struct symbol_table {
	struct symbol *symbols; /* ascending, one per address */
	size_t count;
	char *names; /* NUL-terminated, one after the other; raw, without symbol versions */
};

/*
 * For several symbols at one address the best name stays: global before weak before local, sized
 * before unsized, fewer leading underscores. `symbols` is sorted in place, and may be freed after.
 * Names are cut at 4096 bytes; all together take at most 256 MiB (later ones are left out).
 * 0 or -ENOMEM (then *table is untouched).
 */
int symbol_table_build(struct elf_symbols *symbols, struct symbol_table *table);
void symbol_table_free(struct symbol_table *table);

/*
 * The function that holds `address`, or NULL: past the end of a sized symbol is no function, unless
 * another one around it holds the address.
 */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
