/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Parts of CPython's interpreter that lie elsewhere. A compiler with a profile (GCC's
 * -freorder-blocks-and-partition) puts what hardly ran in it into a part "FUNCTION.cold", which
 * only .symtab names; of that one function it may be nearly all.
 */
#ifndef LEAKMON_PARSE_FAR_PART_H
#define LEAKMON_PARSE_FAR_PART_H

#include "binary/elf/elf_file.h"

/*
 * Adds a function for such a part, if the file has the interpreter: where branches out of it lead
 * into the middle of another function, as unwind information has them, which has no name. 0, also
 * if there is none, or it cannot be told; -ENOMEM. `symbols` are those of a file without .symtab.
 */
int far_part_add(const struct elf_file *file, struct elf_symbols *symbols);

#endif
