// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/decode.h"

#include <errno.h>

#include "base/cleanup.h"
#include "worker/cursor.h"
#include "worker/protocol.h"

/* As elf_file.c and symbol_table.c have them. */
#define MAX_SEGMENTS 65536
#define MAX_NAME_BYTES 4096

static bool is_terminated(const char *text, size_t size)
{
	return memchr(text, '\0', size) != NULL;
}

static bool is_hex(const char *text, size_t size)
{
	return is_terminated(text, size) && text[strspn(text, "0123456789abcdef")] == '\0';
}

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

static int decode_file(struct cursor *cursor, struct wire_image *wire, struct elf_file *file)
{
	int err = cursor_take_one(cursor, wire, sizeof(*wire));

	if (err || wire->segment_count > MAX_SEGMENTS || wire->has_symtab > 1 ||
	    !is_hex(wire->build_id, sizeof(wire->build_id)))
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
	if (cursor.left || check_table(&read.table, wire.names_size))
		return -EPROTO;
	*image = read;
	memset(&read, 0, sizeof(read));
	return 0;
}

/* *text stays NULL for WIRE_NO_STRING. */
static int find_string(const char *strings, size_t size, uint32_t place, const char **text)
{
	if (place == WIRE_NO_STRING)
		return 0;
	if (place >= size || !is_terminated(strings + place, MIN(size - place, WIRE_MAX_STRING)))
		return -EPROTO;
	*text = strings + place;
	return 0;
}

static int decode_frames(const void *wire_frames, const struct wire_lines *wire,
			 struct line_answer *answer)
{
	int err = 0;

	for (size_t i = 0; !err && i < wire->frame_count; i++) {
		struct line_frame *frame = &answer->frames[i];
		struct wire_frame read;

		memcpy(&read, (const char *)wire_frames + i * sizeof(read), sizeof(read));
		err = find_string(answer->strings, wire->strings_size, read.function,
				  &frame->function);
		if (!err)
			err = find_string(answer->strings, wire->strings_size, read.file,
					  &frame->file);
		frame->line = read.line;
	}
	return err;
}

static int decode_ranges(const void *counts, const struct wire_lines *wire,
			 struct line_answer *answer)
{
	uint32_t first = 0;

	for (size_t i = 0; i < wire->address_count; i++) {
		uint32_t count;

		memcpy(&count, (const char *)counts + i * sizeof(count), sizeof(count));
		if (count > WIRE_MAX_FRAMES || count > wire->frame_count - first)
			return -EPROTO;
		answer->ranges[i] = (struct line_range){first, count};
		first += count;
	}
	answer->count = wire->address_count;
	return first == wire->frame_count ? 0 : -EPROTO;
}

int decode_lines(const struct bytes *body, size_t addresses, struct line_answer *answer)
{
	_cleanup_(line_answer_free) struct line_answer read = {0};
	struct cursor cursor = {body->data, body->size};
	const void *counts, *frames;
	struct wire_lines wire;
	int err = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (err || wire.address_count != addresses)
		return -EPROTO;
	counts = cursor_take(&cursor, wire.address_count, sizeof(uint32_t));
	frames = counts ? cursor_take(&cursor, wire.frame_count, sizeof(struct wire_frame)) : NULL;
	if (!frames)
		return -EPROTO;
	err = line_answer_allocate(&read, wire.address_count, wire.frame_count);
	if (!err)
		err = cursor_take_copy(&cursor, wire.strings_size, 1, (void **)&read.strings);
	if (err)
		return err;
	if (cursor.left || decode_ranges(counts, &wire, &read) ||
	    decode_frames(frames, &wire, &read))
		return -EPROTO;
	*answer = read;
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

static bool has_vaddr(const struct probe_plan *plan, uint64_t vaddr)
{
	for (size_t i = 0; i < plan->points.count; i++) {
		if (plan->points.items[i].vaddr == vaddr)
			return true;
	}
	return false;
}

static bool is_point(const struct wire_point *wire, uint64_t file_size)
{
	return wire->function < allocator_function_count && wire->emulated <= 1 &&
	       wire->refused <= 1 && is_terminated(wire->reason, sizeof(wire->reason)) &&
	       wire->placement_offset < PLAN_CODE_BYTES && wire->offset < file_size &&
	       wire->offset >= wire->placement_offset &&
	       plan_is_congruent(wire->vaddr, wire->offset - wire->placement_offset);
}

static int add_point(const struct wire_point *wire, uint64_t file_size, struct probe_plan *plan)
{
	size_t count = plan->points.count;
	struct probe_point *point;

	if (!is_point(wire, file_size) || has_vaddr(plan, wire->vaddr) ||
	    (count && wire->function < plan->points.items[count - 1].function))
		return -EPROTO;
	point = vec_push(&plan->points);
	if (!point)
		return -ENOMEM;
	*point = (struct probe_point){.function = wire->function,
				      .vaddr = wire->vaddr,
				      .offset = wire->offset,
				      .placement = {.offset = wire->placement_offset,
						    .emulated = wire->emulated,
						    .refused = wire->refused}};
	memcpy(point->placement.reason, wire->reason, sizeof(point->placement.reason));
	return 0;
}

int decode_plan(const struct bytes *body, uint64_t file_size, struct probe_plan *plan)
{
	_cleanup_(probe_plan_free) struct probe_plan read = {0};
	struct cursor cursor = {body->data, body->size};
	struct wire_plan wire;
	int err = cursor_take_one(&cursor, &wire, sizeof(wire));

	if (err || wire.count > PLAN_MAX_POINTS || !is_hex(wire.build_id, sizeof(wire.build_id)))
		return -EPROTO;
	for (uint32_t i = 0; !err && i < wire.count; i++) {
		struct wire_point point;

		err = cursor_take_one(&cursor, &point, sizeof(point));
		if (!err)
			err = add_point(&point, file_size, &read);
	}
	if (err || cursor.left)
		return err ? err : -EPROTO;
	memcpy(read.build_id, wire.build_id, sizeof(read.build_id));
	*plan = read;
	read = (struct probe_plan){0};
	return 0;
}
