// SPDX-License-Identifier: GPL-2.0-or-later
#include "output/protobuf.h"

#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum wire { WIRE_VARINT = 0, WIRE_LENGTH = 2 };

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

void protobuf_bytes(struct protobuf *to, unsigned field, const void *bytes, size_t count)
{
	tag(to, field, WIRE_LENGTH);
	varint(to, count);
	append(to, bytes, count);
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

void protobuf_free(struct protobuf *protobuf)
{
	free(protobuf->bytes);
	*protobuf = (struct protobuf){0};
}
