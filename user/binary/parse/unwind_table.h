/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Compiles .eh_frame to unwind rows, in one pass over the section.
 *
 * Sources: LSB Core 5.0, 10.6 "Exception Frames" (the section's format); DWARF 5, 6.4 "Call Frame
 * Information" (the instructions); the psABI (register numbers).
 */
#ifndef LEAKMON_PARSE_UNWIND_TABLE_H
#define LEAKMON_PARSE_UNWIND_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/sandbox/parse_kind.h"
#include "binary/elf/elf_file.h"
#include "leakmon_abi.h"

struct unwind_table {
	/*
	 * lowest PT_LOAD address, rounded down to 1 << LM_UNWIND_PAGE_SHIFT: rows count from here
	 */
	uint64_t base;
	struct lm_unwind_row *rows; /* ascending pc, no two successive ones equal; owned */
	size_t count;
};

/*
 * Compiles the file's rows. A gap between functions becomes a LM_UNWIND_NONE row, so that every
 * address from the first function on has exactly one covering row. Returns 0 (also if the file has
 * no .eh_frame: count is 0), -ENOEXEC, -EBADMSG (inconsistent), -EFBIG (over the cap on rows),
 * -EIO, -ENOMEM; *table is untouched on error.
 */
int unwind_table_compile(const struct elf_file *file, struct unwind_table *table);
void unwind_table_free(struct unwind_table *table);

/* Returns the row that covers pc (relative to base), or NULL. */
const struct lm_unwind_row *unwind_table_find(const struct unwind_table *table, uint32_t pc);

/* The destination of an answer. */
struct unwind_answer {
	struct elf_file *file; /* only segments and build-id */
	struct unwind_table *table;
};

extern const struct parse_kind unwind_kind; /* -> struct unwind_answer */

int encode_unwind(const struct elf_file *file, const struct unwind_table *table,
		  struct bytes *body);

#endif
