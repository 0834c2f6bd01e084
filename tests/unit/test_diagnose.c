// SPDX-License-Identifier: GPL-2.0-or-later
/* From evidence to one answer: the accusations of each rule, and cases that none accuses. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <string.h>

#include "app/diagnose/class_growth.h"
#include "app/diagnose/conclude.h"
#include "base/cleanup.h"

#define MIB (1u << 20)

/* A scan with these classes, held blocks of 100 bytes each; names of a managed language. */
struct planted {
	const char *name;
	uint64_t held;
};

static void plant_of(struct retain_result *scan, const char *runtime, const struct planted *planted,
		     size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct retained_class *class = vec_push(&scan->classes);

		assert_non_null(class);
		*class = (struct retained_class){
			.kind = CLASS_RUNTIME, .name = planted[i].name, .module = runtime};
		class->verdicts[VERDICT_HELD] =
			(struct retention_total){planted[i].held, planted[i].held * 100};
	}
	retain_result_identify(scan);
}

static void plant(struct retain_result *scan, const struct planted *planted, size_t count)
{
	plant_of(scan, "cpython", planted, count);
}

static void add_site(struct profile_report_process *profile, double low,
		     enum profile_verdict verdict)
{
	struct profile_report_site *site = vec_push(&profile->sites);

	assert_non_null(site);
	*site = (struct profile_report_site){.index = (uint32_t)profile->sites.count,
					     .judgement = {.verdict = verdict}};
	site->judgement.growth_bytes_per_s = (struct interval){low * 2, low, low * 3};
}

static void free_scans(struct retain_result *scans, size_t count)
{
	for (size_t i = 0; i < count; i++)
		retain_result_free(&scans[i]);
}

static struct diagnosis conclude(struct diagnosis_evidence evidence)
{
	struct diagnosis diagnosis;

	evidence.pid = 7;
	evidence.comm = "seven";
	evidence.seconds = 60;
	diagnose_conclude(&evidence, &diagnosis);
	return diagnosis;
}

static const struct memory_conclusion steady = {.verdict = MEMORY_STEADY};

static void what_does_not_grow_is_no_leak(void **state)
{
	struct profile_report_process profile = {0};
	struct diagnosis diagnosis;

	(void)state;
	add_site(&profile, 0, PROFILE_CHURNING);
	add_site(&profile, 1, PROFILE_TOO_EARLY);
	diagnosis = conclude((struct diagnosis_evidence){
		.conclusion = &steady,
		.profile = &profile,
		.threads = {true, 10, 13},
		.descriptors = {true, 1000, 1040},
	});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_NO_LEAK);
	assert_int_equal(diagnosis.part, DIAGNOSED_NOTHING);
	assert_null(diagnosis.site);
	assert_string_equal(diagnosis.next, "leakmon diagnose -p 7 --for 600");
	vec_free(&profile.sites);
}

static void without_evidence_nothing_is_known(void **state)
{
	struct diagnosis diagnosis = conclude((struct diagnosis_evidence){0});

	(void)state;
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_UNKNOWN);
	assert_int_equal(diagnosis.part, DIAGNOSED_NOTHING);
}

/* Among many call stacks some have kept a block or two: their limits are far apart. */
static void a_block_or_two_are_chance(void **state)
{
	struct memory_conclusion conclusion = {.growth.groups[GROUP_LIVE] = 60000};
	struct profile_report_process profile = {0};
	struct memory_process last = {0};
	struct diagnosis diagnosis;

	(void)state;
	add_site(&profile, 500, PROFILE_TOO_EARLY);
	profile.sites.items[0].judgement.growth_bytes_per_s.estimate = 500 * 40;
	diagnosis = conclude((struct diagnosis_evidence){
		.last = &last, .conclusion = &conclusion, .profile = &profile});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_NO_LEAK);
	profile.sites.items[0].judgement.growth_bytes_per_s.estimate = 500 * 4;
	diagnosis = conclude((struct diagnosis_evidence){
		.last = &last, .conclusion = &conclusion, .profile = &profile});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	vec_free(&profile.sites);
}

/* Divides the growth counted by two scans among the first call stacks of a profile. */
static struct heap_growth divided(bool exact, double bytes, struct site_growth *sites, size_t count)
{
	for (size_t i = 0; i < count; i++)
		sites[i].site = (uint32_t)i + 1;
	return (struct heap_growth){
		.known = true, .exact = exact, .bytes = bytes, .sites = {sites, count, 0}};
}

#define EVENLY(bytes_, samples_)                                                                   \
	.bytes = (bytes_), .samples = (samples_), .born = {(bytes_) / 3, (bytes_) / 3, (bytes_) / 3}

static void the_call_stack_that_explains_most_of_the_growth_is_the_answer(void **state)
{
	static const struct {
		bool exact;
		double grown; /* all of the heap */
		struct site_growth first, second;
		enum diagnosis_verdict verdict;
		int site;
		double share;
	} cases[] = {
		{true,
		 MIB,
		 {EVENLY(900000.0, 100)},
		 {EVENLY(90000.0, 100)},
		 DIAGNOSIS_GROWS,
		 0,
		 0.86},
		{true,
		 MIB,
		 {EVENLY(90000.0, 100)},
		 {EVENLY(900000.0, 100)},
		 DIAGNOSIS_GROWS,
		 1,
		 0.86},
		/* Two findings of one part explain half of it together. */
		{true,
		 MIB,
		 {EVENLY(300000.0, 100)},
		 {EVENLY(290000.0, 100)},
		 DIAGNOSIS_GROWS,
		 0,
		 0.28},
		{true,
		 5.0 * MIB,
		 {EVENLY(300000.0, 100)},
		 {EVENLY(290000.0, 100)},
		 DIAGNOSIS_UNKNOWN,
		 -1,
		 0},
		/* It has stopped. */
		{true,
		 MIB,
		 {.bytes = 900000, .samples = 100, .born = {600000, 300000, 0}},
		 {0},
		 DIAGNOSIS_UNKNOWN,
		 -1,
		 0},
		{true, 40000, {EVENLY(40000.0, 100)}, {0}, DIAGNOSIS_NO_LEAK, -1, 0},
		/* With windows a few blocks are chance. */
		{false, MIB, {EVENLY(900000.0, 3)}, {0}, DIAGNOSIS_UNKNOWN, -1, 0},
		{false, MIB, {EVENLY(900000.0, 4)}, {0}, DIAGNOSIS_GROWS, 0, 0.86},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memory_conclusion conclusion = {
			.verdict = cases[i].grown < MIB ? MEMORY_STEADY : MEMORY_LIVE_GROWS,
			.growth.groups[GROUP_LIVE] = (int64_t)cases[i].grown};
		struct site_growth sites[] = {cases[i].first, cases[i].second};
		const struct heap_growth growth = divided(cases[i].exact, cases[i].grown, sites, 2);
		struct profile_report_process profile = {0};
		struct diagnosis diagnosis;

		add_site(&profile, 0, PROFILE_CHURNING);
		add_site(&profile, 0, PROFILE_CHURNING);
		diagnosis = conclude((struct diagnosis_evidence){
			.conclusion = &conclusion, .profile = &profile, .growth = &growth});
		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		assert_ptr_equal(diagnosis.site,
				 cases[i].site < 0 ? NULL : &profile.sites.items[cases[i].site]);
		if (cases[i].site >= 0)
			assert_true(fabs(diagnosis.findings[0].share - cases[i].share) < 0.01);
		vec_free(&profile.sites);
	}
}

/* Continued growth is reported, even without a known cause. */
static void growth_that_goes_on_is_no_unknown(void **state)
{
	static const struct {
		double last_third;
		enum diagnosis_verdict verdict;
	} cases[] = {{0, DIAGNOSIS_UNKNOWN}, {MIB, DIAGNOSIS_GROWS}};
	static const struct memory_conclusion conclusion = {.verdict = MEMORY_LIVE_GROWS,
							    .growth.groups[GROUP_LIVE] = 3 * MIB};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const double readings[] = {0,
					   MIB,
					   1.2 * MIB,
					   1.5 * MIB,
					   1.8 * MIB,
					   2.0 * MIB,
					   2.0 * MIB + cases[i].last_third};
		struct diagnosis diagnosis = conclude(
			(struct diagnosis_evidence){.conclusion = &conclusion,
						    .readings = readings,
						    .reading_count = ARRAY_SIZE(readings)});

		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		assert_int_equal(diagnosis.part, DIAGNOSED_MEMORY);
		assert_string_equal(diagnosis.next, "leakmon -p 7 10 3");
	}
}

/* Windows may have been short in a part of the time; other growth in it is counted. */
static void memory_says_how_long_it_grows_where_one_call_stack_is_all_of_it(void **state)
{
	static const struct {
		double bytes; /* of 4 MiB */
		bool exact, rises;
		enum diagnosis_verdict verdict;
	} cases[] = {
		{3.8 * MIB, false, true, DIAGNOSIS_GROWS},
		{3.8 * MIB, false, false, DIAGNOSIS_UNKNOWN},
		{3.8 * MIB, true, true, DIAGNOSIS_UNKNOWN},
		{3.0 * MIB, false, true, DIAGNOSIS_UNKNOWN},
	};
	static const struct memory_conclusion conclusion = {.verdict = MEMORY_LIVE_GROWS,
							    .growth.groups[GROUP_LIVE] = 4 * MIB};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const double rising[] = {0, MIB, 2 * MIB, 3 * MIB, 4 * MIB};
		const double filled[] = {0, 4 * MIB, 4 * MIB, 4 * MIB, 4 * MIB};
		struct site_growth site = {
			.bytes = cases[i].bytes, .samples = 100, .born = {0, cases[i].bytes, 0}};
		const struct heap_growth growth = divided(cases[i].exact, 4 * MIB, &site, 1);
		struct profile_report_process profile = {0};
		struct diagnosis diagnosis;

		add_site(&profile, 0, PROFILE_CHURNING);
		diagnosis = conclude(
			(struct diagnosis_evidence){.conclusion = &conclusion,
						    .profile = &profile,
						    .growth = &growth,
						    .readings = cases[i].rises ? rising : filled,
						    .reading_count = ARRAY_SIZE(rising)});
		assert_int_equal(diagnosis.finding_count, cases[i].verdict == DIAGNOSIS_GROWS);
		if (cases[i].verdict == DIAGNOSIS_GROWS)
			assert_ptr_equal(diagnosis.site, &profile.sites.items[0]);
		vec_free(&profile.sites);
	}
}

/* Adds unreachable blocks of 6000 bytes, and of a class, to a scan. */
static void lose(struct retain_result *scan, uint64_t sized, uint64_t classed)
{
	struct retained_class *class = vec_push(&scan->classes);

	assert_non_null(class);
	*class = (struct retained_class){.kind = CLASS_SIZE, .size = 6000};
	class->verdicts[VERDICT_LOST] = (struct retention_total){sized, sized * 6000};
	class = vec_push(&scan->classes);
	assert_non_null(class);
	*class = (struct retained_class){.kind = CLASS_CXX, .name = "Order"};
	class->verdicts[VERDICT_LOST] = (struct retention_total){classed, classed * 4000};
	scan->totals[VERDICT_LOST] =
		(struct retention_total){sized + classed, sized * 6000 + classed * 4000};
	retain_result_identify(scan);
}

/* Tracking alone shows that blocks exist, but not whether anything points to them. */
static void blocks_are_looked_up_by_two_scans_alone(void **state)
{
	struct memory_conclusion conclusion = {.growth.groups[GROUP_LIVE] = MIB};

	(void)state;
	for (int counted = 0; counted < 2; counted++) {
		struct site_growth sites[] = {{EVENLY(1.0 * MIB, 100)}};
		struct heap_growth growth = divided(true, MIB, sites, 1);
		struct profile_report_process profile = {0};
		struct diagnosis diagnosis;

		growth.counted = counted;
		add_site(&profile, 0, PROFILE_CHURNING);
		diagnosis = conclude((struct diagnosis_evidence){
			.conclusion = &conclusion, .profile = &profile, .growth = &growth});
		assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
		assert_int_equal(diagnosis.blocks.checked, counted ? 100 : 0);
		vec_free(&profile.sites);
	}
}

static void unreachable_blocks_that_become_more_leak(void **state)
{
	static const struct {
		uint64_t sized, classed; /* more than at the first scan */
		bool met;		 /* with exact tracking */
		enum diagnosis_verdict verdict;
		int site;     /* -1: none */
		int in_class; /* index of the class */
	} cases[] = {
		{300, 10, true, DIAGNOSIS_LEAKS, 0, 0},
		{10, 300, true, DIAGNOSIS_LEAKS, 0, 1},
		{10, 300, false, DIAGNOSIS_LEAKS, -1, 1},
		{9, 0, true, DIAGNOSIS_NO_LEAK, -1, -1}, /* any program fluctuates by that */
		{0, 0, true, DIAGNOSIS_NO_LEAK, -1, -1},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		double grown = (double)(cases[i].sized * 6000 + cases[i].classed * 4000);
		struct memory_conclusion conclusion = {.growth.groups[GROUP_LIVE] = (int64_t)grown};
		struct site_growth all[] = {{EVENLY(grown, 310)}}, gone[] = {{EVENLY(grown, 300)}};
		const struct heap_growth growth = divided(true, grown, all, cases[i].met);
		const struct heap_growth lost = divided(true, grown, gone, cases[i].met);
		struct profile_report_process profile = {0};
		struct retain_result scans[2] = {0};
		struct diagnosis diagnosis;

		add_site(&profile, 0, PROFILE_CHURNING);
		lose(&scans[0], 40, 40);
		lose(&scans[1], 40 + cases[i].sized, 40 + cases[i].classed);
		diagnosis = conclude((struct diagnosis_evidence){
			.conclusion = &conclusion,
			.profile = &profile,
			.scans = {&scans[0], &scans[1]},
			.scan_count = 2,
			.growth = &growth,
			.lost_growth = &lost,
		});
		assert_int_equal(diagnosis.has_lost_class, cases[i].in_class >= 0);
		if (cases[i].in_class >= 0)
			assert_int_equal(diagnosis.lost_class.class, cases[i].in_class);
		if (cases[i].verdict == DIAGNOSIS_LEAKS) {
			assert_int_equal(diagnosis.verdict, DIAGNOSIS_LEAKS);
			assert_true(diagnosis.counted_lost);
			assert_ptr_equal(diagnosis.site,
					 cases[i].site < 0 ? NULL : &profile.sites.items[0]);
		} else {
			assert_false(diagnosis.counted_lost);
			assert_int_not_equal(diagnosis.verdict, DIAGNOSIS_LEAKS);
		}
		free_scans(scans, ARRAY_SIZE(scans));
		vec_free(&profile.sites);
	}
}

/* For a heap that nobody could count, resident memory bounds an estimate. */
static void a_call_stack_is_borne_out_by_resident_memory(void **state)
{
	static const struct {
		uint64_t rss_more;
		bool by_chance; /* a block or two alone */
		enum diagnosis_verdict verdict;
	} cases[] = {
		{MIB, true, DIAGNOSIS_NO_LEAK},
		{0, false, DIAGNOSIS_NO_LEAK},
		{MIB, false, DIAGNOSIS_GROWS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct memory_conclusion conclusion = {.verdict = MEMORY_STEADY};
		struct memory_process first = {.heap_changed = true, .sum.rss = 50 << 20},
				      last = {.heap_changed = true,
					      .sum.rss = (50 << 20) + cases[i].rss_more};
		struct profile_report_process profile = {0};
		struct diagnosis diagnosis;

		add_site(&profile, 1000, PROFILE_TOO_EARLY);
		if (cases[i].by_chance)
			profile.sites.items[0].judgement.growth_bytes_per_s.estimate = 40000;
		diagnosis = conclude((struct diagnosis_evidence){.first = &first,
								 .last = &last,
								 .conclusion = &conclusion,
								 .profile = &profile});
		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		vec_free(&profile.sites);
	}
}

static void stops_are_counted(void **state)
{
	struct retain_result scans[2] = {0};
	struct memory_process first = {.pause_ns = 3000000}, last = {0};
	struct diagnosis diagnosis;

	(void)state;
	scans[0].numbers[NUMBER_STOPS] = 4; /* at three of them it collected */
	scans[0].numbers[NUMBER_PAUSE_NS] = 9000000;
	diagnosis = conclude((struct diagnosis_evidence){
		.first = &first, .last = &last, .scans = {&scans[0], &scans[1]}, .scan_count = 2});
	assert_int_equal(diagnosis.stops, 5);
	assert_int_equal(diagnosis.longest_stop_ns, 9000000);
}

/* Three of a process that takes no more memory. */
static struct diagnosis conclude_scans(const struct retain_result scans[3])
{
	return conclude((struct diagnosis_evidence){
		.conclusion = &steady,
		.scans = {&scans[0], &scans[1], &scans[2]},
		.scan_count = 3,
	});
}

static void a_class_that_rises_at_every_scan_grows(void **state)
{
	static const struct planted first[] = {
		{"list", 100}, {"app.Session", 100}, {"app.Request", 50}, {"app.Few", 1}};
	static const struct planted middle[] = {
		{"list", 400}, {"app.Session", 250}, {"app.Request", 90}, {"app.Few", 5}};
	static const struct planted last[] = {
		{"list", 700}, {"app.Session", 400}, {"app.Request", 60}, {"app.Few", 10}};
	struct retain_result scans[3] = {0};
	struct diagnosis diagnosis;

	(void)state;
	plant(&scans[0], first, ARRAY_SIZE(first));
	plant(&scans[1], middle, ARRAY_SIZE(middle));
	plant(&scans[2], last, ARRAY_SIZE(last));
	diagnosis = conclude_scans(scans);
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_OBJECTS);
	assert_int_equal(diagnosis.class_count, 2);
	/* The program's own class first, though lists took more. */
	assert_string_equal(scans[2].classes.items[diagnosis.classes[0].class].name, "app.Session");
	assert_int_equal(diagnosis.classes[0].was.blocks, 100);
	assert_int_equal(diagnosis.classes[0].is.blocks, 400);
	assert_string_equal(scans[2].classes.items[diagnosis.classes[1].class].name, "list");
	free_scans(scans, ARRAY_SIZE(scans));
}

/* Sessions kept by a map grow in number, while requests hold further ones. */
static void objects_that_only_stacks_hold_hide_no_growth(void **state)
{
	static const struct planted first[] = {{"app.Session", 440}, {"app.Chain", 3}};
	static const struct planted middle[] = {{"app.Session", 540}, {"app.Chain", 453}};
	static const struct planted last[] = {{"app.Session", 590}, {"app.Chain", 903}};
	static const uint64_t passing[3][2] = {{400, 3}, {200, 453}, {50, 903}};
	struct retain_result scans[3] = {0};
	struct diagnosis diagnosis;

	(void)state;
	plant(&scans[0], first, ARRAY_SIZE(first));
	plant(&scans[1], middle, ARRAY_SIZE(middle));
	plant(&scans[2], last, ARRAY_SIZE(last));
	for (size_t i = 0; i < ARRAY_SIZE(scans) * 2; i++)
		scans[i / 2].classes.items[i % 2].passing = (struct retention_total){
			passing[i / 2][i % 2], passing[i / 2][i % 2] * 100};
	diagnosis = conclude_scans(scans);
	assert_int_equal(diagnosis.part, DIAGNOSED_OBJECTS);
	assert_int_equal(diagnosis.class_count, 2);
	assert_string_equal(scans[2].classes.items[diagnosis.classes[0].class].name, "app.Session");
	assert_int_equal(diagnosis.classes[0].was.blocks, 40);
	assert_int_equal(diagnosis.classes[0].is.blocks, 540);
	free_scans(scans, ARRAY_SIZE(scans));
}

/* Each worker has its own heap: growth in it belongs to the worker. */
static void threads_explain_the_heaps_that_they_bring(void **state)
{
	static const struct planted first[] = {{"app.Session", 20000}};
	static const struct planted middle[] = {{"app.Session", 30000}};
	static const struct planted last[] = {{"app.Session", 40000}};
	struct retain_result scans[3] = {0};

	(void)state;
	plant(&scans[0], first, ARRAY_SIZE(first));
	plant(&scans[1], middle, ARRAY_SIZE(middle));
	plant(&scans[2], last, ARRAY_SIZE(last));
	for (size_t i = 0; i < ARRAY_SIZE(scans); i++) {
		struct retained_runtime *runtime = vec_push(&scans[i].runtimes);

		assert_non_null(runtime);
		*runtime = (struct retained_runtime){.key = "cpython", .isolates = 2};
	}
	for (uint64_t more = 0; more <= 2; more++) {
		struct diagnosis diagnosis;

		scans[2].runtimes.items[0].isolates = 2 + more;
		diagnosis = conclude(
			(struct diagnosis_evidence){.scans = {&scans[0], &scans[1], &scans[2]},
						    .scan_count = 3,
						    .threads = {true, 2, 14}});
		assert_int_equal(diagnosis.part, DIAGNOSED_THREADS);
		/* Of 40,000 objects of 100 bytes none, a third, and half, all of it growth. */
		assert_true(fabs(diagnosis.findings[0].bytes -
				 (12.0 * MIB + 4e6 * (double)more / (double)(2 + more))) < 1);
	}
	free_scans(scans, ARRAY_SIZE(scans));
}

/* In languages without packages, all classes except the language's own belong to the program. */
static void classes_of_the_program_come_before_those_of_its_language(void **state)
{
	static const struct {
		const char *runtime, *own, *other;
	} cases[] = {
		{"v8", "Session", "(SeqOneByteString)"},
		{"v8", "Session", "Array"},
		{"v8", "Function onData app.js:3",
		 "Function processTimers node:internal/timers:500"},
		{"hotspot", "Session", "byte[]"},
		{"hotspot", "shop.Session", "java.lang.Object[]"},
		{"hotspot", "Session[]", "int[][]"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct planted first[] = {{cases[i].other, 100}, {cases[i].own, 100}};
		const struct planted last[] = {{cases[i].other, 900}, {cases[i].own, 200}};
		struct retain_result scans[2] = {0};
		struct diagnosis diagnosis;

		plant_of(&scans[0], cases[i].runtime, first, 2);
		plant_of(&scans[1], cases[i].runtime, last, 2);
		diagnosis = conclude((struct diagnosis_evidence){.scans = {&scans[0], &scans[1]},
								 .scan_count = 2});
		assert_int_equal(diagnosis.class_count, 2);
		assert_string_equal(scans[1].classes.items[diagnosis.classes[0].class].name,
				    cases[i].own);
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

/* A heap grows until it is collected; strings cached by a language are no leak. */
static void a_heap_that_grows_by_garbage_is_no_leak(void **state)
{
	static const struct memory_conclusion grows = {.verdict = MEMORY_MANAGED_GROWS,
						       .growth.groups[GROUP_MANAGED] = MIB};
	static const struct {
		uint64_t strings;
		const char *why;
		enum diagnosis_verdict verdict;
	} cases[] = {
		{100000, NULL, DIAGNOSIS_NO_LEAK},
		{104000, NULL, DIAGNOSIS_NO_LEAK},
		{104000, "part of it was read while it ran", DIAGNOSIS_UNKNOWN},
		{120000, NULL, DIAGNOSIS_GROWS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const uint64_t strings[] = {100000, (100000 + cases[i].strings) / 2,
					    cases[i].strings};
		struct retain_result scans[3] = {0};
		struct diagnosis diagnosis;

		for (size_t j = 0; j < ARRAY_SIZE(scans); j++) {
			const struct planted held[] = {{"java.lang.String", strings[j]}};

			plant_of(&scans[j], "hotspot", held, 1);
		}
		for (size_t j = 0; j < ARRAY_SIZE(scans); j++) {
			struct retained_runtime *runtime = vec_push(&scans[j].runtimes);

			assert_non_null(runtime);
			*runtime = (struct retained_runtime){
				.key = "hotspot", .all_roots = true, .why = cases[i].why};
		}
		diagnosis = conclude(
			(struct diagnosis_evidence){.conclusion = &grows,
						    .scans = {&scans[0], &scans[1], &scans[2]},
						    .scan_count = 3});
		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

/* If arbitrary words may keep garbage reachable, a few more objects prove nothing. */
/* A map's table doubles once in the time, and is filled all the time. */
static void a_root_whose_table_doubled_once_grows_if_memory_does(void **state)
{
	static const struct {
		double mib[5]; /* resident, over the time */
		uint64_t was_mib, is_mib;
		bool grows;
	} cases[] = {
		{{100, 120, 140, 160, 180}, 40, 100, true},
		{{100, 120, 140, 160, 180}, 40, 50, false},  /* little of what memory grew by */
		{{100, 120, 140, 180, 180}, 40, 100, false}, /* full in the last third */
		{{100, 103, 106, 109, 112}, 10, 22, false},  /* too small to be told from chance */
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const struct memory_conclusion managed = {.verdict = MEMORY_MANAGED_GROWS};
		const struct planted map = {"table", 1};
		struct retain_result scans[3] = {0};
		double readings[5];
		struct diagnosis diagnosis;

		for (size_t j = 0; j < ARRAY_SIZE(readings); j++)
			readings[j] = cases[i].mib[j] * MIB;
		for (size_t j = 0; j < ARRAY_SIZE(scans); j++) {
			uint64_t mib = j ? cases[i].is_mib : cases[i].was_mib;
			struct retained_runtime *runtime = vec_push(&scans[j].runtimes);
			struct retained_root *root = vec_push(&scans[j].roots);

			assert_true(runtime && root);
			*runtime = (struct retained_runtime){.key = "go", .all_roots = true};
			*root = (struct retained_root){.kind = ROOT_RUNTIME,
						       .name = "main.sessions",
						       .led = {1, mib * MIB}};
			plant_of(&scans[j], "go", &map, 1);
			scans[j].classes.items[0].verdicts[VERDICT_HELD].bytes = mib * MIB;
		}
		diagnosis = conclude(
			(struct diagnosis_evidence){.conclusion = &managed,
						    .scans = {&scans[0], &scans[1], &scans[2]},
						    .scan_count = 3,
						    .readings = readings,
						    .reading_count = ARRAY_SIZE(readings)});
		assert_int_equal(diagnosis.verdict == DIAGNOSIS_GROWS &&
					 diagnosis.part == DIAGNOSED_OBJECTS,
				 cases[i].grows);
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

static void few_objects_of_a_heap_with_unknown_roots_do_not_grow(void **state)
{
	static const struct {
		uint64_t held;
		bool all_roots;
		size_t classes;
	} cases[] = {{120, true, 1}, {120, false, 0}, {150, false, 1}};
	static const struct planted first[] = {{"Hash", 100}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct planted last[] = {{"Hash", cases[i].held}};
		struct retain_result scans[2] = {0};
		struct retained_runtime *runtime = vec_push(&scans[1].runtimes);
		struct diagnosis diagnosis;

		assert_non_null(runtime);
		*runtime = (struct retained_runtime){.key = "v8", .all_roots = cases[i].all_roots};
		plant_of(&scans[0], "v8", first, 1);
		plant_of(&scans[1], "v8", last, 1);
		diagnosis = conclude((struct diagnosis_evidence){.scans = {&scans[0], &scans[1]},
								 .scan_count = 2});
		assert_int_equal(diagnosis.class_count, cases[i].classes);
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

/* An Express server that had just begun to serve. */
static void code_that_an_engine_compiles_is_no_leak(void **state)
{
	static const struct planted first[] = {{"(DescriptorArray)", 282},
					       {"(InstructionStream)", 117}};
	static const struct planted last[] = {{"(DescriptorArray)", 1246},
					      {"(InstructionStream)", 459}};
	struct retain_result scans[2] = {0};
	struct diagnosis diagnosis;

	(void)state;
	plant_of(&scans[0], "v8", first, ARRAY_SIZE(first));
	plant_of(&scans[1], "v8", last, ARRAY_SIZE(last));
	diagnosis = conclude(
		(struct diagnosis_evidence){.scans = {&scans[0], &scans[1]}, .scan_count = 2});
	assert_int_equal(diagnosis.class_count, 0);
	free_scans(scans, ARRAY_SIZE(scans));
}

/* Sources of scripts, at a load that left no time for a third scan. */
static void texts_in_two_scans_of_an_engine_are_no_leak(void **state)
{
	static const struct planted held[][1] = {{{"(SeqOneByteString)", 40740}},
						 {{"(SeqOneByteString)", 52210}},
						 {{"(SeqOneByteString)", 63000}}};
	static const struct memory_conclusion managed = {.verdict = MEMORY_MANAGED_GROWS};

	(void)state;
	for (size_t count = 2; count <= 3; count++) {
		struct retain_result scans[3] = {0};
		struct diagnosis_evidence evidence = {.conclusion = &managed, .scan_count = count};
		struct diagnosis diagnosis;

		for (size_t i = 0; i < count; i++) {
			struct retained_runtime *runtime = vec_push(&scans[i].runtimes);

			assert_non_null(runtime);
			*runtime = (struct retained_runtime){.key = "v8"};
			plant_of(&scans[i], "v8", held[i], 1);
			evidence.scans[i] = &scans[i];
		}
		diagnosis = conclude(evidence);
		assert_int_equal(diagnosis.class_count, 1);
		assert_int_equal(diagnosis.verdict == DIAGNOSIS_GROWS &&
					 diagnosis.part == DIAGNOSED_OBJECTS,
				 count == 3);
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

/* A compiler that watches files drops its objects at each change, and makes them again. */
static void objects_that_come_and_go_do_not_grow(void **state)
{
	static const struct {
		uint64_t held[5];
		size_t scans;
		enum diagnosis_verdict verdict;
	} cases[] = {
		{{61711, 84407}, 2, DIAGNOSIS_UNKNOWN}, /* two of them are as often more as less */
		{{84407, 61711}, 2, DIAGNOSIS_NO_LEAK},
		{{100, 300, 500}, 3, DIAGNOSIS_GROWS},
		{{100, 180, 500}, 3, DIAGNOSIS_NO_LEAK}, /* nearly all in one of two intervals */
		{{100, 430, 500}, 3, DIAGNOSIS_NO_LEAK},
		{{100, 200, 300, 400, 500}, 5, DIAGNOSIS_GROWS},
		{{100, 300, 300, 300, 500}, 5, DIAGNOSIS_GROWS}, /* in steps */
		{{100, 300, 280, 480, 500}, 5, DIAGNOSIS_GROWS}, /* some of them were freed */
		{{100, 300, 240, 400, 500}, 5, DIAGNOSIS_NO_LEAK},
		{{100, 300, 500, 400, 600}, 5, DIAGNOSIS_NO_LEAK},
		{{100, 300, 500, 500, 290}, 5, DIAGNOSIS_NO_LEAK},
		{{100, 100, 300, 400, 500}, 5, DIAGNOSIS_NO_LEAK},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diagnosis_evidence evidence = {.conclusion = &steady,
						      .scan_count = cases[i].scans};
		struct retain_result scans[5] = {0};
		struct diagnosis diagnosis;

		for (size_t j = 0; j < cases[i].scans; j++) {
			const struct planted held[] = {{"Symbol4", cases[i].held[j]}};

			plant_of(&scans[j], "v8", held, 1);
			evidence.scans[j] = &scans[j];
		}
		diagnosis = conclude(evidence);
		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		assert_int_equal(diagnose_objects_seem_to_grow(&evidence),
				 cases[i].verdict != DIAGNOSIS_NO_LEAK);
		if (cases[i].verdict == DIAGNOSIS_UNKNOWN) {
			assert_int_equal(diagnosis.part, DIAGNOSED_OBJECTS);
			assert_non_null(strstr(diagnosis.next, "--for 600"));
		}
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

/* The second scan counts 20 KB more, in a process whose memory did not grow. */
static void a_few_objects_more_in_two_scans_are_no_reason_to_doubt(void **state)
{
	static const struct planted first[] = {{"app.Session", 100}},
				    last[] = {{"app.Session", 300}};
	struct retain_result scans[2] = {0};
	struct diagnosis diagnosis;

	(void)state;
	plant(&scans[0], first, 1);
	plant(&scans[1], last, 1);
	diagnosis = conclude((struct diagnosis_evidence){
		.conclusion = &steady, .scans = {&scans[0], &scans[1]}, .scan_count = 2});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_NO_LEAK);
	assert_int_equal(diagnosis.class_count, 1);
	free_scans(scans, ARRAY_SIZE(scans));
}

/* A filling cache holds the first object; the other conditions of the path and the numbers. */
static void a_container_that_fills_up_to_its_limit_is_no_leak(void **state)
{
	static const struct {
		uint64_t was, is,
			limit; /* of the cache; limit 0: the path does not lead through it */
		enum diagnosis_verdict verdict;
	} cases[] = {
		{100, 300, 4096, DIAGNOSIS_NO_LEAK},
		{100, 105, 4096, DIAGNOSIS_GROWS},	 /* many objects in each new entry */
		{100, 300, 300, DIAGNOSIS_GROWS},	 /* full: it drops as many as it takes */
		{300, 300, 4096, DIAGNOSIS_GROWS},	 /* it holds as many as before */
		{100, 300, 1ull << 40, DIAGNOSIS_GROWS}, /* the limit is beyond any memory */
		{100, 300, 0, DIAGNOSIS_GROWS},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		static const uint64_t held[] = {1000, 1100, 1200};
		struct retain_result scans[3] = {0};
		struct diagnosis diagnosis;
		struct retained_path *path;
		struct retained_step *step;

		for (size_t j = 0; j < ARRAY_SIZE(scans); j++) {
			const struct planted planted = {"app.Font", held[j]};
			struct bounded_container *cache = vec_push(&scans[j].bounded);

			assert_non_null(cache);
			*cache = (struct bounded_container){0x7000, j ? cases[i].is : cases[i].was,
							    cases[i].limit ? cases[i].limit : 4096};
			plant(&scans[j], &planted, 1);
			scans[j].classes.items[0].verdicts[VERDICT_HELD].bytes *= 10;
		}
		path = vec_push(&scans[2].paths);
		assert_non_null(path);
		*path = (struct retained_path){.class = 0};
		step = vec_push(&path->steps);
		assert_non_null(step);
		*step = (struct retained_step){.address = cases[i].limit ? 0x7000 : 0x8000};
		diagnosis = conclude(
			(struct diagnosis_evidence){.conclusion = &steady,
						    .scans = {&scans[0], &scans[1], &scans[2]},
						    .scan_count = 3});
		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		assert_int_equal(diagnosis.filling.limit != 0,
				 cases[i].verdict == DIAGNOSIS_NO_LEAK);
		free_scans(scans, ARRAY_SIZE(scans));
	}
}

static void objects_beside_a_greater_native_leak_do_not_hide_it(void **state)
{
	static const struct planted first[] = {{"app.Session", 10}}, last[] = {{"app.Session", 30}};
	struct profile_report_process profile = {0};
	struct retain_result scans[2] = {0};
	struct diagnosis diagnosis;

	(void)state;
	plant(&scans[0], first, 1);
	plant(&scans[1], last, 1);
	add_site(&profile, 1000, PROFILE_LEAKING);
	diagnosis = conclude((struct diagnosis_evidence){
		.profile = &profile, .scans = {&scans[0], &scans[1]}, .scan_count = 2});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_LEAKS);
	assert_int_equal(diagnosis.part, DIAGNOSED_BLOCKS);
	assert_int_equal(diagnosis.class_count, 1);
	free_scans(scans, ARRAY_SIZE(scans));
	vec_free(&profile.sites);
}

/* Blocks of a call stack were looked up, too, before the class. */
static void objects_are_held_by_what_leads_to_their_class(void **state)
{
	static const struct planted first[] = {{"app.Other", 10}, {"app.Session", 10}},
				    middle[] = {{"app.Other", 10}, {"app.Session", 200}},
				    last[] = {{"app.Other", 10}, {"app.Session", 300}};
	struct retain_result scans[3] = {0};
	struct diagnosis diagnosis;

	(void)state;
	plant(&scans[0], first, 2);
	plant(&scans[1], middle, 2);
	plant(&scans[2], last, 2);
	for (uint32_t class = 0; class < 2; class ++) {
		struct retained_path *path = vec_push(&scans[2].paths);

		assert_non_null(path);
		*path = (struct retained_path){.class = class};
	}
	diagnosis = conclude((struct diagnosis_evidence){.scans = {&scans[0], &scans[1], &scans[2]},
							 .scan_count = 3});
	assert_int_equal(diagnosis.part, DIAGNOSED_OBJECTS);
	assert_ptr_equal(diagnosis.path, &scans[2].paths.items[1]);
	free_scans(scans, ARRAY_SIZE(scans));
}

static void goroutines_that_only_come_grow(void **state)
{
	struct task_group groups[] = {
		{.count = 900, .growth = {5, 1, 880, 20, 0, false, TREND_STEADY}},
		{.count = 60, .growth = {5, 1, 20, 40, 0, false, TREND_LEAKING}},
		{.count = 15, .growth = {5, 1, 6, 9, 0, false, TREND_LEAKING}},
	};
	struct task_report report = {.groups = {groups, ARRAY_SIZE(groups), 0}};
	struct diagnosis diagnosis = conclude((struct diagnosis_evidence){
		.conclusion = &steady, .goroutines = &report, .threads = {true, 10, 60}});

	(void)state;
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_GOROUTINES);
	assert_ptr_equal(diagnosis.goroutines, &groups[1]);
}

static void a_sampled_call_stack_grows_if_its_lower_limit_does(void **state)
{
	struct heap_profile_site sites[] = {
		{.growth = 9e6, .growth_limits = {-1e5, 2e7}},
		{.growth = 4e6, .growth_limits = {2e6, 6e6}},
		{.growth = 5e6, .growth_limits = {1e6, 9e6}},
	};
	struct heap_profile profile = {
		.readings = 1, .span_ns = 60000000000, .sites = {sites, ARRAY_SIZE(sites), 0}};
	struct diagnosis diagnosis = conclude(
		(struct diagnosis_evidence){.conclusion = &steady, .heap_profile = &profile});

	(void)state;
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_OBJECTS);
	assert_ptr_equal(diagnosis.sampled, &sites[1]);
	profile.readings = 0;
	diagnosis = conclude(
		(struct diagnosis_evidence){.conclusion = &steady, .heap_profile = &profile});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_NO_LEAK);
}

static void threads_and_descriptors_that_become_more_grow(void **state)
{
	const struct live_group created = {.count = 4};
	struct diagnosis diagnosis = conclude((struct diagnosis_evidence){
		.conclusion = &steady, .threads = {true, 10, 15}, .created = &created});

	(void)state;
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_THREADS);
	assert_ptr_equal(diagnosis.creator, &created);
	assert_int_equal((int)(100 * diagnosis.creator_share), 80);
	diagnosis = conclude((struct diagnosis_evidence){.conclusion = &steady,
							 .threads = {true, 10, 14},
							 .descriptors = {true, 1000, 1050}});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_DESCRIPTORS);
}

/* Stacks grow; ended threads are the cause if their number grows. */
static void threads_that_end_unjoined_explain_their_stacks(void **state)
{
	static const double goes_on[] = {0, MIB, 2.0 * MIB, 3.0 * MIB, 4.0 * MIB, 5.0 * MIB};
	static const struct memory_conclusion stacks = {
		.verdict = MEMORY_STACKS_GROW,
		.growth = {5 * MIB, .groups[GROUP_STACKS] = 5 * MIB}};
	const struct thread_group group = {.count = 40};
	struct memory_process first = {.ended_stacks = 3}, last = {.ended_stacks = 53};
	struct diagnosis_evidence evidence = {
		.conclusion = &stacks,
		.first = &first,
		.last = &last,
		.threads = {true, 4, 4},
		.ended_threads = &group,
		.readings = goes_on,
		.reading_count = ARRAY_SIZE(goes_on),
	};
	struct diagnosis diagnosis = conclude(evidence);

	(void)state;
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_THREADS);
	assert_ptr_equal(diagnosis.ended_threads.group, &group);
	assert_int_equal((int)(100 * diagnosis.ended_threads.share), 80);
	assert_int_equal(diagnosis.ended_threads.threads.now, 53);
	assert_null(diagnosis.creator);
	assert_true(diagnosis.findings[0].share == 1);
	assert_int_equal(diagnosis.finding_count, 1);
	/* Stacks of joined threads are kept for the next: no leak, but stacks grew. */
	last.ended_stacks = 7;
	diagnosis = conclude(evidence);
	assert_int_equal(diagnosis.part, DIAGNOSED_MEMORY);
	assert_int_equal(diagnosis.group, GROUP_STACKS);
	assert_false(diagnosis.ended_threads.threads.known);
}

/* Not the opener of earlier ones, even if those are more. */
static void descriptors_that_become_more_have_an_opener(void **state)
{
	const struct site before = {.family = FAMILY_DESCRIPTORS,
				    .lost = LM_LOST_BEFORE,
				    .count = 1000,
				    .oldest_ns = 50},
			  many = {.family = FAMILY_DESCRIPTORS,
				  .count = 40,
				  .allocated_count = 40,
				  .oldest_ns = 50},
			  blocks = {.family = FAMILY_HEAP, .count = 5000};
	struct block ages[40] = {{.age_ns = 50}};
	const struct snapshot_process snapshot = {
		.descriptors = {.before = 1000, .outstanding = 1050}};
	struct report_site sites[] = {{.site = &before},
				      {.site = &many, .id = 1, .blocks = {ages, 40, 0}},
				      {.site = &blocks}};
	struct report_process process = {.process = &snapshot,
					 .sites = {.items = sites, .count = 3}};
	const struct report opened = {.processes = {.items = &process, .count = 1}};
	struct diagnosis diagnosis = conclude((struct diagnosis_evidence){
		.conclusion = &steady, .descriptors = {true, 1000, 1050}, .opened = &opened});

	(void)state;
	assert_int_equal(diagnosis.part, DIAGNOSED_DESCRIPTORS);
	assert_ptr_equal(diagnosis.opener.site, &sites[1]);
	assert_int_equal((int)(100 * diagnosis.opener.share), 80);
	diagnosis = conclude((struct diagnosis_evidence){
		.conclusion = &steady, .descriptors = {true, 1000, 1001}, .opened = &opened});
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_NO_LEAK);
	assert_null(diagnosis.opener.site);
}

/* Neither a burst nor a full pool is growth. */
static void threads_that_stand_still_are_no_leak(void **state)
{
	struct diagnosis_evidence evidence = {.conclusion = &steady, .threads = {true, 10, 70}};

	(void)state;
	for (size_t i = 0; i < 30; i++)
		count_series_add(&evidence.thread_series, (double)i, i < 8 ? 10 : 70);
	assert_int_equal(conclude(evidence).verdict, DIAGNOSIS_NO_LEAK);
	evidence.thread_series.count = 0;
	for (size_t i = 0; i <= 30; i++)
		count_series_add(&evidence.thread_series, (double)i, 10 + 2 * i);
	assert_int_equal(conclude(evidence).verdict, DIAGNOSIS_GROWS);
}

/* Without /proc/PID/pagemap, say, malloc's blocks count as memory of unknown owner. */
static void memory_of_an_unread_heap_is_not_foreign_to_malloc(void **state)
{
	const struct memory_conclusion conclusion = {.verdict = MEMORY_OTHER_GROWS,
						     .growth.groups[GROUP_OTHER] = 6 * MIB};
	struct memory_process last = {.why = "not permitted"};
	struct diagnosis_evidence evidence = {.last = &last, .conclusion = &conclusion};

	(void)state;
	assert_int_equal(conclude(evidence).verdict, DIAGNOSIS_UNKNOWN);
	last.why = NULL;
	assert_int_equal(conclude(evidence).verdict, DIAGNOSIS_GROWS);
}

static void a_heap_that_was_not_walked_has_not_lost_its_blocks(void **state)
{
	struct retain_result scans[2] = {0};
	struct diagnosis_evidence evidence = {.scans = {&scans[0], &scans[1]}, .scan_count = 2};

	(void)state;
	lose(&scans[0], 1000, 10);
	lose(&scans[1], 0, 0);
	assert_true(conclude(evidence).lost_blocks.known);
	scans[1].why_not_walked = "changed whenever it was read";
	assert_false(conclude(evidence).lost_blocks.known);
	assert_false(conclude(evidence).lost_bytes.known);
	free_scans(scans, ARRAY_SIZE(scans));
}

static void other_memory_is_judged_by_its_part(void **state)
{
	static const struct {
		struct memory_conclusion conclusion;
		enum diagnosis_verdict verdict;
		enum memory_group group;
	} cases[] = {
		{{.verdict = MEMORY_RETAINED, .no_leak = true, .growth.groups[GROUP_FREE] = MIB},
		 DIAGNOSIS_NO_LEAK,
		 GROUP_FREE},
		{{.verdict = MEMORY_SHARED_GROWS, .growth.groups[GROUP_SHARED] = MIB},
		 DIAGNOSIS_GROWS,
		 GROUP_SHARED},
		{{.verdict = MEMORY_MANAGED_GROWS, .growth.groups[GROUP_MANAGED] = MIB},
		 DIAGNOSIS_UNKNOWN,
		 GROUP_MANAGED},
		{{.verdict = MEMORY_LIVE_GROWS, .growth.groups[GROUP_LIVE] = MIB},
		 DIAGNOSIS_UNKNOWN,
		 GROUP_LIVE},
		/* None has half of the growth; together they exceed malloc and the page cache. */
		{{.verdict = MEMORY_MIXED,
		  .growth.groups = {[GROUP_SHARED] = 2 * MIB,
				    [GROUP_LIVE] = 2 * MIB + 1,
				    [GROUP_FREE] = MIB}},
		 DIAGNOSIS_UNKNOWN,
		 GROUP_LIVE},
		{{.verdict = MEMORY_MIXED,
		  .growth.groups = {[GROUP_FILES] = 5 * MIB / 4,
				    [GROUP_FREE] = MIB,
				    [GROUP_SHARED] = MIB / 2}},
		 DIAGNOSIS_NO_LEAK,
		 GROUP_FILES},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct diagnosis diagnosis =
			conclude((struct diagnosis_evidence){.conclusion = &cases[i].conclusion});

		assert_int_equal(diagnosis.verdict, cases[i].verdict);
		assert_int_equal(diagnosis.part, DIAGNOSED_MEMORY);
		assert_int_equal(diagnosis.group, cases[i].group);
	}
}

static void the_time_to_the_limit_follows_from_the_rate(void **state)
{
	struct memory_process first = {.sum.rss = 100 * MIB}, last = {.sum.rss = 106 * MIB};
	struct memory_conclusion grows = {.verdict = MEMORY_SHARED_GROWS,
					  .growth.groups[GROUP_SHARED] = 6 * MIB};
	struct diagnosis diagnosis = conclude((struct diagnosis_evidence){
		.first = &first,
		.last = &last,
		.conclusion = &grows,
		.limit_bytes = 200 * MIB,
		.limit_used_bytes = 140 * MIB,
	});

	(void)state;
	assert_true(fabs(diagnosis.limit_in_s - 600) < 1e-6);
	diagnosis = conclude((struct diagnosis_evidence){.conclusion = &grows});
	assert_true(diagnosis.limit_in_s < 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_does_not_grow_is_no_leak),
		cmocka_unit_test(without_evidence_nothing_is_known),
		cmocka_unit_test(the_call_stack_that_explains_most_of_the_growth_is_the_answer),
		cmocka_unit_test(growth_that_goes_on_is_no_unknown),
		cmocka_unit_test(memory_says_how_long_it_grows_where_one_call_stack_is_all_of_it),
		cmocka_unit_test(a_block_or_two_are_chance),
		cmocka_unit_test(blocks_are_looked_up_by_two_scans_alone),
		cmocka_unit_test(unreachable_blocks_that_become_more_leak),
		cmocka_unit_test(a_call_stack_is_borne_out_by_resident_memory),
		cmocka_unit_test(stops_are_counted),
		cmocka_unit_test(a_class_that_rises_at_every_scan_grows),
		cmocka_unit_test(objects_that_only_stacks_hold_hide_no_growth),
		cmocka_unit_test(threads_explain_the_heaps_that_they_bring),
		cmocka_unit_test(classes_of_the_program_come_before_those_of_its_language),
		cmocka_unit_test(a_heap_that_grows_by_garbage_is_no_leak),
		cmocka_unit_test(code_that_an_engine_compiles_is_no_leak),
		cmocka_unit_test(texts_in_two_scans_of_an_engine_are_no_leak),
		cmocka_unit_test(few_objects_of_a_heap_with_unknown_roots_do_not_grow),
		cmocka_unit_test(a_root_whose_table_doubled_once_grows_if_memory_does),
		cmocka_unit_test(objects_that_come_and_go_do_not_grow),
		cmocka_unit_test(a_few_objects_more_in_two_scans_are_no_reason_to_doubt),
		cmocka_unit_test(a_container_that_fills_up_to_its_limit_is_no_leak),
		cmocka_unit_test(objects_beside_a_greater_native_leak_do_not_hide_it),
		cmocka_unit_test(objects_are_held_by_what_leads_to_their_class),
		cmocka_unit_test(goroutines_that_only_come_grow),
		cmocka_unit_test(a_sampled_call_stack_grows_if_its_lower_limit_does),
		cmocka_unit_test(threads_and_descriptors_that_become_more_grow),
		cmocka_unit_test(threads_that_end_unjoined_explain_their_stacks),
		cmocka_unit_test(descriptors_that_become_more_have_an_opener),
		cmocka_unit_test(threads_that_stand_still_are_no_leak),
		cmocka_unit_test(memory_of_an_unread_heap_is_not_foreign_to_malloc),
		cmocka_unit_test(a_heap_that_was_not_walked_has_not_lost_its_blocks),
		cmocka_unit_test(other_memory_is_judged_by_its_part),
		cmocka_unit_test(the_time_to_the_limit_follows_from_the_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
