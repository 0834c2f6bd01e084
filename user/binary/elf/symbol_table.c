// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/symbol_table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/elf/elf_dynamic.h"
#include "binary/elf/elf_file.h"

#define MAX_NAME_BYTES 4096
#define MAX_NAMES_BYTES (256u << 20)
#define MAX_UNDERSCORES 16
/* Inner symbols skipped to find the enclosing one. */
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

	/*
	 * Prefix of glibc's internal names for its functions, each of which also has its plain
	 * name.
	 */
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
	/* Any further order will do, if it is the same on every run. */
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

/*
 * Moves the best symbol of each address to the front. Returns their number, and their names' size.
 */
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

/* Returns the number of symbols that start at or below address. */
static size_t count_up_to(const struct symbol_table *table, uint64_t address)
{
	return SORTED_BEFORE(symbol, table->symbols, table->count, symbol->address <= address);
}

const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address)
{
	size_t i = count_up_to(table, address);
	size_t stop = i > MAX_NESTING ? i - MAX_NESTING : 0;
	size_t nearest = i;

	for (; i > stop; i--) {
		const struct symbol *symbol = &table->symbols[i - 1];

		/* A symbol without size ends where the next one starts. */
		if (!symbol->size ? i == nearest : address - symbol->address < symbol->size)
			return symbol;
	}
	return NULL;
}

#define CHUNK_SYMBOLS 4096

enum symbol_choice { CHOOSE_FUNCTIONS, CHOOSE_OBJECTS, CHOOSE_ALL };

struct reader {
	const struct elf_file *file;
	const struct elf_sections *sections;
	struct elf_symbols *symbols;
	uint64_t budget; /* bytes of tables still allowed */
	size_t tables;	 /* number of tables read */
	enum symbol_choice choice;
};

static const struct elf_segment *segment_of(const struct elf_file *file, uint64_t vaddr)
{
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];

		if (vaddr >= segment->vaddr && vaddr - segment->vaddr < segment->memory_size)
			return segment;
	}
	return NULL;
}

static bool is_function(const struct elf_file *file, const Elf64_Sym *symbol)
{
	const struct elf_segment *segment;

	if (symbol->st_shndx == SHN_UNDEF || symbol->st_value == 0)
		return false;
	switch (ELF64_ST_TYPE(symbol->st_info)) {
	case STT_FUNC:
	case STT_GNU_IFUNC:
		return true;
	case STT_NOTYPE:
		segment = symbol->st_size ? segment_of(file, symbol->st_value) : NULL;
		return segment && segment->executable;
	}
	return false;
}

/* Data with a size: a symbol with only an address (_end, __bss_start) names no object. */
static bool is_object(const Elf64_Sym *symbol)
{
	if (symbol->st_shndx == SHN_UNDEF || !symbol->st_size ||
	    symbol->st_value >= ELF_THREAD_LOCAL)
		return false;
	if (ELF64_ST_TYPE(symbol->st_info) == STT_TLS)
		return true;
	return symbol->st_value && ELF64_ST_TYPE(symbol->st_info) == STT_OBJECT;
}

/* Any symbol with an address. */
static bool is_any(const Elf64_Sym *symbol)
{
	unsigned char type = ELF64_ST_TYPE(symbol->st_info);

	return symbol->st_shndx != SHN_UNDEF && symbol->st_shndx != SHN_ABS && symbol->st_value &&
	       symbol->st_value < ELF_THREAD_LOCAL &&
	       (type == STT_NOTYPE || type == STT_OBJECT || type == STT_FUNC ||
		type == STT_GNU_IFUNC);
}

static bool is_wanted(const struct reader *reader, const Elf64_Sym *symbol)
{
	switch (reader->choice) {
	case CHOOSE_FUNCTIONS:
		return is_function(reader->file, symbol);
	case CHOOSE_OBJECTS:
		return is_object(symbol);
	case CHOOSE_ALL:
		return is_any(symbol);
	}
	return false;
}

/* Returns the highest possible end of an unsized symbol. */
static uint64_t limit_of(const struct reader *reader, const Elf64_Sym *symbol)
{
	const struct elf_segment *segment;

	if (symbol->st_shndx < MIN(reader->sections->list.count, SHN_LORESERVE)) {
		const struct elf_section *section = &reader->sections->list.items[symbol->st_shndx];

		if (symbol->st_value >= section->address &&
		    symbol->st_value - section->address < section->size &&
		    section->size <= UINT64_MAX - section->address)
			return section->address + section->size;
	}
	segment = segment_of(reader->file, symbol->st_value);
	return segment ? segment->vaddr + segment->memory_size : 0;
}

static int take_symbol(const struct reader *reader, const Elf64_Sym *symbol, const char *strings,
		       size_t strings_size)
{
	struct elf_symbol *taken;

	if (!is_wanted(reader, symbol) || symbol->st_name >= strings_size ||
	    !strings[symbol->st_name])
		return 0;
	taken = vec_push(&reader->symbols->list);
	if (!taken)
		return -ENOMEM;
	*taken = (struct elf_symbol){
		.value = symbol->st_value |
			 (ELF64_ST_TYPE(symbol->st_info) == STT_TLS ? ELF_THREAD_LOCAL : 0),
		.size = symbol->st_size,
		.limit = limit_of(reader, symbol),
		.name = strings + symbol->st_name,
		.type = ELF64_ST_TYPE(symbol->st_info),
		.binding = ELF64_ST_BIND(symbol->st_info),
	};
	return 0;
}

static int read_symbols(const struct reader *reader, const struct elf_symbol_place *place,
			const char *strings)
{
	_cleanup_free_ Elf64_Sym *chunk = malloc(CHUNK_SYMBOLS * sizeof(*chunk));
	uint64_t offset = place->offset, left = place->count;
	int error = chunk ? 0 : -ENOMEM;

	while (!error && left) {
		ssize_t got = elf_file_read(reader->file, offset, chunk,
					    MIN(left, CHUNK_SYMBOLS) * sizeof(*chunk));
		size_t count = got < 0 ? 0 : (size_t)got / sizeof(*chunk);

		if (!count)
			return got < 0 ? (int)got : 0;
		for (size_t i = 0; !error && i < count; i++)
			error = take_symbol(reader, &chunk[i], strings, place->strings_size);
		left -= count;
		offset += count * sizeof(*chunk);
	}
	return error;
}

/* A truncated file yields the part that is present. */
static int clamp_to_file(const struct elf_file *file, struct elf_symbol_place *place)
{
	if (place->offset >= file->size || place->strings_offset >= file->size)
		return -EBADMSG;
	place->count = MIN(place->count, (file->size - place->offset) / sizeof(Elf64_Sym));
	place->strings_size = MIN(place->strings_size, file->size - place->strings_offset);
	return 0;
}

static int read_table(struct reader *reader, struct elf_symbol_place place)
{
	_cleanup_free_ char *strings = NULL;
	uint64_t bytes;
	ssize_t got;
	int error = clamp_to_file(reader->file, &place);

	if (error)
		return error;
	bytes = place.count * sizeof(Elf64_Sym) + place.strings_size;
	if (bytes > reader->budget ||
	    place.count > ELF_MAX_SYMBOLS - MIN(reader->symbols->list.count, ELF_MAX_SYMBOLS))
		return -EFBIG;
	reader->budget -= bytes;
	strings = malloc(place.strings_size + 1);
	if (!strings)
		return -ENOMEM;
	got = elf_file_read(reader->file, place.strings_offset, strings, place.strings_size);
	if (got < 0)
		return (int)got;
	place.strings_size = (uint64_t)got;
	strings[got] = '\0';
	error = read_symbols(reader, &place, strings);
	/* Kept on errors, too: symbols already taken point into it. */
	reader->symbols->strings[reader->tables++] = TAKE_PTR(strings);
	return error;
}

static int read_section_table(struct reader *reader, const struct elf_section *section)
{
	const struct elf_section *strings;

	if (section->entry_size != sizeof(Elf64_Sym) ||
	    section->link >= reader->sections->list.count)
		return -EBADMSG;
	strings = &reader->sections->list.items[section->link];
	if (strings->type != SHT_STRTAB || section->compressed || strings->compressed)
		return -EBADMSG;
	return read_table(reader, (struct elf_symbol_place){
					  .offset = section->offset,
					  .count = section->size / sizeof(Elf64_Sym),
					  .strings_offset = strings->offset,
					  .strings_size = strings->size,
				  });
}

static int read_first_of_type(struct reader *reader, uint32_t type)
{
	for (size_t i = 0; i < reader->sections->list.count; i++) {
		if (reader->sections->list.items[i].type == type)
			return read_section_table(reader, &reader->sections->list.items[i]);
	}
	return -ENOENT;
}

static int read_dynamic_table(struct reader *reader)
{
	struct elf_symbol_place place;
	int error = elf_dynamic_symbols(reader->file, &place);

	return error ? error : read_table(reader, place);
}

static int read_all(struct reader *reader)
{
	int symtab_err, dynsym_err;

	symtab_err = read_first_of_type(reader, SHT_SYMTAB);
	if (symtab_err == -ENOMEM || symtab_err == -EIO)
		return symtab_err;
	reader->symbols->has_symtab = !symtab_err;
	/* read_table() has room for two; a broken .dynsym section may have used the second. */
	dynsym_err = read_first_of_type(reader, SHT_DYNSYM);
	if (dynsym_err && reader->tables < ARRAY_SIZE(reader->symbols->strings))
		dynsym_err = read_dynamic_table(reader);
	if (dynsym_err == -ENOMEM || dynsym_err == -EIO)
		return dynsym_err;
	if (reader->symbols->list.count)
		return 0;
	if (symtab_err && symtab_err != -ENOENT)
		return symtab_err;
	return dynsym_err == -ENOENT ? 0 : dynsym_err;
}

static int read_kind(const struct elf_file *file, enum symbol_choice choice,
		     struct elf_symbols *symbols)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	_cleanup_(elf_symbols_free) struct elf_symbols read = {0};
	struct reader reader = {
		.file = file,
		.sections = &sections,
		.symbols = &read,
		.budget = ELF_MAX_TABLE_BYTES,
		.choice = choice,
	};
	int error = elf_sections_read(file, &sections);

	if (error == -ENOMEM || error == -EIO)
		return error;
	error = read_all(&reader);
	if (error)
		return error;
	*symbols = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

int elf_symbols_read(const struct elf_file *file, struct elf_symbols *symbols)
{
	return read_kind(file, CHOOSE_FUNCTIONS, symbols);
}

int elf_objects_read(const struct elf_file *file, struct elf_symbols *symbols)
{
	return read_kind(file, CHOOSE_OBJECTS, symbols);
}

int elf_all_symbols_read(const struct elf_file *file, struct elf_symbols *symbols)
{
	return read_kind(file, CHOOSE_ALL, symbols);
}

void elf_symbols_free(struct elf_symbols *symbols)
{
	vec_free(&symbols->list);
	for (size_t i = 0; i < ARRAY_SIZE(symbols->strings); i++) {
		free(symbols->strings[i]);
		symbols->strings[i] = NULL;
	}
}
