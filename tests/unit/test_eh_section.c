// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "binary/elf/eh_frame.h"
#include "unit/unwind_fixture.h"

static int read_section(const struct unwind_fixture *elf, struct eh_section *section)
{
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = fixture_file(elf, sizeof(*elf));

	assert_int_equal(elf_file_open(fd, &x86_64_abi, &file), 0);
	return eh_section_read(&file, section);
}

static void prepare(struct unwind_fixture *elf)
{
	unwind_fixture_init(elf);
	unwind_put(elf, "frames", 6);
}

static void a_section_header_gives_the_exact_bytes(void **state)
{
	_cleanup_(eh_section_free) struct eh_section section = {0};
	struct unwind_fixture elf;

	(void)state;
	prepare(&elf);
	assert_int_equal(read_section(&elf, &section), 0);
	assert_int_equal(section.size, 6);
	assert_int_equal(section.address, UNWIND_FRAMES);
	assert_memory_equal(section.bytes, "frames", 6);
	assert_true(section.exact);
}

static void without_section_headers_the_program_header_leads_there(void **state)
{
	_cleanup_(eh_section_free) struct eh_section section = {0};
	struct unwind_fixture elf;

	(void)state;
	prepare(&elf);
	elf.header.e_shoff = 0;
	elf.eh_header.frame_pointer += 2;
	assert_int_equal(read_section(&elf, &section), 0);
	assert_int_equal(section.size, sizeof(elf.frames) - 2);
	assert_int_equal(section.address, UNWIND_FRAMES + 2);
	assert_memory_equal(section.bytes, "ames", 4);
	assert_false(section.exact);
}

static void a_broken_section_table_does_not_hide_the_program_header(void **state)
{
	_cleanup_(eh_section_free) struct eh_section section = {0};
	struct unwind_fixture elf;

	(void)state;
	prepare(&elf);
	elf.header.e_shoff = 1ull << 40;
	assert_int_equal(read_section(&elf, &section), 0);
	assert_false(section.exact);
}

static void the_frame_pointer_may_be_relative_to_the_header(void **state)
{
	_cleanup_(eh_section_free) struct eh_section section = {0};
	struct unwind_fixture elf;

	(void)state;
	prepare(&elf);
	elf.header.e_shoff = 0;
	elf.eh_header.pointer_encoding = 0x3b; /* datarel, sdata4 */
	elf.eh_header.frame_pointer += 4;
	assert_int_equal(read_section(&elf, &section), 0);
	assert_int_equal(section.address, UNWIND_FRAMES);
}

static void break_offset(struct unwind_fixture *elf)
{
	elf->sections[UNWIND_EH_FRAME].sh_offset = sizeof(*elf) + 1;
}

static void break_size(struct unwind_fixture *elf)
{
	elf->sections[UNWIND_EH_FRAME].sh_size = UINT64_MAX;
}

static void leave_out(struct unwind_fixture *elf)
{
	elf->sections[UNWIND_EH_FRAME].sh_type = SHT_NOBITS;
}

static void compress(struct unwind_fixture *elf)
{
	elf->sections[UNWIND_EH_FRAME].sh_flags = SHF_COMPRESSED;
}

static void drop_both(struct unwind_fixture *elf)
{
	elf->header.e_shoff = 0;
	elf->programs[UNWIND_EH_HEADER].p_type = PT_NULL;
}

static void break_version(struct unwind_fixture *elf)
{
	elf->header.e_shoff = 0;
	elf->eh_header.version = 2;
}

static void break_encoding(struct unwind_fixture *elf)
{
	elf->header.e_shoff = 0;
	elf->eh_header.pointer_encoding = 0xff;
}

static void point_nowhere(struct unwind_fixture *elf)
{
	elf->header.e_shoff = 0;
	elf->eh_header.frame_pointer = -(1 << 30);
}

static void cut_header(struct unwind_fixture *elf)
{
	elf->header.e_shoff = 0;
	elf->programs[UNWIND_EH_HEADER].p_filesz = 5;
}

static void point_past_the_file(struct unwind_fixture *elf)
{
	elf->header.e_shoff = 0;
	elf->programs[UNWIND_LOAD_FRAMES].p_offset = 1ull << 40;
}

static void what_is_missing_or_broken_has_its_error(void **state)
{
	static const struct {
		void (*change)(struct unwind_fixture *elf);
		int error;
	} cases[] = {
		{break_offset, -EBADMSG},   {break_size, -EBADMSG},
		{leave_out, -ENOENT},	    {compress, -ENOENT},
		{drop_both, -ENOENT},	    {break_version, -EBADMSG},
		{break_encoding, -EBADMSG}, {point_nowhere, -EBADMSG},
		{cut_header, -EBADMSG},	    {point_past_the_file, -EBADMSG},
	};
	struct unwind_fixture elf;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct eh_section section = {.size = 77};

		prepare(&elf);
		cases[i].change(&elf);
		assert_int_equal(read_section(&elf, &section), cases[i].error);
		assert_int_equal(section.size, 77);
		assert_null(section.bytes);
	}
}

static void more_than_the_cap_is_not_read(void **state)
{
	_cleanup_(elf_file_close) struct elf_file file = {0};
	struct eh_section section = {0};
	struct unwind_fixture elf;
	int fd;

	(void)state;
	prepare(&elf);
	elf.sections[UNWIND_EH_FRAME].sh_size = EH_MAX_BYTES + 1;
	fd = fixture_file(&elf, sizeof(elf));
	assert_int_equal(ftruncate(fd, (off_t)(2 * EH_MAX_BYTES)), 0);
	assert_int_equal(elf_file_open(fd, &x86_64_abi, &file), 0);
	assert_int_equal(eh_section_read(&file, &section), -EFBIG);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_section_header_gives_the_exact_bytes),
		cmocka_unit_test(without_section_headers_the_program_header_leads_there),
		cmocka_unit_test(a_broken_section_table_does_not_hide_the_program_header),
		cmocka_unit_test(the_frame_pointer_may_be_relative_to_the_header),
		cmocka_unit_test(what_is_missing_or_broken_has_its_error),
		cmocka_unit_test(more_than_the_cap_is_not_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
