// SPDX-License-Identifier: GPL-2.0-or-later
/* Verdicts on kernel objects by call stack and on System V segments: growth that is accused, and
 * growth that is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "app/diagnose/conclude.h"
#include "app/diagnose/kernel_memory.h"
#include "base/cleanup.h"

#define MIB (1 << 20)

struct planted {
	const char *code;     /* function of the program; NULL: the end */
	const char *function; /* of the kernel */
	const char *cache;
	double bytes[KERNEL_TIMES];
	uint64_t count;
	bool reclaimable;
	int64_t cache_bytes;
};

#define ROWS 3
#define EVENLY(all)                                                                                \
	{                                                                                          \
		(all) / 3.0, (all) / 1.5, (all)                                                    \
	}

static const struct expected {
	const char *what;
	struct planted rows[ROWS];
	const char *code; /* NULL: nothing is accused */
	const char *kind;
	double bytes;
} cases[] = {
	{"locks that nobody releases",
	 {{"row_lock", "posix_lock_inode", "file_lock_cache", EVENLY(2.0 * MIB), 10000, false,
	   2 * MIB}},
	 "row_lock",
	 "record locks",
	 2.0 * MIB},
	{"less than any program's comes and goes by",
	 {{"row_lock", "posix_lock_inode", "file_lock_cache", EVENLY(MIB - 1.0), 10, false, MIB}},
	 NULL,
	 NULL,
	 0},
	{"a pool that is full",
	 {{"row_lock",
	   "posix_lock_inode",
	   "file_lock_cache",
	   {2.0 * MIB, 2.0 * MIB, 2.0 * MIB},
	   10,
	   false,
	   2 * MIB}},
	 NULL,
	 NULL,
	 0},
	{"a burst at the end",
	 {{"row_lock",
	   "posix_lock_inode",
	   "file_lock_cache",
	   {0, 0, 2.0 * MIB},
	   10,
	   false,
	   2 * MIB}},
	 NULL,
	 NULL,
	 0},
	{"frees that were not seen: their cache did not grow",
	 {{"send_all", "__alloc_skb", "skbuff_head_cache", EVENLY(9.0 * MIB), 40000, false, MIB}},
	 NULL,
	 NULL,
	 0},
	{"a cache that shrank, or is not known",
	 {{"send_all", "__alloc_skb", "skbuff_head_cache", EVENLY(9.0 * MIB), 40000, false, -1}},
	 NULL,
	 NULL,
	 0},
	{"files that a program reads: the kernel frees their inodes when it must",
	 {{"walk", "alloc_inode", "ext4_inode_cache", EVENLY(90.0 * MIB), 90000, true, 90 * MIB},
	  {"walk", "__d_alloc", "dentry", EVENLY(20.0 * MIB), 90000, true, 20 * MIB}},
	 NULL,
	 NULL,
	 0},
	{"names of files that do not exist, while others give theirs back",
	 {{"look", "__d_alloc", "dentry", EVENLY(20.0 * MIB), 90000, true, -20 * MIB},
	  {"look", "ext4_alloc_inode", "ext4_inode_cache", EVENLY(20.0 * MIB), 20000, true,
	   20 * MIB}},
	 "look",
	 "names of files that do not exist",
	 20.0 * MIB},
	{"all objects of one code, named by the most",
	 {{"watch", "fsnotify_add_mark", "fsnotify_mark_connector", EVENLY(0.5 * MIB), 10000, false,
	   MIB},
	  {"watch", "inotify_update_watch", "inotify_inode_mark", EVENLY(0.75 * MIB), 10000, false,
	   MIB},
	  {"other", "ep_insert", "eventpoll_epi", EVENLY(1.1 * MIB), 10000, false, 2 * MIB}},
	 "watch",
	 "inotify watches",
	 1.25 * MIB},
	{"objects of a kind that has no name",
	 {{"call", "strange_alloc", "strange", EVENLY(2.0 * MIB), 10000, false, 2 * MIB}},
	 "call",
	 NULL,
	 2.0 * MIB},
};

static void expect(const struct expected *expected)
{
	struct kernel_row rows[ROWS] = {0};
	struct frame frame[ROWS] = {0};
	struct frames frames[ROWS] = {0};
	struct kernel_evidence evidence = {.rows = rows, .seconds = 50, .exact = true};
	struct diagnosed_kernel kernel = {0};
	bool found;

	for (size_t i = 0; i < ROWS && expected->rows[i].code; i++) {
		const struct planted *planted = &expected->rows[i];

		frame[i] = (struct frame){.function = planted->code, .module = "/usr/bin/program"};
		frames[i].list.items = &frame[i];
		frames[i].list.count = 1;
		rows[i] = (struct kernel_row){.function = planted->function,
					      .cache = planted->cache,
					      .frames = &frames[i],
					      .count = planted->count,
					      .reclaimable = planted->reclaimable,
					      .cache_bytes = planted->cache_bytes};
		memcpy(rows[i].bytes, planted->bytes, sizeof(rows[i].bytes));
		evidence.row_count++;
	}
	found = kernel_memory_judge(&evidence, &kernel);
	if (found != (expected->code != NULL))
		fail_msg("%s: %s", expected->what, found ? "accused" : "not accused");
	if (!found)
		return;
	assert_string_equal(kernel.frames->list.items[0].function, expected->code);
	assert_true(kernel.bytes == expected->bytes);
	assert_int_equal(kernel.what != NULL, expected->kind != NULL);
	if (expected->kind)
		assert_string_equal(kernel.what, expected->kind);
}

static void code_for_which_the_kernel_keeps_more_and_more_is_accused(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(&cases[i]);
}

static struct frame row_lock = {.function = "row_lock", .module = "/usr/bin/program"};
static const struct frames lock_frames = {.list = {&row_lock, 1, 0}};
static const struct kernel_row locks = {.function = "posix_lock_inode",
					.cache = "file_lock_cache",
					.frames = &lock_frames,
					.bytes = EVENLY(2.0 * MIB),
					.count = 9,
					.cache_bytes = 2 * MIB};

static void the_counts_of_proc_are_shown_where_both_are_known(void **state)
{
	struct kernel_counts first = {0}, last = {0};
	const struct kernel_evidence evidence = {
		.rows = &locks, .row_count = 1, .first = &first, .last = &last};
	struct diagnosed_kernel kernel = {0};

	(void)state;
	first.of[THING_RECORD_LOCKS].known = true;
	first.of[THING_RECORD_LOCKS].count = 12;
	last.of[THING_RECORD_LOCKS].count = 90;
	assert_true(kernel_memory_judge(&evidence, &kernel));
	assert_false(kernel.things.known);
	last.of[THING_RECORD_LOCKS].known = true;
	assert_true(kernel_memory_judge(&evidence, &kernel));
	assert_true(kernel.things.known);
	assert_int_equal(kernel.things.before, 12);
	assert_int_equal(kernel.things.now, 90);
}

/* Objects seem outstanding if their frees were missed. */
static void objects_that_proc_does_not_count_are_not_accused(void **state)
{
	struct kernel_counts first = {0}, last = {0};
	const struct kernel_evidence evidence = {
		.rows = &locks, .row_count = 1, .first = &first, .last = &last};

	(void)state;
	first.of[THING_RECORD_LOCKS].known = last.of[THING_RECORD_LOCKS].known = true;
	first.of[THING_RECORD_LOCKS].count = 12;
	for (uint64_t stay = 0; stay <= 9; stay++) {
		struct diagnosed_kernel kernel = {0};

		last.of[THING_RECORD_LOCKS].count = 12 + stay;
		assert_int_equal(kernel_memory_judge(&evidence, &kernel), stay >= 5);
	}
}

/* Where the machine makes too many objects for them to be followed, two readings of /proc count. */
static void what_was_not_followed_is_no_answer_that_nothing_grew(void **state)
{
	static const struct memory_conclusion steady = {.verdict = MEMORY_STEADY};

	(void)state;
	for (unsigned i = 0; i < 4; i++) {
		bool given_up = i & 1, more = i & 2;
		struct kernel_counts first = {0}, last = {0};
		struct diagnosis_evidence evidence = {
			.pid = 7, .comm = "seven", .seconds = 60, .conclusion = &steady};
		struct diagnosis diagnosis;

		first.of[THING_TIMERS].known = last.of[THING_TIMERS].known = true;
		first.of[THING_TIMERS].count = 12;
		last.of[THING_TIMERS].count = more ? 112 : 111;
		evidence.kernel = (struct kernel_evidence){
			.first = &first, .last = &last, .given_up = given_up};
		diagnose_conclude(&evidence, &diagnosis);
		assert_int_equal(diagnosis.verdict,
				 given_up && more ? DIAGNOSIS_UNKNOWN : DIAGNOSIS_NO_LEAK);
		assert_int_equal(strstr(diagnosis.why, "not followed") != NULL, given_up);
		if (given_up && more) {
			assert_int_equal(diagnosis.part, DIAGNOSED_KERNEL);
			assert_string_equal(diagnosis.kernel.what, "POSIX timers");
		}
	}
}

static void segments_that_come_in_each_third_of_the_time_grow(void **state)
{
	static const struct {
		uint64_t segments[KERNEL_TIMES], bytes;
		bool grows;
	} rows[] = {
		{{3, 6, 9}, 9 * MIB, true},  {{9, 9, 9}, 9 * MIB, false}, /* made at the start */
		{{0, 0, 9}, 9 * MIB, false}, {{1, 2, 3}, MIB - 1, false}, {{0, 0, 0}, 0, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		struct diagnosis_evidence evidence = {.pid = 7, .comm = "seven", .seconds = 60};
		struct diagnosis diagnosis;

		memcpy(evidence.kernel.sysv.segments, rows[i].segments, sizeof(rows[i].segments));
		evidence.kernel.sysv.bytes = rows[i].bytes;
		diagnose_conclude(&evidence, &diagnosis);
		assert_int_equal(diagnosis.verdict == DIAGNOSIS_GROWS, rows[i].grows);
		if (!rows[i].grows)
			continue;
		assert_int_equal(diagnosis.part, DIAGNOSED_SYSV);
		assert_int_equal(diagnosis.sysv.segments, rows[i].segments[KERNEL_TIMES - 1]);
		assert_true(diagnosis.findings[0].share == 1);
	}
}

/* Beside a larger leak of blocks, kernel objects are a second cause, with their share. */
static void memory_of_the_kernel_competes_by_its_bytes(void **state)
{
	static const struct memory_conclusion steady = {.verdict = MEMORY_STEADY};
	struct diagnosis_evidence evidence = {
		.pid = 7,
		.comm = "seven",
		.seconds = 60,
		.conclusion = &steady,
		.kernel = {.rows = &locks, .row_count = 1, .exact = true},
	};
	struct diagnosis diagnosis;

	(void)state;
	diagnose_conclude(&evidence, &diagnosis);
	assert_int_equal(diagnosis.verdict, DIAGNOSIS_GROWS);
	assert_int_equal(diagnosis.part, DIAGNOSED_KERNEL);
	assert_true(diagnosis.findings[0].exact);
	assert_true(diagnosis.findings[0].share == 1);
	assert_string_equal(diagnosis.next, "leakmon kernel 10 6");
	evidence.kernel.sysv.segments[0] = 10;
	evidence.kernel.sysv.segments[1] = 20;
	evidence.kernel.sysv.segments[2] = 30;
	evidence.kernel.sysv.bytes = 6 * MIB;
	diagnose_conclude(&evidence, &diagnosis);
	assert_int_equal(diagnosis.part, DIAGNOSED_SYSV);
	assert_int_equal(diagnosis.finding_count, 2);
	assert_true(diagnosis.findings[1].share == 0.25);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_for_which_the_kernel_keeps_more_and_more_is_accused),
		cmocka_unit_test(the_counts_of_proc_are_shown_where_both_are_known),
		cmocka_unit_test(objects_that_proc_does_not_count_are_not_accused),
		cmocka_unit_test(what_was_not_followed_is_no_answer_that_nothing_grew),
		cmocka_unit_test(segments_that_come_in_each_third_of_the_time_grow),
		cmocka_unit_test(memory_of_the_kernel_competes_by_its_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
