// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>

#include "base/cleanup.h"
#include "base/cli/values.h"

#define UNTOUCHED 77

struct example {
	const char *text;
	int result;
	uint64_t value; /* of the accepted ones */
};

static void check_all(int (*parse)(const char *, uint64_t *), const struct example *examples,
		      size_t count)
{
	for (size_t i = 0; i < count; i++) {
		uint64_t value = UNTOUCHED, expected = examples[i].value;
		int result = parse(examples[i].text, &value);

		if (examples[i].result)
			expected = UNTOUCHED;
		if (result != examples[i].result || value != expected)
			fail_msg("`%s`: %d, %llu", examples[i].text, result,
				 (unsigned long long)value);
	}
}

static void numbers_are_digits_and_nothing_else(void **state)
{
	static const struct example examples[] = {
		{"0", 0, 0},
		{"5", 0, 5},
		{"007", 0, 7},
		{"18446744073709551615", 0, UINT64_MAX},
		{"18446744073709551616", -ERANGE, 0},
		{"99999999999999999999999999", -ERANGE, 0},
		{"", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"+1", -EINVAL, 0},
		{" 1", -EINVAL, 0},
		{"1 ", -EINVAL, 0},
		{"0x10", -EINVAL, 0},
		{"1.5", -EINVAL, 0},
		{"1e3", -EINVAL, 0},
		{"99999999999999999999999999x", -EINVAL, 0},
		{"abc", -EINVAL, 0},
	};

	(void)state;
	check_all(value_parse_number, examples, ARRAY_SIZE(examples));
}

static void sizes_take_one_binary_unit(void **state)
{
	static const struct example examples[] = {
		{"4096", 0, 4096},
		{"64K", 0, 65536},
		{"64k", 0, 65536},
		{"10M", 0, 10485760},
		{"2G", 0, 2147483648},
		{"0G", 0, 0},
		{"17179869183G", 0, 18446744072635809792u},
		{"17179869184G", -ERANGE, 0},
		{"18446744073709551616", -ERANGE, 0},
		{"K", -EINVAL, 0},
		{"1KB", -EINVAL, 0},
		{"1T", -EINVAL, 0},
		{"1.5K", -EINVAL, 0},
		{"-1K", -EINVAL, 0},
		{"1 K", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	check_all(value_parse_size, examples, ARRAY_SIZE(examples));
}

static void seconds_have_up_to_nine_decimals(void **state)
{
	static const struct example examples[] = {
		{"5", 0, 5000000000},
		{"0.5", 0, 500000000},
		{"0.05", 0, 50000000},
		{"1.000000001", 0, 1000000001},
		{"18446744073.709551615", 0, UINT64_MAX},
		{"18446744073.709551616", -ERANGE, 0},
		{"18446744074", -ERANGE, 0},
		{"99999999999999999999", -ERANGE, 0},
		{"1.0000000001", -EINVAL, 0},
		{"1.", -EINVAL, 0},
		{".5", -EINVAL, 0},
		{"0,5", -EINVAL, 0},
		{"1.5s", -EINVAL, 0},
		{"-1", -EINVAL, 0},
		{"nan", -EINVAL, 0},
		{"", -EINVAL, 0},
	};

	(void)state;
	check_all(value_parse_seconds, examples, ARRAY_SIZE(examples));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_digits_and_nothing_else),
		cmocka_unit_test(sizes_take_one_binary_unit),
		cmocka_unit_test(seconds_have_up_to_nine_decimals),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
