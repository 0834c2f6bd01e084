/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small V8 made by hand: its constants, a read-only chunk with maps, a chunk of the
 * old space, a page of each half of the young generation, a heap and its spaces.
 */
#ifndef LEAKMON_UNIT_V8_FIXTURE_H
#define LEAKMON_UNIT_V8_FIXTURE_H

#include "leakmon_abi.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_CHUNK 0x40000u
#define FORGED_DATA FORGED_CHUNK /* of the program: the rest is heap */
#define FORGED_BYTES (5 * FORGED_CHUNK)
#define FORGED_CONSTANTS 0x0u
#define FORGED_LENGTHS 0x10000u
#define FORGED_HEAP 0x21000u /* the areas are before it */
#define FORGED_AREAS 0x20000u
#define FORGED_SPACES 0x22000u
#define FORGED_READ_ONLY (1 * FORGED_CHUNK)
#define FORGED_OLD (2 * FORGED_CHUNK)
#define FORGED_YOUNG (3 * FORGED_CHUNK)
#define FORGED_FROM (4 * FORGED_CHUNK)
#define FORGED_USED 0x8000u /* bytes of a chunk */
#define FORGED_START 0x200u /* of its objects */
#define FORGED_SESSIONS 5
#define FORGED_CLOSURES 10
#define FORGED_PENDING 10 /* promises of each kind, and timers */
#define FORGED_CROWD 60	  /* listeners of one event, and how many of them are of late() */
#define FORGED_LATE 40
#define FORGED_BYTECODES 40u
#define FORGED_BYTECODE_HEADER 53u /* of a BytecodeArray, from its tagged pointer on */
#define FORGED_BYTECODE_KINDS 8u
#define FORGED_INSTRUCTIONS 0x7f0000001000ull /* of code generated from it */

/* Numbers of instance types: the fixture's own. */
enum forged_type {
	FORGED_INTERNALIZED = 8,
	FORGED_CONS = 33,
	FORGED_STRING = 40,
	FORGED_ODD = 130, /* has no name */
	FORGED_FIXED_ARRAY = 175,
	FORGED_GLOBAL_DICTIONARY = 179,
	FORGED_EPHEMERONS = 180,
	FORGED_HASH_MAP = 181,
	FORGED_HASH_TABLE = 182,
	FORGED_BYTE_ARRAY = 190,
	FORGED_BYTECODE = 191,
	FORGED_CODE = 192,
	FORGED_CONTEXT = 205,
	FORGED_NATIVE_CONTEXT = 210,
	FORGED_DESCRIPTOR_ARRAY = 236,
	FORGED_FILLER = 250,
	FORGED_FREE_SPACE = 251,
	FORGED_MAP = 255,
	FORGED_PROPERTY_ARRAY = 259,
	FORGED_PROPERTY_CELL = 260,
	FORGED_SCOPE_INFO = 261,
	FORGED_SHARED = 262,
	FORGED_SCRIPT = 263,
	FORGED_UNCOMPILED = 264,
	FORGED_REACTION = 270,
	FORGED_WEAK_CELL = 275,
	FORGED_CELL = 276,
	FORGED_ES_MODULE = 277,
	FORGED_PROXY = 278,
	FORGED_GLOBAL = 279,
	FORGED_OBJECT = 1057,
	FORGED_FUNCTION = 2066,
	FORGED_JS_MAP = 2108,
	FORGED_JS_SET = 2109,
	FORGED_WEAK_MAP = 2110,
	FORGED_WEAK_SET = 2111,
	FORGED_ARRAY = 2113,
	FORGED_BUFFER = 2120,
	FORGED_CALL = 2122, /* of an async function */
	FORGED_PROMISE = 2125,
	FORGED_WEAK_REF = 2151,
};

struct forged {
	struct forged_memory memory;
	uint64_t next; /* where the next object comes */
	/* Maps, tagged as objects are. */
	uint64_t major; /* of its version */
	uint64_t meta, internalized, string, fixed_array, descriptors, properties, shared, scope;
	uint64_t function, empty_array, bytecode;
	/* Objects. */
	uint64_t cache, table, sessions, extra, context, captured, weak_ref, of_weak_ref, weak_map;
	uint64_t of_weak_map, key, old_garbage, native_context, native, derived, young;
	uint64_t module, of_module, script, source, line_ends, last_function, emitter, listeners;
	uint64_t bytecodes, code, buffer_map, exported, required;
	uint64_t used, spare, vector, structure; /* of handles: blocks, and their owners */
	uint64_t version, map_type;		 /* addresses of constants */
};

static inline void forged_put32(uint64_t address, uint32_t number)
{
	memcpy(forged_memory_place(address), &number, sizeof(number));
}

static inline void forged_put16(uint64_t address, uint16_t number)
{
	memcpy(forged_memory_place(address), &number, sizeof(number));
}

static inline void forged_put8(uint64_t address, uint8_t number)
{
	memcpy(forged_memory_place(address), &number, sizeof(number));
}

static inline uint64_t forged_number(uint64_t number)
{
	return number << 32;
}

/* The constants of node 20. */
static inline void forged_constants(struct forged *forged)
{
	static const struct {
		const char *name;
		uint32_t value;
	} constants[] = {
		{"v8dbg_FirstNonstringType", 128},
		{"v8dbg_FirstContextType", FORGED_CONTEXT},
		{"v8dbg_LastContextType", 214},
		{"v8dbg_type_JSFunction__JS_FUNCTION_TYPE", FORGED_FUNCTION},
		{"v8dbg_type_SharedFunctionInfo__SHARED_FUNCTION_INFO_TYPE", FORGED_SHARED},
		{"v8dbg_type_ScopeInfo__SCOPE_INFO_TYPE", FORGED_SCOPE_INFO},
		{"v8dbg_type_PropertyCell__PROPERTY_CELL_TYPE", FORGED_PROPERTY_CELL},
		{"v8dbg_type_JSGlobalObject__JS_GLOBAL_OBJECT_TYPE", FORGED_GLOBAL},
		{"v8dbg_type_JSProxy__JS_PROXY_TYPE", FORGED_PROXY},
		{"v8dbg_type_JSObject__JS_OBJECT_TYPE", FORGED_OBJECT},
		{"v8dbg_type_JSSharedArray__JS_SHARED_ARRAY_TYPE", 2099},
		{"v8dbg_type_JSArray__JS_ARRAY_TYPE", FORGED_ARRAY},
		{"v8dbg_type_JSArrayBuffer__JS_ARRAY_BUFFER_TYPE", FORGED_BUFFER},
		{"v8dbg_class_JSArrayBuffer__byte_length__size_t", 24},
		{"v8dbg_class_JSArrayBuffer__backing_store__Object", 32},
		{"v8dbg_type_JSMap__JS_MAP_TYPE", FORGED_JS_MAP},
		{"v8dbg_type_JSSet__JS_SET_TYPE", FORGED_JS_SET},
		{"v8dbg_type_JSWeakMap__JS_WEAK_MAP_TYPE", FORGED_WEAK_MAP},
		{"v8dbg_type_JSWeakSet__JS_WEAK_SET_TYPE", FORGED_WEAK_SET},
		{"v8dbg_type_JSWeakRef__JS_WEAK_REF_TYPE", FORGED_WEAK_REF},
		{"v8dbg_type_JSPromise__JS_PROMISE_TYPE", FORGED_PROMISE},
		{"v8dbg_type_PromiseReaction__PROMISE_REACTION_TYPE", FORGED_REACTION},
		{"v8dbg_type_JSAsyncFunctionObject__JS_ASYNC_FUNCTION_OBJECT_TYPE", FORGED_CALL},
		{"v8dbg_type_WeakCell__WEAK_CELL_TYPE", FORGED_WEAK_CELL},
		{"v8dbg_type_Cell__CELL_TYPE", FORGED_CELL},
		{"v8dbg_type_SourceTextModule__SOURCE_TEXT_MODULE_TYPE", FORGED_ES_MODULE},
		{"v8dbg_type_PropertyArray__PROPERTY_ARRAY_TYPE", FORGED_PROPERTY_ARRAY},
		{"v8dbg_type_FixedArray__FIXED_ARRAY_TYPE", FORGED_FIXED_ARRAY},
		{"v8dbg_type_ByteArray__BYTE_ARRAY_TYPE", FORGED_BYTE_ARRAY},
		{"v8dbg_type_DescriptorArray__DESCRIPTOR_ARRAY_TYPE", FORGED_DESCRIPTOR_ARRAY},
		{"v8dbg_type_FreeSpace__FREE_SPACE_TYPE", FORGED_FREE_SPACE},
		{"v8dbg_type_SeqOneByteString__ONE_BYTE_STRING_TYPE", FORGED_STRING},
		{"v8dbg_StringRepresentationMask", 7},
		{"v8dbg_StringEncodingMask", 8},
		{"v8dbg_ConsStringTag", 1},
		{"v8dbg_ExternalStringTag", 2},
		{"v8dbg_SlicedStringTag", 3},
		{"v8dbg_ThinStringTag", 5},
		{"v8dbg_class_Map__instance_size_in_words__char", 8},
		{"v8dbg_class_Map__inobject_properties_start_or_constructor_function_index__char",
		 9},
		{"v8dbg_class_Map__instance_type__uint16_t", 12},
		{"v8dbg_class_Map__bit_field2__char", 15},
		{"v8dbg_class_Map__bit_field3__int", 16},
		{"v8dbg_class_Map__constructor_or_back_pointer__Object", 32},
		{"v8dbg_class_Map__instance_descriptors__DescriptorArray", 40},
		{"v8dbg_bit_field3_is_dictionary_map_shift", 21},
		{"v8dbg_bit_field3_number_of_own_descriptors_shift", 10},
		{"v8dbg_bit_field3_number_of_own_descriptors_mask", 0xffc00},
		{"v8dbg_class_String__length__int32_t", 12},
		{"v8dbg_class_SeqOneByteString__chars__char", 16},
		{"v8dbg_class_ConsString__first__String", 16},
		{"v8dbg_class_ConsString__second__String", 24},
		{"v8dbg_class_ThinString__actual__String", 16},
		{"v8dbg_class_FixedArrayBase__length__SMI", 8},
		{"v8dbg_class_FixedArray__data__uintptr_t", 16},
		{"v8dbg_class_BytecodeArray__data__uintptr_t", 54},
		{"v8dbg_class_DescriptorArray__header_size__uintptr_t", 24},
		{"v8dbg_class_JSReceiver__raw_properties_or_hash__Object", 8},
		{"v8dbg_class_JSObject__elements__Object", 16},
		{"v8dbg_class_JSFunction__shared__SharedFunctionInfo", 24},
		{"v8dbg_class_SharedFunctionInfo__name_or_scope_info__Object", 16},
		{"v8dbg_class_JSFunction__context__Context", 32},
		{"v8dbg_context_idx_prev", 1},
		{"v8dbg_class_SharedFunctionInfo__script_or_debug_info__HeapObject", 32},
		{"v8dbg_class_Script__name__Object", 16},
		{"v8dbg_class_Script__source__Object", 8},
		{"v8dbg_class_Script__line_ends__Object", 56},
		{"v8dbg_class_UncompiledData__start_position__int32_t", 16},
		{"v8dbg_type_Script__SCRIPT_TYPE", FORGED_SCRIPT},
		{"v8dbg_type_UncompiledDataWithPreparseData__UNCOMPILED_DATA_WITH_PREPARSE_DATA_"
		 "TYPE",
		 FORGED_UNCOMPILED},
		{"v8dbg_scopeinfo_idx_first_vars", 3},
		{"v8dbg_scopeinfo_idx_ncontextlocals", 2},
		{"v8dbg_context_min_slots", 2},
		{"v8dbg_prop_desc_size", 3},
		{"v8dbg_prop_desc_details", 1},
		{"v8dbg_prop_desc_value", 2},
		{"v8dbg_prop_location_mask", 32},
		{"v8dbg_prop_index_mask", 0x1ff80000},
		{"v8dbg_prop_index_shift", 19},
		{"v8dbg_type_BytecodeArray__BYTECODE_ARRAY_TYPE", FORGED_BYTECODE},
		{"v8dbg_type_Code__CODE_TYPE", FORGED_CODE},
		{"v8dbg_off_fp_context", (uint32_t)-8},
		{"v8dbg_off_fp_function", (uint32_t)-16},
		{"v8dbg_off_fp_bytecode_array", (uint32_t)-32},
		{"v8dbg_off_fp_bytecode_offset", (uint32_t)-40},
		{"_ZN2v88internal7Version6major_E", 11},
		{"_ZN2v88internal7Version6minor_E", 3},
		{"_ZN2v88internal7Version6build_E", 244},
		{"_ZN2v88internal7Version6patch_E", 8},
	};
	uint32_t at = FORGED_CONSTANTS;

	forged->map_type = forged_memory_symbol(&forged->memory, "v8dbg_type_Map__MAP_TYPE", at, 4);
	forged_put32(forged->map_type, FORGED_MAP);
	for (size_t i = 0; i < ARRAY_SIZE(constants); i++) {
		uint64_t place;

		at += 8;
		place = forged_memory_symbol(&forged->memory, constants[i].name, at, 4);
		forged_put32(place, constants[i].value);
		if (strstr(constants[i].name, "Version6major_"))
			forged->major = place;
	}
}

/* The lengths of bytecodes, by the width of their operands. */
static inline void forged_lengths(struct forged *forged)
{
	static const uint8_t lengths[3][FORGED_BYTECODE_KINDS] = {
		{1, 1, 4, 4}, {0, 0, 5, 7}, {0, 0, 18, 9}};
	uint64_t place = forged_memory_symbol(
		&forged->memory, "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE",
		FORGED_LENGTHS, sizeof(lengths));

	memcpy(forged_memory_place(place), lengths, sizeof(lengths));
}

/* Returns the object's address with its tag. */
static inline uint64_t forged_object(struct forged *forged, uint64_t map, uint64_t bytes)
{
	uint64_t address = forged->next;

	forged_put(address, map);
	forged->next += (bytes + 7) / 8 * 8;
	return address | 1;
}

static inline void forged_set(uint64_t object, uint64_t offset, uint64_t word)
{
	forged_put(object - 1 + offset, word);
}

static inline uint64_t forged_map(struct forged *forged, enum forged_type type, uint32_t words,
				  uint64_t constructor)
{
	uint64_t map = forged_object(forged, forged->meta, 72);

	forged_put8(map - 1 + 8, (uint8_t)words);
	forged_put16(map - 1 + 12, (uint16_t)type);
	forged_put8(map - 1 + 15, 1);
	forged_set(map, 32, constructor);
	return map;
}

static inline uint64_t forged_text(struct forged *forged, uint64_t map, const char *text)
{
	uint64_t string = forged_object(forged, map, 16 + strlen(text));

	forged_put32(string - 1 + 12, (uint32_t)strlen(text));
	memcpy(forged_memory_place(string - 1 + 16), text, strlen(text));
	return string;
}

static inline uint64_t forged_array(struct forged *forged, uint64_t map, uint64_t count)
{
	uint64_t array = forged_object(forged, map, 16 + count * 8);

	forged_set(array, 8, forged_number(count));
	return array;
}

static inline void forged_item(uint64_t array, uint64_t index, uint64_t word)
{
	forged_set(array, 16 + index * 8, word);
}

/* Makes a function; `scope` 0: its name instead. */
static inline uint64_t forged_constructor(struct forged *forged, const char *name)
{
	uint64_t text = forged_text(forged, forged->internalized, name);
	uint64_t shared = forged_object(forged, forged->shared, 56);
	uint64_t function = forged_object(forged, forged->function, 64);

	forged_set(shared, 16, text);
	forged_set(function, 24, shared);
	return function;
}

/* An object with the words that every one has. */
static inline uint64_t forged_receiver(struct forged *forged, uint64_t map, uint32_t words)
{
	uint64_t object = forged_object(forged, map, words * 8ull);

	forged_set(object, 8, forged->empty_array);
	forged_set(object, 16, forged->empty_array);
	return object;
}

/* Properties that are the fields from that number on, the first of which is the word `start`. */
static inline void forged_properties(struct forged *forged, uint64_t map, const char *const *names,
				     uint32_t count, uint32_t field, uint8_t start)
{
	uint64_t array = forged_object(forged, forged->descriptors, 24 + count * 24ull);

	forged_put16(array - 1 + 8, (uint16_t)count);
	for (uint32_t i = 0; i < count; i++) {
		forged_set(array, 24 + i * 24ull,
			   forged_text(forged, forged->internalized, names[i]));
		forged_set(array, 32 + i * 24ull, forged_number((uint64_t)(field + i) << 19));
	}
	forged_set(map, 40, array);
	forged_put8(map - 1 + 9, start);
	forged_put32(map - 1 + 16, count << 10);
}

/* Makes one property, after the words common to all objects. */
static inline void forged_property(struct forged *forged, uint64_t map, const char *name,
				   uint32_t field)
{
	forged_properties(forged, map, &name, 1, field, 3);
}

static inline void forged_chunk(struct forged *forged, uint64_t offset, uint64_t flags,
				uint64_t space)
{
	uint64_t base = FORGED_BASE + offset;
	uint64_t owner = FORGED_BASE + FORGED_SPACES + space;

	forged_put(base, FORGED_USED);
	forged_put(base + 8, flags);
	forged_put(base + 24, base + FORGED_START);
	forged_put(base + 32, base + FORGED_USED);
	forged->next = base + FORGED_START;
	if (!flags)
		return;
	forged_put(base + 16, FORGED_BASE + FORGED_HEAP);
	forged_put(base + 64, owner);
	forged_put(base + 80, base);
	forged_put(owner + 8, FORGED_BASE + FORGED_HEAP);
}

/* The rest of a chunk is free. */
static inline void forged_close(struct forged *forged, uint64_t map, uint64_t offset)
{
	uint64_t end = FORGED_BASE + offset + FORGED_USED, bytes = end - forged->next;

	forged_set(forged_object(forged, map, bytes), 8, forged_number(bytes));
}

static inline uint64_t forged_maps(struct forged *forged)
{
	uint64_t free_space;

	forged_chunk(forged, FORGED_READ_ONLY, 0, 0);
	forged->meta = forged->next | 1;
	forged_map(forged, FORGED_MAP, 9, 0);
	free_space = forged_map(forged, FORGED_FREE_SPACE, 0, 0);
	forged_map(forged, FORGED_FILLER, 1, 0);
	forged->internalized = forged_map(forged, FORGED_INTERNALIZED, 0, 0);
	forged->string = forged_map(forged, FORGED_STRING, 0, 0);
	forged->fixed_array = forged_map(forged, FORGED_FIXED_ARRAY, 0, 0);
	forged->descriptors = forged_map(forged, FORGED_DESCRIPTOR_ARRAY, 0, 0);
	forged->properties = forged_map(forged, FORGED_PROPERTY_ARRAY, 0, 0);
	forged->bytecode = forged_map(forged, FORGED_BYTECODE, 0, 0);
	forged->shared = forged_map(forged, FORGED_SHARED, 7, 0);
	forged->scope = forged_map(forged, FORGED_SCOPE_INFO, 0, 0);
	forged->function = forged_map(forged, FORGED_FUNCTION, 8, 0);
	forged->empty_array = forged_array(forged, forged->fixed_array, 0);
	forged_close(forged, free_space, FORGED_READ_ONLY);
	return free_space;
}

/* global cache = new Map([[, Session]...]); each Session has .extra in its property array. */
static inline void forged_sessions(struct forged *forged)
{
	uint64_t map_map = forged_map(forged, FORGED_JS_MAP, 4, forged_constructor(forged, "Map"));
	uint64_t table_map = forged_map(forged, FORGED_HASH_MAP, 0, 0);
	uint64_t map = forged_map(forged, FORGED_OBJECT, 3, forged_constructor(forged, "Session")),
		 derived = forged_map(forged, FORGED_OBJECT, 4, map);

	forged_property(forged, map, "extra", 0);
	forged_property(forged, derived, "secret key", 0);
	forged->cache = forged_receiver(forged, map_map, 4);
	forged->table = forged_array(forged, table_map, FORGED_SESSIONS);
	forged_set(forged->cache, 24, forged->table);
	forged->extra = forged_text(forged, forged->string, "contents");
	for (uint64_t i = 0; i < FORGED_SESSIONS; i++) {
		uint64_t session = forged_receiver(forged, map, 3), properties;

		properties = forged_array(forged, forged->properties, 1);
		forged_item(properties, 0, forged->extra);
		forged_set(session, 8, properties);
		forged_item(forged->table, i, session);
		forged->sessions = session;
	}
	forged->derived = forged_receiver(forged, derived, 4);
	forged_set(forged->derived, 24, forged->memory.blocks[0]);
}

static inline uint64_t forged_buffer(struct forged *forged, uint64_t store, uint64_t bytes)
{
	uint64_t buffer = forged_receiver(forged, forged->buffer_map, 5);

	forged_set(buffer, 24, bytes);
	forged_set(buffer, 32, store);
	return buffer;
}

/* Makes array buffers: the block of each, and the length that the buffer claims. */
static inline void forged_buffers(struct forged *forged)
{
	static const uint64_t sizes[][2] = {{64, 60}, {40, 16}, {200, 16}, {4096, 3500}};

	forged->buffer_map =
		forged_map(forged, FORGED_BUFFER, 5, forged_constructor(forged, "ArrayBuffer"));
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++)
		forged_buffer(forged, forged_memory_malloc(&forged->memory, sizes[i][0]),
			      sizes[i][1]);
}

/* A function's variable `held`, in its context. */
static inline void forged_closure(struct forged *forged)
{
	uint64_t name = forged_text(forged, forged->internalized, "held");
	uint64_t scope = forged_object(forged, forged->scope, 8 + 7 * 8);
	uint64_t context = forged_map(forged, FORGED_CONTEXT, 0, 0);

	forged_set(scope, 24, forged_number(1));
	forged_set(scope, 32, name);
	forged->context = forged_array(forged, context, 3);
	forged_item(forged->context, 0, scope);
	forged->captured = forged_text(forged, forged->string, "captured");
	forged_item(forged->context, 2, forged->captured);
}

static inline void forged_weak(struct forged *forged)
{
	uint64_t ref =
		forged_map(forged, FORGED_WEAK_REF, 4, forged_constructor(forged, "WeakRef"));
	uint64_t map =
		forged_map(forged, FORGED_WEAK_MAP, 4, forged_constructor(forged, "WeakMap"));
	uint64_t table = forged_map(forged, FORGED_EPHEMERONS, 0, 0), entries;

	forged->of_weak_ref = forged_text(forged, forged->string, "of a weak reference");
	forged->weak_ref = forged_receiver(forged, ref, 4);
	forged_set(forged->weak_ref, 24, forged->of_weak_ref);
	forged->key = forged_text(forged, forged->string, "key");
	forged->of_weak_map = forged_text(forged, forged->string, "of a weak map");
	forged->weak_map = forged_receiver(forged, map, 4);
	entries = forged_array(forged, table, 5);
	forged_item(entries, 3, forged->key);
	forged_item(entries, 4, forged->of_weak_map);
	forged_set(forged->weak_map, 24, entries);
}

static inline void forged_globals(struct forged *forged)
{
	uint64_t dictionary_map = forged_map(forged, FORGED_GLOBAL_DICTIONARY, 0, 0);
	uint64_t cell_map = forged_map(forged, FORGED_PROPERTY_CELL, 5, 0);
	uint64_t global_map = forged_map(forged, FORGED_GLOBAL, 3, 0);
	uint64_t context_map = forged_map(forged, FORGED_NATIVE_CONTEXT, 0, 0);
	uint64_t name = forged_text(forged, forged->internalized, "cache");
	uint64_t cell = forged_object(forged, cell_map, 40);
	uint64_t dictionary = forged_array(forged, dictionary_map, 4);
	uint64_t global = forged_receiver(forged, global_map, 3);

	forged_set(cell, 8, name);
	forged_set(cell, 24, forged->cache);
	forged_item(dictionary, 3, cell);
	forged_set(global, 8, dictionary);
	/* One word longer than its size, after maps. */
	forged->native_context = forged_array(forged, context_map, 4);
	forged_item(forged->native_context, 2, context_map);
	forged_item(forged->native_context, 3, forged->context);
	forged->next += 8;
	forged_set(context_map, 32, forged->native_context);
}

/*
 * Makes many functions at one place, from `names` on: the word in place of the name points to it.
 */
static inline void forged_functions(struct forged *forged, uint64_t script, uint64_t name,
				    uint64_t uncompiled)
{
	uint64_t shared = forged_object(forged, forged->shared, 56);

	forged_set(shared, 8, uncompiled);
	forged_set(shared, 16, name);
	forged_set(shared, 32, script);
	for (uint64_t i = 0; i < FORGED_CLOSURES; i++) {
		uint64_t function = forged_object(forged, forged->function, 64);

		forged_set(function, 24, shared);
		forged_set(function, 32, forged->module);
		forged->last_function = function;
	}
}

/*
 * Makes a script of three lines. Its variable `kept` is used by functions: compiled ones of the
 * second line, and others of the third.
 */
static inline void forged_script(struct forged *forged)
{
	uint64_t script_map = forged_map(forged, FORGED_SCRIPT, 10, 0);
	uint64_t uncompiled_map = forged_map(forged, FORGED_UNCOMPILED, 4, 0);
	uint64_t context_map = forged_map(forged, FORGED_CONTEXT, 0, 0);
	uint64_t name = forged_text(forged, forged->internalized, "/srv/server.js");
	uint64_t kept = forged_text(forged, forged->internalized, "kept");
	uint64_t on_data = forged_text(forged, forged->internalized, "onData");
	uint64_t late = forged_text(forged, forged->internalized, "late");
	uint64_t scope, script = forged_object(forged, script_map, 80), uncompiled;

	forged->script = script;
	forged->line_ends = forged_array(forged, forged->fixed_array, 3);
	for (uint64_t i = 0; i < 3; i++)
		forged_item(forged->line_ends, i, forged_number((const uint8_t[]){4, 20, 25}[i]));

	forged->source = forged_text(forged, forged->string, "kept\nfunction onData\nlate");
	forged_set(script, 8, forged->source);
	forged_set(script, 16, name);
	scope = forged_object(forged, forged->scope, 8 + 7 * 8);
	/* Flags, not a length: as a length they would reach beyond the next scope. */
	forged_set(scope, 8, forged_number(23));
	forged_set(scope, 24, forged_number(1));
	forged_set(scope, 32, kept);
	forged->module = forged_array(forged, context_map, 3);
	forged_item(forged->module, 0, scope);
	forged_item(forged->module, 1, forged->native_context);
	forged->of_module = forged_text(forged, forged->string, "of a module");
	forged_item(forged->module, 2, forged->of_module);
	/* No variables, a name, then from where to where it is, and its outer scope. */
	scope = forged_object(forged, forged->scope, 8 + 7 * 8);
	forged_set(scope, 32, on_data);
	forged_set(scope, 40, forged_number(14));
	forged_set(scope, 48, forged_number(20));
	forged_set(scope, 56, forged->module);
	forged_functions(forged, script, scope, 0);
	uncompiled = forged_object(forged, uncompiled_map, 32);
	forged_put32(uncompiled - 1 + 16, 22);
	forged_functions(forged, script, late, uncompiled);
}

static inline uint64_t forged_shared_of(uint64_t function)
{
	return forged_word(function - 1 + 24);
}

/* Returns the last onData() of the second line, before the data of late(). */
static inline uint64_t forged_on_data_function(const struct forged *forged)
{
	return forged->last_function - FORGED_CLOSURES * 64 - 32 - 56;
}

static inline uint64_t forged_on_data(const struct forged *forged)
{
	return forged_shared_of(forged_on_data_function(forged));
}

/* A frame of its that V8 interprets. */
static inline uint64_t forged_noted(uint64_t shared, uint64_t at)
{
	return LM_FRAME_INTERPRETED | (at & LM_INTERPRETED_AT_MASK) << LM_INTERPRETED_METHOD_BITS |
	       shared >> 3;
}

/* The bytecode of onData(), with positions in all three lines. It lies where a walk of the heap
 * does not look. */
static inline void forged_bytecode(struct forged *forged)
{
	static const uint8_t positions[] = {
		0x01, 2 * 2 * 15,     /* where it begins: 14, plus 1 */
		0x16, 2 * 2 * 7,      /* a statement 11 bytes on, at 21 */
		0x27, 2 * 2 * 20 - 1, /* an expression 19 bytes on, at 1 */
	};
	uint64_t bytes_map = forged_map(forged, FORGED_BYTE_ARRAY, 0, 0);
	uint64_t array = forged_object(forged, forged->bytecode, 56 + FORGED_BYTECODES);
	uint64_t bytes = forged_array(forged, bytes_map, 1);

	forged_set(array, 8, forged_number(FORGED_BYTECODES));
	forged_set(array, 32, bytes);
	forged_set(bytes, 8, forged_number(sizeof(positions)));
	memcpy(forged_memory_place(bytes - 1 + 16), positions, sizeof(positions));
	forged_set(forged_on_data(forged), 8, array);
	forged->bytecodes = array;
}

/*
 * Makes its code, with 10 bytes for each of four bytecodes, after 16 bytes. The second and third
 * one have long operands.
 */
static inline void forged_compiled(struct forged *forged)
{
	static const uint8_t bytecodes[] = {2, [4] = 0, 2, [10] = 1, 2, [29] = 3, [33] = 3, 0};
	static const uint8_t lengths[] = {16, 10, 10, 10, 10};
	uint64_t bytes_map = forged_map(forged, FORGED_BYTE_ARRAY, 0, 0);
	uint64_t code_map = forged_map(forged, FORGED_CODE, 0, 0);
	uint64_t code = forged_object(forged, code_map, 64);
	uint64_t bytes = forged_array(forged, bytes_map, 1);

	memcpy(forged_memory_place(forged->bytecodes + FORGED_BYTECODE_HEADER), bytecodes,
	       sizeof(bytecodes));
	forged_set(bytes, 8, forged_number(sizeof(lengths)));
	memcpy(forged_memory_place(bytes - 1 + 16), lengths, sizeof(lengths));
	forged_set(code, 16, forged->bytecodes);
	forged_set(code, 24, bytes);
	forged_set(code, 40, FORGED_INSTRUCTIONS);
	forged_set(code, 56, 60);
	forged->code = code;
	forged_set(forged_shared_of(forged->last_function), 24, code);
}

/* Makes an array of listeners: late(), some of them by once(), then onData(). */
static inline uint64_t forged_crowd(struct forged *forged)
{
	uint64_t array_map = forged_map(forged, FORGED_ARRAY, 4, 0);
	uint64_t once_map = forged_map(forged, FORGED_OBJECT, 4, 0);
	uint64_t crowd = forged_receiver(forged, array_map, 4), once;
	uint64_t elements = forged_array(forged, forged->fixed_array, FORGED_CROWD);

	forged_property(forged, once_map, "listener", 0);
	once = forged_receiver(forged, once_map, 4);
	forged_set(once, 24, forged->last_function);
	forged_set(crowd, 16, elements);
	forged_set(crowd, 24, forged_number(FORGED_CROWD));
	for (uint64_t i = 0; i < FORGED_CROWD; i++)
		forged_item(elements, i,
			    i >= FORGED_LATE ? forged_on_data_function(forged)
			    : i % 2	     ? once
					     : forged->last_function);
	return crowd;
}

/*
 * Makes EventEmitters: the listeners of the first one are in a dictionary object by names of
 * events; those of the second one are its fields.
 */
static inline void forged_emitter(struct forged *forged)
{
	uint64_t emitter =
		forged_map(forged, FORGED_OBJECT, 4, forged_constructor(forged, "Server"));
	uint64_t events_map = forged_map(forged, FORGED_OBJECT, 3, 0), events, table;
	uint64_t fields_map = forged_map(forged, FORGED_OBJECT, 4, 0);
	uint64_t data = forged_text(forged, forged->internalized, "data");
	uint64_t close = forged_text(forged, forged->internalized, "close");

	forged_put32(events_map - 1 + 16, 1u << 21);
	forged_property(forged, emitter, "_events", 0);
	forged_property(forged, fields_map, "error", 0);
	forged->listeners = forged_receiver(forged, events_map, 3);
	events = forged_receiver(forged, events_map, 3);
	table = forged_array(forged, forged->fixed_array, 6);
	forged_item(table, 1, data);
	forged_item(table, 2, forged->listeners);
	forged_item(table, 3, close);
	forged_item(table, 4, forged_crowd(forged));
	forged_set(events, 8, table);
	forged->emitter = forged_receiver(forged, emitter, 4);
	forged_set(forged->emitter, 24, events);
	events = forged_receiver(forged, fields_map, 4);
	forged_set(events, 24, forged_crowd(forged));
	forged_set(forged_receiver(forged, emitter, 4), 24, events);
}

/* An ES module of the script that exports `shared`, and require.cache. */
static inline void forged_modules(struct forged *forged)
{
	static const char *const caches[] = {"_cache", "_pathCache"};
	uint64_t module_map = forged_map(forged, FORGED_ES_MODULE, 4, 0);
	uint64_t cell_map = forged_map(forged, FORGED_CELL, 2, 0);
	uint64_t table_map = forged_map(forged, FORGED_HASH_TABLE, 0, 0);
	uint64_t loader_map = forged_map(forged, FORGED_FUNCTION, 10, 0);
	uint64_t paths_map = forged_map(forged, FORGED_OBJECT, 3, 0);
	uint64_t script_map = forged_map(forged, FORGED_SCRIPT, 10, 0);
	uint64_t name = forged_text(forged, forged->internalized, "shared");
	uint64_t path =
		forged_text(forged, forged->internalized, "node:internal/modules/cjs/loader");
	uint64_t module = forged_object(forged, module_map, 32);
	uint64_t cell = forged_object(forged, cell_map, 16);
	uint64_t table = forged_array(forged, table_map, 4);
	uint64_t script = forged_object(forged, script_map, 80);
	uint64_t shared = forged_object(forged, forged->shared, 56);
	uint64_t loader = forged_object(forged, loader_map, 80);

	forged_set(module, 8, table);
	forged_set(module, 16, forged->last_function);
	forged_item(table, 2, name);
	forged_item(table, 3, cell);
	forged->exported = forged_receiver(forged, paths_map, 3);
	forged_set(cell, 8, forged->exported);
	forged_properties(forged, loader_map, caches, 2, 0, 8);
	forged_set(script, 16, path);
	forged_set(shared, 32, script);
	forged_set(loader, 24, shared);
	forged->required = forged_receiver(forged, paths_map, 3);
	forged_set(loader, 64, forged->required);
	forged_set(loader, 72, forged_receiver(forged, paths_map, 3));
}

/* Makes a suspended call of onData(), which returned the promise. */
static inline uint64_t forged_call(struct forged *forged, uint64_t map, uint64_t promise)
{
	uint64_t call = forged_receiver(forged, map, 11);

	forged_set(call, 24, forged_on_data_function(forged));
	forged_set(call, 80, promise);
	return call;
}

/* Makes a reaction: late() is called when the promise is resolved, or the call resumes. */
static inline uint64_t forged_reaction(struct forged *forged, uint64_t map, uint64_t call)
{
	uint64_t function = forged->last_function, reaction;

	if (call) {
		uint64_t context =
			forged_array(forged, forged_map(forged, FORGED_CONTEXT, 0, 0), 3);

		forged_item(context, 2, call);
		function = forged_object(forged, forged->function, 64);
		forged_set(function, 24, forged_shared_of(forged->last_function));
		forged_set(function, 32, context);
	}
	reaction = forged_object(forged, map, 48);
	forged_set(reaction, 24, function);
	return reaction;
}

/*
 * Makes promises: returned by an async function, awaited by one, with a then(), and a resolved one;
 * and timers.
 */
static inline void forged_pending(struct forged *forged)
{
	uint64_t map = forged_map(forged, FORGED_PROMISE, 5, forged_constructor(forged, "Promise"));
	uint64_t call_map = forged_map(forged, FORGED_CALL, 11, 0), call, settled;
	uint64_t reaction_map = forged_map(forged, FORGED_REACTION, 6, 0), then, awaits;
	uint64_t timer_map =
		forged_map(forged, FORGED_OBJECT, 4, forged_constructor(forged, "Timeout"));

	forged_property(forged, timer_map, "_onTimeout", 0);
	call = forged_call(forged, call_map, 0);
	awaits = forged_reaction(forged, reaction_map, call);
	then = forged_reaction(forged, reaction_map, 0);
	for (uint64_t i = 0; i < FORGED_PENDING; i++) {
		forged_call(forged, call_map, forged_receiver(forged, map, 5));
		forged_set(forged_receiver(forged, map, 5), 24, awaits);
		forged_set(forged_receiver(forged, map, 5), 24, then);
		forged_set(forged_receiver(forged, timer_map, 4), 24, forged->last_function);
	}
	settled = forged_receiver(forged, map, 5);
	forged_set(settled, 32, forged_number(1));
}

/* Makes an object of a type without name and length: it extends to the next object. */
static inline void forged_odd(struct forged *forged)
{
	uint64_t map = forged_map(forged, FORGED_ODD, 0, 0);
	uint64_t odd = forged_object(forged, map, 40);

	forged_set(odd, 8, UINT64_MAX - 1);
	forged_set(odd, 16, 0x1234);
	forged_set(odd, 24, 0x5678);
	forged_set(odd, 32, 2);
}

/* Makes objects up to the top of the area; similar data after it are not objects. */
static inline void forged_young(struct forged *forged)
{
	uint64_t area = FORGED_BASE + FORGED_AREAS, base = FORGED_BASE + FORGED_YOUNG;

	forged_chunk(forged, FORGED_YOUNG, 0x10, 0x400);
	forged->young = forged_text(forged, forged->string, "young");
	forged_put(area, base + FORGED_START);
	forged_put(area + 8, forged->next);
	forged_put(area + 16, base + FORGED_USED);
	forged_text(forged, forged->string, "stale");
	forged_chunk(forged, FORGED_FROM, 0x8, 0x600);
	forged_text(forged, forged->string, "stale");
}

/* A block of handles for longer: each bears its index. */
static inline void forged_handles(uint64_t block, uint8_t first)
{
	for (uint32_t i = 0; i < 256; i++)
		forged_put8(block + i * 32 + 10, (uint8_t)(first + i));
}

/*
 * Makes native memory with handles: the isolate around the heap, blocks of handles of running
 * functions, one of them spare, their owner, and a block of longer-lived handles.
 */
static inline void forged_native(struct forged *forged)
{
	struct forged_memory *memory = &forged->memory;
	uint64_t first = FORGED_BASE + FORGED_LENGTHS + 0x800;
	uint64_t isolate = forged_memory_block(memory, FORGED_BASE + FORGED_HEAP - 0x100, 0x5000);

	forged_handles(forged_memory_block(memory, first + 0x4000, 8248), 0);
	forged->spare = forged_memory_block(memory, first + 0x2000, 8184);
	forged->used = forged_memory_block(memory, first, 8184);
	forged->vector = forged_memory_block(memory, first - 0x40, 40);
	forged->structure = forged_memory_block(memory, first - 0x100, 0x98);
	forged_put(isolate + 0x20, forged->structure);
	forged_put(isolate + 0x40, forged->used + 112);
	forged_put(isolate + 0x48, forged->used + 8176);
	forged_put(isolate + 0x50, 1);
	forged_put(forged->structure + 8, forged->vector);
	forged_put(forged->structure + 16, 4);
	forged_put(forged->structure + 24, 1);
	forged_put(forged->vector, forged->used);
	forged_put(forged->vector + 8, forged->spare);
}

/*
 * Makes the heap's counts: 2 of 5 collections of the whole heap, bytes that the last one left,
 * external memory, and an allocator's part of it.
 */
static inline void forged_counts(const struct forged *forged)
{
	uint64_t heap = FORGED_BASE + FORGED_HEAP, allocator = forged->memory.blocks[0];

	forged_put32(heap + 0x240, 2);
	forged_put32(heap + 0x244, 5);
	forged_put(heap + 0x9f0, 100000);
	forged_put(heap + 0x128, 7000);
	forged_put(heap + 0x23f0, allocator);
	forged_put(allocator, FORGED_BASE + FORGED_CONSTANTS);
	forged_put(allocator + 8, 1);
	forged_put(allocator + 16, 5000);
}

/* False: no memory. */
static inline bool forged_make(struct forged *forged)
{
	uint64_t free_space;

	*forged = (struct forged){0};
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA, 0x30000))
		return false;
	forged_constants(forged);
	forged_lengths(forged);
	forged_memory_malloc(&forged->memory, 64);
	free_space = forged_maps(forged);
	forged_chunk(forged, FORGED_OLD, 0x4, 0);
	forged_sessions(forged);
	forged->old_garbage = forged_text(forged, forged->string, "garbage");
	forged_closure(forged);
	forged_weak(forged);
	forged_buffers(forged);
	forged_globals(forged);
	forged_script(forged);
	forged_emitter(forged);
	forged_modules(forged);
	forged_pending(forged);
	forged_odd(forged);
	forged_close(forged, free_space, FORGED_OLD);
	forged_young(forged);
	forged_bytecode(forged);
	forged_compiled(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

#endif
