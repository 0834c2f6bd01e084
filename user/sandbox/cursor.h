/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Walking through bytes that may end anywhere. */
#ifndef LEAKMON_SANDBOX_CURSOR_H
#define LEAKMON_SANDBOX_CURSOR_H

#include <stddef.h>
#include <stdint.h>

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
