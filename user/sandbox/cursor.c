// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/cursor.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
