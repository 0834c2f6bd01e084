// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Maps (hidden classes) and names. A map's own map is the map of maps, which proves that it is a
 * map. An object's class is its constructor function: its map's constructor, behind the chain of
 * maps that it was derived from; for a class with `extends`, the constructor of its prototype
 * (JSReceiver::GetConstructorName).
 *
 * Names are identifiers of the program. Keys of objects in dictionary mode may be data, and are not
 * read.
 */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/v8/v8.h"

#define MAPS_MIN (1u << 22) /* accepted for any size of memory */
#define MAP_BYTES 64	    /* at least */
#define NOT_MAPS_MAX (1u << 20)
#define NO_MAP UINT64_MAX
#define CHAIN_MAX 4096
#define CONS_DEPTH_MAX 8
#define PROPERTIES_MAX 1024
#define SCOPE_WORDS_MAX 16
#define LOCALS_INLINE_MAX 75 /* ScopeInfo: kScopeInfoMaxInlinedLocalNamesSize */

#define TARGET_IS_BASE 1u /* in bit_field2 */

uint64_t v8_field(struct v8 *v8, uint64_t object, uint64_t offset)
{
	return v8_is_object(object) ? target_word(v8->memory, object - V8_TAG + offset) : 0;
}

/* Maps. */

static uint16_t type_of(struct v8 *v8, uint64_t map)
{
	uint16_t type;

	return target_read(v8->memory, map + v8_place(v8, V8_MAP_TYPE), &type, sizeof(type))
		       ? UINT16_MAX
		       : type;
}

static bool is_map(struct v8 *v8, uint64_t address)
{
	uint64_t meta;

	if (!v8_has_chunk(v8, address))
		return false;
	meta = target_word(v8->memory, address);
	return v8_is_object(meta) && v8_has_chunk(v8, meta - V8_TAG) &&
	       type_of(v8, meta - V8_TAG) == v8_place(v8, V8_TYPE_MAP);
}

static uint8_t map_byte(struct v8 *v8, uint64_t map, enum v8_place place)
{
	uint8_t byte;

	return target_read(v8->memory, map + v8_place(v8, place), &byte, 1) ? 0 : byte;
}

static uint32_t map_bits(struct v8 *v8, uint64_t map)
{
	uint32_t bits;

	return target_read(v8->memory, map + v8_place(v8, V8_MAP_BITS3), &bits, sizeof(bits))
		       ? 0
		       : bits;
}

/* Returns whether a type is a function: among the program's objects, functions follow JSFunction up
 * to the next named type; in V8 10 that is the generators' second type. */
static bool is_function_type(const struct v8 *v8, uint16_t type)
{
	uint64_t first = v8_place(v8, V8_TYPE_FUNCTION);

	if (type + 1ull == v8_place(v8, V8_TYPE_CALL))
		return false;
	for (uint64_t i = first; i < V8_TYPES && i <= type; i++) {
		if (i == type)
			return true;
		if (i > first && v8->types[i].name)
			return false;
	}
	return false;
}

static struct v8_map *add_map(struct v8 *v8, uint64_t address)
{
	uint64_t *place = hash_put(&v8->map_index, address, NULL);
	struct v8_map *map = place ? vec_push(&v8->maps) : NULL;
	uint32_t bits;

	if (!map)
		return NULL;
	*place = v8->maps.count;
	bits = map_bits(v8, address);
	*map = (struct v8_map){
		.address = address,
		.type = type_of(v8, address),
		.size = (uint16_t)(map_byte(v8, address, V8_MAP_SIZE) * 8),
		.inobject = map_byte(v8, address, V8_MAP_INOBJECT),
		.number = UINT32_MAX,
	};
	map->is_receiver = map->type >= v8->first_receiver;
	map->is_function = is_function_type(v8, map->type);
	map->is_dictionary = bits >> (v8_place(v8, V8_DICTIONARY_SHIFT) & 31) & 1;
	/* The bit below the one for dictionaries. */
	map->is_prototype = bits >> ((v8_place(v8, V8_DICTIONARY_SHIFT) - 1) & 31) & 1;
	return map;
}

/* Returns whether another map is plausible: overlapping maps would take more memory here than in
 * the target. */
static bool may_be_more(struct v8 *v8)
{
	if (v8->maps.count < MAPS_MIN + v8->memory->occupied / MAP_BYTES)
		return true;
	target_memory_exhaust(v8->memory);
	return false;
}

struct v8_map *v8_map_at(struct v8 *v8, uint64_t word)
{
	uint64_t address = word - V8_TAG, *place;

	if (!v8_is_object(word) || address & 7)
		return NULL;
	place = hash_get(&v8->map_index, address);
	if (place)
		return *place == NO_MAP ? NULL : &v8->maps.items[*place - 1];
	if (is_map(v8, address) && may_be_more(v8))
		return add_map(v8, address);
	if (v8->map_index.count < NOT_MAPS_MAX) {
		place = hash_put(&v8->map_index, address, NULL);
		if (place)
			*place = NO_MAP;
	}
	return NULL;
}

struct v8_map *v8_map_of(struct v8 *v8, uint64_t word)
{
	if (!v8_is_object(word) || !v8_has_chunk(v8, word - V8_TAG))
		return NULL;
	return v8_map_at(v8, v8_field(v8, word, 0));
}

enum v8_kind v8_kind_of(const struct v8 *v8, const struct v8_map *map)
{
	if (map->type < V8_TYPES && v8->types[map->type].known)
		return v8->types[map->type].kind;
	return map->type == v8->filler ? V8_FREE : V8_WORDS;
}

/* Text. */

static bool is_string(const struct v8 *v8, const struct v8_map *map)
{
	return map && map->type < v8_place(v8, V8_FIRST_NONSTRING);
}

struct text {
	char *text;
	size_t size, length;
};

static bool add_characters(struct v8 *v8, struct text *text, uint64_t string, bool one_byte)
{
	uint64_t at = string - V8_TAG + v8_place(v8, V8_STRING_CHARACTERS);
	uint32_t length;

	if (target_read(v8->memory, string - V8_TAG + v8_place(v8, V8_STRING_LENGTH), &length,
			sizeof(length)) ||
	    length >= text->size - text->length)
		return false;
	for (uint32_t i = 0; i < length; i++) {
		uint16_t letter = 0;

		if (target_read(v8->memory, at + (one_byte ? i : i * 2ull), &letter,
				one_byte ? 1 : 2) ||
		    letter < 0x20 || letter > 0x7e)
			return false;
		text->text[text->length++] = (char)letter;
	}
	text->text[text->length] = '\0';
	return true;
}

/* Reads ASCII text; returns false if it is too long, or another kind of text. */
static bool read_text(struct v8 *v8, uint64_t string, struct text *text, uint32_t depth)
{
	const struct v8_map *map = v8_map_of(v8, string);
	uint64_t representation;

	if (!is_string(v8, map) || !depth || !v8_take(&v8->names_left))
		return false;
	representation = map->type & v8_place(v8, V8_REPRESENTATION_MASK);
	if (!representation)
		return add_characters(v8, text, string, map->type & v8_place(v8, V8_ENCODING_MASK));
	if (representation == v8_place(v8, V8_REPRESENTATION_THIN))
		return read_text(v8, v8_field(v8, string, v8_place(v8, V8_THIN_ACTUAL)), text,
				 depth - 1);
	if (representation != v8_place(v8, V8_REPRESENTATION_CONS))
		return false;
	return read_text(v8, v8_field(v8, string, v8_place(v8, V8_CONS_FIRST)), text, depth - 1) &&
	       read_text(v8, v8_field(v8, string, v8_place(v8, V8_CONS_SECOND)), text, depth - 1);
}

bool v8_text(struct v8 *v8, uint64_t string, char name[V8_NAME_BYTES])
{
	struct text text = {name, V8_NAME_BYTES, 0};

	name[0] = '\0';
	return read_text(v8, string, &text, CONS_DEPTH_MAX);
}

bool v8_is_text(struct v8 *v8, uint64_t word)
{
	return is_string(v8, v8_map_of(v8, word));
}

/* A flattened concatenation has all characters in its first part. */
bool v8_text_place(struct v8 *v8, uint64_t string, struct v8_text_place *place)
{
	for (uint32_t i = 0; i < CONS_DEPTH_MAX; i++) {
		const struct v8_map *map = v8_map_of(v8, string);
		enum v8_place next = V8_CONS_FIRST;
		uint64_t representation;

		if (!is_string(v8, map))
			return false;
		representation = map->type & v8_place(v8, V8_REPRESENTATION_MASK);
		if (!representation) {
			place->address = string - V8_TAG + v8_place(v8, V8_STRING_CHARACTERS);
			place->width = map->type & v8_place(v8, V8_ENCODING_MASK) ? 1 : 2;
			return !target_read(v8->memory,
					    string - V8_TAG + v8_place(v8, V8_STRING_LENGTH),
					    &place->length, sizeof(place->length));
		}
		if (representation == v8_place(v8, V8_REPRESENTATION_THIN))
			next = V8_THIN_ACTUAL;
		else if (representation != v8_place(v8, V8_REPRESENTATION_CONS))
			return false;
		string = v8_field(v8, string, v8_place(v8, next));
	}
	return false;
}

#define LETTERS "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_$#"

/* Reads a name; `more`: additional valid characters. */
static bool read_name(struct v8 *v8, uint64_t string, const char *more, char name[V8_NAME_BYTES])
{
	struct text text = {name, V8_NAME_BYTES, 0};
	size_t length = 0;

	name[0] = '\0';
	if (!read_text(v8, string, &text, CONS_DEPTH_MAX) || isdigit((unsigned char)name[0]))
		name[0] = '\0';
	while (name[length] && (strchr(LETTERS, name[length]) || strchr(more, name[length])))
		length++;
	if (name[length])
		name[0] = '\0';
	return name[0] != '\0';
}

bool v8_identifier(struct v8 *v8, uint64_t string, char name[V8_NAME_BYTES])
{
	return read_name(v8, string, "", name);
}

/* Offset of a symbol's description, behind hash and flags of 32 bits: src/objects/name.tq. */
#define SYMBOL_DESCRIPTION 16

/* Writes a property's name, or "[description]" for a symbol. */
static bool read_key(struct v8 *v8, uint64_t key, char name[V8_NAME_BYTES])
{
	const struct v8_map *map = v8_map_of(v8, key);
	char description[V8_NAME_BYTES - 2];

	if (!map || map->type != v8_place(v8, V8_FIRST_NONSTRING))
		return v8_identifier(v8, key, name);
	if (!read_name(v8, v8_field(v8, key, SYMBOL_DESCRIPTION), ".:", name) ||
	    strlen(name) >= sizeof(description))
		return false;
	strcpy(description, name);
	snprintf(name, V8_NAME_BYTES, "[%s]", description);
	return true;
}

/* Reads a function's name, including V8's forms "get size" and "Foo.bar". */
static bool read_function_name(struct v8 *v8, uint64_t string, char name[V8_NAME_BYTES])
{
	return read_name(v8, string, ". ", name);
}

/* Functions and variables. */

static uint64_t scope_field(struct v8 *v8, uint64_t scope, uint64_t index)
{
	return v8_field(v8, scope, 8 + index * 8);
}

static uint64_t count_locals(struct v8 *v8, uint64_t scope)
{
	return v8_number(scope_field(v8, scope, v8_place(v8, V8_SCOPE_LOCALS)));
}

uint64_t v8_scope_tail(struct v8 *v8, uint64_t scope)
{
	uint64_t locals = count_locals(v8, scope);

	return v8_place(v8, V8_SCOPE_FIRST) +
	       (locals < LOCALS_INLINE_MAX ? 2 * locals : 1 + locals);
}

/* Writes the function name of a scope: the first text behind the names of variables, or their
 * table, and their details; it may be inferred. */
static void scope_function_name(struct v8 *v8, uint64_t scope, char name[V8_NAME_BYTES])
{
	uint64_t first = v8_scope_tail(v8, scope);

	for (uint32_t i = 0; i < SCOPE_WORDS_MAX; i++) {
		uint64_t word = scope_field(v8, scope, first + i);

		/* The next object begins here. */
		if (v8_map_at(v8, word))
			return;
		if (is_string(v8, v8_map_of(v8, word))) {
			read_function_name(v8, word, name);
			return;
		}
	}
}

bool v8_variable_name(struct v8 *v8, uint64_t scope, uint64_t n, char name[V8_NAME_BYTES])
{
	uint64_t locals;

	name[0] = '\0';
	if (!v8_is_type(v8, v8_map_of(v8, scope), V8_TYPE_SCOPE_INFO))
		return false;
	locals = count_locals(v8, scope);
	if (n >= locals || locals >= LOCALS_INLINE_MAX)
		return false;
	return v8_identifier(v8, scope_field(v8, scope, v8_place(v8, V8_SCOPE_FIRST) + n), name);
}

/* Writes a function's name; "" if it has none. */
static void v8_function_name(struct v8 *v8, uint64_t function, char name[V8_NAME_BYTES])
{
	v8_shared_name(v8, v8_field(v8, function, v8_place(v8, V8_FUNCTION_SHARED)), name);
}

void v8_shared_name(struct v8 *v8, uint64_t shared, char name[V8_NAME_BYTES])
{
	uint64_t named;

	name[0] = '\0';
	if (!v8_is_type(v8, v8_map_of(v8, shared), V8_TYPE_SHARED))
		return;
	named = v8_field(v8, shared, v8_place(v8, V8_SHARED_NAME));
	if (v8_is_type(v8, v8_map_of(v8, named), V8_TYPE_SCOPE_INFO))
		scope_function_name(v8, named, name);
	else
		read_function_name(v8, named, name);
}

static bool is_function(struct v8 *v8, uint64_t object)
{
	const struct v8_map *map = v8_map_of(v8, object);

	return map && map->is_function;
}

/* Properties. */

struct descriptor {
	uint64_t key, value;
	uint32_t index;
	bool in_object; /* the value is a field of objects; otherwise `value` itself */
};

static uint32_t count_descriptors(struct v8 *v8, uint64_t map)
{
	uint32_t bits = map_bits(v8, map) & (uint32_t)v8_place(v8, V8_DESCRIPTORS_MASK);

	return MIN(bits >> (v8_place(v8, V8_DESCRIPTORS_SHIFT) & 31), (uint32_t)PROPERTIES_MAX);
}

static bool read_descriptor(struct v8 *v8, uint64_t map, uint32_t i, struct descriptor *descriptor)
{
	uint64_t array = target_word(v8->memory, map + v8_place(v8, V8_MAP_DESCRIPTORS));
	const struct v8_map *kind = v8_map_of(v8, array);
	uint64_t at =
		v8_place(v8, V8_DESCRIPTORS_HEADER) + i * 8 * v8_place(v8, V8_DESCRIPTOR_WORDS);
	uint32_t details;

	if (!kind || v8_kind_of(v8, kind) != V8_DESCRIPTORS)
		return false;
	details = (uint32_t)v8_number(
		v8_field(v8, array, at + 8 * v8_place(v8, V8_DESCRIPTOR_DETAILS)));
	*descriptor = (struct descriptor){
		.key = v8_field(v8, array, at + 8 * v8_place(v8, V8_DESCRIPTOR_KEY)),
		.value = v8_field(v8, array, at + 8 * v8_place(v8, V8_DESCRIPTOR_VALUE)),
		.index = (details & (uint32_t)v8_place(v8, V8_INDEX_MASK)) >>
			 (v8_place(v8, V8_INDEX_SHIFT) & 31),
		.in_object = !(details & v8_place(v8, V8_LOCATION_MASK))};
	return true;
}

/* Returns the place of a field property's value. */
static struct v8_property place_property(const struct v8 *v8, const struct v8_map *map,
					 uint32_t index)
{
	uint32_t words = map->size / 8, inside = words > map->inobject ? words - map->inobject : 0;

	if (index < inside)
		return (struct v8_property){.place = map->inobject + index};
	return (struct v8_property){.place = (uint32_t)v8_place(v8, V8_ARRAY_DATA) / 8 + index -
					     inside,
				    .outside = true};
}

uint64_t v8_property_at(struct v8 *v8, uint64_t object, const struct v8_property *property)
{
	if (property->outside)
		object = v8_field(v8, object, v8_place(v8, V8_OBJECT_PROPERTIES));
	return v8_field(v8, object, property->place * 8ull);
}

static uint64_t property_value(struct v8 *v8, uint64_t object, const struct v8_map *map,
			       const struct descriptor *descriptor)
{
	struct v8_property property;

	if (!descriptor->in_object)
		return descriptor->value;
	property = place_property(v8, map, descriptor->index);
	return v8_property_at(v8, object, &property);
}

static bool is_named(struct v8 *v8, uint64_t string, const char *name)
{
	char text[V8_NAME_BYTES];

	return v8_identifier(v8, string, text) && !strcmp(text, name);
}

/* Returns a value in a dictionary, which follows the key. */
static uint64_t find_in_dictionary(struct v8 *v8, uint64_t object, const char *name)
{
	uint64_t table = v8_field(v8, object, v8_place(v8, V8_OBJECT_PROPERTIES));
	uint64_t count = v8_number(v8_field(v8, table, v8_place(v8, V8_ARRAY_LENGTH)));

	for (uint64_t i = 0; i + 1 < MIN(count, (uint64_t)PROPERTIES_MAX); i++) {
		uint64_t at = v8_place(v8, V8_ARRAY_DATA) + i * 8;

		if (is_named(v8, v8_field(v8, table, at), name))
			return v8_field(v8, table, at + 8);
	}
	return 0;
}

uint64_t v8_property(struct v8 *v8, uint64_t object, const char *name)
{
	const struct v8_map *found = v8_map_of(v8, object);
	struct v8_map map;
	uint32_t count;

	if (!found || !found->is_receiver)
		return 0;
	map = *found;
	if (map.is_dictionary)
		return find_in_dictionary(v8, object, name);
	count = count_descriptors(v8, map.address);
	for (uint32_t i = 0; i < count; i++) {
		struct descriptor descriptor;

		if (!read_descriptor(v8, map.address, i, &descriptor))
			return 0;
		if (is_named(v8, descriptor.key, name))
			return property_value(v8, object, &map, &descriptor);
	}
	return 0;
}

/* Adds a property; names are interned, so that equal ones share a label. */
static int add_property(struct v8 *v8, struct heap_sink *sink, struct v8_map *map,
			const struct descriptor *descriptor)
{
	char name[V8_NAME_BYTES];
	struct v8_property *property;

	if (!descriptor->in_object || !read_key(v8, descriptor->key, name))
		return 0;
	property = vec_push(&map->properties);
	if (!property)
		return -ENOMEM;
	*property = place_property(v8, map, descriptor->index);
	property->label = heap_sink_label(sink, LABEL_ATTRIBUTE, name);
	map->has_cache |= !strcmp(name, "_cache");
	if (!map->timer.label && (!strcmp(name, "_onTimeout") || !strcmp(name, "_onImmediate")))
		map->timer = *property;
	if (!map->events.label && !strcmp(name, "_events"))
		map->events = *property;
	return 0;
}

static int compare_properties(const void *left_pointer, const void *right_pointer)
{
	const struct v8_property *left = left_pointer, *right = right_pointer;
	uint64_t a = v8_property_order(left->place, left->outside);
	uint64_t b = v8_property_order(right->place, right->outside);

	return a < b ? -1 : a > b;
}

static void sort_properties(struct v8_map *map)
{
	struct v8_property *properties = map->properties.items;
	size_t kept = 0;

	if (!map->properties.count)
		return;
	qsort(properties, map->properties.count, sizeof(*properties), compare_properties);
	for (size_t i = 1; i < map->properties.count; i++) {
		if (compare_properties(&properties[i], &properties[kept]))
			properties[++kept] = properties[i];
	}
	map->properties.count = kept + 1;
}

int v8_describe(struct v8 *v8, struct heap_sink *sink, size_t place)
{
	struct v8_map map = v8->maps.items[place];
	uint32_t count = count_descriptors(v8, map.address);
	int error = 0;

	if (map.described)
		return 0;
	map.described = true;
	for (uint32_t i = 0; !error && map.is_receiver && !map.is_dictionary && i < count; i++) {
		struct descriptor descriptor;

		if (!read_descriptor(v8, map.address, i, &descriptor))
			break;
		error = add_property(v8, sink, &map, &descriptor);
	}
	sort_properties(&map);
	/* The list may have been reallocated meanwhile. */
	v8->maps.items[place] = map;
	return error;
}

/* Classes. */

/* Returns the constructor of objects with a map; 0: none. */
static uint64_t constructor_of(struct v8 *v8, uint64_t map)
{
	uint64_t word = target_word(v8->memory, map + v8_place(v8, V8_MAP_CONSTRUCTOR));

	for (uint32_t i = 0; i < CHAIN_MAX && v8_map_at(v8, word); i++)
		word = v8_field(v8, word, v8_place(v8, V8_MAP_CONSTRUCTOR));
	return is_function(v8, word) ? word : 0;
}

static void receiver_name(struct v8 *v8, const struct v8_map *map, char name[V8_NAME_BYTES])
{
	uint64_t address = map->address, constructor = constructor_of(v8, address), own;
	bool is_base = map_byte(v8, address, V8_MAP_BITS2) & TARGET_IS_BASE;

	if (!is_base || !constructor) {
		own = v8_property(v8,
				  target_word(v8->memory, address + v8_place(v8, V8_MAP_PROTOTYPE)),
				  "constructor");
		constructor = is_function(v8, own) ? own : constructor;
	}
	if (constructor)
		v8_function_name(v8, constructor, name);
	if (!name[0])
		snprintf(name, V8_NAME_BYTES, constructor ? "(anonymous class)" : "Object");
}

/* Names a string by its representation, which many types share. */
static const char *string_name(const struct v8 *v8, uint16_t type)
{
	static const struct {
		enum v8_place representation;
		const char *name;
	} names[] = {
		{V8_REPRESENTATION_CONS, "(ConsString)"},
		{V8_REPRESENTATION_EXTERNAL, "(ExternalString)"},
		{V8_REPRESENTATION_SLICED, "(SlicedString)"},
		{V8_REPRESENTATION_THIN, "(ThinString)"},
	};
	uint64_t representation = type & v8_place(v8, V8_REPRESENTATION_MASK);

	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		if (representation == v8_place(v8, names[i].representation))
			return names[i].name;
	}
	return "(SeqString)";
}

/* Writes the name of V8's own type in parentheses, "(FixedArray)", to distinguish it from the
 * program's classes. */
static void type_name(const struct v8 *v8, uint16_t type, char name[V8_NAME_BYTES])
{
	const char *known = type < V8_TYPES ? v8->types[type].name : NULL;

	if (known)
		snprintf(name, V8_NAME_BYTES, "(%.*s)", (int)MIN(strcspn(known, "_"), (size_t)200),
			 known);
	else if (type < v8_place(v8, V8_FIRST_NONSTRING))
		snprintf(name, V8_NAME_BYTES, "%s", string_name(v8, type));
	else if (type >= v8_place(v8, V8_FIRST_CONTEXT) && type <= v8_place(v8, V8_LAST_CONTEXT))
		snprintf(name, V8_NAME_BYTES, "(Context)");
	else
		snprintf(name, V8_NAME_BYTES, "(type %u)", type);
}

void v8_class_name(struct v8 *v8, const struct v8_map *map, char name[V8_NAME_BYTES])
{
	const struct v8_map copy = *map;

	name[0] = '\0';
	if (!copy.is_receiver)
		type_name(v8, copy.type, name);
	else if (copy.is_function)
		snprintf(name, V8_NAME_BYTES, "Function");
	else if (copy.is_prototype)
		snprintf(name, V8_NAME_BYTES, "(prototype)");
	else
		receiver_name(v8, &copy, name);
}
