// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/eh_pointer.h"

#include <dwarf.h>

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
	unsigned int unused_bits = 64 - 8u * format->size;
	uint64_t value;

	if (format->kind == NUMBER_LEB128)
		return byte_reader_leb128(reader, format->is_signed);
	value = byte_reader_fixed(reader, format->size);
	if (format->is_signed && unused_bits)
		value = (uint64_t)((int64_t)(value << unused_bits) >> unused_bits);
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
