// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/cleanup.h"

static enum site_kind purpose_of(const char *const *functions, size_t count, enum site_kind kind)
{
	struct frame list[8] = {0};
	struct frames frames = {.list = {.items = list, .count = count}};

	for (size_t i = 0; i < count; i++)
		list[i].function = functions[i];
	return mapping_purpose(&frames, kind);
}

static void names_on_the_stack_show_what_a_mapping_is_for(void **state)
{
	static const struct {
		const char *functions[4];
		enum site_kind given, expected;
	} cases[] = {
		{{"mmap64", "load_table", "main"}, KIND_MAPPING, KIND_MAPPING},
		{{"mmap64", NULL, "main"}, KIND_MAPPING, KIND_MAPPING},
		{{"mmap", "__pthread_create", "start"}, KIND_MAPPING, KIND_THREAD_STACK},
		{{"mmap", "pthread_create@@GLIBC_2.34"}, KIND_RESERVATION, KIND_THREAD_STACK},
		{{"mmap", "je_pages_map", "background_thread_entry"}, KIND_MAPPING, KIND_ARENA},
		{{"mmap", "_mi_os_alloc", "pthread_create"}, KIND_MAPPING, KIND_ARENA},
		{{"brk", "sbrk", "sysmalloc", "malloc"}, KIND_BRK, KIND_ARENA},
		{{"brk", "sbrk", "malloc_info_page", "main"}, KIND_BRK, KIND_BRK},
		/* Flags given to the kernel are never doubted. */
		{{"mmap", "malloc"}, KIND_FILE, KIND_FILE},
		{{"mmap", "malloc"}, KIND_THREAD_STACK, KIND_THREAD_STACK},
		{{"mmap", "pthread_create"}, KIND_ARENA, KIND_ARENA},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(purpose_of(cases[i].functions, 4, cases[i].given),
				 cases[i].expected);
}

static void a_stack_without_frames_keeps_the_given_kind(void **state)
{
	(void)state;
	assert_int_equal(purpose_of(NULL, 0, KIND_BRK), KIND_BRK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(names_on_the_stack_show_what_a_mapping_is_for),
		cmocka_unit_test(a_stack_without_frames_keeps_the_given_kind),
	};

	return cmocka_run_group_tests_name("mapping_purpose", tests, NULL, NULL);
}
