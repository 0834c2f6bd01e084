// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where in the source a closure comes from: programs that were compiled with -finfo-table-map have
 * a table for each module that leads from info tables to lines. Source: rts/include/rts/IPE.h of
 * 9.6; 9.8 and newer have it otherwise, and maybe compressed.
 *
 * The tables lie in the data of programs. They are found by their shape, so it does not matter
 * whether the runtime has read them, or a program was stripped.
 */
#include "runtime/ghc.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "arch/machine.h"
#include "base/cleanup.h"

/* IpeBufferListNode: the next one, texts, how many entries, entries. */
#define NODE_TEXTS 8
#define NODE_COUNT 16
#define NODE_ENTRIES 24
/* IpeBufferEntry: the info table's code, then places of texts. */
#define ENTRY_BYTES 40
#define ENTRY_TYPE 16
#define ENTRY_LABEL 20
#define ENTRY_MODULE 24
#define ENTRY_FILE 28
#define ENTRY_SPAN 32
#define ENTRY_PADDING 36
#define COUNT_MAX (1u << 20)
#define ENTRIES_MAX (1u << 23)
#define TEXTS_MAX (1u << 28)
#define PROVED 3 /* entries of each table */
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

/* Characters that cannot be shown end it. False: it is none, or empty. */
static bool read_text(const struct ghc *ghc, const struct ghc_line_table *table, uint64_t entry,
		      size_t field, char *text, size_t size)
{
	size_t length = 0;
	uint32_t place;

	text[0] = '\0';
	if (target_read(ghc->memory, entry + field, &place, sizeof(place)) || place >= TEXTS_MAX)
		return false;
	while (length + 1 < size &&
	       !target_read(ghc->memory, table->texts + place + length, text + length, 1) &&
	       isprint((unsigned char)text[length]))
		length++;
	text[length] = '\0';
	return length != 0;
}

/* Whether it begins as a table does: code, and a module's name. */
static bool is_table(const struct ghc *ghc, const struct ghc_line_table *table)
{
	for (uint64_t i = 0; i < MIN(table->count, PROVED); i++) {
		uint64_t entry = table->entries + i * ENTRY_BYTES;
		char module[TEXT_BYTES];
		uint32_t padding;

		if (!ghc_is_code(ghc, target_word(ghc->memory, entry)) ||
		    target_read(ghc->memory, entry + ENTRY_PADDING, &padding, sizeof(padding)) ||
		    padding ||
		    !read_text(ghc, table, entry, ENTRY_MODULE, module, sizeof(module)) ||
		    !isupper((unsigned char)module[0]))
			return false;
	}
	return true;
}

static int add_entries(struct ghc *ghc, const struct ghc_line_table *table)
{
	for (uint64_t i = 0; i < table->count && ghc->line_count < ENTRIES_MAX; i++) {
		uint64_t code = target_word(ghc->memory, table->entries + i * ENTRY_BYTES);
		uint64_t *place;

		if (!ghc_is_code(ghc, code))
			continue;
		place = hash_put(&ghc->lines, code, NULL);
		if (!place)
			return -ENOMEM;
		*place = (uint64_t)(ghc->line_tables.count - 1) << 32 | i;
		ghc->line_count++;
	}
	return 0;
}

/* `word` may be where a table has its texts. */
static int find_table(void *context, uint64_t address, uint64_t word)
{
	struct ghc *ghc = context;
	uint64_t node = address - NODE_TEXTS, count;
	struct ghc_line_table table, *added;

	if (word >> MACHINE_USER_BITS || word < MEMORY_PAGE)
		return 0;
	count = target_word(ghc->memory, node + NODE_COUNT);
	if (!count || count > COUNT_MAX || !is_readable(ghc, word))
		return 0;
	table = (struct ghc_line_table){node + NODE_ENTRIES, count, word};
	if (!is_table(ghc, &table))
		return 0;
	added = vec_push(&ghc->line_tables);
	if (!added)
		return -ENOMEM;
	*added = table;
	return add_entries(ghc, added);
}

int ghc_find_lines(struct ghc *ghc)
{
	return ghc_visit_data(ghc, find_table, ghc);
}

bool ghc_line(const struct ghc *ghc, uint64_t code, char line[GHC_LINE_BYTES])
{
	const uint64_t *place = ghc->lines.count ? hash_get(&ghc->lines, code) : NULL;
	const struct ghc_line_table *table;
	char file[TEXT_BYTES], span[TEXT_BYTES], module[TEXT_BYTES], label[TEXT_BYTES];
	char type[TYPE_BYTES];
	const char *name;
	uint64_t entry;
	int used;

	if (!place)
		return false;
	table = &ghc->line_tables.items[*place >> 32];
	entry = table->entries + (*place & UINT32_MAX) * ENTRY_BYTES;
	if (!read_text(ghc, table, entry, ENTRY_FILE, file, sizeof(file)) ||
	    !read_text(ghc, table, entry, ENTRY_SPAN, span, sizeof(span)) ||
	    !read_text(ghc, table, entry, ENTRY_MODULE, module, sizeof(module)))
		return false;
	name = strrchr(file, '/');
	used = snprintf(line, GHC_LINE_BYTES, "%s:%s in %s", name && name[1] ? name + 1 : file,
			span, module);
	if (read_text(ghc, table, entry, ENTRY_LABEL, label, sizeof(label)))
		used += snprintf(line + used, (size_t)(GHC_LINE_BYTES - used), ".%s", label);
	if (read_text(ghc, table, entry, ENTRY_TYPE, type, sizeof(type)))
		snprintf(line + used, (size_t)(GHC_LINE_BYTES - used), " :: %s%s", type,
			 strlen(type) + 1 == sizeof(type) ? "…" : "");
	return true;
}
