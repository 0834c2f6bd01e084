// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The blocks of OCaml programs in native code. A program is recognised by the symbols of its
 * runtime, which the linker leaves in .dynsym, even of a stripped program. Checks for OCaml 4 (for
 * 5: ocaml5.c): the chunks of the major heap add up to the size in Caml_state; the blocks of a
 * chunk end where it does; so do those of the minor heap.
 */
#include "heap/runtime/ocaml/ocaml.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/arch/machine.h"
#include "heap/runtime/runtime.h"

#define WINDOW_BYTES (1u << 20)
#define EXACT_SIZE_MAX 32 /* larger blocks are classed by powers of two */
#define PHASE_SWEEP 2	  /* major_gc.h: Phase_sweep */
#define NAME_MAX_SCAN 64

static bool detect_module(const struct data_module *module)
{
	return (target_variable(module, "Caml_state") &&
		target_variable(module, "caml_heap_start")) ||
	       target_variable(module, "caml_global_heap_state");
}

/* Symbols. */

uint64_t ocaml_symbol(const struct ocaml *ocaml, const char *name)
{
	const struct symbol_table *table = ocaml->symbols;

	for (size_t i = 0; i < table->count; i++) {
		if (!strcmp(table->names + table->symbols[i].name, name))
			return ocaml->module->bias + table->symbols[i].address;
	}
	return 0;
}

static int hex_digit(char digit)
{
	return isdigit((unsigned char)digit) ? digit - '0' : (digit | 0x20) - 'a' + 10;
}

/* asmcomp/emitaux.ml, emit_symbol: "camlStdlib__$5e_123" is Stdlib.^_123. */
static void demangle_symbol(const char *symbol, char name[OCAML_NAME_BYTES])
{
	const char *from = strncmp(symbol, "caml", 4) != 0 || !isupper((unsigned char)symbol[4])
				   ? symbol
				   : symbol + 4;
	size_t used = 0;

	while (*from && used + 1 < OCAML_NAME_BYTES) {
		if (from != symbol && from[0] == '_' && from[1] == '_' && from[2]) {
			name[used++] = '.';
			from += 2;
		} else if (from[0] == '$' && isxdigit((unsigned char)from[1]) &&
			   isxdigit((unsigned char)from[2])) {
			name[used++] = (char)(hex_digit(from[1]) << 4 | hex_digit(from[2]));
			from += 3;
		} else {
			name[used++] = *from++;
		}
	}
	name[used] = '\0';
}

bool ocaml_name_at(const struct ocaml *ocaml, uint64_t address, char name[OCAML_NAME_BYTES],
		   uint64_t *distance)
{
	const struct symbol *symbol =
		symbol_table_find(ocaml->symbols, address - ocaml->module->bias);

	if (!symbol)
		return false;
	*distance = address - ocaml->module->bias - symbol->address;
	demangle_symbol(ocaml->symbols->names + symbol->name, name);
	return true;
}

/*
 * The arity is in the upper byte since 4.12, before in the whole word (mlvalues.h: Closinfo_val).
 * With more than one argument, the code proper is the third word; the first is the code that takes
 * them one by one.
 */
uint64_t ocaml_closure_code(const uint64_t *fields, size_t count)
{
	int64_t arity;

	if (count < 2)
		return count ? fields[0] : 0;
	arity = (int64_t)fields[1] >> 56;
	if (!arity)
		arity = (int64_t)fields[1] >> 1;
	return arity != 1 && arity != 0 && count > 2 ? fields[2] : fields[0];
}

void ocaml_code_name(const struct ocaml *ocaml, uint64_t code, char name[OCAML_NAME_BYTES])
{
	uint64_t distance;

	if (!ocaml_name_at(ocaml, code, name, &distance) || distance)
		snprintf(name, OCAML_NAME_BYTES, "0x%llx", (unsigned long long)code);
}

bool ocaml_header(const struct ocaml *ocaml, uint64_t value, uint64_t *header)
{
	return value % 8 == 0 && value > MEMORY_PAGE && !(value >> MACHINE_USER_BITS) &&
	       !target_read(ocaml->memory, value - HEADER_BYTES, header, sizeof(*header));
}

/* The last byte counts the padding bytes in the last word. */
bool ocaml_text(const struct ocaml *ocaml, uint64_t value, char *text, size_t size)
{
	uint64_t header, bytes;

	if (!ocaml_header(ocaml, value, &header) || HEADER_TAG(header) != TAG_STRING ||
	    !HEADER_SIZE(header) || HEADER_SIZE(header) > size / 8)
		return false;
	bytes = HEADER_SIZE(header) * 8;
	if (target_read(ocaml->memory, value, text, bytes) || (unsigned char)text[bytes - 1] >= 8)
		return false;
	text[bytes - 1 - (unsigned char)text[bytes - 1]] = '\0';
	return strlen(text) > 0;
}

/* Classes. */

enum class_key { KEY_CLOSURE = 1, KEY_PARTIAL, KEY_CUSTOM, KEY_SHAPE };

/* Class of a closure that awaits more arguments; the class of the function itself determines it. */
#define CLASS_PARTIAL UINT64_MAX

static uint64_t class_key(enum class_key kind, uint64_t value)
{
	return (uint64_t)kind << 60 | (value & ((1ull << 60) - 1));
}

int ocaml_class(struct ocaml *ocaml, struct heap_sink *sink, uint64_t key, const char *name,
		bool fields, uint32_t *class)
{
	struct managed_class made = {.name = name, .runtime = OCAML_KEY, .fields = fields};
	uint64_t *place = hash_put(&ocaml->classes, key, NULL);
	int error;

	if (!place)
		return -ENOMEM;
	if (!*place) {
		error = heap_sink_class(sink, &made, class);
		if (error)
			return error;
		*place = *class + 1;
	}
	*class = (uint32_t)*place - 1;
	return 0;
}

/* Writes a custom block's name (custom.h, struct custom_operations): the first word of the block
 * points to the operations, whose first word points to the identifier. */
static void custom_name(const struct ocaml *ocaml, uint64_t operations, char name[OCAML_NAME_BYTES])
{
	uint64_t text = target_word(ocaml->memory, operations);
	char identifier[NAME_MAX_SCAN] = "";
	size_t length = 0;

	while (text && length + 1 < sizeof(identifier) &&
	       !target_read(ocaml->memory, text + length, identifier + length, 1) &&
	       isprint((unsigned char)identifier[length]))
		length++;
	identifier[length] = '\0';
	snprintf(name, OCAML_NAME_BYTES, "custom %s", length ? identifier : "without identifier");
}

static void shape_name(unsigned tag, uint64_t size, char name[OCAML_NAME_BYTES])
{
	static const char *const names[] = {
		[TAG_LAZY - TAG_LAZY] = "lazy",
		[TAG_OBJECT - TAG_LAZY] = "object",
		[TAG_FORWARD - TAG_LAZY] = "lazy, forced",
		[TAG_ABSTRACT - TAG_LAZY] = "abstract",
		[TAG_STRING - TAG_LAZY] = "string",
		[TAG_DOUBLE - TAG_LAZY] = "float",
		[TAG_DOUBLE_ARRAY - TAG_LAZY] = "float array",
	};
	size_t at = tag - TAG_LAZY;

	if (tag >= TAG_LAZY && at < ARRAY_SIZE(names) && names[at])
		snprintf(name, OCAML_NAME_BYTES, "%s", names[at]);
	else if (size <= EXACT_SIZE_MAX)
		snprintf(name, OCAML_NAME_BYTES, "block of tag %u, %llu field%s", tag,
			 (unsigned long long)size, size == 1 ? "" : "s");
	else
		snprintf(name, OCAML_NAME_BYTES, "block of tag %u, %llu fields or more", tag,
			 (unsigned long long)size);
}

/* Returns the size that distinguishes blocks of a tag, rounded down for many fields. */
static uint64_t shape_size(unsigned tag, uint64_t size)
{
	if (tag >= TAG_LAZY && tag != TAG_INFIX)
		return 0;
	return size <= EXACT_SIZE_MAX ? size : 1ull << (63 - __builtin_clzll(size));
}

/* Returns the function of a partial application, its last field (cmm_helpers.ml,
 * intermediate_curry_functions). */
static uint64_t partial_code(const struct ocaml *ocaml, const struct ocaml_block *block)
{
	uint64_t last = block->address + HEADER_SIZE(block->header) * 8, fields[OCAML_HEAD_FIELDS];
	uint64_t function = target_word(ocaml->memory, last), header;

	if (!ocaml_header(ocaml, function, &header) || HEADER_TAG(header) != TAG_CLOSURE ||
	    HEADER_SIZE(header) < 2 || target_read(ocaml->memory, function, fields, 16))
		return 0;
	if (HEADER_SIZE(header) < OCAML_HEAD_FIELDS)
		return ocaml_closure_code(fields, 2);
	fields[2] = target_word(ocaml->memory, function + 16);
	return ocaml_closure_code(fields, OCAML_HEAD_FIELDS);
}

/* Writes the name of a function, with a line if it was compiled with -g. */
static void code_name(const struct ocaml *ocaml, const char *what, uint64_t code,
		      char name[OCAML_NAME_BYTES])
{
	const struct symbol *symbol = symbol_table_find(ocaml->symbols, code - ocaml->module->bias);
	char function[OCAML_NAME_BYTES], line[OCAML_NAME_BYTES / 2] = " ";

	ocaml_code_name(ocaml, code, function);
	if (!symbol || !symbol->size ||
	    !ocaml_line(ocaml, code, code + symbol->size, line + 1, sizeof(line) - 1))
		line[0] = '\0';
	snprintf(name, OCAML_NAME_BYTES, "%s %.*s%s", what,
		 (int)(OCAML_NAME_BYTES - strlen(what) - strlen(line) - 2), function, line);
}

static int partial_class(struct ocaml *ocaml, struct heap_sink *sink,
			 const struct ocaml_block *block, uint32_t *class)
{
	uint64_t code = partial_code(ocaml, block), key = class_key(KEY_PARTIAL, code);
	uint64_t *known = hash_get(&ocaml->classes, key);
	char name[OCAML_NAME_BYTES];

	if (known) {
		*class = (uint32_t)*known - 1;
		return 0;
	}
	code_name(ocaml, "partial application of", code, name);
	return ocaml_class(ocaml, sink, key, name, true, class);
}

static int closure_class(struct ocaml *ocaml, struct heap_sink *sink,
			 const struct ocaml_block *block, uint32_t *class)
{
	uint64_t code = ocaml_closure_code(block->fields, block->count);
	uint64_t key = class_key(KEY_CLOSURE, code), *known = hash_get(&ocaml->classes, key);
	char name[OCAML_NAME_BYTES];

	if (known && *known != CLASS_PARTIAL) {
		*class = (uint32_t)*known - 1;
		return 0;
	}
	if (!known) {
		code_name(ocaml, "closure", code, name);
		if (strncmp(name, "closure caml_curry", 18) != 0)
			return ocaml_class(ocaml, sink, key, name, true, class);
		known = hash_put(&ocaml->classes, key, NULL);
		if (!known)
			return -ENOMEM;
		*known = CLASS_PARTIAL;
	}
	return partial_class(ocaml, sink, block, class);
}

static int class_of(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block,
		    uint32_t *class)
{
	unsigned tag = HEADER_TAG(block->header);
	uint64_t size = shape_size(tag, HEADER_SIZE(block->header)), key, *known;
	char name[OCAML_NAME_BYTES];

	if (tag == TAG_CLOSURE)
		return closure_class(ocaml, sink, block, class);
	key = tag == TAG_CUSTOM ? class_key(KEY_CUSTOM, block->fields[0])
				: class_key(KEY_SHAPE, (uint64_t)tag << 50 | size);
	known = tag ? NULL : hash_get(&ocaml->exceptions, block->fields[0]);
	if (!known)
		known = hash_get(&ocaml->classes, key);
	if (known) {
		*class = (uint32_t)*known - 1;
		return 0;
	}
	if (tag == TAG_CUSTOM)
		custom_name(ocaml, block->fields[0], name);
	else
		shape_name(tag, size, name);
	if (ocaml->domains.count && tag == TAG_CONTINUATION)
		snprintf(name, sizeof(name), "continuation");
	return ocaml_class(ocaml, sink, key, name, tag != TAG_STRING, class);
}

/* A window for sequential reading. */

struct window {
	unsigned char *bytes;
	uint64_t start, end;
};

struct walk {
	struct ocaml *ocaml;
	struct heap_sink *sink;
	struct window window;
	uint64_t free_bytes;
};

/* Returns the bytes [address, address + size) of a chunk, less than a page; NULL: unreadable. */
static const unsigned char *window_at(struct walk *walk, const struct ocaml_chunk *chunk,
				      uint64_t address, size_t size)
{
	struct window *window = &walk->window;
	uint64_t end = align_up(chunk->end, MEMORY_PAGE);

	if (address < window->start || address + size > window->end) {
		window->start = address & ~(MEMORY_PAGE - 1);
		window->end = MIN(window->start + WINDOW_BYTES, end);
		if (window->end < address + size)
			return NULL;
		target_read_pages(walk->ocaml->memory, window->start, window->bytes,
				  window->end - window->start);
	}
	return window->bytes + (address - window->start);
}

/* Reads the block whose header is at an address; returns false if none fits into the chunk. */
static bool read_block(struct walk *walk, const struct ocaml_chunk *chunk, uint64_t address,
		       struct ocaml_block *block)
{
	const unsigned char *bytes = window_at(walk, chunk, address, HEADER_BYTES);
	uint64_t size;

	if (!bytes)
		return false;
	*block = (struct ocaml_block){.address = address};
	memcpy(&block->header, bytes, HEADER_BYTES);
	size = HEADER_SIZE(block->header);
	if (size > (chunk->end - address) / 8 - 1)
		return false;
	block->count = MIN(size, OCAML_HEAD_FIELDS);
	bytes = window_at(walk, chunk, address, HEADER_BYTES + block->count * 8);
	if (!bytes)
		return false;
	memcpy(block->fields, bytes + HEADER_BYTES, block->count * 8);
	return true;
}

/*
 * memory.c and major_gc.c: blue blocks are free, and so are white ones about to be swept. While a
 * slice is swept, blocks behind its start may have been swept, and be white since: they look like
 * garbage, and count as live. The first black one was not swept, nor was any behind it.
 */
static bool is_free(struct ocaml *ocaml, const struct ocaml_block *block)
{
	enum ocaml_colour colour = HEADER_COLOUR(block->header);

	/* The minor heap is never swept: colours are meaningless there. */
	if (block->address >= ocaml->young.start && block->address < ocaml->young.end)
		return false;
	if (ocaml->phase == PHASE_SWEEP && block->address >= ocaml->sweep_at)
		ocaml->unswept |= colour == COLOUR_BLACK;
	return colour == COLOUR_BLUE || (colour == COLOUR_WHITE && ocaml->unswept);
}

/*
 * Returns whether a block holds nothing; custom and abstract ones may own memory outside the heap.
 */
static bool holds_nothing(const struct ocaml_block *block)
{
	return HEADER_TAG(block->header) >= TAG_STRING && HEADER_TAG(block->header) != TAG_CUSTOM;
}

int ocaml_add_block(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block)
{
	uint32_t class;
	int error = class_of(ocaml, sink, block, &class);

	if (error)
		return error;
	return heap_sink_add(sink, block->address, HEADER_BYTES + HEADER_SIZE(block->header) * 8,
			     class | (holds_nothing(block) ? NODE_PRECISE : 0));
}

/* custom.h: the finaliser follows the identifier. */
int ocaml_add_garbage(struct ocaml *ocaml, struct heap_sink *sink, const struct ocaml_block *block,
		      bool *added)
{
	uint64_t *place;

	*added = HEADER_TAG(block->header) == TAG_CUSTOM && block->count &&
		 target_word(ocaml->memory, block->fields[0] + 8);
	if (!*added)
		return 0;
	place = vec_push(&ocaml->doomed);
	if (!place)
		return -ENOMEM;
	*place = block->address + HEADER_BYTES;
	return ocaml_add_block(ocaml, sink, block);
}

static int add_block(struct walk *walk, const struct ocaml_block *block)
{
	bool added = false;
	int error = 0;

	if (HEADER_SIZE(block->header) && !is_free(walk->ocaml, block))
		return ocaml_add_block(walk->ocaml, walk->sink, block);
	if (HEADER_COLOUR(block->header) == COLOUR_WHITE && HEADER_SIZE(block->header))
		error = ocaml_add_garbage(walk->ocaml, walk->sink, block, &added);
	if (!added)
		walk->free_bytes += HEADER_BYTES + HEADER_SIZE(block->header) * 8;
	return error;
}

static int walk_chunk(struct walk *walk, const struct ocaml_chunk *chunk)
{
	uint64_t address = chunk->start;
	struct ocaml_block block;
	int error = 0;

	walk->window.start = walk->window.end = 0;
	while (!error && address + HEADER_BYTES <= chunk->end) {
		if (!read_block(walk, chunk, address, &block)) {
			/* The block may be being split or merged. */
			if (walk->ocaml->memory->again)
				return -EAGAIN;
			walk->ocaml->nonsense++;
			walk->free_bytes += chunk->end - address;
			break;
		}
		error = add_block(walk, &block);
		address += HEADER_BYTES + HEADER_SIZE(block.header) * 8;
	}
	return error;
}

/* Finding the heap. */

/* Offsets, before a chunk, of its size and of the next chunk: memory.h of 4.11, 4.13, 4.14. */
struct chunk_layout {
	uint64_t size, next;
};

static bool is_chunk(const struct ocaml *ocaml, uint64_t start, uint64_t size)
{
	const struct mapping *mapping = maps_find(ocaml->memory->maps, start);

	return start % MEMORY_PAGE == 0 && size && size % MEMORY_PAGE == 0 && mapping &&
	       mapping->writable && mapping->end - start >= size;
}

/* Reads the chunks by a layout. 0; -ENOENT: another layout; -ENOMEM. */
static int read_chunks(struct ocaml *ocaml, const struct chunk_layout *layout, uint64_t first)
{
	uint64_t at = first, sum = 0, end = 0;

	ocaml->chunks.count = 0;
	while (at) {
		uint64_t size = target_word(ocaml->memory, at - layout->size);
		struct ocaml_chunk *chunk;

		if (at < end || !is_chunk(ocaml, at, size))
			return -ENOENT;
		chunk = vec_push(&ocaml->chunks);
		if (!chunk)
			return -ENOMEM;
		*chunk = (struct ocaml_chunk){at, at + size};
		end = at + size;
		sum += size / 8;
		at = target_word(ocaml->memory, at - layout->next);
	}
	for (size_t i = STATE_LAST_EXCEPTION; sum && i < STATE_BYTES / 8; i++) {
		if (ocaml_state_word(ocaml, i) == sum)
			return 0;
	}
	return -ENOENT;
}

static int find_chunks(struct ocaml *ocaml)
{
	static const struct chunk_layout layouts[] = {{32, 24}, {40, 32}, {16, 8}};
	uint64_t first = target_word(ocaml->memory, ocaml_symbol(ocaml, "caml_heap_start"));
	int error = -ENOENT;

	for (size_t i = 0; error == -ENOENT && i < ARRAY_SIZE(layouts); i++)
		error = read_chunks(ocaml, &layouts[i], first);
	return error;
}

/* Returns young_ptr. It and young_limit are first, in an order that changed with 4.13; the limit is
 * where the next collection is due. */
static uint64_t young_pointer(const struct ocaml *ocaml)
{
	uint64_t first = ocaml_state_word(ocaml, 0), second = ocaml_state_word(ocaml, 1);
	uint64_t start = ocaml_state_word(ocaml, STATE_YOUNG_START);
	uint64_t end = ocaml_state_word(ocaml, STATE_YOUNG_END);
	uint64_t trigger = ocaml_state_word(ocaml, STATE_YOUNG_END + 2);
	uint64_t pointer = first == trigger || first == end || first < start ? second : first;

	return pointer >= start && pointer <= end && pointer % 8 == 0 ? pointer : 0;
}

/* Returns whether the young blocks from an address on end where the minor heap does. */
static bool ends_well(struct walk *walk, const struct ocaml_chunk *young)
{
	uint64_t at = young->start;
	struct ocaml_block block;

	walk->window.start = walk->window.end = 0;
	while (at < young->end) {
		if (!read_block(walk, young, at, &block) || !HEADER_SIZE(block.header))
			return false;
		at += HEADER_BYTES + HEADER_SIZE(block.header) * 8;
	}
	return at == young->end;
}

/* Walks the minor heap, unless it is being collected. */
static int walk_young(struct walk *walk, const char **why)
{
	struct ocaml *ocaml = walk->ocaml;
	uint64_t start = ocaml_state_word(ocaml, STATE_YOUNG_START);
	struct ocaml_chunk young = {young_pointer(ocaml), ocaml_state_word(ocaml, STATE_YOUNG_END)};
	const struct mapping *mapping = maps_find(ocaml->memory->maps, start);

	if (!mapping || !mapping->writable || start >= young.end || young.end > mapping->end) {
		*why = "its minor heap is not found: young blocks are missing";
		return 0;
	}
	ocaml->young = (struct ocaml_chunk){start, young.end};
	walk->free_bytes += young.start > start ? young.start - start : 0;
	if (!young.start || ocaml_state_word(ocaml, STATE_IN_MINOR_COLLECTION) ||
	    !ends_well(walk, &young)) {
		*why = "its minor heap was just collected or filled: young blocks are missing";
		return 0;
	}
	return walk_chunk(walk, &young);
}

static int walk_all(struct walk *walk, struct walk_report *report)
{
	struct ocaml *ocaml = walk->ocaml;
	int error = ocaml_find_exceptions(ocaml, walk->sink);

	for (size_t i = 0; !error && i < ocaml->chunks.count; i++) {
		error = walk_chunk(walk, &ocaml->chunks.items[i]);
		report->heap_bytes += ocaml->chunks.items[i].end - ocaml->chunks.items[i].start;
	}
	if (!error)
		error = walk_young(walk, &report->why);
	report->heap_bytes += ocaml->young.end - ocaml->young.start;
	report->free_bytes = walk->free_bytes;
	report->nonsense = ocaml->nonsense;
	return error;
}

static int find_program(struct ocaml *ocaml)
{
	const struct data_modules *modules = ocaml->memory->modules;

	for (size_t i = 0; !ocaml->module && i < modules->list.count; i++) {
		if (detect_module(&modules->list.items[i]))
			ocaml->module = &modules->list.items[i];
	}
	if (!ocaml->module)
		return -ENOENT;
	ocaml->symbols = data_module_symbols(modules, ocaml->module, &ocaml->own);
	return 0;
}

/* Finds the heap. 0, or an error with report->why, unless it is -ENOMEM. */
static int find(struct ocaml *ocaml, struct walk_report *report)
{
	uint64_t phase, sweep_at;

	report->why = "its state is not found";
	if (find_program(ocaml))
		return -ENOENT;
	if (ocaml_symbol(ocaml, "caml_global_heap_state")) {
		snprintf(report->version, sizeof(report->version), "5");
		return ocaml5_find(ocaml, &report->why);
	}
	ocaml->state = target_word(ocaml->memory, ocaml_symbol(ocaml, "Caml_state"));
	if (!ocaml->state)
		return -ENOENT;
	phase = ocaml_symbol(ocaml, "caml_gc_phase");
	sweep_at = ocaml_symbol(ocaml, "caml_gc_sweep_hp");
	if (!phase || !sweep_at ||
	    target_read(ocaml->memory, phase, &ocaml->phase, sizeof(ocaml->phase)))
		return -ENOENT;
	ocaml->sweep_at = target_word(ocaml->memory, sweep_at);
	/* Blocks before them belong to bytecode. */
	ocaml->gray = !ocaml_state_word(ocaml, STATE_MARK_STACK);
	report->why = "the chunks of its heap are not as OCaml 4 has them";
	snprintf(report->version, sizeof(report->version), "4");
	return find_chunks(ocaml);
}

static void end(void *state)
{
	struct ocaml *ocaml = state;

	vec_free(&ocaml->chunks);
	vec_free(&ocaml->domains);
	vec_free(&ocaml->frames);
	vec_free(&ocaml->doomed);
	hash_free(&ocaml->pools);
	hash_free(&ocaml->classes);
	hash_free(&ocaml->exceptions);
	image_free(&ocaml->own);
	free(ocaml);
}

static int walk_heap(struct target_memory *memory, struct heap_sink *sink,
		     struct walk_report *report, void **state)
{
	struct ocaml *ocaml = calloc(1, sizeof(*ocaml));
	struct walk walk = {
		.ocaml = ocaml, .sink = sink, .window = {.bytes = malloc(WINDOW_BYTES)}};
	int error = ocaml && walk.window.bytes ? 0 : -ENOMEM;

	*state = ocaml;
	if (ocaml) {
		ocaml->memory = memory;
		ocaml->own.file.fd = -1;
		ocaml->report = (size_t)(report - sink->reports.items);
	}
	if (!error)
		error = find(ocaml, report);
	if (!error) {
		report->why = NULL;
		error = ocaml_read_frames(ocaml);
	}
	if (!error) {
		error = ocaml->domains.count ? ocaml5_walk(ocaml, sink, report)
					     : walk_all(&walk, report);
	}
	free(walk.window.bytes);
	report->all_roots = !error && !report->why && memory->image;
	return error;
}

/* Returns whether a collection moves live blocks of the minor heap. */
static bool moves(struct target_memory *memory)
{
	const struct data_modules *modules = memory->modules;
	struct ocaml ocaml = {.memory = memory};

	for (size_t i = 0; !ocaml.state && i < modules->list.count; i++) {
		if (detect_module(&modules->list.items[i]))
			ocaml.state = target_word(
				memory, target_variable(&modules->list.items[i], "Caml_state"));
	}
	return ocaml.state && ocaml_state_word(&ocaml, STATE_IN_MINOR_COLLECTION);
}

static const struct heap_walker walker = {
	.moves = moves, .walk = walk_heap, .refer = ocaml_refer, .roots = ocaml_roots, .end = end};

const struct runtime runtime_ocaml = {
	.key = OCAML_KEY,
	.name = "OCaml",
	.tool = "`leakmon retain --census -p %d` counts its blocks by kind",
	.detect_module = detect_module,
	.walker = &walker,
};
