// SPDX-License-Identifier: GPL-2.0-or-later
/* A small Go program made by hand; then the same with nonsense in it. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/go_fixture.h"

#define MUTANTS 600
#define FORGED_RECORD 0x100u /* bytes */

static int setup(void **state)
{
	struct forged *forged = malloc(sizeof(*forged));

	*state = forged;
	return forged && forged_make(forged) ? 0 : -1;
}

static int teardown(void **state)
{
	struct forged *forged = *state;

	forged_memory_free(&forged->memory);
	free(forged);
	return 0;
}

static void read_goroutines(const struct forged *forged, struct task_report *report)
{
	assert_int_equal(goroutines_read(&forged->memory.maps, report), 0);
}

static const struct task_group *group_in(const struct task_report *report, const char *function)
{
	for (size_t i = 0; i < report->groups.count; i++) {
		const struct frame *place = goroutine_place(&report->groups.items[i].stack);

		if (place && place->function && !strcmp(place->function, function))
			return &report->groups.items[i];
	}
	fail_msg("no group at %s", function);
	return NULL;
}

static void expect_frame(const struct frames *frames, size_t n, const char *function, bool inlined)
{
	const struct frame *frame = &frames->list.items[n];

	assert_true(n < frames->list.count);
	assert_string_equal(frame->function, function);
	assert_string_equal(frame->file, "/src/app/main.go");
	assert_int_equal(frame->line, FORGED_LINE);
	assert_int_equal(frame->inlined, inlined);
}

static void goroutines_are_grouped_by_place_and_creator(void **state)
{
	struct forged *forged = *state;
	struct task_report report;
	const struct task_group *workers;

	read_goroutines(forged, &report);
	assert_null(report.why);
	assert_string_equal(report.version, "1.24.4");
	assert_int_equal(report.count, FORGED_WORKERS + 1);
	assert_int_equal(report.system, 1);
	assert_int_equal(report.ended, 1);
	assert_int_equal(report.unread, 0);
	assert_int_equal(report.groups.count, 2);
	workers = group_in(&report, "main.worker");
	assert_int_equal(workers->count, FORGED_WORKERS);
	assert_string_equal(workers->state, "chan receive");
	assert_int_equal(workers->stack.list.count, 2);
	expect_frame(&workers->stack, 0, "runtime.gopark", false);
	expect_frame(&workers->stack, 1, "main.worker", false);
	assert_int_equal(workers->waits_known, FORGED_WORKERS);
	assert_int_equal(workers->longest_ns, report.time_ns - FORGED_SINCE);
	task_report_free(&report);
}

/* main.spawn inlines main.block into its second half, where nothing was called; and then where the
 * goroutines were made. */
static void inlined_calls_have_frames_of_their_own(void **state)
{
	struct forged *forged = *state;
	struct task_report report;

	read_goroutines(forged, &report);
	assert_int_equal(group_in(&report, "main.worker")->creator.list.count, 1);
	expect_frame(&group_in(&report, "main.worker")->creator, 0, "main.spawn", false);
	task_report_free(&report);
	for (size_t i = 0; i < forged->goroutines; i++)
		forged_put(forged_at(forged, FORGED_G + FORGED_G_SIZE * i + 288),
			   forged_code(forged, FORGED_SPAWN) + FORGED_CODE / 2 + 0x10);
	read_goroutines(forged, &report);
	assert_int_equal(group_in(&report, "main.worker")->creator.list.count, 2);
	expect_frame(&group_in(&report, "main.worker")->creator, 0, "main.block", true);
	expect_frame(&group_in(&report, "main.worker")->creator, 1, "main.spawn", false);
	task_report_free(&report);
}

static void expect_unknown(const struct forged *forged, const char *version, const char *why)
{
	struct task_report report;

	read_goroutines(forged, &report);
	assert_string_equal(report.why, why);
	assert_string_equal(report.version, version);
	assert_int_equal(report.groups.count, 0);
	task_report_free(&report);
}

static void other_versions_are_named_and_not_read(void **state)
{
	static const char *const others[][2] = {{"go1.28.1", "1.28.1"},
						{"go1.2", "1.2"},
						{"go1.240", "1.240"},
						{"go1.24rc1", "1.24rc1"},
						{"devel go1.24-1a2b", "devel go1.24-1a2b"}};
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		forged_version(forged, others[i][0]);
		expect_unknown(forged, others[i][1], "this version of Go is not known");
	}
	forged_put(forged_at(forged, FORGED_INFO), 0);
	expect_unknown(forged, "", "neither its build information nor its version is found");
}

/* In the form of esbuild. */
static void a_program_without_build_information_is_known_by_its_module_and_version(void **state)
{
	struct forged *forged = *state;
	uint64_t string = forged_at(forged, FORGED_INFO + 0x80), kept;
	struct task_report report;

	forged_put(forged_at(forged, FORGED_INFO), 0);
	assert_true(go_is_program(&forged->memory.maps));
	forged_string(forged, string, "go1.24.4");
	read_goroutines(forged, &report);
	assert_null(report.why);
	assert_string_equal(report.version, "1.24.4");
	assert_int_equal(report.count, FORGED_WORKERS + 1);
	task_report_free(&report);

	/* A text that only begins so, then a second release. */
	forged_string(forged, string + 16, "go1.22.3 is old");
	read_goroutines(forged, &report);
	assert_null(report.why);
	task_report_free(&report);
	forged_string(forged, string + 16, "go1.22.3");
	expect_unknown(forged, "", "neither its build information nor its version is found");

	kept = forged_word(forged_at(forged, FORGED_HEADER));
	forged_put(forged_at(forged, FORGED_HEADER), kept + 8);
	assert_false(go_is_program(&forged->memory.maps));
	forged_put(forged_at(forged, FORGED_HEADER), kept);
}

static void what_two_places_could_be_is_neither(void **state)
{
	struct forged *forged = *state;
	uint64_t other = forged_at(forged, FORGED_POINTERS + 0x800);

	memcpy(forged_memory_place(other), forged_memory_place(forged_at(forged, FORGED_POINTERS)),
	       8 * forged->goroutines);
	forged_slice(forged_at(forged, FORGED_ALLGS + 0x100), other, forged->goroutines, 16);
	expect_unknown(forged, "1.24.4", "its goroutines are not found");
}

static void a_table_that_does_not_fit_is_none(void **state)
{
	struct forged *forged = *state;

	forged_put32(forged_at(forged, FORGED_TABLE + 8), 0x1000);
	expect_unknown(forged, "1.24.4", "its table of functions is not found");
}

/* A server that had millions at its busiest keeps room for them. */
static void goroutines_are_found_however_many_there_were(void **state)
{
	struct forged *forged = *state;
	struct task_report report;
	uint64_t count = (1ull << 61) + 1; /* the last one is the first one */

	forged_slice(forged_at(forged, FORGED_ALLGS), forged_at(forged, FORGED_POINTERS),
		     forged->goroutines, (4u << 20) + 1);
	read_goroutines(forged, &report);
	assert_null(report.why);
	assert_int_equal(report.count, FORGED_WORKERS + 1);
	task_report_free(&report);
	/* More than memory has room for. */
	forged_slice(forged_at(forged, FORGED_ALLGS), forged_at(forged, FORGED_POINTERS), count,
		     count);
	expect_unknown(forged, "1.24.4", "its goroutines are not found");
}

/* Makes main.worker call itself that many times. */
static void make_deep(const struct forged *forged, uint64_t calls)
{
	const uint64_t above = machine_frame.return_words ? 8 : 0;
	uint64_t g = forged_at(forged, FORGED_G + FORGED_G_SIZE), low = forged_at(forged, 0x2a000);
	uint64_t returns = low + (above ? FORGED_FRAME : 0);

	forged_put(g, low);
	forged_put(g + 8, low + 0x2000);
	forged_put(g + 56, low);
	for (uint64_t i = 0; i < calls; i++)
		forged_put(returns + i * (FORGED_FRAME + above),
			   forged_code(forged, FORGED_WORKER) + 0x40);
	forged_put(returns + calls * (FORGED_FRAME + above),
		   forged_code(forged, FORGED_GOEXIT) + 1);
}

static void a_stack_that_was_cut_off_says_so(void **state)
{
	static const uint64_t calls[] = {127, 128, 200};
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(calls); i++) {
		const struct frames *deepest = NULL;
		struct task_report report;

		make_deep(forged, calls[i]);
		read_goroutines(forged, &report);
		for (size_t j = 0; j < report.groups.count; j++) {
			if (report.groups.items[j].stack.list.count > 100)
				deepest = &report.groups.items[j].stack;
		}
		assert_non_null(deepest);
		assert_int_equal(deepest->list.count, calls[i] == 127 ? 128 : 129);
		if (calls[i] > 127)
			assert_string_equal(deepest->list.items[128].why,
					    "callers that were not read");
		task_report_free(&report);
	}
}

/* -------- the heap profile */

static void read_profile(const struct forged *forged, struct heap_profile *profile)
{
	assert_int_equal(heap_profile_read(&forged->memory.maps, profile), 0);
}

/* runtime/pprof: an object of the mean distance between samples represents 1.58 of its kind. */
static void records_are_scaled_and_have_limits(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;
	const struct heap_profile_site *large;

	read_profile(forged, &profile);
	assert_null(profile.why);
	assert_true(profile.collected);
	assert_int_equal(profile.rate, 512 << 10);
	assert_int_equal(profile.collections, 4);
	assert_true(profile.collected_ns >= FORGED_COLLECTED_S * UINT64_C(1000000000));
	assert_int_equal(profile.sites.count, 2); /* the third has nothing in use */
	large = &profile.sites.items[0];
	assert_int_equal(large->size, FORGED_LARGE);
	assert_int_equal(large->allocated.objects, 12);
	assert_int_equal(large->freed.bytes, 2 * FORGED_LARGE);
	assert_float_equal(large->objects, 10 * 1.1565176, 1e-4);
	assert_float_equal(large->bytes / FORGED_LARGE, 10 * 1.1565176, 1e-4);
	assert_true(large->limits.low > 4 * FORGED_LARGE && large->limits.low < large->bytes);
	assert_true(large->limits.high > large->bytes);
	assert_int_equal(large->frames.list.count, 2);
	expect_frame(&large->frames, 0, "main.block", true);
	expect_frame(&large->frames, 1, "runtime.main", false);
	assert_float_equal(profile.sites.items[1].objects, 7 * 8192.5, 7);
	heap_profile_free(&profile);
}

static void before_a_collection_all_samples_count(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;

	for (uint64_t i = 0; i < forged->buckets; i++)
		memset(forged_memory_place(forged_at(forged, FORGED_PROFILE + 0x100 * i + 48 + 16)),
		       0, 32);
	read_profile(forged, &profile);
	assert_false(profile.collected);
	assert_int_equal(profile.sites.count, 1);
	assert_int_equal(profile.sites.items[0].allocated.objects, 5);
	heap_profile_free(&profile);
}

static void growth_has_limits_of_what_came_and_went(void **state)
{
	struct forged *forged = *state;
	struct heap_profile_history history = {0};
	struct heap_profile profile;
	const struct heap_profile_site *site;

	read_profile(forged, &profile);
	assert_int_equal(heap_profile_history_add(&history, &profile), 0);
	assert_int_equal(profile.readings, 0);
	heap_profile_free(&profile);
	forged_put(forged_at(forged, FORGED_PROFILE + 48 + 16), 42); /* 30 more of the large ones */
	read_profile(forged, &profile);
	assert_int_equal(heap_profile_history_add(&history, &profile), 0);
	assert_int_equal(profile.readings, 1);
	site = &profile.sites.items[0];
	assert_float_equal(site->growth / FORGED_LARGE, 30 * 1.1565176, 1e-4);
	assert_true(site->growth_limits.low > 15.0 * FORGED_LARGE);
	assert_true(site->growth_limits.high < 60.0 * FORGED_LARGE);
	assert_true(profile.sites.items[1].growth == 0);
	heap_profile_free(&profile);
	heap_profile_history_free(&history);
}

static void a_record_with_another_hash_is_none(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;

	forged_put(forged_word(forged_at(forged, FORGED_BUCKETS)) + 24, 1);
	read_profile(forged, &profile);
	assert_non_null(profile.why);
	assert_int_equal(profile.sites.count, 0);
	heap_profile_free(&profile);
}

/* A large, long-running program: more than 2^18 records, here each of a different size. */
static uint64_t make_records(const struct forged *forged, uint64_t count)
{
	uint64_t records = forged_at(forged, 1u << 30), record;
	uint64_t first = forged_word(forged_at(forged, FORGED_BUCKETS));

	assert_ptr_equal(mmap(forged_memory_place(records), count * FORGED_RECORD,
			      PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 forged_memory_place(records));
	for (uint64_t i = 0; i < count; i++) {
		record = records + i * FORGED_RECORD;
		memcpy(forged_memory_place(record), forged_memory_place(first), FORGED_RECORD);
		forged_put(record + 8, i + 1 < count ? record + FORGED_RECORD : first);
		forged_put(record + 32, 1000 + i);
		forged_put(record + 24, forged_hash(forged_word(record + 48),
						    forged_word(record + 56), 1000 + i));
	}
	return records;
}

static void free_records(uint64_t records, uint64_t count)
{
	munmap(forged_memory_place(records), count * FORGED_RECORD);
}

static void all_records_of_a_large_program_are_read(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 18) + 1, records = make_records(forged, count);
	struct heap_profile profile;

	forged_put(forged_at(forged, FORGED_BUCKETS), records);
	read_profile(forged, &profile);
	assert_null(profile.why);
	assert_int_equal(profile.sites.count, count + 2);
	heap_profile_free(&profile);
	free_records(records, count);
}

/* A list that leads back to itself ends. */
static void a_circle_of_records_is_none(void **state)
{
	struct forged *forged = *state;
	struct heap_profile profile;

	forged_put(forged_at(forged, FORGED_PROFILE + 8),
		   forged_word(forged_at(forged, FORGED_BUCKETS)));
	read_profile(forged, &profile);
	assert_string_equal(profile.why, "its heap profile makes no sense");
	heap_profile_free(&profile);
}

/* -------- the runtime's figures */

static void figures_must_balance(void **state)
{
	struct forged *forged = *state;
	struct go_memory memory;

	assert_int_equal(go_memory_read(&forged->memory.maps, &memory), 0);
	assert_null(memory.why);
	assert_int_equal(memory.live, FORGED_LIVE);
	assert_int_equal(memory.allocated, FORGED_SINCE_GC);
	assert_int_equal(memory.in_use, FORGED_IN_USE);
	assert_int_equal(memory.released, 50 * 8192);
	assert_int_equal(memory.free, 20 * 8192);
	assert_int_equal(memory.goal, FORGED_GOAL);
	assert_int_equal(memory.percent, 100);
	assert_true(memory.limit == GO_NO_LIMIT);
	assert_true(memory.has_stats);
	assert_int_equal(memory.stacks, 3 * 8192);
	assert_int_equal(memory.own, 1000);
	assert_int_equal(memory.collections, 4);
	assert_true(memory.within_goal);
	forged_put(forged_at(forged, FORGED_STATS) + 16, FORGED_IN_USE);
	assert_int_equal(go_memory_read(&forged->memory.maps, &memory), 0);
	assert_string_equal(memory.why, "its figures contradict each other");
	forged_put(forged_at(forged, FORGED_CONTROLLER) + 16, 1);
	assert_int_equal(go_memory_read(&forged->memory.maps, &memory), 0);
	assert_string_equal(memory.why, "its collector's figures are not found");
}

/* Under sanitizers: nothing is read or written where it must not be, and it ends. */
static void nonsense_does_no_harm(void **state)
{
	struct forged *forged = *state;
	struct forged_memory *memory = &forged->memory;
	unsigned char *kept = malloc(memory->size);
	uint64_t seed = 42;

	assert_non_null(kept);
	memcpy(kept, memory->bytes, memory->size);
	for (size_t i = 0; i < MUTANTS; i++) {
		struct task_report report;
		struct heap_profile profile;
		struct go_memory figures;

		forged_memory_scramble(memory, &seed);
		read_goroutines(forged, &report);
		task_report_free(&report);
		read_profile(forged, &profile);
		heap_profile_free(&profile);
		assert_int_equal(go_memory_read(&memory->maps, &figures), 0);
		if (i % 4 == 3)
			memcpy(memory->bytes, kept, memory->size);
	}
	free(kept);
}

/* -------- readings over time */

/* One group of these goroutines, numbered from `first` on. */
static void reading_of(struct task_report *report, uint64_t first, uint64_t count, uint64_t time_ns)
{
	struct task_group *group;

	*report = (struct task_report){.time_ns = time_ns, .count = count};
	group = vec_push(&report->groups);
	assert_non_null(group);
	group->id = 7;
	group->count = count;
	for (uint64_t i = 0; i < count; i++) {
		struct task *member = vec_push(&report->members);

		assert_non_null(member);
		*member = (struct task){first + i, 7};
	}
}

/* -------- objects */

static void expect_node(const struct forged_heap_walk *walked, uint64_t address, uint64_t size,
			const char *class)
{
	uint32_t node = heap_sink_node(&walked->sink, address);

	assert_int_not_equal(node, BLOCK_NONE);
	assert_int_equal(walked->sink.starts[node], address);
	assert_int_equal(walked->sink.sizes[node], size);
	assert_string_equal(walked->sink.classes.items[walked->sink.whats[node] & NODE_CLASS].name,
			    class);
}

static void objects_have_their_size_or_what_allocated_them(void **state)
{
	const struct forged *forged = *state;
	uint64_t small = forged_at(forged, FORGED_SMALL_SPAN);
	struct forged_heap_walk walked;

	forged_heap(forged);
	assert_int_equal(forged_heap_walk(forged, &walked), 0);
	assert_int_equal(walked.error, 0);
	assert_int_equal(walked.report.nonsense, 0);
	assert_int_equal(walked.report.heap_bytes, FORGED_IN_USE);
	assert_int_equal(walked.report.free_bytes, 8192 - 3 * FORGED_ELEMENT);
	assert_int_equal(walked.sink.count, 4);
	expect_node(&walked, small, FORGED_ELEMENT, "128-byte object");
	expect_node(&walked, small + FORGED_ELEMENT, FORGED_ELEMENT, "main.block main.go:31");
	expect_node(&walked, small + 3ull * FORGED_ELEMENT, FORGED_ELEMENT, "128-byte object");
	expect_node(&walked, forged_at(forged, FORGED_LARGE_SPAN), 399 * 8192,
		    "3268608-byte object without pointers");
	assert_int_equal(walked.sink.roots.count, 1);
	assert_string_equal(walked.sink.roots.items[0].name, "goroutine in main.worker main.go:31");
	assert_int_equal(walked.sink.starts[walked.sink.roots.items[0].node], small);
	forged_heap_free(&walked);
}

/* Each has a class. */
static void objects_are_known_by_all_places_that_allocate(void **state)
{
	const struct forged *forged = *state;
	uint64_t count = (1u << 16) + 1, records = make_records(forged, count);
	uint64_t specials = records + count * FORGED_RECORD + MEMORY_PAGE;
	uint64_t bytes = align_up(count * 32, MEMORY_PAGE);
	struct forged_heap_walk walked;

	forged_heap(forged);
	specials = align_up(specials, MEMORY_PAGE);
	assert_ptr_equal(mmap(forged_memory_place(specials), bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 forged_memory_place(specials));
	for (uint64_t i = 0; i < count; i++) {
		uint64_t special = specials + i * 32;

		forged_put(special,
			   i + 1 < count ? special + 32 : forged_at(forged, FORGED_SPECIAL));
		forged_put(special + 24, records + i * FORGED_RECORD);
	}
	forged_put(forged_at(forged, FORGED_SPANS) + 128, specials);
	assert_int_equal(forged_heap_walk(forged, &walked), 0);
	assert_int_equal(walked.error, 0);
	assert_int_equal(walked.report.nonsense, 0);
	expect_node(&walked, forged_at(forged, FORGED_SMALL_SPAN + FORGED_ELEMENT), FORGED_ELEMENT,
		    "main.block main.go:31");
	forged_heap_free(&walked);
	munmap(forged_memory_place(specials), bytes);
	free_records(records, count);
}

/* A heap that had millions of spans keeps room for them. */
static void spans_are_found_however_many_there_were(void **state)
{
	const struct forged *forged = *state;
	struct forged_heap_walk walked;

	forged_heap(forged);
	forged_put(forged_at(forged, FORGED_ALL_SPANS) + 16, (16u << 20) + 1);
	assert_int_equal(forged_heap_walk(forged, &walked), 0);
	assert_int_equal(walked.error, 0);
	assert_int_equal(walked.report.heap_bytes, FORGED_IN_USE);
	forged_heap_free(&walked);
}

/* Else all that only goroutines hold would be garbage. */
static void without_goroutines_roots_are_missing(void **state)
{
	const struct forged *forged = *state;

	for (int found = 1; found >= 0; found--) {
		struct forged_heap_walk walked;

		forged_heap(forged);
		if (!found)
			forged_put(forged_at(forged, FORGED_ALLGS), 0);
		assert_int_equal(forged_heap_walk(forged, &walked), 0);
		assert_int_equal(walked.error, 0);
		assert_int_equal(walked.report.all_roots, found);
		assert_int_equal(walked.sink.roots.count, found);
		if (!found)
			assert_string_equal(walked.report.why,
					    "its goroutines are not found: what only their stacks "
					    "hold is not known");
		forged_heap_free(&walked);
	}
}

/* A running goroutine with unknown registers: its whole stack counts. */
static void parts_of_a_stack_that_were_never_used_end_nothing(void **state)
{
	const struct forged *forged = *state;
	uint64_t g = forged_at(forged, FORGED_G + FORGED_G_SIZE);
	uint64_t low = forged_at(forged, 0x2c000), high = low + 2 * MEMORY_PAGE;
	struct forged_heap_walk walked;

	forged_heap(forged);
	forged_put32(g + 152, 2);
	forged_put(g, low);
	forged_put(g + 8, high);
	forged_put(high - 16, forged_at(forged, FORGED_SMALL_SPAN));
	assert_int_equal(madvise(forged_memory_place(low), MEMORY_PAGE, MADV_DONTNEED), 0);
	assert_int_equal(forged_heap_walk(forged, &walked), 0);
	assert_int_equal(walked.error, 0);
	assert_int_equal(walked.sink.roots.count, 1);
	assert_string_equal(walked.sink.roots.items[0].name, "goroutine in running code");
	forged_heap_free(&walked);
}

/* In a processor's record, pointers kept by its write barrier are not references. */
static void the_buffer_of_a_write_barrier_holds_nothing(void **state)
{
	const struct forged *forged = *state;
	uint64_t span = forged_at(forged, FORGED_SPANS);
	uint64_t object = forged_at(forged, FORGED_SMALL_SPAN);
	struct forged_heap_walk walked;
	size_t within = 0;

	forged_heap(forged);
	forged_put(span + 48, 1 | 2 << 16);
	forged_put(span + 104, 4096);
	forged_put8(forged_at(forged, FORGED_BITS), 0);
	forged_put(object + 16, object + 40);
	forged_put(object + 24, object + 32 + 2048);
	assert_int_equal(forged_heap_walk(forged, &walked), 0);
	assert_int_equal(walked.error, 0);
	for (size_t i = 0; i < walked.sink.claimed.count; i++) {
		const struct claimed_range *range = &walked.sink.claimed.items[i];

		if (!range->within)
			continue;
		assert_int_equal(range->start, object + 32);
		assert_int_equal(range->end, object + 32 + 2048);
		within++;
	}
	assert_int_equal(within, 1);
	forged_heap_free(&walked);
}

/* The collector counts 400 pages. */
static void spans_are_believed_if_they_sum_up(void **state)
{
	static const struct {
		uint64_t pages;
		int error;
		uint64_t nonsense;
	} cases[] = {{399, 0, 0}, {389, 0, 1}, {300, -ENOENT, 0}};

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct forged *forged = *state;
		struct forged_heap_walk walked;

		forged_heap(forged);
		forged_span(forged, 1, FORGED_LARGE_SPAN, cases[i].pages, 1);
		forged_put(forged_at(forged, FORGED_SPANS + 0x100) + 104, cases[i].pages * 8192);
		assert_int_equal(forged_heap_walk(forged, &walked), 0);
		assert_int_equal(walked.error, cases[i].error);
		assert_int_equal(walked.report.nonsense, cases[i].nonsense);
		forged_heap_free(&walked);
	}
}

/* They would be objects without end, of which nothing is read. */
static void spans_of_more_than_can_be_are_not_believed(void **state)
{
	const uint64_t pages = 200000;
	const struct forged *forged = *state;
	struct forged_heap_walk walked;

	forged_heap(forged);
	forged_span(forged, 1, FORGED_LARGE_SPAN, pages, 1);
	forged_put(forged_at(forged, FORGED_CONTROLLER) + 272, (pages + 1) * 8192);
	forged_put(forged_at(forged, FORGED_STATS) + 16, (pages + 2) * 8192);
	assert_int_equal(forged_heap_walk(forged, &walked), 0);
	assert_int_equal(walked.error, 0);
	assert_int_equal(walked.report.nonsense, 1);
	assert_int_equal(walked.report.heap_bytes, 8192);
	forged_heap_free(&walked);
}

/* One sampled, and one of another kind. */
static void specials_that_lead_to_themselves_end(void **state)
{
	const struct forged *forged = *state;
	uint64_t special = forged_at(forged, FORGED_SPECIAL);

	for (int sampled = 1; sampled >= 0; sampled--) {
		struct forged_heap_walk walked;

		forged_heap(forged);
		forged_put(special, special);
		if (!sampled)
			forged_put(special + 24, 0);
		assert_int_equal(forged_heap_walk(forged, &walked), 0);
		assert_int_equal(walked.error, 0);
		assert_int_equal(walked.report.nonsense, 1);
		forged_heap_free(&walked);
	}
}

static void nonsense_in_spans_does_no_harm(void **state)
{
	const struct forged *forged = *state;

	srand(3);
	for (size_t i = 0; i < MUTANTS; i++) {
		uint64_t at = forged_at(forged, FORGED_SPANS + (uint32_t)rand() % 0xa00);
		struct forged_heap_walk walked;

		forged_heap(forged);
		forged_put8(at, (uint8_t)rand());
		assert_int_equal(forged_heap_walk(forged, &walked), 0);
		for (uint32_t j = 1; j < walked.sink.count; j++)
			assert_true(walked.sink.starts[j - 1] + walked.sink.sizes[j - 1] <=
				    walked.sink.starts[j]);
		forged_heap_free(&walked);
		forged_put8(at, 0);
	}
}

static void growth_of_which_none_ends_is_leaking(void **state)
{
	static const struct {
		uint64_t first[5], count[5], come, gone;
		enum trend_verdict verdict;
	} courses[] = {
		{{1, 1, 1, 1, 1}, {10, 12, 14, 16, 18}, 8, 0, TREND_LEAKING},
		{{1, 1, 1, 1, 1}, {10, 10, 10, 10, 10}, 0, 0, TREND_STEADY},
		{{1, 2, 3, 4, 5}, {10, 10, 10, 10, 10}, 4, 4, TREND_STEADY},
		{{1, 1, 1, 2, 2}, {10, 12, 14, 15, 17}, 8, 1, TREND_GROWING},
		{{1, 1, 1, 1, 1}, {10, 20, 20, 20, 20}, 10, 0, TREND_GROWING},
		{{1, 5, 9, 13, 17}, {10, 10, 10, 10, 12}, 18, 16, TREND_CHURNING},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(courses); i++) {
		struct task_history history = {0};

		for (size_t j = 0; j < 5; j++) {
			struct task_report report;
			const struct task_growth *growth;

			reading_of(&report, courses[i].first[j], courses[i].count[j], j * 1000);
			assert_int_equal(task_history_add(&history, &report), 0);
			growth = &report.groups.items[0].growth;
			assert_int_equal(growth->readings, j);
			if (j && j < 3)
				assert_int_equal(growth->verdict, TREND_TOO_EARLY);
			if (j == 4) {
				assert_int_equal(growth->verdict, courses[i].verdict);
				assert_int_equal(growth->come, courses[i].come);
				assert_int_equal(growth->gone, courses[i].gone);
				assert_int_equal(growth->first_count, 10);
				assert_int_equal(growth->span_ns, 4000);
			}
			task_report_free(&report);
		}
		task_history_free(&history);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(goroutines_are_grouped_by_place_and_creator, setup,
						teardown),
		cmocka_unit_test_setup_teardown(inlined_calls_have_frames_of_their_own, setup,
						teardown),
		cmocka_unit_test_setup_teardown(other_versions_are_named_and_not_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_program_without_build_information_is_known_by_its_module_and_version,
			setup, teardown),
		cmocka_unit_test_setup_teardown(what_two_places_could_be_is_neither, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_table_that_does_not_fit_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(records_are_scaled_and_have_limits, setup,
						teardown),
		cmocka_unit_test_setup_teardown(before_a_collection_all_samples_count, setup,
						teardown),
		cmocka_unit_test_setup_teardown(growth_has_limits_of_what_came_and_went, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_record_with_another_hash_is_none, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_circle_of_records_is_none, setup, teardown),
		cmocka_unit_test_setup_teardown(all_records_of_a_large_program_are_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(goroutines_are_found_however_many_there_were, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_stack_that_was_cut_off_says_so, setup, teardown),
		cmocka_unit_test_setup_teardown(objects_are_known_by_all_places_that_allocate,
						setup, teardown),
		cmocka_unit_test_setup_teardown(spans_are_found_however_many_there_were, setup,
						teardown),
		cmocka_unit_test_setup_teardown(without_goroutines_roots_are_missing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(parts_of_a_stack_that_were_never_used_end_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(figures_must_balance, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_does_no_harm, setup, teardown),
		cmocka_unit_test_setup_teardown(objects_have_their_size_or_what_allocated_them,
						setup, teardown),
		cmocka_unit_test_setup_teardown(the_buffer_of_a_write_barrier_holds_nothing, setup,
						teardown),
		cmocka_unit_test_setup_teardown(spans_are_believed_if_they_sum_up, setup, teardown),
		cmocka_unit_test_setup_teardown(spans_of_more_than_can_be_are_not_believed, setup,
						teardown),
		cmocka_unit_test_setup_teardown(specials_that_lead_to_themselves_end, setup,
						teardown),
		cmocka_unit_test_setup_teardown(nonsense_in_spans_does_no_harm, setup, teardown),
		cmocka_unit_test(growth_of_which_none_ends_is_leaking),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
