// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * References of objects: all their tagged words, except weak ones and those of weak collections.
 * The arrays of an object's properties and elements, and the table of a Map or Set, are parts of
 * it.
 *
 * Named roots are the variables of the global object, then the native context, from which all
 * objects created by V8 and node are reachable. Handles, stacks and registers are memory of the
 * process itself, read word by word.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/text.h"
#include "heap/runtime/v8/v8.h"

#define CHUNK_WORDS 64
#define COLLECTION_TABLE 24 /* JSCollection::table, behind the header of an object */
#define WEAK_REF_TARGET 24
#define CELL_NAME 8 /* PropertyCell: name, details, value */
#define CELL_VALUE 24
#define ADDRESS_MIN 4096
#define CODE_HEADER_BYTES 64ull
#define EMBEDDER_BYTES_MAX 1024
#define HOLDERS 4 /* usual number of holders of an array */

struct referrer {
	struct v8 *v8;
	struct heap_sink *sink;
	uint32_t node;
	uint64_t object; /* tagged */
	uint64_t size;
	struct v8_map map;
};

/* Returns the node of an object; BLOCK_NONE: none. */
static uint32_t object_node(const struct heap_sink *sink, uint64_t word)
{
	uint32_t node = v8_is_object(word) ? heap_sink_node(sink, word - V8_TAG) : BLOCK_NONE;

	return node != BLOCK_NONE && sink->starts[node] == word - V8_TAG ? node : BLOCK_NONE;
}

static bool is_native(const struct heap_sink *sink, uint64_t word)
{
	uint32_t node = word & 7 || word < ADDRESS_MIN ? BLOCK_NONE : heap_sink_node(sink, word);

	return node != BLOCK_NONE && !node_has_class(sink->whats[node]) &&
	       sink->starts[node] == word;
}

static int refer_to(const struct referrer *referrer, uint64_t word, uint32_t label)
{
	if (object_node(referrer->sink, word) == BLOCK_NONE)
		return 0;
	return heap_sink_reference(referrer->sink, referrer->node, word - V8_TAG, label);
}

/* Adds a reference to an object, or to a block of native memory by its address: of a buffer, or of
 * a wrapped object. */
static int refer_to_any(const struct referrer *referrer, uint64_t word, uint32_t label)
{
	if (!is_native(referrer->sink, word) || !v8_has_native(referrer->v8, &referrer->map))
		return refer_to(referrer, word, label);
	return heap_sink_reference(referrer->sink, referrer->node, word, label);
}

/* Adds the references in words of an object; `indexed`: labels are the words' indices. */
static int refer_words(const struct referrer *referrer, uint64_t object, uint64_t from, uint64_t to,
		       bool indexed)
{
	uint64_t words[CHUNK_WORDS];
	int error = 0;

	for (uint64_t at = from; !error && at + 8 <= to; at += sizeof(words)) {
		size_t count = (size_t)MIN((to - at) / 8, (uint64_t)CHUNK_WORDS);

		if (target_read(referrer->v8->memory, object - V8_TAG + at, words, count * 8))
			continue;
		for (size_t i = 0; !error && i < count; i++)
			error = (referrer->map.is_receiver ? refer_to : refer_to_any)(
				referrer, words[i], indexed ? label_index((at - from) / 8 + i) : 0);
	}
	return error;
}

static uint64_t size_of(const struct heap_sink *sink, uint64_t object)
{
	uint32_t node = object_node(sink, object);

	return node == BLOCK_NONE ? 0 : sink->sizes[node];
}

/* Parts. */

/* Returns whether an array may be a part of an object: properties or elements, but not those shared
 * by all empty objects. */
static bool may_be_part(struct v8 *v8, const struct heap_sink *sink, uint64_t object)
{
	const struct v8_map *map = v8_map_of(v8, object);
	const struct v8_chunk *chunk = v8_chunk_at(v8, object - V8_TAG);
	uint32_t node = object_node(sink, object);

	return map && !map->is_receiver && chunk->owner && node != BLOCK_NONE &&
	       node_has_class(sink->whats[node]);
}

static bool has_table(const struct v8 *v8, const struct v8_map *map)
{
	return v8_is_type(v8, map, V8_TYPE_JS_MAP) || v8_is_type(v8, map, V8_TYPE_JS_SET);
}

static bool is_weak_collection(const struct v8 *v8, const struct v8_map *map)
{
	return v8_is_type(v8, map, V8_TYPE_WEAK_MAP) || v8_is_type(v8, map, V8_TYPE_WEAK_SET);
}

static void add_part(struct v8 *v8, struct heap_sink *sink, uint32_t owner, uint64_t offset)
{
	uint64_t part = v8_field(v8, sink->starts[owner] | V8_TAG, offset);

	if (may_be_part(v8, sink, part))
		heap_sink_part(sink, owner, part - V8_TAG, 0, true);
}

/* Finds the parts before references are added: the owner of a part adds its references. */
static void find_parts(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	const struct v8_map *found = v8_map_of(v8, sink->starts[node] | V8_TAG);
	struct v8_map map;

	if (!found || !found->is_receiver)
		return;
	map = *found;
	add_part(v8, sink, node, v8_place(v8, V8_OBJECT_PROPERTIES));
	if (!v8_is_type(v8, &map, V8_TYPE_GLOBAL))
		add_part(v8, sink, node, v8_place(v8, V8_OBJECT_ELEMENTS));
	if (has_table(v8, &map))
		add_part(v8, sink, node, COLLECTION_TABLE);
	if (is_weak_collection(v8, &map)) {
		const struct v8_map *table =
			v8_map_of(v8, v8_field(v8, sink->starts[node] | V8_TAG, COLLECTION_TABLE));

		v8->ephemerons = table ? table->type : v8->ephemerons;
	}
}

/* Roots. */

static int refer_variable(struct v8 *v8, struct heap_sink *sink, uint64_t cell)
{
	char name[V8_NAME_BYTES], root[V8_NAME_BYTES + 8];
	uint64_t value = v8_field(v8, cell, CELL_VALUE);

	if (!v8_is_type(v8, v8_map_of(v8, cell), V8_TYPE_PROPERTY_CELL) ||
	    object_node(sink, value) == BLOCK_NONE ||
	    !v8_identifier(v8, v8_field(v8, cell, CELL_NAME), name))
		return 0;
	snprintf(root, sizeof(root), "global %s", name);
	return v8_add_root(sink, root, value);
}

static int refer_globals(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	uint64_t table =
		v8_field(v8, sink->starts[node] | V8_TAG, v8_place(v8, V8_OBJECT_PROPERTIES));
	uint64_t size = size_of(sink, table);
	int error = 0;

	for (uint64_t at = v8_place(v8, V8_ARRAY_DATA); !error && at + 8 <= size; at += 8)
		error = refer_variable(v8, sink, v8_field(v8, table, at));
	return error;
}

/* A native context is in the constructor member of its own map. */
bool v8_is_native_context(struct v8 *v8, uint64_t object)
{
	const struct v8_map *map = v8_map_of(v8, object);

	return map && v8_is_context(v8, map) &&
	       target_word(v8->memory, map->address + v8_place(v8, V8_MAP_CONSTRUCTOR)) == object;
}

static int find_function_roots(struct v8 *v8, struct heap_sink *sink, uint64_t function)
{
	const struct v8_map *map = v8_map_of(v8, function);
	size_t place = (size_t)(map - v8->maps.items);
	int error = v8_describe(v8, sink, place);

	map = &v8->maps.items[place];
	if (!error && !v8->cache && (map->has_cache || map->is_dictionary))
		error = v8_find_cache(v8, sink, function);
	return error ? error : v8_find_module(v8, sink, function);
}

static int find_roots(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	uint64_t object = sink->starts[node] | V8_TAG;
	const struct v8_map *map = v8_map_of(v8, object);

	if (map && v8_is_type(v8, map, V8_TYPE_GLOBAL))
		return refer_globals(v8, sink, node);
	if (v8_is_native_context(v8, object))
		return v8_add_root(sink, "native context", object);
	if (map && v8_place(v8, V8_TYPE_ES_MODULE) && v8_is_type(v8, map, V8_TYPE_ES_MODULE))
		return v8_add_exports(v8, sink, node);
	if (map && map->is_function)
		return find_function_roots(v8, sink, object);
	return 0;
}

/* Writes the name of the variable at a word of a context; returns false if it has none. */
static bool context_variable(struct v8 *v8, uint64_t context, uint64_t offset,
			     char name[V8_NAME_BYTES])
{
	uint64_t data = v8_place(v8, V8_ARRAY_DATA), slots = v8_place(v8, V8_CONTEXT_SLOTS);
	uint64_t scope = v8_field(v8, context, data + 8 * v8_place(v8, V8_CONTEXT_SCOPE));
	uint64_t slot = (offset - data) / 8;
	uint64_t extension = v8_field(v8, context, data + 8 * slots);

	/* In the scope of an ES module, the module itself precedes its variables. */
	if (v8_place(v8, V8_TYPE_ES_MODULE) &&
	    v8_is_type(v8, v8_map_of(v8, extension), V8_TYPE_ES_MODULE))
		slots++;
	return slot >= slots && v8_variable_name(v8, scope, slot - slots, name);
}

static int add_variables(struct v8 *v8, struct heap_sink *sink, const struct v8_module *module)
{
	uint64_t size = size_of(sink, module->context);
	int error = 0;

	for (uint64_t at = v8_place(v8, V8_ARRAY_DATA); !error && at + 8 <= size; at += 8) {
		char name[V8_NAME_BYTES], root[3 * V8_NAME_BYTES];
		uint64_t value = v8_field(v8, module->context, at);

		if (object_node(sink, value) == BLOCK_NONE ||
		    !context_variable(v8, module->context, at, name))
			continue;
		snprintf(root, sizeof(root), "module %s %s", module->name, name);
		error = v8_add_root(sink, root, value);
	}
	return error ? error : heap_sink_namespace(sink, object_node(sink, module->context));
}

static bool is_mine(const struct v8 *v8, const struct heap_sink *sink, uint32_t node)
{
	return node_has_class(sink->whats[node]) && v8_chunk_at(v8, sink->starts[node]);
}

/* Adds the embedder's data of a context: its environment. */
static int add_embedder_roots(struct v8 *v8, struct heap_sink *sink, uint32_t node)
{
	const struct v8_map *map = v8_map_of(v8, sink->starts[node] | V8_TAG);
	uint64_t size = MIN(sink->sizes[node], (uint64_t)EMBEDDER_BYTES_MAX);
	int error = 0;

	if (!map || map->type >= V8_TYPES || !v8->types[map->type].is_embedder)
		return 0;
	for (uint64_t at = 16; !error && at + 8 <= size; at += 8) {
		uint64_t word = v8_field(v8, sink->starts[node] | V8_TAG, at);

		if (is_native(sink, word))
			error = heap_sink_apart_root(sink, V8_KEY, "embedder data of a context",
						     word, MANAGED_OWN);
	}
	return error;
}

int v8_roots(void *state, struct heap_sink *sink)
{
	struct v8 *v8 = state;
	int error;

	v8_settle_promises(v8, sink);
	error = v8_name_functions(v8, sink);

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (!is_mine(v8, sink, i))
			continue;
		find_parts(v8, sink, i);
		v8->part_words_left += HOLDERS * sink->sizes[i] / 8;
	}
	if (!error)
		error = v8_find_external(v8, sink);
	if (!error)
		error = v8_claim_native(v8, sink);
	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (is_mine(v8, sink, i) && !(sink->whats[i] & NODE_PART))
			error = v8_find_events(v8, sink, i);
		if (!error && is_mine(v8, sink, i))
			error = add_embedder_roots(v8, sink, i);
	}
	for (uint32_t i = 0; !error && i < sink->count; i++) {
		if (is_mine(v8, sink, i) && !(sink->whats[i] & NODE_PART))
			error = find_roots(v8, sink, i);
	}
	for (size_t i = 0; !error && i < v8->modules.count; i++) {
		if (!v8->modules.items[i].again)
			error = add_variables(v8, sink, &v8->modules.items[i]);
	}
	return error;
}

/* References. */

/* Returns the label of the property whose value is at an index of words; 0: none. */
static uint32_t property_label(const struct v8_map *map, uint64_t place, bool outside)
{
	uint64_t order = v8_property_order(place, outside);
	size_t at = SORTED_BEFORE(property, map->properties.items, map->properties.count,
				  v8_property_order(property->place, property->outside) < order);

	if (at == map->properties.count ||
	    v8_property_order(map->properties.items[at].place, map->properties.items[at].outside) !=
		    order)
		return 0;
	return map->properties.items[at].label;
}

static int refer_properties(const struct referrer *referrer, uint64_t object, uint64_t from,
			    uint64_t size, bool outside)
{
	int error = 0;

	for (uint64_t at = from; !error && at + 8 <= size; at += 8)
		error = (outside ? refer_to
				 : refer_to_any)(referrer, v8_field(referrer->v8, object, at),
						 property_label(&referrer->map, at / 8, outside));
	return error;
}

/* Returns the label of a dictionary's entry by its key; 0: none. */
static uint32_t entry_label(const struct referrer *referrer, uint64_t key)
{
	bool is_cache = referrer->object == referrer->v8->cache;
	char name[V8_NAME_BYTES], text[V8_NAME_BYTES + 24];

	if (is_cache ? !v8_text(referrer->v8, key, name) : !v8_identifier(referrer->v8, key, name))
		return 0;
	snprintf(text, sizeof(text), is_cache ? "<module %s>" : "<listeners on '%s'>",
		 is_cache ? text_path_in_package(name) : name);
	return heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, text);
}

/* Adds the references of a dictionary of listeners, or of modules, where the value follows the
 * name. */
static int refer_entries(const struct referrer *referrer)
{
	struct v8 *v8 = referrer->v8;
	uint64_t table = v8_field(v8, referrer->object, v8_place(v8, V8_OBJECT_PROPERTIES));
	uint64_t size = size_of(referrer->sink, table);
	uint32_t label = 0;
	int error = refer_to(referrer, table, 0);

	for (uint64_t at = v8_place(v8, V8_ARRAY_DATA); !error && at + 8 <= size; at += 8) {
		uint64_t word = v8_field(v8, table, at);

		error = refer_to(referrer, word, label);
		label = entry_label(referrer, word);
	}
	return error;
}

static void say_shared(const struct referrer *referrer)
{
	struct walk_report *report = &referrer->sink->reports.items[referrer->v8->report];

	if (!report->why)
		report->why = "its objects share arrays again and again: not all of what they hold "
			      "by these was read";
}

/* Adds references to an array that is part of an object, and to its items. Once objects are found
 * to share arrays too often, only to the array itself. */
static int refer_part(const struct referrer *referrer, uint64_t offset, bool indexed, bool named)
{
	struct v8 *v8 = referrer->v8;
	uint64_t part = v8_field(v8, referrer->object, offset);
	uint64_t size = size_of(referrer->sink, part), data = v8_place(v8, V8_ARRAY_DATA);
	const struct v8_map *map = v8_map_of(v8, part);
	int error;

	if (!size || !map)
		return 0;
	error = refer_to(referrer, part, 0);
	if (error || map->is_receiver || v8_kind_of(v8, map) == V8_DOUBLES ||
	    v8_kind_of(v8, map) == V8_BYTES)
		return error;
	if (size / 8 > v8->part_words_left) {
		say_shared(referrer);
		return 0;
	}
	v8->part_words_left -= size / 8;
	return named ? refer_properties(referrer, part, data, size, true)
		     : refer_words(referrer, part, data, size, indexed);
}

/* Returns whether elements are indexed; in a dictionary they are not. */
static bool has_indexes(const struct referrer *referrer)
{
	struct v8 *v8 = referrer->v8;
	const struct v8_map *map =
		v8_map_of(v8, v8_field(v8, referrer->object, v8_place(v8, V8_OBJECT_ELEMENTS)));

	return map && map->type < V8_TYPES && v8->types[map->type].name;
}

static int refer_receiver(const struct referrer *referrer)
{
	struct v8 *v8 = referrer->v8;
	const struct v8_map *map = &referrer->map;
	uint64_t elements = v8_place(v8, V8_OBJECT_ELEMENTS), first = elements + 8;
	int error;

	/* Its variables are roots: nothing else holds them. */
	if (v8_is_type(v8, map, V8_TYPE_GLOBAL))
		return refer_to(referrer,
				v8_field(v8, referrer->object, v8_place(v8, V8_OBJECT_PROPERTIES)),
				0);
	error = map->is_dictionary && (hash_get(&v8->events_index, referrer->object) ||
				       referrer->object == v8->cache)
			? refer_entries(referrer)
			: refer_part(referrer, v8_place(v8, V8_OBJECT_PROPERTIES), false,
				     !map->is_dictionary);
	if (!error)
		error = refer_part(referrer, elements, has_indexes(referrer), false);
	if (!error && has_table(v8, map))
		error = refer_part(referrer, COLLECTION_TABLE, false, false);
	if (!error)
		error = v8_refer_store(v8, referrer->sink, referrer->node);
	if (v8_is_type(v8, map, V8_TYPE_WEAK_REF))
		first = WEAK_REF_TARGET + 8;
	return error ? error
		     : refer_properties(referrer, referrer->object, first, referrer->size, false);
}

/* Adds the variables of a function used by its closures; those of a module are roots, and held by
 * nothing else. */
static int refer_context(const struct referrer *referrer)
{
	struct v8 *v8 = referrer->v8;
	bool is_module = v8_module_of(v8, referrer->object);
	int error = 0;

	for (uint64_t at = v8_place(v8, V8_ARRAY_DATA); !error && at + 8 <= referrer->size;
	     at += 8) {
		char name[V8_NAME_BYTES];
		uint32_t label = 0;

		if (context_variable(v8, referrer->object, at, name)) {
			if (is_module)
				continue;
			label = heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, name);
		}
		error = refer_to(referrer, v8_field(v8, referrer->object, at), label);
	}
	return error;
}

/* Adds the values of entries, each held by its key; the keys are held by others. */
static int refer_ephemerons(const struct referrer *referrer)
{
	uint64_t data = v8_place(referrer->v8, V8_ARRAY_DATA) + 3 * 8;
	int error = 0;

	for (uint64_t at = data + 8; !error && at + 8 <= referrer->size; at += 16)
		error = refer_to(
			referrer, v8_field(referrer->v8, referrer->object, at),
			heap_sink_label(referrer->sink, LABEL_ATTRIBUTE, "<weak map value>"));
	return error;
}

/* Returns whether objects are texts or numbers, which hold nothing. */
static bool is_data(const struct v8 *v8, const struct v8_map *map)
{
	enum v8_kind kind = v8_kind_of(v8, map);

	return kind == V8_BYTES || kind == V8_DOUBLES || v8_is_free(kind) ||
	       v8_has_characters(v8, map);
}

static int refer_other(const struct referrer *referrer)
{
	const struct v8 *v8 = referrer->v8;
	uint64_t end = referrer->size;

	if (is_data(v8, &referrer->map))
		return 0;
	if (v8_kind_of(v8, &referrer->map) == V8_BYTECODE)
		end = MIN(end, v8_place(v8, V8_BYTECODE_DATA) & ~7ull);
	/* The instructions behind the header hold objects weakly. */
	if (v8_kind_of(v8, &referrer->map) == V8_CODE)
		end = MIN(end, CODE_HEADER_BYTES);
	if (v8->ephemerons && referrer->map.type == v8->ephemerons)
		return refer_ephemerons(referrer);
	/* Skips finalization registry, target, and unregister token. */
	if (v8_is_type(v8, &referrer->map, V8_TYPE_WEAK_CELL))
		return refer_words(referrer, referrer->object, 32, end, false);
	return refer_words(referrer, referrer->object, 8, end, false);
}

int v8_refer(void *state, struct heap_sink *sink, uint32_t node)
{
	struct v8 *v8 = state;
	struct referrer referrer = {.v8 = v8,
				    .sink = sink,
				    .node = node,
				    .object = sink->starts[node] | V8_TAG,
				    .size = sink->sizes[node]};
	const struct v8_map *map = v8_map_of(v8, referrer.object);
	size_t place;
	int error;

	if (!map)
		return 0;
	place = (size_t)(map - v8->maps.items);
	error = v8_describe(v8, sink, place);
	if (error)
		return error;
	/* The list may be reallocated while other maps are looked up. */
	referrer.map = v8->maps.items[place];
	if (referrer.map.is_receiver)
		return refer_receiver(&referrer);
	return v8_is_context(v8, &referrer.map) ? refer_context(&referrer) : refer_other(&referrer);
}
