// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/bytes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

void *bytes_reserve(struct bytes *bytes, size_t size)
{
	size_t wanted;
	uint8_t *moved;

	if (__builtin_add_overflow(bytes->size, size, &wanted))
		return NULL;
	if (wanted > bytes->capacity || !bytes->data) {
		wanted = MAX(wanted, bytes->capacity + bytes->capacity / 2);
		wanted = MAX(wanted, 64u);
		moved = realloc(bytes->data, wanted);
		if (!moved)
			return NULL;
		bytes->data = moved;
		bytes->capacity = wanted;
	}
	return bytes->data + bytes->size;
}

int bytes_append(struct bytes *bytes, const void *data, size_t size)
{
	void *place = bytes_reserve(bytes, size);

	if (!place)
		return -ENOMEM;
	if (size)
		memcpy(place, data, size);
	bytes->size += size;
	return 0;
}

void bytes_free(struct bytes *bytes)
{
	free(bytes->data);
	*bytes = (struct bytes){0};
}

const void *cursor_take(struct cursor *cursor, uint64_t count, size_t size)
{
	const uint8_t *taken = cursor->at;

	if (count > cursor->left / size)
		return NULL;
	cursor->at += count * size;
	cursor->left -= count * size;
	return taken;
}

int cursor_take_one(struct cursor *cursor, void *out, size_t size)
{
	const void *taken = cursor_take(cursor, 1, size);

	if (!taken)
		return -EPROTO;
	memcpy(out, taken, size);
	return 0;
}

int cursor_take_copy(struct cursor *cursor, uint64_t count, size_t size, void **copy)
{
	const void *taken = cursor_take(cursor, count, size);

	if (!taken)
		return -EPROTO;
	*copy = malloc(count ? count * size : 1);
	if (!*copy)
		return -ENOMEM;
	if (count)
		memcpy(*copy, taken, count * size);
	return 0;
}
