// SPDX-License-Identifier: GPL-2.0-or-later
/* leakmon_unwind.h: where the caller's registers are, on both kinds of processors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/cleanup.h"

/* A stack of 64 words, each of which holds its own number. */
struct memory {
	uint64_t start;
	uint64_t words[64];
};

static int memory_read(const struct memory *memory, void *to, size_t size, uint64_t address)
{
	if (address < memory->start || address - memory->start > sizeof(memory->words) - size)
		return -1;
	memcpy(to, (const char *)memory->words + (address - memory->start), size);
	return 0;
}

#define LM_UNWIND_MEMORY const struct memory
#define LM_UNWIND_READ(memory, to, size, address) memory_read(memory, to, size, address)
#include "leakmon_unwind.h"

#define SP 0x1000ull
#define FP 0x1040ull

/* The psABI's; and AAPCS64's: its calls leave the return address in a register. */
static const struct lm_frame_abi pushing = {
	.code_mask = ~0ull, .return_words = -1, .signal_fp = 8, .signal_sp = 32};
static const struct lm_frame_abi linking = {
	.code_mask = ~0ull, .signal_fp = 8, .signal_sp = 32, .signal_link = 16};

static struct memory stack_of_numbers(void)
{
	struct memory memory = {.start = SP};

	for (size_t i = 0; i < ARRAY_SIZE(memory.words); i++)
		memory.words[i] = i;
	return memory;
}

struct applied {
	struct lm_unwind_row row;
	struct lm_caller caller;
};

static void assert_applied(const struct lm_frame_abi *abi, const struct applied *cases,
			   size_t count)
{
	const struct memory memory = stack_of_numbers();
	const struct lm_frame frame = {.ip = 0x40100b, .sp = SP, .fp = FP};

	for (size_t i = 0; i < count; i++) {
		struct lm_caller caller = {0};

		assert_int_equal(lm_row_apply(abi, cases[i].row, &frame, &memory, &caller),
				 LM_WALK_MAX_);
		assert_int_equal(caller.sp, cases[i].caller.sp);
		assert_int_equal(caller.return_at, cases[i].caller.return_at);
		assert_int_equal(caller.fp_at, cases[i].caller.fp_at);
	}
}

static void a_pushed_return_address_lies_below_the_cfa(void **state)
{
	static const struct applied cases[] = {
		{{0, 2, 0, LM_UNWIND_SP}, {SP + 16, SP + 8, 0}},
		{{0, 2, -2, LM_UNWIND_FP}, {FP + 16, FP + 8, FP}},
		{{0, -3, 1, LM_UNWIND_FP}, {FP - 24, FP - 32, FP - 16}},
		/* The word there is its number: 7, and 8 where fp points. */
		{{0, 7, 0, LM_UNWIND_SP_DEREF}, {7, 7 - 8, 0}},
		{{0, 0, 0, LM_UNWIND_FP_DEREF}, {8, 0, FP}},
		{{0, 0, -4, LM_UNWIND_FP_DEREF}, {8, 0, 8 - 32}},
		/* In a stub, before and after its push. */
		{{0, 12, 0, LM_UNWIND_PLT}, {SP + 8, SP, 0}},
		{{0, 11, 0, LM_UNWIND_PLT}, {SP + 16, SP + 8, 0}},
	};

	(void)state;
	assert_applied(&pushing, cases, ARRAY_SIZE(cases));
}

static void a_linked_one_lies_where_the_function_saved_it(void **state)
{
	static const struct applied cases[] = {
		{{0, 0, 0, LM_UNWIND_SP}, {SP, 0, 0}},
		{{0, 4, 0, LM_UNWIND_SP | LM_RETURN_IN_RECORD}, {SP + 32, SP + 8, SP}},
		{{0, 8, 2, LM_UNWIND_SP | LM_RETURN_IN_RECORD}, {SP + 64, SP + 24, SP + 16}},
		{{0, 514, 0, LM_UNWIND_FP | LM_RETURN_IN_RECORD}, {FP + 4112, FP + 8, FP}},
		{{0, 694, -12, LM_UNWIND_SP | LM_RETURN_BY_CFA}, {SP + 5552, SP + 5464, SP + 5456}},
		{{0, 2, -2, LM_UNWIND_SP | LM_RETURN_ALONE}, {SP + 16, SP, 0}},
	};

	(void)state;
	assert_applied(&linking, cases, ARRAY_SIZE(cases));
}

static void the_other_kinds_end_the_walk(void **state)
{
	static const struct {
		struct lm_unwind_row row;
		enum lm_walk_end end;
	} cases[] = {
		{{.kind = LM_UNWIND_END}, LM_WALK_ROOT},
		{{.kind = LM_UNWIND_UNSUPPORTED}, LM_WALK_UNSUPPORTED},
		{{.kind = LM_UNWIND_MAX_}, LM_WALK_UNSUPPORTED},
		{{.kind = LM_UNWIND_SP | LM_RETURN_ALONE}, LM_WALK_UNSUPPORTED},
		{{.kind = LM_UNWIND_SP_DEREF, .cfa_words = 64}, LM_WALK_UNREADABLE},
		{{.kind = LM_UNWIND_FP_DEREF, .cfa_words = -9}, LM_WALK_UNREADABLE},
	};
	const struct memory memory = stack_of_numbers();
	const struct lm_frame frame = {.sp = SP, .fp = FP};
	struct lm_caller caller;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(lm_row_apply(&pushing, cases[i].row, &frame, &memory, &caller),
				 cases[i].end);
}

static void a_frame_pointer_leads_to_its_record(void **state)
{
	struct lm_caller caller = lm_caller_by_fp(FP);

	(void)state;
	assert_int_equal(caller.sp, FP + 16);
	assert_int_equal(caller.return_at, FP + 8);
	assert_int_equal(caller.fp_at, FP);
	/* By that rule a walk finds it, wherever calls put it. */
	assert_int_equal(lm_return_words(&pushing, -2), -1);
	assert_int_equal(lm_return_words(&linking, -2), -1);
}

static void a_signal_frame_has_what_was_interrupted(void **state)
{
	const struct memory memory = stack_of_numbers();
	struct lm_frame frame = {.sp = SP + 80};

	(void)state;
	assert_int_equal(lm_signal_leave(&linking, &memory, &frame), 0);
	assert_int_equal(frame.fp, 11);
	assert_int_equal(frame.link, 12);
	assert_int_equal(frame.sp, 14);
	assert_int_equal(frame.ip, 15);
	frame = (struct lm_frame){.sp = SP + 80};
	assert_int_equal(lm_signal_leave(&pushing, &memory, &frame), 0);
	assert_int_equal(frame.link, 0);
	frame.sp = SP + 480;
	assert_int_equal(lm_signal_leave(&pushing, &memory, &frame), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_pushed_return_address_lies_below_the_cfa),
		cmocka_unit_test(a_linked_one_lies_where_the_function_saved_it),
		cmocka_unit_test(the_other_kinds_end_the_walk),
		cmocka_unit_test(a_frame_pointer_leads_to_its_record),
		cmocka_unit_test(a_signal_frame_has_what_was_interrupted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
