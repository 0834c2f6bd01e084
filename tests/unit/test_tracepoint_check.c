// SPDX-License-Identifier: GPL-2.0-or-later
/* Against type information made here, like that of other kernel versions. */
#include "trace/probe/feature_probe.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <bpf/btf.h>
#include <cmocka.h>

#include "base/cleanup.h"

struct types {
	struct btf *btf;
	int pointer, size, number, flags;
};

static struct types types_new(void)
{
	struct types types = {.btf = btf__new_empty()};

	assert_non_null(types.btf);
	types.pointer = btf__add_ptr(types.btf, 0);
	types.size = btf__add_int(types.btf, "unsigned long", 8, 0);
	types.number = btf__add_int(types.btf, "int", 4, BTF_INT_SIGNED);
	types.flags =
		btf__add_typedef(types.btf, "gfp_t", btf__add_int(types.btf, "unsigned int", 4, 0));
	return types;
}

/* typedef void (*btf_trace_NAME)(void *data, ...) */
static void tracepoint_add(const struct types *types, const char *name, const char *letters)
{
	int function = btf__add_func_proto(types->btf, 0);

	assert_int_equal(btf__add_func_param(types->btf, "data", types->pointer), 0);
	for (; *letters; letters++) {
		int type = *letters == 'p'   ? types->pointer
			   : *letters == '8' ? types->size
			   : *letters == 'g' ? types->flags
					     : types->number;

		assert_int_equal(btf__add_func_param(types->btf, "argument", type), 0);
	}
	assert_true(btf__add_typedef(types->btf, name, btf__add_ptr(types->btf, function)) > 0);
}

static void arguments_are_checked_one_by_one(void **state)
{
	static const struct {
		const char *name, *signature;
		bool has;
	} cases[] = {
		{"kmalloc", "8p8", true},	{"kmalloc", "", true},
		{"kmalloc", "8p8844", true},	{"kmalloc", "8p88444", false},
		{"kmalloc", "8pp", false},	{"kmalloc", "4p8", false},
		{"kmalloc_5_19", "8p8", false}, /* the cache came third then */
		{"kmalloc_5_19", "8pp8", true}, {"absent", "", false},
		{"no_function", "", false},
	};
	struct types types = types_new();

	(void)state;
	tracepoint_add(&types, "btf_trace_kmalloc", "8p88g4");
	tracepoint_add(&types, "btf_trace_kmalloc_5_19", "8pp88g");
	assert_true(btf__add_typedef(types.btf, "btf_trace_no_function", types.size) > 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(tracepoint_has(types.btf, cases[i].name, cases[i].signature),
				 cases[i].has);
	btf__free(types.btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(arguments_are_checked_one_by_one),
	};

	return cmocka_run_group_tests_name("tracepoint_check", tests, NULL, NULL);
}
