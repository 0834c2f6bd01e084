// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <time.h>

#include "binary/arch/machine.h"
#include "binary/elf/elf_file.h"
#include "own_registers.h"
#include "unit/unwind_fixture.h"

#define VICTIM OWN_LOADER
#define MUTATIONS 6000
#define MAX_CHANGES 8
#define DEADLINE_S 120

struct victim {
	uint8_t *image; /* the intact image */
	size_t size;
	size_t frames, frames_size; /* .eh_frame in the image */
	int fd;			    /* of the damaged copy */
	uint64_t random;
};

static uint64_t next_random(struct victim *victim)
{
	victim->random ^= victim->random << 13;
	victim->random ^= victim->random >> 7;
	victim->random ^= victim->random << 17;
	return victim->random;
}

static int load_victim(void **state)
{
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	_cleanup_close_ int fd = open(VICTIM, O_RDONLY | O_CLOEXEC);
	struct victim *victim = calloc(1, sizeof(*victim));
	const struct elf_section *frames;

	if (!victim || fd < 0 || elf_file_open(fd, &machine_abi, &file) ||
	    elf_sections_read(&file, &sections))
		return -1;
	frames = elf_sections_find(&sections, ".eh_frame");
	victim->random = 0x9e3779b97f4a7c15;
	victim->size = file.size;
	victim->image = malloc(file.size);
	if (!frames || !victim->image || elf_file_read_exact(&file, 0, victim->image, victim->size))
		return -1;
	victim->frames = frames->offset;
	victim->frames_size = frames->size;
	victim->fd = fixture_file(victim->image, victim->size);
	*state = victim;
	return victim->fd < 0 ? -1 : 0;
}

static int free_victim(void **state)
{
	struct victim *victim = *state;

	close(victim->fd);
	free(victim->image);
	free(victim);
	return 0;
}

static void assert_sound(const struct unwind_table *table)
{
	for (size_t i = 0; i < table->count; i++) {
		const struct lm_unwind_row *row = &table->rows[i], *next = row + 1;

		assert_true((row->kind & LM_UNWIND_KIND_MASK) < LM_UNWIND_MAX_);
		if (i + 1 == table->count)
			break;
		assert_true(row->pc < next->pc);
		assert_true(row->kind != next->kind || row->cfa_words != next->cfa_words ||
			    row->fp_words != next->fp_words);
	}
}

/* The errors that the header speaks of, or a sound table. */
static bool compile_victim(const struct victim *victim)
{
	_cleanup_(unwind_table_free) struct unwind_table table = {0};
	_cleanup_(elf_file_close) struct elf_file file = {0};
	int error = elf_file_open(victim->fd, &machine_abi, &file);

	if (!error)
		error = unwind_table_compile(&file, &table);
	assert_true(!error || error == -EBADMSG || error == -ENOEXEC || error == -EFBIG);
	assert_sound(&table);
	return !error;
}

/* Single bits, and the values at which sizes and LEB128 numbers break. */
static uint8_t mutate(struct victim *victim, uint8_t byte)
{
	static const uint8_t edges[] = {0x00, 0x01, 0x7f, 0x80, 0xff};
	uint64_t random = next_random(victim);

	if (random & 1)
		return byte ^ (uint8_t)(1u << (random >> 8 & 7));
	return edges[(random >> 8) % ARRAY_SIZE(edges)];
}

static void write_byte(const struct victim *victim, size_t at, uint8_t byte)
{
	assert_int_equal(pwrite(victim->fd, &byte, 1, (off_t)at), 1);
}

static void suffer(struct victim *victim, size_t start, size_t size, size_t *compiled)
{
	size_t places[MAX_CHANGES];
	size_t changes = 1 + next_random(victim) % MAX_CHANGES;

	for (size_t i = 0; i < changes; i++) {
		places[i] = start + next_random(victim) % size;
		write_byte(victim, places[i], mutate(victim, victim->image[places[i]]));
	}
	*compiled += compile_victim(victim);
	for (size_t i = 0; i < changes; i++)
		write_byte(victim, places[i], victim->image[places[i]]);
}

static void mutated_frames_neither_crash_nor_hang(void **state)
{
	struct victim *victim = *state;
	size_t compiled = 0;
	time_t start = time(NULL);

	for (size_t i = 0; i < MUTATIONS; i++)
		suffer(victim, victim->frames, victim->frames_size, &compiled);
	print_message("%d mutations, %zu compiled all the same\n", MUTATIONS, compiled);
	assert_true(compiled > MUTATIONS / 4);
	assert_true(time(NULL) - start < DEADLINE_S);
}

static void mutated_file_headers_neither_crash_nor_hang(void **state)
{
	struct victim *victim = *state;
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)victim->image;
	size_t programs = sizeof(*header) + header->e_phnum * sizeof(Elf64_Phdr), compiled = 0;

	for (size_t i = 0; i < MUTATIONS / 4; i++)
		suffer(victim, 0, programs, &compiled);
	for (size_t i = 0; i < MUTATIONS / 4; i++)
		suffer(victim, header->e_shoff, header->e_shnum * sizeof(Elf64_Shdr), &compiled);
	assert_true(compiled > 0);
}

static void a_file_cut_off_anywhere_neither_crashes_nor_hangs(void **state)
{
	struct victim *victim = *state;
	size_t step = victim->size / 200 + 1;

	for (size_t size = 0; size < victim->size; size += step) {
		victim->fd = (close(victim->fd), fixture_file(victim->image, size));
		compile_victim(victim);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(mutated_frames_neither_crash_nor_hang, load_victim,
						free_victim),
		cmocka_unit_test_setup_teardown(mutated_file_headers_neither_crash_nor_hang,
						load_victim, free_victim),
		cmocka_unit_test_setup_teardown(a_file_cut_off_anywhere_neither_crashes_nor_hangs,
						load_victim, free_victim),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
