// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * V8: a program or library called node, nodejs, libnode, libv8, electron or deno. Its heap has
 * chunks of 256 KiB, and larger ones for large objects, aligned to 256 KiB.
 *
 * Objects lie one after the other in chunks. Each begins with its map, which gives its size, or a
 * type that determines where the length is; an object of an unknown type extends to the next word
 * that is a map. Allocation areas are skipped.
 */
#include "heap/runtime/v8/v8.h"

#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/search.h"
#include "heap/runtime/class_origin.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/v8/reader.h"

#define SOURCE_MAX (1u << 26) /* characters, for lines */
/* Tolerated share of inconsistent objects in an untested version: one in this many. */
#define NONSENSE_SHARE 1000
#define OBJECT_BYTES_MIN 8

bool v8_is_mapped(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"node", true},	  {"nodejs", true},
						   {"libnode.so", false}, {"libv8.so", false},
						   {"electron", true},	  {"deno", true}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

const char *v8_named_why(const struct maps *maps)
{
	static const struct {
		struct module_name name;
		const char *why;
	} programs[] = {
		{{"deno", true}, "Deno's V8 does not describe its structures: not read"},
		{{"electron", true},
		 "Electron's V8 does not describe its structures, and its pointers are "
		 "compressed: not read"},
	};

	for (size_t i = 0; i < maps->list.count; i++) {
		for (size_t j = 0; j < ARRAY_SIZE(programs); j++) {
			if (mapping_is_module(&maps->list.items[i], &programs[j].name, 1))
				return programs[j].why;
		}
	}
	return NULL;
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       mapping->start % V8_PAGE == 0 && !mapping_may_be_arena(mapping);
}

/* Objects in chunks. */

struct walk {
	struct v8 *v8;
	struct heap_sink *sink;
	struct walk_report *report;
	const struct v8_chunk *chunk;
	uint64_t objects, moved;
};

/* Returns the end of the allocation area that begins at an address, or the address itself. */
static uint64_t skip_areas(const struct v8 *v8, uint64_t address)
{
	size_t at = SORTED_BEFORE(area, v8->areas.items, v8->areas.count, area->top < address);

	if (at == v8->areas.count || v8->areas.items[at].top != address)
		return address;
	return v8->areas.items[at].limit;
}

/* Returns whether an object, an area or the end of the chunk is at an address. */
static bool is_boundary(const struct walk *walk, uint64_t address)
{
	struct v8 *v8 = walk->v8;

	return address >= walk->chunk->limit || skip_areas(v8, address) != address ||
	       v8_map_at(v8, target_word(v8->memory, address));
}

static uint64_t next_boundary(const struct walk *walk, uint64_t address)
{
	uint64_t limit = walk->chunk->limit;

	/* Stop once all further reads fail. */
	while (address < limit && !is_boundary(walk, address))
		address = target_memory_overworked(walk->v8->memory) ? limit : address + 8;
	return MIN(address, limit);
}

static uint64_t string_bytes(struct v8 *v8, const struct v8_map *map, uint64_t address)
{
	bool one_byte = map->type & v8_place(v8, V8_ENCODING_MASK);
	uint32_t length;

	if (target_read(v8->memory, address + v8_place(v8, V8_STRING_LENGTH), &length,
			sizeof(length)))
		return 0;
	return align_up(v8_place(v8, V8_STRING_CHARACTERS) + (uint64_t)length * (one_byte ? 1 : 2),
			8);
}

static bool fits(const struct walk *walk, uint64_t address, uint64_t size)
{
	return size <= walk->chunk->limit - address && is_boundary(walk, address + size);
}

/* Returns the size by its length; if no object follows, up to the next one. A native context has
 * one more word, behind words that are maps. */
static uint64_t words_bytes(const struct walk *walk, const struct v8_map *map, uint64_t address,
			    uint64_t length)
{
	uint64_t size = v8_place(walk->v8, V8_ARRAY_DATA) + v8_number(length) * 8;
	bool is_context = v8_is_context(walk->v8, map);

	/* Not a Smi. */
	if ((uint32_t)length)
		return next_boundary(walk, address + 16) - address;

	if (fits(walk, address, size))
		return size;
	if (is_context && fits(walk, address, size + 8))
		return size + 8;
	return next_boundary(walk, address + 16) - address;
}

/* Returns the size of words that include maps, behind a header of a version-dependent size: the
 * first size after which an object follows. */
static uint64_t feedback_bytes(const struct walk *walk, uint64_t address, uint32_t length)
{
	static const uint16_t headers[] = {40, 48, 56};
	struct v8 *v8 = walk->v8;
	uint16_t fitting = 0;

	for (size_t i = 0; !v8->feedback_header && i < ARRAY_SIZE(headers); i++) {
		if (!fits(walk, address, headers[i] + length * 8ull))
			continue;
		if (fitting)
			return next_boundary(walk, address + 16) - address;
		fitting = headers[i];
	}
	v8->feedback_header = v8->feedback_header ? v8->feedback_header : fitting;
	return v8->feedback_header + length * 8ull;
}

/* Code has maps among its constants: it extends to the next code, or to free memory. */
static uint64_t code_bytes(const struct walk *walk, uint16_t type, uint64_t address)
{
	struct v8 *v8 = walk->v8;
	uint64_t next = address;

	while (next < walk->chunk->limit) {
		const struct v8_map *map;

		next = next_boundary(walk, next + 8);
		if (next >= walk->chunk->limit || skip_areas(v8, next) != next)
			break;
		map = v8_map_at(v8, target_word(v8->memory, next));
		if (map && (map->type == type || v8_is_free(v8_kind_of(v8, map))))
			break;
	}
	return next - address;
}

static uint64_t varying_bytes(const struct walk *walk, const struct v8_map *map, uint64_t address)
{
	struct v8 *v8 = walk->v8;
	uint64_t word = target_word(v8->memory, address + 8), length = v8_number(word);
	uint64_t data = v8_place(v8, V8_ARRAY_DATA);

	if (map->type < v8_place(v8, V8_FIRST_NONSTRING))
		return string_bytes(v8, map, address);
	switch (v8_kind_of(v8, map)) {
	case V8_BYTES:
		return align_up(data + length, 8);
	case V8_BYTECODE:
		return align_up(v8_place(v8, V8_BYTECODE_DATA) + length, 8);
	case V8_FREE:
		return length;
	case V8_FREE_WORDS:
		return length * 8;
	case V8_DOUBLES:
		return data + length * 8;
	case V8_PROPERTIES:
		return data + (length & 0x3ff) * 8;
	case V8_DESCRIPTORS:
		return v8_place(v8, V8_DESCRIPTORS_HEADER) +
		       (word & 0xffff) * 8 * v8_place(v8, V8_DESCRIPTOR_WORDS);
	case V8_LIST:
		return data + 8 + length * 8;
	case V8_FEEDBACK:
		return feedback_bytes(walk, address, (uint32_t)word);
	case V8_SCOPED:
		return next_boundary(walk, address + 16) - address;
	case V8_CODE:
		return code_bytes(walk, map->type, address);
	default:
		return words_bytes(walk, map, address, word);
	}
}

static int give_class(struct walk *walk, struct v8_map *map, uint32_t *number)
{
	struct v8 *v8 = walk->v8;
	size_t place = (size_t)(map - v8->maps.items);
	char name[V8_NAME_BYTES];
	struct managed_class class = {.name = name, .runtime = V8_KEY, .tag = V8_TAG};
	const char *interned;
	uint64_t *known;
	int error = 0;

	v8_class_name(v8, map, name);
	class.describes = !strcmp(name, "(Map)");
	interned = intern_string(walk->sink->strings, name);
	known = interned ? hash_put(&v8->class_index, (uint64_t)(uintptr_t)interned, NULL) : NULL;
	if (!known)
		return -ENOMEM;
	if (!*known) {
		error = heap_sink_class(walk->sink, &class, number);
		*known = error ? 0 : *number + 1ull;
	}
	*number = (uint32_t)(*known - 1);
	v8->maps.items[place].number = *number;
	return error;
}

/* Since 14.6 each hole ends with 64 KiB that are unreadable, and take no memory. */
static uint64_t readable_bytes(const struct v8 *v8, uint64_t address, uint64_t size)
{
	const struct mapping *mapping = maps_find(v8->memory->maps, address);
	const struct mapping *next;

	if (!mapping || size < MEMORY_PAGE || mapping->end - address >= size)
		return size;
	next = maps_find(v8->memory->maps, mapping->end);
	return next && !next->readable ? mapping->end - address : size;
}

static int add_object(struct walk *walk, struct v8_map *map, uint64_t address, uint64_t size)
{
	/* Four letters, or a hash, may look like an address in the heap of a program that is not
	 * position-independent. */
	uint32_t number = map->number,
		 flags = v8_has_native(walk->v8, map) ? NODE_OBJECT : NODE_PRECISE;
	int error = 0;

	if (v8_is_free(v8_kind_of(walk->v8, map))) {
		walk->report->free_bytes += size;
		return 0;
	}
	if (number == UINT32_MAX)
		error = give_class(walk, map, &number);
	if (!error)
		error = v8_note_function(walk->v8, walk->sink, address | V8_TAG, &number);
	if (!error)
		error = v8_note_pending(walk->v8, walk->sink, address | V8_TAG, &number);
	walk->objects++;
	size = readable_bytes(walk->v8, address, size);
	return error ? error : heap_sink_add(walk->sink, address, size, number | flags);
}

/* Visits the objects of a chunk up to its limit. Where no object begins, it resynchronises at the
 * next word that is a map. */
static int walk_objects(struct walk *walk)
{
	struct v8 *v8 = walk->v8;
	uint64_t address = walk->chunk->start, limit = walk->chunk->limit;
	int error = 0;

	while (!error && address + OBJECT_BYTES_MIN <= limit) {
		uint64_t next = skip_areas(v8, address), size;
		struct v8_map *map;

		if (next != address) {
			walk->report->free_bytes += next - address;
			address = next;
			continue;
		}
		map = v8_map_at(v8, target_word(v8->memory, address));
		size = map ? map->size ? map->size : varying_bytes(walk, map, address) : 0;
		if (size < OBJECT_BYTES_MIN || size & 7 || size > limit - address) {
			/* Zeros are fresh memory, reserved by a thread for new objects. */
			walk->report->nonsense += target_word(v8->memory, address) != 0;
			next = next_boundary(walk, address + 8);
			walk->report->free_bytes += next - address;
			address = next;
			continue;
		}
		map = v8_map_at(v8, target_word(v8->memory, address));
		error = add_object(walk, map, address, size);
		address += size;
	}
	return error;
}

/* Claims the header of a chunk, which points to malloc's blocks, such as its remembered set
 * (MutablePageMetadata: slot_set_, typed_slot_set_). */
static int claim(struct heap_sink *sink, const struct v8_chunk *chunk)
{
	int error = heap_sink_claim(sink, chunk->base, chunk->start - chunk->base, true);

	return error ? error
		     : heap_sink_claim(sink, chunk->start, chunk->base + chunk->size - chunk->start,
				       false);
}

static int walk_chunks(struct v8 *v8, struct heap_sink *sink, struct walk_report *report)
{
	struct walk walk = {.v8 = v8, .sink = sink, .report = report};
	_cleanup_(hash_free) struct hash heaps = {0};
	int error = 0;

	for (size_t i = 0; !error && i < v8->chunks.count; i++) {
		walk.chunk = &v8->chunks.items[i];
		/* All heaps share read-only chunks. */
		if (walk.chunk->heap && !hash_put(&heaps, walk.chunk->heap, NULL))
			return -ENOMEM;
		report->heap_bytes += walk.chunk->end - walk.chunk->start;
		report->free_bytes += walk.chunk->end - walk.chunk->limit;
		error = walk_objects(&walk);
		if (!error)
			error = claim(sink, walk.chunk);
	}
	report->objects = walk.objects;
	report->isolates = heaps.count;
	return error ? error : v8_place_promises(v8, sink);
}

static void note_filler(struct v8 *v8, uint16_t type)
{
	struct v8_type *behind = &v8->types[type + 1];

	v8->filler = type;
	/* Since 13 free memory has its size in words, and its type has no name. */
	if (!behind->name && !v8->has_free)
		*behind = (struct v8_type){.kind = V8_FREE_WORDS, .known = true};
}

/* Fillers of one word have a type that no other object of 8 bytes has. The alphabetically next type
 * fills larger gaps. */
static void find_filler(struct v8 *v8)
{
	for (size_t i = 0; i < v8->chunks.count && !v8->filler; i++) {
		const struct v8_chunk *chunk = &v8->chunks.items[i];

		for (uint64_t at = chunk->start;
		     chunk->meta && at + 8 <= chunk->end && !v8->filler &&
		     !target_memory_overworked(v8->memory);
		     at += 8) {
			const struct v8_map *map;

			if (target_word(v8->memory, at) != chunk->meta)
				continue;
			map = v8_map_at(v8, at | V8_TAG);
			if (map && map->size == 8 && map->type < V8_TYPES - 1)
				note_filler(v8, map->type);
		}
	}
}

void v8_forget(struct v8 *v8)
{
	for (size_t i = 0; i < v8->maps.count; i++)
		vec_free(&v8->maps.items[i].properties);
	vec_free(&v8->maps);
	for (size_t i = 0; i < v8->scripts.count; i++)
		vec_free(&v8->scripts.items[i].ends);
	vec_free(&v8->scripts);
	hash_free(&v8->map_index);
	hash_free(&v8->script_index);
	hash_free(&v8->chunk_index);
}

void v8_close(struct v8 *v8)
{
	v8_forget(v8);
	vec_free(&v8->chunks);
	vec_free(&v8->areas);
	vec_free(&v8->code_places);
	vec_free(&v8->promises);
	hash_free(&v8->makers);
	vec_free(&v8->modules);
	hash_free(&v8->place_index);
	hash_free(&v8->module_index);
	hash_free(&v8->module_names);
	hash_free(&v8->events_index);
	hash_free(&v8->class_index);
	free(v8);
}

static void end(void *state)
{
	v8_close(state);
}

/* Returns whether a collection has begun to move objects. */
static bool moves(struct target_memory *memory)
{
	const struct data_modules *modules = memory->modules;
	struct v8 *v8 = calloc(1, sizeof(*v8));
	bool collecting = false;

	if (!v8)
		return false;
	v8->memory = memory;
	for (size_t i = 0; i < modules->list.count && !collecting; i++) {
		if (v8_is_module(&modules->list.items[i]))
			collecting = v8_is_collecting(v8, &modules->list.items[i]);
	}
	v8_close(v8);
	return collecting;
}

/* Checks an untested version, in addition to its constants and chunks. Returns the contradiction,
 * or NULL. */
static const char *disproof(const struct v8 *v8, const struct heap_sink *sink,
			    const struct walk_report *report)
{
	const char *built_in = intern_string(sink->strings, "Map");

	if (report->nonsense > report->objects / NONSENSE_SHARE)
		return "too many of its objects contradict themselves: another version";
	/* Every program has some of these, with a constructor of V8. */
	return built_in && hash_get(&v8->class_index, (uint64_t)(uintptr_t)built_in)
		       ? NULL
		       : "constructors of its objects are not found: another version";
}

static int prove(struct v8 *v8, struct heap_sink *sink, struct heap_sink_mark mark,
		 struct walk_report *report)
{
	report->untested = !v8_is_tested(v8);
	report->why = report->untested ? disproof(v8, sink, report) : NULL;
	if (!report->why)
		return 0;
	heap_sink_rewind(sink, mark);
	report->objects = report->heap_bytes = report->free_bytes = 0;
	return -ENOENT;
}

static int walk_found(struct v8 *v8, struct heap_sink *sink, struct walk_report *report)
{
	const struct heap_sink_mark mark = heap_sink_mark(sink);
	const char *named = v8_named_why(v8->memory->maps);
	int error = v8_find(v8, report->version, &report->why);

	if (error == -ENOENT && named)
		report->why = named;
	if (!error)
		error = v8_find_chunks(v8, &report->why);
	if (error)
		return error;
	report->why = NULL;
	find_filler(v8);
	error = v8_is_collecting(v8, v8->module) ? -EAGAIN : walk_chunks(v8, sink, report);
	if (!error && v8_is_collecting(v8, v8->module))
		error = -EAGAIN;
	return error ? error : prove(v8, sink, mark, report);
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));

	if (!v8)
		return -ENOMEM;
	v8->memory = memory;
	v8->names_left = UINT32_MAX; /* what can be read is less */
	v8->source_left = SOURCE_MAX;
	v8->report = (size_t)(report - sink->reports.items);
	*state = v8;
	return walk_found(v8, sink, report);
}

static const struct heap_walker walker = {
	.moves = moves, .walk = walk_heap, .refer = v8_refer, .roots = v8_roots, .end = end};

static struct heap_floor js_floor(const struct maps *maps)
{
	struct js_memory js;

	return js_collections_read(maps, &js) ? (struct heap_floor){0} : js_floor_of(&js);
}

/*
 * The origin of classes, see class_origin.h. The engine's own stand in parentheses, and functions
 * of the library have its files in their names.
 */
static const char *const language_classes[] = {
	"Array",      "ArrayBuffer",  "AsyncFunction", "BigInt",
	"Boolean",    "DataView",     "Date",	       "Error",
	"FastBuffer", "Float32Array", "Float64Array",  "Function",
	"Int32Array", "Map",	      "Number",	       "Object",
	"Promise",    "Proxy",	      "RegExp",	       "Set",
	"String",     "Symbol",	      "Uint32Array",   "Uint8Array",
	"WeakMap",    "WeakRef",      "WeakSet",       NULL};
static const char *const library_names[] = {"(", NULL};
static const char *const code_classes[] = {"(AllocationSite)",
					   "(ByteArray)",
					   "(BytecodeArray)",
					   "(Code)",
					   "(CodeDataContainer)",
					   "(DescriptorArray)",
					   "(FeedbackCell)",
					   "(FeedbackMetadata)",
					   "(FeedbackVector)",
					   "(InstructionStream)",
					   "(LoadHandler)",
					   "(Map)",
					   "(PropertyCell)",
					   "(PrototypeInfo)",
					   "(ScopeInfo)",
					   "(StoreHandler)",
					   "(StrongDescriptorArray)",
					   "(TransitionArray)",
					   NULL};
static const struct class_names class_names = {.language = language_classes,
					       .libraries = library_names,
					       .code = code_classes,
					       .within = " node:",
					       .without_packages = true};

const struct runtime runtime_v8 = {
	.classes = &class_names,
	.key = V8_KEY,
	.name = "JavaScript engine (V8)",
	.tool = "`leakmon retain --census -p %d` counts the objects of Node 18 to 26 by class, "
		"else `node --heapsnapshot-signal=SIGUSR2`",
	.collects = true,
	.floor = js_floor,
	.memory = &js_memory_reader,
	.detect = v8_is_mapped,
	.detect_module = v8_is_module,
	.owns = owns,
	.walker = &walker,
	.code = &v8_code_reader,
};
