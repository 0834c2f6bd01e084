// SPDX-License-Identifier: GPL-2.0-or-later
/* Numbers among variables of a file made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "binary/elf/elf_numbers.h"

#define VADDR 0x404000ull

static const uint64_t data[] = {
	0x12345678,	   /* 0: a number */
	0xffff,		   /* 1: no memory there */
	0x404010,	   /* 2: a separate variable */
	0x1f00000000ull,   /* 3: no number of 32 bits */
	0xfffffff8,	   /* 4: a number */
	0x555500001000ull, /* 5 */
	0x10000,	   /* 6: a number */
	0x7f0000,	   /* 7: after the end of the file */
};
#define FILE_BYTES (7 * 8 + 4)

static void open_file(struct elf_file *file)
{
	static struct elf_segment segments[] = {
		{.offset = 0,
		 .vaddr = VADDR,
		 .file_size = FILE_BYTES,
		 .memory_size = 0x1000,
		 .writable = true},
		{.offset = 0, .vaddr = 0x800000, .file_size = FILE_BYTES, .memory_size = 0x1000},
	};

	*file = (struct elf_file){.fd = -1, .memory = data, .size = sizeof(data)};
	file->segments.items = segments;
	file->segments.count = 2;
}

static void they_are_words_below_4_gib_that_the_file_has(void **state)
{
	static const struct elf_number wanted[] = {
		{VADDR, 0x12345678}, {VADDR + 32, 0xfffffff8}, {VADDR + 48, 0x10000}};
	struct elf_numbers numbers = {0};
	struct elf_file file;

	(void)state;
	open_file(&file);
	assert_int_equal(elf_numbers_read(&file, &numbers), 0);
	assert_int_equal(numbers.count, 3);
	assert_memory_equal(numbers.items, wanted, sizeof(wanted));
	assert_true(elf_numbers_have(&numbers, VADDR + 32, 0xfffffff8));
	assert_false(elf_numbers_have(&numbers, VADDR + 32, 0xfffffff0));
	assert_false(elf_numbers_have(&numbers, VADDR + 40, 0xfffffff8));
	assert_false(elf_numbers_have(&numbers, VADDR + 64, 0));
	vec_free(&numbers);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_words_below_4_gib_that_the_file_has),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
