// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Classes: Klass and InstanceKlass (src/hotspot/share/oops/klass.hpp, instanceKlass.hpp). Every
 * class, arrays too, has java.lang.Object as the first of its superclasses, which proves that it is
 * a class. Fields are in _fields, six numbers of two bytes each (fieldInfo.hpp), or since 21 in a
 * stream of bytes (fieldStreams.hpp, utilities/unsigned5.hpp).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"

#define NOT_CLASSES_MAX (1u << 20)
#define NO_CLASS UINT64_MAX
#define DEPTH_MAX 256
#define DIMENSIONS_MAX 255
#define MAPS_MAX 4096
#define FIELDS_MAX 65535
#define HEADER_BYTES_MAX 32

/* Klass::_layout_helper, from the highest bit on. */
#define LAYOUT_TYPE_ARRAY 3u
/* For an instance: its class gives its size. */
#define LAYOUT_OWN_SIZE 1

/* FieldInfo, before 21, in numbers of two bytes. The offset has a tag of two bits. */
#define FIELD_NUMBERS 6
#define FIELD_ACCESS 0
#define FIELD_NAME 1
#define FIELD_TYPE 2
#define FIELD_LOW 4
#define FIELD_HIGH 5
#define FIELD_TAG_BITS 2
/* Flags of a field, since 21. */
#define FLAG_INITIALIZED 1u
#define FLAG_GENERIC 4u
#define FLAG_CONTENDED 16u

#define ACCESS_STATIC 8u

/* Array<T>: a length of 4 bytes, then items. */
#define ARRAY_ITEMS 4

void hotspot_symbol(struct hotspot *hotspot, uint64_t symbol, char *text, size_t size)
{
	uint16_t length = 0;
	size_t taken;

	text[0] = '\0';
	if (!symbol || symbol & 7 ||
	    target_read(hotspot->memory, symbol + hotspot_place(hotspot, HOTSPOT_SYMBOL_LENGTH),
			&length, sizeof(length)))
		return;
	taken = MIN((size_t)length, size - 1);
	if (target_read(hotspot->memory, symbol + hotspot_place(hotspot, HOTSPOT_SYMBOL_BODY), text,
			taken))
		taken = 0;
	text[taken] = '\0';
}

/* Names. */

static const char *primitive_name(char letter)
{
	static const struct {
		char letter;
		const char *name;
	} primitives[] = {
		{'Z', "boolean"}, {'B', "byte"}, {'C', "char"},	 {'S', "short"},
		{'I', "int"},	  {'J', "long"}, {'F', "float"}, {'D', "double"},
	};

	for (size_t i = 0; i < ARRAY_SIZE(primitives); i++) {
		if (primitives[i].letter == letter)
			return primitives[i].name;
	}
	return NULL;
}

/* Converts "java/lang/String" to dots; drops the address behind the name of a hidden class, which
 * differs in the next process. */
static void write_java_name(char *name)
{
	char *hidden = strchr(name, '+');

	if (hidden && !strncmp(hidden, "+0x", 3))
		*hidden = '\0';
	for (; *name; name++) {
		if (*name == '/')
			*name = '.';
	}
}

/* Writes the class name for the symbol of an array: "[[Ljava/lang/String;". */
static void write_array_name(const char *symbol, char name[HOTSPOT_NAME_BYTES])
{
	size_t dimensions = strspn(symbol, "["), length;
	const char *item = symbol + dimensions, *primitive = primitive_name(item[0]);

	snprintf(name, HOTSPOT_NAME_BYTES, "%s", primitive ? primitive : item + (item[0] == 'L'));
	name[strcspn(name, ";")] = '\0';
	if (!primitive)
		write_java_name(name);
	for (size_t i = 0; i < MIN(dimensions, (size_t)DIMENSIONS_MAX); i++) {
		length = strlen(name);
		if (length + 3 <= HOTSPOT_NAME_BYTES)
			strcpy(name + length, "[]");
	}
}

void hotspot_symbol_name(struct hotspot *hotspot, uint64_t address, char name[HOTSPOT_NAME_BYTES])
{
	char symbol[HOTSPOT_NAME_BYTES];

	hotspot_symbol(hotspot, address, symbol, sizeof(symbol));
	if (symbol[0] == '[') {
		write_array_name(symbol, name);
		return;
	}
	memcpy(name, symbol, HOTSPOT_NAME_BYTES);
	write_java_name(name);
}

void hotspot_class_name(struct hotspot *hotspot, uint64_t klass, char name[HOTSPOT_NAME_BYTES])
{
	hotspot_symbol_name(hotspot, hotspot_member(hotspot, klass, HOTSPOT_KLASS_NAME), name);
}

/* Finding classes. */

static bool derives_from(struct hotspot *hotspot, uint64_t klass, uint64_t from)
{
	for (uint32_t i = 0; klass && i < DEPTH_MAX; i++) {
		if (klass == from)
			return true;
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_SUPER);
	}
	return false;
}

static bool is_array_layout(uint32_t layout)
{
	return (layout >> 16 & 0xff) <= HEADER_BYTES_MAX && (layout & 0xff) <= 3;
}

static bool is_class(struct hotspot *hotspot, uint64_t klass, int32_t *layout)
{
	char symbol[4];

	if (!klass || klass & 7 ||
	    hotspot_member(hotspot, klass, HOTSPOT_KLASS_SUPERS) != hotspot->object_klass)
		return false;
	*layout = (int32_t)hotspot_member32(hotspot, klass, HOTSPOT_KLASS_LAYOUT);
	if (!*layout || (*layout < 0 && !is_array_layout((uint32_t)*layout)))
		return false;
	hotspot_symbol(hotspot, hotspot_member(hotspot, klass, HOTSPOT_KLASS_NAME), symbol,
		       sizeof(symbol));
	return symbol[0] != '\0';
}

static bool is_named(struct hotspot *hotspot, uint64_t klass, const char *wanted)
{
	char name[HOTSPOT_NAME_BYTES];

	hotspot_class_name(hotspot, klass, name);
	return !strcmp(name, wanted);
}

static enum hotspot_kind kind_of(struct hotspot *hotspot, uint64_t klass, int32_t layout)
{
	if (layout < 0)
		return (uint32_t)layout >> 30 == LAYOUT_TYPE_ARRAY ? HOTSPOT_TYPE_ARRAY
								   : HOTSPOT_OBJECT_ARRAY;
	if (klass == hotspot->class_klass)
		return HOTSPOT_MIRROR;
	return layout & LAYOUT_OWN_SIZE && is_named(hotspot, klass, "jdk.internal.vm.StackChunk")
		       ? HOTSPOT_CHUNK
		       : HOTSPOT_INSTANCE;
}

/* Returns whether a class's loader is never unloaded: see hotspot_read_loaders(). */
static bool is_kept(struct hotspot *hotspot, uint64_t klass)
{
	uint64_t loader = hotspot_member(hotspot, klass, HOTSPOT_KLASS_LOADER);
	const uint64_t *place = loader ? hash_get(&hotspot->loader_index, loader) : NULL;

	return !place || !hotspot->loaders.items[*place - 1].owner;
}

static struct hotspot_class *add_class(struct hotspot *hotspot, uint64_t klass, int32_t layout)
{
	uint64_t *place = hash_put(&hotspot->class_index, klass, NULL), mirror;
	struct hotspot_class *class = place ? vec_push(&hotspot->classes) : NULL;

	if (!class)
		return NULL;
	*place = hotspot->classes.count;
	mirror = hotspot_member(hotspot, klass, HOTSPOT_KLASS_MIRROR);
	*class = (struct hotspot_class){
		.address = klass,
		.number = UINT32_MAX,
		.ended_number = UINT32_MAX,
		.layout = layout,
		.kind = kind_of(hotspot, klass, layout),
		.is_thread = derives_from(hotspot, klass, hotspot->thread_klass),
		.is_kept = is_kept(hotspot, klass),
		.mirror = mirror ? hotspot_handle(hotspot, mirror) : 0,
	};
	class->is_virtual = class->is_thread && is_named(hotspot, klass, "java.lang.VirtualThread");
	if (class->kind == HOTSPOT_CHUNK)
		hotspot_describe_chunks(hotspot, klass);
	if (class->is_virtual)
		hotspot_describe_virtual(hotspot, class);
	return class;
}

struct hotspot_class *hotspot_class_at(struct hotspot *hotspot, uint64_t address)
{
	uint64_t *place = address ? hash_get(&hotspot->class_index, address) : NULL;
	int32_t layout;

	if (place)
		return *place == NO_CLASS ? NULL : &hotspot->classes.items[*place - 1];
	if (is_class(hotspot, address, &layout) && hotspot_pay(hotspot))
		return add_class(hotspot, address, layout);
	if (address && hotspot->class_index.count < NOT_CLASSES_MAX) {
		place = hash_put(&hotspot->class_index, address, NULL);
		if (place)
			*place = NO_CLASS;
	}
	return NULL;
}

/* Fields. */

/* State of reading the fields that a class declares. */
struct declarer {
	struct hotspot *hotspot;
	uint64_t constants;
	uint32_t count; /* of constants */
	int (*each)(void *context, const struct hotspot_declared *field);
	void *context;
};

static uint64_t constant_at(const struct declarer *declarer, uint32_t index)
{
	uint64_t bytes = hotspot_place(declarer->hotspot, HOTSPOT_CONSTANTS_BYTES);

	return index < declarer->count ? target_word(declarer->hotspot->memory,
						     declarer->constants + bytes + index * 8ull)
				       : 0;
}

static int declare(const struct declarer *declarer, uint32_t name, uint32_t type, uint32_t offset,
		   uint32_t access)
{
	struct hotspot_declared field = {.offset = offset, .is_static = access & ACCESS_STATIC};
	char descriptor[2];

	hotspot_symbol(declarer->hotspot, constant_at(declarer, type), descriptor,
		       sizeof(descriptor));
	hotspot_symbol(declarer->hotspot, constant_at(declarer, name), field.name,
		       sizeof(field.name));
	field.type = descriptor[0];
	return field.name[0] ? declarer->each(declarer->context, &field) : 0;
}

static int declare_numbers(const struct declarer *declarer, uint64_t klass)
{
	struct hotspot *hotspot = declarer->hotspot;
	uint64_t array = hotspot_member(hotspot, klass, HOTSPOT_KLASS_FIELDS);
	uint32_t length = array ? hotspot_number(hotspot, array) : 0;
	uint32_t count = hotspot_member32(hotspot, klass, HOTSPOT_KLASS_FIELD_COUNT) & 0xffff;
	int error = 0;

	count = MIN(count, length / FIELD_NUMBERS);
	for (uint32_t i = 0; !error && i < count; i++) {
		uint16_t numbers[FIELD_NUMBERS];
		uint32_t offset;

		if (target_read(hotspot->memory, array + ARRAY_ITEMS + i * sizeof(numbers), numbers,
				sizeof(numbers)))
			break;
		offset = (uint32_t)numbers[FIELD_HIGH] << 16 | numbers[FIELD_LOW];
		error = declare(declarer, numbers[FIELD_NAME], numbers[FIELD_TYPE],
				offset >> FIELD_TAG_BITS, numbers[FIELD_ACCESS]);
	}
	return error;
}

struct stream {
	struct hotspot *hotspot;
	uint64_t at, end;
};

/* Reads a number in UNSIGNED5: up to five bytes, none of them 0; all but the last one are at least
 * 192. */
static uint32_t next_number(struct stream *stream)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < 5 && stream->at < stream->end; i++) {
		uint8_t byte = 0;

		if (target_read(stream->hotspot->memory, stream->at++, &byte, 1) || !byte)
			stream->at = stream->end;
		number += (uint32_t)(byte - 1) << (6 * i);
		if (byte - 1 < 191)
			break;
	}
	return number;
}

static int declare_stream(const struct declarer *declarer, uint64_t klass)
{
	struct hotspot *hotspot = declarer->hotspot;
	uint64_t array = hotspot_member(hotspot, klass, HOTSPOT_KLASS_STREAM);
	uint32_t length = array ? hotspot_number(hotspot, array) : 0, count;
	struct stream stream = {hotspot, array + ARRAY_ITEMS, array + ARRAY_ITEMS + length};
	int error = 0;

	count = next_number(&stream);
	next_number(&stream);
	for (uint32_t i = 0;
	     !error && i < MIN(count, (uint32_t)FIELDS_MAX) && stream.at < stream.end; i++) {
		uint32_t name = next_number(&stream), type = next_number(&stream);
		uint32_t offset = next_number(&stream), access = next_number(&stream);
		uint32_t flags = next_number(&stream);

		if (flags & FLAG_INITIALIZED)
			next_number(&stream);
		if (flags & FLAG_GENERIC)
			next_number(&stream);
		if (flags & FLAG_CONTENDED)
			next_number(&stream);
		error = declare(declarer, name, type, offset, access);
	}
	return error;
}

int hotspot_each_field(struct hotspot *hotspot, uint64_t klass,
		       int (*each)(void *context, const struct hotspot_declared *field),
		       void *context)
{
	uint64_t constants = hotspot_member(hotspot, klass, HOTSPOT_KLASS_CONSTANTS);
	const struct declarer declarer = {
		.hotspot = hotspot,
		.constants = constants,
		.count = hotspot_member32(hotspot, constants, HOTSPOT_CONSTANTS_LENGTH),
		.each = each,
		.context = context};

	return hotspot_has(hotspot, HOTSPOT_KLASS_STREAM) ? declare_stream(&declarer, klass)
							  : declare_numbers(&declarer, klass);
}

struct wanted_field {
	const char *name;
	uint32_t offset;
};

static int find_field(void *context, const struct hotspot_declared *field)
{
	struct wanted_field *wanted = context;

	if (field->is_static || strcmp(field->name, wanted->name) != 0)
		return 0;
	wanted->offset = field->offset;
	return -EEXIST;
}

uint32_t hotspot_field_offset(struct hotspot *hotspot, uint64_t klass, const char *name)
{
	struct wanted_field wanted = {.name = name};

	for (uint32_t i = 0; klass && !wanted.offset && i < DEPTH_MAX; i++) {
		hotspot_each_field(hotspot, klass, find_field, &wanted);
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_SUPER);
	}
	return wanted.offset;
}

/* The contents of a class's objects. */

/* Price of a recorded field, or of consecutive references. */
#define FIELD_WORK 16

struct description {
	struct hotspot *hotspot;
	struct heap_sink *sink;
	struct hotspot_class *class;
};

static bool is_reference(char type)
{
	return type == 'L' || type == '[';
}

static int add_field(void *context, const struct hotspot_declared *declared)
{
	struct description *description = context;
	struct hotspot_field *field;

	if (declared->is_static || (!is_reference(declared->type) && declared->type != 'J') ||
	    !target_memory_work(description->hotspot->memory, FIELD_WORK))
		return 0;
	field = vec_push(&description->class->fields);
	if (!field)
		return -ENOMEM;
	*field = (struct hotspot_field){
		.offset = declared->offset,
		.label = heap_sink_label(description->sink, LABEL_ATTRIBUTE, declared->name),
		.is_number = declared->type == 'J'};
	return 0;
}

static int compare_fields(const void *left_pointer, const void *right_pointer)
{
	const struct hotspot_field *left = left_pointer, *right = right_pointer;

	return left->offset < right->offset ? -1 : left->offset > right->offset;
}

/* Maps of references follow the tables of methods. */
static int read_maps(struct hotspot *hotspot, struct hotspot_class *class)
{
	uint64_t tables =
		(uint64_t)hotspot_member32(hotspot, class->address, HOTSPOT_KLASS_VTABLE) +
		hotspot_member32(hotspot, class->address, HOTSPOT_KLASS_ITABLE);
	uint64_t at = class->address + hotspot_place(hotspot, HOTSPOT_KLASS_BYTES) + tables * 8;
	uint32_t count = hotspot_member32(hotspot, class->address, HOTSPOT_KLASS_MAPS);

	for (uint32_t i = 0;
	     i < MIN(count, (uint32_t)MAPS_MAX) && target_memory_work(hotspot->memory, FIELD_WORK);
	     i++) {
		struct hotspot_map *map = vec_push(&class->maps);

		if (!map)
			return -ENOMEM;
		if (target_read(hotspot->memory, at + i * 8ull, map, sizeof(*map))) {
			class->maps.count--;
			break;
		}
		class->maps.count -= !map->count;
	}
	return 0;
}

/* Kinds of references by the name of a superclass. */
static const struct {
	const char *name;
	enum hotspot_reference reference;
} references[] = {
	{"java.lang.ref.SoftReference", HOTSPOT_REFERENCE_SOFT},
	{"java.lang.ref.FinalReference", HOTSPOT_REFERENCE_FINAL},
	{"java.lang.ref.Reference", HOTSPOT_REFERENCE_WEAK},
};

/* Sorts fields, and keeps one at each offset: an object has no more fields than bytes. */
static void sort_fields(struct hotspot_class *class)
{
	struct hotspot_field *fields = class->fields.items;
	size_t kept = 0;

	if (!class->fields.count)
		return;
	qsort(fields, class->fields.count, sizeof(*fields), compare_fields);
	for (size_t i = 1; i < class->fields.count; i++) {
		if (fields[i].offset > fields[kept].offset)
			fields[++kept] = fields[i];
	}
	class->fields.count = kept + 1;
}

static int describe_instance(struct hotspot *hotspot, struct heap_sink *sink,
			     struct hotspot_class *class)
{
	struct description description = {hotspot, sink, class};
	uint64_t klass = class->address;
	int error = read_maps(hotspot, class);

	for (uint32_t i = 0; !error && klass && i < DEPTH_MAX; i++) {
		char name[HOTSPOT_NAME_BYTES];

		error = hotspot_each_field(hotspot, klass, add_field, &description);
		hotspot_class_name(hotspot, klass, name);
		for (size_t j = 0; j < ARRAY_SIZE(references) && !class->reference; j++) {
			if (!strcmp(name, references[j].name))
				class->reference = references[j].reference;
		}
		klass = hotspot_member(hotspot, klass, HOTSPOT_KLASS_SUPER);
	}
	sort_fields(class);
	if (class->reference) {
		class->referent = hotspot_field_offset(hotspot, class->address, "referent");
		class->discovered = hotspot_field_offset(hotspot, class->address, "discovered");
	}
	return error;
}

int hotspot_describe(struct hotspot *hotspot, struct heap_sink *sink, size_t place)
{
	struct hotspot_class class = hotspot->classes.items[place];
	int error = 0;

	if (class.described)
		return 0;
	class.described = true;
	if (class.kind != HOTSPOT_OBJECT_ARRAY && class.kind != HOTSPOT_TYPE_ARRAY)
		error = describe_instance(hotspot, sink, &class);
	/* The list may have been reallocated meanwhile. */
	hotspot->classes.items[place] = class;
	return error;
}
