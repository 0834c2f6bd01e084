/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Reads numbers from a range of bytes that may be hostile. A read past the end, or a LEB128 number
 * of more than 10 bytes, returns 0, sets `failed` and leaves no bytes: loops end, and one check
 * after several reads is enough.
 */
#ifndef LEAKMON_ELF_BYTE_READER_H
#define LEAKMON_ELF_BYTE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct byte_reader {
	const uint8_t *at, *end;
	bool failed;
};

static inline struct byte_reader byte_reader(const uint8_t *bytes, size_t size)
{
	return (struct byte_reader){.at = bytes, .end = bytes + size};
}

static inline size_t byte_reader_left(const struct byte_reader *reader)
{
	return (size_t)(reader->end - reader->at);
}

static inline void byte_reader_fail(struct byte_reader *reader)
{
	reader->failed = true;
	reader->at = reader->end;
}

/* Takes the next `size` bytes, or returns NULL. */
static inline const uint8_t *byte_reader_take(struct byte_reader *reader, uint64_t size)
{
	const uint8_t *taken = reader->at;

	if (size > byte_reader_left(reader)) {
		byte_reader_fail(reader);
		return NULL;
	}
	reader->at += size;
	return taken;
}

/* Takes a little-endian number of 1 to 8 bytes. */
static inline uint64_t byte_reader_fixed(struct byte_reader *reader, size_t size)
{
	const uint8_t *bytes = byte_reader_take(reader, size);
	uint64_t value = 0;

	if (bytes)
		memcpy(&value, bytes, size);
	return value;
}

static inline uint8_t byte_reader_u8(struct byte_reader *reader)
{
	if (reader->at == reader->end) {
		reader->failed = true;
		return 0;
	}
	return *reader->at++;
}

/* Takes a LEB128 number (DWARF 5, 7.6). Bits beyond the 64th are dropped. */
static inline uint64_t byte_reader_leb128(struct byte_reader *reader, bool is_signed)
{
	uint64_t value = 0;

	for (unsigned int shift = 0; shift < 70; shift += 7) {
		uint8_t byte = byte_reader_u8(reader);

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte & 0x80)
			continue;
		if (is_signed && (byte & 0x40) && shift + 7 < 64)
			value |= ~0ull << (shift + 7);
		return value;
	}
	byte_reader_fail(reader);
	return 0;
}

static inline uint64_t byte_reader_uleb128(struct byte_reader *reader)
{
	return byte_reader_leb128(reader, false);
}

static inline int64_t byte_reader_sleb128(struct byte_reader *reader)
{
	return (int64_t)byte_reader_leb128(reader, true);
}

#endif
