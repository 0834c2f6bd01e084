// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/parse/image.h"

#include <errno.h>
#include <malloc.h>

#include "base/cleanup.h"
#include "base/sandbox/bytes.h"
#include "binary/arch/machine.h"
#include "binary/elf/debug_sections.h"
#include "binary/parse/far_part.h"
#include "binary/parse/wire.h"

static int add_all(struct elf_symbols *symbols, const struct elf_symbols *more)
{
	for (size_t i = 0; i < more->list.count; i++) {
		struct elf_symbol *symbol = vec_push(&symbols->list);

		if (!symbol)
			return -ENOMEM;
		*symbol = more->list.items[i];
	}
	return 0;
}

static int read_table(struct image *image)
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0}, mini = {0};
	int error = elf_symbols_read(&image->file, &symbols);

	if (error == -ENOMEM || error == -EIO)
		return error;
	/* Even with broken tables, segments and build-id are useful. */
	image->has_symtab = symbols.has_symtab;
	if (!image->has_symtab && !mini_debug_read(&image->file, &mini)) {
		image->has_symtab = mini.has_symtab;
		error = add_all(&symbols, &mini);
		if (error)
			return error;
	}
	error = image->has_symtab ? 0 : far_part_add(&image->file, &symbols);
	return error ? error : symbol_table_build(&symbols, &image->table);
}

int image_read(int fd, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	int error = elf_file_open(fd, &machine_abi, &read.file);

	if (!error)
		error = read_table(&read);
	if (error)
		return error;
	*image = read;
	image->file.fd = -1;
	memset(&read, 0, sizeof(read));
	return 0;
}

typedef int symbols_reader(const struct elf_file *file, struct elf_symbols *symbols);

static int read_with(int fd, symbols_reader *reader, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	int error = elf_file_open(fd, &machine_abi, &read.file);

	if (error)
		return error;
	error = reader(&read.file, &symbols);
	if (error == -ENOMEM || error == -EIO)
		return error;
	read.has_symtab = symbols.has_symtab;
	tls_layout_find(&read.file, &symbols, &read.tls_layout);
	error = symbol_table_build(&symbols, &read.table);
	if (error)
		return error;
	*image = read;
	image->file.fd = -1;
	memset(&read, 0, sizeof(read));
	return 0;
}

int image_read_objects(int fd, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	int error = read_with(fd, elf_objects_read, &read);

	if (error)
		return error;
	read.file.fd = fd;
	error = elf_numbers_read(&read.file, &read.numbers);
	read.file.fd = -1;
	if (error)
		return error;
	*image = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

int image_read_all_symbols(int fd, struct image *image)
{
	return read_with(fd, elf_all_symbols_read, image);
}

void image_take_debug_symbols(struct image *image, struct image *debug)
{
	struct symbol_table replaced = image->table;

	if (!image->file.build_id[0] || strcmp(image->file.build_id, debug->file.build_id) != 0 ||
	    debug->table.count <= image->table.count)
		return;
	image->table = debug->table;
	image->has_symtab = debug->has_symtab;
	debug->table = replaced;
}

void image_free(struct image *image)
{
	elf_file_close(&image->file);
	symbol_table_free(&image->table);
	vec_free(&image->numbers);
	image->has_symtab = false;
}

size_t image_bytes(const struct image *image)
{
	return image->table.count * sizeof(*image->table.symbols) +
	       malloc_usable_size(image->table.names) +
	       image->numbers.capacity * sizeof(*image->numbers.items);
}

/* Limits as in elf_file.c and symbol_table.c. */
#define MAX_SEGMENTS 65536
#define MAX_NAME_BYTES 4096

static size_t names_size(const struct symbol_table *table)
{
	const struct symbol *last = table->count ? &table->symbols[table->count - 1] : NULL;

	return last ? last->name + strlen(table->names + last->name) + 1 : 0;
}

static int encode_segments(const struct elf_file *file, struct bytes *body)
{
	int error = 0;

	for (size_t i = 0; !error && i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		struct wire_segment wire = {
			.offset = segment->offset,
			.vaddr = segment->vaddr,
			.file_size = segment->file_size,
			.memory_size = segment->memory_size,
			.executable = segment->executable,
			.writable = segment->writable,
		};

		error = bytes_append(body, &wire, sizeof(wire));
	}
	return error;
}

/* Encodes header and segments, with room for the rest. */
int encode_file(const struct elf_file *file, const struct image *image, size_t room,
		struct bytes *body)
{
	struct wire_image wire = {
		.size = file->size,
		.entry = file->entry,
		.symbol_count = image ? image->table.count : 0,
		.names_size = image ? names_size(&image->table) : 0,
		.thread_locals = file->thread_locals,
		.segment_count = (uint32_t)file->segments.count,
		.number_count = image ? (uint32_t)image->numbers.count : 0,
		.type = file->type,
		.has_symtab = image && image->has_symtab,
	};
	int error;

	_Static_assert(sizeof(wire.build_id) == sizeof(file->build_id), "the same text");
	memcpy(wire.build_id, file->build_id, sizeof(wire.build_id));
	if (image)
		wire.tls_layout = image->tls_layout;
	room += sizeof(wire) + file->segments.count * sizeof(struct wire_segment);
	if (!bytes_reserve(body, room))
		return -ENOMEM;
	error = bytes_append(body, &wire, sizeof(wire));
	return error ? error : encode_segments(file, body);
}

int encode_image(const struct image *image, struct bytes *body)
{
	const struct symbol_table *table = &image->table;
	size_t symbols_size = table->count * sizeof(*table->symbols);
	size_t text_size = names_size(table);
	size_t numbers_size = image->numbers.count * sizeof(*image->numbers.items);
	int error = encode_file(&image->file, image, symbols_size + text_size + numbers_size, body);

	if (!error)
		error = bytes_append(body, table->symbols, symbols_size);
	if (!error)
		error = bytes_append(body, table->names, text_size);
	return error ? error : bytes_append(body, image->numbers.items, numbers_size);
}

static int add_segment(const struct wire_segment *wire, struct elf_file *file)
{
	struct elf_segment *segment;
	uint64_t ignored;

	if (wire->file_size > wire->memory_size || wire->executable > 1 || wire->writable > 1 ||
	    __builtin_add_overflow(wire->vaddr, wire->memory_size, &ignored) ||
	    __builtin_add_overflow(wire->offset, wire->file_size, &ignored))
		return -EPROTO;
	segment = vec_push(&file->segments);
	if (!segment)
		return -ENOMEM;
	*segment = (struct elf_segment){
		.offset = wire->offset,
		.vaddr = wire->vaddr,
		.file_size = wire->file_size,
		.memory_size = wire->memory_size,
		.executable = wire->executable,
		.writable = wire->writable,
	};
	return 0;
}

static bool is_sound(const struct wire_image *wire)
{
	uint64_t alignment = wire->thread_locals.alignment, ignored;

	return wire->segment_count <= MAX_SEGMENTS && wire->has_symtab <= 1 &&
	       is_hex(wire->build_id, sizeof(wire->build_id)) && !(alignment & (alignment - 1)) &&
	       (alignment || !wire->thread_locals.size) &&
	       !__builtin_add_overflow(wire->thread_locals.vaddr, wire->thread_locals.size,
				       &ignored) &&
	       (!wire->tls_layout.heads_at || tls_layout_is_sound(&wire->tls_layout, &machine_abi));
}

int decode_file(struct cursor *cursor, struct wire_image *wire, struct elf_file *file)
{
	int error = cursor_take_one(cursor, wire, sizeof(*wire));

	if (error || !is_sound(wire))
		return -EPROTO;
	for (uint32_t i = 0; !error && i < wire->segment_count; i++) {
		struct wire_segment segment;

		error = cursor_take_one(cursor, &segment, sizeof(segment));
		if (!error)
			error = add_segment(&segment, file);
	}
	file->size = wire->size;
	file->entry = wire->entry;
	file->type = wire->type;
	file->thread_locals = wire->thread_locals;
	memcpy(file->build_id, wire->build_id, sizeof(file->build_id));
	return error;
}

/*
 * Names are consecutive, as symbol_table_build() writes them: with arbitrary offsets, a million
 * symbols could share one endless name.
 */
static int check_table(const struct symbol_table *table, uint64_t size)
{
	uint64_t at = 0;

	for (size_t i = 0; i < table->count; i++) {
		const struct symbol *symbol = &table->symbols[i];
		uint64_t length;

		if (symbol->name != at || at >= size ||
		    (i && symbol->address <= table->symbols[i - 1].address))
			return -EPROTO;
		length = strnlen(table->names + at, MIN(size - at, MAX_NAME_BYTES + 1));
		if (length > MAX_NAME_BYTES || length == size - at)
			return -EPROTO;
		at += length + 1;
	}
	return at == size ? 0 : -EPROTO;
}

static int check_numbers(const struct elf_numbers *numbers)
{
	for (size_t i = 1; i < numbers->count; i++) {
		if (numbers->items[i].vaddr < numbers->items[i - 1].vaddr)
			return -EPROTO;
	}
	return numbers->count <= ELF_NUMBERS_MAX ? 0 : -EPROTO;
}

int decode_image(const struct bytes *body, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	struct cursor cursor = {body->data, body->size};
	struct wire_image wire;
	int error = decode_file(&cursor, &wire, &read.file);

	if (!error)
		error = cursor_take_copy(&cursor, wire.symbol_count, sizeof(struct symbol),
					 (void **)&read.table.symbols);
	if (!error)
		error = cursor_take_copy(&cursor, wire.names_size, 1, (void **)&read.table.names);
	if (!error)
		error = cursor_take_copy(&cursor, wire.number_count, sizeof(struct elf_number),
					 (void **)&read.numbers.items);
	if (error)
		return error;
	read.numbers.count = read.numbers.capacity = wire.number_count;
	read.table.count = wire.symbol_count;
	read.has_symtab = wire.has_symtab;
	read.tls_layout = wire.tls_layout;
	if (cursor.left || check_table(&read.table, wire.names_size) ||
	    check_numbers(&read.numbers))
		return -EPROTO;
	*image = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

static int read_and_encode(const struct parse_input *input,
			   int (*read)(int fd, struct image *image), struct bytes *body)
{
	_cleanup_(image_free) struct image image = {.file.fd = -1};
	int error = read(input->files[0], &image);

	return error ? error : encode_image(&image, body);
}

static int parse(const struct parse_input *input, struct bytes *body)
{
	return read_and_encode(input, image_read, body);
}

static int parse_objects_of(const struct parse_input *input, struct bytes *body)
{
	return read_and_encode(input, image_read_objects, body);
}

static int parse_symbols_of(const struct parse_input *input, struct bytes *body)
{
	return read_and_encode(input, image_read_all_symbols, body);
}

static int decode(const struct bytes *body, const struct parse_origin *origin, void *out)
{
	(void)origin;
	return decode_image(body, out);
}

const struct parse_kind image_kind = {
	.name = "functions",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse,
	.decode = decode,
};

const struct parse_kind objects_kind = {
	.name = "data objects",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse_objects_of,
	.decode = decode,
};

const struct parse_kind symbols_kind = {
	.name = "symbols",
	.lane = WORKER_LANE_AWAITED,
	.max_files = 1,
	.parse = parse_symbols_of,
	.decode = decode,
};
