// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/records.h"

#include <errno.h>
#include <unistd.h>

#include "base/cleanup.h"

#define FIRST_BYTES 8192

int records_read(int fd, size_t size, void **records, size_t *count)
{
	_cleanup_free_ char *bytes = NULL;
	size_t used = 0, capacity = 0;
	ssize_t got = 1;

	while (got) {
		if (used == capacity) {
			size_t grown = capacity ? capacity * 2 : FIRST_BYTES;
			char *moved = realloc(bytes, grown);

			if (!moved)
				return -ENOMEM;
			bytes = moved;
			capacity = grown;
		}
		got = read(fd, bytes + used, capacity - used);
		if (got < 0 && errno != EINTR && errno != EAGAIN)
			return -errno;
		used += got > 0 ? (size_t)got : 0;
	}
	if (used % size)
		return -EPROTO;
	*count = used / size;
	*records = used ? TAKE_PTR(bytes) : NULL;
	return 0;
}
