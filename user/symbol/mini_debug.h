/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The functions that stripping took away, as Fedora and others put them back: an ELF file with
 * nothing but .symtab, compressed with xz, in the section .gnu_debugdata (gdb manual, "Debugging
 * information in a special section").
 */
#ifndef LEAKMON_SYMBOL_MINI_DEBUG_H
#define LEAKMON_SYMBOL_MINI_DEBUG_H

#include "elf/elf_file.h"

#define MINI_DEBUG_MAX_BYTES (64u << 20) /* once decompressed, and as much memory to do it */

/*
 * The functions in .gnu_debugdata of `file`, addresses as in the file itself. 0 (then the caller
 * frees *symbols); -ENOENT: there is no such section; -EFBIG: too large; -EBADMSG, -ENOEXEC; -EIO;
 * -ENOMEM. *symbols is untouched on errors.
 */
int mini_debug_read(const struct elf_file *file, struct elf_symbols *symbols);

#endif
