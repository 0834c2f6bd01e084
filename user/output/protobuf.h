/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Writes protocol buffers (protobuf.dev, "Encoding"): varints, strings, packed arrays and nested
 * messages, into memory that grows. A failed allocation is remembered: look at `failed` at the end.
 */
#ifndef LEAKMON_OUTPUT_PROTOBUF_H
#define LEAKMON_OUTPUT_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct protobuf {
	uint8_t *bytes; /* owned */
	size_t count, capacity;
	bool failed;
};

/* Fields of value 0 are left out, as the format wants it. */
void protobuf_number(struct protobuf *to, unsigned field, uint64_t value);
void protobuf_numbers(struct protobuf *to, unsigned field, const uint64_t *values, size_t count);
void protobuf_bytes(struct protobuf *to, unsigned field, const void *bytes, size_t count);
/* `message` is emptied, for the next one. */
void protobuf_message(struct protobuf *to, unsigned field, struct protobuf *message);
void protobuf_free(struct protobuf *protobuf);

#endif
