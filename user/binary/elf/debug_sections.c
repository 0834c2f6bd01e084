// SPDX-License-Identifier: GPL-2.0-or-later
#include "binary/elf/debug_sections.h"

#include <elf.h>
#include <endian.h>
#include <errno.h>
#include <lzma.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "binary/elf/elf_file.h"

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

/* Takes all of the stream's input. Returns 0: needs more; 1: end of the stream. */
static int feed(lzma_stream *stream, struct buffer *output)
{
	while (true) {
		int error = output->size == output->capacity ? grow(output) : 0;
		lzma_ret result;

		if (error)
			return error;
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

static int read_symbols(const struct buffer *buffer, const struct elf_abi *abi,
			struct elf_symbols *symbols)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	int error = elf_file_open_memory(buffer->data, buffer->size, abi, &file);

	return error ? error : elf_symbols_read(&file, symbols);
}

int mini_debug_read(const struct elf_file *file, struct elf_symbols *symbols)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	_cleanup_(buffer_free) struct buffer buffer = {0};
	const struct elf_section *section;
	int error = elf_sections_read(file, &sections);

	if (error)
		return error;
	section = elf_sections_find(&sections, ".gnu_debugdata");
	if (!section)
		return -ENOENT;
	error = decompress(file, section, &buffer);
	return error ? error : read_symbols(&buffer, file->abi, symbols);
}

/* Defined in elf.h from glibc 2.37 on. */
#define COMPRESSED_ZSTD 2

static bool starts_with(const char *text, const char *prefix)
{
	return !strncmp(text, prefix, strlen(prefix));
}

/* SHF_COMPRESSED (gABI, "Section Compression"): a header with the uncompressed size. */
static int compressed_size(const struct elf_file *file, const struct elf_section *section,
			   uint64_t *size)
{
	Elf64_Chdr header;
	int error = elf_file_read_exact(file, section->offset, &header, sizeof(header));

	if (error)
		return error;
	if (header.ch_type == COMPRESSED_ZSTD) {
		log_debug("zstd-compressed debug sections: no file:line (build-id %s)",
			  file->build_id);
		return -ENOTSUP;
	}
	*size = header.ch_size;
	return 0;
}

/* GNU's older way: named .zdebug_*, "ZLIB", then the uncompressed size, big-endian. */
static int zdebug_size(const struct elf_file *file, const struct elf_section *section,
		       uint64_t *size)
{
	uint8_t header[12];
	int error = elf_file_read_exact(file, section->offset, header, sizeof(header));

	if (error)
		return error;
	memcpy(size, header + 4, sizeof(*size));
	*size = be64toh(*size);
	return 0;
}

/* Returns 0 if libdw may read all of them. */
static int check_sizes(const struct elf_file *file, const struct elf_sections *sections)
{
	uint64_t total = 0;

	for (size_t i = 0; i < sections->list.count; i++) {
		const struct elf_section *section = &sections->list.items[i];
		uint64_t size = section->size;
		int error = 0;

		if (section->type == SHT_NOBITS)
			continue;
		if (section->compressed)
			error = compressed_size(file, section, &size);
		else if (starts_with(section->name, ".zdebug_"))
			error = zdebug_size(file, section, &size);
		else if (!starts_with(section->name, ".debug_"))
			continue;
		if (error)
			return error;
		if (size > DEBUG_MAX_BYTES - total)
			return -EFBIG;
		total += size;
	}
	return 0;
}

/* A path, NUL, and the bytes of the build-id. */
static int read_link(const struct elf_file *file, const struct elf_section *section,
		     struct debug_link *link)
{
	struct debug_link read = {0};
	char raw[PATH_MAX + 40];
	size_t name, bytes;
	ssize_t got;

	got = elf_file_read(file, section->offset, raw, MIN(section->size, sizeof(raw)));
	if (got < 0)
		return (int)got;
	name = strnlen(raw, (size_t)got);
	if (!name || name >= PATH_MAX || name + 1 >= (size_t)got)
		return -EBADMSG;
	memcpy(read.name, raw, name);
	bytes = MIN((size_t)got - name - 1, 40);
	for (size_t i = 0; i < bytes; i++)
		snprintf(read.build_id + 2 * i, 3, "%02x", (uint8_t)raw[name + 1 + i]);
	*link = read;
	return 0;
}

static int check_sections(const struct elf_file *file, const struct elf_sections *sections,
			  struct debug_link *link)
{
	const struct elf_section *alt = elf_sections_find(sections, ".gnu_debugaltlink");
	const char *wanted = link ? ".debug_line" : ".debug_str";
	int error;

	if (!elf_sections_find(sections, wanted) &&
	    (!link || !elf_sections_find(sections, ".zdebug_line")))
		return -ENOENT;
	error = check_sizes(file, sections);
	if (error || !link)
		return error;
	if (alt)
		return read_link(file, alt, link);
	memset(link, 0, sizeof(*link));
	return 0;
}

int debug_sections_check(int fd, const struct elf_abi *abi, struct debug_link *link)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	int error = elf_file_open(fd, abi, &file);

	if (!error)
		error = elf_sections_read(&file, &sections);
	return error ? error : check_sections(&file, &sections, link);
}

/*
 * The section starts with the name, NUL-terminated; a checksum follows, which build-ids supersede.
 */
static void read_link_name(const struct elf_file *file, const struct elf_sections *sections,
			   char name[NAME_MAX + 1])
{
	const struct elf_section *section = elf_sections_find(sections, ".gnu_debuglink");
	ssize_t got = 0;

	if (section)
		got = elf_file_read(file, section->offset, name, MIN(section->size, NAME_MAX));
	name[MAX(got, 0)] = '\0';
	if (strchr(name, '/'))
		name[0] = '\0';
}

int debug_describe(int fd, const struct elf_abi *abi, struct debug_description *description)
{
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	struct debug_description read = {0};
	int error = elf_file_open(fd, abi, &file);

	if (error)
		return error;
	_Static_assert(sizeof(read.build_id) == sizeof(file.build_id), "the same text");
	memcpy(read.build_id, file.build_id, sizeof(read.build_id));
	read.lines = elf_sections_read(&file, &sections);
	if (!read.lines) {
		read_link_name(&file, &sections, read.link);
		read.lines = check_sections(&file, &sections, &read.alternate);
	}
	if (read.lines == -ENOMEM || read.lines == -EIO)
		return read.lines;
	*description = read;
	return 0;
}
