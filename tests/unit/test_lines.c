// SPDX-License-Identifier: GPL-2.0-or-later
/* Lines and inlined calls of this program, with a known layout. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "binary/elf/elf_file.h"
#include "binary/parse/lines.h"
#include "process/proc/maps.h"
#include "process/symbol/symbolizer.h"
#include "unit/naming_fixture.h"

#define INLINE static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))
#define HERE(offset) (__LINE__ + (offset))

struct seen {
	uint64_t address; /* where note_caller() returns to */
	uint32_t lines[4];
};

NOINLINE void note_caller(struct seen *seen)
{
	seen->address = (uintptr_t)__builtin_return_address(0);
	__asm__ volatile("" ::: "memory");
}

INLINE void inlined_twice(struct seen *seen)
{
	seen->lines[0] = HERE(1);
	note_caller(seen);
	__asm__ volatile("" ::: "memory");
}

INLINE void inlined_between(struct seen *seen)
{
	seen->lines[1] = HERE(1);
	inlined_twice(seen);
	__asm__ volatile("" ::: "memory");
}

NOINLINE void outermost(struct seen *seen)
{
	seen->lines[2] = HERE(1);
	inlined_between(seen);
	__asm__ volatile("" ::: "memory");
}

NOINLINE void plain(struct seen *seen)
{
	seen->lines[0] = HERE(1);
	note_caller(seen);
	__asm__ volatile("" ::: "memory");
}

static uint64_t vaddr_of(uint64_t address)
{
	_cleanup_(maps_free) struct maps maps = {0};
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	uint64_t vaddr = 0;

	assert_int_equal(elf_file_open(fd, &machine_abi, &file), 0);
	assert_int_equal(maps_read(getpid(), MAPS_EXECUTABLE, &maps), 0);
	for (size_t i = 0; i < maps.list.count; i++) {
		const struct mapping *mapping = &maps.list.items[i];

		if (address >= mapping->start && address < mapping->end)
			assert_int_equal(elf_file_vaddr(&file,
							address - mapping->start + mapping->offset,
							&vaddr),
					 0);
	}
	assert_true(vaddr > 0);
	return vaddr;
}

static struct lines *open_own(void)
{
	_cleanup_close_ int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	struct lines *lines = NULL;

	assert_int_equal(lines_open(fd, -1, &lines), 0);
	return lines;
}

static void assert_frame(const struct line_frame *frame, const char *function, uint32_t line)
{
	if (function)
		assert_string_equal(frame->function, function);
	else
		assert_null(frame->function);
	assert_non_null(strstr(frame->file, "tests/unit/test_lines.c"));
	assert_int_equal(frame->line, line);
}

static void inlined_calls_come_innermost_first_with_the_lines_of_their_callers(void **state)
{
	struct lines *lines = open_own();
	struct line_frame frames[8] = {0};
	struct seen seen = {0};

	(void)state;
	outermost(&seen);
	assert_int_equal(lines_find(lines, vaddr_of(seen.address - 1), frames, 8), 3);
	assert_frame(&frames[0], "inlined_twice", seen.lines[0]);
	assert_frame(&frames[1], "inlined_between", seen.lines[1]);
	assert_frame(&frames[2], NULL, seen.lines[2]);
	lines_close(lines);
}

static void a_plain_call_is_one_frame(void **state)
{
	struct lines *lines = open_own();
	struct line_frame frames[8] = {0};
	struct seen seen = {0};

	(void)state;
	plain(&seen);
	assert_int_equal(lines_find(lines, vaddr_of(seen.address - 1), frames, 8), 1);
	assert_frame(&frames[0], NULL, seen.lines[0]);
	lines_close(lines);
}

static void no_more_frames_than_there_is_room_for(void **state)
{
	struct lines *lines = open_own();
	struct line_frame frames[3] = {0};
	struct seen seen = {0};
	uint64_t vaddr;

	(void)state;
	outermost(&seen);
	vaddr = vaddr_of(seen.address - 1);
	assert_int_equal(lines_find(lines, vaddr, frames, 0), 0);
	assert_null(frames[0].file);
	assert_int_equal(lines_find(lines, vaddr, frames, 1), 1);
	assert_int_equal(lines_find(lines, vaddr, frames, 2), 2);
	assert_null(frames[2].file);
	lines_close(lines);
}

static void the_function_around_keeps_its_name_and_offset(void **state)
{
	struct symbolizer *symbolizer = naming_new(NULL);
	struct frames frames = {0};
	const struct frame *outer;
	struct seen seen = {0};

	(void)state;
	outermost(&seen);
	assert_int_equal(naming_refresh(symbolizer, 1, getpid()), 0);
	assert_int_equal(symbolizer_name(symbolizer, 1, &seen.address, 1, LINES_WAIT, &frames), 0);
	assert_int_equal(frames.list.count, 3);
	assert_string_equal(frames.list.items[0].function, "inlined_twice");
	assert_true(frames.list.items[0].inlined);
	assert_true(frames.list.items[1].inlined);
	outer = &frames.list.items[2];
	assert_string_equal(outer->function, "outermost");
	assert_false(outer->inlined);
	assert_int_equal(outer->offset, seen.address - (uintptr_t)outermost);
	assert_int_equal(outer->line, seen.lines[2]);
	vec_free(&frames.list);
	naming_free(symbolizer);
}

/* Makes a copy of this program in which the last string of a section has no end. */
static int copy_without_end(const char *name)
{
	_cleanup_close_ int from = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	_cleanup_(elf_file_close) struct elf_file file = {.fd = -1};
	_cleanup_(elf_sections_free) struct elf_sections sections = {0};
	const struct elf_section *section;
	int copy = memfd_create("copy", MFD_CLOEXEC);
	struct stat status;

	assert_int_equal(fstat(from, &status), 0);
	assert_int_equal(sendfile(copy, from, NULL, (size_t)status.st_size), status.st_size);
	assert_int_equal(elf_file_open(copy, &machine_abi, &file), 0);
	assert_int_equal(elf_sections_read(&file, &sections), 0);
	section = elf_sections_find(&sections, name);
	assert_non_null(section);
	assert_int_equal(pwrite(copy, "x", 1, (off_t)(section->offset + section->size - 1)), 1);
	return copy;
}

static void a_section_of_strings_must_end_with_one(void **state)
{
	static const char *const names[] = {".debug_str", ".debug_line_str"};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++) {
		_cleanup_close_ int fd = copy_without_end(names[i]);
		struct lines *lines = NULL;

		assert_int_equal(lines_open(fd, -1, &lines), -EBADMSG);
		assert_null(lines);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			inlined_calls_come_innermost_first_with_the_lines_of_their_callers),
		cmocka_unit_test(a_plain_call_is_one_frame),
		cmocka_unit_test(no_more_frames_than_there_is_room_for),
		cmocka_unit_test(the_function_around_keeps_its_name_and_offset),
		cmocka_unit_test(a_section_of_strings_must_end_with_one),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
