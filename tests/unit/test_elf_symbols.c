// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_file.h"
#include "unit/elf_fixture.h"

/* The names that are read, in order, each followed by a space; or the error as a number. */
static const char *names_of(int fd, char text[256])
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	int error = elf_file_open(fd, &machine_abi, &file);
	size_t used = 0;

	if (!error)
		error = elf_symbols_read(&file, &symbols);
	snprintf(text, 256, "%s", error ? strerrorname_np(-error) : "");
	for (size_t i = 0; i < symbols.list.count && used < 255; i++)
		used += (size_t)snprintf(text + used, 256 - used, "%s ",
					 symbols.list.items[i].name);
	return text;
}

static const char *names_of_fixture(const struct elf_fixture *elf, char text[256])
{
	_cleanup_close_ int fd = fixture_file(elf, sizeof(*elf));

	return names_of(fd, text);
}

static void functions_of_both_tables_are_read_with_their_places(void **state)
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = -1;
	const struct elf_symbol *list;
	struct elf_fixture elf;

	(void)state;
	fixture_init(&elf);
	fd = fixture_file(&elf, sizeof(elf));
	assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
	assert_int_equal(elf_symbols_read(&file, &symbols), 0);
	assert_int_equal(symbols.list.count, 5);
	assert_true(symbols.has_symtab);
	list = symbols.list.items;
	assert_string_equal(list[0].name, "static_one");
	assert_int_equal(list[0].value, FIXTURE_VADDR(code));
	assert_int_equal(list[0].size, 16);
	assert_int_equal(list[0].binding, STB_LOCAL);
	assert_int_equal(list[0].type, STT_FUNC);
	assert_string_equal(list[2].name, "unsized");
	assert_int_equal(list[2].limit, FIXTURE_VADDR(code) + 256);
	assert_string_equal(list[4].name, "weak");
	assert_int_equal(list[4].binding, STB_WEAK);
}

static void data_is_read_with_thread_locals_apart_from_addresses(void **state)
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = -1;
	const struct elf_symbol *list;
	struct elf_fixture elf;

	(void)state;
	fixture_init(&elf);
	/* The first one starts the segment; its end may be outside. */
	elf.symtab[1].st_info = ELF64_ST_INFO(STB_LOCAL, STT_TLS);
	elf.symtab[1].st_value = 0;
	elf.symtab[1].st_size = UINT64_MAX;
	/* Two symbols at addresses of others, and one without a size. */
	elf.symtab[2].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS);
	elf.symtab[2].st_value = ELF_THREAD_LOCAL;
	elf.symtab[3].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_TLS);
	elf.symtab[5] = elf.symtab[4];
	elf.symtab[5].st_value = ELF_THREAD_LOCAL + 8;
	elf.dynsym[3].st_info = ELF64_ST_INFO(STB_WEAK, STT_TLS);
	elf.dynsym[3].st_value = 24;
	fd = fixture_file(&elf, sizeof(elf));
	assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
	assert_int_equal(elf_objects_read(&file, &symbols), 0);
	list = symbols.list.items;
	assert_int_equal(symbols.list.count, 3);
	assert_string_equal(list[0].name, "static_one");
	assert_int_equal(list[0].value, ELF_THREAD_LOCAL);
	assert_string_equal(list[1].name, "exported");
	assert_int_equal(list[1].value, FIXTURE_VADDR(code) + 200);
	assert_string_equal(list[2].name, "weak");
	assert_int_equal(list[2].value, ELF_THREAD_LOCAL + 24);
	assert_int_equal(list[2].type, STT_TLS);
}

static void set_no_sections(struct elf_fixture *elf)
{
	elf->header.e_shoff = elf->header.e_shnum = 0;
}

static void set_no_sections_and_gnu_hash_only(struct elf_fixture *elf)
{
	set_no_sections(elf);
	elf->dynamic[4].d_tag = DT_DEBUG;
}

static void set_no_sections_and_a_chain_outside_the_file(struct elf_fixture *elf)
{
	set_no_sections_and_gnu_hash_only(elf);
	elf->gnu_hash[6] = UINT32_MAX;
}

static void set_no_sections_and_a_chain_that_does_not_end(struct elf_fixture *elf)
{
	set_no_sections_and_gnu_hash_only(elf);
	elf->gnu_hash[1] = 0;
	/* Bloom size: the chains start in the zeroes of `code`. */
	elf->gnu_hash[2] =
		(offsetof(struct elf_fixture, code) - offsetof(struct elf_fixture, gnu_hash)) / 8;
}

static void set_no_sections_and_four_billion_chains(struct elf_fixture *elf)
{
	set_no_sections(elf);
	elf->hash[1] = UINT32_MAX;
}

static void set_no_sections_and_four_billion_buckets(struct elf_fixture *elf)
{
	set_no_sections_and_gnu_hash_only(elf);
	elf->gnu_hash[0] = UINT32_MAX;
}

static void set_no_sections_and_no_dynamic(struct elf_fixture *elf)
{
	set_no_sections(elf);
	elf->programs[FIXTURE_DYNAMIC].p_type = PT_NULL;
}

static void set_entry_sizes_to_0(struct elf_fixture *elf)
{
	elf->sections[FIXTURE_SYMTAB].sh_entsize = 0;
	elf->sections[FIXTURE_DYNSYM].sh_entsize = 0;
}

static void set_sections_outside_the_file(struct elf_fixture *elf)
{
	elf->header.e_shoff = 1ull << 40;
}

static void set_four_billion_sections(struct elf_fixture *elf)
{
	elf->header.e_shnum = 0;
	elf->sections[0].sh_size = 1ull << 32;
}

static void set_name_outside_the_strings(struct elf_fixture *elf)
{
	elf->symtab[1].st_name = sizeof(elf->strings);
	elf->symtab[2].st_name = UINT32_MAX;
}

static void set_strings_without_end(struct elf_fixture *elf)
{
	elf->sections[FIXTURE_STRTAB].sh_size = 15;
}

static void set_link_outside_the_sections(struct elf_fixture *elf)
{
	elf->sections[FIXTURE_SYMTAB].sh_link = UINT32_MAX;
}

static void set_only_no_functions(struct elf_fixture *elf)
{
	memset(elf->symtab, 0, sizeof(elf->symtab));
	memset(elf->dynsym, 0, sizeof(elf->dynsym));
}

static void set_untyped(struct elf_fixture *elf)
{
	elf->symtab[1].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
	elf->symtab[3].st_info = ELF64_ST_INFO(STB_GLOBAL, STT_NOTYPE);
}

static const struct {
	void (*mutate)(struct elf_fixture *elf);
	const char *expected;
} cases[] = {
	{set_no_sections, "exported weak "},
	{set_no_sections_and_gnu_hash_only, "exported weak "},
	{set_no_sections_and_a_chain_outside_the_file, "EBADMSG"},
	{set_no_sections_and_a_chain_that_does_not_end, "EBADMSG"},
	{set_no_sections_and_four_billion_buckets, "EBADMSG"},
	{set_no_sections_and_no_dynamic, ""},
	{set_entry_sizes_to_0, "exported weak "},
	{set_sections_outside_the_file, "exported weak "},
	{set_four_billion_sections, "exported weak "},
	{set_name_outside_the_strings, "unsized exported weak "},
	{set_strings_without_end, "static_one exp exp "},
	{set_link_outside_the_sections, "exported weak "},
	{set_only_no_functions, ""},
	{set_untyped, "static_one exported exported weak "},
};

static void broken_tables_give_what_can_be_read(void **state)
{
	char text[256];

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct elf_fixture elf;

		fixture_init(&elf);
		cases[i].mutate(&elf);
		assert_string_equal(names_of_fixture(&elf, text), cases[i].expected);
	}
}

static void a_count_beyond_the_file_ends_with_the_file(void **state)
{
	struct elf_fixture elf;
	char text[256];

	(void)state;
	fixture_init(&elf);
	elf.sections[FIXTURE_SYMTAB].sh_size = (1ull << 32) * sizeof(Elf64_Sym);
	elf.sections[FIXTURE_STRTAB].sh_size = UINT64_MAX;
	names_of_fixture(&elf, text);
	assert_memory_equal(text, "static_one exported unsized ", 28);
	fixture_init(&elf);
	set_no_sections_and_four_billion_chains(&elf);
	assert_memory_equal(names_of_fixture(&elf, text), "exported weak ", 14);
}

static void tables_that_are_too_large_are_not_read_and_do_not_hide_the_other(void **state)
{
	_cleanup_close_ int fd = -1;
	struct elf_fixture elf;
	char text[256];

	(void)state;
	fixture_init(&elf);
	elf.sections[FIXTURE_SYMTAB].sh_size = ELF_MAX_TABLE_BYTES + sizeof(Elf64_Sym);
	fd = fixture_file(&elf, sizeof(elf));
	assert_int_equal(ftruncate(fd, 1 << 30), 0);
	assert_string_equal(names_of(fd, text), "exported weak ");
	elf.sections[FIXTURE_STRTAB].sh_size = ELF_MAX_TABLE_BYTES;
	elf.dynamic[2].d_un.d_val = ELF_MAX_TABLE_BYTES;
	assert_int_equal(pwrite(fd, &elf, sizeof(elf), 0), sizeof(elf));
	assert_string_equal(names_of(fd, text), "EFBIG");
}

static void a_file_cut_at_any_byte_is_read_without_harm(void **state)
{
	struct elf_fixture elf;
	char text[256];

	(void)state;
	fixture_init(&elf);
	for (size_t size = 0; size <= sizeof(elf); size++) {
		_cleanup_close_ int fd = fixture_file(&elf, size);

		names_of(fd, text);
	}
	assert_string_equal(text, "static_one exported unsized exported weak ");
}

static void any_byte_may_hold_anything(void **state)
{
	static const uint8_t values[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	_cleanup_close_ int fd = -1;
	struct elf_fixture elf;
	char text[256];

	(void)state;
	fixture_init(&elf);
	fd = fixture_file(&elf, sizeof(elf));
	for (size_t i = 0; i < offsetof(struct elf_fixture, code) * ARRAY_SIZE(values); i++) {
		size_t at = i / ARRAY_SIZE(values);

		assert_int_equal(pwrite(fd, &values[i % ARRAY_SIZE(values)], 1, (off_t)at), 1);
		names_of(fd, text);
		assert_int_equal(pwrite(fd, (uint8_t *)&elf + at, 1, (off_t)at), 1);
	}
	assert_string_equal(names_of(fd, text), "static_one exported unsized exported weak ");
}

/* Copies this program into memory; *size gets its length. */
static int copy_self(size_t *size)
{
	_cleanup_close_ int self = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	int copy = memfd_create("self", MFD_CLOEXEC);
	struct stat status;
	off_t from = 0;

	assert_int_equal(fstat(self, &status), 0);
	while (from < status.st_size)
		assert_true(sendfile(copy, self, &from, (size_t)(status.st_size - from)) > 0);
	*size = (size_t)status.st_size;
	return copy;
}

static void a_real_program_with_random_bytes_in_it_is_read_without_harm(void **state)
{
	uint64_t random = 0x9e3779b97f4a7c15; /* xorshift64 (Marsaglia, 2003) */
	_cleanup_close_ int fd = -1;
	char text[256];
	size_t size;

	(void)state;
	fd = copy_self(&size);
	for (size_t round = 0; round < 60; round++) {
		for (size_t i = 0; i < 50; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			/* One in four into the first KiB, where the headers are; not the magic. */
			off_t at = (off_t)(8 + (random >> 8) % (i % 4 ? size - 8 : 1024));

			assert_int_equal(pwrite(fd, &random, 1, at), 1);
		}
		names_of(fd, text);
		/* Half a file after half of the rounds. */
		if (round == 30)
			assert_int_equal(ftruncate(fd, (off_t)(size /= 2)), 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(functions_of_both_tables_are_read_with_their_places),
		cmocka_unit_test(data_is_read_with_thread_locals_apart_from_addresses),
		cmocka_unit_test(broken_tables_give_what_can_be_read),
		cmocka_unit_test(a_count_beyond_the_file_ends_with_the_file),
		cmocka_unit_test(tables_that_are_too_large_are_not_read_and_do_not_hide_the_other),
		cmocka_unit_test(a_file_cut_at_any_byte_is_read_without_harm),
		cmocka_unit_test(any_byte_may_hold_anything),
		cmocka_unit_test(a_real_program_with_random_bytes_in_it_is_read_without_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
