// SPDX-License-Identifier: GPL-2.0-or-later
/* The allocator table: the meaning of names. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "binary/arch/control_flow.h"
#include "binary/parse/allocators.h"
#include "leakmon_abi.h"

static int allocator_find(const char *symbol, const char *own_prefix, enum allocator_prefix *prefix)
{
	struct allocator_index index;

	allocator_index_make(&index);
	return allocator_index_find(&index, symbol, own_prefix, prefix);
}

static void names_are_found_behind_the_prefixes_that_exist(void **state)
{
	static const struct {
		const char *symbol, *own_prefix;
		const char *name; /* NULL: not found */
		enum allocator_prefix prefix;
	} examples[] = {
		{"malloc", "", "malloc", PREFIX_NONE},
		{"je_malloc", "", "malloc", PREFIX_JE},
		{"_rjem_sdallocx", "", "sdallocx", PREFIX_RJEM},
		{"tc_malloc", "", "malloc", PREFIX_TC},
		{"mi_heap_realloc", "", "heap_realloc", PREFIX_MI},
		{"_Znwm", "", "_Znwm", PREFIX_NONE},
		{"mallocx", "", "mallocx", PREFIX_NONE},
		/* names that no allocator has */
		{"tc_mallocx", "", NULL, 0},
		{"heap_realloc", "", NULL, 0},
		{"malloc_usable_size", "", NULL, 0},
		{"nallocx", "", NULL, 0},
		{"new", "", NULL, 0},
		{"delete", "", NULL, 0},
		{"mall", "", NULL, 0},
		{"mallocs", "", NULL, 0},
		{"", "", NULL, 0},
		/* a prefix of the user's own: that and nothing else */
		{"my_malloc", "my_", "malloc", PREFIX_NONE},
		{"my_free_sized", "my_", "free_sized", PREFIX_NONE},
		{"malloc", "my_", NULL, 0},
		{"je_malloc", "my_", NULL, 0},
		{"my_new", "my_", NULL, 0}, /* any constructor may be called so */
		{"my_expand", "my_", NULL, 0},
		{"mi_expand", "mi_", "expand", PREFIX_MI},
		{"mi_new", "mi_", "new", PREFIX_MI},
		{"malloc", "je_", NULL, 0},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(examples); i++) {
		enum allocator_prefix prefix = PREFIX_MAX_;
		int row = allocator_find(examples[i].symbol, examples[i].own_prefix, &prefix);
		const char *name = row < 0 ? NULL : allocator_functions[row].name;

		if (!examples[i].name && row == -ENOENT)
			continue;
		if (!examples[i].name || !name || strcmp(name, examples[i].name) ||
		    prefix != examples[i].prefix)
			fail_msg("%s behind `%s`: %s, prefix %d", examples[i].symbol,
				 examples[i].own_prefix, name ? name : "not found", (int)prefix);
	}
}

static void no_name_stands_twice_behind_one_prefix(void **state)
{
	(void)state;
	for (size_t i = 0; i < allocator_function_count; i++) {
		for (size_t j = 0; j < i; j++) {
			if (!strcmp(allocator_functions[i].name, allocator_functions[j].name))
				assert_int_equal(allocator_functions[i].prefixes &
							 allocator_functions[j].prefixes,
						 0);
		}
	}
}

/* A function without a return probe has a result all the same, and vice versa. */
static void what_throws_carries_no_return_probe(void **state)
{
	(void)state;
	for (size_t i = 0; i < SHAPE_MAX_; i++) {
		assert_false(call_shapes[i].throws && call_shapes[i].returns);
		assert_true(call_shapes[i].allocates ==
			    (call_shapes[i].throws || call_shapes[i].returns));
		assert_true(call_shapes[i].size <= call_shapes[i].arguments &&
			    call_shapes[i].count <= call_shapes[i].arguments &&
			    call_shapes[i].pointer <= call_shapes[i].arguments);
	}
	for (size_t i = 0; i < allocator_function_count; i++) {
		bool throwing = !strncmp(allocator_functions[i].name, "_Zn", 3) &&
				!strstr(allocator_functions[i].name, "nothrow");

		if (throwing)
			assert_true(call_shapes[allocator_functions[i].shape].throws);
		if (!strncmp(allocator_functions[i].name, "_Z", 2))
			assert_true(allocator_is_operator(i));
	}
}

static unsigned operand(uint64_t cookie, unsigned shift)
{
	return (unsigned)(cookie >> shift & LM_COOKIE_OPERAND_MASK);
}

static unsigned arguments_of(size_t row, const uint8_t *registers, bool moved)
{
	uint64_t cookie = allocator_cookie(row, registers, moved);

	return (unsigned)(cookie >> LM_COOKIE_ARGUMENTS_SHIFT & LM_COOKIE_ARGUMENTS_MASK);
}

static void the_cookie_has_the_place_of_each_operand(void **state)
{
	static const uint8_t registers[] = {7, 6, 2, 15};
	enum allocator_prefix prefix;
	uint64_t cookie;
	int row;

	(void)state;
	row = allocator_find("mi_heap_reallocn", "", &prefix);
	assert_true(row >= 0);
	cookie = allocator_cookie((size_t)row, registers, true);
	assert_int_equal(cookie & LM_COOKIE_FUNCTION_MASK, row);
	assert_int_equal(operand(cookie, LM_COOKIE_POINTER_SHIFT), 1 + 6);
	assert_int_equal(operand(cookie, LM_COOKIE_COUNT_SHIFT), 1 + 2);
	assert_int_equal(operand(cookie, LM_COOKIE_SIZE_SHIFT), 1 + 15);
	assert_int_equal(cookie >> 31, 0);
	row = allocator_find("reallocf", "", &prefix);
	cookie = allocator_cookie((size_t)row, registers, true);
	assert_int_equal(cookie & (LM_COOKIE_OR_FREE | LM_COOKIE_IN_PLACE), LM_COOKIE_OR_FREE);
	assert_int_equal(operand(cookie, LM_COOKIE_POINTER_SHIFT), 1 + 7);
	assert_int_equal(operand(cookie, LM_COOKIE_COUNT_SHIFT), 0);
	row = allocator_find("xallocx", "", &prefix);
	cookie = allocator_cookie((size_t)row, registers, true);
	assert_int_equal(cookie & (LM_COOKIE_OR_FREE | LM_COOKIE_IN_PLACE), LM_COOKIE_IN_PLACE);
	row = allocator_find("realloc", "", &prefix);
	assert_int_equal(arguments_of((size_t)row, registers, false), LM_ARGUMENTS_POINTER_SIZE);
	assert_int_equal(arguments_of((size_t)row, registers, true), LM_ARGUMENTS_NAMED);
}

static void functions_that_never_return_are_known(void **state)
{
	(void)state;
	assert_true(control_flow_never_returns("abort"));
	assert_true(control_flow_never_returns("_ZSt17__throw_bad_allocv"));
	assert_true(control_flow_never_returns("_ZSt20__throw_system_errori"));
	assert_true(control_flow_never_returns("_Unwind_Resume"));
	assert_false(control_flow_never_returns("malloc"));
	assert_false(control_flow_never_returns("aborted"));
	assert_false(control_flow_never_returns(""));
}

/* A binary search finds each only if no name has two rows. */
static void every_row_is_found_by_its_name(void **state)
{
	enum allocator_prefix prefix;
	char name[128];

	(void)state;
	for (size_t i = 0; i < allocator_function_count; i++) {
		for (unsigned k = 0; k < PREFIX_MAX_; k++) {
			if (!(allocator_functions[i].prefixes & 1u << k))
				continue;
			snprintf(name, sizeof(name), "%s%s", allocator_prefixes[k],
				 allocator_functions[i].name);
			assert_int_equal(allocator_find(name, "", &prefix), i);
			assert_int_equal(prefix, k);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_are_found_behind_the_prefixes_that_exist),
		cmocka_unit_test(no_name_stands_twice_behind_one_prefix),
		cmocka_unit_test(every_row_is_found_by_its_name),
		cmocka_unit_test(what_throws_carries_no_return_probe),
		cmocka_unit_test(the_cookie_has_the_place_of_each_operand),
		cmocka_unit_test(functions_that_never_return_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
