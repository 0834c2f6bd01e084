// SPDX-License-Identifier: GPL-2.0-or-later
#include "elf/elf_build_id.h"

#include <elf.h>
#include <errno.h>

#include "base/cleanup.h"
#include "elf/elf_sections.h"

#define MAX_NOTES_BYTES 65536
#define MAX_BUILD_ID_BYTES 40

_Static_assert(sizeof(((struct elf_file *)0)->build_id) > 2 * MAX_BUILD_ID_BYTES, "hex fits");

static void print_hex(const uint8_t *bytes, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < size; i++) {
		*text++ = digits[bytes[i] >> 4];
		*text++ = digits[bytes[i] & 15];
	}
	*text = '\0';
}

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
	return (value + alignment - 1) & ~(alignment - 1);
}

/* Notes are padded to 4 bytes, or to 8 in segments aligned to 8 (gABI, "Note Section"). */
static void parse_notes(const uint8_t *notes, uint64_t size, uint64_t alignment, char *build_id)
{
	uint64_t at = 0;

	while (at < size && size - at >= sizeof(Elf64_Nhdr)) {
		uint64_t name = at + sizeof(Elf64_Nhdr), text;
		Elf64_Nhdr note;

		memcpy(&note, notes + at, sizeof(note));
		text = round_up(name + note.n_namesz, alignment);
		if (text + note.n_descsz > size)
			return;
		if (note.n_type == NT_GNU_BUILD_ID && note.n_namesz == sizeof(ELF_NOTE_GNU) &&
		    !memcmp(notes + name, ELF_NOTE_GNU, sizeof(ELF_NOTE_GNU)) &&
		    note.n_descsz > 0 && note.n_descsz <= MAX_BUILD_ID_BYTES) {
			print_hex(notes + text, note.n_descsz, build_id);
			return;
		}
		at = round_up(text + note.n_descsz, alignment);
	}
}

int elf_build_id_from_notes(struct elf_file *file, uint64_t offset, uint64_t size,
			    uint64_t alignment)
{
	_cleanup_free_ uint8_t *notes = NULL;
	ssize_t got;

	size = MIN(size, MAX_NOTES_BYTES);
	notes = malloc(size ? size : 1);
	if (!notes)
		return -ENOMEM;
	got = elf_file_read(file, offset, notes, size);
	if (got < 0)
		return (int)got;
	parse_notes(notes, (uint64_t)got, alignment == 8 ? 8 : 4, file->build_id);
	return 0;
}

int elf_build_id_from_section(struct elf_file *file)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	const struct elf_section *section;
	int err = elf_sections_read(file, &sections);

	if (err)
		return err == -ENOMEM || err == -EIO ? err : 0;
	section = elf_sections_find(&sections, ".note.gnu.build-id");
	if (!section || section->type != SHT_NOTE)
		return 0;
	return elf_build_id_from_notes(file, section->offset, section->size, 4);
}
