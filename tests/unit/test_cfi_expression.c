// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dwarf.h>

#include "base/cleanup.h"
#include "binary/elf/cfi.h"
#include "unit/x86_64_abi.h"

#define PLT_HEAD DW_OP_breg7, 8, DW_OP_breg16, 0, DW_OP_lit15, DW_OP_and
#define PLT_TAIL DW_OP_ge, DW_OP_lit3, DW_OP_shl, DW_OP_plus

static void the_cfa_expressions_of_compilers_and_linkers_are_recognised(void **state)
{
	static const struct {
		uint8_t bytes[16];
		size_t size;
		enum cfa_base cfa;
		int64_t offset;
	} cases[] = {
#define CFA(base, offset, ...) {{__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), base, offset}
		CFA(CFA_PLT, 11, PLT_HEAD, DW_OP_lit11, PLT_TAIL),
		CFA(CFA_PLT, 9, PLT_HEAD, DW_OP_lit9, PLT_TAIL),
		CFA(CFA_OTHER_EXPRESSION, 77, PLT_HEAD, DW_OP_lit16, PLT_TAIL),
		CFA(CFA_OTHER_EXPRESSION, 77, PLT_HEAD, DW_OP_lit11, PLT_TAIL, DW_OP_nop),
		CFA(CFA_OTHER_EXPRESSION, 77, PLT_HEAD, DW_OP_lit11),
		CFA(CFA_FP_DEREF, -40, DW_OP_breg6, 0x58, DW_OP_deref),
		CFA(CFA_SP_DEREF, 160, DW_OP_breg7, 0xa0, 0x01, DW_OP_deref),
		CFA(CFA_OTHER_EXPRESSION, 77, DW_OP_breg3, 8, DW_OP_deref),
		CFA(CFA_OTHER_EXPRESSION, 77, DW_OP_breg7, 8, DW_OP_deref, DW_OP_plus_uconst, 8),
		CFA(CFA_OTHER_EXPRESSION, 77, DW_OP_breg7, 8),
		CFA(CFA_OTHER_EXPRESSION, 77, DW_OP_breg7, 0x80),
		CFA(CFA_OTHER_EXPRESSION, 77, DW_OP_breg7),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct cfa_rules rules = {.cfa = CFA_SP, .cfa_offset = 77};

		cfi_expression_cfa(&x86_64_abi.cfi, cases[i].bytes, cases[i].size, &rules);
		assert_int_equal(rules.cfa, cases[i].cfa);
		assert_int_equal(rules.cfa_offset, cases[i].offset);
	}
}

static void an_empty_expression_is_none_that_we_know(void **state)
{
	struct cfa_rules rules = {.cfa = CFA_SP};
	static const uint8_t nothing;

	(void)state;
	cfi_expression_cfa(&x86_64_abi.cfi, &nothing, 0, &rules);
	assert_int_equal(rules.cfa, CFA_OTHER_EXPRESSION);
	assert_int_equal(cfi_expression_saved(&x86_64_abi.cfi, &nothing, 0).place, SAVED_OTHER);
}

static void registers_saved_relative_to_rsp_and_rbp_are_recognised(void **state)
{
	static const struct {
		uint8_t bytes[4];
		size_t size;
		struct saved_rule rule;
	} cases[] = {
		{{DW_OP_breg6, 0}, 2, {0, SAVED_AT_FP}},
		{{DW_OP_breg6, 0x58}, 2, {-40, SAVED_AT_FP}},
		{{DW_OP_breg7, 0xa8, 0x01}, 3, {168, SAVED_AT_SP}},
		{{DW_OP_breg3, 0}, 2, {0, SAVED_OTHER}},
		{{DW_OP_breg6, 0, DW_OP_deref}, 3, {0, SAVED_OTHER}},
		{{DW_OP_breg6}, 1, {0, SAVED_OTHER}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct saved_rule rule =
			cfi_expression_saved(&x86_64_abi.cfi, cases[i].bytes, cases[i].size);

		assert_int_equal(rule.place, cases[i].rule.place);
		assert_int_equal(rule.offset, cases[i].rule.offset);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_cfa_expressions_of_compilers_and_linkers_are_recognised),
		cmocka_unit_test(an_empty_expression_is_none_that_we_know),
		cmocka_unit_test(registers_saved_relative_to_rsp_and_rbp_are_recognised),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
