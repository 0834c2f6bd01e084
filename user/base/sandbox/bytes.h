/* SPDX-License-Identifier: GPL-2.0-or-later */
/* A growing buffer of raw bytes. */
#ifndef LEAKMON_SANDBOX_BYTES_H
#define LEAKMON_SANDBOX_BYTES_H

#include <stddef.h>
#include <stdint.h>

struct bytes {
	uint8_t *data;
	size_t size, capacity;
};

/* Makes room for `size` more bytes and returns where they go, or NULL: out of memory. */
void *bytes_reserve(struct bytes *bytes, size_t size);

/* 0 or -ENOMEM. */
int bytes_append(struct bytes *bytes, const void *data, size_t size);
void bytes_free(struct bytes *bytes);

/* Walking through bytes that may end anywhere. */

struct cursor {
	const uint8_t *at;
	size_t left;
};

/* The next `count` elements, or NULL when there are fewer. They may be unaligned. */
const void *cursor_take(struct cursor *cursor, uint64_t count, size_t size);

/* 0, or -EPROTO when there is no more. */
int cursor_take_one(struct cursor *cursor, void *out, size_t size);

/* A copy of the next `count` elements, which the caller frees, also if there are none. 0; -EPROTO;
 * -ENOMEM. */
int cursor_take_copy(struct cursor *cursor, uint64_t count, size_t size, void **copy);

#endif
