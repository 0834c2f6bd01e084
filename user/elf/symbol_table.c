// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/symbol_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

#define MAX_NAME_BYTES 4096
#define MAX_NAMES_BYTES (256u << 20)
#define MAX_UNDERSCORES 16
/* How many inner symbols are stepped over to find the one around them. */
#define MAX_NESTING 8

static int binding_rank(const struct elf_symbol *symbol)
{
	switch (symbol->binding) {
	case STB_GLOBAL:
	case STB_GNU_UNIQUE:
		return 0;
	case STB_WEAK:
		return 1;
	}
	return 2;
}

static int count_underscores(const char *name)
{
	int count = 0;

	/* What glibc calls its functions by itself, each also under its plain name. */
	if (!strncmp(name, "__GI_", 5))
		return MAX_UNDERSCORES;
	while (count < MAX_UNDERSCORES && name[count] == '_')
		count++;
	return count;
}

static int compare_symbols(const void *left_pointer, const void *right_pointer)
{
	const struct elf_symbol *left = left_pointer, *right = right_pointer;
	int order;

	if (left->value != right->value)
		return left->value < right->value ? -1 : 1;
	order = binding_rank(left) - binding_rank(right);
	if (!order)
		order = !left->size - !right->size;
	if (!order)
		order = count_underscores(left->name) - count_underscores(right->name);
	/* Any order will do from here on, as long as it is the same on every run. */
	if (!order)
		order = strncmp(left->name, right->name, 64);
	return order;
}

static uint32_t reach_of(const struct elf_symbol *symbol)
{
	uint64_t size = symbol->size;

	if (!size && symbol->limit > symbol->value)
		size = symbol->limit - symbol->value;
	return (uint32_t)MIN(size, UINT32_MAX);
}

/* "memcpy@@GLIBC_2.14" is memcpy: versions belong to the linker. */
static size_t name_length(const char *name)
{
	size_t length = strnlen(name, MAX_NAME_BYTES);
	const char *version = length ? memchr(name + 1, '@', length - 1) : NULL;

	return version ? (size_t)(version - name) : length;
}

/* Moves the best symbol of each address to the front; the number of them, and their names' size. */
static size_t keep_best(struct elf_symbols *symbols, size_t *names_size)
{
	struct elf_symbol *list = symbols->list.items;
	size_t kept = 0;

	*names_size = 0;
	for (size_t i = 0; i < symbols->list.count; i++) {
		size_t length;

		if (kept && list[kept - 1].value == list[i].value)
			continue;
		length = name_length(list[i].name);
		if (*names_size + length + 1 > MAX_NAMES_BYTES)
			break;
		*names_size += length + 1;
		list[kept++] = list[i];
	}
	return kept;
}

int symbol_table_build(struct elf_symbols *symbols, struct symbol_table *table)
{
	_cleanup_(symbol_table_free) struct symbol_table built = {0};
	size_t names_size, used = 0;

	if (symbols->list.count)
		qsort(symbols->list.items, symbols->list.count, sizeof(*symbols->list.items),
		      compare_symbols);
	built.count = keep_best(symbols, &names_size);
	built.symbols = calloc(built.count + 1, sizeof(*built.symbols));
	built.names = calloc(names_size + 1, 1);
	if (!built.symbols || !built.names)
		return -ENOMEM;
	for (size_t i = 0; i < built.count; i++) {
		const struct elf_symbol *symbol = &symbols->list.items[i];
		size_t length = name_length(symbol->name);

		built.symbols[i] = (struct symbol){
			.address = symbol->value,
			.size = reach_of(symbol),
			.name = (uint32_t)used,
		};
		memcpy(built.names + used, symbol->name, length);
		used += length + 1;
	}
	*table = built;
	built = (struct symbol_table){0};
	return 0;
}

void symbol_table_free(struct symbol_table *table)
{
	free(table->symbols);
	free(table->names);
	*table = (struct symbol_table){0};
}

/* How many symbols start at or below address. */
static size_t count_up_to(const struct symbol_table *table, uint64_t address)
{
	size_t low = 0, high = table->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (table->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	size_t i = count_up_to(table, address);
	size_t stop = i > MAX_NESTING ? i - MAX_NESTING : 0;
	size_t nearest = i;

	for (; i > stop; i--) {
		const struct symbol *symbol = &table->symbols[i - 1];

		/* An unknown reach ends where the next symbol starts. */
		if (!symbol->size ? i == nearest : address - symbol->address < symbol->size)
			return symbol;
	}
	return NULL;
}
