// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The Java frames of a thread outside Java: from its anchor through interpreted and compiled code,
 * by the VM's description of its code cache for debuggers (src/hotspot/share/code).
 *
 * Not in the VM's description: the places of method, bytecode and sender in an interpreted frame
 * (frame_x86.hpp), of the wrapper in a call stub (-6 words), and the streams of scopes and lines
 * (scopeDesc.cpp, constMethod.hpp). A walk ends at code that is neither interpreted, nor compiled,
 * nor a stub with its own frame.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"

#define HEAPS_MAX 16
#define SEGMENTS_BACK 65536
#define FRAME_WORDS_MAX 65536
#define SCOPES_MAX HOTSPOT_FRAMES_MAX /* nested inlined calls */
#define PCS_MAX 65536
#define LINES_BYTES_MAX 65536
#define CODES_MAX (1u << 18) /* cached */
#define ALL_SCOPES_MAX (1u << 22)

/* Words from the frame pointer of interpreted code. */
#define INTERPRETED_SENDER (-1)
#define INTERPRETED_METHOD (-3)
#define INTERPRETED_BYTECODE (-8)
#define STUB_WRAPPER (-6)

struct walker {
	struct hotspot *hotspot;
	struct hotspot_frames *frames;
	uint64_t sp, fp, pc;
	uint64_t fp_at; /* address of the saved fp, in a chunk */
	bool in_chunk;	/* interpreted frames store fp and sp as offsets in words */
	struct hotspot_range stack;
};

static uint64_t word(const struct walker *walker, uint64_t address)
{
	if (address < walker->stack.start || address + 8 > walker->stack.end || address & 7)
		return 0;
	return target_word(walker->hotspot->memory, address);
}

/* -------- code */

/*
 * Returns the block at pc: each segment has the distance back to the start of its block; 255: free.
 */
static uint64_t block_at(struct hotspot *hotspot, uint64_t heap, uint64_t pc)
{
	uint64_t memory = heap + hotspot_place(hotspot, HOTSPOT_CODE_MEMORY);
	uint64_t low = hotspot_member(hotspot, memory, HOTSPOT_SPACE_LOW);
	uint64_t map = hotspot_member(hotspot, heap + hotspot_place(hotspot, HOTSPOT_CODE_SEGMENTS),
				      HOTSPOT_SPACE_LOW);
	uint32_t shift = hotspot_member32(hotspot, heap, HOTSPOT_CODE_SHIFT) & 31;
	uint64_t segment = pc - low;
	uint8_t back = 1;

	if (!low || pc < low || pc >= hotspot_member(hotspot, memory, HOTSPOT_SPACE_HIGH))
		return 0;
	segment >>= shift;
	for (uint32_t i = 0; i < SEGMENTS_BACK && back; i++) {
		if (target_read(hotspot->memory, map + segment, &back, 1) || back == UINT8_MAX ||
		    back > segment)
			return 0;
		segment -= back;
	}
	return back ? 0
		    : low + (segment << shift) + hotspot_place(hotspot, HOTSPOT_CODE_BLOCK_BYTES);
}

bool hotspot_blob_name(struct hotspot *hotspot, uint64_t address,
		       char name[HOTSPOT_BLOB_NAME_BYTES])
{
	size_t all = HOTSPOT_BLOB_NAME_BYTES - 1;
	size_t size = MIN(all, (size_t)(MEMORY_PAGE - address % MEMORY_PAGE));

	memset(name, 0, HOTSPOT_BLOB_NAME_BYTES);
	if (!address || target_read(hotspot->memory, address, name, size))
		return false;
	return memchr(name, 0, size) || size == all ||
	       !target_read(hotspot->memory, address + size, name + size, all - size);
}

bool hotspot_blob_at(struct hotspot *hotspot, uint64_t pc, struct hotspot_blob *blob)
{
	uint64_t heaps = hotspot_static(hotspot, HOTSPOT_CODE_HEAPS);
	uint32_t count = hotspot_member32(hotspot, heaps, HOTSPOT_ARRAY_LENGTH);
	uint64_t items = hotspot_member(hotspot, heaps, HOTSPOT_ARRAY_DATA);

	blob->address = 0;
	for (uint32_t i = 0; !blob->address && i < MIN(count, (uint32_t)HEAPS_MAX); i++)
		blob->address =
			block_at(hotspot, target_word(hotspot->memory, items + i * 8ull), pc);
	return hotspot_blob_name(hotspot, hotspot_member(hotspot, blob->address, HOTSPOT_BLOB_NAME),
				 blob->name);
}

static uint64_t code_of(struct hotspot *hotspot, uint64_t blob)
{
	if (hotspot_has(hotspot, HOTSPOT_BLOB_CODE))
		return hotspot_member(hotspot, blob, HOTSPOT_BLOB_CODE);
	return blob + hotspot_member32(hotspot, blob, HOTSPOT_BLOB_CODE_OFFSET);
}

/* -------- numbers */

/* Reads a number in UNSIGNED5: up to five bytes, all but the last one at least 192; since 20 none
 * is 0. */
static uint32_t next_number(struct hotspot *hotspot, uint64_t *at)
{
	uint32_t bias = hotspot_has(hotspot, HOTSPOT_KLASS_STREAM), number = 0;

	for (uint32_t i = 0; i < 5; i++) {
		uint8_t byte = 0;

		if (target_read(hotspot->memory, (*at)++, &byte, 1) || byte < bias)
			return 0;
		number += (byte - bias) << (6 * i);
		if (byte - bias < 192 - bias)
			break;
	}
	return number;
}

static int32_t next_signed(struct hotspot *hotspot, uint64_t *at)
{
	uint32_t number = next_number(hotspot, at);

	return (int32_t)(number >> 1) ^ -(int32_t)(number & 1);
}

/* -------- scopes of compiled code */

struct compiled {
	uint64_t pcs, scopes, metadata;
};

static struct compiled describe(struct hotspot *hotspot, uint64_t blob)
{
	uint64_t immutable = hotspot_has(hotspot, HOTSPOT_COMPILED_IMMUTABLE)
				     ? hotspot_member(hotspot, blob, HOTSPOT_COMPILED_IMMUTABLE)
				     : blob;
	struct compiled compiled = {
		.pcs = immutable + hotspot_member32(hotspot, blob, HOTSPOT_COMPILED_PCS),
		.scopes = hotspot_has(hotspot, HOTSPOT_COMPILED_SCOPES)
				  ? hotspot_member(hotspot, blob, HOTSPOT_COMPILED_SCOPES)
				  : immutable + hotspot_member32(hotspot, blob,
								 HOTSPOT_COMPILED_SCOPES_OFFSET),
	};

	if (hotspot_has(hotspot, HOTSPOT_COMPILED_METADATA))
		compiled.metadata =
			blob + hotspot_member32(hotspot, blob, HOTSPOT_COMPILED_METADATA);
	else if (hotspot_has(hotspot, HOTSPOT_BLOB_MUTABLE))
		compiled.metadata = hotspot_member(hotspot, blob, HOTSPOT_BLOB_MUTABLE) +
				    hotspot_member32(hotspot, blob, HOTSPOT_BLOB_RELOCATION);
	return compiled;
}

/* Finds the scope of a return address in the PcDescs: return address and scope, ascending; the last
 * one is no address. */
static uint32_t find_scope(struct hotspot *hotspot, const struct compiled *compiled, uint64_t pc)
{
	for (uint32_t i = 0; i < PCS_MAX; i++) {
		int32_t numbers[2];

		if (target_read(hotspot->memory, compiled->pcs + i * 16ull, numbers,
				sizeof(numbers)) ||
		    numbers[0] == INT32_MAX || (numbers[0] > 0 && (uint64_t)numbers[0] > pc))
			break;
		if (numbers[0] >= 0 && (uint64_t)numbers[0] == pc)
			return (uint32_t)numbers[1];
	}
	return 0;
}

static int add_scope(struct hotspot *hotspot, struct hotspot_code *code, uint64_t method,
		     int32_t bytecode, bool inlined)
{
	struct hotspot_scope *scope;

	if (!method || method & 7)
		return 0;
	scope = vec_push(&hotspot->scopes);
	if (!scope)
		return -ENOMEM;
	*scope = (struct hotspot_scope){method, bytecode, inlined};
	code->scopes++;
	return 0;
}

/* Reads scopes: each has the caller's scope, the method's number from 1 on, the bytecode plus 1. */
static int read_scopes(struct hotspot *hotspot, uint64_t blob, uint64_t pc,
		       struct hotspot_code *code)
{
	const struct compiled compiled = describe(hotspot, blob);
	uint32_t scope = find_scope(hotspot, &compiled, pc - code_of(hotspot, blob)), read = 0;
	int error = 0;

	for (; !error && scope && compiled.metadata && read < SCOPES_MAX; read++) {
		uint64_t at = compiled.scopes + scope;
		uint32_t sender = next_number(hotspot, &at), number = next_number(hotspot, &at);
		int32_t bytecode = (int32_t)next_number(hotspot, &at) - 1;

		error = number ? add_scope(hotspot, code,
					   target_word(hotspot->memory,
						       compiled.metadata + (number - 1) * 8ull),
					   bytecode, sender != 0)
			       : 0;
		if (sender >= scope)
			break;
		scope = sender;
	}
	/* A native method's wrapper has no scope. */
	return error || read ? error
			     : add_scope(hotspot, code,
					 hotspot_member(hotspot, blob, HOTSPOT_COMPILED_METHOD), -1,
					 false);
}

static bool is_named(const struct hotspot_blob *blob, const char *name)
{
	return strstr(blob->name, name) != NULL;
}

bool hotspot_blob_is_method(const struct hotspot_blob *blob)
{
	return is_named(blob, "nmethod");
}

static int read_code(struct hotspot *hotspot, uint64_t pc, struct hotspot_code *code)
{
	struct hotspot_blob blob;

	*code = (struct hotspot_code){.first_scope = (uint32_t)hotspot->scopes.count};
	if (!hotspot_blob_at(hotspot, pc, &blob))
		return 0;
	code->kind = is_named(&blob, "Interpreter") ? HOTSPOT_CODE_INTERPRETED : HOTSPOT_CODE_FIXED;
	code->words = hotspot_member32(hotspot, blob.address, HOTSPOT_BLOB_FRAME);
	return hotspot_blob_is_method(&blob) ? read_scopes(hotspot, blob.address, pc, code) : 0;
}

/* Finds the code at a return address, cached because many frames share it. */
static int find_code(struct hotspot *hotspot, uint64_t pc, struct hotspot_code *code)
{
	uint64_t *place = hash_get(&hotspot->code_index, pc);
	struct hotspot_code *kept;
	int error;

	if (place) {
		*code = hotspot->codes.items[*place];
		return 0;
	}
	if (hotspot->codes.count >= CODES_MAX || hotspot->scopes.count >= ALL_SCOPES_MAX) {
		hash_free(&hotspot->code_index);
		hotspot->code_index = (struct hash){0};
		hotspot->codes.count = hotspot->scopes.count = 0;
	}
	error = read_code(hotspot, pc, code);
	place = error ? NULL : hash_put(&hotspot->code_index, pc, NULL);
	kept = place ? vec_push(&hotspot->codes) : NULL;
	if (!kept)
		return error ? error : -ENOMEM;
	*kept = *code;
	*place = hotspot->codes.count - 1;
	return 0;
}

/* -------- frames */

static int add_frame(struct walker *walker, uint64_t method, int32_t bytecode, bool inlined)
{
	struct hotspot_frame *frame;

	if (!method || method & 7)
		return 0;
	frame = vec_push(&walker->frames->list);
	if (!frame)
		return -ENOMEM;
	*frame = (struct hotspot_frame){method, walker->sp, bytecode, inlined};
	return 0;
}

static int add_scopes(struct walker *walker, const struct hotspot_code *code)
{
	int error = 0;

	for (uint32_t i = 0; !error && i < code->scopes; i++) {
		const struct hotspot_scope *scope =
			&walker->hotspot->scopes.items[code->first_scope + i];

		error = add_frame(walker, scope->method, scope->bytecode, scope->inlined);
	}
	return error;
}

/* Nothing is cached: other code may be at the address next time. */
int hotspot_scopes(struct hotspot *hotspot, const struct hotspot_blob *blob, uint64_t pc,
		   struct hotspot_frames *frames)
{
	struct walker walker = {.hotspot = hotspot, .frames = frames, .pc = pc};
	struct hotspot_code code = {.first_scope = (uint32_t)hotspot->scopes.count};
	int error = read_scopes(hotspot, blob->address, pc, &code);

	frames->list.count = 0;
	if (!error)
		error = add_scopes(&walker, &code);
	hotspot->scopes.count = code.first_scope;
	return error;
}

static void load_fp(struct walker *walker, uint64_t at)
{
	walker->fp_at = at;
	walker->fp = word(walker, at);
}

static bool step_fixed(struct walker *walker, uint64_t words)
{
	if (!words || words > FRAME_WORDS_MAX)
		return false;
	walker->sp += words * 8;
	walker->pc = word(walker, walker->sp - 8);
	load_fp(walker, walker->sp - 16);
	return walker->pc != 0;
}

uint64_t hotspot_bytecodes(struct hotspot *hotspot, uint64_t method, uint32_t *size)
{
	uint64_t constant = hotspot_member(hotspot, method, HOTSPOT_METHOD_CONST);

	*size = hotspot_member32(hotspot, constant, HOTSPOT_CONST_CODE_SIZE) & 0xffff;
	return constant ? constant + hotspot_place(hotspot, HOTSPOT_CONST_BYTES) : 0;
}

static int step_interpreted(struct walker *walker, bool *more)
{
	struct hotspot *hotspot = walker->hotspot;
	uint64_t fp = walker->in_chunk ? walker->fp_at + walker->fp * 8 : walker->fp;
	uint64_t method = word(walker, fp + INTERPRETED_METHOD * 8ull);
	uint64_t at = word(walker, fp + INTERPRETED_BYTECODE * 8ull);
	uint32_t size;
	uint64_t start = hotspot_bytecodes(hotspot, method, &size), sp;
	int error = add_frame(
		walker, method,
		start && at >= start && at - start < size ? (int32_t)(at - start) : -1, false);

	sp = word(walker, fp + INTERPRETED_SENDER * 8ull);
	if (walker->in_chunk)
		sp = fp + sp * 8;
	walker->pc = word(walker, fp + 8);
	load_fp(walker, fp);
	*more = start && sp > walker->sp && walker->pc;
	walker->sp = sp;
	return error;
}

/* Steps over native code that was called by Java, and called Java. */
static bool step_anchor(struct walker *walker, uint64_t anchor)
{
	struct hotspot *hotspot = walker->hotspot;
	uint64_t sp = hotspot_member(hotspot, anchor, HOTSPOT_ANCHOR_SP);

	if (sp <= walker->sp || sp < walker->stack.start || sp >= walker->stack.end)
		return false;
	walker->sp = sp;
	walker->fp = hotspot_member(hotspot, anchor, HOTSPOT_ANCHOR_FP);
	walker->pc = hotspot_member(hotspot, anchor, HOTSPOT_ANCHOR_PC);
	if (!walker->pc)
		walker->pc = word(walker, sp - 8);
	return walker->pc != 0;
}

static bool step_stub(struct walker *walker)
{
	struct hotspot *hotspot = walker->hotspot;
	uint64_t wrapper = word(walker, walker->fp + STUB_WRAPPER * 8ull);

	return wrapper &&
	       step_anchor(walker, wrapper + hotspot_place(hotspot, HOTSPOT_WRAPPER_ANCHOR));
}

static int step(struct walker *walker, bool *more)
{
	struct hotspot *hotspot = walker->hotspot;
	uint64_t sp = walker->sp;
	struct hotspot_code code;
	int error;

	*more = false;
	if (walker->pc == hotspot_static(hotspot, HOTSPOT_CALL_STUB)) {
		*more = step_stub(walker);
		return 0;
	}
	error = find_code(hotspot, walker->pc, &code);
	if (error || code.kind == HOTSPOT_CODE_UNKNOWN)
		return error;
	if (code.kind == HOTSPOT_CODE_INTERPRETED)
		return step_interpreted(walker, more);
	error = add_scopes(walker, &code);
	*more = step_fixed(walker, code.words) && walker->sp > sp;
	return error;
}

bool hotspot_can_walk(const struct hotspot *hotspot)
{
	static const enum hotspot_place needed[] = {
		HOTSPOT_THREAD_ANCHOR,	  HOTSPOT_ANCHOR_SP,	   HOTSPOT_ANCHOR_FP,
		HOTSPOT_ANCHOR_PC,	  HOTSPOT_WRAPPER_ANCHOR,  HOTSPOT_CALL_STUB,
		HOTSPOT_CODE_HEAPS,	  HOTSPOT_ARRAY_LENGTH,	   HOTSPOT_ARRAY_DATA,
		HOTSPOT_CODE_MEMORY,	  HOTSPOT_CODE_SEGMENTS,   HOTSPOT_CODE_SHIFT,
		HOTSPOT_SPACE_LOW,	  HOTSPOT_SPACE_HIGH,	   HOTSPOT_CODE_BLOCK_BYTES,
		HOTSPOT_BLOB_NAME,	  HOTSPOT_BLOB_FRAME,	   HOTSPOT_COMPILED_METHOD,
		HOTSPOT_COMPILED_PCS,	  HOTSPOT_METHOD_CONST,	   HOTSPOT_CONST_CONSTANTS,
		HOTSPOT_CONST_NAME,	  HOTSPOT_CONST_CODE_SIZE, HOTSPOT_CONST_BYTES,
		HOTSPOT_CONSTANTS_HOLDER,
	};

	for (size_t i = 0; i < ARRAY_SIZE(needed); i++) {
		if (!hotspot_has(hotspot, needed[i]))
			return false;
	}
	return true;
}

static int walk(struct walker *walker, bool more)
{
	int error = 0;

	while (!error && more && walker->frames->list.count < HOTSPOT_FRAMES_MAX)
		error = step(walker, &more);
	walker->frames->end = walker->sp;
	walker->frames->cut |= more;
	return error;
}

int hotspot_walk_frames(struct hotspot *hotspot, uint64_t thread, struct hotspot_frames *frames)
{
	struct walker walker = {
		.hotspot = hotspot, .frames = frames, .stack = hotspot_stack(hotspot, thread)};

	frames->list.count = 0;
	frames->end = 0;
	frames->cut = false;
	return hotspot_can_walk(hotspot)
		       ? walk(&walker,
			      step_anchor(&walker,
					  thread + hotspot_place(hotspot, HOTSPOT_THREAD_ANCHOR)))
		       : 0;
}

int hotspot_walk_running(struct hotspot *hotspot, uint64_t thread,
			 const struct hotspot_position *position, struct hotspot_frames *frames)
{
	struct walker walker = {.hotspot = hotspot,
				.frames = frames,
				.sp = position->sp,
				.fp = position->fp,
				.pc = position->pc,
				.stack = hotspot_stack(hotspot, thread)};

	frames->list.count = 0;
	frames->end = 0;
	frames->cut = false;
	return hotspot_can_walk(hotspot) ? walk(&walker, true) : 0;
}

int hotspot_walk_chunk(struct hotspot *hotspot, const struct hotspot_chunk *chunk,
		       struct hotspot_frames *frames)
{
	struct walker walker = {.hotspot = hotspot,
				.frames = frames,
				.sp = chunk->sp,
				.in_chunk = true,
				.stack = chunk->stack};

	walker.pc = word(&walker, chunk->sp - 8);
	load_fp(&walker, chunk->sp - 16);
	return hotspot_can_walk(hotspot) ? walk(&walker, walker.pc != 0) : 0;
}

/* -------- names */

/* Returns a line from pairs of steps, of bytecodes and of lines, in one byte or behind 255; 0 ends
 * them. */
static uint32_t line_of(struct hotspot *hotspot, uint64_t method, int32_t bytecode)
{
	uint64_t constant = hotspot_member(hotspot, method, HOTSPOT_METHOD_CONST);
	uint32_t size;
	uint64_t at = hotspot_bytecodes(hotspot, method, &size) + size;
	uint64_t end = at + LINES_BYTES_MAX;
	int32_t where = 0, line = 0, found = 0;

	if (bytecode < 0 || !hotspot_has(hotspot, HOTSPOT_CONST_FLAGS) ||
	    !(hotspot_member32(hotspot, constant, HOTSPOT_CONST_FLAGS) & 1))
		return 0;
	while (at < end && where <= bytecode) {
		uint8_t byte = 0;

		if (target_read(hotspot->memory, at++, &byte, 1) || !byte)
			break;
		where += byte == UINT8_MAX ? next_signed(hotspot, &at) : byte >> 3;
		line += byte == UINT8_MAX ? next_signed(hotspot, &at) : byte & 7;
		if (where <= bytecode)
			found = line;
	}
	return found > 0 ? (uint32_t)found : 0;
}

static uint64_t constant_at(struct hotspot *hotspot, uint64_t constants, uint32_t index)
{
	return target_word(hotspot->memory,
			   constants + hotspot_place(hotspot, HOTSPOT_CONSTANTS_BYTES) +
				   index * 8ull);
}

void hotspot_name_frame(struct hotspot *hotspot, const struct hotspot_frame *frame,
			struct hotspot_code_place *place)
{
	uint64_t constant = hotspot_member(hotspot, frame->method, HOTSPOT_METHOD_CONST);
	uint64_t constants = hotspot_member(hotspot, constant, HOTSPOT_CONST_CONSTANTS);
	uint64_t holder = hotspot_member(hotspot, constants, HOTSPOT_CONSTANTS_HOLDER);
	uint32_t name = hotspot_member32(hotspot, constant, HOTSPOT_CONST_NAME) & 0xffff, file = 0;
	char text[HOTSPOT_NAME_BYTES / 2];

	place->file[0] = place->function[0] = '\0';
	place->line = line_of(hotspot, frame->method, frame->bytecode);
	if (!holder)
		return;
	hotspot_symbol(hotspot, constant_at(hotspot, constants, name), text, sizeof(text));
	hotspot_class_name(hotspot, holder, place->function);
	if (!text[0] || !place->function[0]) {
		place->function[0] = '\0';
		return;
	}
	snprintf(place->function + strlen(place->function),
		 sizeof(place->function) - strlen(place->function), ".%s", text);
	if (hotspot_has(hotspot, HOTSPOT_CONSTANTS_SOURCE))
		file = hotspot_member32(hotspot, constants, HOTSPOT_CONSTANTS_SOURCE) & 0xffff;
	else if (hotspot_has(hotspot, HOTSPOT_KLASS_SOURCE))
		file = hotspot_member32(hotspot, holder, HOTSPOT_KLASS_SOURCE) & 0xffff;
	if (file)
		hotspot_symbol(hotspot, constant_at(hotspot, constants, file), place->file,
			       sizeof(place->file));
}
