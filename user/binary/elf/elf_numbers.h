/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers among a file's variables: words below 4 GiB that the file has in the parts of its
 * segments that can be written. Where memory still has the same word, it is no address that the
 * process has made, whatever it looks like.
 */
#ifndef LEAKMON_ELF_ELF_NUMBERS_H
#define LEAKMON_ELF_ELF_NUMBERS_H

#include <stdbool.h>

#include "binary/elf/elf_file.h"

struct elf_number {
	uint32_t vaddr; /* a multiple of 8; words beyond 4 GiB in the file are left out */
	uint32_t value;
};
struct elf_numbers {
	struct elf_number *items; /* by ascending vaddr */
	size_t count, capacity;
};

#define ELF_NUMBERS_MAX (1u << 17) /* what is beyond is left out */

/* Addresses in the file itself are left out. 0; -EIO; -ENOMEM. */
int elf_numbers_read(const struct elf_file *file, struct elf_numbers *numbers);

/* Whether the word at vaddr is that number in the file. */
bool elf_numbers_have(const struct elf_numbers *numbers, uint64_t vaddr, uint64_t value);

#endif
