// SPDX-License-Identifier: GPL-2.0-or-later
/* Walks' readings of this very process, live and from a heap image. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/allocators/pages.h"
#include "heap/runtime/loaded_symbols.h"
#include "heap/runtime/target_memory.h"

#define PAGES 8
#define ABSENT 5
#define UNKEPT 6

struct fixture {
	uint64_t *memory;
	uint64_t start;
	int pagemap;
	struct mapping mapping;
	struct maps maps;
	struct page_table table;
	struct filter filter;
};

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));
	struct page_range *range;

	*state = fixture;
	fixture->memory = mmap(NULL, PAGES * MEMORY_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	fixture->start = (uintptr_t)fixture->memory;
	fixture->pagemap = pagemap_open(live_memory(getpid()));
	fixture->mapping = (struct mapping){.start = fixture->start,
					    .end = fixture->start + PAGES * MEMORY_PAGE,
					    .readable = true,
					    .writable = true,
					    .path = (char[1]){""}};
	fixture->maps = (struct maps){.source = live_memory(getpid())};
	fixture->maps.list.items = &fixture->mapping;
	fixture->maps.list.count = 1;
	range = vec_push(&fixture->table.ranges);
	range->start = fixture->start;
	range->end = fixture->start + UNKEPT * MEMORY_PAGE;
	pages_keep(&fixture->table, PAGES);
	return pages_prepare(&fixture->table);
}

static int teardown(void **state)
{
	struct fixture *fixture = *state;

	pages_free(&fixture->table);
	filter_free(&fixture->filter);
	close(fixture->pagemap);
	munmap(fixture->memory, PAGES * MEMORY_PAGE);
	free(fixture);
	return 0;
}

static uint64_t *page(const struct fixture *fixture, size_t number)
{
	return fixture->memory + number * PAGE_WORDS;
}

/* Words before the image is taken, and after it. */
static void take_image(struct fixture *fixture)
{
	struct page_scan scan = {.source = live_memory(getpid()),
				 .pagemap = fixture->pagemap,
				 .filter = &fixture->filter,
				 .threads = 1};

	for (size_t i = 0; i < PAGES; i++) {
		if (i != ABSENT)
			page(fixture, i)[1] = 100 + i;
	}
	assert_int_equal(pages_read(&fixture->table, &scan), 0);
	for (size_t i = 0; i < PAGES; i++)
		page(fixture, i)[1] = 200 + i;
}

static uint64_t address_of(const struct fixture *fixture, size_t number)
{
	return fixture->start + number * MEMORY_PAGE + 8;
}

static void what_was_kept_is_read_as_it_was(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;
	uint64_t words[PAGE_WORDS], word;

	take_image(fixture);
	assert_int_equal(target_memory_open(&fixture->maps, NULL, &fixture->table, &memory), 0);
	assert_false(memory.changes);
	assert_int_equal(target_word(&memory, address_of(fixture, 3)), 103);
	assert_int_equal(
		target_read_pages(&memory, fixture->start + MEMORY_PAGE, words, sizeof(words)),
		MEMORY_PAGE);
	assert_int_equal(words[1], 101);
	/* It has come since. */
	assert_int_equal(target_read(&memory, address_of(fixture, ABSENT), &word, 8), -EFAULT);
	assert_int_equal(target_read_pages(&memory, fixture->start + ABSENT * MEMORY_PAGE, words,
					   sizeof(words)),
			 0);
	assert_int_equal(words[1], 0);
	assert_false(memory.uncertain);
	/* Nothing that is written is kept of it. */
	assert_int_equal(target_word(&memory, address_of(fixture, UNKEPT)), 200 + UNKEPT);
	/* Nothing is mapped. */
	assert_int_equal(target_read(&memory, MEMORY_PAGE, &word, 8), -EFAULT);
	target_memory_close(&memory);
}

/* Like a guard of the runtime before an assembly. */
static void a_page_that_cannot_be_read_hides_no_other(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;
	uint64_t word;

	for (size_t i = 0; i < PAGES; i++)
		page(fixture, i)[1] = 100 + i;
	assert_int_equal(mprotect(page(fixture, 2), MEMORY_PAGE, PROT_NONE), 0);
	assert_int_equal(target_memory_open(&fixture->maps, NULL, NULL, &memory), 0);
	for (size_t i = 0; i < PAGES; i++) {
		if (i == 2)
			assert_int_equal(target_read(&memory, address_of(fixture, i), &word, 8),
					 -EFAULT);
		else
			assert_int_equal(target_word(&memory, address_of(fixture, i)), 100 + i);
	}
	target_memory_close(&memory);
}

static void what_was_kept_in_one_piece_need_not_be_copied(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;
	const unsigned char *kept;
	uint64_t word;

	take_image(fixture);
	assert_int_equal(target_memory_open(&fixture->maps, NULL, &fixture->table, &memory), 0);
	kept = target_kept(&memory, address_of(fixture, 1), 2 * MEMORY_PAGE);
	assert_non_null(kept);
	memcpy(&word, kept + MEMORY_PAGE, sizeof(word));
	assert_int_equal(word, 102);
	/* Beyond it a page is missing. */
	assert_non_null(target_kept(&memory, address_of(fixture, 4), MEMORY_PAGE - 8));
	assert_null(target_kept(&memory, address_of(fixture, 4), MEMORY_PAGE));
	assert_null(target_kept(&memory, address_of(fixture, UNKEPT), 8));
	SWAP(fixture->table.pages[1].first, fixture->table.pages[2].first);
	assert_null(target_kept(&memory, address_of(fixture, 1), 2 * MEMORY_PAGE));
	target_memory_close(&memory);
}

static void a_page_that_changed_too_late_makes_uncertain(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;

	take_image(fixture);
	fixture->table.pages[2].flags |= PAGE_LATE;
	assert_int_equal(target_memory_open(&fixture->maps, NULL, &fixture->table, &memory), 0);
	assert_int_equal(target_word(&memory, address_of(fixture, 1)), 101);
	assert_false(memory.uncertain);
	assert_int_equal(target_word(&memory, address_of(fixture, 2)), 102);
	assert_true(memory.uncertain);
	target_memory_close(&memory);
}

static void without_an_image_it_is_read_as_it_is(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;
	uint64_t word;

	take_image(fixture);
	assert_int_equal(target_memory_open(&fixture->maps, NULL, NULL, &memory), 0);
	assert_true(memory.changes);
	assert_int_equal(target_word(&memory, address_of(fixture, 3)), 203);
	page(fixture, 3)[1] = 300;
	assert_int_equal(target_word(&memory, address_of(fixture, 3)), 203);
	assert_int_equal(target_read_now(&memory, address_of(fixture, 3), &word, sizeof(word)), 0);
	assert_int_equal(word, 300);
	target_memory_forget(&memory);
	assert_int_equal(target_word(&memory, address_of(fixture, 3)), 300);
	target_memory_close(&memory);
}

#define VIEW_SHIFT 28

static void what_a_walk_may_cost_has_a_limit(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;
	uint64_t words[PAGE_WORDS];

	page(fixture, 3)[1] = 103;
	assert_int_equal(target_memory_open(&fixture->maps, NULL, NULL, &memory), 0);
	assert_null(target_memory_overworked(&memory));
	memory.work_left = 1000;
	for (size_t i = 0; i < 500; i++)
		assert_int_equal(target_word(&memory, address_of(fixture, 3)), 103);
	for (size_t i = 0; i < 500; i++)
		target_word(&memory, address_of(fixture, 3));
	assert_non_null(target_memory_overworked(&memory));
	assert_int_equal(target_word(&memory, address_of(fixture, 3)), 0);
	words[1] = 1;
	assert_int_equal(
		target_read_pages(&memory, fixture->start + 3 * MEMORY_PAGE, words, sizeof(words)),
		0);
	assert_int_equal(words[1], 0);
	target_memory_forget(&memory);
	assert_int_equal(target_word(&memory, address_of(fixture, 3)), 103);
	target_memory_close(&memory);
}

/* Only one view has the page: the kernel maps pages where they are touched. */
static void memory_with_several_views_is_read_where_it_is_present(void **state)
{
	struct fixture *fixture = *state;
	struct target_memory memory;
	int file = memfd_create("views", 0);
	uint64_t *views[3];

	assert_int_equal(ftruncate(file, MEMORY_PAGE), 0);
	for (size_t i = 0; i < 3; i++) {
		/* Low memory: where sanitizers have nothing. */
		uint64_t at = 1ull << (VIEW_SHIFT + i) | 5 * MEMORY_PAGE;

		views[i] = mmap((void *)(uintptr_t)at, MEMORY_PAGE, PROT_READ | PROT_WRITE,
				MAP_SHARED | MAP_FIXED_NOREPLACE, file, 0);
		if (views[i] == MAP_FAILED)
			skip();
	}
	views[2][1] = 1234;
	assert_int_equal(target_memory_open(&fixture->maps, NULL, NULL, &memory), 0);
	assert_int_equal(target_word(&memory, (uintptr_t)&views[0][1]), 0);
	memory.view_shift = VIEW_SHIFT;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(target_word(&memory, (uintptr_t)&views[i][1]), 1234);
	target_memory_close(&memory);
	for (size_t i = 0; i < 3; i++)
		munmap(views[i], MEMORY_PAGE);
	close(file);
}

/* The C library of this process. */
static void a_loaded_file_has_the_variables_that_it_exports(void **state)
{
	static const char *const names[] = {"stdin", "no_such_variable", "environ"};
	struct loaded_module module;
	struct target_memory memory;
	struct maps maps;
	const struct mapping *library = NULL;

	(void)state;
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &maps), 0);
	for (size_t i = 0; !library && i < maps.list.count; i++) {
		if (strstr(maps.list.items[i].path, "/libc.so.6"))
			library = &maps.list.items[i];
	}
	assert_non_null(library);
	assert_int_equal(target_memory_open(&maps, NULL, NULL, &memory), 0);
	assert_int_equal(loaded_module_read(&memory, library, names, ARRAY_SIZE(names), &module),
			 0);
	assert_int_equal(module.image.table.count, 2);
	assert_int_equal(target_variable(&module.module, "stdin"),
			 (uintptr_t)dlsym(RTLD_NEXT, "stdin"));
	assert_int_equal(target_variable(&module.module, "environ"),
			 (uintptr_t)dlsym(RTLD_NEXT, "environ"));
	assert_int_equal(target_variable(&module.module, "no_such_variable"), 0);
	/* Memory without a file. */
	assert_int_equal(loaded_module_read(&memory, &maps.list.items[maps.list.count - 1], names,
					    ARRAY_SIZE(names), &module),
			 -ENOENT);
	target_memory_close(&memory);
	maps_free(&maps);
}

static void room_ends_behind_the_last_mapping_that_follows(void **state)
{
	struct fixture *fixture = *state;
	const uint64_t start = fixture->start, page = MEMORY_PAGE;
	struct mapping mappings[] = {{.start = start, .end = start + page},
				     {.start = start + page, .end = start + 2 * page},
				     {.start = start + 3 * page, .end = start + 4 * page}};
	struct maps maps = {.source = live_memory(getpid())};
	struct target_memory memory;

	maps.list.items = mappings;
	maps.list.count = ARRAY_SIZE(mappings);
	assert_int_equal(target_memory_open(&maps, NULL, NULL, &memory), 0);
	assert_int_equal(target_room(&memory, start + 8, 100), 100);
	assert_int_equal(target_room(&memory, start + 8, page), page);
	assert_int_equal(target_room(&memory, start + 8, 4 * page), 2 * page - 8);
	assert_int_equal(target_room(&memory, start + 2 * page, 8), 0);
	assert_int_equal(target_room(&memory, start + 3 * page, UINT64_MAX), page);
	target_memory_close(&memory);
}

int main(void)
{
#define WITH_MEMORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_MEMORY(what_a_walk_may_cost_has_a_limit),
		WITH_MEMORY(room_ends_behind_the_last_mapping_that_follows),
		WITH_MEMORY(memory_with_several_views_is_read_where_it_is_present),
		WITH_MEMORY(what_was_kept_is_read_as_it_was),
		WITH_MEMORY(a_page_that_cannot_be_read_hides_no_other),
		WITH_MEMORY(what_was_kept_in_one_piece_need_not_be_copied),
		WITH_MEMORY(a_page_that_changed_too_late_makes_uncertain),
		WITH_MEMORY(without_an_image_it_is_read_as_it_is),
		cmocka_unit_test(a_loaded_file_has_the_variables_that_it_exports),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
