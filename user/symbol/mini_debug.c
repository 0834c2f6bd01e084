// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/mini_debug.h"

#include <errno.h>
#include <lzma.h>

#include "base/cleanup.h"
#include "elf/elf_file.h"

#define CHUNK_BYTES (64u << 10)

struct buffer {
	uint8_t *data;
	size_t size, capacity;
};

static void buffer_free(struct buffer *buffer)
{
	free(buffer->data);
}

static int grow(struct buffer *buffer)
{
	size_t grown = buffer->capacity ? buffer->capacity * 2 : CHUNK_BYTES;
	uint8_t *moved;

	if (grown > MINI_DEBUG_MAX_BYTES)
		return -EFBIG;
	moved = realloc(buffer->data, grown);
	if (!moved)
		return -ENOMEM;
	buffer->data = moved;
	buffer->capacity = grown;
	return 0;
}

static int failure(lzma_ret result)
{
	if (result == LZMA_MEM_ERROR)
		return -ENOMEM;
	return result == LZMA_MEMLIMIT_ERROR ? -EFBIG : -EBADMSG;
}

/* Takes all of the stream's input; 0: more is wanted; 1: that was the end. */
static int feed(lzma_stream *stream, struct buffer *output)
{
	while (true) {
		int err = output->size == output->capacity ? grow(output) : 0;
		lzma_ret result;

		if (err)
			return err;
		stream->next_out = output->data + output->size;
		stream->avail_out = output->capacity - output->size;
		result = lzma_code(stream, LZMA_RUN);
		output->size = output->capacity - stream->avail_out;
		if (result == LZMA_STREAM_END)
			return 1;
		if (result != LZMA_OK)
			return failure(result);
		if (!stream->avail_in && stream->avail_out)
			return 0;
	}
}

static int decompress(const struct elf_file *file, const struct elf_section *section,
		      struct buffer *output)
{
	_cleanup_free_ uint8_t *chunk = malloc(CHUNK_BYTES);
	_cleanup_(lzma_end) lzma_stream stream = LZMA_STREAM_INIT;
	uint64_t offset = section->offset, left = section->size;
	int end = 0;

	if (!chunk || lzma_stream_decoder(&stream, MINI_DEBUG_MAX_BYTES, 0) != LZMA_OK)
		return -ENOMEM;
	while (!end) {
		ssize_t got = elf_file_read(file, offset, chunk, MIN(left, CHUNK_BYTES));

		if (got < 0)
			return (int)got;
		/* The input ends before the stream does. */
		if (got == 0)
			return -EBADMSG;
		stream.next_in = chunk;
		stream.avail_in = (size_t)got;
		end = feed(&stream, output);
		offset += (uint64_t)got;
		left -= (uint64_t)got;
	}
	return end < 0 ? end : 0;
}

static int read_symbols(const struct buffer *buffer, struct elf_symbols *symbols)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	int err = elf_file_open_memory(buffer->data, buffer->size, &file);

	return err ? err : elf_symbols_read(&file, symbols);
}

int mini_debug_read(const struct elf_file *file, struct elf_symbols *symbols)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	_cleanup_(buffer_free) struct buffer buffer = {0};
	const struct elf_section *section;
	int err = elf_sections_read(file, &sections);

	if (err)
		return err;
	section = elf_sections_find(&sections, ".gnu_debugdata");
	if (!section)
		return -ENOENT;
	err = decompress(file, section, &buffer);
	return err ? err : read_symbols(&buffer, symbols);
}
