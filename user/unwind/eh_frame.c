// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/eh_frame.h"

#include <dwarf.h>
#include <errno.h>

#include "unwind/byte_reader.h"
#include "unwind/eh_pointer.h"

#define EXTENDED_LENGTH 0xffffffffu
#define RETURN_ADDRESS_REGISTER 16 /* psABI x86-64, figure 3.36 */

struct parser {
	struct eh_place place;
	struct eh_frame frame;
	uint32_t last_cie; /* the next FDE's, most likely */
};

_Static_assert(EH_MAX_BYTES <= UINT32_MAX, "offsets fit 32 bits");

static uint32_t offset_of(const struct parser *parser, const uint8_t *at)
{
	return (uint32_t)(at - parser->place.bytes);
}

static struct eh_code code_left(const struct parser *parser, const struct byte_reader *record)
{
	return (struct eh_code){offset_of(parser, record->at), (uint32_t)byte_reader_left(record)};
}

/* The letters after 'z'. An unknown one ends them: the length of its data is not known. */
static bool parse_augmentation(const struct parser *parser, const char *letters,
			       struct byte_reader *data, struct eh_cie *cie)
{
	uint64_t personality;

	for (; *letters; letters++) {
		if (*letters == 'R')
			cie->pointer_encoding = byte_reader_u8(data);
		else if (*letters == 'L')
			byte_reader_u8(data);
		else if (*letters == 'S')
			cie->signal_frame = true;
		else if (*letters == 'P' &&
			 !eh_pointer_read(data, byte_reader_u8(data), &parser->place, &personality))
			return false;
		else if (!strchr("PB", *letters))
			return false;
	}
	return !data->failed;
}

/* Version 4 tells the sizes of addresses and segment selectors. */
static bool parse_version(struct byte_reader *record, uint8_t version)
{
	if (version != 4)
		return version == 1 || version == 3;
	return byte_reader_u8(record) == 8 && byte_reader_u8(record) == 0;
}

static bool parse_cie(const struct parser *parser, struct byte_reader *record, struct eh_cie *cie)
{
	uint8_t version = byte_reader_u8(record);
	const char *letters = (const char *)record->at;
	size_t length = strnlen(letters, byte_reader_left(record));
	struct byte_reader data;
	const uint8_t *bytes;
	uint64_t size, column;

	if (!byte_reader_take(record, length + 1) || !parse_version(record, version))
		return false;
	cie->code_alignment = byte_reader_uleb128(record);
	cie->data_alignment = byte_reader_sleb128(record);
	column = version == 1 ? byte_reader_u8(record) : byte_reader_uleb128(record);
	cie->augmented = letters[0] == 'z';
	cie->pointer_encoding = DW_EH_PE_absptr;
	if (column != RETURN_ADDRESS_REGISTER || (letters[0] && !cie->augmented))
		return false;
	if (cie->augmented) {
		size = byte_reader_uleb128(record);
		bytes = byte_reader_take(record, size);
		if (!bytes)
			return false;
		data = byte_reader(bytes, size);
		if (!parse_augmentation(parser, letters + 1, &data, cie))
			return false;
	}
	cie->code = code_left(parser, record);
	return !record->failed && eh_pointer_fits_code(cie->pointer_encoding);
}

static int add_cie(struct parser *parser, uint32_t offset, struct byte_reader *record)
{
	struct eh_cie parsed = {.offset = offset}, *cie;

	if (!parse_cie(parser, record, &parsed))
		return 0;
	if (parser->frame.cies.count >= EH_MAX_CIES)
		return -EFBIG;
	cie = vec_push(&parser->frame.cies);
	if (!cie)
		return -ENOMEM;
	*cie = parsed;
	parser->last_cie = (uint32_t)parser->frame.cies.count - 1;
	return 0;
}

static bool find_cie(struct parser *parser, uint32_t offset)
{
	const struct eh_cie *cies = parser->frame.cies.items;
	size_t low = 0, high = parser->frame.cies.count;

	if (high && cies[parser->last_cie].offset == offset)
		return true;
	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (cies[middle].offset < offset)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == parser->frame.cies.count || cies[low].offset != offset)
		return false;
	parser->last_cie = (uint32_t)low;
	return true;
}

static bool parse_fde(const struct parser *parser, struct byte_reader *record, struct eh_fde *fde)
{
	const struct eh_cie *cie = &parser->frame.cies.items[parser->last_cie];
	uint64_t size;

	if (!eh_pointer_read(record, cie->pointer_encoding, &parser->place, &fde->start) ||
	    !eh_pointer_read(record, cie->pointer_encoding & 0x0f, &parser->place, &size))
		return false;
	if (!fde->start || !size || __builtin_add_overflow(fde->start, size, &fde->end))
		return false;
	if (cie->augmented)
		byte_reader_take(record, byte_reader_uleb128(record));
	fde->code = code_left(parser, record);
	fde->cie = parser->last_cie;
	return !record->failed;
}

/* `id` is the distance back from itself to the CIE. */
static int add_fde(struct parser *parser, uint32_t id_offset, uint32_t id,
		   struct byte_reader *record)
{
	struct eh_fde parsed, *fde;

	if (id > id_offset || !find_cie(parser, id_offset - id) ||
	    !parse_fde(parser, record, &parsed))
		return 0;
	if (parser->frame.fdes.count >= EH_MAX_FDES)
		return -EFBIG;
	fde = vec_push(&parser->frame.fdes);
	if (!fde)
		return -ENOMEM;
	*fde = parsed;
	return 0;
}

/* The CIE pointer has 4 bytes also after an extended length (LSB Core 5.0, 10.6.1.1). */
static int add_record(struct parser *parser, uint32_t offset, struct byte_reader *record)
{
	uint32_t id_offset = offset_of(parser, record->at);
	uint32_t id = (uint32_t)byte_reader_fixed(record, 4);

	if (record->failed)
		return 0;
	return id ? add_fde(parser, id_offset, id, record) : add_cie(parser, offset, record);
}

static int parse_records(const struct eh_section *section, struct parser *parser)
{
	struct byte_reader reader = byte_reader(section->bytes, section->size), record;
	int err = 0;

	/* Less than a length is padding. */
	while (!err && byte_reader_left(&reader) >= 4) {
		uint32_t offset = offset_of(parser, reader.at);
		uint64_t length = byte_reader_fixed(&reader, 4);
		const uint8_t *bytes;

		if (!length && !section->exact)
			return 0;
		if (length == EXTENDED_LENGTH)
			length = byte_reader_fixed(&reader, 8);
		bytes = byte_reader_take(&reader, length);
		if (reader.failed)
			return -EBADMSG;
		record = byte_reader(bytes, length);
		err = add_record(parser, offset, &record);
	}
	return err;
}

int eh_frame_parse(const struct eh_section *section, struct eh_frame *frame)
{
	struct parser parser = {.place = {section->bytes, section->address}};
	int err = parse_records(section, &parser);

	if (err)
		eh_frame_free(&parser.frame);
	else
		*frame = parser.frame;
	return err;
}

void eh_frame_free(struct eh_frame *frame)
{
	vec_free(&frame->cies);
	vec_free(&frame->fdes);
}
