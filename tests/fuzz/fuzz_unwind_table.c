// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the row compiler: the input is a whole ELF file.
 *
 * Seeds: small shared objects, whole. -max_len must hold them.
 */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_file.h"
#include "binary/parse/unwind_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Requirements of a walk: ascending rows of known kinds. */
static void check(const struct unwind_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct lm_unwind_row *row = &table->rows[i];

		if (row->kind >= LM_UNWIND_MAX_ || (i && row->pc <= row[-1].pc) ||
		    unwind_table_find(table, row->pc) != row)
			abort();
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = memfd_create("fuzz", MFD_CLOEXEC);

	if (fd < 0 || write(fd, data, size) != (ssize_t)size)
		return 0;
	if (!elf_file_open(fd, &machine_abi, &file) && !unwind_table_compile(&file, &table))
		check(&table);
	return 0;
}
