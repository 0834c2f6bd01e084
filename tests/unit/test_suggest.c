// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cli/command_line.h"

static void the_nearest_name_within_two_edits_is_suggested(void **state)
{
	static const char *const names[] = {"older", "output", "obj", "min-size", "max-size"};
	static const struct {
		const char *word, *expected;
	} examples[] = {
		{"oldr", "older"},
		{"odler", "older"},
		{"older=5", "older"},
		{"outptu=x", "output"},
		{"min_size", "min-size"},
		{"mx-size", "max-size"},
		{"maxsize", "max-size"},
		{"o", NULL},
		{"obk", "obj"},
		{"oxy", NULL},
		{"xyz", NULL},
		{"", NULL},
		{"=", NULL},
		{"oldest-of-all", NULL},
		{"a-word-that-is-longer-than-any-name-there-is", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		const char *found = suggest(examples[i].word, names, ARRAY_SIZE(names));
		const char *expected = examples[i].expected;

		if (found != expected && (!found || !expected || strcmp(found, expected)))
			fail_msg("`%s`: %s", examples[i].word, found ? found : "nothing");
	}
}

static void nothing_is_suggested_from_nothing(void **state)
{
	(void)state;
	assert_null(suggest("older", NULL, 0));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_nearest_name_within_two_edits_is_suggested),
		cmocka_unit_test(nothing_is_suggested_from_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
