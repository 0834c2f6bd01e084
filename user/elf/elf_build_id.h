/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The build-id of an ELF file while elf_file_open() reads it. Internal to elf/. */
#ifndef LEAKMON_ELF_ELF_BUILD_ID_H
#define LEAKMON_ELF_ELF_BUILD_ID_H

#include "elf/elf_file.h"

/*
 * Fills file->build_id from the notes at `offset`, or from the section of that name: separate debug
 * files may have lost the PT_NOTE's place but keep the section. 0, also when there is none; -EIO;
 * -ENOMEM.
 */
int elf_build_id_from_notes(struct elf_file *file, uint64_t offset, uint64_t size,
			    uint64_t alignment);
int elf_build_id_from_section(struct elf_file *file);

#endif
