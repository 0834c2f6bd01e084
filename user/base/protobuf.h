/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Protocol buffers (protobuf.dev, "Encoding"): varints, fixed numbers, strings, packed arrays and
 * nested messages. Written into growing memory; read in place from untrusted bytes.
 */
#ifndef LEAKMON_BASE_PROTOBUF_H
#define LEAKMON_BASE_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. A failed allocation sets `failed`: check it at the end. */
struct protobuf {
	uint8_t *bytes; /* owned */
	size_t count, capacity;
	bool failed;
};

void protobuf_free(struct protobuf *protobuf);

/* Appends a varint; the default value, 0, is left out. */
void protobuf_number(struct protobuf *to, unsigned field, uint64_t value);
/* Append 64-bit numbers, including 0: for members of a oneof. */
void protobuf_fixed(struct protobuf *to, unsigned field, uint64_t value);
void protobuf_double(struct protobuf *to, unsigned field, double value);
void protobuf_bytes(struct protobuf *to, unsigned field, const void *bytes, size_t count);
void protobuf_text(struct protobuf *to, unsigned field, const char *text);
/* Appends a packed array of varints. */
void protobuf_numbers(struct protobuf *to, unsigned field, const uint64_t *values, size_t count);
/* Appends a nested message and empties `message`, which keeps its memory for the next one. */
void protobuf_message(struct protobuf *to, unsigned field, struct protobuf *message);
/* Appends the fields of another part of the same message. */
void protobuf_append(struct protobuf *to, const struct protobuf *part);

/* Bytes still to be read. */
struct protobuf_reader {
	const uint8_t *at, *end;
};

struct protobuf_field {
	unsigned number;
	bool is_bytes;
	uint64_t value;			/* of a varint or a fixed number */
	struct protobuf_reader content; /* of bytes, a string or a message */
};

/* Takes the next field. Returns false at the end, or if the rest is malformed. */
bool protobuf_next(struct protobuf_reader *reader, struct protobuf_field *field);

#endif
