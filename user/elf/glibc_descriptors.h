/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What glibc tells debuggers about its structures: constants named `_thread_db_*` (nptl_db/
 * structs.def), each {size in bits, number of elements, offset in bytes}, or one word, the value
 * itself. Many of them share one address, so they are found by name among all of a file's symbols.
 */
#ifndef LEAKMON_ELF_GLIBC_DESCRIPTORS_H
#define LEAKMON_ELF_GLIBC_DESCRIPTORS_H

#include "elf/elf_file.h"

/* What a descriptor must describe, and where its offset goes: a uint32_t in the caller's struct. */
struct glibc_descriptor {
	const char *name;
	size_t field;
	uint32_t bits; /* 0: it is one word */
	uint32_t elements;
};

/* At most 31. */
struct glibc_descriptors {
	const struct glibc_descriptor *rows;
	size_t count;
	void *into;
	unsigned found; /* a bit per row, set by glibc_descriptors_take() */
};

/*
 * Reads the descriptor that `object` is, if it is one of the rows. 0, also if it is not; -ENOENT:
 * it describes something else; -EBADMSG, -EIO.
 */
int glibc_descriptors_take(struct glibc_descriptors *descriptors, const struct elf_file *file,
			   const struct elf_symbol *object);

#endif
