// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Functions by their place in the source.
 *
 * A closure leads to a SharedFunctionInfo, which leads to its script and, by a ScopeInfo or, until
 * it is compiled, by the UncompiledData in its place, to its position in the script. Of the source,
 * only the ends of lines are searched (src/objects/scope-info.tq, script.tq).
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "base/text.h"
#include "heap/runtime/v8/v8.h"

#define CLOSURES_MIN 10 /* from one place: fewer are named Function without a place */
#define CHUNK_BYTES 4096u
#define SCOPE_TAIL_WORDS 10
#define KIND_SHIFT 60	 /* above any address */
#define CALL_FUNCTION 24 /* JSGeneratorObject::function, behind the header of an object */

/* Places. */

uint64_t v8_shared_of(struct v8 *v8, uint64_t function)
{
	const struct v8_map *map = v8_map_of(v8, function);
	uint64_t shared;

	if (!map || !map->is_function)
		return 0;
	shared = v8_field(v8, function, v8_place(v8, V8_FUNCTION_SHARED));
	return v8_is_type(v8, v8_map_of(v8, shared), V8_TYPE_SHARED) ? shared : 0;
}

static bool is_call(const struct v8 *v8, const struct v8_map *map)
{
	return (v8_place(v8, V8_TYPE_CALL) && v8_is_type(v8, map, V8_TYPE_CALL)) ||
	       (v8_place(v8, V8_TYPE_GENERATOR_CALL) &&
		v8_is_type(v8, map, V8_TYPE_GENERATOR_CALL));
}

uint64_t v8_call_shared(struct v8 *v8, uint64_t object)
{
	const struct v8_map *map = v8_map_of(v8, object);

	return map && is_call(v8, map) ? v8_shared_of(v8, v8_field(v8, object, CALL_FUNCTION)) : 0;
}

static int add_place(struct v8 *v8, struct heap_sink *sink, const struct v8_code_place *place,
		     uint64_t *slot)
{
	const struct managed_class class = {.name = "Function", .runtime = V8_KEY, .tag = V8_TAG};
	struct v8_code_place *added = vec_push(&v8->code_places);

	if (!added)
		return -ENOMEM;
	*added = *place;
	*slot = v8->code_places.count;
	return heap_sink_class(sink, &class, &added->number);
}

int v8_add_place(struct v8 *v8, struct heap_sink *sink, const struct v8_code_place *place,
		 uint32_t *number)
{
	uint64_t *slot;
	int error = 0;

	slot = hash_put(&v8->place_index, place->shared | (uint64_t)place->kind << KIND_SHIFT,
			NULL);
	if (!slot)
		return -ENOMEM;
	if (!*slot)
		error = add_place(v8, sink, place, slot);
	if (!error)
		*number = v8->code_places.items[*slot - 1].number;
	return error;
}

int v8_note_function(struct v8 *v8, struct heap_sink *sink, uint64_t object, uint32_t *number)
{
	const struct v8_map *map = v8_map_of(v8, object);
	struct v8_code_place place = {.base = *number, .kind = V8_OF_FUNCTION};

	if (!map || !v8_place(v8, V8_SHARED_SCRIPT))
		return 0;
	place.shared = v8_call_shared(v8, object);
	if (place.shared)
		place.kind = V8_OF_CALL;
	else
		place.shared = v8_shared_of(v8, object);
	return place.shared ? v8_add_place(v8, sink, &place, number) : 0;
}

/* Scripts. */

static uint64_t script_of(struct v8 *v8, uint64_t shared)
{
	uint64_t script = v8_field(v8, shared, v8_place(v8, V8_SHARED_SCRIPT));

	return v8_place(v8, V8_TYPE_SCRIPT) && v8_is_type(v8, v8_map_of(v8, script), V8_TYPE_SCRIPT)
		       ? script
		       : 0;
}

/* Writes the name of a script, "server.js", "mem/index.js" or "node:internal/timers"; returns false
 * if it has none. */
static bool script_name(struct v8 *v8, uint64_t script, char name[V8_NAME_BYTES])
{
	char text[V8_NAME_BYTES];

	if (!script || !v8_text(v8, v8_field(v8, script, v8_place(v8, V8_SCRIPT_NAME)), text))
		return false;
	snprintf(name, V8_NAME_BYTES, "%s", text_path_in_package(text));
	return name[0] != '\0';
}

static int add_line(struct v8_script *script, uint32_t end)
{
	uint32_t *added = vec_push(&script->ends);

	if (!added)
		return -ENOMEM;
	*added = end;
	return 0;
}

bool v8_is_named(const struct v8 *v8, const struct v8_map *map, const char *name)
{
	return map && map->type < V8_TYPES && v8->types[map->type].name &&
	       !strncmp(v8->types[map->type].name, name, strlen(name));
}

/* Takes the line ends that V8 keeps once an exception needed a stack trace. */
static int take_line_ends(struct v8 *v8, uint64_t ends, struct v8_script *script)
{
	uint64_t count = v8_number(v8_field(v8, ends, v8_place(v8, V8_ARRAY_LENGTH)));
	uint32_t last = 0;
	int error = 0;

	for (uint64_t i = 0; !error && i < count; i++) {
		uint64_t word = v8_field(v8, ends, v8_place(v8, V8_ARRAY_DATA) + i * 8);

		if ((i && v8_number(word) <= last) || word & 1 || !v8_take(&v8->source_left)) {
			script->ends.count = 0;
			break;
		}
		last = (uint32_t)v8_number(word);
		error = add_line(script, last);
	}
	return error;
}

static int scan_chunk(struct v8_script *script, const unsigned char *bytes, uint32_t from,
		      uint32_t count, uint32_t width)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < count; i++) {
		if (bytes[i * width] == '\n' && (width == 1 || !bytes[i * width + 1]))
			error = add_line(script, from + i);
	}
	return error;
}

/* A flattened concatenation has all text in its first part. */
static int find_line_ends(struct v8 *v8, uint64_t source, struct v8_script *script)
{
	struct v8_text_place text;
	unsigned char bytes[CHUNK_BYTES];
	int error = 0;

	if (!v8_text_place(v8, source, &text) ||
	    (uint64_t)text.length * text.width > v8->source_left)
		return 0;
	v8->source_left -= text.length * text.width;
	for (uint32_t i = 0; !error && i < text.length;) {
		uint32_t count = MIN(text.length - i, CHUNK_BYTES / text.width);

		if (target_read(v8->memory, text.address + (uint64_t)i * text.width, bytes,
				count * text.width))
			return 0;
		error = scan_chunk(script, bytes, i, count, text.width);
		i += count;
	}
	script->length = text.length;
	return error;
}

/* Returns the script at an address; NULL: out of memory. */
static const struct v8_script *read_script(struct v8 *v8, uint64_t address)
{
	uint64_t *slot = hash_put(&v8->script_index, address, NULL), ends;
	struct v8_script *script;

	if (!slot)
		return NULL;
	if (*slot)
		return &v8->scripts.items[*slot - 1];
	script = vec_push(&v8->scripts);
	if (!script)
		return NULL;
	*script = (struct v8_script){0};
	*slot = v8->scripts.count;
	ends = v8_field(v8, address, v8_place(v8, V8_SCRIPT_LINES));
	if (v8_is_named(v8, v8_map_of(v8, ends), "FixedArray__"))
		take_line_ends(v8, ends, script);
	if (!script->ends.count)
		find_line_ends(v8, v8_field(v8, address, v8_place(v8, V8_SCRIPT_SOURCE)), script);
	return script;
}

/* Returns a line number, from 1 on; 0: unknown. */
static uint32_t line_at(const struct v8_script *script, uint32_t position)
{
	size_t before = SORTED_BEFORE(end, script->ends.items, script->ends.count, *end < position);

	return script->ends.count ? (uint32_t)before + 1 : 0;
}

/* Positions. */

static bool is_number(uint64_t word)
{
	return !(uint32_t)word && word >> 32 < INT32_MAX;
}

/* Finds the two numbers of a position, which precede an outer scope or the next object. */
static bool scope_position(struct v8 *v8, uint64_t scope, uint32_t *position)
{
	uint64_t words[SCOPE_TAIL_WORDS + 2], first = v8_scope_tail(v8, scope);

	/* Since 13 they precede the variables. */
	if (v8_place(v8, V8_SCOPE_FIRST) >= SCOPE_FIRST_WITH_POSITION)
		first = v8_place(v8, V8_SCOPE_FIRST) - 2;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = v8_field(v8, scope, 8 + (first + i) * 8);
	for (size_t i = 0; i < SCOPE_TAIL_WORDS; i++) {
		bool follows = v8_place(v8, V8_SCOPE_FIRST) >= SCOPE_FIRST_WITH_POSITION ||
			       (v8_is_object(words[i + 2]) && !v8_is_text(v8, words[i + 2]));

		if (v8_map_at(v8, words[i]))
			break;
		if (!is_number(words[i]) || !is_number(words[i + 1]) || words[i] >= words[i + 1] ||
		    !follows)
			continue;
		*position = (uint32_t)v8_number(words[i]);
		return true;
	}
	return false;
}

/* Finds the position of a function that is not compiled yet, or not any more. */
static bool uncompiled_position(struct v8 *v8, uint64_t shared, uint32_t *position)
{
	for (uint64_t at = 8; v8_place(v8, V8_UNCOMPILED_START) && at < 64; at += 8) {
		uint64_t word = v8_field(v8, shared, at);

		if (!v8_is_named(v8, v8_map_of(v8, word), "UncompiledData"))
			continue;
		return !target_read(v8->memory, word - V8_TAG + v8_place(v8, V8_UNCOMPILED_START),
				    position, sizeof(*position));
	}
	return false;
}

static bool own_position(struct v8 *v8, uint64_t shared, uint32_t *position)
{
	uint64_t scope = v8_field(v8, shared, v8_place(v8, V8_SHARED_NAME));

	return v8_is_type(v8, v8_map_of(v8, scope), V8_TYPE_SCOPE_INFO)
		       ? scope_position(v8, scope, position)
		       : uncompiled_position(v8, shared, position);
}

uint32_t v8_line_at(struct v8 *v8, uint64_t shared, uint32_t position)
{
	uint64_t script = script_of(v8, shared);
	const struct v8_script *read = script ? read_script(v8, script) : NULL;

	if (!read || (read->length && position >= read->length))
		return 0;
	return line_at(read, position);
}

uint32_t v8_line_of(struct v8 *v8, uint64_t shared)
{
	uint32_t position;

	return own_position(v8, shared, &position) ? v8_line_at(v8, shared, position) : 0;
}

bool v8_script_path(struct v8 *v8, uint64_t shared, char path[V8_NAME_BYTES])
{
	static const char scheme[] = "file://";
	uint64_t script = script_of(v8, shared);

	path[0] = '\0';
	if (!script || !v8_text(v8, v8_field(v8, script, v8_place(v8, V8_SCRIPT_NAME)), path))
		return false;
	if (text_begins(path, scheme))
		memmove(path, path + strlen(scheme), strlen(path + strlen(scheme)) + 1);
	return path[0] != '\0';
}

bool v8_script_name(struct v8 *v8, uint64_t shared, char name[V8_NAME_BYTES])
{
	return script_name(v8, script_of(v8, shared), name);
}

bool v8_place_text(struct v8 *v8, uint64_t shared, char text[V8_PLACE_BYTES])
{
	uint64_t script = script_of(v8, shared);
	char function[V8_NAME_BYTES], file[V8_NAME_BYTES];
	uint32_t line;
	int length;

	text[0] = '\0';
	if (!script_name(v8, script, file))
		return false;
	v8_shared_name(v8, shared, function);
	line = v8_line_of(v8, shared);
	length = snprintf(text, V8_PLACE_BYTES, "%s%s%s", function, function[0] ? " " : "", file);
	if (line)
		snprintf(text + length, 16, ":%u", line);
	return true;
}

/* Writes the class name of a place, "Function onData server.js:17"; returns false if its script is
 * unknown. */
static bool place_name(struct v8 *v8, const struct v8_code_place *place,
		       char name[V8_PLACE_BYTES + 64])
{
	static const char *const kinds[] = {
		[V8_OF_FUNCTION] = "Function",
		[V8_OF_CALL] = "async function",
		[V8_OF_TIMER] = "Timeout of",
		[V8_OF_PROMISE] = "Promise of async function",
		[V8_OF_AWAITED] = "Promise awaited in async function",
		[V8_OF_THEN] = "Promise with then",
	};
	char text[V8_PLACE_BYTES];

	if (!v8_place_text(v8, place->shared, text))
		return false;
	snprintf(name, V8_PLACE_BYTES + 64, "%s %s", kinds[place->kind], text);
	return true;
}

/* Returns in *number the class for nodes of a place: a new one, that of a place with the same name,
 * or that of all functions. */
static int settle_place(struct v8 *v8, struct heap_sink *sink, const struct v8_code_place *place,
			uint32_t *number)
{
	char name[V8_PLACE_BYTES + 64];
	const char *interned;
	uint64_t *known;

	if (!place_name(v8, place, name)) {
		*number = place->base;
		return 0;
	}
	interned = intern_string(sink->strings, name);
	known = interned ? hash_put(&v8->class_index, (uint64_t)(uintptr_t)interned, NULL) : NULL;
	if (!known)
		return -ENOMEM;
	if (!*known) {
		sink->classes.items[place->number].name = interned;
		*known = place->number + 1ull;
	}
	*number = (uint32_t)(*known - 1);
	return 0;
}

static void renumber(struct heap_sink *sink, const uint32_t *numbers)
{
	for (uint32_t i = 0; i < sink->count; i++) {
		uint32_t what = sink->whats[i];

		if (node_has_class(what))
			sink->whats[i] = (what & ~NODE_CLASS) | numbers[what & NODE_CLASS];
	}
}

int v8_name_functions(struct v8 *v8, struct heap_sink *sink)
{
	size_t classes = sink->classes.count;
	_cleanup_free_ uint32_t *numbers = calloc(classes + 1, sizeof(*numbers));
	_cleanup_free_ uint32_t *counts = calloc(classes + 1, sizeof(*counts));
	int error = 0;

	if (!numbers || !counts)
		return -ENOMEM;
	for (uint32_t i = 0; i < sink->count; i++) {
		if (node_has_class(sink->whats[i]))
			counts[sink->whats[i] & NODE_CLASS]++;
	}
	for (uint32_t i = 0; i < classes; i++)
		numbers[i] = i;
	for (size_t i = 0; !error && i < v8->code_places.count; i++) {
		const struct v8_code_place place = v8->code_places.items[i];

		if (counts[place.number] < CLOSURES_MIN)
			numbers[place.number] = place.base;
		else
			error = settle_place(v8, sink, &place, &numbers[place.number]);
	}
	if (!error)
		renumber(sink, numbers);
	return error;
}
