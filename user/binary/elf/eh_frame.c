// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/eh_frame.h"

#include <dwarf.h>
#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/search.h"
#include "binary/elf/byte_reader.h"
#include "binary/elf/elf_abi.h"
#include "binary/elf/elf_file.h"

#define FORMAT_MASK 0x0f
#define RELATIVE_MASK 0x70

enum number_kind { NUMBER_INVALID, NUMBER_FIXED, NUMBER_LEB128 };

struct format {
	enum number_kind kind;
	uint8_t size; /* bytes */
	bool is_signed;
};

static const struct format formats[FORMAT_MASK + 1] = {
	[DW_EH_PE_absptr] = {NUMBER_FIXED, 8, false},
	[DW_EH_PE_uleb128] = {NUMBER_LEB128, 0, false},
	[DW_EH_PE_udata2] = {NUMBER_FIXED, 2, false},
	[DW_EH_PE_udata4] = {NUMBER_FIXED, 4, false},
	[DW_EH_PE_udata8] = {NUMBER_FIXED, 8, false},
	[DW_EH_PE_signed] = {NUMBER_FIXED, 8, true},
	[DW_EH_PE_sleb128] = {NUMBER_LEB128, 0, true},
	[DW_EH_PE_sdata2] = {NUMBER_FIXED, 2, true},
	[DW_EH_PE_sdata4] = {NUMBER_FIXED, 4, true},
	[DW_EH_PE_sdata8] = {NUMBER_FIXED, 8, true},
};

static uint64_t read_number(struct byte_reader *reader, const struct format *format)
{
	uint64_t value;

	if (format->kind == NUMBER_LEB128)
		return byte_reader_leb128(reader, format->is_signed);
	value = byte_reader_fixed(reader, format->size);
	if (format->is_signed && format->size && format->size < sizeof(value)) {
		unsigned int unused_bits = 64 - 8u * format->size;

		value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
	}
	return value;
}

bool eh_pointer_read(struct byte_reader *reader, uint8_t encoding, const struct eh_place *place,
		     uint64_t *value)
{
	const struct format *format = &formats[encoding & FORMAT_MASK];
	uint64_t here = place->address + (uint64_t)(reader->at - place->bytes);
	uint64_t number;

	if (encoding == DW_EH_PE_omit || format->kind == NUMBER_INVALID)
		return false;
	number = read_number(reader, format);
	if (reader->failed)
		return false;
	switch (encoding & RELATIVE_MASK) {
	case DW_EH_PE_absptr:
		break;
	case DW_EH_PE_pcrel:
		number += number ? here : 0;
		break;
	case DW_EH_PE_datarel:
		number += number ? place->address : 0;
		break;
	default:
		return false;
	}
	*value = number;
	return true;
}

bool eh_pointer_fits_code(uint8_t encoding)
{
	uint8_t relative = encoding & (RELATIVE_MASK | DW_EH_PE_indirect);

	return encoding != DW_EH_PE_omit &&
	       formats[encoding & FORMAT_MASK].kind != NUMBER_INVALID &&
	       (relative == DW_EH_PE_absptr || relative == DW_EH_PE_pcrel);
}

#define HEADER_VERSION 1
#define HEADER_MAX_BYTES 32 /* version, three encodings, and a pointer of at most 10 bytes */

static int read_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
		      struct eh_section *section)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int error;

	if (offset > file->size || size > file->size - offset)
		return -EBADMSG;
	if (size > EH_MAX_BYTES)
		return -EFBIG;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	error = elf_file_read_exact(file, offset, bytes, size);
	if (error)
		return error;
	section->bytes = TAKE_PTR(bytes);
	section->size = size;
	return 0;
}

/*
 * Returns -ENOENT if no section header names .eh_frame; sets *found_any if one does, valid or not.
 */
static int read_by_section(const struct elf_file *file, struct eh_section *section, bool *found_any)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	int error = elf_sections_read(file, &sections);

	*found_any = false;
	if (error)
		return error == -EBADMSG ? -ENOENT : error;
	for (size_t i = 0; i < sections.list.count; i++) {
		const struct elf_section *header = &sections.list.items[i];

		if (strcmp(header->name, ".eh_frame") != 0)
			continue;
		*found_any = true;
		if (header->type == SHT_NOBITS || header->compressed)
			continue;
		section->address = header->address;
		section->exact = true;
		return read_bytes(file, header->offset, header->size, section);
	}
	return -ENOENT;
}

static int find_program_header(const struct elf_file *file, Elf64_Phdr *found)
{
	Elf64_Ehdr header;
	int error = elf_file_read_exact(file, 0, &header, sizeof(header));

	/* More headers than fit e_phnum: no executable has that many. */
	if (!error && (header.e_phnum == PN_XNUM || header.e_phentsize != sizeof(*found)))
		error = -ENOENT;
	for (size_t i = 0; !error && i < header.e_phnum; i++) {
		uint64_t offset;

		if (__builtin_add_overflow(header.e_phoff, i * sizeof(*found), &offset))
			return -EBADMSG;
		error = elf_file_read_exact(file, offset, found, sizeof(*found));
		if (!error && found->p_type == PT_GNU_EH_FRAME)
			return 0;
	}
	return error ? error : -ENOENT;
}

static int read_frame_pointer(const struct elf_file *file, uint64_t *address)
{
	uint8_t bytes[HEADER_MAX_BYTES];
	struct byte_reader reader;
	struct eh_place place;
	Elf64_Phdr program;
	uint8_t encoding;
	ssize_t got;
	int error = find_program_header(file, &program);

	if (error)
		return error;
	got = elf_file_read(file, program.p_offset, bytes, MIN(sizeof(bytes), program.p_filesz));
	if (got < 0)
		return (int)got;
	reader = byte_reader(bytes, (size_t)got);
	place = (struct eh_place){bytes, program.p_vaddr};
	if (byte_reader_u8(&reader) != HEADER_VERSION)
		return -EBADMSG;
	encoding = byte_reader_u8(&reader);
	/* The encodings of the search table, which a pass over all frames does not need. */
	byte_reader_take(&reader, 2);
	return eh_pointer_read(&reader, encoding, &place, address) ? 0 : -EBADMSG;
}

/* Reads the part of the segment from `address` on that is in the file. */
static int read_by_segment(const struct elf_file *file, struct eh_section *section)
{
	uint64_t address, offset;
	int error = read_frame_pointer(file, &address);

	if (error)
		return error;
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		uint64_t skipped = address - segment->vaddr;

		if (address < segment->vaddr || skipped >= segment->file_size)
			continue;
		offset = segment->offset + skipped;
		if (offset >= file->size)
			return -EBADMSG;
		section->address = address;
		section->exact = false;
		return read_bytes(
			file, offset,
			MIN(MIN(segment->file_size - skipped, file->size - offset), EH_MAX_BYTES),
			section);
	}
	return -EBADMSG;
}

int eh_section_read(const struct elf_file *file, struct eh_section *section)
{
	struct eh_section read = {.abi = file->abi};
	bool found_any;
	int error = read_by_section(file, &read, &found_any);

	if (error == -ENOENT && !found_any)
		error = read_by_segment(file, &read);
	if (!error)
		*section = read;
	return error;
}

void eh_section_free(struct eh_section *section)
{
	free(section->bytes);
	section->bytes = NULL;
}

#define EXTENDED_LENGTH 0xffffffffu

struct parser {
	const struct elf_abi *abi;
	struct eh_place place;
	struct eh_frame frame;
	uint32_t last_cie; /* probably also the next FDE's */
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

/* Parses the letters after 'z'. An unknown one ends them: the length of its data is unknown. */
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

/* Version 4 has the sizes of addresses and segment selectors. */
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
	if (column != parser->abi->cfi.return_column || (letters[0] && !cie->augmented))
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
	size_t count = parser->frame.cies.count, at;

	if (count && cies[parser->last_cie].offset == offset)
		return true;
	at = SORTED_BEFORE(cie, cies, count, cie->offset < offset);
	if (at == count || cies[at].offset != offset)
		return false;
	parser->last_cie = (uint32_t)at;
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

/* `id` is the distance back from its own offset to the CIE. */
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

/* The CIE pointer has 4 bytes even after an extended length (LSB Core 5.0, 10.6.1.1). */
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
	int error = 0;

	/* A rest shorter than a length is padding. */
	while (!error && byte_reader_left(&reader) >= 4) {
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
		error = add_record(parser, offset, &record);
	}
	return error;
}

int eh_frame_parse(const struct eh_section *section, struct eh_frame *frame)
{
	struct parser parser = {.abi = section->abi, .place = {section->bytes, section->address}};
	int error = parse_records(section, &parser);

	if (error)
		eh_frame_free(&parser.frame);
	else
		*frame = parser.frame;
	return error;
}

void eh_frame_free(struct eh_frame *frame)
{
	vec_free(&frame->cies);
	vec_free(&frame->fdes);
}
