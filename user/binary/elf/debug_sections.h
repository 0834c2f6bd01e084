/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Debug sections of a file, looked at before libdw gets to read them. */
#ifndef LEAKMON_ELF_DEBUG_SECTIONS_H
#define LEAKMON_ELF_DEBUG_SECTIONS_H

#include <limits.h>
#include <stdint.h>

#include "binary/elf/elf_file.h"

#define DEBUG_MAX_BYTES (1ull << 30)

/* .gnu_debugaltlink: the file that dwz shares between several. */
struct debug_link {
	char name[PATH_MAX]; /* "": there is none */
	char build_id[82];   /* lower-case hex */
};

/*
 * 0: it has line information, and libdw may read it; -ENOENT: it has none (with link == NULL: no
 * DWARF at all); -ENOTSUP: zstd-compressed; -EFBIG: more than DEBUG_MAX_BYTES once decompressed;
 * -EBADMSG, -ENOEXEC; -EIO; -ENOMEM. *link, if not NULL, is filled when the result is 0.
 */
int debug_sections_check(int fd, const struct elf_abi *abi, struct debug_link *link);

/* Where the debug information of a file is to be found. */
struct debug_description {
	char build_id[82];	     /* lower-case hex; "": it has none */
	char link[NAME_MAX + 1];     /* .gnu_debuglink: a file name; "": it has none */
	int32_t lines;		     /* of its own: as debug_sections_check() with a link */
	struct debug_link alternate; /* if `lines` is 0 */
};

/* 0; -ENOEXEC, -EBADMSG: not an ELF file we can read; -EIO; -ENOMEM. Untouched on error. */
int debug_describe(int fd, const struct elf_abi *abi, struct debug_description *description);

/*
 * The functions that stripping took away, as Fedora and others put them back: an ELF file with
 * nothing but .symtab, compressed with xz, in the section .gnu_debugdata (gdb manual, "Debugging
 * information in a special section").
 */

#define MINI_DEBUG_MAX_BYTES (64u << 20) /* once decompressed, and as much memory to do it */

/*
 * The functions in .gnu_debugdata of `file`, addresses as in the file itself. 0 (then the caller
 * frees *symbols); -ENOENT: there is no such section; -EFBIG: too large; -EBADMSG, -ENOEXEC; -EIO;
 * -ENOMEM. *symbols is untouched on errors.
 */
int mini_debug_read(const struct elf_file *file, struct elf_symbols *symbols);

#endif
