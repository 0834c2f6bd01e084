/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Numbers among a file's variables: words below 4 GiB in the writable parts of its segments. If
 * memory still has the same word, it is not a pointer that the process stored, whatever it looks
 * like.
 */
#ifndef LEAKMON_ELF_ELF_NUMBERS_H
#define LEAKMON_ELF_ELF_NUMBERS_H

#include <stdbool.h>

#include "binary/elf/elf_file.h"

struct elf_number {
	uint32_t vaddr; /* a multiple of 8; words of the file beyond 4 GiB are left out */
	uint32_t value;
};
struct elf_numbers {
	struct elf_number *items; /* by ascending vaddr */
	size_t count, capacity;
};

#define ELF_NUMBERS_MAX (1u << 17) /* the rest is left out */

/* Reads the numbers; addresses within the file itself are left out. Returns 0; -EIO; -ENOMEM. */
int elf_numbers_read(const struct elf_file *file, struct elf_numbers *numbers);

/* Returns whether the file has that number at vaddr. */
bool elf_numbers_have(const struct elf_numbers *numbers, uint64_t vaddr, uint64_t value);

#endif
