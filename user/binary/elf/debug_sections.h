/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Checks a file's debug sections before libdw reads them. */
#ifndef LEAKMON_ELF_DEBUG_SECTIONS_H
#define LEAKMON_ELF_DEBUG_SECTIONS_H

#include <limits.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

#define DEBUG_MAX_BYTES (1ull << 30)

/* .gnu_debugaltlink: the supplementary file that dwz shares between several files. */
struct debug_link {
	char name[PATH_MAX]; /* "": none */
	char build_id[82];   /* lower-case hex */
};

/*
 * Returns 0 if it has line information that libdw may read; -ENOENT: it has none (with link ==
 * NULL: no DWARF at all); -ENOTSUP: zstd-compressed; -EFBIG: more than DEBUG_MAX_BYTES once
 * decompressed; -EBADMSG, -ENOEXEC; -EIO; -ENOMEM. *link, if not NULL, is filled when the result is
 * 0.
 */
int debug_sections_check(int fd, const struct elf_abi *abi, struct debug_link *link);

/* A file's references to its debug information. */
struct debug_description {
	char build_id[82];	     /* lower-case hex; "": none */
	char link[NAME_MAX + 1];     /* .gnu_debuglink: a file name; "": none */
	int32_t lines;		     /* its own: the result of debug_sections_check() with a link */
	struct debug_link alternate; /* if `lines` is 0 */
};

/*
 * Returns 0; -ENOEXEC, -EBADMSG: not a readable ELF file; -EIO; -ENOMEM. *description is untouched
 * on error.
 */
int debug_describe(int fd, const struct elf_abi *abi, struct debug_description *description);

/*
 * The functions removed by stripping, as Fedora and others put them back: an ELF file with nothing
 * but .symtab, compressed with xz, in the section .gnu_debugdata (gdb manual, "Debugging
 * information in a special section").
 */

#define MINI_DEBUG_MAX_BYTES (64u << 20) /* once decompressed, and the memory for decompression */

/*
 * Reads the functions in .gnu_debugdata of `file`, addresses as in the file itself. Returns 0 (then
 * the caller frees *symbols); -ENOENT: no such section; -EFBIG: too large; -EBADMSG, -ENOEXEC;
 * -EIO; -ENOMEM. *symbols is untouched on errors.
 */
int mini_debug_read(const struct elf_file *file, struct elf_symbols *symbols);

#endif
