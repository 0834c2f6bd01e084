// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "binary/elf/eh_frame.h"
#include "unit/unwind_fixture.h"

static int parse(struct unwind_fixture *elf, struct eh_frame *frame)
{
	struct eh_section section = {
		.abi = &x86_64_abi,
		.bytes = elf->frames,
		.size = elf->size,
		.address = UNWIND_FRAMES,
		.exact = true,
	};

	return eh_frame_parse(&section, frame);
}

static void a_function_is_found_with_its_cie_and_instructions(void **state)
{
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0x100, 0x20, 0x41, 0x0e, 16);
	assert_int_equal(parse(&elf, &frame), 0);
	assert_int_equal(frame.cies.count, 1);
	assert_int_equal(frame.cies.items[0].offset, cie);
	assert_int_equal(frame.cies.items[0].code_alignment, 1);
	assert_int_equal(frame.cies.items[0].data_alignment, -8);
	assert_int_equal(frame.cies.items[0].code.size, 5);
	assert_true(frame.cies.items[0].augmented);
	assert_false(frame.cies.items[0].signal_frame);
	assert_int_equal(frame.fdes.count, 1);
	assert_int_equal(frame.fdes.items[0].start, UNWIND_CODE + 0x100);
	assert_int_equal(frame.fdes.items[0].end, UNWIND_CODE + 0x120);
	assert_int_equal(frame.fdes.items[0].code.size, 3);
	assert_memory_equal(elf.frames + frame.fdes.items[0].code.offset, "\x41\x0e\x10", 3);
}

static void personality_and_language_data_are_passed_over(void **state)
{
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_cie(&elf, UNWIND_CIE_HEAD, 'z', 'P', 'L', 'R', 'S', 0, 1, 0x78, 16,
			     /* personality indirect pcrel sdata4, language pcrel sdata4, absptr */
			     7, 0x9b, 1, 2, 3, 4, 0x1b, 0x00, UNWIND_CIE_RULES);
	unwind_put_u32(&elf, 4 + 8 + 8 + 1 + 4 + 1);
	unwind_put_u32(&elf, (uint32_t)elf.size - cie);
	unwind_put_u64(&elf, UNWIND_CODE);
	unwind_put_u64(&elf, 16);
	unwind_put(&elf, "\4LSDA\x41", 6);
	assert_int_equal(parse(&elf, &frame), 0);
	assert_true(frame.cies.items[0].signal_frame);
	assert_int_equal(frame.cies.items[0].code.size, 5);
	assert_int_equal(frame.fdes.count, 1);
	assert_int_equal(frame.fdes.items[0].code.size, 1);
}

static void an_extended_length_has_a_cie_pointer_of_4_bytes(void **state)
{
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_u32(&elf, 0xffffffff);
	unwind_put_u64(&elf, 4 + 8 + 8 + 1);
	unwind_put_u32(&elf, (uint32_t)elf.size - cie);
	unwind_put_u64(&elf, UNWIND_CODE);
	unwind_put_u64(&elf, 16);
	unwind_put(&elf, "", 1);
	assert_int_equal(parse(&elf, &frame), 0);
	assert_int_equal(frame.fdes.count, 1);
}

#define CIE_TAIL 1, 0x78, 16

static void cies_of_unknown_kinds_and_their_functions_are_passed_over(void **state)
{
	static const struct {
		uint8_t bytes[24];
		size_t size;
		bool known;
	} cases[] = {
#define CIE(is_known, ...) {{__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}), is_known}
		CIE(true, UNWIND_CIE_PLAIN),
		CIE(true, 0, 0, 0, 0, 1, 0, CIE_TAIL),
		CIE(true, 0, 0, 0, 0, 3, 'z', 'R', 0, CIE_TAIL, 1, 0),
		CIE(true, 0, 0, 0, 0, 4, 'z', 'R', 0, 8, 0, CIE_TAIL, 1, 0),
		CIE(true, 0, 0, 0, 0, 1, 'z', 'R', 'B', 0, CIE_TAIL, 1, 0),
		CIE(false, 0, 0, 0, 0, 4, 'z', 'R', 0, 4, 0, CIE_TAIL, 1, 0),
		CIE(false, 0, 0, 0, 0, 2, 'z', 'R', 0, CIE_TAIL, 1, 0),
		CIE(false, 0, 0, 0, 0, 1, 'e', 'h', 0, 0, 0, 0, 0, 0, 0, 0, 0, CIE_TAIL),
		CIE(false, 0, 0, 0, 0, 1, 'z', 'R', '?', 0, CIE_TAIL, 1, 0),
		CIE(false, 0, 0, 0, 0, 1, 'z', 'R', 0, 1, 0x78, 30, 1, 0),
		CIE(false, 0, 0, 0, 0, 1, 'z', 'R', 0, CIE_TAIL, 1, 0x3b),
		CIE(false, 0, 0, 0, 0, 1, 'z', 'R', 0, CIE_TAIL, 0),
		CIE(false, 0, 0, 0, 0, 1, 'z', 'R', 0, CIE_TAIL, 0xff, 0xff, 0xff, 0xff, 0x0f),
		CIE(false, 0, 0, 0, 0, 1, 'z', 'R'),
		CIE(false, 0, 0, 0, 0, 1),
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(eh_frame_free) struct eh_frame frame = {0};
		struct unwind_fixture elf;
		uint32_t cie;

		unwind_fixture_init(&elf);
		cie = unwind_put_record(&elf, cases[i].bytes, cases[i].size);
		unwind_put_fde(&elf, cie, 0, 16, 0);
		assert_int_equal(parse(&elf, &frame), 0);
		assert_int_equal(frame.cies.count, cases[i].known);
		assert_int_equal(frame.fdes.count, cases[i].known);
	}
}

static void a_cie_pointer_leads_to_an_earlier_cie_or_nowhere(void **state)
{
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	struct unwind_fixture elf;
	uint32_t first, second;

	(void)state;
	unwind_fixture_init(&elf);
	first = unwind_put_plain_cie(&elf);
	second = unwind_put_cie(&elf, UNWIND_CIE_HEAD, 'z', 'R', 'S', 0, 1, 0x78, 16, 1, 0);
	unwind_put_fde(&elf, second, 0x00, 16, 0);
	unwind_put_fde(&elf, first, 0x10, 16, 0);
	unwind_put_fde(&elf, first + 1, 0x20, 16, 0);
	unwind_put_fde(&elf, (uint32_t)elf.size, 0x30, 16, 0);
	unwind_put_fde(&elf, (uint32_t)elf.size + 200, 0x40, 16, 0);
	unwind_put_fde(&elf, second, 0x50, 16, 0);
	assert_int_equal(parse(&elf, &frame), 0);
	assert_int_equal(frame.cies.count, 2);
	assert_int_equal(frame.fdes.count, 3);
	assert_int_equal(frame.fdes.items[0].cie, 1);
	assert_int_equal(frame.fdes.items[1].cie, 0);
	assert_int_equal(frame.fdes.items[2].cie, 1);
}

static void empty_null_and_wrapping_functions_are_passed_over(void **state)
{
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0x10, 0, 0);
	unwind_put_fde(&elf, cie, 0 - UNWIND_CODE, 16, 0);
	unwind_put_fde(&elf, cie, 0x10, UINT64_MAX, 0);
	assert_int_equal(parse(&elf, &frame), 0);
	assert_int_equal(frame.fdes.count, 0);
}

static void augmentation_data_beyond_its_record_makes_no_function(void **state)
{
	_cleanup_(eh_frame_free) struct eh_frame frame = {0};
	struct unwind_fixture elf;
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_u32(&elf, 4 + 8 + 8 + 5);
	unwind_put_u32(&elf, (uint32_t)elf.size - cie);
	unwind_put_u64(&elf, UNWIND_CODE);
	unwind_put_u64(&elf, 16);
	unwind_put(&elf, "\xff\xff\xff\xff\x0f", 5);
	assert_int_equal(parse(&elf, &frame), 0);
	assert_int_equal(frame.fdes.count, 0);
}

static void a_terminator_ends_the_frames_only_where_the_size_is_not_known(void **state)
{
	struct unwind_fixture elf;
	struct eh_section section = {
		.abi = &x86_64_abi, .bytes = elf.frames, .address = UNWIND_FRAMES};
	uint32_t cie;

	(void)state;
	unwind_fixture_init(&elf);
	cie = unwind_put_plain_cie(&elf);
	unwind_put_fde(&elf, cie, 0, 16, 0);
	unwind_put_u32(&elf, 0);
	unwind_put_fde(&elf, cie, 16, 16, 0);
	section.size = elf.size;
	for (int exact = 0; exact < 2; exact++) {
		_cleanup_(eh_frame_free) struct eh_frame frame = {0};

		section.exact = exact;
		assert_int_equal(eh_frame_parse(&section, &frame), 0);
		assert_int_equal(frame.fdes.count, 1 + exact);
	}
}

static void a_record_beyond_the_section_is_an_error(void **state)
{
	static const uint32_t lengths[] = {1, 0x7fffffff, 0xfffffffe, 0xffffffff};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(lengths); i++) {
		struct eh_frame frame = {.cies.count = 77};
		struct unwind_fixture elf;

		unwind_fixture_init(&elf);
		unwind_put_plain_cie(&elf);
		unwind_put_u32(&elf, lengths[i]);
		assert_int_equal(parse(&elf, &frame), -EBADMSG);
		assert_int_equal(frame.cies.count, 77);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_is_found_with_its_cie_and_instructions),
		cmocka_unit_test(personality_and_language_data_are_passed_over),
		cmocka_unit_test(an_extended_length_has_a_cie_pointer_of_4_bytes),
		cmocka_unit_test(cies_of_unknown_kinds_and_their_functions_are_passed_over),
		cmocka_unit_test(a_cie_pointer_leads_to_an_earlier_cie_or_nowhere),
		cmocka_unit_test(empty_null_and_wrapping_functions_are_passed_over),
		cmocka_unit_test(augmentation_data_beyond_its_record_makes_no_function),
		cmocka_unit_test(a_terminator_ends_the_frames_only_where_the_size_is_not_known),
		cmocka_unit_test(a_record_beyond_the_section_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
