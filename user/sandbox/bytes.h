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

#endif
