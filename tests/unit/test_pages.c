// SPDX-License-Identifier: GPL-2.0-or-later
/* Reads pages of this very process, as it would another one's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/clock.h"
#include "heap/allocators/heap_image_zones.h"
#include "heap/allocators/pages.h"

#define PAGES 600 /* more than two windows */
#define COLD 200  /* not in the first one */

struct fixture {
	uint64_t *memory;
	uint64_t start;
	int pagemap;
	struct filter filter;
	struct page_table table;
};

static void add_range(struct page_table *table, uint64_t start, size_t pages)
{
	struct page_range *range = vec_push(&table->ranges);

	range->start = start;
	range->end = start + pages * MEMORY_PAGE;
}

static int setup(void **state)
{
	struct fixture *fixture = calloc(1, sizeof(*fixture));

	fixture->memory = mmap(NULL, PAGES * MEMORY_PAGE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	/* Untouched memory is absent, even where the kernel gives huge pages. */
	madvise(fixture->memory, PAGES * MEMORY_PAGE, MADV_NOHUGEPAGE);
	fixture->start = (uintptr_t)fixture->memory;
	fixture->pagemap = pagemap_open(live_memory(getpid()));
	add_range(&fixture->table, fixture->start, PAGES);
	*state = fixture;
	return fixture->pagemap < 0 || pages_prepare(&fixture->table) ||
	       filter_add(&fixture->filter, 0x555500000000, 0x555500100000) ||
	       filter_finish(&fixture->filter);
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

static struct page_scan scan_of(const struct fixture *fixture)
{
	return (struct page_scan){.source = live_memory(getpid()),
				  .pagemap = fixture->pagemap,
				  .filter = &fixture->filter,
				  .deadline_ns = monotonic_ns() + 60000000000ull,
				  .threads = 2};
}

static uint64_t *page(const struct fixture *fixture, size_t number)
{
	return fixture->memory + number * PAGE_WORDS;
}

static size_t resident(const struct fixture *fixture)
{
	uint64_t entries[PAGES];
	size_t count = 0;

	pagemap_read(live_memory(getpid()), fixture->pagemap, fixture->start, entries, PAGES);
	for (size_t i = 0; i < PAGES; i++)
		count += pagemap_is_present(entries[i]);
	return count;
}

static void only_pages_that_are_there_are_read_and_absent_ones_stay_absent(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);

	page(fixture, 3)[0] = 0x555500000010;
	page(fixture, 300)[511] = 0x555500000020;
	page(fixture, 300)[0] = 0x777700000000; /* points nowhere */
	assert_int_equal(pages_read(&fixture->table, &scan), 0);
	assert_int_equal(resident(fixture), 2);
	assert_int_equal(fixture->table.found.count, 2);
	assert_int_equal(found_value(fixture->table.found.items[0]), 0x555500000010);
	assert_int_equal(found_place(fixture->table.found.items[0]), 0);
	assert_int_equal(found_value(fixture->table.found.items[1]), 0x555500000020);
	assert_int_equal(found_place(fixture->table.found.items[1]), 511);
	assert_int_equal(fixture->table.pages[3].flags, PAGE_WAS_READ);
	assert_int_equal(fixture->table.pages[4].flags, 0);
}

/* The second table, as after a stop. */
static void take_again(struct fixture *fixture, struct page_table *table)
{
	struct page_scan scan = scan_of(fixture);
	size_t checked;

	add_range(table, fixture->start, PAGES);
	assert_int_equal(pages_prepare(table), 0);
	assert_int_equal(pages_inherit(table, &fixture->table), 0);
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	assert_int_equal(checked, resident(fixture));
}

static void the_second_reading_finds_what_changed_came_and_went(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);
	struct page_table again = {0};
	const struct page *pages;

	page(fixture, 0)[5] = 0x555500000100;
	page(fixture, 1)[5] = 0x555500000200;
	page(fixture, 2)[5] = 0x555500000300;
	assert_int_equal(pages_read(&fixture->table, &scan), 0);
	page(fixture, 1)[5] = 0;
	page(fixture, 1)[6] = 0x555500000400;
	page(fixture, 500)[7] = 0x555500000500;
	assert_int_equal(madvise(page(fixture, 2), MEMORY_PAGE, MADV_DONTNEED), 0);
	take_again(fixture, &again);
	pages = again.pages;
	assert_int_equal(pages[0].flags, PAGE_WAS_READ);
	assert_int_equal(pages[0].count, 1);
	assert_int_equal(pages[1].flags, PAGE_WAS_READ | PAGE_CHANGED);
	assert_int_equal(found_value(again.found.items[pages[1].first]), 0x555500000400);
	assert_int_equal(found_place(again.found.items[pages[1].first]), 6);
	assert_int_equal(pages[2].flags, PAGE_CHANGED);
	assert_int_equal(pages[2].count, 0);
	assert_int_equal(pages[500].flags, PAGE_WAS_READ | PAGE_CHANGED);
	pages_free(&again);
}

static void expect_words(const struct page_table *table, const struct page *page,
			 const uint64_t *values, size_t count)
{
	assert_int_equal(page->count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(found_value(table->found.items[page->first + i]), values[i]);
}

/*
 * Recently changed memory is read even without time; the rest is read later, and memory changed by
 * then has both its words.
 */
static void without_patience_only_what_changes_is_looked_at_in_time(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);
	struct page_table *table = &fixture->table;
	size_t checked;

	page(fixture, 1)[5] = 0x555500000100;
	page(fixture, COLD)[5] = 0x555500000200;
	page(fixture, COLD)[9] = 0x555500000300;
	page(fixture, COLD + 1)[5] = 0x555500000400;
	assert_int_equal(pages_read(table, &scan), 0);
	page(fixture, 1)[5] = 0x555500000500;
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	assert_int_equal(table->pages[1].flags, PAGE_WAS_READ | PAGE_CHANGED);

	page(fixture, 1)[5] = 0x555500000600;
	scan.patience_ns = 1;
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	assert_int_equal(checked, 1);
	assert_int_equal(found_value(table->found.items[table->pages[1].first]), 0x555500000600);
	assert_int_equal(table->pages[COLD].flags, PAGE_WAS_READ | PAGE_UNCHECKED);

	page(fixture, COLD)[5] = 0x555500000700;
	scan.patience_ns = 0;
	scan.late = true;
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	assert_int_equal(checked, 2);
	assert_int_equal(table->pages[COLD + 1].flags, PAGE_WAS_READ);
	assert_int_equal(table->pages[COLD].flags, PAGE_WAS_READ | PAGE_LATE);
	expect_words(table, &table->pages[COLD],
		     (uint64_t[]){0x555500000200, 0x555500000700, 0x555500000300}, 3);
}

static void expect_contents(const struct fixture *fixture, size_t number, uint64_t first)
{
	const struct page_table *table = &fixture->table;
	const unsigned char *contents = page_contents(table, &table->pages[number]);
	uint64_t word;

	assert_non_null(contents);
	memcpy(&word, contents, sizeof(word));
	assert_int_equal(word, first);
}

static void expect_kept_words(const struct fixture *fixture, size_t number, const uint64_t *values,
			      size_t count)
{
	const struct page_table *table = &fixture->table;
	uint64_t room[PAGE_WORDS_ROOM];
	size_t found;
	const uint64_t *words =
		page_words(table, &fixture->filter, &table->pages[number], room, &found);

	assert_int_equal(found, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(found_value(words[i]), values[i]);
}

static void contents_are_kept_as_they_were_at_the_second_reading(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);
	struct page_table *table = &fixture->table;
	size_t checked;

	pages_keep(table, PAGES);
	for (size_t i = 0; i < 3; i++)
		page(fixture, i)[0] = 0x555500000100 + i;
	assert_int_equal(pages_read(table, &scan), 0);
	page(fixture, 1)[0] = 0x555500000200;
	page(fixture, 1)[1] = 0x555500000300;
	page(fixture, 500)[0] = 0x555500000400;
	assert_int_equal(madvise(page(fixture, 2), MEMORY_PAGE, MADV_DONTNEED), 0);
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	page(fixture, 0)[0] = page(fixture, 1)[0] = 0;
	expect_contents(fixture, 0, 0x555500000100);
	expect_contents(fixture, 1, 0x555500000200);
	expect_contents(fixture, 500, 0x555500000400);
	assert_null(page_contents(table, &table->pages[2]));
	expect_kept_words(fixture, 0, (uint64_t[]){0x555500000100}, 1);
	expect_kept_words(fixture, 1, (uint64_t[]){0x555500000200, 0x555500000300}, 2);
	expect_kept_words(fixture, 2, NULL, 0);
	assert_int_equal(table->found.count, 0);
}

static void
contents_of_a_page_that_changed_too_late_are_those_of_before_with_both_words(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);
	struct page_table *table = &fixture->table;
	size_t checked;

	pages_keep(table, PAGES);
	page(fixture, COLD)[0] = 0x555500000200;
	page(fixture, COLD + 1)[0] = 0x555500000300;
	assert_int_equal(pages_read(table, &scan), 0);
	scan.patience_ns = 1;
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	page(fixture, COLD)[0] = 0x555500000700;
	scan.patience_ns = 0;
	scan.late = true;
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	assert_int_equal(table->pages[COLD].flags, PAGE_WAS_READ | PAGE_KEPT | PAGE_LATE);
	assert_int_equal(table->pages[COLD + 1].flags, PAGE_WAS_READ | PAGE_KEPT);
	expect_contents(fixture, COLD, 0x555500000200);
	expect_kept_words(fixture, COLD, (uint64_t[]){0x555500000200, 0x555500000700}, 2);
	expect_kept_words(fixture, COLD + 1, (uint64_t[]){0x555500000300}, 1);
}

static void a_deadline_that_has_passed_leaves_what_is_known(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);
	const struct page *first = fixture->table.pages;
	size_t checked;

	page(fixture, 0)[0] = 0x555500000010;
	assert_int_equal(pages_read(&fixture->table, &scan), 0);
	page(fixture, 0)[0] = 0x555500000020;
	scan.deadline_ns = 1;
	assert_int_equal(pages_check(&fixture->table, &scan, &checked), -ETIMEDOUT);
	assert_int_equal(checked, 0);
	expect_words(&fixture->table, first, (uint64_t[]){0x555500000010}, 1);
}

/* The header of a block of two pages, as a page that has this address in its first word has it. */
static bool find_block(uint64_t at, const uint64_t *words, uint64_t end, struct mapped_block *block)
{
	*block = (struct mapped_block){.page = at, .start = at, .end = at + 2 * MEMORY_PAGE};
	return words[0] == at && end >= block->end;
}

static void put_header(const struct fixture *fixture, size_t number)
{
	page(fixture, number)[0] = (uintptr_t)page(fixture, number);
}

static void expect_blocks(const struct fixture *fixture, const size_t *numbers, size_t count)
{
	assert_int_equal(fixture->table.mapped.count, count);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(fixture->table.mapped.items[i].page,
				 (uintptr_t)page(fixture, numbers[i]));
}

static void a_block_is_known_as_long_as_its_header_is_in_the_last_reading(void **state)
{
	struct fixture *fixture = *state;
	struct page_scan scan = scan_of(fixture);
	struct page_table *table = &fixture->table;
	size_t checked;

	scan.find_mapped = find_block;
	scan.threads = 1;
	table->ranges.items[0].reach = table->ranges.items[0].end;
	for (size_t i = 0; i < 4; i++)
		put_header(fixture, 10 * i);
	assert_int_equal(pages_read(table, &scan), 0);
	expect_blocks(fixture, (size_t[]){0, 10, 20, 30}, 4);

	/* Changed next to its header; freed; given back. */
	page(fixture, 10)[5] = 1;
	page(fixture, 20)[0] = 0;
	assert_int_equal(madvise(page(fixture, 30), MEMORY_PAGE, MADV_DONTNEED), 0);
	put_header(fixture, 40);
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	expect_blocks(fixture, (size_t[]){0, 10, 40}, 3);

	/* Nothing has changed since. */
	assert_int_equal(pages_check(table, &scan, &checked), 0);
	expect_blocks(fixture, (size_t[]){0, 10, 40}, 3);
}

static void a_hash_changes_with_any_bit(void **state)
{
	uint64_t words[PAGE_WORDS] = {0}, before = page_hash(words);

	(void)state;
	for (size_t i = 0; i < PAGE_WORDS; i++) {
		words[i] = 1ull << i % 64;
		assert_true(page_hash(words) != before);
		words[i] = 0;
	}
	assert_true(page_hash(words) == before);
}

static void a_filter_passes_exactly_its_ranges(void **state)
{
	struct filter filter = {0};

	(void)state;
	assert_int_equal(filter_add(&filter, 0x400000, 0x401000), 0);
	assert_int_equal(filter_add(&filter, 0x401000, 0x402000), 0);
	assert_int_equal(filter_add(&filter, 0x7f0000001000, 0x7f0001000000), 0);
	assert_int_equal(filter_finish(&filter), 0);
	assert_int_equal(filter.ranges.count, 2);
	assert_false(filter_has(&filter, 0));
	assert_false(filter_has(&filter, 0x3fffff));
	assert_true(filter_has(&filter, 0x400000));
	assert_true(filter_has(&filter, 0x401fff));
	assert_false(filter_has(&filter, 0x402000));
	assert_false(filter_has(&filter, 0x555555554000));
	assert_false(filter_has(&filter, 0x7f0000000fff));
	assert_true(filter_has(&filter, 0x7f0000001000));
	assert_true(filter_has(&filter, 0x7f0000ffffff));
	assert_false(filter_has(&filter, 0x7f0001000000));
	assert_false(filter_has(&filter, UINT64_MAX));
	filter_free(&filter);
}

struct mapping_case {
	const char *line;
	bool memory, read;
};

static void devices_and_the_kernels_own_pages_are_never_read(void **state)
{
	static const struct mapping_case cases[] = {
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0 [heap]", true, true},
		{"7f0000000000-7f0000001000 rw-p 00000000 00:00 0", true, true},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:05 9 /dev/nvidia0", false, false},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:05 9 /dev/shm/x", true, true},
		{"7f0000000000-7f0000001000 rw-s 00000000 00:01 9 /memfd:x", true, true},
		{"7f0000000000-7f0000001000 rw-s 00000000 fe:00 9 /data/base", true, false},
		{"7f0000000000-7f0000001000 r--p 00000000 00:00 0 [vvar]", false, false},
		{"7f0000000000-7f0000001000 r--p 00000000 00:00 0 [vvar_vclock]", false, false},
		{"7f0000000000-7f0000001000 r-xp 00000000 00:00 0 [vdso]", false, false},
		{"7f0000000000-7f0000001000 --xp 00000000 00:00 0 [uprobes]", false, false},
		{"7f0000000000-7f0000001000 ---p 00000000 00:00 0", false, false},
		{"7f0000000000-7f0000001000 r-xp 00000000 fe:00 9 /bin/x", true, false},
		{"7f0000000000-7f0000001000 r--p 00000000 fe:00 9 /bin/x", true, true},
		{"7f0000000000-7f0000001000 rw-p 00000000 fe:00 9 /bin/x", true, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char line[128];
		struct maps maps = {0};
		struct page_table table = {0};
		uint64_t writable;

		snprintf(line, sizeof(line), "%s", cases[i].line);
		assert_int_equal(maps_parse_line(line, vec_push(&maps.list)), 0);
		assert_int_equal(mapping_is_memory(maps.list.items), cases[i].memory);
		assert_int_equal(ranges_from_maps(&maps, -1, &table, &writable), 0);
		assert_int_equal(table.ranges.count, cases[i].read);
		pages_free(&table);
		vec_free(&maps.list);
	}
}

#define RESERVED_BYTES (2ull << 40)

static bool is_read(const struct page_table *table, const char *at)
{
	return pages_range_of(table, (uintptr_t)at) != NULL;
}

/* Two terabytes, in which two pages are used; the shadow of the address sanitizer is here, too. */
static void of_a_reservation_only_what_is_used_is_read(void **state)
{
	char *reserved = mmap(NULL, RESERVED_BYTES, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	const struct memory_source own = live_memory(getpid());
	_cleanup_close_ int pagemap = pagemap_open(own);
	_cleanup_(pages_free) struct page_table table = {0};
	_cleanup_(maps_free) struct maps maps = {0};
	uint64_t writable;
	int error;

	(void)state;
	assert_ptr_not_equal(reserved, MAP_FAILED);
	reserved[RESERVED_BYTES / 4] = reserved[RESERVED_BYTES - 1] = 1;
	assert_int_equal(maps_read(getpid(), MAPS_ALL, &maps), 0);
	error = ranges_from_maps(&maps, pagemap, &table, &writable);
	if (error == -EFBIG) {
		fprintf(stderr, "SKIPPED, nothing was tested: no PAGEMAP_SCAN before Linux 6.7\n");
		munmap(reserved, RESERVED_BYTES);
		skip();
	}
	assert_int_equal(error, 0);
	assert_true(writable < RESERVED_BYTES / 8);
	assert_true(is_read(&table, &reserved[RESERVED_BYTES / 4]));
	assert_true(is_read(&table, &reserved[RESERVED_BYTES - 1]));
	assert_false(is_read(&table, &reserved[RESERVED_BYTES / 2]));
	assert_int_equal(pages_prepare(&table), 0);
	munmap(reserved, RESERVED_BYTES);
}

int main(void)
{
#define WITH_MEMORY(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		WITH_MEMORY(only_pages_that_are_there_are_read_and_absent_ones_stay_absent),
		WITH_MEMORY(the_second_reading_finds_what_changed_came_and_went),
		WITH_MEMORY(without_patience_only_what_changes_is_looked_at_in_time),
		WITH_MEMORY(contents_are_kept_as_they_were_at_the_second_reading),
		WITH_MEMORY(
			contents_of_a_page_that_changed_too_late_are_those_of_before_with_both_words),
		WITH_MEMORY(a_block_is_known_as_long_as_its_header_is_in_the_last_reading),
		WITH_MEMORY(a_deadline_that_has_passed_leaves_what_is_known),
		cmocka_unit_test(a_hash_changes_with_any_bit),
		cmocka_unit_test(a_filter_passes_exactly_its_ranges),
		cmocka_unit_test(devices_and_the_kernels_own_pages_are_never_read),
		cmocka_unit_test(of_a_reservation_only_what_is_used_is_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
