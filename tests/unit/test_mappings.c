// SPDX-License-Identifier: GPL-2.0-or-later
/* Events of mapping calls, replayed: against a model of pages, and one rule at a time. */
#include "base/cleanup.h"
#include "trace/collect/mappings.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE UINT64_C(4096)
#define PAGES 512
#define OPERATIONS 100000
#define PROCESS (UINT64_C(77) << 32 | 5)
#define OTHER (UINT64_C(78) << 32 | 9)

/* -------- /proc/PID/maps in these tests */

struct area {
	uint64_t start, end; /* pages */
	const char *path;
	uint64_t inode;
};

static const struct area *areas;
static size_t area_count;

static int read_areas(int pid, enum maps_filter filter, struct maps *maps)
{
	struct maps read = {.source = live_memory(pid)};

	(void)filter;
	if (!areas)
		return -ESRCH;
	for (size_t i = 0; i < area_count; i++) {
		struct mapping *mapping = vec_push(&read.list);

		assert_non_null(mapping);
		mapping->start = areas[i].start * PAGE;
		mapping->end = areas[i].end * PAGE;
		mapping->inode = areas[i].inode;
		mapping->path = strdup(areas[i].path ? areas[i].path : "");
	}
	*maps = read;
	return 0;
}

static struct mappings *mappings_on(const struct area *given, size_t count)
{
	areas = given;
	area_count = count;
	return mappings_new(read_areas);
}

/* -------- events */

static int apply(struct mappings *mappings, struct lm_mapping_event event)
{
	if (!event.process)
		event.process = PROCESS;
	if (!event.tid)
		event.tid = 1;
	event.start *= PAGE;
	event.length *= PAGE;
	event.old_start *= PAGE;
	event.old_length *= PAGE;
	return mappings_apply(mappings, &event);
}

#define EVENT(mappings, code, ...)                                                                 \
	assert_int_equal(apply(mappings, (struct lm_mapping_event){.op = (code), __VA_ARGS__}), 0)

static void map(struct mappings *mappings, uint64_t start, uint64_t length, uint32_t site)
{
	EVENT(mappings, LM_MAPPING_INSERT, .start = start, .length = length, .site = site);
}

/* -------- expected result */

struct model {
	uint32_t pages[PAGES]; /* the site, or 0 */
};

static int see(const struct range *range, void *context)
{
	struct model *model = context;

	for (uint64_t at = range->start; at < range->end; at += PAGE) {
		assert_int_equal(model->pages[at / PAGE], 0);
		model->pages[at / PAGE] = mapping_is_counted(range) ? range->tag.site : 0;
	}
	return 0;
}

static struct mapping_view view_first(const struct mappings *mappings)
{
	struct mapping_view view;

	assert_true(mappings_view(mappings, 0, &view));
	return view;
}

static void expect_balance(const struct mappings *mappings)
{
	struct mapping_ledger total;

	mappings_total(mappings, &total);
	assert_int_equal(total.mapped, total.unmapped + total.outstanding + total.purged);
}

static void expect_model(const struct mappings *mappings, const struct model *model)
{
	struct mapping_view view = view_first(mappings);
	struct model seen = {0};
	uint64_t pages = 0;

	ranges_walk(view.ranges, see, &seen);
	assert_memory_equal(&seen, model, sizeof(seen));
	for (size_t i = 0; i < PAGES; i++)
		pages += model->pages[i] != 0;
	assert_int_equal(view.ledger.outstanding, pages * PAGE);
	expect_balance(mappings);
}

#define expect_pages(mappings, ...) expect_model(mappings, &(struct model){.pages = {__VA_ARGS__}})

/* -------- a random program */

static uint64_t seed = 2463534242u;

static uint64_t random_below(uint64_t limit)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return seed % limit;
}

static void fill(struct model *model, uint64_t start, uint64_t length, uint32_t site)
{
	for (uint64_t i = 0; i < length; i++)
		model->pages[start + i] = site;
}

static bool is_free(const struct model *model, uint64_t start, uint64_t length)
{
	for (uint64_t i = 0; i < length; i++) {
		if (model->pages[start + i])
			return false;
	}
	return true;
}

static void step_fixed(struct mappings *mappings, struct model *model, uint64_t start,
		       uint64_t length, uint32_t site)
{
	bool works = random_below(4) != 0;

	EVENT(mappings, LM_MAPPING_REMOVE, .start = start, .length = length);
	if (!works) {
		EVENT(mappings, LM_MAPPING_FAILED);
		return;
	}
	map(mappings, start, length, site);
	fill(model, start, length, site);
}

static void step_unmap(struct mappings *mappings, struct model *model, uint64_t start,
		       uint64_t length, uint32_t site)
{
	EVENT(mappings, LM_MAPPING_REMOVE, .start = start, .length = length);
	if (random_below(4) == 0) {
		EVENT(mappings, LM_MAPPING_FAILED);
		return;
	}
	fill(model, start, length, 0);
	/* Another thread is given the range before this call has returned. */
	if (random_below(4) == 0) {
		EVENT(mappings, LM_MAPPING_INSERT, .tid = 2, .start = start, .length = length,
		      .site = site);
		fill(model, start, length, site);
	}
	EVENT(mappings, LM_MAPPING_DONE);
}

/* Grows or shrinks in place, if there is room. */
static void step_resize(struct mappings *mappings, struct model *model, uint64_t start,
			uint64_t length, uint32_t site)
{
	uint64_t wanted = 1 + random_below(32);

	if (start + wanted > PAGES ||
	    (wanted > length && !is_free(model, start + length, wanted - length)))
		return;
	EVENT(mappings, LM_MAPPING_LIFT, .start = start, .length = length);
	if (random_below(4) == 0) {
		EVENT(mappings, LM_MAPPING_FAILED);
		return;
	}
	EVENT(mappings, LM_MAPPING_MOVE, .start = start, .length = wanted, .old_start = start,
	      .old_length = length, .site = site);
	if (wanted < length)
		fill(model, start + wanted, length - wanted, 0);
	else
		fill(model, start + length, wanted - length, site);
}

/* MREMAP_FIXED, with and without MREMAP_DONTUNMAP. */
static void step_move(struct mappings *mappings, struct model *model, uint64_t start,
		      uint64_t length, uint32_t site)
{
	uint64_t to = random_below(PAGES), wanted = 1 + random_below(32);
	uint64_t kept = wanted < length ? wanted : length;
	bool stays = random_below(4) == 0;
	struct model before = *model;

	if (to + wanted > PAGES || (to < start + length && start < to + wanted))
		return;
	EVENT(mappings, LM_MAPPING_LIFT, .start = start, .length = length);
	EVENT(mappings, LM_MAPPING_REMOVE, .start = to, .length = wanted);
	if (random_below(4) == 0) {
		EVENT(mappings, LM_MAPPING_FAILED);
		return;
	}
	EVENT(mappings, stays ? LM_MAPPING_COPY : LM_MAPPING_MOVE, .start = to, .length = wanted,
	      .old_start = start, .old_length = length, .site = site);
	fill(model, to, wanted, site);
	if (stays)
		return;
	fill(model, start, length, 0);
	for (uint64_t i = 0; i < kept; i++)
		model->pages[to + i] = before.pages[start + i];
}

static void a_random_program_agrees_with_a_page_model(void **state)
{
	static void (*const steps[])(struct mappings *, struct model *, uint64_t, uint64_t,
				     uint32_t) = {step_fixed, step_unmap, step_resize, step_move};
	struct mappings *mappings = mappings_on(NULL, 0);
	struct model model = {0};

	(void)state;
	map(mappings, 0, 1, 1);
	model.pages[0] = 1;
	for (uint32_t site = 2; site < OPERATIONS; site++) {
		uint64_t start = random_below(PAGES), length = 1 + random_below(24);

		if (start + length > PAGES)
			length = PAGES - start;
		steps[random_below(4)](mappings, &model, start, length, site);
		if (site % 16 == 0)
			expect_model(mappings, &model);
	}
	expect_model(mappings, &model);
	assert_int_equal(view_first(mappings).ledger.missed, 0);
	assert_true(view_first(mappings).exact);
	mappings_free(mappings);
}

/* -------- one rule at a time */

static void a_partial_unmap_leaves_both_sides(void **state)
{
	struct mappings *mappings = mappings_on(NULL, 0);

	(void)state;
	map(mappings, 1, 6, 9);
	EVENT(mappings, LM_MAPPING_REMOVE, .start = 3, .length = 2);
	EVENT(mappings, LM_MAPPING_DONE);
	expect_pages(mappings, 0, 9, 9, 0, 0, 9, 9);
	assert_int_equal(view_first(mappings).ledger.ranges, 2);
	assert_int_equal(view_first(mappings).ledger.unmapped, 2 * PAGE);
	mappings_free(mappings);
}

static void what_mremap_adds_belongs_to_its_caller_and_serves_the_same_purpose(void **state)
{
	struct mappings *mappings = mappings_on(NULL, 0);
	struct mapping_view view;

	(void)state;
	EVENT(mappings, LM_MAPPING_INSERT, .start = 1, .length = 2, .site = 3,
	      .kind = LM_KIND_ARENA);
	EVENT(mappings, LM_MAPPING_LIFT, .start = 1, .length = 2);
	EVENT(mappings, LM_MAPPING_MOVE, .start = 5, .length = 3, .old_start = 1, .old_length = 2,
	      .site = 4, .kind = LM_KIND_MAPPING);
	expect_pages(mappings, [5] = 3, [6] = 3, [7] = 4);
	view = view_first(mappings);
	assert_int_equal(view.site_count, 2);
	assert_int_equal(view.sites[1].site, 4);
	assert_int_equal(view.sites[1].kind, LM_KIND_ARENA);
	assert_int_equal(view.sites[1].mapped_bytes, PAGE);
	assert_int_equal(view.sites[1].mapped_calls, 1);
	mappings_free(mappings);
}

static void what_was_there_before_is_not_counted_and_its_end_neither(void **state)
{
	static const struct area before[] = {{.start = 2, .end = 6}};
	struct mappings *mappings = mappings_on(before, 1);

	(void)state;
	map(mappings, 8, 1, 1);
	EVENT(mappings, LM_MAPPING_REMOVE, .start = 2, .length = 1);
	EVENT(mappings, LM_MAPPING_DONE);
	EVENT(mappings, LM_MAPPING_REMOVE, .start = 3, .length = 1);
	map(mappings, 3, 1, 2);
	expect_pages(mappings, [3] = 2, [8] = 1);
	assert_int_equal(view_first(mappings).ledger.unmapped, 0);
	assert_true(view_first(mappings).exact);
	mappings_free(mappings);
}

/* Otherwise a mapping whose event was lost would pass for older. */
static void what_was_there_before_is_what_stood_when_the_watch_began(void **state)
{
	static const struct area before[] = {{.start = 2, .end = 4}};
	static const struct area later[] = {{.start = 2, .end = 4}, {.start = 6, .end = 9}};
	struct mappings *mappings = mappings_on(before, 1);

	(void)state;
	assert_int_equal(mappings_watch(mappings, (int)(PROCESS >> 32)), 0);
	areas = later;
	area_count = 2;
	map(mappings, 6, 1, 1); /* 7 and 8 were lost */
	mappings_heal(mappings, 1);
	assert_int_equal(view_first(mappings).ledger.outstanding, 3 * PAGE);
	assert_int_equal(view_first(mappings).ledger.healed, 2 * PAGE);
	areas = NULL;
	assert_int_equal(mappings_watch(mappings, 99), -ESRCH);
	mappings_free(mappings);
}

/* The set was read after the call of a later event. */
static void an_event_older_than_the_first_reading_is_no_loss(void **state)
{
	static const struct area before[] = {{.start = 2, .end = 6}};
	struct mappings *mappings = mappings_on(before, 1);

	(void)state;
	map(mappings, 4, 1, 1);
	expect_pages(mappings, [4] = 1);
	assert_true(view_first(mappings).exact);
	assert_int_equal(view_first(mappings).ledger.missed, 0);
	mappings_free(mappings);
}

static void a_range_that_comes_back_without_having_gone_is_confessed(void **state)
{
	struct mappings *mappings = mappings_on(NULL, 0);

	(void)state;
	map(mappings, 1, 4, 1);
	map(mappings, 2, 1, 2);
	expect_pages(mappings, 0, 1, 2, 1, 1);
	assert_int_equal(view_first(mappings).ledger.missed, PAGE);
	assert_false(view_first(mappings).exact);
	mappings_free(mappings);
}

static void a_loss_is_mended_from_proc_and_confessed(void **state)
{
	static const struct area after[] = {
		{.start = 1, .end = 3},
		{.start = 4, .end = 8, .inode = 12, .path = "/some/file"},
		{.start = 20, .end = 30, .path = "[stack]"},
		{.start = 30, .end = 31, .path = "[heap]"},
	};
	struct mappings *mappings = mappings_on(NULL, 0);
	struct mapping_ledger total;
	struct mapping_view view;

	(void)state;
	map(mappings, 1, 4, 1); /* pages 3 and 4 went; 4 came back as something else's start */
	areas = after;
	area_count = ARRAY_SIZE(after);
	mappings_heal(mappings, 17);
	view = view_first(mappings);
	assert_false(view.exact);
	assert_int_equal(view.ledger.outstanding, (2 + 4 + 1) * PAGE);
	assert_int_equal(view.ledger.healed, (1 + 3 + 1) * PAGE);
	assert_int_equal(view.sites[1].site, LM_SITE_LOST);
	assert_int_equal(view.sites[1].kind, LM_KIND_FILE);
	assert_int_equal(view.sites[2].kind, LM_KIND_BRK);
	mappings_total(mappings, &total);
	assert_int_equal(total.events_lost, 17);
	expect_balance(mappings);
	mappings_free(mappings);
}

/* Only for the calling process; and once, until its next call. */
static void a_call_missed_by_events_is_mended_from_proc_and_reported(void **state)
{
	static const struct area after[] = {{.start = 2, .end = 7}};
	struct mappings *mappings = mappings_on(NULL, 0);
	struct mapping_ledger total;
	struct mapping_view view;

	(void)state;
	map(mappings, 1, 4, 1);
	EVENT(mappings, LM_MAPPING_INSERT, .process = OTHER, .start = 1, .length = 1, .site = 2);
	EVENT(mappings, LM_MAPPING_UNTOLD);
	areas = after;
	area_count = ARRAY_SIZE(after);
	mappings_heal(mappings, 0);
	view = view_first(mappings);
	assert_false(view.exact);
	assert_int_equal(view.ledger.outstanding, 5 * PAGE);
	assert_int_equal(view.ledger.healed, (1 + 2) * PAGE);
	assert_int_equal(view.ledger.events_lost, 1);
	assert_true(mappings_view(mappings, 1, &view));
	assert_true(view.exact);
	assert_int_equal(view.ledger.outstanding, PAGE);
	area_count = 0;
	mappings_heal(mappings, 0);
	assert_int_equal(view_first(mappings).ledger.outstanding, 5 * PAGE);
	mappings_total(mappings, &total);
	assert_int_equal(total.events_lost, 1);
	expect_balance(mappings);
	mappings_free(mappings);
}

static void a_call_in_progress_at_a_loss_gives_nothing_back(void **state)
{
	static const struct area after[] = {{.start = 1, .end = 2}};
	struct mappings *mappings = mappings_on(NULL, 0);

	(void)state;
	map(mappings, 1, 4, 1);
	EVENT(mappings, LM_MAPPING_REMOVE, .start = 2, .length = 3);
	areas = after;
	area_count = 1;
	mappings_heal(mappings, 1);
	EVENT(mappings, LM_MAPPING_FAILED);
	expect_pages(mappings, 0, 1);
	mappings_free(mappings);
}

static bool is_process(lm_process_key process, const void *context)
{
	return process == *(const lm_process_key *)context;
}

static void a_process_that_is_over_is_purged_to_the_last_byte(void **state)
{
	struct mappings *mappings = mappings_on(NULL, 0);
	lm_process_key over = PROCESS;
	struct mapping_ledger total;

	(void)state;
	map(mappings, 1, 4, 1);
	EVENT(mappings, LM_MAPPING_INSERT, .process = OTHER, .start = 1, .length = 2, .site = 2);
	EVENT(mappings, LM_MAPPING_REMOVE, .start = 1, .length = 1); /* killed inside munmap */
	mappings_purge(mappings, is_process, &over);
	assert_int_equal(view_first(mappings).process, OTHER);
	mappings_total(mappings, &total);
	assert_int_equal(total.mapped, 6 * PAGE);
	assert_int_equal(total.unmapped, PAGE);
	assert_int_equal(total.purged, 3 * PAGE);
	assert_int_equal(total.outstanding, 2 * PAGE);
	expect_balance(mappings);
	mappings_free(mappings);
}

/* A hostile or broken event must not get further than this. */
static void an_event_that_no_kernel_sends_changes_nothing(void **state)
{
	struct mappings *mappings = mappings_on(NULL, 0);

	(void)state;
	map(mappings, 1, 1, 1);
	EVENT(mappings, LM_MAPPING_INSERT, .start = 3, .length = 0, .site = 2);
	EVENT(mappings, LM_MAPPING_INSERT, .start = 4, .length = 1, .site = 2, .kind = 99);
	EVENT(mappings, LM_MAPPING_MOVE, .start = 4, .length = 1, .old_start = 9, .old_length = 1);
	EVENT(mappings, 4711, .start = 1, .length = 1);
	expect_pages(mappings, 0, 1);
	mappings_free(mappings);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_random_program_agrees_with_a_page_model),
		cmocka_unit_test(a_partial_unmap_leaves_both_sides),
		cmocka_unit_test(
			what_mremap_adds_belongs_to_its_caller_and_serves_the_same_purpose),
		cmocka_unit_test(what_was_there_before_is_not_counted_and_its_end_neither),
		cmocka_unit_test(what_was_there_before_is_what_stood_when_the_watch_began),
		cmocka_unit_test(an_event_older_than_the_first_reading_is_no_loss),
		cmocka_unit_test(a_range_that_comes_back_without_having_gone_is_confessed),
		cmocka_unit_test(a_loss_is_mended_from_proc_and_confessed),
		cmocka_unit_test(a_call_missed_by_events_is_mended_from_proc_and_reported),
		cmocka_unit_test(a_call_in_progress_at_a_loss_gives_nothing_back),
		cmocka_unit_test(a_process_that_is_over_is_purged_to_the_last_byte),
		cmocka_unit_test(an_event_that_no_kernel_sends_changes_nothing),
	};

	return cmocka_run_group_tests_name("mappings", tests, NULL, NULL);
}
