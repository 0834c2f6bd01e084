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

/* Makes room for `size` more bytes. Returns their address, or NULL: out of memory. */
void *bytes_reserve(struct bytes *bytes, size_t size);

/* Appends a copy of `data`. Returns 0 or -ENOMEM. */
int bytes_append(struct bytes *bytes, const void *data, size_t size);
void bytes_free(struct bytes *bytes);

/* A reader of bytes that may end anywhere. */

struct cursor {
	const uint8_t *at;
	size_t left;
};

/*
 * Takes the next `count` elements. Returns a pointer, possibly unaligned, or NULL if fewer are
 * left.
 */
const void *cursor_take(struct cursor *cursor, uint64_t count, size_t size);

/* Copies one element of `size` bytes to *out. Returns 0, or -EPROTO at the end. */
int cursor_take_one(struct cursor *cursor, void *out, size_t size);

/*
 * Copies the next `count` elements; the caller frees *copy, even if count is 0. Returns 0; -EPROTO;
 * -ENOMEM.
 */
int cursor_take_copy(struct cursor *cursor, uint64_t count, size_t size, void **copy);

#endif
