// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/eh_section.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "elf/elf_sections.h"
#include "unwind/byte_reader.h"
#include "unwind/eh_pointer.h"

#define HEADER_VERSION 1
#define HEADER_MAX_BYTES 32 /* version, three encodings, and a pointer of at most 10 bytes */

static int read_bytes(const struct elf_file *file, uint64_t offset, uint64_t size,
		      struct eh_section *section)
{
	_cleanup_free_ uint8_t *bytes = NULL;
	int err;

	if (offset > file->size || size > file->size - offset)
		return -EBADMSG;
	if (size > EH_MAX_BYTES)
		return -EFBIG;
	bytes = malloc(size ? size : 1);
	if (!bytes)
		return -ENOMEM;
	err = elf_file_read_exact(file, offset, bytes, size);
	if (err)
		return err;
	section->bytes = TAKE_PTR(bytes);
	section->size = size;
	return 0;
}

/* -ENOENT: no section header speaks of .eh_frame; *found_any: one does, whatever it says. */
static int read_by_section(const struct elf_file *file, struct eh_section *section, bool *found_any)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	int err = elf_sections_read(file, &sections);

	*found_any = false;
	if (err)
		return err == -EBADMSG ? -ENOENT : err;
	for (size_t i = 0; i < sections.list.count; i++) {
		const struct elf_section *header = &sections.list.items[i];

		if (strcmp(header->name, ".eh_frame") != 0)
			continue;
		*found_any = true;
		if (header->type == SHT_NOBITS || header->compressed)
			continue;
		section->address = header->address;
		section->exact = true;
		return read_bytes(file, header->offset, header->size, section);
	}
	return -ENOENT;
}

static int find_program_header(const struct elf_file *file, Elf64_Phdr *found)
{
	Elf64_Ehdr header;
	int err = elf_file_read_exact(file, 0, &header, sizeof(header));

	/* More headers than e_phnum can tell: no executable has those. */
	if (!err && (header.e_phnum == PN_XNUM || header.e_phentsize != sizeof(*found)))
		err = -ENOENT;
	for (size_t i = 0; !err && i < header.e_phnum; i++) {
		uint64_t offset;

		if (__builtin_add_overflow(header.e_phoff, i * sizeof(*found), &offset))
			return -EBADMSG;
		err = elf_file_read_exact(file, offset, found, sizeof(*found));
		if (!err && found->p_type == PT_GNU_EH_FRAME)
			return 0;
	}
	return err ? err : -ENOENT;
}

static int read_frame_pointer(const struct elf_file *file, uint64_t *address)
{
	uint8_t bytes[HEADER_MAX_BYTES];
	struct byte_reader reader;
	struct eh_place place;
	Elf64_Phdr program;
	uint8_t encoding;
	ssize_t got;
	int err = find_program_header(file, &program);

	if (err)
		return err;
	got = elf_file_read(file, program.p_offset, bytes, MIN(sizeof(bytes), program.p_filesz));
	if (got < 0)
		return (int)got;
	reader = byte_reader(bytes, (size_t)got);
	place = (struct eh_place){bytes, program.p_vaddr};
	if (byte_reader_u8(&reader) != HEADER_VERSION)
		return -EBADMSG;
	encoding = byte_reader_u8(&reader);
	/* The encodings of the search table, which a pass over all frames does not need. */
	byte_reader_take(&reader, 2);
	return eh_pointer_read(&reader, encoding, &place, address) ? 0 : -EBADMSG;
}

/* What the file holds of the segment from `address` on. */
static int read_by_segment(const struct elf_file *file, struct eh_section *section)
{
	uint64_t address, offset;
	int err = read_frame_pointer(file, &address);

	if (err)
		return err;
	for (size_t i = 0; i < file->segments.count; i++) {
		const struct elf_segment *segment = &file->segments.items[i];
		uint64_t skipped = address - segment->vaddr;

		if (address < segment->vaddr || skipped >= segment->file_size)
			continue;
		offset = segment->offset + skipped;
		if (offset >= file->size)
			return -EBADMSG;
		section->address = address;
		section->exact = false;
		return read_bytes(
			file, offset,
			MIN(MIN(segment->file_size - skipped, file->size - offset), EH_MAX_BYTES),
			section);
	}
	return -EBADMSG;
}

int eh_section_read(const struct elf_file *file, struct eh_section *section)
{
	struct eh_section read = {0};
	bool found_any;
	int err = read_by_section(file, &read, &found_any);

	if (err == -ENOENT && !found_any)
		err = read_by_segment(file, &read);
	if (!err)
		*section = read;
	return err;
}

void eh_section_free(struct eh_section *section)
{
	free(section->bytes);
	section->bytes = NULL;
}
