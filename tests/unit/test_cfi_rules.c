// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "binary/elf/cfi.h"
#include "binary/elf/elf_abi.h"
#include "unit/x86_64_abi.h"

#define RA                                                                                         \
	{                                                                                          \
		-8, SAVED_AT_CFA                                                                   \
	}
#define FP(n)                                                                                      \
	{                                                                                          \
		n, SAVED_AT_CFA                                                                    \
	}
#define UNSUPPORTED LM_UNWIND_UNSUPPORTED

static const struct {
	struct cfa_rules rules;
	bool signal_frame;
	struct lm_unwind_row row;
} cases[] = {
	{{16, {{0}, {0}, RA}, CFA_SP}, false, {0, 2, 0, LM_UNWIND_SP}},
	{{16, {FP(-16), {0}, RA}, CFA_FP}, false, {0, 2, -2, LM_UNWIND_FP}},
	{{16, {FP(-16), {0}, RA}, CFA_SP}, true, {0, 2, -2, LM_UNWIND_SP}},
	{{11, {{0}, {0}, RA}, CFA_PLT}, false, {0, 11, 0, LM_UNWIND_PLT}},
	{{160, {{0}, {0}, RA}, CFA_SP_DEREF}, false, {0, 20, 0, LM_UNWIND_SP_DEREF}},
	/* The frame pointer: its place, or a promise that it is not needed. */
	{{16, {{0, SAVED_UNDEFINED}, {0}, RA}, CFA_SP}, false, {0, 2, 0, LM_UNWIND_SP}},
	{{16, {{0, SAVED_SAME}, {0}, RA}, CFA_SP}, false, {0, 2, 0, LM_UNWIND_SP}},
	{{16, {{0, SAVED_OTHER}, {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {{0, SAVED_AT_FP}, {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {FP(0), {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {FP(-12), {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {FP(-1024), {0}, RA}, CFA_SP}, false, {0, 2, -128, LM_UNWIND_SP}},
	{{16, {FP(-1032), {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {FP(1016), {0}, RA}, CFA_SP}, false, {0, 2, 127, LM_UNWIND_SP}},
	{{16, {FP(1024), {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	/* A realigned stack: rbp is the frame's own, so it must have been saved. */
	{{-40, {{0, SAVED_AT_FP}, {0}, RA}, CFA_FP_DEREF}, false, {0, -5, 0, LM_UNWIND_FP_DEREF}},
	{{-40, {FP(-16), {0}, RA}, CFA_FP_DEREF}, false, {0, -5, -2, LM_UNWIND_FP_DEREF}},
	{{-40, {{8, SAVED_AT_FP}, {0}, RA}, CFA_FP_DEREF}, false, {.kind = UNSUPPORTED}},
	{{-40, {{0}, {0}, RA}, CFA_FP_DEREF}, false, {.kind = UNSUPPORTED}},
	/* The CFA. */
	{{262136, {{0}, {0}, RA}, CFA_SP}, false, {0, 32767, 0, LM_UNWIND_SP}},
	{{262144, {{0}, {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{-262144, {{0}, {0}, RA}, CFA_FP}, false, {0, -32768, 0, LM_UNWIND_FP}},
	{{INT64_MIN, {{0}, {0}, RA}, CFA_FP}, false, {.kind = UNSUPPORTED}},
	{{12, {{0}, {0}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {{0}, {0}, RA}, CFA_UNSET}, false, {.kind = UNSUPPORTED}},
	{{16, {{0}, {0}, RA}, CFA_OTHER_REGISTER}, false, {.kind = UNSUPPORTED}},
	{{16, {{0}, {0}, RA}, CFA_OTHER_EXPRESSION}, false, {.kind = UNSUPPORTED}},
	/* The return address and the stack pointer. */
	{{16, {{0}, {0}, {0, SAVED_UNDEFINED}}, CFA_UNSET}, false, {.kind = LM_UNWIND_END}},
	{{16, {{0}, {0}, {0}}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {{0}, {0}, {-16, SAVED_AT_CFA}}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {{0}, {0}, {0, SAVED_OTHER}}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	{{16, {{0}, {0, SAVED_OTHER}, RA}, CFA_SP}, false, {.kind = UNSUPPORTED}},
	/* In a signal frame the return address is in the ucontext. */
	{{160, {{120, SAVED_AT_SP}, {160, SAVED_AT_SP}, {168, SAVED_AT_SP}}, CFA_SP_DEREF},
	 true,
	 {.kind = LM_UNWIND_SIGNAL}},
	{{160, {{120, SAVED_AT_SP}, {160, SAVED_AT_SP}, {168, SAVED_AT_SP}}, CFA_SP_DEREF},
	 false,
	 {.kind = UNSUPPORTED}},
	{{160, {{120, SAVED_AT_SP}, {160, SAVED_AT_SP}, {88, SAVED_AT_SP}}, CFA_SP_DEREF},
	 true,
	 {.kind = UNSUPPORTED}},
};

static void rules_become_an_equivalent_row_or_unsupported(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct lm_unwind_row row =
			cfi_row(&x86_64_abi.cfi, &cases[i].rules, cases[i].signal_frame);

		assert_int_equal(row.kind, cases[i].row.kind);
		assert_int_equal(row.cfa_words, cases[i].row.cfa_words);
		assert_int_equal(row.fp_words, cases[i].row.fp_words);
		assert_int_equal(row.pc, 0);
	}
}

/* A call leaves the return address in a register, as in AAPCS64. */
static const struct lm_frame_abi link_frame = {.return_words = 0};
static const struct cfi_abi link_abi = {
	.sp = 31, .fp = 29, .return_column = 30, .frame = &link_frame};

#define SAVED(n)                                                                                   \
	{                                                                                          \
		n, SAVED_AT_CFA                                                                    \
	}

static const struct {
	struct cfa_rules rules;
	struct lm_unwind_row row;
} link_cases[] = {
	/* At the entry, and in a function that calls nothing. */
	{{0, {{0}, {0}, {0}}, CFA_SP}, {0, 0, 0, LM_UNWIND_SP}},
	{{32, {{0}, {0}, {0, SAVED_SAME}}, CFA_SP}, {0, 4, 0, LM_UNWIND_SP}},
	/* A frame record at the bottom of the frame, and one above arguments on the stack. */
	{{32, {SAVED(-32), {0}, SAVED(-24)}, CFA_SP},
	 {0, 4, 0, LM_UNWIND_SP | LM_RETURN_IN_RECORD}},
	{{64, {SAVED(-48), {0}, SAVED(-40)}, CFA_SP},
	 {0, 8, 2, LM_UNWIND_SP | LM_RETURN_IN_RECORD}},
	{{4112, {SAVED(-4112), {0}, SAVED(-4104)}, CFA_FP},
	 {0, 514, 0, LM_UNWIND_FP | LM_RETURN_IN_RECORD}},
	/* A record above large variables: near to the CFA, or to nothing. */
	{{4112, {SAVED(-16), {0}, SAVED(-8)}, CFA_FP},
	 {0, 514, -2, LM_UNWIND_FP | LM_RETURN_BY_CFA}},
	{{5552, {SAVED(-96), {0}, SAVED(-88)}, CFA_SP},
	 {0, 694, -12, LM_UNWIND_SP | LM_RETURN_BY_CFA}},
	{{5552, {SAVED(-1032), {0}, SAVED(-1024)}, CFA_SP}, {.kind = UNSUPPORTED}},
	/* Without a frame pointer. */
	{{16, {{0}, {0}, SAVED(-16)}, CFA_SP}, {0, 2, -2, LM_UNWIND_SP | LM_RETURN_ALONE}},
	{{2048, {{0}, {0}, SAVED(-1032)}, CFA_SP}, {.kind = UNSUPPORTED}},
	{{32, {SAVED(-32), {0}, SAVED(-16)}, CFA_SP}, {.kind = UNSUPPORTED}},
	{{32, {{0}, {0}, {0, SAVED_OTHER}}, CFA_SP}, {.kind = UNSUPPORTED}},
	{{INT64_MAX, {SAVED(16), {0}, SAVED(24)}, CFA_SP}, {.kind = UNSUPPORTED}},
	{{0, {{0}, {0}, {0, SAVED_UNDEFINED}}, CFA_SP}, {.kind = LM_UNWIND_END}},
};

static void rows_have_the_place_of_a_saved_link_register(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(link_cases); i++) {
		struct lm_unwind_row row = cfi_row(&link_abi, &link_cases[i].rules, false);

		assert_int_equal(row.kind, link_cases[i].row.kind);
		assert_int_equal(row.cfa_words, link_cases[i].row.cfa_words);
		assert_int_equal(row.fp_words, link_cases[i].row.fp_words);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rows_have_the_place_of_a_saved_link_register),
		cmocka_unit_test(rules_become_an_equivalent_row_or_unsupported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
