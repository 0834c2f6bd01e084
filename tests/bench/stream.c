// SPDX-License-Identifier: GPL-2.0-or-later
#include "stream.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"

#define LAST_LINE_MAX 140

void stream_free(struct stream *stream)
{
	cleanup_close(&stream->fd);
	free(stream->text);
}

static int stream_reserve(struct stream *stream)
{
	size_t wanted = stream->size + READ_SIZE;
	char *moved;

	if (wanted <= stream->capacity)
		return 0;
	wanted = MAX(wanted, stream->capacity * 2);
	moved = realloc(stream->text, wanted);
	if (!moved)
		return -ENOMEM;
	stream->text = moved;
	stream->capacity = wanted;
	return 0;
}

int stream_read(struct stream *stream)
{
	ssize_t got;

	if (stream->taken == stream->size)
		stream->size = stream->taken = stream->scanned = 0;
	if (stream_reserve(stream))
		return -ENOMEM;
	got = read(stream->fd, stream->text + stream->size, READ_SIZE);
	if (got > 0) {
		stream->size += (size_t)got;
		return 0;
	}
	close(stream->fd);
	stream->fd = -1;
	return 0;
}

bool stream_take(struct stream *stream, char **line, size_t *size)
{
	char *start, *end = NULL;

	if (stream->size > stream->scanned)
		end = memchr(stream->text + stream->scanned, '\n', stream->size - stream->scanned);
	if (!end) {
		stream->scanned = stream->size;
		return false;
	}
	start = stream->text + stream->taken;
	*end = '\0';
	*line = start;
	*size = (size_t)(end - start);
	stream->taken = stream->scanned = (size_t)(end + 1 - stream->text);
	return true;
}

/* A line that was handed out ends in NUL. */
static bool ends_line(char character)
{
	return character == '\n' || character == '\0';
}

int stream_last_line(const struct stream *stream, const char **line)
{
	size_t end = stream->size, start;

	while (end && ends_line(stream->text[end - 1]))
		end--;
	for (start = end; start && !ends_line(stream->text[start - 1]); start--)
		;
	*line = stream->text + start;
	return (int)MIN(end - start, (size_t)LAST_LINE_MAX);
}
