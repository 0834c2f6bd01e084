// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * HotSpot's code cache, for unwinding through it and naming its frames. It has heaps of blocks,
 * each with a CodeBlob (src/hotspot/share/memory/heap.hpp, code/codeBlob.hpp). Frames are:
 *
 * compiled methods, wrappers of native ones, stubs that call the VM: CodeBlob::_frame_size words,
 * with the return address on top and the frame pointer below it;
 *
 * the interpreter: see enum lm_interpreted_word (frame_<cpu>.hpp);
 *
 * other stubs keep a frame pointer, if they call anything.
 *
 * Return addresses are behind a method's prologue, where its frame is complete. Where the VM takes
 * a frame apart (deoptimisation), a walk ends.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/elf/cfi.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/runtime.h"
#include "process/symbol/symbolizer.h"

#define HEAPS_MAX LM_CODE_HEAPS
#define SPAN_MAX (4ull << 30)
#define NAMES_MAX 65536
#define WINDOW (1u << 20)
#define BLOB_BYTES 1024 /* all needed members lie within */
#define BLOCK_FREE UINT8_MAX

/*
 * How the frames of a blob are unwound. All kinds but BLOB_BY_SIZE are created when the VM starts.
 */
enum blob_kind {
	BLOB_UNREAD,
	BLOB_BY_SIZE, /* by the size of its frame if it has one, else by the frame pointer */
	BLOB_INTERPRETER,
	BLOB_CHANGES,
};

struct code_heap {
	uint64_t low, high;
	uint64_t limit; /* end of its reservation */
	uint64_t segments;
	uint32_t shift;
};

struct code {
	struct hotspot *hotspot;
	struct hash kinds; /* address of a blob's name -> enum blob_kind */
};

static struct code_heap code_heap_at(struct hotspot *hotspot, uint64_t heap)
{
	uint64_t memory = heap + hotspot_place(hotspot, HOTSPOT_CODE_MEMORY);
	uint64_t map = heap + hotspot_place(hotspot, HOTSPOT_CODE_SEGMENTS);

	return (struct code_heap){
		.low = heap ? hotspot_member(hotspot, memory, HOTSPOT_SPACE_LOW) : 0,
		.high = hotspot_member(hotspot, memory, HOTSPOT_SPACE_HIGH),
		.limit = hotspot_member(hotspot, memory, HOTSPOT_SPACE_LIMIT),
		.segments = hotspot_member(hotspot, map, HOTSPOT_SPACE_LOW),
		.shift = hotspot_member32(hotspot, heap, HOTSPOT_CODE_SHIFT),
	};
}

static bool is_heap(const struct code_heap *heap)
{
	return heap->low && heap->segments && heap->low < heap->high && heap->high <= heap->limit &&
	       heap->limit - heap->low <= SPAN_MAX && heap->shift >= 4 && heap->shift <= 16 &&
	       !(heap->low & (MEMORY_PAGE - 1));
}

static int by_address(const void *left, const void *right)
{
	const struct code_heap *a = left, *b = right;

	return (a->low > b->low) - (a->low < b->low);
}

/* Finds the heaps, by ascending address. Returns their number; 0: none yet, or none that can be
 * believed. */
static size_t find_heaps(struct hotspot *hotspot, struct code_heap heaps[HEAPS_MAX])
{
	uint64_t list = hotspot_static(hotspot, HOTSPOT_CODE_HEAPS);
	uint32_t listed = hotspot_member32(hotspot, list, HOTSPOT_ARRAY_LENGTH);
	uint64_t items = hotspot_member(hotspot, list, HOTSPOT_ARRAY_DATA);
	size_t count = 0;

	for (uint32_t i = 0; i < MIN(listed, (uint32_t)HEAPS_MAX); i++) {
		heaps[count] =
			code_heap_at(hotspot, target_word(hotspot->memory, items + i * 8ull));
		count += is_heap(&heaps[count]);
	}
	qsort(heaps, count, sizeof(*heaps), by_address);
	for (size_t i = 1; i < count; i++) {
		if (heaps[i].low < heaps[i - 1].limit || heaps[i].shift != heaps[0].shift ||
		    heaps[i].limit - heaps[0].low > SPAN_MAX - MEMORY_PAGE)
			return 0;
	}
	return count;
}

/* -------- rows */

/* A sequential reader of large memory. */
struct stream {
	struct target_memory *memory;
	unsigned char *bytes;
	uint64_t start;
	size_t size; /* bytes available */
};

/* Returns `size` bytes at an address; NULL: unreadable. */
static const unsigned char *stream_at(struct stream *stream, uint64_t address, size_t size)
{
	if (address < stream->start || address + size > stream->start + stream->size) {
		stream->start = address & ~(MEMORY_PAGE - 1);
		stream->size = WINDOW;
		if (!target_read_pages(stream->memory, stream->start, stream->bytes, WINDOW))
			stream->size = 0;
	}
	return stream->size ? stream->bytes + (address - stream->start) : NULL;
}

struct reading {
	struct code *code;
	struct stream blocks, segments;
	struct row_builder *rows;
};

static enum blob_kind kind_of_name(const char *name)
{
	if (strstr(name, "Interpreter"))
		return BLOB_INTERPRETER;
	if (strstr(name, "DeoptimizationBlob") || strstr(name, "UncommonTrapBlob"))
		return BLOB_CHANGES;
	return BLOB_BY_SIZE;
}

/* Caches by the address of the name: names are few, and never move. */
static enum blob_kind kind_of(struct code *code, uint64_t name)
{
	char text[HOTSPOT_BLOB_NAME_BYTES];
	uint64_t *slot;

	if (code->kinds.count > NAMES_MAX)
		hash_free(&code->kinds);
	slot = hash_put(&code->kinds, name, NULL);
	if (!slot || !hotspot_blob_name(code->hotspot, name, text))
		return BLOB_CHANGES;
	if (*slot == BLOB_UNREAD)
		*slot = kind_of_name(text);
	return (enum blob_kind) * slot;
}

static struct lm_unwind_row row_of(enum blob_kind kind)
{
	static const uint8_t rows[] = {
		[BLOB_UNREAD] = LM_UNWIND_UNSUPPORTED,
		[BLOB_BY_SIZE] = LM_UNWIND_MADE,
		[BLOB_INTERPRETER] = LM_UNWIND_INTERPRETED,
		[BLOB_CHANGES] = LM_UNWIND_UNSUPPORTED,
	};

	return (struct lm_unwind_row){.kind = rows[kind]};
}

static uint64_t word_at(const struct hotspot *hotspot, const unsigned char *bytes,
			enum hotspot_place place, size_t size)
{
	uint64_t offset = hotspot_place(hotspot, place), word = 0;

	if (offset <= BLOB_BYTES - sizeof(word))
		memcpy(&word, bytes + offset, size);
	return word;
}

/* Returns a block's length in segments; the field has 8 bytes up to 20, 4 later. */
static uint64_t length_of(const struct hotspot *hotspot, const unsigned char *header)
{
	bool is_long = hotspot_place(hotspot, HOTSPOT_HEADER_USED) -
			       hotspot_place(hotspot, HOTSPOT_HEADER_LENGTH) !=
		       4;

	return word_at(hotspot, header, HOTSPOT_HEADER_LENGTH, is_long ? 8 : 4);
}

/* Returns the end of a block, and its row; 0: unreadable. */
static uint64_t read_block(struct reading *reading, const struct code_heap *heap, uint64_t address,
			   struct lm_unwind_row *row)
{
	struct hotspot *hotspot = reading->code->hotspot;
	uint64_t header_at = hotspot_place(hotspot, HOTSPOT_BLOCK_HEADER);
	uint64_t blob_at = hotspot_place(hotspot, HOTSPOT_CODE_BLOCK_BYTES), length;
	const unsigned char *bytes;

	*row = (struct lm_unwind_row){.kind = LM_UNWIND_MADE};
	if (header_at > BLOB_BYTES || blob_at > BLOB_BYTES)
		return 0;
	bytes = stream_at(&reading->blocks, address, (size_t)2 * BLOB_BYTES);
	if (!bytes)
		return 0;
	length = length_of(hotspot, bytes + header_at);
	if (!length || length > (heap->high - address) >> heap->shift)
		return 0;
	if (word_at(hotspot, bytes + header_at, HOTSPOT_HEADER_USED, 1))
		*row = row_of(kind_of(reading->code,
				      word_at(hotspot, bytes + blob_at, HOTSPOT_BLOB_NAME, 8)));
	return address + (length << heap->shift);
}

/* Returns whether a used or formerly used block begins there: the rest of a heap is empty. */
static bool has_block(struct reading *reading, const struct code_heap *heap, uint64_t address)
{
	const unsigned char *segment = stream_at(
		&reading->segments, heap->segments + ((address - heap->low) >> heap->shift), 1);

	return segment && *segment != BLOCK_FREE;
}

static int add_heap(struct reading *reading, const struct code_heap *heap)
{
	const struct lm_unwind_row later = {.kind = LM_UNWIND_MADE};
	uint64_t address = heap->low, end;
	struct lm_unwind_row row;
	int error = 0;

	if (reading->rows->rows.count) /* the gap between heaps */
		error = row_builder_add(reading->rows, reading->rows->end, heap->low, later);
	while (!error && address < heap->high && has_block(reading, heap, address)) {
		end = read_block(reading, heap, address, &row);
		if (!end)
			break;
		error = row_builder_add(reading->rows, address, end, row);
		address = end;
	}
	return error ? error : row_builder_add(reading->rows, address, heap->limit, later);
}

static int read_rows(struct reading *reading, const struct code_heap *heaps, size_t count)
{
	struct target_memory *memory = reading->code->hotspot->memory;
	_cleanup_free_ unsigned char *bytes = malloc((size_t)2 * WINDOW);
	int error = bytes ? 0 : -ENOMEM;

	reading->blocks = (struct stream){.memory = memory, .bytes = bytes};
	reading->segments = (struct stream){.memory = memory, .bytes = bytes + WINDOW};
	for (size_t i = 0; !error && i < count; i++)
		error = add_heap(reading, &heaps[i]);
	return error;
}

static void describe_blocks(struct hotspot *hotspot, const struct code_heap *heaps, size_t count,
			    struct lm_made_code *blocks)
{
	for (size_t i = 0; i < count; i++)
		blocks->heaps[i] =
			(struct lm_code_heap){heaps[i].low, heaps[i].limit, heaps[i].segments};
	blocks->shift = heaps[0].shift;
	blocks->frame = (uint32_t)(hotspot_place(hotspot, HOTSPOT_CODE_BLOCK_BYTES) +
				   hotspot_place(hotspot, HOTSPOT_BLOB_FRAME));
}

/* Returns whether the interpreter exists: the VM creates it a little later than the heaps. */
static bool has_interpreter(const struct row_builder *rows)
{
	for (size_t i = 0; i < rows->rows.count; i++) {
		if (rows->rows.items[i].kind == LM_UNWIND_INTERPRETED)
			return true;
	}
	return false;
}

static int rows(void *state, struct code_rows *rows)
{
	struct code *code = state;
	struct reading reading = {.code = code, .rows = rows->rows};
	struct code_heap heaps[HEAPS_MAX];
	size_t count = find_heaps(code->hotspot, heaps);
	int error;

	if (!count)
		return -ENOENT;
	rows->start = rows->rows->base = heaps[0].low;
	rows->end = heaps[count - 1].limit;
	describe_blocks(code->hotspot, heaps, count, &rows->blocks);
	error = read_rows(&reading, heaps, count);
	return error || has_interpreter(rows->rows) ? error : -ENOENT;
}

/* -------- names */

/* Returns whether its constant pool belongs to its class: memory of a former method may hold
 * anything. */
static bool is_method(struct hotspot *hotspot, uint64_t method)
{
	uint64_t constant = hotspot_member(hotspot, method, HOTSPOT_METHOD_CONST);
	uint64_t constants = hotspot_member(hotspot, constant, HOTSPOT_CONST_CONSTANTS);
	uint64_t holder = hotspot_member(hotspot, constants, HOTSPOT_CONSTANTS_HOLDER);

	return holder && !(holder & 7) &&
	       hotspot_member(hotspot, holder, HOTSPOT_KLASS_CONSTANTS) == constants;
}

static int append(struct intern *strings, const struct frame *frame, struct frames *frames)
{
	struct frame *added;

	if (!frame->function)
		return -ENOMEM;
	added = vec_push(&frames->list);
	if (!added)
		return -ENOMEM;
	*added = *frame;
	added->function = intern_string(strings, frame->function);
	added->file = frame->file ? intern_string(strings, frame->file) : NULL;
	added->module = FRAME_JAVA;
	added->module_offset =
		symbolizer_place_id(frame->function, frame->file ? frame->file : "", frame->line);
	return added->function && (added->file || !frame->file) ? 0 : -ENOMEM;
}

static int append_method(struct hotspot *hotspot, const struct hotspot_frame *method,
			 uint64_t address, struct intern *strings, struct frames *frames)
{
	struct hotspot_code_place place;
	struct frame frame = {.address = address, .inlined = method->inlined};

	if (!is_method(hotspot, method->method))
		return -ENOENT;
	hotspot_name_frame(hotspot, method, &place);
	if (!place.function[0])
		return -ENOENT;
	frame.function = place.function;
	frame.file = place.file[0] ? place.file : NULL;
	frame.line = frame.file ? place.line : 0;
	return append(strings, &frame, frames);
}

static int name_interpreted(struct hotspot *hotspot, uint64_t noted, struct intern *strings,
			    struct frames *frames)
{
	struct hotspot_frame frame = {.method = LM_INTERPRETED_METHOD(noted), .bytecode = -1};
	uint32_t size, at;
	uint64_t start = hotspot_bytecodes(hotspot, frame.method, &size);

	at = (LM_INTERPRETED_AT(noted) - (uint32_t)start) & LM_INTERPRETED_AT_MASK;
	if (at < size && size <= LM_INTERPRETED_AT_MASK + 1)
		frame.bytecode = (int32_t)at;
	return append_method(hotspot, &frame, frame.method, strings, frames);
}

/* Returns whether no call returns there: the stack was noted with other code at that address. */
static bool is_other(const struct hotspot_blob *blob, const struct hotspot_frames *found)
{
	return !found->list.count ||
	       (found->list.items[0].bytecode < 0 && !strstr(blob->name, "native"));
}

static int name_compiled(struct hotspot *hotspot, const struct hotspot_blob *blob, uint64_t address,
			 struct intern *strings, struct frames *frames)
{
	struct hotspot_frames found = {0};
	int error = hotspot_scopes(hotspot, blob, address, &found);

	if (!error && is_other(blob, &found))
		error = -ENOENT;
	for (size_t i = 0; !error && i < found.list.count; i++)
		error = append_method(hotspot, &found.list.items[i], address, strings, frames);
	vec_free(&found.list);
	return error;
}

static int name_stub(struct hotspot *hotspot, const struct hotspot_blob *blob, uint64_t address,
		     struct intern *strings, struct frames *frames)
{
	const char *called =
		address == hotspot_static(hotspot, HOTSPOT_CALL_STUB) ? "call_stub" : blob->name;

	/* The VM assembles code in buffers; none runs there. */
	if (strstr(blob->name, "buffer") || strstr(blob->name, "Buffer"))
		return -ENOENT;
	return append(strings, &(struct frame){.address = address, .function = called}, frames);
}

static int name_address(struct hotspot *hotspot, uint64_t address, struct intern *strings,
			struct frames *frames)
{
	struct hotspot_blob blob;

	if (!hotspot_blob_at(hotspot, address, &blob))
		return -ENOENT;
	return hotspot_blob_is_method(&blob)
		       ? name_compiled(hotspot, &blob, address, strings, frames)
		       : name_stub(hotspot, &blob, address, strings, frames);
}

static int name(void *state, uint64_t address, struct intern *strings, struct frames *frames)
{
	struct hotspot *hotspot = ((struct code *)state)->hotspot;
	size_t before = frames->list.count;
	int error;

	error = LM_FRAME_IS_INTERPRETED(address)
			? name_interpreted(hotspot, address, strings, frames)
			: name_address(hotspot, address, strings, frames);
	if (error)
		frames->list.count = before;
	return error;
}

/* -------- the VM */

static bool describes(const struct hotspot *hotspot)
{
	return hotspot_can_walk(hotspot) && hotspot_has(hotspot, HOTSPOT_BLOCK_HEADER) &&
	       hotspot_has(hotspot, HOTSPOT_HEADER_LENGTH) &&
	       hotspot_has(hotspot, HOTSPOT_HEADER_USED) &&
	       hotspot_has(hotspot, HOTSPOT_SPACE_LIMIT);
}

static int find_vm(struct hotspot *hotspot, const char **why)
{
	const struct data_modules *modules = hotspot->memory->modules;

	*why = "no library with the variable gHotSpotVMStructs is mapped";
	for (size_t i = 0; i < modules->list.count; i++) {
		if (!target_variable(&modules->list.items[i], "gHotSpotVMStructs"))
			continue;
		hotspot->module = &modules->list.items[i];
		if (hotspot_layout_read(hotspot->memory, hotspot->module, &hotspot->layout, why))
			return -ENOENT;
		*why = hotspot_why_new(hotspot);
		if (*why)
			return -ENOENT;
		*why = "its description lacks some of the code and frames: another version";
		return describes(hotspot) ? 0 : -ENOENT;
	}
	return -ENOENT;
}

static void close_code(void *state)
{
	struct code *code = state;

	hotspot_close(code->hotspot);
	hash_free(&code->kinds);
	free(code);
}

static int open_code(struct target_memory *memory, void **state, const char **why)
{
	struct code *code = calloc(1, sizeof(*code));
	int error;

	if (!code)
		return -ENOMEM;
	code->hotspot = hotspot_open(memory);
	error = code->hotspot ? find_vm(code->hotspot, why) : -ENOMEM;
	if (!error) {
		*state = code;
		return 0;
	}
	if (code->hotspot)
		hotspot_close(code->hotspot);
	free(code);
	return error;
}

const struct code_reader hotspot_code_reader = {
	.open = open_code, .rows = rows, .name = name, .close = close_code};
