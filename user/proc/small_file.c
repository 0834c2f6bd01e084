// SPDX-License-Identifier: GPL-2.0-or-later
#include "proc/small_file.h"

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"

#define FIRST_BYTES 4096

/* Reads on until the end or until the room is full. */
static int fill(int fd, char *room, size_t size, size_t *filled)
{
	while (*filled < size) {
		ssize_t got = read(fd, room + *filled, size - *filled);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			return 0;
		*filled += (size_t)got;
	}
	return -ENOSPC;
}

int small_file_read_fd(int fd, size_t max_bytes, char **text, size_t *length)
{
	_cleanup_free_ char *room = NULL;
	size_t size = FIRST_BYTES, filled = 0;
	int error = -ENOSPC;

	while (error == -ENOSPC) {
		char *grown = realloc(room, size + 1);

		if (!grown)
			return -ENOMEM;
		room = grown;
		error = fill(fd, room, size, &filled);
		if (filled > max_bytes)
			return -EFBIG;
		size *= 2;
	}
	if (error)
		return error;
	room[filled] = '\0';
	*text = TAKE_PTR(room);
	if (length)
		*length = filled;
	return 0;
}

int small_file_read(const char *path, size_t max_bytes, char **text)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);

	return fd < 0 ? -errno : small_file_read_fd(fd, max_bytes, text, NULL);
}
