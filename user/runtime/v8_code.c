// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Frames of V8's, as stacks are walked through them and named. All code that V8 makes, and its
 * builtins in the program, keep a frame pointer; frames of JavaScript have the context and the
 * function below it (src/execution/frame-constants.h). The function's SharedFunctionInfo is noted
 * then: its name, script and line are found here.
 *
 * The line of a call is found by the function's bytecode (src/codegen/source-position-table.cc),
 * if V8 keeps positions: it makes them when an exception or an Error first needs them. Else it is
 * the line where the function begins.
 */
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "elf/byte_reader.h"
#include "leakmon_abi.h"
#include "runtime/runtime.h"
#include "runtime/v8.h"
#include "symbol/symbolizer.h"

#define LOOKED_AT_MAX (1u << 24) /* between two times that memory is forgotten */
#define TABLE_BYTES_MAX (1u << 20)
#define BYTECODES_MAX (1u << 26)
#define SHARED_END 64 /* no member of a SharedFunctionInfo that leads to code is behind it */
#define POSITIONS 32  /* BytecodeArray::source_position_table, if it has no wrapper */
#define POSITION_SHIFT 1
#define POSITION_MASK 0x3fffffffu

struct code {
	struct v8 *v8;
	uint64_t bytecode;  /* the map of a BytecodeArray, tagged */
	uint32_t forgotten; /* of the memory, when something was read last */
};

/* -------- lines */

/* What a position table has: where bytecode begins, and its place in the script. */
struct position {
	int64_t bytecode, place;
};

/* Numbers are small ones, either sign, in groups of 7 bits. */
static int64_t read_number(struct byte_reader *reader)
{
	uint64_t number = byte_reader_uleb128(reader);

	return (int64_t)(number >> 1) ^ -(int64_t)(number & 1);
}

/* An expression, which is no statement, has the complement. */
static bool read_position(struct byte_reader *reader, struct position *position)
{
	int64_t bytecode = read_number(reader), place = read_number(reader);

	if (bytecode < 0)
		bytecode = -(bytecode + 1);
	if (reader->failed || bytecode > BYTECODES_MAX || place > UINT32_MAX ||
	    place < -(int64_t)UINT32_MAX)
		return false;
	position->bytecode += bytecode;
	position->place += place;
	return position->bytecode <= BYTECODES_MAX && position->place >= 0 &&
	       position->place <= UINT32_MAX;
}

/* The place of the latest position up to a bytecode; false: there is none, or no such table. */
static bool find_position(const uint8_t *table, size_t size, uint32_t bytecode, uint32_t *place)
{
	struct byte_reader reader = byte_reader(table, size);
	struct position position = {.bytecode = -1};
	uint64_t found = 0;

	while (byte_reader_left(&reader)) {
		if (!read_position(&reader, &position))
			return false;
		if (position.bytecode <= (int64_t)bytecode)
			found = (uint64_t)position.place;
	}
	found = found >> POSITION_SHIFT & POSITION_MASK;
	*place = (uint32_t)found - 1;
	return found;
}

/* The bytes of an array of bytes; NULL: it is none. The caller frees them. */
static uint8_t *read_bytes(struct v8 *v8, uint64_t array, size_t *size)
{
	const struct v8_map *map = v8_map_of(v8, array);
	uint64_t length = v8_number(v8_field(v8, array, v8_place(v8, V8_ARRAY_LENGTH)));
	uint8_t *bytes;

	if (!map || (!v8_is_named(v8, map, "ByteArray") && !v8_is_named(v8, map, "TrustedByteA")) ||
	    !length || length > TABLE_BYTES_MAX)
		return NULL;
	bytes = malloc(length);
	if (bytes &&
	    target_read(v8->memory, array - V8_TAG + v8_place(v8, V8_ARRAY_DATA), bytes, length)) {
		free(bytes);
		return NULL;
	}
	*size = length;
	return bytes;
}

static bool is_kind(struct v8 *v8, uint64_t word, enum v8_kind kind)
{
	const struct v8_map *map = v8_map_of(v8, word);

	return map && v8_kind_of(v8, map) == kind;
}

/* The first object of a kind that one leads to by its first words; 0: none. */
static uint64_t find_member(struct v8 *v8, uint64_t object, enum v8_kind kind)
{
	for (uint64_t at = 8; at < SHARED_END; at += 8) {
		uint64_t word = v8_field(v8, object, at);

		if (is_kind(v8, word, kind))
			return word;
	}
	return 0;
}

/* That of a function, or of the code that was made of it alone; 0: it has none (any more). */
static uint64_t bytecode_of(struct v8 *v8, uint64_t shared)
{
	uint64_t found = find_member(v8, shared, V8_BYTECODE), code;

	if (found)
		return found;
	code = find_member(v8, shared, V8_CODE);
	return code ? find_member(v8, code, V8_BYTECODE) : 0;
}

static uint32_t line_of_bytecode(struct v8 *v8, uint64_t shared, uint64_t array, uint32_t bytecode)
{
	uint64_t wrapper = v8_place(v8, V8_BYTECODE_WRAPPER);
	_cleanup_free_ uint8_t *table = NULL;
	uint32_t place;
	size_t size;

	table = read_bytes(v8, v8_field(v8, array, wrapper ? wrapper + 8 : POSITIONS), &size);
	return table && find_position(table, size, bytecode, &place) ? v8_line_at(v8, shared, place)
								     : 0;
}

/* Offsets are from the tagged pointer; of long ones only the lowest bits are known. */
static uint32_t interpreted_line(struct v8 *v8, uint64_t shared, uint32_t at)
{
	uint64_t array = bytecode_of(v8, shared), first = v8_place(v8, V8_BYTECODE_DATA) - V8_TAG;
	uint64_t length = v8_number(v8_field(v8, array, v8_place(v8, V8_ARRAY_LENGTH)));

	if (!array || at < first || at - first >= length ||
	    first + length > LM_INTERPRETED_AT_MASK + 1)
		return 0;
	return line_of_bytecode(v8, shared, array, at - (uint32_t)first);
}

/* -------- frames */

static int append(struct intern *strings, const struct frame *frame, struct frames *frames)
{
	struct frame *added = vec_push(&frames->list);

	if (!added)
		return -ENOMEM;
	*added = *frame;
	added->function = intern_string(strings, frame->function);
	added->file = frame->file ? intern_string(strings, frame->file) : NULL;
	added->module = FRAME_JAVASCRIPT;
	added->module_offset =
		symbolizer_place_id(frame->function, frame->file ? frame->file : "", frame->line);
	return added->function && (added->file || !frame->file) ? 0 : -ENOMEM;
}

/* Builtins have a name and no script; top-level code has a script and no name. */
static int name_function(struct v8 *v8, uint64_t noted, struct intern *strings,
			 struct frames *frames)
{
	uint64_t shared = LM_INTERPRETED_METHOD(noted) | V8_TAG;
	char function[V8_NAME_BYTES], path[V8_NAME_BYTES];
	struct frame frame = {.address = LM_INTERPRETED_METHOD(noted), .function = function};

	v8_shared_name(v8, shared, function);
	if (v8_script_path(v8, shared, path)) {
		frame.file = path;
		if (!(noted & LM_FRAME_COMPILED))
			frame.line = interpreted_line(v8, shared, LM_INTERPRETED_AT(noted));
		if (!frame.line)
			frame.line = v8_line_of(v8, shared);
	}
	if (!function[0] && !frame.file)
		return -ENOENT;
	if (!function[0])
		frame.function = "(anonymous)";
	return append(strings, &frame, frames);
}

static void renew(struct code *code)
{
	struct v8 *v8 = code->v8;

	if (code->forgotten == v8->memory->forgotten)
		return;
	code->forgotten = v8->memory->forgotten;
	v8_forget(v8);
	v8->words_left = v8->names_left = v8->source_left = LOOKED_AT_MAX;
}

static int name(void *state, uint64_t frame, struct intern *strings, struct frames *frames)
{
	struct code *code = state;
	size_t before = frames->list.count;
	int error = -ENOENT;

	renew(code);
	if (LM_FRAME_IS_INTERPRETED(frame) &&
	    v8_is_type(code->v8, v8_map_of(code->v8, LM_INTERPRETED_METHOD(frame) | V8_TAG),
		       V8_TYPE_SHARED))
		error = name_function(code->v8, frame, strings, frames);
	if (error)
		frames->list.count = before;
	return error;
}

static int rows(void *state, struct code_rows *rows)
{
	const struct code *code = state;

	rows->blocks.shared = (uint32_t)v8_place(code->v8, V8_FUNCTION_SHARED);
	rows->blocks.bytecode = code->bytecode;
	return 0;
}

/* -------- V8 */

/* As the kernel side takes them for granted. */
static bool describes_frames(struct v8 *v8)
{
	static const struct {
		const char *name;
		int32_t offset;
	} words[] = {
		{"v8dbg_off_fp_context", LM_JS_WORD_CONTEXT * 8},
		{"v8dbg_off_fp_function", LM_JS_WORD_FUNCTION * 8},
		{"v8dbg_off_fp_bytecode_array", LM_JS_WORD_BYTECODE * 8},
		{"v8dbg_off_fp_bytecode_offset", LM_JS_WORD_OFFSET * 8},
	};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++) {
		if (v8_constant(v8, words[i].name, 0) != words[i].offset)
			return false;
	}
	return v8_place(v8, V8_SHARED_SCRIPT) != 0;
}

static int find_v8(struct code *code, const char **why)
{
	struct v8 *v8 = code->v8;
	char version[24];
	const char *named = v8_named_why(v8->memory->maps);
	int error = v8_find(v8, version, why);

	if (error == -ENOENT && named)
		*why = named;
	if (error)
		return error;
	if (!describes_frames(v8)) {
		*why = "its frames are not as they are known: another version";
		return -ENOENT;
	}
	error = v8_find_first_layout(v8, why);
	code->bytecode = error ? 0 : v8_map_of_kind(v8, V8_BYTECODE);
	return error || code->bytecode ? error : -ENOENT;
}

static void close_code(void *state)
{
	struct code *code = state;

	v8_close(code->v8);
	free(code);
}

static int open_code(struct target_memory *memory, void **state, const char **why)
{
	struct code *code = calloc(1, sizeof(*code));
	int error;

	if (!code)
		return -ENOMEM;
	code->v8 = calloc(1, sizeof(*code->v8));
	if (!code->v8) {
		free(code);
		return -ENOMEM;
	}
	code->v8->memory = memory;
	code->forgotten = memory->forgotten - 1;
	error = find_v8(code, why);
	if (error)
		close_code(code);
	else
		*state = code;
	return error;
}

const struct code_reader v8_code_reader = {
	.open = open_code, .rows = rows, .name = name, .close = close_code};
