/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Detached parts of CPython's interpreter. A compiler with a profile (GCC's
 * -freorder-blocks-and-partition) moves rarely executed code into a part "FUNCTION.cold", which
 * only .symtab names; for that one function it may be nearly all.
 */
#ifndef LEAKMON_PARSE_FAR_PART_H
#define LEAKMON_PARSE_FAR_PART_H

#include "binary/elf/elf_file.h"

/*
 * Adds a function for such a part, if the file has the interpreter: it is found where the
 * interpreter's branches lead into the middle of another function, by unwind information, that has
 * no name. Returns 0, also if there is none or it cannot be determined; -ENOMEM. `symbols` are
 * those of a file without .symtab.
 */
int far_part_add(const struct elf_file *file, struct elf_symbols *symbols);

#endif
