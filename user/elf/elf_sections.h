/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The section headers of an ELF file, with the same mistrust as elf_file.h. */
#ifndef LEAKMON_ELF_ELF_SECTIONS_H
#define LEAKMON_ELF_ELF_SECTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"
#include "elf/elf_file.h"

struct elf_section {
	const char *name; /* "" if it has none; owned by the sections */
	uint32_t type;	  /* SHT_SYMTAB, SHT_NOBITS, ... */
	uint32_t link;
	uint64_t address, offset, size;
	uint64_t entry_size;
	bool compressed; /* SHF_COMPRESSED: starts with an Elf64_Chdr */
};

struct elf_sections {
	VEC(struct elf_section) list; /* in the file's order, for sh_link and st_shndx */
	char *names;
};

/*
 * 0, also when the file has none; -EBADMSG: they lie outside the file or are too many; -EIO;
 * -ENOMEM. *sections is untouched on error. Offsets and sizes of single sections are not checked:
 * readers do that.
 */
int elf_sections_read(const struct elf_file *file, struct elf_sections *sections);
void elf_sections_free(struct elf_sections *sections);

/* The first section of that name with contents in the file (not SHT_NOBITS), or NULL. */
const struct elf_section *elf_sections_find(const struct elf_sections *sections, const char *name);

#endif
