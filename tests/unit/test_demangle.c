// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"
#include "process/symbol/demangle.h"

static void cxx_and_rust_names_become_readable_and_others_stay(void **state)
{
	static const struct {
		const char *mangled, *readable;
	} cases[] = {
		{"_ZN3foo3barEi", "foo::bar(int)"},
		{"_Znwm", "operator new(unsigned long)"},
		{"_Z5applyIiEvT_", "apply<int>(int)"},
		{"_ZN3foo3barEv.cold", "foo::bar() [clone .cold]"},
		{"_ZN4core3fmt5Write9write_fmt17h0123456789abcdefE", "core::fmt::Write::write_fmt"},
		{"_RNvC7mycrate4main", "mycrate::main"},
		{"malloc", NULL},
		{"_start", NULL},
		{"__libc_malloc", NULL},
		{"_Z", NULL},
		{"_ZN3fooE3", NULL},
		{"", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *readable = demangle(cases[i].mangled);

		if (!cases[i].readable)
			assert_null(readable);
		else
			assert_string_equal(readable ? readable : "(null)", cases[i].readable);
	}
}

/* f(A, P<A, A>, P<P<A, A>, P<A, A> >, ...): each parameter is a pair of the one before. */
static void name_doubling(int times, char *name, size_t size)
{
	size_t used = (size_t)snprintf(name, size, "_Z1f1A1PIS_S_E");

	for (int i = 1; i < times; i++) {
		char previous = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[i];

		used += (size_t)snprintf(name + used, size - used, "S0_IS%c_S%c_E", previous,
					 previous);
	}
}

static void a_name_that_expands_without_end_is_given_up(void **state)
{
	_cleanup_free_ char *readable = NULL;
	char name[1024];

	(void)state;
	name_doubling(2, name, sizeof(name));
	readable = demangle(name);
	assert_string_equal(readable, "f(A, P<A, A>, P<P<A, A>, P<A, A> >)");
	name_doubling(35, name, sizeof(name));
	assert_null(demangle(name));
}

static void a_name_of_more_than_4096_bytes_is_not_tried(void **state)
{
	char name[5000];

	(void)state;
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 2] = 'i';
	name[sizeof(name) - 1] = '\0';
	assert_null(demangle(name));
}

static void deep_nesting_is_survived(void **state)
{
	char name[4096];

	(void)state;
	memset(name, 'P', sizeof(name));
	memcpy(name, "_Z1f", 4);
	name[sizeof(name) - 2] = 'i';
	name[sizeof(name) - 1] = '\0';
	free(demangle(name));
	memset(name + 4, 'N', sizeof(name) - 5);
	free(demangle(name));
	memcpy(name, "_RNv", 4);
	free(demangle(name));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(cxx_and_rust_names_become_readable_and_others_stay),
		cmocka_unit_test(a_name_that_expands_without_end_is_given_up),
		cmocka_unit_test(a_name_of_more_than_4096_bytes_is_not_tried),
		cmocka_unit_test(deep_nesting_is_survived),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
