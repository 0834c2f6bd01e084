// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The counters of V8's heaps, at offsets that V8 describes nowhere: measured for each version. In
 * Heap: its state, backing_store_bytes_, ms_count_ followed by gc_count_, and
 * old_generation_size_at_last_gc_; in the isolate behind it: the allocator of array buffers, whose
 * counter in node is NodeArrayBufferAllocator::total_mem_usage_. An allocator begins with the
 * address of a table of functions in a file's data; some have a switch behind it
 * (zero_fill_field_). It is at one of two offsets in an isolate, depending on the processor.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/loaded_symbols.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/v8/reader.h"
#include "heap/runtime/v8/v8.h"
#include "report/figures.h"
#include "report/memory_report.h"

#define STATE_MAX 4 /* Heap::HeapState */
#define EXTERNAL_BYTES_MAX (1ull << 46)
#define HEAP_BYTES_MAX (1ull << 46)

static const struct offsets {
	int32_t major, minor;
	uint16_t collecting;   /* nonzero during a collection */
	uint16_t counts, kept; /* collections, full ones first; bytes after the last full one */
	uint16_t external, allocators[2];
	uint16_t given; /* total in the allocator */
	/* offset of the heap's pointer to the struct with `kept`; 0: the heap itself */
	uint16_t kept_in;
	bool apart; /* external excludes array buffers, counted at the heap's start */
} offsets[] = {
	{10, 2, 0x240, 0x268, 0xa18, 0x128, {0x2440, 0x2468}, 16, 0, false},
	{11, 3, 0x228, 0x240, 0x9f0, 0x128, {0x23f0, 0x2410}, 16, 0, false},
	{12, 4, 0x198, 0x1b0, 0x810, 0x90, {0x2298, 0x22c8}, 16, 0, false},
	{13, 6, 0x220, 0x238, 0x850, 0x98, {0x2078, 0x2078}, 8, 0, false},
	{14, 1, 0x220, 0x238, 0x848, 0x98, {0x2098, 0x2098}, 8, 0, false},
	{14, 6, 0x228, 0x240, 0x48, 0xab8, {0x2060, 0x2060}, 8, 0x7b8, true},
};

static const struct offsets *find_offsets(struct v8 *v8, const struct data_module *module)
{
	int32_t major, minor;

	if (!v8_read_versions(v8, module, &major, &minor))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(offsets); i++) {
		if (offsets[i].major == major && offsets[i].minor == minor)
			return &offsets[i];
	}
	return NULL;
}

bool v8_is_tested(struct v8 *v8)
{
	return find_offsets(v8, v8->module) != NULL;
}

bool v8_is_collecting(struct v8 *v8, const struct data_module *module)
{
	const struct offsets *at = find_offsets(v8, module);
	uint64_t heap = at ? v8_first_heap(v8) : 0;
	uint32_t number = 0;

	if (!heap || target_read_now(v8->memory, heap + at->collecting, &number, sizeof(number)))
		return false;
	return number && number <= STATE_MAX;
}

/* Memory outside of heaps. */

static bool is_table(const struct v8 *v8, uint64_t address)
{
	const struct mapping *mapping = maps_find(v8->memory->maps, address);

	return mapping && mapping->path[0] == '/';
}

static bool is_allocator(const struct v8 *v8, const struct offsets *at, uint64_t address)
{
	uint64_t behind = target_word(v8->memory, address + 8);

	return address && !(address & 7) && is_table(v8, target_word(v8->memory, address)) &&
	       (at->given == 8 || (uint32_t)behind <= 1);
}

static bool read_given(struct v8 *v8, const struct offsets *at, uint64_t heap, uint64_t *bytes)
{
	for (size_t i = 0; i < ARRAY_SIZE(at->allocators); i++) {
		uint64_t allocator = target_word(v8->memory, heap + at->allocators[i]);

		if (!is_allocator(v8, at, allocator))
			continue;
		*bytes = target_word(v8->memory, allocator + at->given);
		return *bytes < EXTERNAL_BYTES_MAX;
	}
	return false;
}

struct js_heap {
	uint64_t address;
	uint64_t bytes; /* bytes of its chunks */
	uint64_t all;	/* bytes of all heaps' chunks */
};

/* Adds a heap's collections; believed if `kept` is nonzero exactly when there was a full one. */
static void add_collections(struct v8 *v8, const struct offsets *at, const struct js_heap *heap,
			    struct js_memory *js)
{
	uint64_t in =
		at->kept_in ? target_word(v8->memory, heap->address + at->kept_in) : heap->address;
	uint64_t kept = in ? target_word(v8->memory, in + at->kept) : 0;
	uint32_t counts[2] = {0};

	js->has_collections &=
		!target_read(v8->memory, heap->address + at->counts, counts, sizeof(counts)) &&
		counts[0] <= counts[1] && !counts[0] == !kept && kept < HEAP_BYTES_MAX;
	js->full_collections += counts[0];
	js->collections += counts[1];
	js->kept += kept;
	js->committed += heap->bytes;
	js->uncollected += counts[0] ? 0 : heap->bytes;
	js->heaps_key ^= heap->address;
}

static void add_heap(struct v8 *v8, const struct offsets *at, const struct js_heap *heap,
		     struct js_memory *js)
{
	uint64_t external = target_word(v8->memory, heap->address + at->external), given;
	uint64_t buffers = at->apart ? target_word(v8->memory, heap->address) : 0;

	/* Several threads change these without a lock: they may become negative. */
	js->external += external < EXTERNAL_BYTES_MAX ? external : 0;
	js->external += buffers < EXTERNAL_BYTES_MAX ? buffers : 0;
	js->has_buffers &= read_given(v8, at, heap->address, &given);
	js->array_buffers += js->has_buffers ? given : 0;
	add_collections(v8, at, heap, js);
	js->heaps++;
}

/* Calls add() for each heap. 0 or -ENOMEM. */
static int for_heaps(struct v8 *v8, const struct offsets *at, struct js_memory *js,
		     void (*add)(struct v8 *v8, const struct offsets *at,
				 const struct js_heap *heap, struct js_memory *js))
{
	_cleanup_(hash_free) struct hash bytes = {0};
	struct js_heap heap = {0};

	js->has_buffers = js->has_collections = true;
	for (size_t i = 0; i < v8->chunks.count; i++) {
		const struct v8_chunk *chunk = &v8->chunks.items[i];
		uint64_t *sum = chunk->heap ? hash_put(&bytes, chunk->heap, NULL) : NULL;

		if (chunk->heap && !sum)
			return -ENOMEM;
		if (sum) {
			*sum += chunk->size;
			heap.all += chunk->size;
		}
	}
	for (size_t i = 0; i < v8->chunks.count; i++) {
		uint64_t *sum = hash_get(&bytes, v8->chunks.items[i].heap);

		if (!sum || !*sum)
			continue;
		heap.address = v8->chunks.items[i].heap;
		heap.bytes = *sum;
		*sum = 0;
		add(v8, at, &heap, js);
	}
	return 0;
}

/*
 * Smallest share of a heap that counts for heaps_key: short-lived workers do not make other heaps.
 */
#define COUNTING_SHARE 8

static void add_large(struct v8 *v8, const struct offsets *at, const struct js_heap *heap,
		      struct js_memory *js)
{
	if (heap->bytes * COUNTING_SHARE >= heap->all)
		add_collections(v8, at, heap, js);
}

/* Before a first collection a heap must be read completely: samples do not give its size. */
static int read_collections(struct v8 *v8, const struct offsets *at, struct js_memory *js)
{
	uint64_t step;
	int error = v8_sample_chunks(v8, &step, &js->why);

	if (error)
		return error == -ENOMEM ? error : 0;
	js->why = NULL;
	error = for_heaps(v8, at, js, add_large);
	js->uncollected *= step / V8_PAGE;
	return error;
}

static int read_all(struct v8 *v8, const struct offsets *at, struct js_memory *js)
{
	int error = v8_find_layout(v8, &js->why);

	if (error)
		return error == -ENOMEM ? error : 0;
	js->why = NULL;
	return for_heaps(v8, at, js, add_heap);
}

static int read_memory(struct v8 *v8, const struct data_module *module, bool collections,
		       struct js_memory *js)
{
	const struct offsets *at = find_offsets(v8, module);

	v8_read_version(v8, module, js->version);
	js->why = "another version of V8 than Node 18, 20, 22, 24, 25 or 26 has";
	if (v8_is_compressed(v8, module))
		js->why = "pointers are compressed: not read yet";
	if (!at || v8_is_compressed(v8, module))
		return 0;
	return collections ? read_collections(v8, at, js) : read_all(v8, at, js);
}

int js_memory_of(struct target_memory *memory, const struct data_module *module, bool collections,
		 struct js_memory *js)
{
	struct v8 *v8 = calloc(1, sizeof(*v8));
	int error;

	if (!v8)
		return -ENOMEM;
	v8->memory = memory;
	error = read_memory(v8, module, collections, js);
	v8_close(v8);
	return error;
}

/* Finds the module that contains V8: the program or one of its libraries. */
static bool read_module(struct target_memory *memory, struct loaded_module *module)
{
	const struct maps *maps = memory->maps;

	for (size_t i = 0; i < maps->list.count; i++) {
		const struct mapping *mapping = &maps->list.items[i];

		if (!mapping->offset && v8_is_mapped(mapping) &&
		    !loaded_module_read(memory, mapping, v8_version_symbols, V8_VERSION_SYMBOLS,
					module))
			return true;
	}
	return false;
}

static int read_process(const struct maps *maps, bool collections, struct js_memory *js)
{
	struct loaded_module *module = malloc(sizeof(*module));
	struct target_memory memory;
	int error = module ? target_memory_open(maps, NULL, NULL, &memory) : -ENOMEM;

	*js = (struct js_memory){.why = "its program does not say which version of V8 it has"};
	if (!error) {
		if (read_module(&memory, module)) {
			memory.modules = &module->modules;
			error = js_memory_of(&memory, &module->module, collections, js);
		}
		if (js->why && v8_named_why(maps))
			js->why = v8_named_why(maps);
		target_memory_close(&memory);
	}
	free(module);
	return error;
}

int js_memory_read(const struct maps *maps, struct js_memory *js)
{
	return read_process(maps, false, js);
}

int js_collections_read(const struct maps *maps, struct js_memory *js)
{
	return read_process(maps, true, js);
}

/* -------- as reports have them */

static bool js_is_known(const void *js)
{
	return !((const struct js_memory *)js)->why;
}

static bool js_has_buffers(const void *js)
{
	return js_is_known(js) && ((const struct js_memory *)js)->has_buffers;
}

static bool js_has_counts(const void *js)
{
	return js_is_known(js) && ((const struct js_memory *)js)->has_collections;
}

#define JS(member) offsetof(struct js_memory, member)
#define HAS_COUNTS .shown = js_has_counts
static const struct figure js_figures[] = {
	FIGURE("version", NULL, NOTE, JS(version)),
	FIGURE("cannot_tell", NULL, TEXT, JS(why)),
	FIGURE("heaps", NULL, NUMBER, JS(heaps), .shown = js_is_known),
	FIGURE("external_bytes", NULL, NUMBER, JS(external), .shown = js_is_known),
	FIGURE("array_buffer_bytes", NULL, NUMBER, JS(array_buffers), .shown = js_has_buffers),
	FIGURE("committed_bytes", NULL, NUMBER, JS(committed), .shown = js_is_known),
	FIGURE("collections", NULL, NUMBER, JS(collections), HAS_COUNTS),
	FIGURE("full_collections", NULL, NUMBER, JS(full_collections), HAS_COUNTS),
	FIGURE("kept_bytes", NULL, NUMBER, JS(kept), HAS_COUNTS),
};
static const struct figures js_memory_figures = FIGURES(js_figures);

static const struct figure_words js_words[] = {
	SAY(": external memory of JavaScript: {external_bytes}"),
	SAY_KNOWN("array_buffer_bytes", ", {array_buffer_bytes} of it for array buffers"),
	SAY_KNOWN("collections",
		  "; collections: {collections}, {full_collections} of them of the whole heap"),
	SAY_FROM(1, "full_collections", ", which left {kept_bytes}"),
	SAY_FROM(2, "heaps", "; in {heaps} heaps, that of the main thread and of workers"),
	SAY("\n"),
};

static const struct runtime_view js_view = {.key = V8_KEY,
					    .name = "V8",
					    .unknown = "its external memory is not known",
					    .figures = &js_memory_figures,
					    FIGURE_WORDS(js_words),
					    .size = sizeof(struct js_memory)};

#define OUTSIDE_LIMIT (64u << 20)

struct heap_floor js_floor_of(const struct js_memory *js)
{
	if (!js || js->why || !js->has_collections)
		return (struct heap_floor){0};
	return (struct heap_floor){.known = true,
				   .is_base = true,
				   .kept = js->kept,
				   .full = js->full_collections,
				   .none_yet = js->uncollected > 0,
				   .uncollected = js->uncollected,
				   .key = js->heaps_key,
				   .outside_limit = OUTSIDE_LIMIT};
}

static void js_count(const void *figures, struct runtime_memory *memory)
{
	memory->floor = js_floor_of(figures);
	memory->words = (struct heap_words){.kept = "in objects"};
}

static int js_read(const struct maps *maps, void *figures)
{
	return js_memory_read(maps, figures);
}

const struct memory_reader js_memory_reader = {
	.view = &js_view, .read = js_read, .count = js_count};
