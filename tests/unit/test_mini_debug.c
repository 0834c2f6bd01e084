// SPDX-License-Identifier: GPL-2.0-or-later
/* Files with a .gnu_debugdata made here, which contains the small file of elf_fixture.h. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <lzma.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/debug_sections.h"
#include "binary/elf/elf_abi.h"
#include "binary/elf/elf_file.h"
#include "binary/parse/image.h"
#include "unit/elf_fixture.h"

/* Room for a section of well-compressible data. */
#define ROOM (1u << 20)

struct holder {
	Elf64_Ehdr header;
	Elf64_Shdr sections[3];
	char names[32];
	uint8_t data[];
};

static size_t compress_data(const uint8_t *data, size_t size, uint8_t *out)
{
	size_t used = 0;

	assert_int_equal(
		lzma_easy_buffer_encode(0, LZMA_CHECK_CRC32, NULL, data, size, out, &used, ROOM),
		LZMA_OK);
	return used;
}

/* A stripped file that holds nothing but compressed bytes. */
static int hold(const uint8_t *data, size_t size)
{
	static const char names[] = "\0.gnu_debugdata\0.shstrtab";
	struct holder holder = {
		.header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT},
			   .e_type = ET_DYN,
			   .e_machine = machine_abi.machine,
			   .e_version = EV_CURRENT,
			   .e_shoff = offsetof(struct holder, sections),
			   .e_shentsize = sizeof(Elf64_Shdr),
			   .e_shnum = 3,
			   .e_shstrndx = 2},
		.sections = {[1] = {.sh_name = 1,
				    .sh_type = SHT_PROGBITS,
				    .sh_offset = sizeof(holder),
				    .sh_size = size},
			     [2] = {.sh_name = 16,
				    .sh_type = SHT_STRTAB,
				    .sh_offset = offsetof(struct holder, names),
				    .sh_size = sizeof(names)}},
	};
	int fd = memfd_create("holder", MFD_CLOEXEC);

	memcpy(holder.names, names, sizeof(names));
	assert_int_equal(write(fd, &holder, sizeof(holder)), sizeof(holder));
	assert_int_equal(write(fd, data, size), size);
	return fd;
}

static int hold_compressed(const void *data, size_t size)
{
	_cleanup_free_ uint8_t *compressed = malloc(ROOM);

	assert_non_null(compressed);
	return hold(compressed, compress_data(data, size, compressed));
}

static int read_mini(int fd)
{
	_cleanup_(elf_symbols_free) struct elf_symbols symbols = {0};
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	int error;

	assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
	error = mini_debug_read(&file, &symbols);
	if (error)
		assert_int_equal(symbols.list.count, 0);
	close(fd);
	return error;
}

static void the_functions_in_the_section_are_the_file_s(void **state)
{
	struct elf_fixture elf;
	_cleanup_close_ int fd = -1;
	_cleanup_close_ int plain_fd = -1;
	_cleanup_(image_free) struct image image = {0}, plain = {0};

	(void)state;
	fixture_init(&elf);
	fd = hold_compressed(&elf, sizeof(elf));
	plain_fd = fixture_file(&elf, sizeof(elf));
	assert_int_equal(image_read(fd, &image), 0);
	assert_int_equal(image_read(plain_fd, &plain), 0);
	assert_true(image.has_symtab);
	assert_int_equal(image.table.count, plain.table.count);
	assert_true(image.table.count > 0);
	for (size_t i = 0; i < image.table.count; i++) {
		const struct symbol *symbol = &image.table.symbols[i];

		assert_int_equal(symbol->address, plain.table.symbols[i].address);
		assert_string_equal(image.table.names + symbol->name,
				    plain.table.names + plain.table.symbols[i].name);
	}
}

static void a_file_without_the_section_has_none(void **state)
{
	struct elf_fixture elf;

	(void)state;
	fixture_init(&elf);
	assert_int_equal(read_mini(fixture_file(&elf, sizeof(elf))), -ENOENT);
}

static void a_bomb_is_given_up(void **state)
{
	_cleanup_free_ uint8_t *zeros = calloc(1, MINI_DEBUG_MAX_BYTES + 1);

	(void)state;
	assert_int_equal(read_mini(hold_compressed(zeros, MINI_DEBUG_MAX_BYTES + 1)), -EFBIG);
	assert_int_equal(read_mini(hold_compressed(zeros, 1000)), -ENOEXEC);
}

static void broken_streams_are_errors(void **state)
{
	_cleanup_free_ uint8_t *compressed = malloc(ROOM);
	struct elf_fixture elf;
	size_t size;

	(void)state;
	fixture_init(&elf);
	size = compress_data((uint8_t *)&elf, sizeof(elf), compressed);
	assert_int_equal(read_mini(hold(compressed, size)), 0);
	for (size_t cut = 0; cut < size; cut += 7)
		assert_int_equal(read_mini(hold(compressed, cut)), -EBADMSG);
	compressed[size / 2] ^= 1;
	assert_int_equal(read_mini(hold(compressed, size)), -EBADMSG);
	assert_int_equal(read_mini(hold((const uint8_t *)"not xz", 6)), -EBADMSG);
}

/* A failure to unpack must not cost the file itself. */
static void a_broken_section_leaves_the_rest_of_the_file(void **state)
{
	_cleanup_close_ int fd = hold((const uint8_t *)"not xz", 6);
	_cleanup_(image_free) struct image image = {0};

	(void)state;
	assert_int_equal(image_read(fd, &image), 0);
	assert_false(image.has_symtab);
	assert_int_equal(image.table.count, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_functions_in_the_section_are_the_file_s),
		cmocka_unit_test(a_file_without_the_section_has_none),
		cmocka_unit_test(a_bomb_is_given_up),
		cmocka_unit_test(broken_streams_are_errors),
		cmocka_unit_test(a_broken_section_leaves_the_rest_of_the_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
