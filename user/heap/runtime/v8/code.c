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
#include "binary/elf/byte_reader.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/v8/v8.h"
#include "leakmon_abi.h"
#include "process/symbol/symbolizer.h"

#define LOOKED_AT_MAX (1u << 24) /* between two times that memory is forgotten */
#define TABLE_BYTES_MAX (1u << 20)
#define BYTECODES_MAX (1u << 26)
#define SHARED_END 64 /* no member of a SharedFunctionInfo that leads to code is behind it */
#define POSITIONS 32  /* BytecodeArray::source_position_table, if it has no wrapper */
#define POSITION_SHIFT 1
#define POSITION_BITS 2
#define POSITION_BITS_SINCE 14
#define SIZES_BYTES (3 * 256)
#define POSITION_MASK 0x3fffffffu

struct code {
	struct v8 *v8;
	uint64_t bytecode;  /* the map of a BytecodeArray, tagged */
	uint32_t forgotten; /* of the memory, when something was read last */
	/* Of this version; NULL: it is another one. */
	const struct code_layout *layout;
	uint32_t bytecodes;	    /* how many there are; 0: not known */
	uint8_t sizes[SIZES_BYTES]; /* see BYTECODE_SIZES */
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

/* An expression, which is no statement, has the complement; from 14 on both have two bits for what
 * they are behind the number. */
static bool read_position(struct byte_reader *reader, bool has_bits, struct position *position)
{
	int64_t bytecode = has_bits ? (int64_t)(byte_reader_uleb128(reader) >> POSITION_BITS)
				    : read_number(reader);
	int64_t place = read_number(reader);

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
static bool find_position(const uint8_t *table, size_t size, bool has_bits, uint32_t bytecode,
			  uint32_t *place)
{
	struct byte_reader reader = byte_reader(table, size);
	struct position position = {.bytecode = -1};
	uint64_t found = 0;

	while (byte_reader_left(&reader)) {
		if (!read_position(&reader, has_bits, &position))
			return false;
		if (position.bytecode <= (int64_t)bytecode)
			found = (uint64_t)position.place;
	}
	found = found >> POSITION_SHIFT & POSITION_MASK;
	*place = (uint32_t)found - 1;
	return found;
}

/* What an array has behind its header; NULL: it is too long. The caller frees it. */
static uint8_t *read_contents(struct v8 *v8, uint64_t array, uint64_t header, size_t *size)
{
	uint64_t length = v8_number(v8_field(v8, array, v8_place(v8, V8_ARRAY_LENGTH)));
	uint8_t *bytes;

	if (!length || length > TABLE_BYTES_MAX)
		return NULL;
	bytes = malloc(length);
	if (bytes && target_read(v8->memory, array - V8_TAG + header, bytes, length)) {
		free(bytes);
		return NULL;
	}
	*size = length;
	return bytes;
}

/* Likewise; NULL: it is no array of bytes. */
static uint8_t *read_bytes(struct v8 *v8, uint64_t array, size_t *size)
{
	const struct v8_map *map = v8_map_of(v8, array);

	if (!map ||
	    (!v8_is_named(v8, map, "ByteArray__") && !v8_is_named(v8, map, "TrustedByteArray__")))
		return NULL;
	return read_contents(v8, array, v8_place(v8, V8_ARRAY_DATA), size);
}

static bool is_kind(struct v8 *v8, uint64_t word, enum v8_kind kind)
{
	const struct v8_map *map = v8_map_of(v8, word);

	return map && v8_kind_of(v8, map) == kind;
}

static uint8_t *read_bytecode(struct v8 *v8, uint64_t array, size_t *size)
{
	return is_kind(v8, array, V8_BYTECODE)
		       ? read_contents(v8, array, v8_place(v8, V8_BYTECODE_DATA), size)
		       : NULL;
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

static bool has_position_bits(struct v8 *v8)
{
	int32_t major, minor;

	return v8_read_versions(v8, v8->module, &major, &minor) && major >= POSITION_BITS_SINCE;
}

static uint32_t line_of_bytecode(struct v8 *v8, uint64_t shared, uint64_t array, uint32_t bytecode)
{
	uint64_t wrapper = v8_place(v8, V8_BYTECODE_WRAPPER);
	_cleanup_free_ uint8_t *table = NULL;
	uint32_t place;
	size_t size;

	table = read_bytes(v8, v8_field(v8, array, wrapper ? wrapper + 8 : POSITIONS), &size);
	return table && find_position(table, size, has_position_bits(v8), bytecode, &place)
		       ? v8_line_at(v8, shared, place)
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

/* -------- code that is made of bytecode alone */

/* Where Code has what this takes. The table of bytecodes follows the bytecode, which has the place
 * of what optimized code has to be taken back (src/objects/code.h). */
static const struct code_layout {
	int32_t major, minor;
	uint8_t bytecode;
	uint8_t start;	/* the address of the instructions; 0: they follow the header */
	uint8_t size;	/* of them, in bytes: 32 bits */
	uint8_t header; /* of Code, with instructions behind it */
} code_layouts[] = {
	{10, 2, 16, 0, 40, 128}, {11, 3, 16, 40, 56, 0}, {12, 4, 8, 40, 52, 0},
	{13, 6, 8, 40, 56, 0},	 {14, 1, 8, 40, 56, 0},	 {14, 6, 8, 40, 56, 0},
};

/* The lengths of bytecodes: one byte for each of them, three times, for operands of one, two and
 * four bytes. It has the prefixes for these, too. */
#define BYTECODE_SIZES "_ZN2v88internal11interpreter9Bytecodes14kBytecodeSizesE"
#define WIDTHS 3
#define WIDE 0
#define EXTRA_WIDE 1

static void read_sizes(struct code *code)
{
	const struct data_module *module = code->v8->module;
	const struct symbol_table *table = &module->image->table;

	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->symbols[i];

		if (strcmp(table->names + symbol->name, BYTECODE_SIZES) != 0)
			continue;
		if (symbol->size > sizeof(code->sizes) || symbol->size % WIDTHS ||
		    target_read(code->v8->memory, module->bias + symbol->address, code->sizes,
				symbol->size))
			return;
		code->bytecodes = symbol->size / WIDTHS;
	}
}

static const struct code_layout *find_code_layout(struct v8 *v8)
{
	int32_t major, minor;

	if (!v8_read_versions(v8, v8->module, &major, &minor))
		return NULL;
	for (size_t i = 0; i < ARRAY_SIZE(code_layouts); i++) {
		if (code_layouts[i].major == major && code_layouts[i].minor == minor)
			return &code_layouts[i];
	}
	return NULL;
}

/* How long the bytecode is that begins there; 0: it is none. */
static uint32_t bytecode_size(const struct code *code, const uint8_t *bytes, size_t left)
{
	uint32_t width = 0, prefix = 0, size;

	if (left > 1 && (bytes[0] == WIDE || bytes[0] == EXTRA_WIDE)) {
		width = bytes[0] == WIDE ? 1 : 2;
		prefix = 1;
	}
	if (left <= prefix || bytes[prefix] >= code->bytecodes)
		return 0;
	size = prefix + code->sizes[width * code->bytecodes + bytes[prefix]];
	return size <= left ? size : 0;
}

/* Finds the bytecode with the instructions at an offset, or with their end there: a call returns to
 * it. The table has the length of the code before the first one, and then that of each. */
static bool find_bytecode(const struct code *code, struct byte_reader *table,
			  struct byte_reader *bytecodes, uint32_t offset, uint32_t *found)
{
	const uint8_t *first = bytecodes->at;
	uint64_t end = byte_reader_uleb128(table);

	while (end < offset) {
		size_t left = byte_reader_left(bytecodes);
		uint32_t size = bytecode_size(code, bytecodes->at, left);

		if (!size || !byte_reader_left(table))
			return false;
		*found = (uint32_t)(bytecodes->at - first);
		byte_reader_take(bytecodes, size);
		end += byte_reader_uleb128(table);
	}
	return !table->failed && bytecodes->at != first;
}

/* An address in code, of which only the lowest bits are known; false: it is surely elsewhere. */
static bool offset_in_code(const struct code *code, uint64_t object, uint32_t at, uint32_t *offset)
{
	struct v8 *v8 = code->v8;
	const struct code_layout *layout = code->layout;
	uint64_t start = layout->start ? v8_field(v8, object, layout->start)
				       : object - V8_TAG + layout->header;
	uint32_t size = (uint32_t)v8_field(v8, object, layout->size);

	*offset = (at - (uint32_t)start) & LM_INTERPRETED_AT_MASK;
	return *offset <= size && size <= LM_INTERPRETED_AT_MASK;
}

static uint32_t compiled_line(const struct code *code, uint64_t shared, uint32_t at)
{
	struct v8 *v8 = code->v8;
	uint64_t object = find_member(v8, shared, V8_CODE), array;
	_cleanup_free_ uint8_t *table = NULL, *bytecodes = NULL;
	struct byte_reader table_reader, bytecode_reader;
	size_t table_size, size;
	uint32_t offset, bytecode = 0;

	if (!object || !code->layout || !offset_in_code(code, object, at, &offset))
		return 0;
	array = v8_field(v8, object, code->layout->bytecode);
	table = read_bytes(v8, v8_field(v8, object, code->layout->bytecode + 8), &table_size);
	bytecodes = table ? read_bytecode(v8, array, &size) : NULL;
	if (!bytecodes)
		return 0;
	table_reader = byte_reader(table, table_size);
	bytecode_reader = byte_reader(bytecodes, size);
	return find_bytecode(code, &table_reader, &bytecode_reader, offset, &bytecode)
		       ? line_of_bytecode(v8, shared, array, bytecode)
		       : 0;
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

static uint32_t line_of_call(const struct code *code, uint64_t shared, uint64_t noted)
{
	uint32_t at = LM_INTERPRETED_AT(noted);

	if (noted & LM_FRAME_OPTIMIZED)
		return 0;
	return noted & LM_FRAME_COMPILED ? compiled_line(code, shared, at)
					 : interpreted_line(code->v8, shared, at);
}

/* Builtins have a name and no script; top-level code has a script and no name. */
static int name_function(const struct code *code, uint64_t noted, struct intern *strings,
			 struct frames *frames)
{
	struct v8 *v8 = code->v8;
	uint64_t shared = LM_INTERPRETED_METHOD(noted) | V8_TAG;
	char function[V8_NAME_BYTES], path[V8_NAME_BYTES];
	struct frame frame = {.address = LM_INTERPRETED_METHOD(noted), .function = function};

	v8_shared_name(v8, shared, function);
	if (v8_script_path(v8, shared, path)) {
		frame.file = path;
		frame.line = line_of_call(code, shared, noted);
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
	v8->names_left = v8->source_left = LOOKED_AT_MAX;
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
		error = name_function(code, frame, strings, frames);
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
	if (error) {
		close_code(code);
		return error;
	}
	code->layout = find_code_layout(code->v8);
	read_sizes(code);
	*state = code;
	return 0;
}

const struct code_reader v8_code_reader = {
	.open = open_code, .rows = rows, .name = name, .close = close_code};
