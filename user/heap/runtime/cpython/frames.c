// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Threads and their frames: code, lines, and values of variables. A frame is valid if its code is a
 * code object; a chain of frames ends at the first invalid one.
 *
 * Sources: Include/cpython/pystate.h, Include/internal/pycore_frame.h,
 * Include/cpython/frameobject.h, Include/cpython/code.h, Objects/codeobject.c of each version.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/loop.h"
#include "heap/runtime/cpython/cpython.h"

#define FRAME_FUNCTION 16	    /* _PyInterpreterFrame.f_funcobj, since 3.12 */
#define OWNED_BY_C 3		    /* FRAME_OWNED_BY_CSTACK */
#define FRAME_VALUES_MAX (1u << 20) /* limit of values read per frame */
#define C_FRAMES_MAX 16		    /* consecutive frames owned by C */
#define CHUNK_BYTES_MAX (1ull << 32)

#define LINES_BYTES_MAX (1u << 20) /* of a line table */
#define CODE_UNIT 2		   /* bytes of an instruction */

static uint64_t word_at(const unsigned char *bytes, size_t offset)
{
	uint64_t word;

	memcpy(&word, bytes + offset, sizeof(word));
	return word;
}

static int32_t half_at(const unsigned char *bytes, size_t offset)
{
	int32_t half;

	memcpy(&half, bytes + offset, sizeof(half));
	return half;
}

static int32_t target_half(struct cpython *python, uint64_t address)
{
	int32_t half = 0;

	target_read(python->memory, address, &half, sizeof(half));
	return half;
}

int cpython_threads(struct cpython *python, uint64_t interpreter, cpython_visit_thread *visit,
		    void *context)
{
	const struct cpython_frames *layout = &python->layout->frames;
	uint64_t at = target_word(python->memory, interpreter + python->layout->threads);
	struct loop loop = {0};
	int error = 0;

	while (!error && at && !loop_found(&loop, at)) {
		struct cpython_thread thread = {
			.address = at, .handle = target_word(python->memory, at + layout->handle)};

		if (layout->native)
			thread.native = target_word(python->memory, at + layout->native);
		error = visit(context, &thread);
		at = target_word(python->memory, at + THREAD_NEXT);
	}
	return error;
}

/* Code objects. */

static bool is_code(struct cpython *python, uint64_t object)
{
	return object && object % 8 == 0 && python->code_type &&
	       target_word(python->memory, object + python->layout->shift + OBJECT_TYPE) ==
		       python->code_type;
}

static uint64_t tuple_size(struct cpython *python, uint64_t tuple)
{
	const struct cpython_type *type = tuple ? cpython_type_of(python, tuple) : NULL;
	uint64_t size =
		type && type->kind == CPYTHON_TUPLE
			? target_word(python->memory, tuple + python->layout->shift + OBJECT_SIZE)
			: 0;

	return size <= FRAME_VALUES_MAX ? size : 0;
}

/* Returns the number of a function's variables, whose names are in one tuple, or in three. */
static uint32_t local_count(struct cpython *python, uint64_t code)
{
	const struct cpython_frames *layout = &python->layout->frames;
	uint64_t count = 0;

	for (size_t i = 0; i < ARRAY_SIZE(layout->names) && layout->names[i]; i++)
		count += tuple_size(python, target_word(python->memory, code + layout->names[i]));
	return (uint32_t)count;
}

/* Returns the str with the i-th variable's name; 0: none. */
static uint64_t local_name(struct cpython *python, uint64_t code, uint64_t i)
{
	const struct cpython_frames *layout = &python->layout->frames;

	for (size_t kind = 0; kind < ARRAY_SIZE(layout->names) && layout->names[kind]; kind++) {
		uint64_t tuple = target_word(python->memory, code + layout->names[kind]);
		uint64_t size = tuple_size(python, tuple);

		if (i < size)
			return target_word(python->memory, tuple + python->layout->shift +
								   python->layout->tuple_items +
								   i * 8);
		i -= size;
	}
	return 0;
}

static bool function_name(struct cpython *python, uint64_t code, char *name, size_t size)
{
	const struct cpython_frames *layout = &python->layout->frames;
	uint32_t at = layout->qualified ? layout->qualified : layout->name;

	return cpython_text(python, target_word(python->memory, code + at), name, size, NULL);
}

/* Line tables. */

struct line_table {
	unsigned char *bytes;
	size_t size, at;
	uint32_t line; /* line reached so far */
};

static unsigned table_byte(struct line_table *table)
{
	return table->at < table->size ? table->bytes[table->at++] : 0;
}

static uint32_t step_line(struct line_table *table, uint32_t offset)
{
	uint32_t address = 0;

	while (table->at + 1 < table->size) {
		address += table_byte(table);
		if (address > offset)
			break;
		table->line += (uint32_t)(int8_t)table_byte(table);
	}
	return table->line;
}

#define RANGE_WITHOUT_LINE (-128)

static uint32_t range_line(struct line_table *table, uint32_t offset)
{
	uint32_t end = 0;

	while (table->at + 1 < table->size) {
		int8_t step;

		end += table_byte(table);
		step = (int8_t)table_byte(table);
		if (step != RANGE_WITHOUT_LINE)
			table->line += (uint32_t)step;
		if (offset < end)
			return step == RANGE_WITHOUT_LINE ? 0 : table->line;
	}
	return 0;
}

/* Reads a number: six bits a byte, the lowest first; bit 6: more bytes follow. */
static uint32_t table_number(struct line_table *table)
{
	uint32_t number = 0, byte;
	unsigned shift = 0;

	do {
		byte = table_byte(table);
		if (shift < 32)
			number |= (byte & 63) << shift;
		shift += 6;
	} while (byte & 64);
	return number;
}

static uint32_t table_signed(struct line_table *table)
{
	uint32_t number = table_number(table);

	return number & 1 ? 0 - (number >> 1) : number >> 1;
}

enum location_kind {
	LOCATION_ONE_LINE = 10, /* up to 12: this many lines further, plus 10 */
	LOCATION_NO_COLUMN = 13,
	LOCATION_LONG,
	LOCATION_NONE,
};

/* Returns the line at an offset (Objects/locations.md): an entry's first byte has bit 7 set, a
 * kind, and its number of instructions minus one; no other byte has bit 7 set. */
static uint32_t location_line(struct line_table *table, uint32_t offset)
{
	uint32_t end = 0;

	while (table->at < table->size) {
		unsigned first = table_byte(table), kind = first >> 3 & 15;

		if (kind >= LOCATION_ONE_LINE && kind < LOCATION_NO_COLUMN)
			table->line += kind - LOCATION_ONE_LINE;
		else if (kind == LOCATION_NO_COLUMN || kind == LOCATION_LONG)
			table->line += table_signed(table);
		end += ((first & 7) + 1) * CODE_UNIT;
		if (offset < end)
			return kind == LOCATION_NONE ? 0 : table->line;
		while (table->at < table->size && !(table->bytes[table->at] & 0x80))
			table->at++;
	}
	return 0;
}

static uint32_t line_at(struct cpython *python, uint64_t code, uint32_t offset)
{
	static uint32_t (*const readers[])(struct line_table *,
					   uint32_t) = {[LINES_STEPS] = step_line,
							[LINES_RANGES] = range_line,
							[LINES_LOCATIONS] = location_line};
	const struct cpython_frames *layout = &python->layout->frames;
	uint64_t object = target_word(python->memory, code + layout->lines);
	uint64_t bytes = object ? object + python->layout->shift : 0;
	uint64_t size = bytes ? target_word(python->memory, bytes + OBJECT_SIZE) : 0;
	struct line_table table = {
		.line = (uint32_t)target_half(python, code + layout->first_line)};
	uint32_t line = table.line;

	if (!size || size > LINES_BYTES_MAX || offset == CPYTHON_NO_OFFSET)
		return line;
	table.bytes = malloc(size);
	table.size = size;
	if (table.bytes && !target_read(python->memory, bytes + BYTES_TEXT, table.bytes, size))
		line = readers[layout->line_kind](&table, offset);
	free(table.bytes);
	return line;
}

bool cpython_place_of(struct cpython *python, uint64_t code, uint32_t offset,
		      struct cpython_place *place)
{
	const struct cpython_frames *layout = &python->layout->frames;

	if (!is_code(python, code) ||
	    !function_name(python, code, place->function, sizeof(place->function)))
		return false;
	if (!cpython_text(python, target_word(python->memory, code + layout->file), place->file,
			  sizeof(place->file), NULL))
		place->file[0] = '\0';
	place->line = line_at(python, code, offset);
	return true;
}

/* Frames. */

/* struct _PyCodeArray: the number of copies, then their addresses. The first copy is in the code
 * object. */
#define COPIES_MAX (1u << 16)

/* Returns the address of the first instruction of the copy that a frame runs. */
static uint64_t first_instruction(struct cpython *python, const unsigned char *bytes, uint64_t code)
{
	const struct cpython_frames *layout = &python->layout->frames;
	int32_t index = layout->copies ? half_at(bytes, layout->copies_index) : 0;
	uint64_t array;

	if (!index)
		return code + layout->bytecode;
	array = target_word(python->memory, code + layout->copies);
	if (index < 0 || index >= (int32_t)COPIES_MAX || !array ||
	    (uint64_t)index >= target_word(python->memory, array))
		return UINT64_MAX;
	return target_word(python->memory, array + 8 + (uint64_t)index * 8);
}

/* Returns the offset in bytes of the latest instruction that began. */
static uint32_t instruction_of(struct cpython *python, const unsigned char *bytes, uint64_t code)
{
	const struct cpython_frames *layout = &python->layout->frames;
	uint64_t begin, at;
	int32_t index;

	if (layout->kind == FRAMES_OBJECTS) {
		index = half_at(bytes, layout->instruction);
		if (index < 0 || index >> 28)
			return CPYTHON_NO_OFFSET;
		/* Since 3.10 it counts instructions. */
		return (uint32_t)index * (layout->line_kind == LINES_STEPS ? 1 : CODE_UNIT);
	}
	begin = first_instruction(python, bytes, code);
	at = word_at(bytes, layout->instruction);
	return begin && at >= begin && at - begin < 1u << 28 ? (uint32_t)(at - begin)
							     : CPYTHON_NO_OFFSET;
}

static bool is_owned_by_c(struct cpython *python, uint64_t frame)
{
	unsigned char owner = 0;

	return python->layout->frames.kind == FRAMES_OWNED && frame &&
	       !target_read(python->memory, frame + python->layout->frames.owner, &owner,
			    sizeof(owner)) &&
	       owner == OWNED_BY_C;
}

/* PyFrameObject.f_executing of 3.9. */
#define FRAME_EXECUTING 116

/* Returns the target of a reference in a frame; 0: none, or a number. */
#define TAGGED_NUMBER 3
static uint64_t untagged(const struct cpython *python, uint64_t reference)
{
	uint64_t tags = python->layout->frames.tags;

	return tags && (reference & tags) == TAGGED_NUMBER ? 0 : reference & ~tags;
}

/* Returns the number of words of variables and of the stack in use; -1: the frame runs, and its
 * stack pointer is in a register. */
static int64_t words_in_use(struct cpython *python, const unsigned char *bytes, uint64_t address,
			    uint32_t locals)
{
	const struct cpython_frames *layout = &python->layout->frames;
	unsigned char executes = 1;
	uint64_t top;

	if (layout->kind != FRAMES_OBJECTS && !layout->top_is_address)
		return half_at(bytes, layout->stack_top);
	if (layout->kind == FRAMES_OBJECTS && layout->line_kind != LINES_STEPS)
		return half_at(bytes, layout->stack_top) < 0
			       ? -1
			       : (int64_t)locals + half_at(bytes, layout->stack_top);
	top = word_at(bytes, layout->stack_top);
	if (top || layout->top_is_address)
		return top >= address + layout->locals
			       ? (int64_t)(top - address - layout->locals) / 8
			       : -1;
	target_read(python->memory, address + FRAME_EXECUTING, &executes, sizeof(executes));
	return executes ? -1 : (int64_t)locals;
}

/* Returns the number of words that may be in use: all of the stack while the frame runs. */
static uint32_t used_words(struct cpython *python, const unsigned char *bytes, uint64_t address,
			   uint64_t code, uint32_t locals)
{
	uint64_t all = locals + (uint64_t)(uint32_t)target_half(
					python, code + python->layout->frames.stack_size);
	int64_t used = words_in_use(python, bytes, address, locals);

	return (uint32_t)MIN(used >= 0 && (uint64_t)used < all ? (uint64_t)used : all,
			     (uint64_t)FRAME_VALUES_MAX);
}

static bool read_frame(struct cpython *python, uint64_t address, struct cpython_frame *frame)
{
	const struct cpython_frames *layout = &python->layout->frames;
	unsigned char bytes[CPYTHON_FRAME_BYTES];
	uint64_t code;

	if (!address || address % 8 || target_read(python->memory, address, bytes, sizeof(bytes)))
		return false;
	code = untagged(python, word_at(bytes, layout->code));
	if (!is_code(python, code))
		return false;
	*frame = (struct cpython_frame){.address = address,
					.previous = word_at(bytes, layout->previous),
					.code = code,
					.offset = instruction_of(python, bytes, code),
					.locals = address + layout->locals,
					.local_count = local_count(python, code)};
	frame->used = used_words(python, bytes, address, code, frame->local_count);
	frame->entered = layout->kind == FRAMES_OBJECTS ||
			 (layout->kind == FRAMES_ENTERED && bytes[layout->owner]) ||
			 is_owned_by_c(python, frame->previous);
	return true;
}

/* Reads a frame, skipping frames owned by C. */
static bool frame_at(struct cpython *python, uint64_t address, struct cpython_frame *frame)
{
	for (size_t i = 0; i < C_FRAMES_MAX && is_owned_by_c(python, address); i++)
		address = target_word(python->memory, address + python->layout->frames.previous);
	return read_frame(python, address, frame);
}

bool cpython_frame_first(struct cpython *python, const struct cpython_thread *thread,
			 struct cpython_frame *frame)
{
	const struct cpython_frames *layout = &python->layout->frames;
	uint64_t at = target_word(python->memory, thread->address + layout->frame);

	if (at && layout->current != NO_CFRAME)
		at = target_word(python->memory, at + layout->current);
	return frame_at(python, at, frame);
}

bool cpython_frame_next(struct cpython *python, struct cpython_frame *frame)
{
	return frame_at(python, frame->previous, frame);
}

/* Roots and references. */

struct frame_roots {
	struct cpython *python;
	struct heap_sink *sink;
};

/* Adds a root "frame Handler.get() → request"; a word without a name is an intermediate value. */
static int add_value(struct frame_roots *roots, const struct cpython_frame *frame,
		     const char *function, uint32_t i, uint64_t value)
{
	char name[CPYTHON_NAME_BYTES], root[2 * CPYTHON_NAME_BYTES + 16];
	struct cpython *python = roots->python;

	if (i < frame->local_count &&
	    cpython_text(python, local_name(python, frame->code, i), name, sizeof(name), NULL))
		snprintf(root, sizeof(root), "frame %s() → %s", function, name);
	else
		snprintf(root, sizeof(root), "frame %s()", function);
	return heap_sink_root(roots->sink, "cpython", root, value);
}

static int add_frame(struct frame_roots *roots, const struct cpython_frame *frame)
{
	char function[CPYTHON_NAME_BYTES];
	int error = 0;

	if (!function_name(roots->python, frame->code, function, sizeof(function)))
		snprintf(function, sizeof(function), "?");
	for (uint32_t i = 0; !error && i < frame->used; i++) {
		uint64_t value = untagged(roots->python, target_word(roots->python->memory,
								     frame->locals + i * 8ull));

		if (heap_sink_node(roots->sink, value) != BLOCK_NONE)
			error = add_value(roots, frame, function, i, value);
	}
	return error;
}

/* Claims the chunks of a thread's frame stack: words outside frames hold nothing. */
static int claim_chunks(struct frame_roots *roots, const struct cpython_thread *thread)
{
	uint32_t place = roots->python->layout->frames.chunk;
	uint64_t at = place ? target_word(roots->python->memory, thread->address + place) : 0;
	bool fresh = true;
	int error = 0;

	while (!error && at) {
		uint64_t words[2]; /* previous, size */

		if (at % MEMORY_PAGE ||
		    target_read(roots->python->memory, at, words, sizeof(words)) ||
		    words[1] > CHUNK_BYTES_MAX)
			return 0;
		if (!hash_put(&roots->python->chunks, at, &fresh))
			return -ENOMEM;
		if (!fresh)
			return 0;
		error = heap_sink_claim(roots->sink, at, words[1], false);
		at = words[0];
	}
	return error;
}

static int add_thread(void *context, const struct cpython_thread *thread)
{
	struct frame_roots *roots = context;
	struct cpython_frame frame = {0};
	bool more = cpython_frame_first(roots->python, thread, &frame);
	struct loop loop = {0};
	int error = 0;

	while (!error && more && !loop_found(&loop, frame.address)) {
		error = add_frame(roots, &frame);
		more = cpython_frame_next(roots->python, &frame);
	}
	/* A truncated chain may have missed frames. */
	if (!error && !frame.previous)
		error = claim_chunks(roots, thread);
	return error;
}

int cpython_frame_roots(struct cpython *python, struct heap_sink *sink, uint64_t interpreter)
{
	struct frame_roots roots = {python, sink};

	return cpython_threads(python, interpreter, add_thread, &roots);
}

/* PyGenObject.gi_running of 3.9 */
#define GENERATOR_RUNNING 24
/* PyFrameObject.f_frame, since 3.11 */
#define OBJECT_FRAME 24

static bool has_ended(struct cpython *python, uint64_t generator)
{
	const struct cpython_frames *layout = &python->layout->frames;
	int8_t state = layout->generator_ended;

	target_read(python->memory, generator + layout->generator_state, &state, sizeof(state));
	return state >= layout->generator_ended;
}

/* Claims the words of an object from an address on, which hold nothing. */
static int claim_rest(struct heap_sink *sink, uint32_t node, uint64_t from)
{
	uint64_t end = sink->starts[node] + sink->sizes[node];

	return from < end ? heap_sink_claim_within(sink, from, end - from) : 0;
}

/* Returns the frame inside an object; 0: none. */
static uint64_t frame_in(struct cpython *python, uint64_t object, enum cpython_kind kind)
{
	/* Up to 3.10, a generator's frame is a separate object. */
	if (python->layout->frames.kind == FRAMES_OBJECTS)
		return kind == CPYTHON_FRAME ? object : 0;
	return kind == CPYTHON_FRAME ? target_word(python->memory, object + OBJECT_FRAME)
				     : object + python->layout->frames.generator;
}

/* Claims the words other than variables: they are held by its function, or its generator and
 * blocks; and stale words above its stack. */
static int claim_others(const struct cpython *python, struct heap_sink *sink, uint32_t node,
			const struct cpython_frame *frame)
{
	const struct cpython_frames *layout = &python->layout->frames;
	uint32_t from = layout->globals, bytes = 16;
	int error;

	/* PyFrameObject.f_gen is followed by numbers, up to its variables. */
	if (layout->kind == FRAMES_OBJECTS) {
		from = layout->instruction - 8;
		bytes = layout->locals - from;
	}
	error = heap_sink_claim_within(sink, frame->address + from, bytes);
	/* Height of the stack, with flags. */
	if (!error && layout->kind != FRAMES_OBJECTS)
		error = heap_sink_claim_within(sink, frame->address + (layout->stack_top & ~7u), 8);
	return error ? error : claim_rest(sink, node, frame->locals + frame->used * 8ull);
}

/* Adds the reference of a word of a frame inside the object. */
static int refer_word(struct cpython *python, struct heap_sink *sink, uint32_t node, uint64_t place,
		      uint64_t name)
{
	uint64_t value = heap_sink_node(sink, place) == node
				 ? untagged(python, target_word(python->memory, place))
				 : 0;

	if (!value || heap_sink_node(sink, value) == BLOCK_NONE)
		return 0;
	return heap_sink_reference(sink, node, value, cpython_name_label(python, sink, name));
}

static int refer_local(struct cpython *python, struct heap_sink *sink, uint32_t node,
		       const struct cpython_frame *frame, uint32_t i)
{
	return refer_word(python, sink, node, frame->locals + i * 8ull,
			  local_name(python, frame->code, i));
}

/* Adds the reference to the code of a frame inside the object: the word has tags, and is no
 * address. */
static int refer_code(struct cpython *python, struct heap_sink *sink, uint32_t node, uint64_t frame)
{
	return python->layout->frames.tags
		       ? refer_word(python, sink, node, frame + python->layout->frames.code, 0)
		       : 0;
}

/* Adds the tagged references to its function and intermediate values, except those borrowed from a
 * variable. */
#define TAG_LENT 1
static int refer_tagged(struct cpython *python, struct heap_sink *sink, uint32_t node,
			const struct cpython_frame *frame)
{
	int error = refer_code(python, sink, node, frame->address);

	if (!error)
		error = refer_word(python, sink, node, frame->address + FRAME_FUNCTION, 0);
	for (uint32_t i = frame->local_count; !error && i < frame->used; i++) {
		uint64_t place = frame->locals + i * 8ull;

		if (!(target_word(python->memory, place) & TAG_LENT))
			error = refer_word(python, sink, node, place, 0);
	}
	return error;
}

int cpython_frame_refer(struct cpython *python, struct heap_sink *sink, uint32_t node,
			uint64_t object, enum cpython_kind kind)
{
	uint64_t at = frame_in(python, object, kind);
	struct cpython_frame frame;
	int error;

	/* A flag, and uninitialised bytes. */
	if (kind == CPYTHON_GENERATOR && python->layout->frames.line_kind == LINES_STEPS)
		return heap_sink_claim_within(sink, object + GENERATOR_RUNNING, 8);
	/* A running frame is elsewhere. */
	if (heap_sink_node(sink, at) != node)
		return 0;
	if (kind == CPYTHON_GENERATOR && has_ended(python, object)) {
		error = refer_code(python, sink, node, at);
		return error ? error : claim_rest(sink, node, at);
	}
	if (!read_frame(python, at, &frame))
		return 0;
	error = claim_others(python, sink, node, &frame);
	if (!error && python->layout->frames.tags)
		error = refer_tagged(python, sink, node, &frame);
	for (uint32_t i = 0; !error && i < frame.local_count; i++)
		error = refer_local(python, sink, node, &frame, i);
	return error;
}
