// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Names from the metadata of an assembly's image in memory (ECMA-335 II.24, II.25). The image is
 * laid out by its sections, or as in its file; the metadata's magic number shows which.
 */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/dotnet/dotnet.h"

#define METADATA_MAGIC 0x424a5342u /* "BSJB" */
#define METADATA_BYTES_MAX (256u << 20)
#define SECTIONS_MAX 96
#define STREAMS_MAX 16
#define MODULES_MAX (1u << 16)

enum {
	TABLE_TYPE = 0x02,
	TABLE_FIELD = 0x04,
	TABLE_METHOD_POINTER = 0x05,
	TABLE_METHOD = 0x06,
	TABLE_NESTED = 0x29
};

/* Columns: 2 or 4 bytes, or one of these. */
enum {
	COLUMN_END = 0,
	COLUMN_STRING = 5,
	COLUMN_GUID,
	COLUMN_BLOB,
	COLUMN_ROW = 0x40,   /* plus a table */
	COLUMN_CODED = 0x80, /* plus one of enum coded */
};
enum coded {
	TYPE_DEF_OR_REF,
	HAS_CONSTANT,
	HAS_ATTRIBUTE,
	HAS_MARSHAL,
	HAS_SECURITY,
	MEMBER_PARENT,
	HAS_SEMANTICS,
	METHOD_DEF_OR_REF,
	MEMBER_FORWARDED,
	IMPLEMENTATION,
	ATTRIBUTE_TYPE,
	RESOLUTION_SCOPE,
};

/* Bits of the tag, and the tables that it distinguishes. */
static const struct {
	uint8_t bits;
	uint64_t tables;
} codings[] = {
#define T(table) (1ull << (table))
	[TYPE_DEF_OR_REF] = {2, T(2) | T(1) | T(0x1b)},
	[HAS_CONSTANT] = {2, T(4) | T(8) | T(0x17)},
	[HAS_ATTRIBUTE] = {5, T(6) | T(4) | T(1) | T(2) | T(8) | T(9) | T(10) | T(0) | T(14) |
				      T(0x17) | T(0x14) | T(0x11) | T(0x1a) | T(0x1b) | T(0x20) |
				      T(0x23) | T(0x26) | T(0x27) | T(0x28) | T(0x2a) | T(0x2b) |
				      T(0x2c)},
	[HAS_MARSHAL] = {1, T(4) | T(8)},
	[HAS_SECURITY] = {2, T(2) | T(6) | T(0x20)},
	[MEMBER_PARENT] = {3, T(2) | T(1) | T(0x1a) | T(6) | T(0x1b)},
	[HAS_SEMANTICS] = {1, T(0x14) | T(0x17)},
	[METHOD_DEF_OR_REF] = {1, T(6) | T(10)},
	[MEMBER_FORWARDED] = {1, T(4) | T(6)},
	[IMPLEMENTATION] = {2, T(0x26) | T(0x23) | T(0x27)},
	[ATTRIBUTE_TYPE] = {3, T(6) | T(10)},
	[RESOLUTION_SCOPE] = {2, T(0) | T(0x1a) | T(0x23) | T(1)},
#undef T
};

#define STRING COLUMN_STRING
#define GUID COLUMN_GUID
#define BLOB COLUMN_BLOB
#define ROW(table) (COLUMN_ROW + (table))
#define CODED(coding) (COLUMN_CODED + (coding))

/* Up to the last table that is read; II.22. */
static const uint8_t columns[TABLE_NESTED + 1][10] = {
	[0x00] = {2, STRING, GUID, GUID, GUID},
	[0x01] = {CODED(RESOLUTION_SCOPE), STRING, STRING},
	[0x02] = {4, STRING, STRING, CODED(TYPE_DEF_OR_REF), ROW(4), ROW(6)},
	[0x03] = {ROW(4)},
	[0x04] = {2, STRING, BLOB},
	[0x05] = {ROW(6)},
	[0x06] = {4, 2, 2, STRING, BLOB, ROW(8)},
	[0x07] = {ROW(8)},
	[0x08] = {2, 2, STRING},
	[0x09] = {ROW(2), CODED(TYPE_DEF_OR_REF)},
	[0x0a] = {CODED(MEMBER_PARENT), STRING, BLOB},
	[0x0b] = {2, CODED(HAS_CONSTANT), BLOB},
	[0x0c] = {CODED(HAS_ATTRIBUTE), CODED(ATTRIBUTE_TYPE), BLOB},
	[0x0d] = {CODED(HAS_MARSHAL), BLOB},
	[0x0e] = {2, CODED(HAS_SECURITY), BLOB},
	[0x0f] = {2, 4, ROW(2)},
	[0x10] = {4, ROW(4)},
	[0x11] = {BLOB},
	[0x12] = {ROW(2), ROW(0x14)},
	[0x13] = {ROW(0x14)},
	[0x14] = {2, STRING, CODED(TYPE_DEF_OR_REF)},
	[0x15] = {ROW(2), ROW(0x17)},
	[0x16] = {ROW(0x17)},
	[0x17] = {2, STRING, BLOB},
	[0x18] = {2, ROW(6), CODED(HAS_SEMANTICS)},
	[0x19] = {ROW(2), CODED(METHOD_DEF_OR_REF), CODED(METHOD_DEF_OR_REF)},
	[0x1a] = {STRING},
	[0x1b] = {BLOB},
	[0x1c] = {2, CODED(MEMBER_FORWARDED), STRING, ROW(0x1a)},
	[0x1d] = {4, ROW(4)},
	[0x1e] = {4, 4},
	[0x1f] = {4},
	[0x20] = {4, 4, 4, 4, BLOB, STRING, STRING},
	[0x21] = {4},
	[0x22] = {4, 4, 4},
	[0x23] = {4, 4, 4, BLOB, STRING, STRING, BLOB},
	[0x24] = {4, ROW(0x23)},
	[0x25] = {4, 4, 4, ROW(0x23)},
	[0x26] = {4, STRING, BLOB},
	[0x27] = {4, 4, STRING, STRING, CODED(IMPLEMENTATION)},
	[0x28] = {4, 4, STRING, CODED(IMPLEMENTATION)},
	[0x29] = {ROW(2), ROW(2)},
};

static uint32_t half(struct dotnet *dotnet, uint64_t address, size_t bytes)
{
	uint32_t number = 0;

	return target_read(dotnet->memory, address, &number, bytes) ? 0 : number;
}

/* Returns the address of data in an image laid out as in its file. */
static uint64_t flat_address(struct dotnet *dotnet, uint64_t base, uint64_t header, uint32_t place)
{
	uint32_t sections = half(dotnet, header + 6, 2);
	uint64_t section = header + 24 + half(dotnet, header + 20, 2);

	for (uint32_t i = 0; i < MIN(sections, (uint32_t)SECTIONS_MAX); i++, section += 40) {
		uint32_t start = half(dotnet, section + 12, 4);
		uint32_t size = half(dotnet, section + 16, 4);

		if (place >= start && place - start < size)
			return base + half(dotnet, section + 20, 4) + (place - start);
	}
	return 0;
}

/* Returns the metadata of the image at `base`; 0: none. */
static uint64_t find_metadata(struct dotnet *dotnet, uint64_t base)
{
	uint64_t header = base + half(dotnet, base + 60, 4), optional = header + 24;
	uint64_t directory = optional + (half(dotnet, optional, 2) == 0x20b ? 112 : 96) + 14 * 8;
	uint32_t place = half(dotnet, directory, 4);

	if (half(dotnet, base, 2) != 0x5a4d || half(dotnet, header, 4) != 0x4550 || !place)
		return 0;
	for (int flat = 0; flat < 2; flat++) {
		uint64_t head = flat ? flat_address(dotnet, base, header, place) : base + place;
		uint32_t metadata = half(dotnet, head + 8, 4);
		uint64_t found =
			flat ? flat_address(dotnet, base, header, metadata) : base + metadata;

		if (metadata && found && half(dotnet, found, 4) == METADATA_MAGIC)
			return found;
	}
	return 0;
}

struct heaps_width {
	uint8_t string, guid, blob;
};

static uint32_t column_bytes(const uint32_t *rows, struct heaps_width width, uint8_t column)
{
	uint32_t most = 0;

	switch (column) {
	case COLUMN_STRING:
		return width.string;
	case COLUMN_GUID:
		return width.guid;
	case COLUMN_BLOB:
		return width.blob;
	}
	if (column < COLUMN_ROW)
		return column;
	if (column < COLUMN_CODED)
		return rows[column - COLUMN_ROW] < 1u << 16 ? 2 : 4;
	for (size_t i = 0; i < METADATA_TABLES; i++) {
		if (codings[column - COLUMN_CODED].tables >> i & 1)
			most = MAX(most, rows[i]);
	}
	return most < 1u << (16 - codings[column - COLUMN_CODED].bits) ? 2 : 4;
}

/* Reads the stream "#~": the tables' numbers of rows, and addresses. */
static bool read_tables(struct dotnet *dotnet, uint64_t stream, struct dotnet_metadata *metadata)
{
	uint32_t heaps = half(dotnet, stream + 6, 1);
	struct heaps_width width = {heaps & 1 ? 4 : 2, heaps & 2 ? 4 : 2, heaps & 4 ? 4 : 2};
	uint64_t valid = target_word(dotnet->memory, stream + 8), at = stream + 24;

	for (size_t i = 0; i < 64; i++) {
		uint32_t count = valid >> i & 1 ? half(dotnet, at, 4) : 0;

		at += valid >> i & 1 ? 4 : 0;
		if (i < METADATA_TABLES)
			metadata->rows[i] = count & 0xffffff;
	}
	metadata->wide_strings = heaps & 1;
	/* An extra word (ECMA-335 does not have it; "#-" streams do). */
	at += heaps & 0x40 ? 4 : 0;
	for (size_t i = 0; i <= TABLE_NESTED; i++) {
		uint32_t bytes = 0;

		for (size_t j = 0; j < sizeof(columns[i]) && columns[i][j]; j++)
			bytes += column_bytes(metadata->rows, width, columns[i][j]);
		metadata->tables[i] = at;
		metadata->row_bytes[i] = bytes;
		at += (uint64_t)bytes * metadata->rows[i];
	}
	return at - stream < METADATA_BYTES_MAX;
}

/* Finds the streams of metadata. */
static void read_streams(struct dotnet *dotnet, uint64_t start, struct dotnet_metadata *metadata)
{
	uint64_t at = start + 16 + (half(dotnet, start + 12, 4) & 0xff);
	uint32_t streams = half(dotnet, at + 2, 2);
	uint64_t tables = 0, strings = 0;

	at += 4;
	for (uint32_t i = 0; i < MIN(streams, (uint32_t)STREAMS_MAX); i++) {
		uint64_t place = start + half(dotnet, at, 4);
		uint32_t size = half(dotnet, at + 4, 4);
		char name[33] = "";

		for (size_t j = 0; j < 32 && (!j || name[j - 1]); j++)
			name[j] = (char)half(dotnet, at + 8 + j, 1);
		if (!strcmp(name, "#~") || !strcmp(name, "#-"))
			tables = place;
		if (!strcmp(name, "#Strings") && size < METADATA_BYTES_MAX) {
			strings = place;
			metadata->strings_size = size;
		}
		at += 8 + (strlen(name) + 4) / 4 * 4;
	}
	if (tables && strings && read_tables(dotnet, tables, metadata))
		metadata->strings = strings;
}

static void read_metadata(struct dotnet *dotnet, uint64_t module, struct dotnet_metadata *metadata)
{
	uint64_t base = dotnet_image(dotnet->memory, &dotnet->layout, module);
	uint64_t dynamic =
		dotnet->layout.module_dynamic
			? target_word(dotnet->memory, module + dotnet->layout.module_dynamic)
			: 0;
	uint64_t start = 0;

	metadata->module = module;
	if (dynamic)
		start = dynamic + dotnet->layout.dynamic_data;
	else if (base)
		start = find_metadata(dotnet, base);
	if (start && half(dotnet, start, 4) == METADATA_MAGIC)
		read_streams(dotnet, start, metadata);
}

const struct dotnet_metadata *dotnet_metadata_of(struct dotnet *dotnet, uint64_t module)
{
	uint64_t *place = hash_get(&dotnet->metadata_index, module);
	struct dotnet_metadata *metadata;

	if (!place && dotnet->metadata.count < MODULES_MAX)
		place = hash_put(&dotnet->metadata_index, module, NULL);
	if (!place)
		return NULL;
	if (!*place) {
		metadata = vec_push(&dotnet->metadata);
		if (!metadata)
			return NULL;
		*place = dotnet->metadata.count;
		read_metadata(dotnet, module, metadata);
	}
	metadata = &dotnet->metadata.items[*place - 1];
	return metadata->strings ? metadata : NULL;
}

static void read_string(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			uint64_t column, char *text, size_t size)
{
	uint32_t place = half(dotnet, column, metadata->wide_strings ? 4 : 2);
	uint64_t left = metadata->strings_size - MIN(place, metadata->strings_size);
	size_t length = 0;

	while (length + 1 < size && length < left) {
		uint64_t at = metadata->strings + place + length;
		size_t piece =
			(size_t)MIN(MIN(size - 1, left) - length, MEMORY_PAGE - at % MEMORY_PAGE);
		const char *end;

		if (target_read(dotnet->memory, at, text + length, piece))
			break;
		end = memchr(text + length, '\0', piece);
		length = end ? (size_t)(end - text) : length + piece;
		if (end)
			break;
	}
	text[length] = '\0';
}

/* Returns the enclosing type of a nested one, by which the table is sorted (II.22). */
static uint32_t find_enclosing(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			       uint32_t row)
{
	uint32_t low = 0, high = metadata->rows[TABLE_NESTED];
	uint32_t bytes = metadata->row_bytes[TABLE_NESTED];

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;
		uint64_t at = metadata->tables[TABLE_NESTED] + (uint64_t)middle * bytes;
		uint32_t nested = half(dotnet, at, bytes / 2);

		if (nested == row)
			return half(dotnet, at + bytes / 2, bytes / 2);
		if (nested < row)
			low = middle + 1;
		else
			high = middle;
	}
	return 0;
}

bool dotnet_metadata_type(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			  uint32_t row, struct dotnet_type_row *type)
{
	uint64_t at;

	if (!row || row > metadata->rows[TABLE_TYPE])
		return false;
	at = metadata->tables[TABLE_TYPE] + (uint64_t)(row - 1) * metadata->row_bytes[TABLE_TYPE];
	read_string(dotnet, metadata, at + 4, type->name, sizeof(type->name));
	read_string(dotnet, metadata, at + 4 + (metadata->wide_strings ? 4 : 2), type->space,
		    sizeof(type->space));
	type->enclosing = find_enclosing(dotnet, metadata, row);
	return type->name[0];
}

bool dotnet_metadata_field(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			   uint32_t row, char name[DOTNET_NAME_BYTES])
{
	if (!row || row > metadata->rows[TABLE_FIELD])
		return false;
	read_string(dotnet, metadata,
		    metadata->tables[TABLE_FIELD] +
			    (uint64_t)(row - 1) * metadata->row_bytes[TABLE_FIELD] + 2,
		    name, DOTNET_NAME_BYTES / 2);
	return name[0];
}

/* Returns the first method of the type with this row number: the last column (II.22.37). */
static uint32_t first_method(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			     uint32_t type)
{
	uint32_t bytes = metadata->rows[TABLE_METHOD] < 1u << 16 ? 2 : 4;

	if (type > metadata->rows[TABLE_TYPE])
		return metadata->rows[TABLE_METHOD] + 1;
	return half(dotnet,
		    metadata->tables[TABLE_TYPE] +
			    (uint64_t)type * metadata->row_bytes[TABLE_TYPE] - bytes,
		    bytes);
}

bool dotnet_metadata_method(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
			    uint32_t type, uint32_t row, char name[DOTNET_NAME_BYTES])
{
	if (!type || type > metadata->rows[TABLE_TYPE] || !row ||
	    row > metadata->rows[TABLE_METHOD] || metadata->rows[TABLE_METHOD_POINTER] ||
	    row < first_method(dotnet, metadata, type) ||
	    row >= first_method(dotnet, metadata, type + 1))
		return false;
	read_string(dotnet, metadata,
		    metadata->tables[TABLE_METHOD] +
			    (uint64_t)(row - 1) * metadata->row_bytes[TABLE_METHOD] + 8,
		    name, DOTNET_NAME_BYTES);
	return name[0];
}

uint32_t dotnet_metadata_type_of(struct dotnet *dotnet, const struct dotnet_metadata *metadata,
				 uint32_t method)
{
	uint32_t low = 0, high = metadata->rows[TABLE_TYPE];

	/* Find the last type whose first method is not behind it. */
	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (first_method(dotnet, metadata, middle + 1) <= method)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
