// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum wire { WIRE_VARINT = 0, WIRE_FIXED64 = 1, WIRE_LENGTH = 2, WIRE_FIXED32 = 5 };

void protobuf_free(struct protobuf *protobuf)
{
	free(protobuf->bytes);
	*protobuf = (struct protobuf){0};
}

static void append(struct protobuf *to, const void *bytes, size_t count)
{
	if (to->capacity - to->count < count) {
		size_t capacity = MAX(to->capacity * 2, to->count + count + 64);
		uint8_t *moved = realloc(to->bytes, capacity);

		if (!moved) {
			to->failed = true;
			return;
		}
		to->bytes = moved;
		to->capacity = capacity;
	}
	if (count)
		memcpy(to->bytes + to->count, bytes, count);
	to->count += count;
}

static void varint(struct protobuf *to, uint64_t value)
{
	uint8_t bytes[10];
	size_t count = 0;

	do {
		bytes[count++] = (uint8_t)((value & 0x7f) | (value > 0x7f ? 0x80 : 0));
		value >>= 7;
	} while (value);
	append(to, bytes, count);
}

static void tag(struct protobuf *to, unsigned field, enum wire wire)
{
	varint(to, (uint64_t)field << 3 | wire);
}

void protobuf_number(struct protobuf *to, unsigned field, uint64_t value)
{
	if (!value)
		return;
	tag(to, field, WIRE_VARINT);
	varint(to, value);
}

void protobuf_fixed(struct protobuf *to, unsigned field, uint64_t value)
{
	uint8_t bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)(value >> 8 * i);
	tag(to, field, WIRE_FIXED64);
	append(to, bytes, sizeof(bytes));
}

void protobuf_double(struct protobuf *to, unsigned field, double value)
{
	uint64_t bits;

	memcpy(&bits, &value, sizeof(bits));
	protobuf_fixed(to, field, bits);
}

void protobuf_bytes(struct protobuf *to, unsigned field, const void *bytes, size_t count)
{
	tag(to, field, WIRE_LENGTH);
	varint(to, count);
	append(to, bytes, count);
}

void protobuf_text(struct protobuf *to, unsigned field, const char *text)
{
	protobuf_bytes(to, field, text, strlen(text));
}

void protobuf_numbers(struct protobuf *to, unsigned field, const uint64_t *values, size_t count)
{
	struct protobuf packed = {0};

	for (size_t i = 0; i < count; i++)
		varint(&packed, values[i]);
	protobuf_message(to, field, &packed);
	protobuf_free(&packed);
}

void protobuf_message(struct protobuf *to, unsigned field, struct protobuf *message)
{
	protobuf_bytes(to, field, message->bytes, message->count);
	to->failed |= message->failed;
	message->count = 0;
}

void protobuf_append(struct protobuf *to, const struct protobuf *part)
{
	append(to, part->bytes, part->count);
	to->failed |= part->failed;
}

/* -------- reading */

static bool take_varint(struct protobuf_reader *reader, uint64_t *value)
{
	uint64_t sum = 0;

	for (unsigned shift = 0; shift < 64 && reader->at < reader->end; shift += 7) {
		uint8_t byte = *reader->at++;

		sum |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*value = sum;
			return true;
		}
	}
	return false;
}

static bool take_bytes(struct protobuf_reader *reader, uint64_t count, const uint8_t **bytes)
{
	if (count > (uint64_t)(reader->end - reader->at))
		return false;
	*bytes = reader->at;
	reader->at += count;
	return true;
}

static uint64_t little_endian(const uint8_t *bytes, size_t count)
{
	uint64_t value = 0;

	for (size_t i = 0; i < count; i++)
		value |= (uint64_t)bytes[i] << 8 * i;
	return value;
}

bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field)
{
	const uint8_t *bytes;
	uint64_t key, length;
	size_t width;

	if (reader->at == reader->end || !take_varint(reader, &key) || key >> 3 > UINT32_MAX)
		return false;
	*field = (struct protobuf_field){.number = (unsigned)(key >> 3)};
	width = (key & 7) == WIRE_FIXED64 ? 8 : (key & 7) == WIRE_FIXED32 ? 4 : 0;
	if (width) {
		if (!take_bytes(reader, width, &bytes))
			return false;
		field->value = little_endian(bytes, width);
		return true;
	}
	if ((key & 7) == WIRE_VARINT)
		return take_varint(reader, &field->value);
	if ((key & 7) != WIRE_LENGTH || !take_varint(reader, &length) ||
	    !take_bytes(reader, length, &bytes))
		return false;
	field->is_bytes = true;
	field->content = (struct protobuf_reader){bytes, bytes + length};
	return true;
}
