// SPDX-License-Identifier: GPL-2.0-or-later
/* The part that makes up half of a growth gives its meaning; limits are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "heap/memory/conclusion.h"
#include "heap/runtime/dotnet/reader.h"
#include "heap/runtime/go/reader.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/v8/reader.h"
#include "report/memory_split.h"

#define MIB (UINT64_C(1) << 20)
#define NONE MEMORY_PART_MAX_

/* Difference between two readings. */
static const struct growth_case {
	enum memory_part first, second;
	uint64_t first_bytes, second_bytes;
	uint64_t trimmable, zero;
	enum memory_verdict verdict;
	const char *words;
} cases[] = {
	{NONE, NONE, 0, 0, 0, 0, MEMORY_STEADY, "no growth"},
	{MEMORY_LIVE, NONE, MIB - 1, 0, 0, 0, MEMORY_STEADY, "no growth"},
	{MEMORY_LIVE, NONE, MIB, 0, 0, 0, MEMORY_LIVE_GROWS, "live blocks +1.00 MiB (100 %)"},
	{MEMORY_MAPPED_BLOCKS, NONE, 9 * MIB, 0, 0, 0, MEMORY_LIVE_GROWS, "a leak if"},
	{MEMORY_BINS, MEMORY_LIVE, 9 * MIB, MIB - 1, 0, 0, MEMORY_FRAGMENTATION, "not a leak"},
	{MEMORY_BINS, MEMORY_LIVE, 9 * MIB, MIB, 0, 0, MEMORY_FRAGMENTATION,
	 "besides, live blocks grew by 1.00 MiB"},
	{MEMORY_BINS, NONE, 10 * MIB, 0, 5 * MIB - 1, 0, MEMORY_FRAGMENTATION, "not a leak"},
	{MEMORY_BINS, NONE, 10 * MIB, 0, 5 * MIB, 0, MEMORY_RETAINED, "up to 5.00 MiB"},
	{MEMORY_TOP, NONE, 10 * MIB, 0, 10 * MIB, 0, MEMORY_RETAINED, "M_TRIM_THRESHOLD"},
	{MEMORY_CACHED, MEMORY_BINS, 5 * MIB, 5 * MIB, 5 * MIB, 0, MEMORY_THREAD_CACHES, "tcache"},
	{MEMORY_CACHED, MEMORY_BINS, 5 * MIB - 1, 5 * MIB, 5 * MIB, 0, MEMORY_RETAINED, "trim"},
	{MEMORY_STACKS, NONE, 3 * MIB, 0, 0, 0, MEMORY_STACKS_GROW, "leakmon threads -p 7"},
	{MEMORY_ENDED_STACKS, NONE, 3 * MIB, 0, 0, 0, MEMORY_STACKS_GROW, "pthread_join(3)"},
	{MEMORY_FILES, NONE, 3 * MIB, 0, 0, 0, MEMORY_PAGE_CACHE, "page cache"},
	{MEMORY_FILES_WRITTEN, MEMORY_FILES, 2 * MIB, 2 * MIB, 0, 0, MEMORY_PAGE_CACHE,
	 "the process's own"},
	{MEMORY_SHARED, NONE, 3 * MIB, 0, 0, 0, MEMORY_SHARED_GROWS, "shm_unlink(3)"},
	{MEMORY_MALLOC_OWN, MEMORY_LIVE, 3 * MIB, 3 * MIB, 0, 0, MEMORY_RETAINED,
	 "malloc's own records of the most that it has had, and stay; besides, live blocks"},
	{MEMORY_MALLOC_OWN, MEMORY_LIVE, 3 * MIB - 1, 3 * MIB, 0, 0, MEMORY_LIVE_GROWS, "a leak"},
	{MEMORY_HEAP_UNKNOWN, NONE, 3 * MIB, 0, 0, 0, MEMORY_OTHER_GROWS, "outside every heap"},
	{MEMORY_ANONYMOUS, NONE, 4 * MIB, 0, 0, 2 * MIB - 1, MEMORY_OTHER_GROWS,
	 "outside every heap"},
	{MEMORY_ANONYMOUS, NONE, 4 * MIB, 0, 0, 2 * MIB, MEMORY_HUGE_PAGES, "MADV_NOHUGEPAGE"},
	{MEMORY_MANAGED, MEMORY_LIVE, 3 * MIB, MIB, 0, 0, MEMORY_MANAGED_GROWS,
	 "of the JVM, of which malloc knows nothing: `leakmon retain --census -p 7`"},
	{MEMORY_MANAGED, MEMORY_LIVE, 3 * MIB, MIB, 0, 0, MEMORY_MANAGED_GROWS,
	 "All else changed by +1.00 MiB; besides, live blocks grew by 1.00 MiB"},
	{MEMORY_LIVE, MEMORY_SHARED, 3 * MIB, 3 * MIB + 2, 0, 0, MEMORY_SHARED_GROWS, "besides"},
};

static void give(struct memory_process *process, enum memory_part part, uint64_t bytes)
{
	if (part == NONE)
		return;
	process->parts[part].resident += bytes;
	process->sum.rss += bytes;
}

static void conclude(const struct memory_process *before, const struct memory_process *now,
		     struct memory_conclusion *conclusion)
{
	const struct memory_split was = memory_split_of(before), is = memory_split_of(now);

	memory_conclude(&was, &is, conclusion);
}

static struct allocator_report *libc_of(struct memory_process *process)
{
	struct allocator_report *report = vec_push(&process->allocators.list);

	assert_non_null(report);
	report->kind = ALLOCATOR_LIBC;
	return report;
}

static void the_part_that_makes_up_half_decides(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct growth_case *one = &cases[i];
		struct memory_process before = {.pid = 7}, now = {.pid = 7, .time.tv_sec = 60};
		struct memory_conclusion conclusion;

		give(&now, one->first, one->first_bytes);
		give(&now, one->second, one->second_bytes);
		libc_of(&now)->figures[ALLOCATOR_TRIMMABLE] = one->trimmable;
		now.runtime.key = "hotspot";
		now.huge = (struct memory_huge){one->zero, one->zero, one->zero};
		conclude(&before, &now, &conclusion);
		if (conclusion.verdict != one->verdict || !strstr(conclusion.text, one->words))
			fail_msg("case %zu: %s", i, conclusion.text);
		assert_int_equal(conclusion.growth.since_ms, 60000);
		assert_int_equal(conclusion.growth.total, one->first_bytes + one->second_bytes);
		allocator_reports_free(&now.allocators);
	}
}

/* Each case has the share of live blocks in memory that malloc or the kernel retains. */
static void no_report_calls_a_growth_a_leak_and_none(void **state)
{
	static const struct {
		enum memory_part kept;
		uint64_t kept_bytes, live_bytes;
		bool no_leak;
	} shares[] = {
		{MEMORY_BINS, 8 * MIB, 2 * MIB, false},
		{MEMORY_BINS, 8 * MIB, 2 * MIB - 16, true},
		{MEMORY_CACHED, 3 * MIB, MIB, false},
		{MEMORY_CACHED, 3 * MIB, MIB - 1, true},
		{MEMORY_FILES, 8 * MIB, 2 * MIB, false},
		{MEMORY_FILES, 8 * MIB, MIB, true},
		{MEMORY_FILES_WRITTEN, 8 * MIB, 0, false},
		{MEMORY_LIVE, 8 * MIB, 0, false},
		{MEMORY_ANONYMOUS, 8 * MIB, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(shares); i++) {
		struct memory_process before = {.pid = 7}, now = {.pid = 7};
		struct memory_conclusion conclusion;

		give(&now, shares[i].kept, shares[i].kept_bytes);
		give(&now, MEMORY_LIVE, shares[i].live_bytes);
		conclude(&before, &now, &conclusion);
		if (conclusion.no_leak != shares[i].no_leak ||
		    !strstr(conclusion.text, "not a leak") == shares[i].no_leak)
			fail_msg("case %zu: %s", i, conclusion.text);
	}
}

static void three_parts_of_a_third_each_are_mixed(void **state)
{
	struct memory_process before = {.pid = 7}, now = {.pid = 7};
	struct memory_conclusion conclusion;

	(void)state;
	give(&now, MEMORY_LIVE, 3 * MIB);
	give(&now, MEMORY_FILES, 3 * MIB);
	give(&now, MEMORY_STACKS, 3 * MIB);
	conclude(&before, &now, &conclusion);
	assert_int_equal(conclusion.verdict, MEMORY_MIXED);
	assert_non_null(strstr(conclusion.text, "besides, live blocks grew by 3.00 MiB"));
}

/* 1 % of 200 MiB is more than 1 MiB. */
static void growth_below_a_hundredth_is_steady(void **state)
{
	struct memory_process before = {.pid = 7}, now;
	struct memory_conclusion conclusion;

	(void)state;
	give(&before, MEMORY_FILES, 200 * MIB);
	now = before;
	give(&now, MEMORY_LIVE, 2 * MIB - 1);
	conclude(&before, &now, &conclusion);
	assert_int_equal(conclusion.verdict, MEMORY_STEADY);
	give(&now, MEMORY_LIVE, 1);
	conclude(&before, &now, &conclusion);
	assert_int_equal(conclusion.verdict, MEMORY_LIVE_GROWS);
}

/* Swapped memory is no shrinkage. */
static void what_is_swapped_out_still_counts(void **state)
{
	struct memory_process before = {.pid = 7}, now = {.pid = 7};
	struct memory_conclusion conclusion;

	(void)state;
	give(&before, MEMORY_LIVE, 5 * MIB);
	now.parts[MEMORY_LIVE].swapped = 8 * MIB;
	conclude(&before, &now, &conclusion);
	assert_int_equal(conclusion.growth.total, 3 * MIB);
	assert_int_equal(conclusion.verdict, MEMORY_LIVE_GROWS);
}

static void give_arenas(struct memory_process *process, size_t count, uint64_t free_bytes)
{
	struct allocator_report *report = libc_of(process);

	for (size_t i = 0; i < count; i++) {
		struct heap_arena *arena = vec_push(&report->arenas);

		assert_non_null(arena);
		arena->main = !i;
		arena->uses[HEAP_TOP].resident = i ? free_bytes : 0;
		give(process, MEMORY_TOP, i ? free_bytes : 0);
	}
}

static void from_four_arenas_more_on_they_are_named(void **state)
{
	(void)state;
	for (size_t more = 3; more <= 4; more++) {
		struct memory_process before = {.pid = 7}, now = {.pid = 7};
		struct memory_conclusion conclusion;

		give_arenas(&before, 1, 0);
		give_arenas(&now, 1 + more, MIB);
		conclude(&before, &now, &conclusion);
		assert_int_equal(conclusion.verdict,
				 more == 4 ? MEMORY_ARENAS : MEMORY_FRAGMENTATION);
		memory_process_free(&before);
		memory_process_free(&now);
	}
}

/* Counts a runtime's own figures for a conclusion. */
static struct runtime_memory counted(const char *runtime, const void *figures)
{
	struct runtime_memory memory = {0};

	runtime_find(runtime)->memory->count(figures, &memory);
	return memory;
}

/*
 * Bytes that survived the last collection, and the number of collections; the heap grows by 10 MiB.
 */
static void growth_that_the_target_of_go_allows_is_no_leak(void **state)
{
	static const struct {
		uint64_t live, collections;
		bool no_leak;
		const char *words;
	} readings[] = {
		{20 * MIB, 5, true, "not a leak; the heap is as large as its target allows"},
		{22 * MIB - 1, 5, true, "22.0 MiB were live"},
		{22 * MIB, 5, false, "22.0 MiB were live, +2.00 MiB since the first reading"},
		{12 * MIB, 5, true, "not a leak"},
		{20 * MIB, 4, false, "No garbage collection has run since the first reading"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct go_memory was = {.live = 20 * MIB, .goal = 40 * MIB, .collections = 4};
		struct go_memory is = {.live = readings[i].live,
				       .goal = 40 * MIB,
				       .collections = readings[i].collections};
		struct runtime_memory was_counted = counted("go", &was);
		struct runtime_memory is_counted = counted("go", &is);
		struct memory_process before = {.pid = 7, .runtimes = {&was_counted, 1, 1}};
		struct memory_process now = {.pid = 7, .runtimes = {&is_counted, 1, 1}};
		struct memory_conclusion conclusion;

		give(&now, MEMORY_MANAGED, 10 * MIB);
		conclude(&before, &now, &conclusion);
		assert_int_equal(conclusion.verdict, MEMORY_MANAGED_GROWS);
		if (!strstr(conclusion.text, readings[i].words))
			fail_msg("%s", conclusion.text);
		assert_int_equal(conclusion.no_leak, readings[i].no_leak);
	}
}

/*
 * A JVM's readings, each with 10 MiB more of heap: bytes outside Eden, and the number of full
 * collections; and the resulting text.
 */
static void a_jvm_leaks_only_by_what_its_collections_leave(void **state)
{
	static const struct {
		const char *words;
		bool no_leak, unproven;
		struct {
			uint64_t kept, full;
		} readings[5];
	} runs[] = {
		{"No collection of the whole heap", false, true, {{20, 1}, {30, 1}, {40, 1}}},
		/* Earlier garbage is no baseline: the first collection gives one. */
		{"left 12.0 MiB outside Eden, -8.00 MiB since the first reading",
		 false,
		 true,
		 {{20, 1}, {30, 1}, {12, 2}}},
		{"left 40.0 MiB outside Eden, +20.0 MiB since the first reading",
		 false,
		 false,
		 {{20, 1}, {30, 1}, {40, 2}}},
		{"left 12.0 MiB outside Eden, +0 B since the first one",
		 true,
		 false,
		 {{20, 1}, {30, 1}, {12, 2}, {40, 2}, {12, 3}}},
		{"left 17.0 MiB outside Eden, +5.00 MiB since the first one",
		 true,
		 false,
		 {{20, 1}, {30, 1}, {12, 2}, {14, 3}, {17, 4}}},
		{"left 30.0 MiB outside Eden, +18.0 MiB since the first one",
		 false,
		 false,
		 {{20, 1}, {30, 1}, {12, 2}, {20, 3}, {30, 4}}},
		/* At the first reading, live bytes cannot exceed the heap. */
		{"left 60.0 MiB outside Eden, +40.0 MiB since the first one",
		 false,
		 false,
		 {{20, 1}, {30, 1}, {40, 2}, {50, 3}, {60, 4}}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct memory_history history = {0};
		struct memory_conclusion conclusion = {0};

		for (size_t j = 0; j < ARRAY_SIZE(runs[i].readings) && runs[i].readings[j].full;
		     j++) {
			struct java_memory java = {.kept = runs[i].readings[j].kept * MIB,
						   .full_collections = runs[i].readings[j].full,
						   .maximum = 512 * MIB};
			struct runtime_memory memory = counted("hotspot", &java);
			struct memory_process process = {.pid = 7, .runtimes = {&memory, 1, 1}};
			struct memory_split split;

			give(&process, MEMORY_MANAGED, 100 * MIB + j * 10 * MIB);
			split = memory_split_of(&process);
			if (j)
				memory_conclude(&history.list.items[0].splits.items[0], &split,
						&conclusion);
			assert_int_equal(memory_history_add(&history, 1, "java", &split), 0);
		}
		assert_int_equal(conclusion.verdict, MEMORY_MANAGED_GROWS);
		if (!strstr(conclusion.text, runs[i].words))
			fail_msg("run %zu: %s", i, conclusion.text);
		assert_int_equal(conclusion.no_leak, runs[i].no_leak);
		assert_int_equal(conclusion.unproven, runs[i].unproven);
		memory_history_free(&history);
	}
}

/* The same for .NET, whose collector has a budget instead of a limit. */
static void a_dotnet_heap_leaks_only_by_what_its_collections_leave(void **state)
{
	static const struct {
		const char *words;
		bool no_leak, unproven;
		uint64_t kept[3], full[3];
	} runs[] = {
		{"No collection of the whole heap has run since then, so it may be garbage; new "
		 "small objects may take 80.0 MiB until the next collection",
		 false,
		 true,
		 {20, 20, 20},
		 {1, 1, 1}},
		{"left 21.0 MiB in objects, +1.00 MiB since the first one",
		 true,
		 false,
		 {20, 20, 21},
		 {1, 2, 3}},
		{"left 40.0 MiB in objects, +20.0 MiB since the first one",
		 false,
		 false,
		 {20, 20, 40},
		 {1, 2, 3}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct memory_history history = {0};
		struct memory_conclusion conclusion = {0};

		for (size_t j = 0; j < ARRAY_SIZE(runs[i].kept); j++) {
			struct dotnet_memory dotnet = {.kept = runs[i].kept[j] * MIB,
						       .collections = {9, 9, runs[i].full[j]},
						       .small = {80 * MIB, 0}};
			struct runtime_memory memory = counted("dotnet", &dotnet);
			struct memory_process process = {.pid = 7, .runtimes = {&memory, 1, 1}};
			struct memory_split split;

			give(&process, MEMORY_MANAGED, 100 * MIB + j * 10 * MIB);
			split = memory_split_of(&process);
			if (j)
				memory_conclude(&history.list.items[0].splits.items[0], &split,
						&conclusion);
			assert_int_equal(memory_history_add(&history, 1, "app", &split), 0);
		}
		if (!strstr(conclusion.text, runs[i].words))
			fail_msg("run %zu: %s", i, conclusion.text);
		assert_int_equal(conclusion.no_leak, runs[i].no_leak);
		assert_int_equal(conclusion.unproven, runs[i].unproven);
		memory_history_free(&history);
	}
}

/* A Node's heap, and buffers that objects hold outside it. */
static void a_node_leaks_only_by_what_its_collections_leave(void **state)
{
	static const struct {
		const char *words;
		bool no_leak, unproven;
		enum memory_part part; /* that grows */
		uint64_t kept[3], grown;
		uint32_t full[3];
	} runs[] = {
		{"No collection of the whole heap has run since then, so it may be garbage",
		 false,
		 true,
		 MEMORY_MANAGED,
		 {20, 20, 20},
		 10,
		 {1, 1, 1}},
		{"left 40.0 MiB in objects, +20.0 MiB since the first one",
		 false,
		 false,
		 MEMORY_MANAGED,
		 {20, 20, 40},
		 10,
		 {1, 2, 3}},
		{"left 21.0 MiB in objects, +1.00 MiB since the first one",
		 true,
		 false,
		 MEMORY_MANAGED,
		 {20, 20, 21},
		 10,
		 {1, 2, 3}},
		{"holds it, or garbage in its heap, where no collection of all has run since then: "
		 "a leak if",
		 false,
		 true,
		 MEMORY_LIVE,
		 {20, 20, 20},
		 10,
		 {1, 1, 1}},
		{"holds it: a leak if", false, false, MEMORY_LIVE, {20, 20, 20}, 10, {1, 2, 3}},
		/* Garbage that holds as much would have been collected. */
		{"holds it: a leak if", false, false, MEMORY_LIVE, {20, 20, 20}, 40, {1, 1, 1}},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(runs); i++) {
		struct memory_history history = {0};
		struct memory_conclusion conclusion = {0};

		for (size_t j = 0; j < ARRAY_SIZE(runs[i].kept); j++) {
			struct js_memory js = {.kept = runs[i].kept[j] * MIB,
					       .has_collections = true,
					       .full_collections = runs[i].full[j]};
			struct runtime_memory memory = counted("v8", &js);
			struct memory_process process = {.pid = 7, .runtimes = {&memory, 1, 1}};
			struct memory_split split;

			give(&process, runs[i].part, (100 + j * runs[i].grown) * MIB);
			split = memory_split_of(&process);
			if (j)
				memory_conclude(&history.list.items[0].splits.items[0], &split,
						&conclusion);
			assert_int_equal(memory_history_add(&history, 1, "node", &split), 0);
		}
		if (!strstr(conclusion.text, runs[i].words))
			fail_msg("run %zu: %s", i, conclusion.text);
		assert_int_equal(conclusion.no_leak, runs[i].no_leak);
		assert_int_equal(conclusion.unproven, runs[i].unproven);
		memory_history_free(&history);
	}
}

/* Rss is 1 MiB throughout. */
static void page_tables_grow_beside_rss(void **state)
{
	static const struct {
		uint64_t before, now;
		enum memory_verdict verdict;
		const char *words;
	} readings[] = {
		{11 * MIB, 339 * MIB, MEMORY_PAGE_TABLES_GROW,
		 "memory grew by 328.0 MiB in 60 s: page tables +328.0 MiB (100 %): page tables "
		 "11.0 MiB → 339.0 MiB, which no figure of Rss has: a large sparse address range "
		 "stays mapped. munmap(2) it"},
		{11 * MIB, 12 * MIB - 1, MEMORY_STEADY, "no growth"},
		/* 1 % of the total, page tables included. */
		{300 * MIB, 303 * MIB, MEMORY_STEADY, "no growth"},
		{339 * MIB, 11 * MIB, MEMORY_STEADY, "shrank"},
		/* Unknown in an older recording. */
		{0, 339 * MIB, MEMORY_STEADY, "no growth"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct memory_process before = {.pid = 7}, now = {.pid = 7, .time.tv_sec = 60};
		struct memory_conclusion conclusion;

		give(&before, MEMORY_FILES, MIB);
		give(&now, MEMORY_FILES, MIB);
		before.parts[MEMORY_PAGE_TABLES].resident = readings[i].before;
		now.parts[MEMORY_PAGE_TABLES].resident = readings[i].now;
		conclude(&before, &now, &conclusion);
		if (conclusion.verdict != readings[i].verdict ||
		    !strstr(conclusion.text, readings[i].words))
			fail_msg("case %zu: %s", i, conclusion.text);
		assert_false(conclusion.no_leak);
		assert_int_equal(conclusion.page_tables.before, readings[i].before);
		assert_int_equal(conclusion.page_tables.now, readings[i].now);
		assert_int_equal(conclusion.why != NULL,
				 readings[i].verdict == MEMORY_PAGE_TABLES_GROW);
	}
}

/* A mapping can have an entry of 8 bytes for each of its pages, and no more. */
static void the_sparse_mapping_of_page_tables_is_named(void **state)
{
	(void)state;
	for (int large = 0; large < 2; large++) {
		struct memory_process before = {.pid = 7}, now = {.pid = 7};
		struct memory_conclusion conclusion;

		before.parts[MEMORY_PAGE_TABLES].resident = MIB;
		now.parts[MEMORY_PAGE_TABLES].resident = 5 * MIB;
		now.fillable[0] =
			(struct memory_fillable){0x7000, 1024 * MIB, 0, MEMORY_NAMED, false};
		now.fillable[1] = (struct memory_fillable){0x5000, 2048 * MIB - !large * MIB, MIB,
							   MEMORY_ANONYMOUS, false};
		now.fillable_count = 2;
		conclude(&before, &now, &conclusion);
		assert_int_equal(strstr(conclusion.text,
					"(0x5000, 2.00 GiB, 1.00 MiB of it resident)") != NULL,
				 large);
	}
}

/* In MiB, but for the faults. */
static void copies_of_pages_that_fork_shared_are_growth(void **state)
{
	static const struct {
		struct memory_forked before, now;
		uint64_t faults; /* MiB of pages */
		int64_t grown;
		enum memory_verdict verdict;
	} readings[] = {
		{{4, 200, 0}, {157, 47, 0}, 160, 153, MEMORY_UNSHARED_GROWS},
		/* It also allocated 20 MiB. */
		{{4, 200, 0}, {44, 180, 0}, 40, 20, MEMORY_MIXED},
		/* A relative ended: its pages are the other's, without a copy. */
		{{4, 200, 0}, {154, 50, 0}, 0, 0, MEMORY_STEADY},
		{{4, 200, 0}, {154, 50, 0}, 5, 5, MEMORY_UNSHARED_GROWS},
		/* The last relative ended: nothing exists twice. */
		{{4, 200, 0}, {204, 0, 0}, 300, 0, MEMORY_STEADY},
		/* It has forked since. */
		{{204, 0, 0}, {4, 200, 0}, 300, 0, MEMORY_STEADY},
		/* Swapped out, or given back. */
		{{4, 200, 0}, {4, 50, 0}, 300, 0, MEMORY_STEADY},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		const struct memory_forked *was = &readings[i].before, *is = &readings[i].now;
		struct memory_process before = {.pid = 7}, now = {.pid = 7};
		struct memory_conclusion conclusion;
		uint64_t other = is->own + is->shared - was->own - was->shared;

		before.forked = (struct memory_forked){was->own * MIB, was->shared * MIB, 1000};
		now.forked = (struct memory_forked){is->own * MIB, is->shared * MIB,
						    1000 + readings[i].faults * MIB /
								    (uint64_t)getpagesize()};
		before.sum.private_dirty = before.forked.own;
		now.sum.private_dirty = now.forked.own;
		if ((int64_t)other > 0)
			give(&now, MEMORY_ANONYMOUS, other * MIB);
		conclude(&before, &now, &conclusion);
		if (conclusion.growth.groups[GROUP_UNSHARED] != readings[i].grown * (int64_t)MIB ||
		    (conclusion.verdict != readings[i].verdict &&
		     readings[i].verdict != MEMORY_MIXED))
			fail_msg("case %zu: %s", i, conclusion.text);
		assert_int_equal(conclusion.growth.total,
				 (int64_t)MIB * (readings[i].grown +
						 ((int64_t)other > 0 ? (int64_t)other : 0)));
		assert_int_equal(conclusion.own.before, was->own * MIB);
		assert_int_equal(conclusion.own.now, is->own * MIB);
		assert_false(conclusion.no_leak);
	}
}

/* 40 MiB more in one mapping, of 100 MiB before. */
static void a_mapping_of_fixed_size_bounds_what_fills_it(void **state)
{
	static const struct {
		struct memory_fillable before, now;
		const char *why; /* part of the allocator is unknown */
		enum memory_verdict verdict;
		bool no_leak, unproven;
		const char *words;
	} readings[] = {
		{{0x1000, 1000, 100, MEMORY_SHARED, true},
		 {0x1000, 1000, 140, MEMORY_SHARED, true},
		 NULL,
		 MEMORY_FILLS,
		 true,
		 false,
		 "not a leak; it fills a mapping of 0.98 GiB (0x1000), 14 % full: 100.0 MiB → "
		 "140.0 MiB, bounded by that size"},
		{{0x1000, 200, 100, MEMORY_ANONYMOUS, false},
		 {0x1000, 200, 140, MEMORY_ANONYMOUS, false},
		 NULL,
		 MEMORY_FILLS,
		 false,
		 true,
		 "70 % full: 100.0 MiB → 140.0 MiB, bounded by that size, unless the program maps "
		 "more: `leakmon -p 7 --mappings`"},
		/* Less than a quarter: a reservation. */
		{{0x1000, 1000, 100, MEMORY_ANONYMOUS, false},
		 {0x1000, 1000, 140, MEMORY_ANONYMOUS, false},
		 NULL,
		 MEMORY_OTHER_GROWS,
		 false,
		 false,
		 "outside every heap"},
		/* It may be an allocator's. */
		{{0x1000, 200, 100, MEMORY_ANONYMOUS, false},
		 {0x1000, 200, 140, MEMORY_ANONYMOUS, false},
		 "another allocator",
		 MEMORY_OTHER_GROWS,
		 false,
		 false,
		 "(another allocator); it fills a mapping of 200.0 MiB (0x1000), 70 % full"},
		{{0x1000, 200, 100, MEMORY_MAPPED_BLOCKS, false},
		 {0x1000, 200, 140, MEMORY_MAPPED_BLOCKS, false},
		 "another allocator",
		 MEMORY_FILLS,
		 false,
		 true,
		 "fills a mapping of 200.0 MiB"},
		/* It became larger, it moved, it is another one. */
		{{0x1000, 100, 100, MEMORY_SHARED, true},
		 {0x1000, 140, 140, MEMORY_SHARED, true},
		 NULL,
		 MEMORY_SHARED_GROWS,
		 false,
		 false,
		 "stays until"},
		{{0x1000, 200, 100, MEMORY_SHARED, true},
		 {0x2000, 200, 140, MEMORY_SHARED, true},
		 NULL,
		 MEMORY_SHARED_GROWS,
		 false,
		 false,
		 "stays until"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(readings); i++) {
		struct memory_process before = {.pid = 7}, now = {.pid = 7, .why = readings[i].why};
		struct memory_conclusion conclusion;

		before.fillable[0] = readings[i].before;
		now.fillable[0] = readings[i].now;
		for (int later = 0; later < 2; later++) {
			struct memory_process *process = later ? &now : &before;

			process->fillable[0].size *= MIB;
			process->fillable[0].resident *= MIB;
			process->fillable_count = 1;
			give(process, process->fillable[0].part, process->fillable[0].resident);
		}
		conclude(&before, &now, &conclusion);
		if (conclusion.verdict != readings[i].verdict ||
		    !strstr(conclusion.text, readings[i].words) ||
		    conclusion.no_leak != readings[i].no_leak ||
		    conclusion.unproven != readings[i].unproven)
			fail_msg("case %zu: %s", i, conclusion.text);
		assert_null(strstr(conclusion.text, "besides"));
		assert_int_equal(conclusion.filled.mappings,
				 readings[i].verdict == MEMORY_FILLS || readings[i].why);
		assert_int_equal(conclusion.filled.doubtful,
				 readings[i].why && readings[i].verdict != MEMORY_FILLS);
		if (conclusion.filled.mappings)
			assert_int_equal(conclusion.filled.now, 140 * MIB);
	}
}

/* A leak of 30 MiB, with a block of 100 MiB that fills by 40. */
static void a_leak_beside_what_fills_is_told(void **state)
{
	struct memory_process before = {.pid = 7}, now = {.pid = 7};
	struct memory_conclusion conclusion;

	(void)state;
	before.fillable[0] =
		(struct memory_fillable){0x1000, 100 * MIB, 0, MEMORY_MAPPED_BLOCKS, false};
	now.fillable[0] =
		(struct memory_fillable){0x1000, 100 * MIB, 40 * MIB, MEMORY_MAPPED_BLOCKS, false};
	before.fillable_count = now.fillable_count = 1;
	give(&now, MEMORY_MAPPED_BLOCKS, 40 * MIB);
	give(&now, MEMORY_LIVE, 30 * MIB);
	conclude(&before, &now, &conclusion);
	assert_int_equal(conclusion.verdict, MEMORY_FILLS);
	assert_non_null(strstr(conclusion.text, "besides, live blocks grew by 30.0 MiB"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(page_tables_grow_beside_rss),
		cmocka_unit_test(the_sparse_mapping_of_page_tables_is_named),
		cmocka_unit_test(copies_of_pages_that_fork_shared_are_growth),
		cmocka_unit_test(a_mapping_of_fixed_size_bounds_what_fills_it),
		cmocka_unit_test(a_leak_beside_what_fills_is_told),
		cmocka_unit_test(the_part_that_makes_up_half_decides),
		cmocka_unit_test(growth_that_the_target_of_go_allows_is_no_leak),
		cmocka_unit_test(a_jvm_leaks_only_by_what_its_collections_leave),
		cmocka_unit_test(a_dotnet_heap_leaks_only_by_what_its_collections_leave),
		cmocka_unit_test(a_node_leaks_only_by_what_its_collections_leave),
		cmocka_unit_test(no_report_calls_a_growth_a_leak_and_none),
		cmocka_unit_test(three_parts_of_a_third_each_are_mixed),
		cmocka_unit_test(growth_below_a_hundredth_is_steady),
		cmocka_unit_test(what_is_swapped_out_still_counts),
		cmocka_unit_test(from_four_arenas_more_on_they_are_named),
	};

	return cmocka_run_group_tests_name("memory_conclusion", tests, NULL, NULL);
}
