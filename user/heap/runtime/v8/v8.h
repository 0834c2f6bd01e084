/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Shared by the parts of the V8 walker. V8 exports offsets and the numbers of its instance types to
 * post-mortem debuggers, as variables named v8dbg_* (tools/gen-postmortem-metadata.py).
 */
#ifndef LEAKMON_RUNTIME_V8_H
#define LEAKMON_RUNTIME_V8_H

#include "base/hash.h"
#include "heap/allocators/data_modules.h"
#include "heap/runtime/heap_sink.h"
#include "heap/runtime/target_memory.h"

#define V8_KEY "v8"

/* V8's kPageSizeBits is 18. */
#define V8_PAGE (256ull << 10)

/* A pointer to an object has the lowest two bits 01; 11 marks a weak one; ...0 a number. */
#define V8_TAG_MASK 3u
#define V8_TAG 1u

static inline bool v8_is_object(uint64_t word)
{
	return (word & V8_TAG_MASK) == V8_TAG;
}

/* Returns a number of 32 bits (a Smi), or 0. */
static inline uint64_t v8_number(uint64_t word)
{
	return word & 1 ? 0 : word >> 32;
}

enum v8_place {
	/* Numbers of instance types. */
	V8_FIRST_NONSTRING,
	V8_FIRST_CONTEXT,
	V8_LAST_CONTEXT,
	V8_TYPE_MAP,
	V8_TYPE_FUNCTION,
	V8_TYPE_SHARED,
	V8_TYPE_SCOPE_INFO,
	V8_TYPE_PROPERTY_CELL,
	V8_TYPE_GLOBAL,
	V8_TYPE_JS_MAP,
	V8_TYPE_JS_SET,
	V8_TYPE_WEAK_MAP,
	V8_TYPE_WEAK_SET,
	V8_TYPE_WEAK_REF,
	V8_TYPE_WEAK_CELL,
	V8_TYPE_PROPERTY_ARRAY,
	V8_TYPE_BUFFER, /* 0: unknown, like its members */
	V8_BUFFER_BYTES,
	V8_BUFFER_STORE,
	/* Bits of strings' types. */
	V8_REPRESENTATION_MASK,
	V8_ENCODING_MASK,
	V8_REPRESENTATION_CONS,
	V8_REPRESENTATION_EXTERNAL,
	V8_REPRESENTATION_SLICED,
	V8_REPRESENTATION_THIN,
	/* Map */
	V8_MAP_SIZE,
	V8_MAP_INOBJECT,
	V8_MAP_TYPE,
	V8_MAP_BITS2,
	V8_MAP_BITS3,
	V8_MAP_PROTOTYPE,
	V8_MAP_CONSTRUCTOR,
	V8_MAP_DESCRIPTORS,
	V8_DICTIONARY_SHIFT,
	V8_DESCRIPTORS_SHIFT,
	V8_DESCRIPTORS_MASK,
	/* Objects */
	V8_STRING_LENGTH,
	V8_STRING_CHARACTERS,
	V8_CONS_FIRST,
	V8_CONS_SECOND,
	V8_THIN_ACTUAL,
	V8_ARRAY_LENGTH,
	V8_ARRAY_DATA,
	V8_BYTECODE_DATA,
	V8_BYTECODE_WRAPPER, /* 0: no such member */
	V8_DESCRIPTORS_HEADER,
	V8_OBJECT_PROPERTIES,
	V8_OBJECT_ELEMENTS,
	V8_FUNCTION_SHARED,
	V8_SHARED_NAME,
	V8_SCOPE_FIRST,
	V8_SCOPE_LOCALS,
	V8_CONTEXT_SCOPE,
	V8_CONTEXT_SLOTS,
	/* Words of a descriptor, and bits of its details. */
	V8_DESCRIPTOR_WORDS,
	V8_DESCRIPTOR_KEY,
	V8_DESCRIPTOR_DETAILS,
	V8_DESCRIPTOR_VALUE,
	V8_LOCATION_MASK,
	V8_INDEX_MASK,
	V8_INDEX_SHIFT,
	/* Functions and scripts; 0: unknown. */
	V8_FUNCTION_CONTEXT,
	V8_CONTEXT_PREVIOUS,
	V8_SHARED_SCRIPT,
	V8_SCRIPT_NAME,
	V8_SCRIPT_SOURCE,
	V8_SCRIPT_LINES,
	V8_UNCOMPILED_START,
	V8_TYPE_SCRIPT,
	V8_TYPE_ES_MODULE,
	V8_TYPE_CELL,
	V8_TYPE_PROMISE,
	V8_TYPE_REACTION,	/* of a promise */
	V8_TYPE_CALL,		/* of an async function */
	V8_TYPE_GENERATOR_CALL, /* of an async generator */
	V8_PLACE_MAX_
};

/* The format of a type's objects: their size if it varies, and the contents of their words. */
enum v8_kind {
	V8_WORDS,	/* like a FixedArray; otherwise up to the next object */
	V8_BYTES,	/* an array of bytes */
	V8_DOUBLES,	/* numbers, sized like a FixedArray */
	V8_FEEDBACK,	/* words behind a longer header */
	V8_CODE,	/* instructions */
	V8_BYTECODE,	/* bytes after a header of words */
	V8_FREE,	/* no object; a length in bytes */
	V8_FREE_WORDS,	/* no object; a length in words */
	V8_PROPERTIES,	/* a length of 10 bits, beside a hash */
	V8_DESCRIPTORS, /* triples after a header */
	V8_LIST,	/* words after a count and a capacity */
	V8_SCOPED,	/* words without a length; none of them is a map */
};

struct v8_type {
	const char *name; /* in the symbol table: up to "__"; NULL: unknown */
	enum v8_kind kind;
	bool known;	  /* `kind` is this type's own, not the default */
	bool is_native;	  /* its objects contain addresses of native memory */
	bool is_embedder; /* its objects hold the embedder's data */
};

#define V8_TYPES 8192

struct v8_property {
	uint32_t place; /* index of a word in the object, or in its property array */
	bool outside;	/* in the property array */
	uint32_t label;
};

static inline uint64_t v8_property_order(uint64_t place, bool outside)
{
	return place | (uint64_t)outside << 63;
}

struct v8_map {
	uint64_t address;
	uint16_t type, size; /* size in bytes; 0: it varies */
	uint8_t inobject;    /* first word of the properties in the object */
	bool is_receiver;    /* an object of the program */
	bool is_function;
	bool is_prototype, is_dictionary;
	bool described;
	bool has_cache;	 /* once described: it has a property with the cache's name */
	uint32_t number; /* class number in the sink; UINT32_MAX: none yet */
	VEC(struct v8_property) properties; /* sorted by v8_property_order(), without duplicates */
	/* Two of these, label 0: none. The callback of a timer, and the listeners by event. */
	struct v8_property timer, events;
};

/* A chunk of the heap: src/heap/memory-chunk-layout.h. */
struct v8_chunk {
	uint64_t base, start, end; /* objects lie in [start, end) */
	uint64_t limit;		   /* no objects from here on */
	uint64_t size;
	uint64_t header;
	uint64_t heap, owner; /* 0: read-only */
	uint64_t meta;	      /* for a read-only chunk: the map of maps, tagged */
	uint64_t flags;
};

/* Free memory for new objects: a linear allocation area. */
struct v8_area {
	uint64_t top, limit;
};

#define V8_NAME_BYTES 256
#define V8_PLACE_BYTES (2 * V8_NAME_BYTES + 32)

/* With this scopeinfo_idx_first_vars, a function's position precedes its variables. */
#define SCOPE_FIRST_WITH_POSITION 5

/* The relation of objects to one function in the source. */
enum v8_code_kind {
	V8_OF_FUNCTION, /* functions created from it */
	V8_OF_CALL,	/* pending calls of it */
	V8_OF_TIMER,	/* timers that will call it */
	V8_OF_PROMISE,	/* pending promises returned by calls of it */
	V8_OF_AWAITED,	/* pending promises awaited by calls of it */
	V8_OF_THEN,	/* pending promises that will call it */
};

struct v8_code_place {
	uint64_t shared; /* its SharedFunctionInfo, tagged */
	uint32_t number; /* class number in the sink; provisional until v8_name_functions() */
	uint32_t base;	 /* the number shared by all functions, timers or promises */
	enum v8_code_kind kind;
};

/* A pending promise. */
struct v8_promise {
	uint64_t object; /* tagged */
	uint32_t base;	 /* the number of all promises */
	uint32_t number; /* its final number */
};

struct v8_script {
	VEC(uint32_t) ends; /* of lines, ascending; empty: unknown */
	uint32_t length;    /* of the source, in characters; 0: unknown */
};

/* The variables of a script that its functions use. */
struct v8_module {
	uint64_t context;
	const char *name; /* of its script; interned */
	bool again;	  /* another module has the same name */
};

struct v8 {
	struct target_memory *memory;
	const struct data_module *module;
	int32_t places[V8_PLACE_MAX_];
	struct v8_type types[V8_TYPES];
	bool has_free;		     /* free memory's type has a name */
	uint16_t first_receiver;     /* type */
	uint16_t feedback_header;    /* bytes; 0: unknown */
	uint16_t filler, ephemerons; /* types; 0: unknown */
	const struct v8_chunk_layout *layout;
	size_t report;		     /* place in sink->reports */
	VEC(struct v8_chunk) chunks; /* by ascending address */
	bool by_need;		     /* chunks are read on demand */
	struct hash chunk_index;     /* by_need: address -> whether it is a chunk, plus 1 */
	VEC(struct v8_area) areas;   /* by ascending address */
	struct hash map_index;	     /* address -> place in maps plus 1; UINT64_MAX: no map */
	VEC(struct v8_map) maps;
	struct hash class_index; /* name, interned -> number plus 1 */
	VEC(struct v8_code_place) code_places;
	VEC(struct v8_promise) promises;
	struct hash makers; /* tagged promise -> SharedFunctionInfo of the call that returned it */
	VEC(struct v8_script) scripts;
	VEC(struct v8_module) modules;
	struct hash place_index, script_index;	/* address -> place plus 1 */
	struct hash module_index, module_names; /* context, name -> place plus 1 */
	uint64_t cache;				/* require.cache, tagged */
	struct hash events_index; /* tagged objects that contain listeners by name of the event */
	/* Limits for further reading, whatever the heap says. */
	uint32_t names_left, source_left;
	uint64_t part_words_left; /* of arrays that objects may share */
};

static inline uint64_t v8_place(const struct v8 *v8, enum v8_place place)
{
	return (uint64_t)(uint32_t)v8->places[place];
}

static inline bool v8_is_type(const struct v8 *v8, const struct v8_map *map, enum v8_place type)
{
	return map && map->type == v8_place(v8, type);
}

/* Returns whether a string contains its own characters. */
static inline bool v8_has_characters(const struct v8 *v8, const struct v8_map *map)
{
	return map->type < v8_place(v8, V8_FIRST_NONSTRING) &&
	       !(map->type & v8_place(v8, V8_REPRESENTATION_MASK));
}

/* Returns whether words of such an object may be addresses of native memory. In other objects, all
 * words but references are numbers: hashes, flags, counts of 32 bits. */
static inline bool v8_has_native(const struct v8 *v8, const struct v8_map *map)
{
	if (map->type < v8_place(v8, V8_FIRST_NONSTRING))
		return (map->type & v8_place(v8, V8_REPRESENTATION_MASK)) ==
		       v8_place(v8, V8_REPRESENTATION_EXTERNAL);
	if (map->is_receiver || map->type >= V8_TYPES)
		return true;
	return !v8->types[map->type].name || v8->types[map->type].is_native;
}

static inline bool v8_is_context(const struct v8 *v8, const struct v8_map *map)
{
	return map->type >= v8_place(v8, V8_FIRST_CONTEXT) &&
	       map->type <= v8_place(v8, V8_LAST_CONTEXT);
}

static inline bool v8_is_free(enum v8_kind kind)
{
	return kind == V8_FREE || kind == V8_FREE_WORDS;
}

static inline bool v8_take(uint32_t *left)
{
	return *left ? (--*left, true) : false;
}

static inline int v8_add_root(struct heap_sink *sink, const char *name, uint64_t object)
{
	return heap_sink_root(sink, V8_KEY, name, object - V8_TAG);
}

/* Layout: see layout.c. */

/* Returns whether a program or library contains V8. */
bool v8_is_module(const struct data_module *module);
/* Finds the module that contains V8. 0, or -ENOENT with *why. */
int v8_find(struct v8 *v8, char version[24], const char **why);
/* Finds the chunks, without their areas. 0; -ENOENT with *why; -ENOMEM. */
int v8_find_layout(struct v8 *v8, const char **why);
/* Finds a sample of the chunks if they are many, by the layout of the first valid one; *step: bytes
 * between two sampled chunks, V8_PAGE if all were found. 0; -ENOENT with *why; -ENOMEM. */
int v8_sample_chunks(struct v8 *v8, uint64_t *step, const char **why);
/* Finds the layout of the first valid chunk; others are read on demand. 0, or -ENOENT with *why. */
int v8_find_first_layout(struct v8 *v8, const char **why);
/* Returns the map of objects of the first type of a kind, tagged, after v8_find_first_layout(); 0:
 * none. */
uint64_t v8_map_of_kind(struct v8 *v8, enum v8_kind kind);
/* Returns whether an address is in a chunk. */
bool v8_has_chunk(struct v8 *v8, uint64_t address);
/* Forgets chunks read on demand, maps and scripts, which may have changed. */
void v8_forget(struct v8 *v8);
/* Returns the value of a constant, or `otherwise` if V8 does not have it. */
int32_t v8_constant(struct v8 *v8, const char *name, int32_t otherwise);
/* Finds the chunks, and the allocation areas in them. 0; -ENOENT with *why; -ENOMEM. */
int v8_find_chunks(struct v8 *v8, const char **why);
/* Returns the heap of the first valid chunk; 0: none. */
uint64_t v8_first_heap(struct v8 *v8);
/* Reads the version, "11.3.244.8"; leaves it unchanged if unknown. */
void v8_read_version(struct v8 *v8, const struct data_module *module, char version[24]);
bool v8_read_versions(struct v8 *v8, const struct data_module *module, int32_t *major,
		      int32_t *minor);
bool v8_is_compressed(struct v8 *v8, const struct data_module *module);
/* Symbols that these three functions read. */
#define V8_VERSION_SYMBOLS 5
extern const char *const v8_version_symbols[V8_VERSION_SYMBOLS];

/* The heaps' own counters: see memory.c. */

/* Returns whether the walk was tested with this version, so that its collection state can be read:
 * see memory.c. */
bool v8_is_tested(struct v8 *v8);
/* Returns whether a collection of the first heap is under way; false if unknown. */
bool v8_is_collecting(struct v8 *v8, const struct data_module *module);

/* See v8.c. */

/* Returns whether a mapping belongs to a file that usually contains V8. */
bool v8_is_mapped(const struct mapping *mapping);
/* Returns why V8 in a program other than node is not read; NULL: no such program. */
const char *v8_named_why(const struct maps *maps);
void v8_close(struct v8 *v8);
/* Returns the chunk that contains an address, or NULL. */
const struct v8_chunk *v8_chunk_at(const struct v8 *v8, uint64_t address);

/* Maps, names and sizes: see maps.c. */

/* Returns the map at a tagged word; NULL: no map, or out of memory. Valid until the next call. */
struct v8_map *v8_map_at(struct v8 *v8, uint64_t word);
/* Returns the map of the object at a tagged word; NULL: no object, or out of memory. Valid until
 * the next call. */
struct v8_map *v8_map_of(struct v8 *v8, uint64_t word);
/* Returns the word at an offset of the object at a tagged word; 0: no object. */
uint64_t v8_field(struct v8 *v8, uint64_t object, uint64_t offset);
/* Reads an identifier of the program; returns false for any other text. */
bool v8_identifier(struct v8 *v8, uint64_t string, char name[V8_NAME_BYTES]);
/* Reads any ASCII text; returns false if it is none, or too long. */
bool v8_text(struct v8 *v8, uint64_t string, char text[V8_NAME_BYTES]);
bool v8_is_text(struct v8 *v8, uint64_t word);
/* Returns whether the name of a map's type begins with `name`. */
bool v8_is_named(const struct v8 *v8, const struct v8_map *map, const char *name);
/* The place of a string's characters in memory; v8_text_place() returns false if they are not
 * contiguous. */
struct v8_text_place {
	uint64_t address;
	uint32_t length, width; /* length in characters; width: bytes of each */
};
bool v8_text_place(struct v8 *v8, uint64_t string, struct v8_text_place *place);
/* Writes the name of a function by its SharedFunctionInfo; "" if it has none. */
void v8_shared_name(struct v8 *v8, uint64_t shared, char name[V8_NAME_BYTES]);
/* Returns the index of the first word of a ScopeInfo behind its variables. */
uint64_t v8_scope_tail(struct v8 *v8, uint64_t scope);
/* Writes the name of the n-th variable of a ScopeInfo; returns false if it has none. */
bool v8_variable_name(struct v8 *v8, uint64_t scope, uint64_t n, char name[V8_NAME_BYTES]);
/* Writes the class name of objects with a map. */
void v8_class_name(struct v8 *v8, const struct v8_map *map, char name[V8_NAME_BYTES]);
/* Reads the names and places of a map's properties. 0 or -ENOMEM. */
int v8_describe(struct v8 *v8, struct heap_sink *sink, size_t place);
/* Returns the value of a property found by v8_describe(). */
uint64_t v8_property_at(struct v8 *v8, uint64_t object, const struct v8_property *property);
/* Returns an own property of an object by its name; 0: none. */
uint64_t v8_property(struct v8 *v8, uint64_t object, const char *name);
enum v8_kind v8_kind_of(const struct v8 *v8, const struct v8_map *map);

/* Functions: see functions.c. */

/* Classifies a function, or a call of one: *number, the class of its map, becomes the class of its
 * place in the source. Other objects are left alone. 0 or -ENOMEM. */
int v8_note_function(struct v8 *v8, struct heap_sink *sink, uint64_t object, uint32_t *number);
/* Adds a place for an object, and sets its class in *number, which stays unchanged if there is no
 * room for more places. 0 or -ENOMEM. */
int v8_add_place(struct v8 *v8, struct heap_sink *sink, const struct v8_code_place *place,
		 uint32_t *number);
/* Returns the SharedFunctionInfo of a function, or of the call of an async one; 0: none. */
uint64_t v8_shared_of(struct v8 *v8, uint64_t function);
uint64_t v8_call_shared(struct v8 *v8, uint64_t object);
/* Writes a function's name and place, "onData server.js:17"; returns false if its script is
 * unknown. */
bool v8_place_text(struct v8 *v8, uint64_t shared, char text[V8_PLACE_BYTES]);
/* Names the places with many objects, after the last v8_note_function(); all others become plain
 * functions. 0 or -ENOMEM. */
int v8_name_functions(struct v8 *v8, struct heap_sink *sink);
/* Writes the name of a function's script, "server.js" or "node:internal/timers"; returns false if
 * it has none. */
bool v8_script_name(struct v8 *v8, uint64_t shared, char name[V8_NAME_BYTES]);
/* Writes the path of a function's script as V8 stores it, "/srv/server.js"; returns false if it has
 * none. */
bool v8_script_path(struct v8 *v8, uint64_t shared, char path[V8_NAME_BYTES]);
/* Returns the line of a function's start, or of a position in its script; 0: unknown. */
uint32_t v8_line_of(struct v8 *v8, uint64_t shared);
uint32_t v8_line_at(struct v8 *v8, uint64_t shared, uint32_t position);

/* Modules: see modules.c. 0 or -ENOMEM. */

/* Notes the module of a function that is declared at its top level. */
int v8_find_module(struct v8 *v8, struct heap_sink *sink, uint64_t function);
/* Returns the module of a context; NULL: not a module's, or that of a module loaded again. */
const struct v8_module *v8_module_of(const struct v8 *v8, uint64_t context);
/* Adds the exports of an ES module as roots by name. */
int v8_add_exports(struct v8 *v8, struct heap_sink *sink, uint32_t node);
/* Checks whether a function has require.cache, and notes the cache. */
int v8_find_cache(struct v8 *v8, struct heap_sink *sink, uint64_t function);

/* Timers and promises: see pending.c. 0 or -ENOMEM. */

/* Classifies a timer or a pending promise, like v8_note_function(). */
int v8_note_pending(struct v8 *v8, struct heap_sink *sink, uint64_t object, uint32_t *number);
/* Gives promises their places, after the last v8_note_pending(). */
int v8_place_promises(struct v8 *v8, struct heap_sink *sink);
/* Sets the classes of promises, after the sink has settled. */
void v8_settle_promises(const struct v8 *v8, struct heap_sink *sink);

/* Notes the listeners of an emitter: see listeners.c. 0 or -ENOMEM. */
int v8_find_events(struct v8 *v8, struct heap_sink *sink, uint32_t node);

/* Names the frames of a process while it runs: see code.c. */
extern const struct code_reader v8_code_reader;

/* Array buffers: see external.c. 0 or -ENOMEM. */

/*
 * Makes the bytes of array buffers outside the heap parts of these, and sums them up in the report.
 */
int v8_find_external(struct v8 *v8, struct heap_sink *sink);
/* Adds the reference from a buffer's node to its bytes. */
int v8_refer_store(struct v8 *v8, struct heap_sink *sink, uint32_t node);

/* Claims native memory that does not hold the objects it points to, such as weak handles: see
 * handles.c. 0 or -ENOMEM. */
int v8_claim_native(struct v8 *v8, struct heap_sink *sink);

/* References and roots: see references.c, and roots() and refer() of struct heap_walker. */
bool v8_is_native_context(struct v8 *v8, uint64_t object);
int v8_roots(void *state, struct heap_sink *sink);
int v8_refer(void *state, struct heap_sink *sink, uint32_t node);

#endif
