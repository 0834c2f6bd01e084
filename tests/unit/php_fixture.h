/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The memory of a small program of PHP 8.2: sessions in a static property, a global variable, a
 * static variable, a closure, a local variable; two objects that hold each other; a weak reference.
 * zend_mm has one chunk.
 */
#ifndef LEAKMON_UNIT_PHP_FIXTURE_H
#define LEAKMON_UNIT_PHP_FIXTURE_H

#include "heap/runtime/php/php.h"
#include "unit/forged_memory.h"

#define FORGED_BASE 0x200000000000ull
#define FORGED_BYTES (2 * PHP_CHUNK_BYTES)
#define FORGED_DATA 0x20000u
#define FORGED_MALLOC 0x30000u
#define FORGED_CHUNK PHP_CHUNK_BYTES
#define FORGED_SESSIONS 5
#define FORGED_OBJECTS_MAX 32

/* zend_mm_chunk and its heap, of 8.2.36 */
#define FORGED_PAGE_MAP 544
#define FORGED_MAIN_CHUNK 328
#define FORGED_STACK_PAGE 64
#define FORGED_STACK_PAGES 64
/* Pages of blocks: one size each. */
enum forged_size { FORGED_40, FORGED_56, FORGED_384, FORGED_SIZES_ };

/* zval.u1.type_info */
#define FORGED_STRING 0x106u
#define FORGED_ARRAY 0x307u
#define FORGED_OBJECT 0x308u

struct forged {
	struct forged_memory memory;
	uint64_t globals, compiler, registry, sapi, chunk, heap;
	uint64_t next;			/* in the program's data */
	uint64_t blocks[FORGED_SIZES_]; /* where the next one of a size comes */
	uint64_t used;
	uint64_t session, node, registered, closure; /* classes */
	uint64_t buckets;
	uint32_t top;
	uint64_t collector;
	/* Of the program's. */
	uint64_t instances, cached, seen, held, local, weak, callback, function, first;
};

static const struct {
	uint32_t bytes, bin, page, pages;
} forged_sizes[FORGED_SIZES_] = {{40, 4, 1, 1}, {56, 6, 2, 1}, {384, 17, 3, 3}};

static inline uint64_t forged_data(struct forged *forged, uint64_t bytes)
{
	uint64_t place = forged->next;

	forged->next += (bytes + 15) / 16 * 16;
	return place;
}

static inline void forged_half(uint64_t address, uint32_t half)
{
	memcpy(forged_memory_place(address), &half, sizeof(half));
}

static inline uint64_t forged_string(struct forged *forged, const char *text)
{
	uint64_t string = forged_data(forged, 24 + strlen(text) + 1);

	forged_half(string, 1);
	forged_half(string + 4, PHP_STRING | COUNTED_IMMUTABLE);
	forged_put(string + 16, strlen(text));
	forged_put_text(string + 24, text);
	return string;
}

static inline uint64_t forged_block(struct forged *forged, enum forged_size size)
{
	uint64_t block = forged->blocks[size];

	forged->blocks[size] += forged_sizes[size].bytes;
	forged->used += forged_sizes[size].bytes;
	return block;
}

static inline void forged_value(uint64_t place, uint64_t value, uint32_t type)
{
	forged_put(place, value);
	forged_half(place + 8, type);
}

/* A zend_array with room for eight elements that have keys, at `data`. */
static inline void forged_table(uint64_t table, uint64_t data)
{
	forged_half(table, 1);
	forged_half(table + 4, PHP_ARRAY);
	forged_half(table + 12, (uint32_t)-16);
	forged_put(table + 16, data + 64);
	forged_half(table + 32, 8);
}

static inline void forged_element(uint64_t table, uint64_t value, uint32_t type, uint64_t key)
{
	uint32_t used = (uint32_t)forged_word(table + 24);
	uint64_t place = forged_word(table + 16) + used * 32ull;

	forged_value(place, value, type);
	forged_put(place + 24, key);
	forged_half(table + 24, used + 1);
	forged_half(table + 28, used + 1);
}

/* An array in blocks of zend_mm's. */
static inline uint64_t forged_array(struct forged *forged)
{
	uint64_t table = forged_block(forged, FORGED_56);

	forged_table(table, forged_block(forged, FORGED_384));
	return table;
}

static inline uint64_t forged_class(struct forged *forged, const char *name, uint32_t type)
{
	uint64_t class = forged_data(forged, 504);
	const uint64_t tables[] = {CLASS_METHODS, CLASS_PROPERTIES, CLASS_CONSTANTS};

	forged_put(class, type);
	forged_put(class + CLASS_NAME, forged_string(forged, name));
	for (size_t i = 0; i < sizeof(tables) / sizeof(tables[0]); i++)
		forged_table(class + tables[i], forged_data(forged, 64 + 8 * 32));
	forged_element(forged_word(forged->globals + PHP_CLASSES), class, PHP_POINTER,
		       forged_word(class + CLASS_NAME));
	return class;
}

static inline void forged_property(struct forged *forged, uint64_t class, const char *name,
				   uint32_t offset, uint32_t flags)
{
	uint64_t property = forged_data(forged, 56);

	forged_half(property, offset);
	forged_half(property + PROPERTY_FLAGS, flags);
	forged_put(property + PROPERTY_CLASS, class);
	forged_element(class + CLASS_PROPERTIES, property, PHP_POINTER,
		       forged_string(forged, name));
	forged_half(class + (flags & PROPERTY_STATIC ? CLASS_STATIC_COUNT : CLASS_COUNT), 1);
}

static inline uint64_t forged_object(struct forged *forged, uint64_t class, enum forged_size size,
				     uint32_t offset)
{
	uint64_t object = forged_block(forged, size) + offset;

	forged_half(object, 1);
	forged_half(object + 4, PHP_OBJECT);
	forged_half(object + OBJECT_HANDLE, forged->top);
	forged_put(object + OBJECT_CLASS, class);
	forged_put(forged->buckets + forged->top++ * 8ull, object);
	return object;
}

static inline uint64_t forged_session(struct forged *forged)
{
	return forged_object(forged, forged->session, FORGED_56, 0);
}

/* zend_op_array */
static inline uint64_t forged_function(struct forged *forged, uint64_t function, const char *name)
{
	uint64_t opcodes = forged_data(forged, 4 * PHP_OPCODE_BYTES);

	forged_put(function, 2);
	forged_put(function + FUNCTION_NAME, forged_string(forged, name));
	forged_half(function + 80, 4); /* opcodes */
	forged_put(function + 88, opcodes);
	forged_put(function + 152, forged_string(forged, "/srv/app.php"));
	forged_half(function + 160, 12);
	return opcodes;
}

static inline void forged_modules(struct forged *forged)
{
	uint64_t core = forged_data(forged, 168), version = forged_data(forged, 16);
	uint64_t name = forged_data(forged, 16);

	forged_half(core, 168);
	forged_half(core + 4, 20220829);
	forged_put(core + 88, version);
	forged_put_text(version, "8.2.36");
	forged_table(forged->registry, forged_data(forged, 64 + 8 * 32));
	forged_element(forged->registry, core, PHP_POINTER, forged_string(forged, "core"));
	forged_put(forged->sapi, name);
	forged_put_text(name, "cli");
}

static inline void forged_globals(struct forged *forged)
{
	struct forged_memory *memory = &forged->memory;

	forged->sapi = forged_memory_symbol(memory, "sapi_module", 0x100, 280);
	forged->registry = forged_memory_symbol(memory, "module_registry", 0x300, 56);
	forged->compiler = forged_memory_symbol(memory, "compiler_globals", 0x1000, 568);
	forged->globals = forged_memory_symbol(memory, "executor_globals", 0x2000, 1800);
	forged->collector = memory->base + 0x3000;
	forged->next = memory->base + 0x4000;
	forged->chunk = memory->base + FORGED_CHUNK;
	forged->heap = forged->chunk + PHP_CHUNK_HEAP;
	for (size_t i = 0; i < FORGED_SIZES_; i++)
		forged->blocks[i] = forged->chunk + forged_sizes[i].page * MEMORY_PAGE;
	forged_table(forged->globals + PHP_SYMBOLS, forged_data(forged, 64 + 8 * 32));
	for (uint64_t at = PHP_FUNCTIONS; at <= PHP_CONSTANTS; at += 8) {
		forged_put(forged->globals + at, forged_data(forged, 56));
		forged_table(forged_word(forged->globals + at), forged_data(forged, 64 + 8 * 32));
	}
	forged_put(forged->globals + 992, 1); /* active */
	forged_modules(forged);
}

static inline void forged_classes(struct forged *forged)
{
	forged->session = forged_class(forged, "App\\Session", CLASS_USER);
	forged_property(forged, forged->session, "user", OBJECT_TABLE, 0);
	forged->node = forged_class(forged, "App\\Node", CLASS_USER);
	forged_property(forged, forged->node, "other", OBJECT_TABLE, 0);
	forged->registered = forged_class(forged, "Registry", CLASS_USER);
	forged_property(forged, forged->registered, "instances", 0, PROPERTY_STATIC);
	forged->closure = forged_class(forged, "Closure", CLASS_INTERNAL);
}

/* Pages in use, and blocks that are free: the rest of each size's. */
static inline void forged_page(const struct forged *forged, uint32_t page, uint32_t info,
			       uint32_t pages)
{
	uint64_t map = forged->chunk + FORGED_PAGE_MAP;

	forged_half(map + page * 4ull, info);
	for (uint32_t i = page; i < page + pages; i++) {
		uint64_t word = map - 64 + i / 64 * 8;

		forged_put(word, forged_word(word) | 1ull << i % 64);
		if (i > page)
			forged_half(map + i * 4ull, 0xc0000000u | info | (i - page) << 16);
	}
}

static inline void forged_zend_mm(struct forged *forged)
{
	uint32_t pages = 1 + FORGED_STACK_PAGES;

	forged_page(forged, 0, 0x40000001u, 1);
	forged_page(forged, FORGED_STACK_PAGE, 0x40000000u | FORGED_STACK_PAGES,
		    FORGED_STACK_PAGES);
	forged->used += FORGED_STACK_PAGES * MEMORY_PAGE;
	for (size_t i = 0; i < FORGED_SIZES_; i++) {
		uint64_t start = forged->chunk + forged_sizes[i].page * MEMORY_PAGE;
		uint64_t end = start + forged_sizes[i].pages * MEMORY_PAGE, at;
		uint64_t list = forged->heap + 32 + forged_sizes[i].bin * 8ull;

		forged_page(forged, forged_sizes[i].page, 0x80000000u | forged_sizes[i].bin,
			    forged_sizes[i].pages);
		pages += forged_sizes[i].pages;
		for (at = forged->blocks[i]; at + forged_sizes[i].bytes <= end;
		     at += forged_sizes[i].bytes) {
			forged_put(list, at);
			list = at;
			forged_put(at, 0);
		}
	}
	forged_put(forged->chunk, forged->heap);
	forged_put(forged->chunk + 8, forged->chunk);
	forged_put(forged->chunk + 16, forged->chunk);
	forged_half(forged->chunk + 24, 512 - pages);
	forged_put(forged->heap + 16, forged->used);
	forged_put(forged->heap + FORGED_MAIN_CHUNK, forged->chunk);
	forged_put(forged->heap + FORGED_MAIN_CHUNK + 16, 1);
}

static inline void forged_variables(struct forged *forged)
{
	uint64_t statics = forged_data(forged, 16), function = forged_data(forged, 256);

	forged->instances = forged_array(forged);
	for (size_t i = 0; i < FORGED_SESSIONS; i++) {
		uint64_t session = forged_session(forged);

		forged->first = i ? forged->first : session;
		forged_element(forged->instances, session, FORGED_OBJECT, 0);
	}
	forged_put(forged->registered + CLASS_STATICS, statics);
	forged_value(statics, forged->instances, FORGED_ARRAY);
	forged->cached = forged_session(forged);
	forged_element(forged->globals + PHP_SYMBOLS, forged->cached, FORGED_OBJECT,
		       forged_string(forged, "cache"));
	forged->seen = forged_session(forged);
	forged_function(forged, function, "remember");
	forged_put(function + 96, forged_array(forged));
	forged_element(forged_word(function + 96), forged->seen, FORGED_OBJECT,
		       forged_string(forged, "seen"));
	forged_element(forged_word(forged->globals + PHP_FUNCTIONS), function, PHP_POINTER,
		       forged_string(forged, "remember"));
}

static inline void forged_others(struct forged *forged)
{
	uint64_t one = forged_object(forged, forged->node, FORGED_56, 0);
	uint64_t other = forged_object(forged, forged->node, FORGED_56, 0);
	uint64_t weak = forged_class(forged, "WeakReference", CLASS_INTERNAL);

	forged_value(one + OBJECT_TABLE, other, FORGED_OBJECT);
	forged_value(other + OBJECT_TABLE, one, FORGED_OBJECT);
	forged->callback = forged_object(forged, forged->closure, FORGED_384, 0);
	forged_function(forged, forged->callback + OBJECT_OWN, "{closure}");
	forged->held = forged_session(forged);
	forged_put(forged->callback + OBJECT_OWN + 96, forged_array(forged));
	forged_element(forged_word(forged->callback + OBJECT_OWN + 96), forged->held, FORGED_OBJECT,
		       forged_string(forged, "held"));
	forged_value(forged->first + OBJECT_TABLE, forged->callback, FORGED_OBJECT);
	forged->weak = forged_object(forged, weak, FORGED_56, 8);
	forged_put(forged->weak - 8, one);
	forged_element(forged->globals + PHP_SYMBOLS, forged->weak, FORGED_OBJECT,
		       forged_string(forged, "weak"));
}

/* App\run(), with a variable, called by nothing; its stack is a large block. */
static inline void forged_frame(struct forged *forged)
{
	uint64_t stack = forged->chunk + FORGED_STACK_PAGE * MEMORY_PAGE, frame = stack + 256;
	uint64_t names = forged_data(forged, 16), opcodes;

	forged->function = forged_data(forged, 256);
	opcodes = forged_function(forged, forged->function, "run");
	forged_half(forged->function + 76, 1);
	forged_put(forged->function + 112, names);
	forged_put(names, forged_string(forged, "local"));
	forged->local = forged_session(forged);
	forged_put(frame, opcodes + PHP_OPCODE_BYTES);
	forged_put(frame + FRAME_FUNCTION, forged->function);
	forged_value(frame + FRAME_SLOTS, forged->local, FORGED_OBJECT);
	forged_put(forged->globals + PHP_STACK, stack);
	forged_put(forged->globals + PHP_FRAME, frame);
}

static inline void forged_collector(struct forged *forged)
{
	forged_put(forged->collector, forged_memory_malloc(&forged->memory, 128u << 10));
	forged_half(forged->collector + 8, 1);
	forged_half(forged->collector + 16, 3);
	forged_half(forged->collector + 20, 10001);
	forged_half(forged->collector + 24, 16384);
	forged_half(forged->collector + 28, 2);
}

static inline bool forged_make(struct forged *forged)
{
	memset(forged, 0, sizeof(*forged));
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_MALLOC))
		return false;
	forged_globals(forged);
	forged->buckets = forged_memory_malloc(&forged->memory, FORGED_OBJECTS_MAX * 8);
	forged->top = 1;
	forged_classes(forged);
	forged_variables(forged);
	forged_others(forged);
	forged_frame(forged);
	forged_put(forged->globals + 840, forged->buckets);
	forged_half(forged->globals + 840 + STORE_TOP, forged->top);
	forged_half(forged->globals + 840 + STORE_SIZE, FORGED_OBJECTS_MAX);
	forged_collector(forged);
	forged_zend_mm(forged);
	forged_memory_find_places(&forged->memory);
	return true;
}

#endif
