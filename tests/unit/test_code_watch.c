// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/cleanup.h"
#include "own_code.h"
#include "trace/probe/code_watch.h"

#define PAGE ((size_t)4096)
/* In the file: a page of code, the second, which a function straddles into the third; then data. */
#define ENTRY (2 * PAGE - 8)
#define POINT (2 * PAGE + 4)
#define POINT_BYTES (sizeof(OWN_INSTRUCTION) - 1)

/* A "library": mapped by ourselves, for we are a process, too. */
struct library {
	int fd;
	char *code, *data;
	struct code_file file;
};

static void fill(unsigned char *bytes, size_t size)
{
	for (size_t i = 0; i < size; i++)
		bytes[i] = (unsigned char)(i * 7 + 1);
	memcpy(&bytes[POINT], OWN_INSTRUCTION, POINT_BYTES);
	memcpy(&bytes[POINT - 6], (unsigned char[]){0x0f, 0x1f, 0x44, 0x00, 0x00}, 5);
}

static void load(struct library *library)
{
	library->code = mmap(NULL, 2 * PAGE, PROT_READ | PROT_EXEC, MAP_PRIVATE, library->fd, PAGE);
	library->data =
		mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, library->fd, 3 * PAGE);
	assert_true(library->code != MAP_FAILED && library->data != MAP_FAILED);
}

static int set_up(void **state)
{
	static unsigned char bytes[4 * PAGE];
	struct library *library = calloc(1, sizeof(*library));
	struct maps maps = {0};
	const struct mapping *mapping;

	library->fd = memfd_create("library", MFD_CLOEXEC);
	fill(bytes, sizeof(bytes));
	assert_int_equal(write(library->fd, bytes, sizeof(bytes)), sizeof(bytes));
	load(library);
	assert_int_equal(maps_read(getpid(), MAPS_CODE, &maps), 0);
	mapping = maps_find(&maps, (uintptr_t)library->code);
	assert_non_null(mapping);
	assert_int_equal(code_file_new(&library->file, mapping), 0);
	assert_int_equal(code_file_add(&library->file, ENTRY, POINT), 0);
	maps_free(&maps);
	*state = library;
	return 0;
}

static int tear_down(void **state)
{
	struct library *library = *state;

	munmap(library->code, 2 * PAGE);
	munmap(library->data, PAGE);
	close(library->fd);
	code_file_free(&library->file);
	free(library);
	return 0;
}

static int check(const struct library *library, enum code_fault *fault)
{
	_cleanup_(maps_free) struct maps maps = {0};

	assert_int_equal(maps_read(getpid(), MAPS_CODE, &maps), 0);
	return code_check(&maps, &library->file, library->fd, fault);
}

static void expect_fault(const struct library *library, enum code_fault expected)
{
	enum code_fault fault = CODE_FAULT_MAX_;

	assert_int_equal(check(library, &fault), -EOPNOTSUPP);
	assert_int_equal(fault, expected);
}

static void expect_same(const struct library *library)
{
	enum code_fault fault;

	assert_int_equal(check(library, &fault), 0);
}

/* Writes over one byte of the code, which is a page of our own from then on; returns the old. */
static char change(struct library *library, size_t offset, char byte)
{
	char *at = library->code + offset - PAGE, before = *at;

	assert_int_equal(mprotect(library->code, 2 * PAGE, PROT_READ | PROT_WRITE), 0);
	*at = byte;
	assert_int_equal(mprotect(library->code, 2 * PAGE, PROT_READ | PROT_EXEC), 0);
	return before;
}

static void set_breakpoint(struct library *library, size_t offset)
{
	for (size_t i = 0; i < sizeof(OWN_BREAKPOINT) - 1; i++)
		change(library, offset + i, OWN_BREAKPOINT[i]);
}

static void code_that_was_never_touched_is_the_files(void **state)
{
	expect_same(*state);
}

static void a_byte_counts_from_the_entry_to_the_end_of_the_instruction(void **state)
{
	static const struct {
		size_t offset;
		bool counts;
	} cases[] = {{ENTRY - 1, false},
		     {ENTRY, true},
		     {2 * PAGE - 1, true},
		     {2 * PAGE, true},
		     {POINT - 1, true},
		     {POINT, true},
		     {POINT + POINT_BYTES - 1, true},
		     {POINT + POINT_BYTES, false}};
	struct library *library = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char before = change(library, cases[i].offset, 0x66);

		if (cases[i].counts)
			expect_fault(library, CODE_CHANGED);
		else
			expect_same(library);
		change(library, cases[i].offset, before);
	}
}

static void a_breakpoint_is_no_change(void **state)
{
	struct library *library = *state;

	set_breakpoint(library, POINT);
	set_breakpoint(library, ENTRY);
	expect_same(library);
}

/* Only of a page that the kernel maps for it. */
static void a_call_over_a_nop_is_a_change(void **state)
{
	struct library *library = *state;

	change(library, POINT - 6, (char)0xe8);
	expect_fault(library, CODE_CHANGED);
}

static void a_page_that_was_dropped_is_the_files_again(void **state)
{
	struct library *library = *state;

	change(library, POINT, 0x66);
	assert_int_equal(madvise(library->code, 2 * PAGE, MADV_DONTNEED), 0);
	expect_same(library);
}

static void code_without_a_mapping_of_the_file_has_moved(void **state)
{
	struct library *library = *state;

	assert_ptr_equal(mmap(library->code + PAGE, PAGE, PROT_READ | PROT_EXEC,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0),
			 library->code + PAGE);
	expect_fault(library, CODE_MOVED);
	munmap(library->code, 2 * PAGE);
	expect_fault(library, CODE_MOVED);
	munmap(library->data, PAGE);
	expect_same(library); /* unloaded */
}

static void each_of_two_loads_has_its_own_code(void **state)
{
	struct library *library = *state, second = *library;

	load(&second);
	expect_same(library);
	change(&second, POINT, 0x66);
	expect_fault(library, CODE_CHANGED);
	munmap(second.code, 2 * PAGE);
	expect_fault(library, CODE_MOVED);
	munmap(second.data, PAGE);
	expect_same(library);
}

/* As readers of debug information do. */
static void a_file_that_is_mapped_to_be_read_is_not_loaded(void **state)
{
	struct library *library = *state;
	void *read = mmap(NULL, 4 * PAGE, PROT_READ, MAP_PRIVATE, library->fd, 0);
	void *written = mmap(NULL, 4 * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE, library->fd, 0);

	assert_true(read != MAP_FAILED && written != MAP_FAILED);
	expect_same(library);
	munmap(read, 4 * PAGE);
	munmap(written, 4 * PAGE);
}

/* No breakpoint is there, and the kernel could set none: nothing writes to the file. */
static void what_is_not_probed_is_a_fault_for_good(void **state)
{
	struct library *library = *state;
	struct code_watch watch = {.pid = getpid()};
	char before;

	set_breakpoint(library, POINT);
	assert_int_equal(code_watch_add(&watch, &library->file), 0);
	code_watch_look(&watch, ATTACH_MULTI, NULL); /* no address yet: it is set later */
	assert_int_equal(watch.faults, 0);
	{
		_cleanup_(maps_free) struct maps maps = {0};

		assert_int_equal(maps_read(getpid(), MAPS_CODE, &maps), 0);
		code_watch_look(&watch, ATTACH_MULTI, &maps);
		assert_int_equal(watch.places.count, 1);
		assert_int_equal(watch.faults, 0);
	}
	before = change(library, POINT, 0x66);
	code_watch_look(&watch, ATTACH_MULTI, NULL);
	assert_int_equal(watch.faults, 1u << CODE_CHANGED);
	change(library, POINT, before);
	code_watch_look(&watch, ATTACH_MULTI, NULL);
	assert_int_equal(watch.faults, 1u << CODE_CHANGED);
	mprotect(library->code, 2 * PAGE, PROT_READ | PROT_WRITE | PROT_EXEC);
	memcpy(&library->code[POINT - PAGE], OWN_INSTRUCTION, POINT_BYTES);
	code_watch_look(&watch, ATTACH_MULTI, NULL);
	assert_int_equal(watch.faults, 1u << CODE_CHANGED | 1u << CODE_WRITABLE);
	code_watch_free(&watch);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		TEST(code_that_was_never_touched_is_the_files),
		TEST(a_byte_counts_from_the_entry_to_the_end_of_the_instruction),
		TEST(a_breakpoint_is_no_change),
		TEST(a_call_over_a_nop_is_a_change),
		TEST(a_page_that_was_dropped_is_the_files_again),
		TEST(code_without_a_mapping_of_the_file_has_moved),
		TEST(each_of_two_loads_has_its_own_code),
		TEST(a_file_that_is_mapped_to_be_read_is_not_loaded),
		TEST(what_is_not_probed_is_a_fault_for_good),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
