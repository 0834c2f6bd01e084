// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Slots of Ruby's heap pages, and what their words mean: strings, arrays, symbols, tables, names of
 * classes and of instance variables.
 */
#include "heap/runtime/ruby/ruby.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"

#define SUPERCLASSES_MAX 64
#define ELEMENTS_MAX (1ull << 32)
#define TABLE_POWER_MAX 40
#define ID_TABLE_MAX (1u << 24)
#define ID_TABLE_ITEM 16
#define VARIABLES_MAX 4096

/* id.h: tLAST_OP_ID; symbol.c: ID_ENTRY_UNIT, ID_ENTRY_SIZE. */
#define LAST_OPERATOR 170
#define IDS_PER_ARRAY 512
#define ID_WORDS 2
#define STATIC_SYMBOL 0x0c
#define SYMBOL_SHIFT 8

/* RString, RArray */
#define STRING_LENGTH 16
#define STRING_POINTER 24
#define ARRAY_POINTER 32
#define SLOT_HEAD 16

/* RTypedData */
#define DATA_TYPE 16
#define DATA_FLAG 24
#define DATA_ADDRESS 32
#define DATA_EMBEDDED 2

/* st.h: struct st_table */
#define TABLE_POWER 0
#define TABLE_BINS 24
#define TABLE_FIRST 32
#define TABLE_BOUND 40
#define TABLE_ENTRIES 48
#define TABLE_DELETED UINT64_MAX

/* RClass; struct rb_classext_struct of 3.1, and of 3.3, which is in the slot. */
#define CLASS_SUPER 16
#define CLASS_EXTENSION 24
#define EXTENSION_IN_SLOT 32
#define EXTENSION_IV_INDEX 0
#define EXTENSION_IV_TABLE 8
#define EXTENSION_CONSTANTS 24
#define SLOT_VARIABLES 0
#define SLOT_CONSTANTS 8
#define SLOT_CLASSPATH 120
#define CONSTANT_VALUE 8

/* shape.h: struct rb_shape */
#define SHAPE_BYTES 40
#define SHAPE_EDGE 8
#define SHAPE_NEXT_INDEX 16
#define SHAPE_TYPE 24
#define SHAPE_PARENT 28
#define SHAPE_IS_VARIABLE 1
#define SHAPE_IS_COMPLEX 4

/* Slots. */

static const struct ruby_page *page_of(const struct ruby *ruby, uint64_t value)
{
	uint64_t body = value & ~(uint64_t)(ruby->layout->page_bytes - 1);
	size_t at = SORTED_BEFORE(page, ruby->pages.items, ruby->pages.count, page->body < body);

	return at < ruby->pages.count && ruby->pages.items[at].body == body ? &ruby->pages.items[at]
									    : NULL;
}

bool ruby_object(const struct ruby *ruby, uint64_t value, uint64_t *flags)
{
	const struct ruby_page *page = value % 8 ? NULL : page_of(ruby, value);
	uint64_t offset;

	if (!page || value < page->first)
		return false;
	offset = value - page->first;
	if (offset % page->slot_bytes || offset / page->slot_bytes >= page->slots)
		return false;
	*flags = target_word(ruby->memory, value);
	return RUBY_TYPE(*flags) != RUBY_NONE && RUBY_TYPE(*flags) < RUBY_ZOMBIE;
}

bool ruby_is_type(const struct ruby *ruby, uint64_t value, enum ruby_type type)
{
	uint64_t flags;

	return ruby_object(ruby, value, &flags) && RUBY_TYPE(flags) == type;
}

bool ruby_array(const struct ruby *ruby, uint64_t array, uint64_t *items, uint64_t *count)
{
	uint64_t flags;

	if (!ruby_object(ruby, array, &flags) || RUBY_TYPE(flags) != RUBY_ARRAY)
		return false;
	if (flags & RUBY_USER(1)) {
		*items = array + SLOT_HEAD;
		*count = RUBY_BITS(flags, 3, ruby->layout->shapes ? 7 : 2);
		return true;
	}
	*items = target_word(ruby->memory, array + ARRAY_POINTER);
	*count = target_word(ruby->memory, array + SLOT_HEAD);
	return *count < ELEMENTS_MAX;
}

static uint64_t array_at(const struct ruby *ruby, uint64_t array, uint64_t i)
{
	uint64_t items, count;

	return ruby_array(ruby, array, &items, &count) && i < count
		       ? target_word(ruby->memory, items + i * 8)
		       : 0;
}

bool ruby_text(const struct ruby *ruby, uint64_t string, char *text, size_t size)
{
	uint64_t flags, length, place;

	if (!ruby_object(ruby, string, &flags) || RUBY_TYPE(flags) != RUBY_STRING)
		return false;
	length = target_word(ruby->memory, string + STRING_LENGTH);
	place = string + STRING_POINTER;
	if (flags & RUBY_USER(1)) {
		place = target_word(ruby->memory, place);
	} else if (!ruby->layout->shapes) {
		/* The length is in the flags: RSTRING_EMBED_LEN_MASK. */
		length = RUBY_BITS(flags, 2, 5);
		place = string + SLOT_HEAD;
	}
	if (!length || length >= size || target_read(ruby->memory, place, text, length))
		return false;
	text[length] = '\0';
	return strlen(text) == length;
}

/* Symbols. */

bool ruby_serial_name(const struct ruby *ruby, uint64_t serial, char name[RUBY_NAME_BYTES])
{
	uint64_t names = array_at(ruby, ruby->ids, serial / IDS_PER_ARRAY);

	if (!serial || serial > ruby->last_serial)
		return false;
	return ruby_text(ruby, array_at(ruby, names, serial % IDS_PER_ARRAY * ID_WORDS), name,
			 RUBY_NAME_BYTES);
}

bool ruby_id_name(const struct ruby *ruby, uint64_t id, char name[RUBY_NAME_BYTES])
{
	return ruby_serial_name(ruby, id > LAST_OPERATOR ? id >> 4 : id, name);
}

uint64_t ruby_symbol_id(uint64_t value)
{
	return (value & ((1u << SYMBOL_SHIFT) - 1)) == STATIC_SYMBOL ? value >> SYMBOL_SHIFT : 0;
}

/* Tables. */

bool ruby_table_open(const struct ruby *ruby, uint64_t address, struct ruby_table *table)
{
	uint64_t words[(TABLE_ENTRIES + 8) / 8];

	if (!address || address % 8 || target_read(ruby->memory, address, words, sizeof(words)))
		return false;
	*table = (struct ruby_table){.entries = words[TABLE_ENTRIES / 8],
				     .bins = words[TABLE_BINS / 8],
				     .first = words[TABLE_FIRST / 8],
				     .bound = words[TABLE_BOUND / 8],
				     .entry_power = words[TABLE_POWER] & 0xff};
	if (table->entry_power >= TABLE_POWER_MAX || table->first > table->bound ||
	    table->bound > 1ull << table->entry_power || table->entries % 8)
		return false;
	/* No more than can be there. */
	table->bound = target_room(ruby->memory, table->entries, table->bound * RUBY_TABLE_ENTRY) /
		       RUBY_TABLE_ENTRY;
	return true;
}

bool ruby_table_entry(const struct ruby *ruby, const struct ruby_table *table, uint64_t i,
		      uint64_t *key, uint64_t *value)
{
	uint64_t entry[RUBY_TABLE_ENTRY / 8];

	if (target_read(ruby->memory, table->entries + i * RUBY_TABLE_ENTRY, entry,
			sizeof(entry)) ||
	    entry[0] == TABLE_DELETED)
		return false;
	*key = entry[1];
	*value = entry[2];
	return true;
}

bool ruby_id_table_open(const struct ruby *ruby, uint64_t address, struct ruby_id_table *table)
{
	uint32_t head[4];

	if (!address || address % 8 || target_read(ruby->memory, address, head, sizeof(head)))
		return false;
	*table = (struct ruby_id_table){.items = target_word(ruby->memory, address + 16),
					.capacity = head[0],
					.count = head[1]};
	if (table->capacity > ID_TABLE_MAX || table->capacity & (table->capacity - 1) ||
	    table->count > table->capacity || table->items % 8)
		return false;
	table->capacity = target_room(ruby->memory, table->items, table->capacity * ID_TABLE_ITEM) /
			  ID_TABLE_ITEM;
	return true;
}

/* id_table.c: item_t */
bool ruby_id_table_item(const struct ruby *ruby, const struct ruby_id_table *table, uint64_t i,
			uint64_t *serial, uint64_t *value)
{
	uint64_t item[2];

	if (target_read(ruby->memory, table->items + i * sizeof(item), item, sizeof(item)))
		return false;
	*serial = (uint32_t)item[0];
	*value = item[1];
	return *serial != 0;
}

/* Classes. */

uint64_t ruby_real_class(const struct ruby *ruby, uint64_t class)
{
	uint64_t flags;

	for (int i = 0; i < SUPERCLASSES_MAX && ruby_object(ruby, class, &flags); i++) {
		bool hidden = RUBY_TYPE(flags) == RUBY_ICLASS ||
			      (RUBY_TYPE(flags) == RUBY_CLASS && flags & ruby->layout->singleton);

		if (!hidden)
			return RUBY_TYPE(flags) == RUBY_CLASS || RUBY_TYPE(flags) == RUBY_MODULE
				       ? class
				       : 0;
		class = target_word(ruby->memory, class + CLASS_SUPER);
	}
	return 0;
}

uint64_t ruby_class_extension(const struct ruby *ruby, uint64_t class)
{
	return ruby->layout->shapes ? class + EXTENSION_IN_SLOT
				    : target_word(ruby->memory, class + CLASS_EXTENSION);
}

/* 3.1: an instance variable of the class. */
static uint64_t find_classpath(struct ruby *ruby, uint64_t class)
{
	uint64_t extension = ruby_class_extension(ruby, class), key, value;
	struct ruby_table table;
	char name[RUBY_NAME_BYTES];

	if (!ruby_table_open(ruby, target_word(ruby->memory, extension + EXTENSION_IV_TABLE),
			     &table))
		return 0;
	for (uint64_t i = table.first; i < MIN(table.bound, (uint64_t)VARIABLES_MAX); i++) {
		if (!ruby_table_entry(ruby, &table, i, &key, &value))
			continue;
		if (key == ruby->classpath_id)
			return value;
		if (ruby->classpath_id || !ruby_id_name(ruby, key, name) ||
		    strcmp(name, "__classpath__") != 0)
			continue;
		ruby->classpath_id = key;
		return value;
	}
	return 0;
}

bool ruby_class_path(struct ruby *ruby, uint64_t class, char name[RUBY_NAME_BYTES])
{
	uint64_t path =
		ruby->layout->shapes
			? target_word(ruby->memory, class + EXTENSION_IN_SLOT + SLOT_CLASSPATH)
			: find_classpath(ruby, class);

	return ruby_text(ruby, path, name, RUBY_NAME_BYTES) && name[0] != '#';
}

uint64_t ruby_data_address(const struct ruby *ruby, uint64_t object)
{
	uint64_t flag = target_word(ruby->memory, object + DATA_FLAG);

	if (ruby->layout->shapes && flag & DATA_EMBEDDED && flag <= 3)
		return object + DATA_ADDRESS;
	return target_word(ruby->memory, object + DATA_ADDRESS);
}

static enum ruby_data kind_by_name(const char *name)
{
	static const struct {
		const char *name;
		enum ruby_data kind;
	} kinds[] = {
		{"proc", DATA_PROC},   {"binding", DATA_PROC},	   {"VM/thread", DATA_THREAD},
		{"fiber", DATA_FIBER}, {"weakmap", DATA_WEAK_MAP}, {"weakkeymap", DATA_WEAK_KEYS},
	};

	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		if (!strcmp(name, kinds[i].name))
			return kinds[i].kind;
	}
	return DATA_OTHER;
}

enum ruby_data ruby_data_kind(struct ruby *ruby, uint64_t object)
{
	uint64_t flag = target_word(ruby->memory, object + DATA_FLAG), type, *known;
	char name[16] = "";

	if (!flag || flag > 3)
		return DATA_OTHER;
	type = target_word(ruby->memory, object + DATA_TYPE);
	known = hash_put(&ruby->data_kinds, type, NULL);
	if (!known)
		return DATA_OTHER;
	if (!*known) {
		uint64_t text = target_word(ruby->memory, type);

		/* Names may end where a file does. */
		for (size_t i = 0; i + 1 < sizeof(name); i++) {
			if (target_read(ruby->memory, text + i, &name[i], 1) || !name[i])
				break;
		}
		*known = kind_by_name(name);
	}
	return (enum ruby_data) * known;
}

/* Instance variables. */

static int add_label(struct ruby *ruby, uint32_t label)
{
	uint32_t *added = vec_push(&ruby->labels);

	if (!added)
		return -ENOMEM;
	*added = label;
	return 0;
}

/* Room for `count` labels, as vec_push() gives it. */
static uint32_t *make_labels(struct ruby *ruby, uint64_t *known, uint32_t count)
{
	size_t at = ruby->labels.count;

	if (add_label(ruby, count))
		return NULL;
	for (uint32_t i = 0; i < count; i++) {
		if (add_label(ruby, 0))
			return NULL;
	}
	*known = at + 1;
	return &ruby->labels.items[at];
}

static uint32_t label_of_id(const struct ruby *ruby, struct heap_sink *sink, uint64_t id)
{
	char name[RUBY_NAME_BYTES];

	return ruby_id_name(ruby, id, name) ? heap_sink_label(sink, LABEL_ATTRIBUTE, name) : 0;
}

/* shape.c: the last shape of a path says how many there are, each one on it has one name. */
static const uint32_t *shape_labels(struct ruby *ruby, struct heap_sink *sink, uint32_t shape,
				    uint64_t *known)
{
	unsigned char bytes[SHAPE_BYTES];
	uint32_t count = 0, *labels = NULL;

	for (uint32_t steps = 0; steps <= VARIABLES_MAX && shape < ruby->shape_count; steps++) {
		uint32_t next, parent;
		uint64_t id;

		if (target_read(ruby->memory, ruby->shape_list + (uint64_t)shape * SHAPE_BYTES,
				bytes, sizeof(bytes)))
			break;
		memcpy(&next, bytes + SHAPE_NEXT_INDEX, sizeof(next));
		memcpy(&parent, bytes + SHAPE_PARENT, sizeof(parent));
		memcpy(&id, bytes + SHAPE_EDGE, sizeof(id));
		if (!labels) {
			if (bytes[SHAPE_TYPE] == SHAPE_IS_COMPLEX || next > VARIABLES_MAX)
				return NULL;
			count = next;
			labels = make_labels(ruby, known, count);
			if (!labels)
				return NULL;
		}
		if (bytes[SHAPE_TYPE] == SHAPE_IS_VARIABLE && next && next <= count)
			labels[next] = label_of_id(ruby, sink, id);
		shape = parent;
	}
	return labels;
}

/* 3.1: class.h, RCLASS_IV_INDEX_TBL: from an ID to an entry that begins with a place. */
static const uint32_t *table_labels(struct ruby *ruby, struct heap_sink *sink, uint64_t class,
				    uint64_t *known)
{
	uint64_t extension = ruby_class_extension(ruby, class), key, value;
	struct ruby_table table;
	uint32_t *labels, count;

	if (!ruby_table_open(ruby, target_word(ruby->memory, extension + EXTENSION_IV_INDEX),
			     &table))
		return NULL;
	count = (uint32_t)MIN(table.bound, (uint64_t)VARIABLES_MAX);
	labels = make_labels(ruby, known, count);
	for (uint64_t i = table.first; labels && i < count; i++) {
		uint64_t place;

		if (!ruby_table_entry(ruby, &table, i, &key, &value))
			continue;
		place = target_word(ruby->memory, value) & UINT32_MAX;
		if (place < count)
			labels[place + 1] = label_of_id(ruby, sink, key);
	}
	return labels;
}

const uint32_t *ruby_variable_labels(struct ruby *ruby, struct heap_sink *sink, uint64_t class,
				     uint64_t flags)
{
	uint64_t key = ruby->layout->shapes ? RUBY_SHAPE(flags) : ruby_real_class(ruby, class);
	uint64_t *known = key ? hash_put(&ruby->shape_labels, key, NULL) : NULL;

	if (!known)
		return NULL;
	if (*known)
		return &ruby->labels.items[*known - 1];
	return ruby->layout->shapes ? shape_labels(ruby, sink, (uint32_t)key, known)
				    : table_labels(ruby, sink, key, known);
}

/* Variables and constants of classes. */

static int visit_table(const struct ruby *ruby, uint64_t address, ruby_visit_variable *visit,
		       void *context)
{
	struct ruby_table table;
	char name[RUBY_NAME_BYTES];
	uint64_t key, value;
	int error = 0;

	if (!ruby_table_open(ruby, address, &table))
		return 0;
	for (uint64_t i = table.first; !error && i < MIN(table.bound, (uint64_t)VARIABLES_MAX);
	     i++) {
		if (ruby_table_entry(ruby, &table, i, &key, &value) &&
		    ruby_id_name(ruby, key, name))
			error = visit(context, name, value);
	}
	return error;
}

static bool read_shape(const struct ruby *ruby, uint32_t shape, unsigned char bytes[SHAPE_BYTES])
{
	return shape < ruby->shape_count &&
	       !target_read(ruby->memory, ruby->shape_list + (uint64_t)shape * SHAPE_BYTES, bytes,
			    SHAPE_BYTES);
}

int ruby_class_variables(struct ruby *ruby, uint64_t class, ruby_visit_variable *visit,
			 void *context)
{
	uint64_t extension = ruby_class_extension(ruby, class), values;
	uint32_t shape = RUBY_SHAPE(target_word(ruby->memory, class));
	unsigned char bytes[SHAPE_BYTES];
	int error = 0;

	if (!ruby->layout->shapes)
		return visit_table(ruby, target_word(ruby->memory, extension + EXTENSION_IV_TABLE),
				   visit, context);
	values = target_word(ruby->memory, extension + SLOT_VARIABLES);
	if (read_shape(ruby, shape, bytes) && bytes[SHAPE_TYPE] == SHAPE_IS_COMPLEX)
		return visit_table(ruby, values, visit, context);
	for (uint32_t i = 0; !error && i < VARIABLES_MAX && read_shape(ruby, shape, bytes); i++) {
		char name[RUBY_NAME_BYTES];
		uint32_t next;
		uint64_t id;

		memcpy(&next, bytes + SHAPE_NEXT_INDEX, sizeof(next));
		memcpy(&id, bytes + SHAPE_EDGE, sizeof(id));
		memcpy(&shape, bytes + SHAPE_PARENT, sizeof(shape));
		if (bytes[SHAPE_TYPE] == SHAPE_IS_VARIABLE && next && next <= VARIABLES_MAX &&
		    ruby_id_name(ruby, id, name))
			error = visit(context, name,
				      target_word(ruby->memory, values + (next - 1) * 8ull));
	}
	return error;
}

int ruby_class_constants(struct ruby *ruby, uint64_t class, ruby_visit_variable *visit,
			 void *context)
{
	uint64_t place = ruby_class_extension(ruby, class) +
			 (ruby->layout->shapes ? SLOT_CONSTANTS : EXTENSION_CONSTANTS);
	struct ruby_id_table table;
	char name[RUBY_NAME_BYTES];
	uint64_t serial, entry;
	int error = 0;

	if (!ruby_id_table_open(ruby, target_word(ruby->memory, place), &table))
		return 0;
	for (uint64_t i = 0; !error && i < table.capacity; i++) {
		if (target_memory_overworked(ruby->memory))
			break;
		if (ruby_id_table_item(ruby, &table, i, &serial, &entry) &&
		    ruby_serial_name(ruby, serial, name))
			error = visit(context, name,
				      target_word(ruby->memory, entry + CONSTANT_VALUE));
	}
	return error;
}
