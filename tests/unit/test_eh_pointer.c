// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>

#include "base/cleanup.h"
#include "binary/elf/eh_frame.h"

/* The pointer is 4 bytes after the start of a section at 0x1000. */
#define SECTION 0x1000ull
#define FIELD 4

static const struct {
	uint8_t encoding;
	uint8_t bytes[8];
	bool valid;
	size_t size;
	uint64_t value;
} cases[] = {
	{DW_EH_PE_absptr, {1, 2, 3, 4, 5, 6, 7, 8}, true, 8, 0x0807060504030201},
	{DW_EH_PE_udata2, {0xfe, 0xff}, true, 2, 0xfffe},
	{DW_EH_PE_udata4, {0xfe, 0xff, 0xff, 0xff}, true, 4, 0xfffffffe},
	{DW_EH_PE_udata8, {0xfe}, true, 8, 0xfe},
	{DW_EH_PE_sdata2, {0xfe, 0xff}, true, 2, (uint64_t)-2},
	{DW_EH_PE_sdata4, {0xfe, 0xff, 0xff, 0xff}, true, 4, (uint64_t)-2},
	{DW_EH_PE_sdata8, {0xfe}, true, 8, 0xfe},
	{DW_EH_PE_signed, {0xfe}, true, 8, 0xfe},
	{DW_EH_PE_uleb128, {0x80, 0x01}, true, 2, 0x80},
	{DW_EH_PE_sleb128, {0x7e}, true, 1, (uint64_t)-2},
	{DW_EH_PE_pcrel | DW_EH_PE_sdata4, {0xfe, 0xff, 0xff, 0xff}, true, 4, SECTION + 2},
	{DW_EH_PE_pcrel | DW_EH_PE_sdata4, {0}, true, 4, 0},
	{DW_EH_PE_datarel | DW_EH_PE_sdata4, {0x10}, true, 4, SECTION + 0x10},
	{DW_EH_PE_datarel | DW_EH_PE_sdata4, {0}, true, 4, 0},
	{DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4, {4}, true, 4, SECTION + 8},
	{DW_EH_PE_omit, {0}, false, 0, 0},
	{DW_EH_PE_textrel | DW_EH_PE_sdata4, {4}, false, 0, 0},
	{DW_EH_PE_funcrel | DW_EH_PE_sdata4, {4}, false, 0, 0},
	{DW_EH_PE_aligned, {4}, false, 0, 0},
	{0x05, {4}, false, 0, 0},
	{0x0f, {4}, false, 0, 0},
};

static void every_encoding_gives_its_value_and_size_or_is_refused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint8_t section[FIELD + 8] = {0};
		struct eh_place place = {section, SECTION};
		struct byte_reader reader = byte_reader(section, sizeof(section));
		uint64_t value = 77;

		memcpy(section + FIELD, cases[i].bytes, 8);
		byte_reader_take(&reader, FIELD);
		assert_int_equal(eh_pointer_read(&reader, cases[i].encoding, &place, &value),
				 cases[i].valid);
		assert_int_equal(value, cases[i].valid ? cases[i].value : 77);
		if (cases[i].valid)
			assert_int_equal(byte_reader_left(&reader), 8 - cases[i].size);
	}
}

static void a_pointer_that_is_cut_off_is_refused(void **state)
{
	static const uint8_t bytes[3] = {1, 2, 3};
	struct eh_place place = {bytes, SECTION};
	struct byte_reader reader = byte_reader(bytes, sizeof(bytes));
	uint64_t value = 77;

	(void)state;
	assert_false(eh_pointer_read(&reader, DW_EH_PE_sdata4, &place, &value));
	assert_int_equal(value, 77);
}

static void code_is_absolute_or_relative_to_the_pointer(void **state)
{
	(void)state;
	assert_true(eh_pointer_fits_code(DW_EH_PE_absptr));
	assert_true(eh_pointer_fits_code(DW_EH_PE_pcrel | DW_EH_PE_sdata4));
	assert_true(eh_pointer_fits_code(DW_EH_PE_udata4));
	assert_false(eh_pointer_fits_code(DW_EH_PE_datarel | DW_EH_PE_sdata4));
	assert_false(eh_pointer_fits_code(DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4));
	assert_false(eh_pointer_fits_code(DW_EH_PE_omit));
	assert_false(eh_pointer_fits_code(0x05));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_encoding_gives_its_value_and_size_or_is_refused),
		cmocka_unit_test(a_pointer_that_is_cut_off_is_refused),
		cmocka_unit_test(code_is_absolute_or_relative_to_the_pointer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
