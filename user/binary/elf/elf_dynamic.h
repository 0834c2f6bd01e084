/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Finds .dynsym as the dynamic loader does: for files with stripped section headers. */
#ifndef LEAKMON_ELF_ELF_DYNAMIC_H
#define LEAKMON_ELF_ELF_DYNAMIC_H

#include <stdbool.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

/* A symbol table and its string table, as file ranges not yet checked against its size. */
struct elf_symbol_place {
	uint64_t offset, count;
	uint64_t strings_offset, strings_size;
};

/*
 * Reads PT_DYNAMIC: DT_SYMTAB, DT_STRTAB, DT_STRSZ, and the count from DT_HASH or DT_GNU_HASH.
 * Returns 0; -ENOENT: no dynamic symbols; -EBADMSG; -EIO; -ENOMEM. *place is untouched on error.
 */
int elf_dynamic_symbols(const struct elf_file *file, struct elf_symbol_place *place);

/*
 * Returns whether it is a program linked without shared libraries, at a fixed address or not
 * (static-pie).
 */
bool elf_is_static(const struct elf_file *file);

#endif
