// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * CPython 3.9 to 3.15: libpython3.*, or a program named python3.*, or any with the variables
 * _PyRuntime and PyType_Type. Layouts are by version; if a version's is unknown, or the data
 * contradict it, nothing is read.
 *
 * An object is a block, from obmalloc's arenas or from malloc, that has a type at the offset where
 * objects of that type have it, and enough room for such an object.
 */
#include "heap/runtime/cpython/cpython.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "base/text.h"
#include "binary/arch/machine.h"
#include "heap/allocators/heap_image.h"
#include "heap/runtime/cpython/python_reader.h"
#include "heap/runtime/mapping_shape.h"
#include "heap/runtime/runtime.h"

#define KEY "cpython"
#define SMALL_MAX 512 /* SMALL_REQUEST_THRESHOLD */
#define PREFIX_MAX 32
#define HEAD_BYTES SMALL_MAX
#define BASES_MAX 64

static bool detect(const struct mapping *mapping)
{
	static const struct module_name names[] = {{"libpython3.", false}, {"python3.", false}};

	return mapping_is_module(mapping, names, ARRAY_SIZE(names));
}

/* Finding the interpreter. */

/* Returns the version in a file's name: 0x030b for "python3.11", 0x0309 for "libpython3.9.so.1.0";
 * 0: any other name. */
static unsigned version_by_name(const char *path)
{
	const char *name = text_path_base(path);
	unsigned minor;

	if (sscanf(name, "libpython3.%2u", &minor) != 1 && sscanf(name, "python3.%2u", &minor) != 1)
		return 0;
	return 0x0300 | minor;
}

/* Arenas are separate mappings, which the kernel merges with each other and with malloc's: their
 * pools distinguish them. */
static void survey(void *state, const struct mapping *mapping)
{
	const struct cpython_layout *layout;
	uint32_t *pool_bytes = state;

	if (*pool_bytes || !detect(mapping))
		return;
	layout = cpython_layout(version_by_name(mapping->path));
	*pool_bytes = layout ? layout->pool_bytes : CPYTHON_POOL_USUAL;
}

static bool owns(const void *state, const struct mapping *mapping)
{
	(void)state;
	return mapping_is_anonymous(mapping) && mapping_is_data(mapping) &&
	       !mapping_may_be_arena(mapping) &&
	       mapping->end - mapping->start >= CPYTHON_ARENA_LEAST;
}

/* Returns PY_VERSION_HEX: Py_Version, since 3.11; for older versions only the part in the file's
 * name. */
static uint32_t release_of(struct cpython *python, char text[24])
{
	uint64_t place = target_variable(python->module, "Py_Version");
	uint32_t hex = 0;
	unsigned version;

	if (place && !target_read(python->memory, place, &hex, sizeof(hex))) {
		snprintf(text, 24, "%u.%u.%u", hex >> 24, hex >> 16 & 0xff, hex >> 8 & 0xff);
		return hex;
	}
	version = version_by_name(python->module->path);
	if (version)
		snprintf(text, 24, "%u.%u", version >> 8, version & 0xff);
	return version << 16;
}

static bool find_module(struct cpython *python)
{
	/* The type of frames is the last one. */
	static const char *const frames[] = {"PyGen_Type", "PyCoro_Type", "PyAsyncGen_Type",
					     "PyFrame_Type"};
	static const char *const compiled[CPYTHON_STATIC_TYPES] = {
		"PyType_Type", "PyCode_Type",  "PyUnicode_Type", "PyBytes_Type",
		"PyLong_Type", "PyFloat_Type", "PyComplex_Type"};
	const struct data_modules *modules = python->memory->modules;

	for (size_t i = 0; i < modules->list.count; i++) {
		const struct data_module *module = &modules->list.items[i];

		python->runtime = target_variable(module, "_PyRuntime");
		python->type_type = target_variable(module, "PyType_Type");
		if (!python->runtime || !python->type_type)
			continue;
		python->module = module;
		python->set_type = target_variable(module, "PySet_Type");
		python->frozenset_type = target_variable(module, "PyFrozenSet_Type");
		python->bytearray_type = target_variable(module, "PyByteArray_Type");
		python->memoryview_type = target_variable(module, "PyMemoryView_Type");
		python->module_type = target_variable(module, "PyModule_Type");
		python->weakref_type = target_variable(module, "_PyWeakref_RefType");
		python->weakref_bytes =
			target_word(python->memory, python->weakref_type + TYPE_BASICSIZE);
		python->code_type = target_variable(module, "PyCode_Type");
		python->float_type = target_variable(module, "PyFloat_Type");
		python->complex_type = target_variable(module, "PyComplex_Type");
		python->ordered_type = target_variable(module, "PyODict_Type");
		for (size_t j = 0; j < ARRAY_SIZE(frames); j++)
			python->frame_types[j] = target_variable(module, frames[j]);
		for (size_t j = 0; j < ARRAY_SIZE(compiled); j++)
			python->static_types[j] = target_variable(module, compiled[j]);
		return true;
	}
	return false;
}

/* Returns whether its threads refer back to the interpreter, and it has a dictionary of modules. */
static bool is_interpreter(struct cpython *python, uint64_t interpreter)
{
	const struct cpython_layout *layout = python->layout;
	uint64_t thread = target_word(python->memory, interpreter + layout->threads);
	uint64_t modules = target_word(python->memory, interpreter + layout->modules);
	const struct cpython_type *type = cpython_type_of(python, modules);

	return thread && type && type->kind == CPYTHON_DICT &&
	       target_word(python->memory, thread + THREAD_INTERPRETER) == interpreter;
}

/* Finds all interpreters. 0; -ENOENT: the first one is invalid; -ENOMEM. */
static int find_interpreters(struct cpython *python)
{
	uint64_t at = target_word(python->memory, python->runtime + python->layout->interpreters);
	struct loop loop = {0};

	while (at && !loop_found(&loop, at) && is_interpreter(python, at)) {
		uint64_t *added = vec_push(&python->interpreters);

		if (!added)
			return -ENOMEM;
		*added = at;
		at = target_word(python->memory, at + python->layout->next);
	}
	return python->interpreters.count ? 0 : -ENOENT;
}

/* Objects in blocks. */

struct walk {
	struct cpython *python;
	struct heap_sink *sink;
	uint64_t objects, blocks, finalizable;
};

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

/* Digits of an int, since 3.12: PyLongObject.long_value.lv_tag. */
#define TAG_DIGITS(tag) ((tag) >> 3)

static uint64_t item_count(const struct cpython *python, const struct cpython_type *type,
			   uint64_t size)
{
	if (type->flags & FLAG_INT && python->layout->tagged_digits)
		return MAX(TAG_DIGITS(size), 1u);
	return (int64_t)size < 0 ? -size : size;
}

/* PyASCIIObject.state */
#define STR_COMPACT_ASCII (3u << 5)
#define STR_COMPACT (1u << 5)
#define STR_WIDTH(state) ((state) >> 2 & 7)

/*
 * Returns the size of a str with its letters; a str with its letters elsewhere has its type's size.
 */
static uint64_t str_bytes(const struct cpython *python, const struct cpython_type *type,
			  const unsigned char *object)
{
	const struct cpython_layout *layout = python->layout;
	uint64_t length = word_at(object, OBJECT_SIZE);
	uint32_t state = (uint32_t)word_at(object, STR_STATE);

	if (!(state & STR_COMPACT) || length >> 48)
		return type->basicsize;
	if ((state & STR_COMPACT_ASCII) == STR_COMPACT_ASCII)
		return layout->ascii_bytes + length + 1;
	return layout->compact_bytes + (length + 1) * STR_WIDTH(state);
}

/*
 * Returns the size of PyDictValues in the object: a head, the values, and a byte for each of them.
 */
static uint64_t inline_bytes(const struct cpython *python, const struct cpython_type *type,
			     const unsigned char *object, size_t bytes)
{
	uint64_t capacity;

	if (python->layout->values != VALUES_INLINE || !(type->flags & FLAG_INLINE_VALUES) ||
	    bytes <= type->basicsize)
		return 0;
	capacity = object[type->basicsize + INLINE_CAPACITY];
	return INLINE_VALUES + capacity * 8 + (capacity + 7) / 8 * 8;
}

uint64_t cpython_object_bytes(const struct cpython *python, const struct cpython_type *type,
			      const unsigned char *object, size_t bytes)
{
	uint64_t count;

	/* A str of a subclass has attributes behind it, and its letters elsewhere. */
	if (type->flags & FLAG_STR && bytes >= STR_STATE + 8) {
		count = str_bytes(python, type, object);
		return count == type->basicsize ? count + inline_bytes(python, type, object, bytes)
						: count;
	}
	if (!type->itemsize || bytes < OBJECT_SIZE + 8)
		return type->basicsize + inline_bytes(python, type, object, bytes);
	count = item_count(python, type, word_at(object, OBJECT_SIZE));
	if (count >> 40)
		return UINT64_MAX >> 1;
	count = type->basicsize + count * type->itemsize;
	/* Its dictionary is the last word. */
	return type->dictoffset < 0 ? (count + 7) & ~7ull : count;
}

enum listing {
	LISTED,
	UNLISTED,
	MISLISTED, /* no neighbour knows of it: these words are no links */
	LISTING_UNKNOWN,
};

/* Returns whether all reads certainly see the same moment. */
static bool is_of_one_moment(const struct target_memory *memory)
{
	return memory->image && memory->image->stopped && !memory->uncertain;
}

static bool is_unread(struct target_memory *memory, uint64_t address, uint64_t *word)
{
	return target_read(memory, address, word, sizeof(*word)) &&
	       maps_find(memory->maps, address);
}

/* Checks the links of an object at `place`, which are in `head`. An object that is joining or
 * leaving a list is known to one neighbour only. */
static enum listing listing_of(struct cpython *python, uint64_t place, const unsigned char *head)
{
	struct target_memory *memory = python->memory;
	uint64_t next = word_at(head, 0) & ~LINK_FLAGS, back = 0, forth = 0;
	uint64_t previous = word_at(head, LINK_PREVIOUS) & ~LINK_FLAGS;
	bool was_uncertain = memory->uncertain, unknown;

	if (!next)
		return UNLISTED;
	memory->uncertain = false;
	unknown = is_unread(memory, next + LINK_PREVIOUS, &back);
	if ((back & ~LINK_FLAGS) != place)
		unknown |= is_unread(memory, previous, &forth) || back & LINK_COLLECTING;
	unknown |= !is_of_one_moment(memory);
	memory->uncertain |= was_uncertain;
	if ((back & ~LINK_FLAGS) == place || (forth & ~LINK_FLAGS) == place)
		return LISTED;
	return unknown ? LISTING_UNKNOWN : MISLISTED;
}

/* Returns whether the collector lists objects of a type for their whole life. Tuples and
 * dictionaries may be removed from its lists; for other types written in C this is unknown. */
static bool is_always_listed(const struct cpython_type *type)
{
	return type->kind == CPYTHON_LIST || type->kind == CPYTHON_SET ||
	       type->prefix > COLLECTOR_LINKS || (type->flags & FLAG_HEAP_TYPE && type->dictoffset);
}

/* Returns whether the collector's lists permit an object of a type at a place in a block; *certain:
 * they prove it. */
static bool can_be_listed(struct cpython *python, const struct cpython_type *type,
			  const unsigned char *head, uint64_t address, bool *certain)
{
	uint32_t links = type->prefix - COLLECTOR_LINKS;
	enum listing listing;

	*certain = false;
	if (!(type->flags & FLAG_COLLECTED))
		return true;
	listing = listing_of(python, address + links, head + links);
	*certain = listing == LISTED;
	return listing == UNLISTED ? !is_always_listed(type) : listing != MISLISTED;
}

struct cpython_type *cpython_type_in_block(struct cpython *python, const unsigned char *head,
					   size_t bytes, uint64_t address, bool *certain)
{
	*certain = false;
	for (uint32_t prefix = 0; prefix <= PREFIX_MAX && prefix + 16 <= bytes; prefix += 16) {
		uint64_t references = word_at(head, prefix + OBJECT_REFCOUNT);
		uint64_t place = word_at(head, prefix + OBJECT_TYPE);
		struct cpython_type *type;

		if (!cpython_is_alive(python, references) || place % 8 || place < MEMORY_PAGE ||
		    place >> MACHINE_USER_BITS)
			continue;
		type = cpython_type_at(python, place);
		if (type && type->prefix == prefix &&
		    can_be_listed(python, type, head, address, certain))
			return type;
	}
	return NULL;
}

/* PyTypeObject.tp_weaklistoffset; since 3.12 the word may be before the object. */
static uint16_t weak_word(const struct cpython_type *type)
{
	int64_t place = (int64_t)type->prefix + type->weaklistoffset;

	if (!type->weaklistoffset || place < 0 || place % 8 ||
	    place >= (int64_t)(type->prefix + MIN(type->basicsize, 1u << 16)))
		return 0;
	return (uint16_t)(place / 8 + 1);
}

/* Returns whether a class has a __del__() written in Python: its tp_finalize is not inherited from
 * a type written in C. */
static bool has_finalizer(struct cpython *python, const struct cpython_type *type)
{
	uint64_t finalize = target_word(python->memory, type->address + TYPE_FINALIZE);
	uint64_t base = type->address, flags = type->flags;

	for (int i = 0; finalize && base && flags & FLAG_HEAP_TYPE && i < BASES_MAX; i++) {
		base = target_word(python->memory, base + TYPE_BASE);
		flags = base ? target_word(python->memory, base + TYPE_FLAGS) : 0;
	}
	return finalize && base && !(flags & FLAG_HEAP_TYPE) &&
	       target_word(python->memory, base + TYPE_FINALIZE) != finalize;
}

static int give_class(struct walk *walk, struct cpython_type *type)
{
	struct cpython *python = walk->python;
	char name[CPYTHON_NAME_BYTES];
	struct managed_class class = {.name = name, .runtime = KEY};
	uint32_t place = (uint32_t)(type - python->types.items), *added, number;
	int error;

	if (type->flags & FLAG_COLLECTED) {
		class.quiet_start = (uint16_t)(type->prefix - COLLECTOR_LINKS);
		class.quiet_end = (uint16_t)type->prefix;
		/* Neither the collector's links nor addresses inside the object hold it. */
		class.tag = (uint8_t)type->prefix;
	}
	class.weak_word = weak_word(type);
	class.quiet_words = type->quiet_words << type->prefix / 8;
	class.quiet_from = type->quiet_from ? type->prefix + type->quiet_from : 0;
	class.describes = type->kind == CPYTHON_TYPE;
	type->finalizable = has_finalizer(python, type);
	/* Looking up its name adds other types, which may reallocate the list. */
	cpython_type_name(python,
			  &(struct cpython_type){.address = type->address, .flags = type->flags},
			  name);
	error = heap_sink_class(walk->sink, &class, &number);
	added = error ? NULL : vec_push(&python->class_types);
	if (!added)
		return error ? error : -ENOMEM;
	*added = place;
	python->types.items[place].class = number;
	return 0;
}

/* Finds the class and the size of the object in a block of *size bytes; NODE_OWN: no object. */
static int object_in_block(struct walk *walk, const unsigned char *head, size_t bytes,
			   uint64_t address, uint64_t *size, uint32_t *what)
{
	struct cpython *python = walk->python;
	bool certain = false;
	struct cpython_type *type = cpython_type_in_block(python, head, bytes, address, &certain);
	uint64_t needed, block = *size;
	size_t place;
	int error;

	*what = NODE_OWN;
	if (!type)
		return 0;
	needed = type->whole_block
			 ? block
			 : type->prefix + cpython_object_bytes(python, type, head + type->prefix,
							       bytes - type->prefix);
	if (needed > block)
		return 0;
	place = (size_t)(type - python->types.items);
	error = type->class == UINT32_MAX ? give_class(walk, type) : 0;
	if (error)
		return error;
	*what = python->types.items[place].class | (certain ? NODE_CERTAIN : 0);
	*size = needed;
	walk->objects++;
	walk->finalizable += python->types.items[place].finalizable;
	return 0;
}

static int visit(void *context, uint64_t address, const unsigned char *bytes, size_t block)
{
	struct walk *walk = context;
	uint64_t size = block;
	uint32_t what;
	int error = object_in_block(walk, bytes, block, address, &size, &what);

	walk->blocks++;
	return error ? error : heap_sink_add(walk->sink, address, size, what);
}

static int walk_arenas(struct walk *walk, struct walk_report *report)
{
	struct cpython *python = walk->python;
	unsigned char *buffer = malloc(python->layout->arena_bytes);
	struct arena_figures figures = {0};
	int error = buffer ? 0 : -ENOMEM;

	for (size_t i = 0; !error && i < python->arenas.count; i++) {
		uint64_t nonsense = figures.nonsense;

		error = cpython_walk_arena(python, &python->arenas.items[i], buffer, visit, walk,
					   &figures);
		/* Free memory in it may still contain addresses of objects. */
		if (!error && figures.nonsense == nonsense)
			error = heap_sink_idle(walk->sink, python->arenas.items[i].address,
					       python->layout->arena_bytes);
	}
	free(buffer);
	report->only_small = true;
	report->heap_bytes = python->arenas.count * (uint64_t)python->layout->arena_bytes;
	report->free_bytes = figures.free_bytes;
	report->nonsense = figures.nonsense;
	return error;
}

/* Walks malloc's blocks: objects of more than 512 bytes, or all. */
static int walk_blocks(struct walk *walk)
{
	struct heap_sink *sink = walk->sink;
	int error = 0;

	for (uint32_t i = 0; !error && i < sink->count; i++) {
		unsigned char head[HEAD_BYTES];
		uint64_t size = sink->sizes[i];
		size_t bytes = MIN(size, sizeof(head));
		uint32_t what;

		if ((size <= SMALL_MAX && !walk->python->in_malloc) || bytes < OBJECT_SIZE ||
		    node_has_class(sink->whats[i]) ||
		    target_read(walk->python->memory, sink->starts[i], head, bytes))
			continue;
		error = object_in_block(walk, head, bytes, sink->starts[i], &size, &what);
		if (!error && node_has_class(what))
			heap_sink_set(sink, i, size, what);
	}
	return error;
}

static int walk_all(struct walk *walk, struct walk_report *report)
{
	int error = walk_arenas(walk, report);

	if (!error)
		error = walk_blocks(walk);
	report->objects = walk->objects;
	report->finalizable = walk->finalizable;
	/* Debug hooks put a header before each object. */
	if (!error && walk->objects < walk->blocks / 8)
		report->why = "hardly a block of its heap is an object: a debug build, or "
			      "PYTHONMALLOC=debug";
	return error;
}

int cpython_open(struct target_memory *memory, struct cpython *python, char version[24],
		 const char **why)
{
	python->memory = memory;
	*why = "its variables _PyRuntime and PyType_Type are not found";
	if (!find_module(python))
		return -ENOENT;
	if (cpython_describe(python, release_of(python, version), why))
		return -ENOENT;
	*why = "its interpreter is not where this version has it: another build of it, or it "
	       "begins or ends just now";
	return find_interpreters(python);
}

/* Returns whether a small object of every program is a block of malloc's: then all are. */
static bool is_in_malloc(struct cpython *python, const struct heap_sink *sink)
{
	uint64_t object = target_word(python->memory,
				      python->interpreters.items[0] + python->layout->modules);
	uint64_t start = object - COLLECTOR_LINKS;
	uint32_t node = heap_sink_first(sink, start);

	return object && node < sink->count && sink->starts[node] == start &&
	       sink->sizes[node] <= SMALL_MAX;
}

/* Finds the interpreter and its arenas. 0, or an error with *why, unless it is -ENOMEM. */
static int find(struct cpython *python, struct target_memory *memory, const struct heap_sink *sink,
		char version[24], const char **why)
{
	int error = cpython_open(memory, python, version, why);

	if (error)
		return error;
	*why = CPYTHON_FREE_THREADED;
	if (python->layout->shift)
		return -ENOENT;
	error = cpython_find_arenas(python);
	python->in_malloc = error == -ENOENT && is_in_malloc(python, sink);
	*why = "its own memory allocator is not found: another build of it";
	return python->in_malloc ? 0 : error;
}

void cpython_close(struct cpython *python)
{
	for (size_t i = 0; i < python->types.count; i++)
		free(python->types.items[i].labels);
	vec_free(&python->types);
	vec_free(&python->class_types);
	vec_free(&python->interpreters);
	vec_free(&python->arenas);
	hash_free(&python->type_index);
	hash_free(&python->namespaces);
	hash_free(&python->attributed);
	hash_free(&python->chunks);
}

static void end(void *state)
{
	cpython_close(state);
	free(state);
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct cpython *python = calloc(1, sizeof(*python));
	struct walk walk = {.python = python, .sink = sink};
	const char *why = NULL;
	int error;

	if (!python)
		return -ENOMEM;
	*state = python;
	python->report = (uint32_t)sink->reports.count - 1;
	python->first_class = (uint32_t)sink->classes.count;
	error = find(python, memory, sink, report->version, &why);
	report->untested = python->untested;
	if (error == -ENOENT)
		report->why = why;
	if (!error)
		error = walk_all(&walk, report);
	report->counted = !error && !report->why && memory->image;
	return error;
}

static const struct heap_walker walker = {
	.walk = walk_heap, .refer = cpython_refer, .roots = cpython_roots, .end = end};

const struct runtime runtime_cpython = {
	.key = KEY,
	.name = "Python interpreter",
	.tool = "`leakmon retain --census -p %d` counts its objects by class",
	.detect = detect,
	.survey = survey,
	.state_size = sizeof(uint32_t),
	.owns = owns,
	.share = cpython_pools_share,
	.memory = &python_memory_reader,
	.threads = &python_thread_reader,
	.interpreter = &python_interpreter_reader,
	.profile = &own_profile_tracemalloc,
	.walker = &walker,
};
