// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_file.h"
#include "unit/elf_fixture.h"

static int open_contents(const void *contents, size_t size, struct elf_file *file)
{
	int fd = fixture_file(contents, size);

	assert_true(fd >= 0);
	return elf_file_open(fd, &machine_abi, file);
}

static void a_whole_file_gives_type_entry_segments_and_build_id(void **state)
{
	struct elf_fixture elf;
	struct elf_file file;

	(void)state;
	fixture_init(&elf);
	assert_int_equal(open_contents(&elf, sizeof(elf), &file), 0);
	assert_int_equal(file.type, ET_DYN);
	assert_int_equal(file.entry, FIXTURE_VADDR(code));
	assert_int_equal(file.size, sizeof(elf));
	assert_int_equal(file.segments.count, 1);
	assert_int_equal(file.segments.items[0].vaddr, FIXTURE_BASE);
	assert_int_equal(file.segments.items[0].file_size, sizeof(elf));
	assert_true(file.segments.items[0].executable);
	assert_false(file.segments.items[0].writable);
	assert_string_equal(file.build_id, FIXTURE_BUILD_ID);
	assert_int_equal(file.dynamic_offset, offsetof(struct elf_fixture, dynamic));
	close(file.fd);
	elf_file_close(&file);
}

static void addresses_and_offsets_convert_both_ways_and_only_inside_the_file(void **state)
{
	struct elf_fixture elf;
	struct elf_file file;
	uint64_t result = 7;

	(void)state;
	fixture_init(&elf);
	assert_int_equal(open_contents(&elf, sizeof(elf), &file), 0);
	assert_int_equal(elf_file_offset(&file, FIXTURE_BASE + 100, &result), 0);
	assert_int_equal(result, 100);
	assert_int_equal(elf_file_vaddr(&file, 100, &result), 0);
	assert_int_equal(result, FIXTURE_BASE + 100);
	assert_int_equal(elf_file_offset(&file, FIXTURE_BASE + sizeof(elf), &result), -ENOENT);
	assert_int_equal(elf_file_offset(&file, FIXTURE_BASE - 1, &result), -ENOENT);
	assert_int_equal(elf_file_vaddr(&file, sizeof(elf), &result), -ENOENT);
	assert_int_equal(result, FIXTURE_BASE + 100);
	close(file.fd);
	elf_file_close(&file);
}

static void the_build_id_is_found_by_its_section_when_there_is_no_note_segment(void **state)
{
	struct elf_fixture elf;
	struct elf_file file;

	(void)state;
	fixture_init(&elf);
	elf.programs[FIXTURE_NOTE].p_type = PT_NULL;
	memcpy(elf.names + 7, ".note.gnu.build-id", 19);
	elf.sections[FIXTURE_TEXT] = fixture_section(SHT_NOTE, offsetof(struct elf_fixture, note),
						     sizeof(elf.note), 0, 0);
	elf.sections[FIXTURE_TEXT].sh_name = 7;
	assert_int_equal(open_contents(&elf, sizeof(elf), &file), 0);
	assert_string_equal(file.build_id, FIXTURE_BUILD_ID);
	close(file.fd);
	elf_file_close(&file);
}

static void break_magic(struct elf_fixture *elf)
{
	elf->header.e_ident[1] = 'e';
}

static void make_32_bit(struct elf_fixture *elf)
{
	elf->header.e_ident[EI_CLASS] = ELFCLASS32;
}

static void make_big_endian(struct elf_fixture *elf)
{
	elf->header.e_ident[EI_DATA] = ELFDATA2MSB;
}

static void make_aarch64(struct elf_fixture *elf)
{
	elf->header.e_machine = EM_RISCV;
}

static void make_core(struct elf_fixture *elf)
{
	elf->header.e_type = ET_CORE;
}

static void break_program_header_size(struct elf_fixture *elf)
{
	elf->header.e_phentsize = 0;
}

static void put_program_headers_outside(struct elf_fixture *elf)
{
	elf->header.e_phoff = UINT64_MAX - 8;
}

static void claim_four_billion_program_headers(struct elf_fixture *elf)
{
	elf->header.e_phnum = PN_XNUM;
	elf->sections[0].sh_info = UINT32_MAX;
}

static void put_more_in_the_file_than_in_memory(struct elf_fixture *elf)
{
	elf->programs[0].p_memsz = 1;
}

static void wrap_the_address_space(struct elf_fixture *elf)
{
	elf->programs[0].p_vaddr = UINT64_MAX - 16;
}

static void wrap_the_file(struct elf_fixture *elf)
{
	elf->programs[0].p_offset = UINT64_MAX - 16;
}

static const struct {
	void (*mutate)(struct elf_fixture *elf);
	int expected;
} refusals[] = {
	{break_magic, -ENOEXEC},
	{make_32_bit, -ENOEXEC},
	{make_big_endian, -ENOEXEC},
	{make_aarch64, -ENOEXEC},
	{make_core, -ENOEXEC},
	{break_program_header_size, -EBADMSG},
	{put_program_headers_outside, -EBADMSG},
	{claim_four_billion_program_headers, -EBADMSG},
	{put_more_in_the_file_than_in_memory, -EBADMSG},
	{wrap_the_address_space, -EBADMSG},
	{wrap_the_file, -EBADMSG},
};

static void a_file_that_is_foreign_or_contradicts_itself_is_refused(void **state)
{
	struct elf_file untouched, file;

	(void)state;
	memset(&untouched, 0x5a, sizeof(untouched));
	file = untouched;
	for (size_t i = 0; i < ARRAY_SIZE(refusals); i++) {
		_cleanup_close_ int fd = -1;
		struct elf_fixture elf;

		fixture_init(&elf);
		refusals[i].mutate(&elf);
		fd = fixture_file(&elf, sizeof(elf));
		assert_int_equal(elf_file_open(fd, &machine_abi, &file), refusals[i].expected);
		assert_memory_equal(&file, &untouched, sizeof(file));
	}
}

/* A false header costs the names of thread-locals, not the file. */
static void thread_locals_are_taken_if_they_can_be_true(void **state)
{
	static const struct {
		Elf64_Phdr header;
		struct elf_thread_locals taken;
	} cases[] = {
		{{.p_vaddr = 0x1800, .p_filesz = 16, .p_memsz = 48, .p_align = 16},
		 {0x1800, 48, 16}},
		{{.p_vaddr = 0x1800, .p_memsz = 48, .p_align = 0}, {0x1800, 48, 1}},
		{{.p_vaddr = 0x1804, .p_memsz = 48, .p_align = 8}, {0x1804, 48, 8}},
		{{.p_vaddr = 0x1800, .p_memsz = 1ull << 31, .p_align = 16}, {0}},
		{{.p_vaddr = 0x1800, .p_memsz = UINT64_MAX, .p_align = 16}, {0}},
		{{.p_vaddr = 0x1800, .p_filesz = 49, .p_memsz = 48, .p_align = 16}, {0}},
		{{.p_vaddr = UINT64_MAX - 8, .p_memsz = 48, .p_align = 16}, {0}},
		{{.p_vaddr = 0x1800, .p_memsz = 48, .p_align = 24}, {0}},
		{{.p_vaddr = 0x1800, .p_memsz = 48, .p_align = 1ull << 63}, {0}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(elf_file_close) struct elf_file file = {0};
		_cleanup_close_ int fd = -1;
		struct elf_fixture elf;

		fixture_init(&elf);
		elf.programs[FIXTURE_THREAD_LOCALS] = cases[i].header;
		elf.programs[FIXTURE_THREAD_LOCALS].p_type = PT_TLS;
		fd = fixture_file(&elf, sizeof(elf));
		assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
		assert_memory_equal(&file.thread_locals, &cases[i].taken, sizeof(cases[i].taken));
	}
}

static void what_is_no_regular_file_is_not_read(void **state)
{
	_cleanup_close_ int directory = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	_cleanup_close_ int device = open("/dev/zero", O_RDONLY | O_CLOEXEC);
	_cleanup_close_ int empty = fixture_file("", 0);
	struct elf_file file;

	(void)state;
	assert_int_equal(elf_file_open(directory, &machine_abi, &file), -ENOEXEC);
	assert_int_equal(elf_file_open(device, &machine_abi, &file), -ENOEXEC);
	assert_int_equal(elf_file_open(empty, &machine_abi, &file), -ENOEXEC);
	assert_int_equal(elf_file_open(-1, &machine_abi, &file), -EBADF);
}

static void reading_past_the_end_is_short_and_never_exact(void **state)
{
	struct elf_fixture elf;
	struct elf_file file;
	char buffer[64];

	(void)state;
	fixture_init(&elf);
	assert_int_equal(open_contents(&elf, sizeof(elf), &file), 0);
	assert_int_equal(elf_file_read(&file, 1, buffer, 3), 3);
	assert_memory_equal(buffer, "ELF", 3);
	assert_int_equal(elf_file_read(&file, sizeof(elf) - 5, buffer, sizeof(buffer)), 5);
	assert_int_equal(elf_file_read(&file, UINT64_MAX, buffer, sizeof(buffer)), 0);
	assert_int_equal(elf_file_read_exact(&file, sizeof(elf) - 5, buffer, 6), -EBADMSG);
	/* Cut short after it was opened. */
	assert_int_equal(ftruncate(file.fd, 10), 0);
	assert_int_equal(elf_file_read(&file, 0, buffer, sizeof(buffer)), 10);
	close(file.fd);
	elf_file_close(&file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_whole_file_gives_type_entry_segments_and_build_id),
		cmocka_unit_test(addresses_and_offsets_convert_both_ways_and_only_inside_the_file),
		cmocka_unit_test(
			the_build_id_is_found_by_its_section_when_there_is_no_note_segment),
		cmocka_unit_test(a_file_that_is_foreign_or_contradicts_itself_is_refused),
		cmocka_unit_test(thread_locals_are_taken_if_they_can_be_true),
		cmocka_unit_test(what_is_no_regular_file_is_not_read),
		cmocka_unit_test(reading_past_the_end_is_short_and_never_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
