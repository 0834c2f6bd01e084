// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "binary/elf/byte_reader.h"

static void fixed_numbers_are_little_endian_and_end_with_the_bytes(void **state)
{
	static const uint8_t bytes[] = {0x01, 0x02, 0x03, 0x04, 0x05, 0x06};
	struct byte_reader reader = byte_reader(bytes, sizeof(bytes));

	(void)state;
	assert_int_equal(byte_reader_u8(&reader), 0x01);
	assert_int_equal(byte_reader_fixed(&reader, 4), 0x05040302);
	assert_int_equal(byte_reader_left(&reader), 1);
	assert_false(reader.failed);
	assert_int_equal(byte_reader_fixed(&reader, 2), 0);
	assert_true(reader.failed);
	assert_int_equal(byte_reader_left(&reader), 0);
	assert_int_equal(byte_reader_u8(&reader), 0);
}

static void take_refuses_more_than_is_left(void **state)
{
	static const uint8_t bytes[4] = {0};
	struct byte_reader reader = byte_reader(bytes, sizeof(bytes));

	(void)state;
	assert_ptr_equal(byte_reader_take(&reader, 4), bytes);
	assert_ptr_equal(byte_reader_take(&reader, 0), bytes + 4);
	assert_false(reader.failed);
	reader = byte_reader(bytes, sizeof(bytes));
	assert_null(byte_reader_take(&reader, UINT64_MAX));
	assert_true(reader.failed);
}

static void leb128_numbers_keep_their_sign_and_are_at_most_10_bytes_long(void **state)
{
	static const struct {
		uint8_t bytes[12];
		size_t size;
		uint64_t is_unsigned;
		int64_t is_signed;
		bool failed;
	} cases[] = {
		{{0x02}, 1, 2, 2, false},
		{{0x7f}, 1, 127, -1, false},
		{{0x80, 0x01}, 2, 128, 128, false},
		{{0x80, 0x7f}, 2, 0x3f80, -128, false},
		{{0x82, 0x80, 0x80, 0x00}, 4, 2, 2, false},
		{{0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01},
		 10,
		 UINT64_MAX,
		 -1,
		 false},
		{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x7f},
		 10,
		 1ull << 63,
		 INT64_MIN,
		 false},
		{{0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x00},
		 11,
		 0,
		 0,
		 true},
		{{0x80}, 1, 0, 0, true},
		{{0}, 0, 0, 0, true},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct byte_reader reader = byte_reader(cases[i].bytes, cases[i].size);

		assert_int_equal(byte_reader_uleb128(&reader), cases[i].is_unsigned);
		assert_int_equal(reader.failed, cases[i].failed);
		assert_int_equal(byte_reader_left(&reader), 0);
		reader = byte_reader(cases[i].bytes, cases[i].size);
		assert_int_equal(byte_reader_sleb128(&reader), cases[i].is_signed);
		assert_int_equal(reader.failed, cases[i].failed);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fixed_numbers_are_little_endian_and_end_with_the_bytes),
		cmocka_unit_test(take_refuses_more_than_is_left),
		cmocka_unit_test(leb128_numbers_keep_their_sign_and_are_at_most_10_bytes_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
