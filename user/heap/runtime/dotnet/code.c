// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Methods of .NET by the addresses of their code, compiled at run time or before. Sources:
 * docs/design/datacontracts/ExecutionManager.md and RuntimeTypeSystem.md of the runtime,
 * src/coreclr/vm/{codeman,method}.h, src/coreclr/inc/nibblemapmacros.h of versions 8 to 10.
 *
 * A map of five levels leads from an address to its code heap; the heap's nibble map has the start
 * of each method, and the word before that leads through a header to the method and its class. Code
 * in use never moves: a recompiled method gets additional code. A name is believed if the header
 * confirms that the code begins there, and the class's metadata has the method.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/dotnet/dotnet.h"
#include "heap/runtime/runtime.h"
#include "leakmon_abi.h"
#include "process/symbol/symbolizer.h"

#define MAP_LEVELS 5
#define MAP_BITS 8
#define CHUNK_BITS 17
#define COLLECTIBLE 1ull /* tag of pointers in the map */
#define SECTION_IS_HEAP 2u

#define BUCKET_BYTES 32u
#define BUCKETS 8u	     /* buckets in a unit of the nibble map, a nibble each */
#define STEP_BYTES 4u	     /* unit of a nibble, from 1 on */
#define UNITS_MAX (1u << 16) /* limit of a method: 16 MiB */
#define POINTER_NIBBLES 9u   /* from this value on, a unit is a pointer (version 2) */
#define STUB_KINDS 16u	     /* values in place of a header's address */
#define METHOD_BYTES 8u	     /* unit of the index of a method in its chunk */
#define METHOD_KIND 7u	     /* mask of the kind in its flags */
#define METHOD_IS_DYNAMIC 7u /* created without metadata: stubs, System.Reflection.Emit */
#define TOKEN_RANGE 0xfffu
#define DYNAMIC_NAME_BYTES 128

struct code {
	struct dotnet dotnet;
	uint32_t forgotten; /* memory->forgotten at the last read */
};

/* -------- where code is */

struct code_heap {
	uint64_t section;    /* start of its range */
	uint64_t start, end; /* bounds of its methods */
	uint64_t base, map;  /* of the nibbles */
};

/* Returns the RangeSection that contains an address; 0: none. */
static uint64_t find_section(struct dotnet *dotnet, uint64_t address)
{
	const struct dotnet_code_layout *layout = &dotnet->layout.code;
	uint64_t at = dotnet->variables.code_map;
	struct loop loop = {0};

	if (at)
		at += layout->map_top;
	for (unsigned level = MAP_LEVELS; at && level-- > 0;) {
		uint64_t slot = address >> (CHUNK_BITS + MAP_BITS * level) & ((1u << MAP_BITS) - 1);

		at = target_word(dotnet->memory, at + slot * 8) & ~COLLECTIBLE;
	}
	while (at && !loop_found(&loop, at)) {
		if (address >= target_word(dotnet->memory, at + layout->fragment_begin) &&
		    address < target_word(dotnet->memory, at + layout->fragment_end))
			return target_word(dotnet->memory, at + layout->fragment_section);
		at = target_word(dotnet->memory, at + layout->fragment_next) & ~COLLECTIBLE;
	}
	return 0;
}

static bool read_heap(struct dotnet *dotnet, uint64_t section, uint64_t address,
		      struct code_heap *heap)
{
	const struct dotnet_code_layout *layout = &dotnet->layout.code;
	struct target_memory *memory = dotnet->memory;
	uint64_t node;

	if (!(target_word(memory, section + layout->section_flags) & SECTION_IS_HEAP))
		return false;
	node = target_word(memory, section + layout->section_heap);
	if (!node)
		return false;
	*heap = (struct code_heap){
		.section = target_word(memory, section + layout->section_begin),
		.start = target_word(memory, node + layout->heap_start),
		.end = target_word(memory, node + layout->heap_end),
		.base = target_word(memory, node + layout->heap_base),
		.map = target_word(memory, node + layout->heap_map),
	};
	return heap->map && heap->base <= heap->start && heap->start <= address &&
	       address < heap->end;
}

static uint32_t unit_at(struct dotnet *dotnet, const struct code_heap *heap, uint64_t unit)
{
	uint32_t nibbles = 0;

	return target_read(dotnet->memory, heap->map + unit * sizeof(nibbles), &nibbles,
			   sizeof(nibbles))
		       ? 0
		       : nibbles;
}

/* Returns the last start in a unit's first buckets; 0: none. The first bucket's nibble is the
 * highest one. */
static uint64_t last_start(const struct code_heap *heap, uint64_t unit, uint32_t nibbles,
			   uint32_t buckets)
{
	while (buckets-- > 0) {
		uint32_t nibble = nibbles >> (4 * (BUCKETS - 1 - buckets)) & 0xf;

		if (nibble)
			return heap->base + (unit * BUCKETS + buckets) * BUCKET_BYTES +
			       (uint64_t)(nibble - 1) * STEP_BYTES;
	}
	return 0;
}

/* Returns a method's start by version 2: a unit within a method has the start in place of nibbles.
 * 0: no such unit. */
static uint64_t pointed_start(const struct dotnet *dotnet, const struct code_heap *heap,
			      uint32_t unit)
{
	uint32_t nibble = unit & 0xf;

	if (dotnet->layout.code.nibbles < 2 || nibble < POINTER_NIBBLES)
		return 0;
	return heap->base + (unit & ~0xfu) + (nibble - POINTER_NIBBLES) * STEP_BYTES;
}

/* Returns the start of the method that may contain the address; 0: none. */
static uint64_t find_start(struct dotnet *dotnet, const struct code_heap *heap, uint64_t address)
{
	uint64_t offset = address - heap->base, unit = offset / (BUCKET_BYTES * BUCKETS), start = 0;
	uint32_t bucket = offset / BUCKET_BYTES % BUCKETS;
	uint32_t nibbles = unit_at(dotnet, heap, unit);
	uint64_t last = unit > UNITS_MAX ? unit - UNITS_MAX : 0;

	start = pointed_start(dotnet, heap, nibbles);
	if (!start)
		start = last_start(heap, unit, nibbles, bucket + 1);
	/* It begins behind the address. */
	if (start > address)
		start = last_start(heap, unit, nibbles, bucket);
	while (!start && unit > last) {
		nibbles = unit_at(dotnet, heap, --unit);
		if (!nibbles && dotnet->layout.code.nibbles >= 2)
			break;
		start = pointed_start(dotnet, heap, nibbles);
		if (!start)
			start = last_start(heap, unit, nibbles, BUCKETS);
	}
	return start <= address && start >= heap->start ? start : 0;
}

/* -------- methods */

/* Returns the MethodDesc whose code begins there; 0: none, or a stub. */
static uint64_t method_of(struct dotnet *dotnet, const struct code_heap *heap, uint64_t start)
{
	const struct dotnet_code_layout *layout = &dotnet->layout.code;
	uint64_t header = target_word(dotnet->memory, start - 8);
	uint32_t begin;

	/* The first unwind description begins with the start of the code. */
	if (header < STUB_KINDS || header & 7 ||
	    target_read(dotnet->memory, header + layout->header_unwind, &begin, sizeof(begin)) ||
	    begin != start - heap->section)
		return 0;
	return target_word(dotnet->memory, header + layout->header_method);
}

struct method {
	uint64_t table; /* the MethodTable of its class */
	uint32_t token; /* row number */
	bool dynamic;
};

static uint32_t short_at(struct dotnet *dotnet, uint64_t address, size_t bytes)
{
	uint32_t number = 0;

	return target_read(dotnet->memory, address, &number, bytes) ? 0 : number;
}

/* Reads a method, whose index leads to the start of its chunk of methods of one class. */
static bool read_method(struct dotnet *dotnet, uint64_t address, struct method *method)
{
	const struct dotnet_code_layout *layout = &dotnet->layout.code;
	uint32_t index = short_at(dotnet, address + layout->method_index, 1);
	uint64_t chunk = address - layout->chunk_bytes - (uint64_t)index * METHOD_BYTES;
	uint32_t rest = (1u << layout->token_bits) - 1;

	if (!address || address & 7 || index > short_at(dotnet, chunk + layout->chunk_size, 1))
		return false;
	*method = (struct method){
		.table = target_word(dotnet->memory, chunk + layout->chunk_table),
		.dynamic = (short_at(dotnet, address + layout->method_flags, 2) & METHOD_KIND) ==
			   METHOD_IS_DYNAMIC,
		.token = (short_at(dotnet, chunk + layout->chunk_token, 2) & TOKEN_RANGE)
				 << layout->token_bits |
			 (short_at(dotnet, address + layout->method_token, 2) & rest),
	};
	return dotnet_type_at(dotnet, method->table);
}

#define METHOD_NAME_BYTES (2 * DOTNET_NAME_BYTES)

/* Names a method without metadata by its embedded text. */
static bool name_dynamic(struct dotnet *dotnet, uint64_t method, char name[METHOD_NAME_BYTES])
{
	uint64_t text = target_word(dotnet->memory, method + dotnet->layout.code.dynamic_name);
	size_t length = 0;

	if (!text)
		return false;
	while (length < DYNAMIC_NAME_BYTES &&
	       !target_read(dotnet->memory, text + length, name + length, 1) && name[length])
		length++;
	name[length] = '\0';
	return length;
}

static bool name_method(struct dotnet *dotnet, const struct method *method,
			char name[METHOD_NAME_BYTES])
{
	const struct dotnet_metadata *metadata =
		dotnet_metadata_of(dotnet, dotnet_type_module(dotnet, method->table));
	char class[DOTNET_NAME_BYTES], own[DOTNET_NAME_BYTES];

	if (!metadata ||
	    !dotnet_metadata_method(dotnet, metadata, dotnet_type_row(dotnet, method->table),
				    method->token, own))
		return false;
	dotnet_type_name(dotnet, method->table, class);
	snprintf(name, METHOD_NAME_BYTES, "%s.%s", class, own);
	return true;
}

static bool name_compiled(struct dotnet *dotnet, uint64_t section, uint64_t address,
			  char name[METHOD_NAME_BYTES])
{
	struct code_heap heap;
	struct method method;
	uint64_t start, desc;

	if (!read_heap(dotnet, section, address, &heap))
		return false;
	start = find_start(dotnet, &heap, address);
	desc = start ? method_of(dotnet, &heap, start) : 0;
	if (!desc || !read_method(dotnet, desc, &method))
		return false;
	return method.dynamic ? name_dynamic(dotnet, desc, name)
			      : name_method(dotnet, &method, name);
}

static bool name_precompiled(struct dotnet *dotnet, uint64_t module, uint64_t address,
			     char name[METHOD_NAME_BYTES])
{
	uint32_t row = dotnet_precompiled_method(dotnet, module, address);
	const struct dotnet_metadata *metadata = row ? dotnet_metadata_of(dotnet, module) : NULL;
	uint32_t type = metadata ? dotnet_metadata_type_of(dotnet, metadata, row) : 0;
	char class[DOTNET_NAME_BYTES], own[DOTNET_NAME_BYTES];

	if (!type || !dotnet_metadata_method(dotnet, metadata, type, row, own))
		return false;
	dotnet_row_name(dotnet, module, type, class);
	snprintf(name, METHOD_NAME_BYTES, "%s.%s", class, own);
	return class[0];
}

static bool name_address(struct dotnet *dotnet, uint64_t address, char name[METHOD_NAME_BYTES])
{
	const struct dotnet_code_layout *layout = &dotnet->layout.code;
	uint64_t section = find_section(dotnet, address), module;

	if (!section)
		return false;
	module = target_word(dotnet->memory, section + layout->section_module);
	return module ? name_precompiled(dotnet, module, address, name)
		      : name_compiled(dotnet, section, address, name);
}

/* -------- the reader */

static int append(struct intern *strings, uint64_t address, const char *name, struct frames *frames)
{
	struct frame frame = {.address = LM_FRAME_ADDRESS(address),
			      .function = intern_string(strings, name),
			      .module = FRAME_DOTNET,
			      .module_offset = symbolizer_place_id(name, "", 0)};

	return frame.function ? frames_append(frames, &frame, NULL) : -ENOMEM;
}

/* Types and modules can be unloaded. */
static void renew(struct code *code)
{
	if (code->forgotten == code->dotnet.memory->forgotten)
		return;
	code->forgotten = code->dotnet.memory->forgotten;
	dotnet_free(&code->dotnet);
}

static int name(void *state, uint64_t address, struct intern *strings, struct frames *frames)
{
	struct code *code = state;
	char text[METHOD_NAME_BYTES];
	uint64_t exact = LM_FRAME_ADDRESS(address);

	if (LM_FRAME_IS_INTERPRETED(address))
		return -ENOENT;
	renew(code);
	/* The byte before a return address is the call's. */
	if (!name_address(&code->dotnet, exact != address ? exact : address - 1, text))
		return -ENOENT;
	return append(strings, address, text, frames);
}

static void close_code(void *state)
{
	struct code *code = state;

	dotnet_free(&code->dotnet);
	dotnet_precompiled_free(&code->dotnet);
	free(code);
}

static int open_code(struct target_memory *memory, void **state, const char **why)
{
	struct code *code = calloc(1, sizeof(*code));
	char version[24];
	int error;

	if (!code)
		return -ENOMEM;
	code->dotnet.memory = memory;
	code->forgotten = memory->forgotten;
	dotnet_precompiled_begin(&code->dotnet);
	error = dotnet_find(&code->dotnet, version, why);
	if (!error) {
		dotnet_code_find(&code->dotnet);
		*state = code;
		return 0;
	}
	close_code(code);
	return error;
}

/* It has no rows: generated code keeps frame pointers. */
const struct code_reader dotnet_code_reader = {
	.open = open_code, .name = name, .close = close_code};
