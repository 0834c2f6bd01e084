// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Sources of closures: programs compiled with -finfo-table-map have a table for each module that
 * maps info tables to lines. Source: rts/include/rts/IPE.h of 9.6, 9.8 and 9.10; since 9.8 entries
 * and texts may be compressed (rts/IPE.c).
 *
 * The tables are in the data of programs. They are found by their shape, whether or not the runtime
 * has read them, and in stripped programs, too.
 */
#include "heap/runtime/ghc/ghc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"

/* Fields of an entry: offsets of texts, or FIELD_NONE. */
#define FIELD_NONE UINT8_MAX
struct ghc_line_layout {
	uint8_t bytes;
	uint8_t type, label, module, file, span, padding;
};

/* IpeBufferListNode of 9.6: next, texts, number of entries, entries, each of which begins with the
 * info table's code. */
#define OLD_TEXTS 8
#define OLD_COUNT 16
#define OLD_ENTRIES 24
static const struct ghc_line_layout old_layout = {
	.bytes = 40, .type = 16, .label = 20, .module = 24, .file = 28, .span = 32, .padding = 36};

/* Since 9.8: the codes of info tables are separate, and sizes are uncompressed. 9.10 has one module
 * for all entries. */
#define NEW_COMPRESSED 8
#define NEW_COUNT 16
#define NEW_CODES 24
#define NEW_ENTRIES 32
#define NEW_ENTRIES_SIZE 40
#define NEW_TEXTS 48
#define NEW_TEXTS_SIZE 56
#define NEW_MODULE 68
static const struct ghc_line_layout new_layouts[] = {
	{.bytes = 32, .type = 8, .label = 12, .module = 16, .file = 20, .span = 24, .padding = 28},
	{.bytes = 24,
	 .type = 8,
	 .label = 12,
	 .module = FIELD_NONE,
	 .file = 16,
	 .span = 20,
	 .padding = FIELD_NONE},
};

#define COUNT_MAX (1u << 20)
#define ENTRIES_MAX (1u << 23) /* entries of all tables */
#define TABLE_COST 64	       /* price of a table, in entries */
#define TEXTS_MAX (1u << 28)
#define UNPACKED_MAX (64u << 20) /* bytes of all tables, real or apparent */
#define PROVED 3		 /* entries checked in each table */
#define TEXT_BYTES 128
#define TYPE_BYTES 64

static bool is_readable(const struct ghc *ghc, uint64_t address)
{
	const struct mapping *mapping;

	if (address < MEMORY_PAGE || address >> MACHINE_USER_BITS)
		return false;
	mapping = maps_find(ghc->memory->maps, address);
	return mapping && mapping->readable;
}

/* Reads bytes of entries or of texts, from the process or unpacked. */
static bool read_part(const struct ghc *ghc, const struct ghc_line_part *part, uint64_t place,
		      void *bytes, size_t size)
{
	if (place >= part->size || size > part->size - place)
		return false;
	if (!part->unpacked)
		return !target_read(ghc->memory, part->start + place, bytes, size);
	memcpy(bytes, part->unpacked + place, size);
	return true;
}

/* Reads a text, up to the first unprintable character; returns false if it is invalid, or empty. */
static bool read_text(const struct ghc *ghc, const struct ghc_line_table *table, uint32_t place,
		      char *text, size_t size)
{
	size_t length = 0;

	while (length + 1 < size &&
	       read_part(ghc, &table->texts, place + length, text + length, 1) &&
	       isprint((unsigned char)text[length]))
		length++;
	text[length] = '\0';
	return length != 0;
}

static bool read_field(const struct ghc *ghc, const struct ghc_line_table *table, uint64_t number,
		       uint8_t field, uint32_t *value)
{
	*value = table->module;
	return field == FIELD_NONE ||
	       read_part(ghc, &table->entries, number * table->layout->bytes + field, value,
			 sizeof(*value));
}

/* Reads the text of a field of an entry. */
static bool read_named(const struct ghc *ghc, const struct ghc_line_table *table, uint64_t number,
		       uint8_t field, char *text, size_t size)
{
	uint32_t place;

	text[0] = '\0';
	return read_field(ghc, table, number, field, &place) &&
	       read_text(ghc, table, place, text, size);
}

static uint64_t code_of(const struct ghc *ghc, const struct ghc_line_table *table, uint64_t number)
{
	uint64_t step = table->layout == &old_layout ? old_layout.bytes : GHC_WORD;

	return target_word(ghc->memory, table->codes + number * step);
}

/* Returns whether a text begins there, behind the end of another one. */
static bool begins_text(const struct ghc *ghc, const struct ghc_line_table *table, uint32_t place)
{
	char before = 0;

	return !place || (read_part(ghc, &table->texts, place - 1, &before, 1) && !before);
}

static bool is_entry(const struct ghc *ghc, const struct ghc_line_table *table, uint64_t number)
{
	const struct ghc_line_layout *layout = table->layout;
	uint32_t padding = 0, module, file;
	char name[TEXT_BYTES];

	return ghc_is_code(ghc, code_of(ghc, table, number)) &&
	       (layout->padding == FIELD_NONE ||
		(read_field(ghc, table, number, layout->padding, &padding) && !padding)) &&
	       read_field(ghc, table, number, layout->module, &module) &&
	       read_field(ghc, table, number, layout->file, &file) && module != file &&
	       begins_text(ghc, table, module) && begins_text(ghc, table, file) &&
	       read_text(ghc, table, module, name, sizeof(name)) && isupper((unsigned char)name[0]);
}

/* Returns whether it begins like a table: code, and a module's name. */
static bool is_table(const struct ghc *ghc, const struct ghc_line_table *table)
{
	for (uint64_t i = 0; i < MIN(table->count, PROVED); i++) {
		if (!is_entry(ghc, table, i))
			return false;
	}
	return true;
}

static void forget_unpacked(struct ghc_line_table *table)
{
	free(table->entries.unpacked);
	free(table->texts.unpacked);
	table->entries.unpacked = table->texts.unpacked = NULL;
}

static int add_table(struct ghc *ghc, const struct ghc_line_table *table)
{
	struct ghc_line_table *added = vec_push(&ghc->line_tables);

	if (!added)
		return -ENOMEM;
	*added = *table;
	ghc->entries_seen += TABLE_COST;
	for (uint64_t i = 0; i < table->count && ghc->entries_seen < ENTRIES_MAX; i++) {
		uint64_t code = code_of(ghc, table, i), *place;

		ghc->entries_seen++;
		if (!ghc_is_code(ghc, code))
			continue;
		place = hash_put(&ghc->lines, code, NULL);
		if (!place)
			return -ENOMEM;
		*place = (uint64_t)(ghc->line_tables.count - 1) << 32 | i;
	}
	return 0;
}

/* Decompresses a part. 0; -ENOENT: not compressed in this format; -ENOMEM. */
static int unpack(struct ghc *ghc, struct ghc_line_part *part)
{
	uint64_t most = ZSTD_compressBound(part->size), size = 0;
	_cleanup_free_ unsigned char *packed = NULL;

	if (!part->size || part->size > UNPACKED_MAX - ghc->unpacked)
		return -ENOENT;
	ghc->unpacked += part->size;
	packed = malloc(most);
	part->unpacked = malloc(part->size);
	if (!packed || !part->unpacked)
		return -ENOMEM;
	/* The length is inside the data; following bytes are read as well, as far as present. */
	while (size < most) {
		uint64_t step = MIN(MEMORY_PAGE - (part->start + size) % MEMORY_PAGE, most - size);

		if (target_read(ghc->memory, part->start + size, packed + size, step))
			break;
		size += step;
	}
	size = ZSTD_findFrameCompressedSize(packed, size);
	if (ZSTD_isError(size) ||
	    ZSTD_decompress(part->unpacked, part->size, packed, size) != part->size)
		return -ENOENT;
	return 0;
}

/* Reads a table of 9.8 and newer: the size of its entries determines their layout. */
static bool read_new(const struct ghc *ghc, uint64_t node, struct ghc_line_table *table)
{
	uint64_t size = target_word(ghc->memory, node + NEW_ENTRIES_SIZE);

	*table = (struct ghc_line_table){
		.codes = target_word(ghc->memory, node + NEW_CODES),
		.count = target_word(ghc->memory, node + NEW_COUNT),
		.entries = {.start = target_word(ghc->memory, node + NEW_ENTRIES), .size = size},
		.texts = {.start = target_word(ghc->memory, node + NEW_TEXTS),
			  .size = target_word(ghc->memory, node + NEW_TEXTS_SIZE)}};
	for (size_t i = 0; i < ARRAY_SIZE(new_layouts); i++) {
		if (table->count && table->count <= COUNT_MAX &&
		    size == table->count * new_layouts[i].bytes)
			table->layout = &new_layouts[i];
	}
	return table->layout && table->texts.size && table->texts.size < TEXTS_MAX &&
	       is_readable(ghc, table->codes) && is_readable(ghc, table->entries.start) &&
	       !target_read(ghc->memory, node + NEW_MODULE, &table->module, sizeof(table->module));
}

static int find_new(struct ghc *ghc, uint64_t node)
{
	uint64_t compressed = target_word(ghc->memory, node + NEW_COMPRESSED);
	struct ghc_line_table table;
	int error = 0;

	if (compressed > 1 || !read_new(ghc, node, &table))
		return -ENOENT;
	if (!ghc_is_code(ghc, code_of(ghc, &table, 0)))
		return -ENOENT;
	if (compressed)
		error = unpack(ghc, &table.entries);
	if (compressed && !error)
		error = unpack(ghc, &table.texts);
	if (!error && !is_table(ghc, &table))
		error = -ENOENT;
	if (!error)
		error = add_table(ghc, &table);
	else
		forget_unpacked(&table);
	return error;
}

static int find_old(struct ghc *ghc, uint64_t node, uint64_t texts)
{
	struct ghc_line_table table = {
		.layout = &old_layout,
		.codes = node + OLD_ENTRIES,
		.count = target_word(ghc->memory, node + OLD_COUNT),
		.texts = {.start = texts, .size = TEXTS_MAX},
	};

	table.entries = (struct ghc_line_part){.start = table.codes,
					       .size = table.count * old_layout.bytes};
	if (!table.count || table.count > COUNT_MAX || !is_table(ghc, &table))
		return -ENOENT;
	return add_table(ghc, &table);
}

/* Checks whether `word` is the pointer to a table's texts. */
static int find_table(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;
	int error;

	if (ghc->entries_seen >= ENTRIES_MAX || !is_readable(ghc, word))
		return 0;
	error = find_new(ghc, address - NEW_TEXTS);
	if (error == -ENOENT)
		error = find_old(ghc, address - OLD_TEXTS, word);
	return error == -ENOENT ? 0 : error;
}

int ghc_find_lines(struct ghc *ghc)
{
	return ghc_visit_data(ghc, find_table, ghc);
}

void ghc_forget_lines(struct ghc *ghc)
{
	for (size_t i = 0; i < ghc->line_tables.count; i++)
		forget_unpacked(&ghc->line_tables.items[i]);
	vec_free(&ghc->line_tables);
	hash_free(&ghc->lines);
}

bool ghc_line(const struct ghc *ghc, uint64_t code, char line[GHC_LINE_BYTES])
{
	const uint64_t *place = ghc->lines.count ? hash_get(&ghc->lines, code) : NULL;
	const struct ghc_line_table *table;
	const struct ghc_line_layout *layout;
	char file[TEXT_BYTES], span[TEXT_BYTES], module[TEXT_BYTES], label[TEXT_BYTES];
	char type[TYPE_BYTES];
	const char *name;
	uint32_t number;
	int used;

	if (!place)
		return false;
	table = &ghc->line_tables.items[*place >> 32];
	layout = table->layout;
	number = (uint32_t)*place;
	if (!read_named(ghc, table, number, layout->file, file, sizeof(file)) ||
	    !read_named(ghc, table, number, layout->span, span, sizeof(span)) ||
	    !read_named(ghc, table, number, layout->module, module, sizeof(module)))
		return false;
	name = strrchr(file, '/');
	used = snprintf(line, GHC_LINE_BYTES, "%s:%s in %s", name && name[1] ? name + 1 : file,
			span, module);
	if (read_named(ghc, table, number, layout->label, label, sizeof(label)))
		used += snprintf(line + used, (size_t)(GHC_LINE_BYTES - used), ".%s", label);
	if (read_named(ghc, table, number, layout->type, type, sizeof(type)))
		snprintf(line + used, (size_t)(GHC_LINE_BYTES - used), " :: %s%s", type,
			 strlen(type) + 1 == sizeof(type) ? "…" : "");
	return true;
}
