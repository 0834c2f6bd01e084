// SPDX-License-Identifier: GPL-2.0-or-later
#include "heap/runtime/loaded_symbols.h"

#include <elf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

#define HEADERS_MAX 64
#define ENTRIES_MAX 512
#define CHAIN_MAX 4096
#define NAME_BYTES 64

struct tables {
	struct target_memory *memory;
	uint64_t bias;
	uint64_t symbols, strings, hash;
	uint32_t bucket_count, first; /* first: index of the first symbol in a bucket */
	uint64_t buckets, chains;
};

/* Some loaders leave addresses as in the file: these are below the module. */
static uint64_t table_at(const struct tables *tables, uint64_t address)
{
	return address < tables->bias ? tables->bias + address : address;
}

static void read_dynamic(struct tables *tables, uint64_t at)
{
	for (size_t i = 0; i < ENTRIES_MAX; i++) {
		Elf64_Dyn entry;

		if (target_read(tables->memory, at + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return;
		if (entry.d_tag == DT_SYMTAB)
			tables->symbols = table_at(tables, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_STRTAB)
			tables->strings = table_at(tables, entry.d_un.d_ptr);
		else if (entry.d_tag == DT_GNU_HASH)
			tables->hash = table_at(tables, entry.d_un.d_ptr);
	}
}

/* Reads DT_GNU_HASH: nbuckets, symoffset, bloom_size, bloom_shift; bloom; buckets; chains. */
static bool read_hash(struct tables *tables)
{
	uint32_t header[4];

	if (!tables->symbols || !tables->strings || !tables->hash ||
	    target_read(tables->memory, tables->hash, header, sizeof(header)) || !header[0])
		return false;
	tables->bucket_count = header[0];
	tables->first = header[1];
	tables->buckets = tables->hash + sizeof(header) + header[2] * 8ull;
	tables->chains = tables->buckets + header[0] * 4ull;
	return true;
}

static bool find_tables(struct tables *tables, uint64_t start)
{
	Elf64_Ehdr header;
	uint64_t dynamic = 0;

	if (target_read(tables->memory, start, &header, sizeof(header)) ||
	    memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_phentsize != sizeof(Elf64_Phdr))
		return false;
	for (size_t i = 0; i < MIN(header.e_phnum, HEADERS_MAX); i++) {
		Elf64_Phdr segment;

		if (target_read(tables->memory, start + header.e_phoff + i * sizeof(segment),
				&segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_LOAD && !segment.p_offset)
			tables->bias = start - segment.p_vaddr;
		else if (segment.p_type == PT_DYNAMIC)
			dynamic = segment.p_vaddr;
	}
	if (!dynamic)
		return false;
	read_dynamic(tables, tables->bias + dynamic);
	return read_hash(tables);
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

static bool is_called(const struct tables *tables, const Elf64_Sym *symbol, const char *name)
{
	size_t size = strlen(name) + 1;
	char text[NAME_BYTES];

	return size <= sizeof(text) && symbol->st_shndx != SHN_UNDEF &&
	       !target_read(tables->memory, tables->strings + symbol->st_name, text, size) &&
	       !memcmp(text, name, size);
}

/* Returns a symbol's address in the file, or 0 if it is not exported. */
static uint64_t find_symbol(const struct tables *tables, const char *name)
{
	uint32_t hash = hash_of(name), at, link = 0;

	if (target_read(tables->memory, tables->buckets + hash % tables->bucket_count * 4ull, &at,
			sizeof(at)) ||
	    at < tables->first)
		return 0;
	for (uint32_t i = 0; i < CHAIN_MAX && !(link & 1); i++, at++) {
		Elf64_Sym symbol;

		if (target_read(tables->memory, tables->chains + (at - tables->first) * 4ull, &link,
				sizeof(link)))
			return 0;
		if ((link | 1) == (hash | 1) &&
		    !target_read(tables->memory, tables->symbols + at * sizeof(symbol), &symbol,
				 sizeof(symbol)) &&
		    is_called(tables, &symbol, name))
			return symbol.st_value;
	}
	return 0;
}

int loaded_module_read(struct target_memory *memory, const struct mapping *mapping,
		       const char *const *names, size_t count, struct loaded_module *module)
{
	struct tables tables = {.memory = memory};
	struct symbol_table *table = &module->image.table;
	size_t used = 0;

	*module = (struct loaded_module){0};
	if (!find_tables(&tables, mapping->start))
		return -ENOENT;
	for (size_t i = 0; i < MIN(count, (size_t)LOADED_SYMBOLS_MAX); i++) {
		uint64_t address = find_symbol(&tables, names[i]);
		size_t size = strlen(names[i]) + 1;

		if (!address || used + size > sizeof(module->names))
			continue;
		module->symbols[table->count++] =
			(struct symbol){.address = address, .size = 8, .name = (uint32_t)used};
		memcpy(module->names + used, names[i], size);
		used += size;
	}
	table->symbols = module->symbols;
	table->names = module->names;
	module->module = (struct data_module){.path = mapping->path,
					      .start = mapping->start,
					      .end = mapping->end,
					      .bias = tables.bias,
					      .image = &module->image,
					      .mapping = mapping};
	module->modules.list.items = &module->module;
	module->modules.list.count = 1;
	return table->count ? 0 : -ENOENT;
}
