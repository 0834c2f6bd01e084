// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "base/text.h"

static void valid_sequences_decode_to_their_code_point(void **state)
{
	static const struct {
		const char *text;
		size_t length;
		uint32_t code;
	} cases[] = {
		{"A", 1, 'A'},
		{"\x7f", 1, 0x7f},
		{"\xc2\x80", 2, 0x80},
		{"\xdf\xbf", 2, 0x7ff},
		{"\xe0\xa0\x80", 3, 0x800},
		{"\xed\x9f\xbf", 3, 0xd7ff},
		{"\xee\x80\x80", 3, 0xe000},
		{"\xef\xbf\xbf", 3, 0xffff},
		{"\xf0\x90\x80\x80", 4, 0x10000},
		{"\xf4\x8f\xbf\xbf", 4, 0x10ffff},
		{"\xc3\xa9\xff", 2, 0xe9},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t code = 0;

		assert_int_equal(text_decode_utf8(cases[i].text, &code), cases[i].length);
		assert_int_equal(code, cases[i].code);
	}
}

static void invalid_sequences_give_0_and_leave_the_code_alone(void **state)
{
	static const char *const cases[] = {
		"",			/* the end */
		"\x80",			/* continuation without a lead */
		"\xbf",			/* the same */
		"\xc3",			/* truncated */
		"\xe2\x82",		/* truncated */
		"\xf0\x9f\x90",		/* truncated */
		"\xc3(",		/* no continuation */
		"\xe2(\xa1",		/* no continuation */
		"\xc0\x80",		/* overlong NUL */
		"\xc1\xbf",		/* overlong */
		"\xe0\x9f\xbf",		/* overlong */
		"\xf0\x8f\xbf\xbf",	/* overlong */
		"\xed\xa0\x80",		/* surrogate */
		"\xed\xbf\xbf",		/* surrogate */
		"\xf4\x90\x80\x80",	/* above U+10FFFF */
		"\xf7\xbf\xbf\xbf",	/* above U+10FFFF */
		"\xf8\x88\x80\x80\x80", /* five bytes */
		"\xfe",
		"\xff",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint32_t code = 0x1234;

		assert_int_equal(text_decode_utf8(cases[i], &code), 0);
		assert_int_equal(code, 0x1234);
	}
}

static void controls_and_invisible_code_points_are_not_printable(void **state)
{
	static const struct {
		uint32_t first, last;
	} hidden[] = {
		{0x00, 0x1f},	      {0x7f, 0x9f},	  {0xad, 0xad},	      {0x61c, 0x61c},
		{0x180e, 0x180e},     {0x200b, 0x200f},	  {0x2028, 0x202e},   {0x2060, 0x206f},
		{0xd800, 0xdfff},     {0xfdd0, 0xfdef},	  {0xfeff, 0xfeff},   {0xfff9, 0xfffb},
		{0xfffe, 0xffff},     {0x1fffe, 0x1ffff}, {0xe0000, 0xe007f}, {0xefffe, 0xeffff},
		{0x10fffe, 0x10ffff},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(hidden); i++) {
		for (uint32_t code = hidden[i].first; code <= hidden[i].last; code++)
			assert_false(text_is_printable(code));
		/* The predecessor of U+0000 is nothing, that of a plane a noncharacter. */
		if (hidden[i].first & 0xffff)
			assert_true(text_is_printable(hidden[i].first - 1));
	}
	assert_false(text_is_printable(0x110000));
	assert_false(text_is_printable(UINT32_MAX));
}

static void letters_of_every_script_are_printable(void **state)
{
	static const uint32_t codes[] = {' ',	 '~',	 0xa0,	 0xac,	 0xae,	  0xe9,	  0x61b,
					 0x61d,	 0x200a, 0x2010, 0x2027, 0x202f,  0x2070, 0x6f22,
					 0xfdcf, 0xfdf0, 0xfffc, 0xfffd, 0x1f41b, 0xe0100};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(codes); i++)
		assert_true(text_is_printable(codes[i]));
}

static void inert_text_is_readable_and_harmless(void **state)
{
	static const struct {
		const char *text, *inert;
	} cases[] = {
		{"", ""},
		{"plain text", "plain text"},
		{"stra\xc3\x9f"
		 "e",
		 "stra\xc3\x9f"
		 "e"},
		{"a\nb\tc\rd", "a\\x0ab\\x09c\\x0dd"},
		{"\033[31mred", "\\x1b[31mred"},
		{"\xc2\x9b"
		 "2J",
		 "\\x9b2J"},
		{"\xe2\x80\xae"
		 "txt",
		 "\\u{202e}txt"},
		{"\xf3\xa0\x81\x81", "\\u{e0041}"},
		{"\xff", "\xef\xbf\xbd"},
		{"x\xc3", "x\xef\xbf\xbd"},
		{"\xc0\xaf", "\xef\xbf\xbd\xef\xbf\xbd"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *inert = text_inert(cases[i].text);

		assert_string_equal(inert, cases[i].inert);
	}
}

static void nested_classes_are_found_as_their_source_has_them(void **state)
{
	static const struct {
		const char *name, *wanted;
		int place; /* -1: none */
	} cases[] = {
		{"com.shop.Server$Session", "Server.Session", 9},
		{"Shop.Server+Session<int>", "Server.Session", 5},
		{"com.shop.Server$Session", "Server$Session", 9},
		{"com.shop.Server", "shop.Server", 4},
		{"com.shop.Server", "shop$Server", -1},
		{"com.shop.Server", "Server.Session", -1},
		{"a.a.b", "a.b", 2},
		{"Server", "", 0},
		{"", "", 0},
		{"", ".", -1},
		{"Server", "Server.", -1},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		const char *found = text_find_class(cases[i].name, cases[i].wanted);

		if ((found ? found - cases[i].name : -1) != cases[i].place)
			fail_msg("case %zu", i);
	}
}

static void a_source_file_is_called_by_its_package(void **state)
{
	static const struct {
		const char *path, *name;
	} cases[] = {
		{"/srv/app/server.js", "server.js"},
		{"server.js", "server.js"},
		{"/srv/node_modules/mem/index.js", "mem/index.js"},
		{"/srv/node_modules/a/node_modules/@b/c/lib/d.js", "@b/c/lib/d.js"},
		{"/usr/lib/python3/dist-packages/lxml/html/__init__.py", "lxml/html/__init__.py"},
		{"/usr/lib/python3.11/site-packages/six.py", "six.py"},
		{"node:internal/timers", "node:internal/timers"},
		{"/srv/node_modules/", "/srv/node_modules/"},
		{"/srv/my_node_modules/x.js", "x.js"},
		{"", ""},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_string_equal(text_path_in_package(cases[i].path), cases[i].name);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(valid_sequences_decode_to_their_code_point),
		cmocka_unit_test(invalid_sequences_give_0_and_leave_the_code_alone),
		cmocka_unit_test(controls_and_invisible_code_points_are_not_printable),
		cmocka_unit_test(letters_of_every_script_are_printable),
		cmocka_unit_test(inert_text_is_readable_and_harmless),
		cmocka_unit_test(nested_classes_are_found_as_their_source_has_them),
		cmocka_unit_test(a_source_file_is_called_by_its_package),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
