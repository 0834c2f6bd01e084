// SPDX-License-Identifier: GPL-2.0-or-later
#include "worker/encode.h"

#include <errno.h>

/* What does not fit any more has no line. */
#define MAX_STRINGS_BYTES (1u << 20)

int encode_description(const struct debug_description *description, struct bytes *body)
{
	return bytes_append(body, description, sizeof(*description));
}

static size_t names_size(const struct symbol_table *table)
{
	const struct symbol *last = table->count ? &table->symbols[table->count - 1] : NULL;

	return last ? last->name + strlen(table->names + last->name) + 1 : 0;
}

static int encode_segments(const struct elf_file *file, struct bytes *body)
{
	int err = 0;

	for (size_t i = 0; !err && i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		struct wire_segment wire = {
			.offset = segment->offset,
			.vaddr = segment->vaddr,
			.file_size = segment->file_size,
			.memory_size = segment->memory_size,
			.executable = segment->executable,
			.writable = segment->writable,
		};

		err = bytes_append(body, &wire, sizeof(wire));
	}
	return err;
}

/* Header and segments, with room for what follows. */
static int encode_file(const struct elf_file *file, const struct image *image, size_t room,
		       struct bytes *body)
{
	struct wire_image wire = {
		.size = file->size,
		.entry = file->entry,
		.symbol_count = image ? image->table.count : 0,
		.names_size = image ? names_size(&image->table) : 0,
		.thread_locals = file->thread_locals,
		.segment_count = (uint32_t)file->segments.count,
		.type = file->type,
		.has_symtab = image && image->has_symtab,
	};
	int err;

	_Static_assert(sizeof(wire.build_id) == sizeof(file->build_id), "the same text");
	memcpy(wire.build_id, file->build_id, sizeof(wire.build_id));
	if (image)
		wire.tls_layout = image->tls_layout;
	room += sizeof(wire) + file->segments.count * sizeof(struct wire_segment);
	if (!bytes_reserve(body, room))
		return -ENOMEM;
	err = bytes_append(body, &wire, sizeof(wire));
	return err ? err : encode_segments(file, body);
}

int encode_image(const struct image *image, struct bytes *body)
{
	const struct symbol_table *table = &image->table;
	size_t symbols_size = table->count * sizeof(*table->symbols);
	size_t text_size = names_size(table);
	int err = encode_file(&image->file, image, symbols_size + text_size, body);

	if (!err)
		err = bytes_append(body, table->symbols, symbols_size);
	return err ? err : bytes_append(body, table->names, text_size);
}

int encode_unwind(const struct elf_file *file, const struct unwind_table *table, struct bytes *body)
{
	struct wire_unwind wire = {.base = table->base, .count = table->count};
	size_t rows_size = table->count * sizeof(*table->rows);
	int err = encode_file(file, NULL, sizeof(wire) + rows_size, body);

	if (!err)
		err = bytes_append(body, &wire, sizeof(wire));
	return err ? err : bytes_append(body, table->rows, rows_size);
}

static int encode_point(const struct probe_point *point, struct bytes *body)
{
	struct wire_point wire = {
		.vaddr = point->vaddr,
		.offset = point->offset,
		.function = (uint32_t)point->function,
		.placement_offset = point->placement.offset,
		.emulated = point->placement.emulated,
		.refused = point->placement.refused,
		.needless = point->placement.needless,
		.prefix = (uint8_t)point->prefix,
		.is_result = point->is_result,
		.number = point->result.number,
		.condition = point->result.condition,
		.words = point->result.words,
		.moved = point->placement.moved,
	};

	_Static_assert(sizeof(wire.reason) == sizeof(point->placement.reason), "the same text");
	_Static_assert(sizeof(wire.registers) == sizeof(point->placement.registers), "as many");
	memcpy(wire.reason, point->placement.reason, sizeof(wire.reason));
	memcpy(wire.registers, point->placement.registers, sizeof(wire.registers));
	return bytes_append(body, &wire, sizeof(wire));
}

int encode_plan(const struct probe_plan *plan, struct bytes *body)
{
	struct wire_plan wire = {.count = (uint32_t)plan->points.count,
				 .family = plan->family,
				 .has_names = plan->has_names,
				 .is_static = plan->is_static};
	int err;

	_Static_assert(sizeof(wire.build_id) == sizeof(plan->build_id), "the same text");
	memcpy(wire.build_id, plan->build_id, sizeof(wire.build_id));
	err = bytes_append(body, &wire, sizeof(wire));
	for (size_t i = 0; !err && i < plan->points.count; i++)
		err = encode_point(&plan->points.items[i], body);
	return err;
}

/* Neighbours mostly share their file: `last` is where that string was put. */
static int add_string(struct line_encoder *encoder, const char *text, uint32_t last,
		      uint32_t *place)
{
	size_t size = text ? strnlen(text, WIRE_MAX_STRING) + 1 : 0;

	*place = WIRE_NO_STRING;
	if (!text || size > WIRE_MAX_STRING)
		return 0;
	if (last != WIRE_NO_STRING && !strcmp((char *)encoder->strings.data + last, text)) {
		*place = last;
		return 0;
	}
	if (size > MAX_STRINGS_BYTES - encoder->strings.size)
		return 0;
	*place = (uint32_t)encoder->strings.size;
	return bytes_append(&encoder->strings, text, size);
}

static int add_frame(struct line_encoder *encoder, const struct line_frame *frame)
{
	struct wire_frame last = {.function = WIRE_NO_STRING, .file = WIRE_NO_STRING}, *wire;
	int err;

	if (encoder->frames.count)
		last = encoder->frames.items[encoder->frames.count - 1];
	wire = vec_push(&encoder->frames);
	if (!wire)
		return -ENOMEM;
	wire->line = frame->line;
	err = add_string(encoder, frame->function, last.function, &wire->function);
	return err ? err : add_string(encoder, frame->file, last.file, &wire->file);
}

int line_encoder_add(struct line_encoder *encoder, const struct line_frame *frames, size_t count)
{
	int err = 0;

	if (encoder->address_count == WORKER_MAX_ADDRESSES || count > WIRE_MAX_FRAMES)
		return -EINVAL;
	for (size_t i = 0; !err && i < count; i++)
		err = add_frame(encoder, &frames[i]);
	encoder->counts[encoder->address_count++] = (uint32_t)count;
	return err;
}

int line_encoder_finish(const struct line_encoder *encoder, struct bytes *body)
{
	struct wire_lines wire = {
		.address_count = encoder->address_count,
		.frame_count = (uint32_t)encoder->frames.count,
		.strings_size = (uint32_t)encoder->strings.size,
	};
	int err = bytes_append(body, &wire, sizeof(wire));

	if (!err)
		err = bytes_append(body, encoder->counts,
				   encoder->address_count * sizeof(encoder->counts[0]));
	if (!err)
		err = bytes_append(body, encoder->frames.items,
				   encoder->frames.count * sizeof(*encoder->frames.items));
	return err ? err : bytes_append(body, encoder->strings.data, encoder->strings.size);
}

void line_encoder_free(struct line_encoder *encoder)
{
	vec_free(&encoder->frames);
	bytes_free(&encoder->strings);
}
