// SPDX-License-Identifier: GPL-2.0-or-later
/* Method tables: recognising their addresses, and writing a type's name as in C#. */
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/runtime/dotnet/dotnet.h"

#define TYPE_IS_NONE UINT32_MAX
#define TYPES_MIN (1u << 18)
#define BYTES_PER_TYPE 256   /* lower bound of the runtime's own bytes per type */
#define WORDS_MAX (1u << 22) /* most addresses remembered as not being types */
#define TABLE_BYTES 56
#define BASE_BYTES_MAX (1u << 26)
#define CANONICAL 1ull /* tag of MethodTable.class: points to the table with the class */
#define NAME_DEPTH 6
#define NESTING_MAX 16
#define ARGUMENTS_MAX 32

/* Tag of a TypeHandle for a TypeDesc, whose low byte is one of these. */
#define HANDLE_DESC 2ull
#define DESC_ARGUMENT 16 /* ParamTypeDesc.TypeArg */
#define ELEMENT_POINTER 0x0f
#define ELEMENT_REFERENCE 0x10

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static bool may_be_table(uint64_t address)
{
	return address >= MEMORY_PAGE && !(address & 7) && !(address >> MACHINE_USER_BITS);
}

/* Returns the EEClass of a table or its canonical one, to which it leads back; 0: none. */
static uint64_t find_class(struct dotnet *dotnet, uint64_t table, uint64_t class)
{
	const struct dotnet_layout *layout = &dotnet->layout;

	if (class & CANONICAL) {
		table = class & ~CANONICAL;
		class = target_word(dotnet->memory, table + layout->table_class);
	}
	if (!may_be_table(class) ||
	    target_word(dotnet->memory, class + layout->class_table) != table)
		return 0;
	return class;
}

/* Reads a type; returns false if it is none. */
static bool read_type(struct dotnet *dotnet, uint64_t address, struct dotnet_type *type)
{
	const struct dotnet_layout *layout = &dotnet->layout;
	unsigned char bytes[TABLE_BYTES];

	if (!may_be_table(address) || target_read(dotnet->memory, address, bytes, sizeof(bytes)))
		return false;
	*type = (struct dotnet_type){
		.address = address,
		.flags = (uint32_t)word_at(bytes, layout->table_flags),
		.base_size = (uint32_t)word_at(bytes, layout->table_base_size),
		.class = UINT32_MAX,
		.is_free = address == dotnet->variables.free_table,
	};
	if (type->base_size > BASE_BYTES_MAX)
		return false;
	type->class_address = find_class(dotnet, address, word_at(bytes, layout->table_class));
	return type->class_address || type->is_free;
}

/* Adds a type; NULL: no room for it, in the process or here. */
static struct dotnet_type *add_type(struct dotnet *dotnet, const struct dotnet_type *type)
{
	struct dotnet_type *added;
	uint64_t *place;

	if (dotnet->types.count >= TYPES_MIN + dotnet->memory->occupied / BYTES_PER_TYPE) {
		target_memory_exhaust(dotnet->memory);
		return NULL;
	}
	added = vec_push(&dotnet->types);
	place = added ? hash_put(&dotnet->type_index, type->address, NULL) : NULL;
	if (!place)
		return NULL;
	*added = *type;
	*place = dotnet->types.count;
	return added;
}

struct dotnet_type *dotnet_type_at(struct dotnet *dotnet, uint64_t address)
{
	uint64_t *place = hash_get(&dotnet->type_index, address);
	struct dotnet_type type;

	if (place)
		return *place == TYPE_IS_NONE ? NULL : &dotnet->types.items[*place - 1];
	if (read_type(dotnet, address, &type))
		return add_type(dotnet, &type);
	place = dotnet->type_index.count < dotnet->types.count + WORDS_MAX
			? hash_put(&dotnet->type_index, address, NULL)
			: NULL;
	if (place)
		*place = TYPE_IS_NONE;
	return NULL;
}

uint64_t dotnet_type_module(struct dotnet *dotnet, uint64_t table)
{
	return dotnet->layout.version == 8
		       ? dotnet_8_module(dotnet, table)
		       : target_word(dotnet->memory, table + dotnet->layout.table_module);
}

uint32_t dotnet_type_row(struct dotnet *dotnet, uint64_t table)
{
	uint64_t flags2 = target_word(dotnet->memory, table + dotnet->layout.table_flags2);

	return dotnet->layout.version == 8 ? dotnet_8_token(flags2) : (uint32_t)flags2 >> 8;
}

/* Text, cut if too long. */
struct writer {
	struct dotnet *dotnet;
	char *text;
	size_t length, size;
	uint32_t depth;
};

static void put(struct writer *writer, const char *text)
{
	size_t length = strlen(text), room = writer->size - 1 - writer->length;

	length = MIN(length, room);
	memcpy(writer->text + writer->length, text, length);
	writer->length += length;
	writer->text[writer->length] = '\0';
}

static void put_handle(struct writer *writer, uint64_t handle);

/* Reads the type arguments of an instance: PerInstInfo points behind their number. */
static uint32_t read_arguments(struct dotnet *dotnet, const struct dotnet_type *type,
			       uint64_t arguments[ARGUMENTS_MAX])
{
	uint64_t instance, counts, list;
	uint32_t dictionaries, count;

	if (!(type->flags & TABLE_GENERICS) || type->flags & TABLE_COMPONENTS)
		return 0;
	instance = target_word(dotnet->memory, type->address + dotnet->layout.table_instance);
	counts = target_word(dotnet->memory, instance - 8);
	dictionaries = counts >> 32 & 0xffff;
	count = (uint32_t)(counts >> 48);
	if (!instance || !dictionaries || count > ARGUMENTS_MAX)
		return 0;
	list = target_word(dotnet->memory, instance + (dictionaries - 1) * 8ull);
	if (!list || target_read(dotnet->memory, list, arguments, count * sizeof(*arguments)))
		return 0;
	return count;
}

/* Writes "Name`2" as Name, with up to that many of the remaining arguments. */
static void put_generic(struct writer *writer, char *name, const uint64_t *arguments,
			uint32_t count, uint32_t *used)
{
	char *tick = strrchr(name, '`');
	unsigned arity = 0;

	if (tick && sscanf(tick, "`%3u", &arity) == 1)
		*tick = '\0';
	put(writer, name);
	arity = MIN(arity, count - *used);
	for (unsigned i = 0; i < arity; i++) {
		put(writer, i ? ", " : "<");
		put_handle(writer, arguments[(*used)++]);
	}
	if (arity)
		put(writer, ">");
}

/* Writes a type and its enclosing types, outermost first. */
static void put_nested(struct writer *writer, const struct dotnet_metadata *metadata, uint32_t row,
		       const uint64_t *arguments, uint32_t count)
{
	struct dotnet_type_row type;
	uint32_t rows[NESTING_MAX], depth = 0, used = 0;

	while (row && depth < NESTING_MAX &&
	       dotnet_metadata_type(writer->dotnet, metadata, row, &type)) {
		rows[depth++] = row;
		row = type.enclosing;
	}
	for (uint32_t i = depth; i-- > 0;) {
		if (!dotnet_metadata_type(writer->dotnet, metadata, rows[i], &type))
			return;
		if (i == depth - 1 && type.space[0]) {
			put(writer, type.space);
			put(writer, ".");
		}
		put_generic(writer, type.name, arguments, count, &used);
		if (i)
			put(writer, ".");
	}
}

static void put_table(struct writer *writer, const struct dotnet_type *type)
{
	struct dotnet *dotnet = writer->dotnet;
	const struct dotnet_metadata *metadata =
		dotnet_metadata_of(dotnet, dotnet_type_module(dotnet, type->address));
	uint64_t arguments[ARGUMENTS_MAX];
	uint32_t count = read_arguments(dotnet, type, arguments);
	size_t before = writer->length;

	if (metadata)
		put_nested(writer, metadata, dotnet_type_row(dotnet, type->address), arguments,
			   count);
	if (writer->length == before)
		put(writer, "type without a name");
}

static void put_array(struct writer *writer, const struct dotnet_type *type)
{
	struct dotnet *dotnet = writer->dotnet;
	uint32_t rank = 1;

	put_handle(writer,
		   target_word(dotnet->memory, type->address + dotnet->layout.table_instance));
	if (!(type->flags & TABLE_VECTOR))
		rank = target_word(dotnet->memory,
				   type->class_address + dotnet->layout.class_rank) &
		       0xff;
	put(writer, "[");
	for (uint32_t i = 1; i < MIN(rank, 32u); i++)
		put(writer, ",");
	put(writer, "]");
}

static void put_desc(struct writer *writer, uint64_t desc)
{
	struct target_memory *memory = writer->dotnet->memory;
	unsigned kind = target_word(memory, desc) & 0xff;

	if (kind != ELEMENT_POINTER && kind != ELEMENT_REFERENCE) {
		put(writer, "?");
		return;
	}
	put_handle(writer, target_word(memory, desc + DESC_ARGUMENT));
	put(writer, kind == ELEMENT_POINTER ? "*" : "&");
}

static void put_handle(struct writer *writer, uint64_t handle)
{
	const struct dotnet_type *found;
	struct dotnet_type type;

	if (writer->length + 1 >= writer->size)
		return;
	if (writer->depth >= NAME_DEPTH) {
		put(writer, "…");
		return;
	}
	writer->depth++;
	found = handle & HANDLE_DESC ? NULL : dotnet_type_at(writer->dotnet, handle);
	if (found) {
		/* Its arguments may be new types: the list may be reallocated. */
		type = *found;
		if ((type.flags & TABLE_ARRAY_MASK) == TABLE_ARRAY)
			put_array(writer, &type);
		else
			put_table(writer, &type);
	} else if (handle & HANDLE_DESC) {
		put_desc(writer, handle & ~HANDLE_DESC);
	} else {
		put(writer, "?");
	}
	writer->depth--;
}

void dotnet_type_name(struct dotnet *dotnet, uint64_t handle, char name[DOTNET_NAME_BYTES])
{
	struct writer writer = {.dotnet = dotnet, .text = name, .size = DOTNET_NAME_BYTES};

	name[0] = '\0';
	put_handle(&writer, handle);
}

void dotnet_row_name(struct dotnet *dotnet, uint64_t module, uint32_t row,
		     char name[DOTNET_NAME_BYTES])
{
	struct writer writer = {.dotnet = dotnet, .text = name, .size = DOTNET_NAME_BYTES};
	const struct dotnet_metadata *metadata = dotnet_metadata_of(dotnet, module);

	name[0] = '\0';
	if (metadata)
		put_nested(&writer, metadata, row, NULL, 0);
}

/* The field of a property is named "<Name>k__BackingField". */
void dotnet_field_name(struct dotnet *dotnet, uint64_t module, uint64_t field,
		       char name[DOTNET_NAME_BYTES])
{
	const struct dotnet_metadata *metadata = dotnet_metadata_of(dotnet, module);
	uint32_t token =
		dotnet->layout.version == 8 ? dotnet_8_field_token(field) : FIELD_TOKEN(field);
	char *end;

	name[0] = '\0';
	if (!metadata || !dotnet_metadata_field(dotnet, metadata, token, name)) {
		name[0] = '\0';
		return;
	}
	end = strstr(name, ">k__BackingField");
	if (name[0] == '<' && end) {
		*end = '\0';
		memmove(name, name + 1, strlen(name));
	}
}
