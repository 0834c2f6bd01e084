// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/decode.h"

#include <errno.h>

#include "base/cleanup.h"
#include "worker/cursor.h"
#include "worker/decode_text.h"
#include "worker/protocol.h"

/* As elf_file.c and symbol_table.c have them. */
#define MAX_SEGMENTS 65536
#define MAX_NAME_BYTES 4096

static bool is_error(int status)
{
	return status <= 0 && status > -4096;
}

int decode_description(const struct bytes *body, struct debug_description *description)
{
	struct cursor cursor = {body->data, body->size};
	struct debug_description read;

	if (cursor_take_one(&cursor, &read, sizeof(read)) || cursor.left ||
	    !is_hex(read.build_id, sizeof(read.build_id)) ||
	    !is_terminated(read.link, sizeof(read.link)) || strchr(read.link, '/') ||
	    !is_error(read.lines) || !is_terminated(read.alternate.name, PATH_MAX) ||
	    !is_hex(read.alternate.build_id, sizeof(read.alternate.build_id)))
		return -EPROTO;
	*description = read;
	return 0;
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
	       (!wire->tls_layout.heads_at || tls_layout_is_sound(&wire->tls_layout));
}

static int decode_file(struct cursor *cursor, struct wire_image *wire, struct elf_file *file)
{
	int err = cursor_take_one(cursor, wire, sizeof(*wire));

	if (err || !is_sound(wire))
		return -EPROTO;
	for (uint32_t i = 0; !err && i < wire->segment_count; i++) {
		struct wire_segment segment;

		err = cursor_take_one(cursor, &segment, sizeof(segment));
		if (!err)
			err = add_segment(&segment, file);
	}
	file->size = wire->size;
	file->entry = wire->entry;
	file->type = wire->type;
	file->thread_locals = wire->thread_locals;
	memcpy(file->build_id, wire->build_id, sizeof(file->build_id));
	return err;
}

/*
 * Names lie one after the other, as symbol_table_build() puts them: were places free, a million
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

int decode_image(const struct bytes *body, struct image *image)
{
	_cleanup_(image_free) struct image read = {.file.fd = -1};
	struct cursor cursor = {body->data, body->size};
	struct wire_image wire;
	int err = decode_file(&cursor, &wire, &read.file);

	if (!err)
		err = cursor_take_copy(&cursor, wire.symbol_count, sizeof(struct symbol),
				       (void **)&read.table.symbols);
	if (!err)
		err = cursor_take_copy(&cursor, wire.names_size, 1, (void **)&read.table.names);
	if (err)
		return err;
	read.table.count = wire.symbol_count;
	read.has_symtab = wire.has_symtab;
	read.tls_layout = wire.tls_layout;
	if (cursor.left || check_table(&read.table, wire.names_size))
		return -EPROTO;
	*image = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

static int check_rows(const struct lm_unwind_row *rows, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (rows[i].kind >= LM_UNWIND_MAX_ || (i && rows[i].pc <= rows[i - 1].pc))
			return -EPROTO;
	}
	return 0;
}

int decode_unwind(const struct bytes *body, struct elf_file *file, struct unwind_table *table)
{
	_cleanup_(elf_file_close) struct elf_file read_file = {.fd = -1};
	_cleanup_(unwind_table_free) struct unwind_table read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_unwind wire;
	struct wire_image header;
	int err = decode_file(&cursor, &header, &read_file);

	if (!err)
		err = cursor_take_one(&cursor, &wire, sizeof(wire));
	if (!err)
		err = cursor_take_copy(&cursor, wire.count, sizeof(*read.rows),
				       (void **)&read.rows);
	if (err)
		return err;
	if (cursor.left || (wire.base & 0xfff) || check_rows(read.rows, wire.count))
		return -EPROTO;
	read.base = wire.base;
	read.count = wire.count;
	*table = read;
	*file = read_file;
	memset(&read, 0, sizeof(read));
	memset(&read_file.segments, 0, sizeof(read_file.segments));
	return 0;
}
