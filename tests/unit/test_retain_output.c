// SPDX-License-Identifier: GPL-2.0-or-later
/* Output of results of `leakmon retain` and of their differences. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include <errno.h>

#include "base/cleanup.h"
#include "output/output.h"
#include "output/text/text.h"
#include "output/formats.h"
#include "report/retain_diff.h"
#include "unit/retain_fixture.h"

static void the_roots_of_threads_with_one_name_are_one_change(void **state)
{
	_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	const struct retained_change *change;

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct retained_root *root = fixture_root(&was, ROOT_THREAD_LOCAL, NULL, 5, 500);

		root->module = NULL;
		root->tid = 10 + i;
		strcpy(root->comm, "worker");
	}
	/* Another TID, another address, on another run. */
	*fixture_root(&is, ROOT_THREAD_LOCAL, NULL, 0, 0) = was.roots.items[0];
	is.roots.items[0].tid = 99;
	is.roots.items[0].address += 4096;
	is.roots.items[0].retained = (struct retention_total){25, 2500};
	retain_result_identify(&was);
	retain_result_identify(&is);
	assert_int_equal(retain_diff_build(&was, &is, &diff), 0);
	assert_int_equal(diff.roots.list.count, 1);
	change = &diff.roots.list.items[0];
	assert_int_equal(change_bytes(change), 1500);
	assert_int_equal(change_blocks(change), 15);
}

/* One class disappears, one is new, one grows with a longer chain. */
static void make_two_runs(struct retain_result *was, struct retain_result *is)
{
	retain_fixture(was);
	retain_fixture(is);
	is->classes.items[0].total = (struct retention_total){350, 25000};
	is->classes.items[0].distance = 9;
	is->classes.items[2].size = 80;
	is->totals[VERDICT_HELD] = (struct retention_total){450, 35000};
	is->roots.items[0].retained = (struct retention_total){440, 34000};
	retain_result_identify(is);
}

static const char diff_text[] =
	"a.lkm retain run 1 of process 1234 ser\\x0a;ver (2026-11-20 13:00:00) -> b.lkm retain run "
	"2 "
	"of process 1234 ser\\x0a;ver (2026-11-20 13:00:00, fixed)\n"
	"+5000 bytes, +50 blocks (30720 bytes -> 35720 bytes, 410 -> 460 blocks)\n"
	"unreachable: +0 bytes, +0 blocks (720 bytes -> 720 bytes, 10 -> 10 blocks)\n"
	"\n"
	"Classes that changed:\n"
	"\t+5000 bytes, +50 blocks  grown (20000 bytes -> 25000 bytes, 300 -> 350 blocks): "
	"class Cache\\u{202e} [server]  6 steps farther from a root\n"
	"\t+720 bytes, +10 blocks  new: blocks of 80 bytes\n"
	"\t-720 bytes, -10 blocks  gone: blocks of 72 bytes\n"
	"\n"
	"Roots that changed, by what they alone hold:\n"
	"\t+5000 bytes, +50 blocks  grown (29000 bytes -> 34000 bytes, 390 -> 440 blocks): "
	"global cache [server]\n"
	"\n";

/* Shortest paths of any program get a little longer and shorter. */
static void a_chain_grows_by_many_steps_and_as_many_blocks(void **state)
{
	static const struct {
		uint32_t farther;
		uint64_t blocks;
		bool lengthens, is_chain;
	} cases[] = {
		{0, 100, false, false},
		{1, 1, true, false},
		{20, 7404, true, false},
		{49, 98, true, false},
		{50, 49, false, false},
		{50, 50, true, true},
		{100, 100, true, true},
		{100, 200, true, true},
		{100, 201, true, false},
		/* Blocks reachable from the class loaders of a young Tomcat, and of Maven. */
		{51, 981, true, false},
		{50, 31115, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct retained_change change = {.is.blocks = cases[i].blocks,
						 .farther = cases[i].farther};

		assert_int_equal(retained_change_lengthens(&change), cases[i].lengthens);
		assert_int_equal(retained_change_is_chain(&change), cases[i].is_chain);
	}
}

static void a_difference_is_written_as_a_difference(void **state)
{
	_cleanup_(retain_result_free) struct retain_result was = {0}, is = {0};
	_cleanup_(retain_diff_free) struct retain_diff diff = {0};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	setenv("TZ", "UTC", 1);
	make_two_runs(&was, &is);
	assert_int_equal(retain_diff_build(&was, &is, &diff), 0);
	assert_int_equal(
		text_retain_diff_write(out, &(struct retain_diff_report){.diff = &diff,
									 .before_name = "a.lkm",
									 .after_name = "b.lkm",
									 .before_number = 1,
									 .after_number = 2,
									 .after_label = "fixed",
									 .form = {.verbose = true,
										  .bytes = true}}),
		0);
	fclose(out);
	assert_string_equal(text, diff_text);
}

/* Classes lists the heap's contents; blocks that a collector would free are no leak. */
static void garbage_of_a_class_is_named_where_all_roots_are_known(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	struct retained_runtime *runtime;
	struct retained_class *class;

	(void)state;
	retain_fixture(&result);
	runtime = vec_push(&result.runtimes);
	*runtime = (struct retained_runtime){.key = "hotspot", .name = "JVM", .version = "17"};
	class = &result.classes.items[0];
	class->kind = CLASS_RUNTIME;
	class->module = "hotspot";
	class->garbage = 40;
	for (int all = 0; all < 2; all++) {
		_cleanup_free_ char *text = NULL;
		size_t size;
		FILE *out = open_memstream(&text, &size);

		result.runtimes.items[0].all_roots = all;
		assert_int_equal(
			text_retain_write(out, &(struct retain_report){.result = &result,
								       .form = {.verbose = true,
										.bytes = true}}),
			0);
		fclose(out);
		assert_int_equal(strstr(text, "[hotspot], 40 of them garbage\n") != NULL, all);
	}
}

static void what_the_kernel_may_hold_beside_is_said_before_the_blocks(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_free_ char *text = NULL;
	const struct retain_report report = {.result = &result,
					     .form = {.verbose = true, .bytes = true}};
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	retain_fixture(&result);
	fixture_root(&result, ROOT_KERNEL, "alternate signal stack", 1, 100)->address = 0;
	fixture_root(&result, ROOT_KERNEL, "timer", 1, 100)->address = 0;
	result.retaining = result.roots.count;
	assert_int_equal(text_retain_write(out, &report), 0);
	fflush(out);
	assert_null(strstr(text, "kernel: "));
	result.why_kernel_unread = "no\033BPF";
	result.why_kernel_uncertain = "an io_uring may hold more";
	assert_int_equal(text_retain_write(out, &report), 0);
	fclose(out);
	assert_non_null(strstr(text, "kernel: alternate signal stacks and requests in flight were "
				     "not read: no\\x1bBPF\nkernel: an io_uring may hold more\n"));
	assert_non_null(strstr(text, ": alternate signal stack (held by the kernel)\n"));
	assert_non_null(strstr(text, ": timer 0 (held by the kernel)\n"));
}

/* Stale words hide some of a call stack's lost blocks: they are reported with the others. */
static void held_blocks_of_a_leaking_site_are_reported_beside_its_leak(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_free_ char *text = NULL;
	struct retained_leak *leak;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	retain_fixture(&result);
	leak = &result.leaks.items[0];
	leak->class = 1;
	assert_int_equal(text_retain_write(out, &(struct retain_report){.result = &result,
									.form = {.verbose = true,
										 .bytes = true}}),
			 0);
	leak->class = 0; /* others may be of that class, too */
	assert_int_equal(text_retain_write(out, &(struct retain_report){.result = &result,
									.form = {.verbose = true,
										 .bytes = true}}),
			 0);
	fclose(out);
	assert_non_null(strstr(text, "and with them 576 bytes in 8 blocks; 100 more from there are "
				     "held; one is at 0x55550000\n"));
	assert_null(strstr(strstr(text, "more from there") + 1, "more from there"));
}

/*
 * Unreachable blocks, and blocks reachable only from stale words, form one total, each counted
 * once.
 */
static void what_is_lost_comes_first_and_is_counted_once(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_free_ char *text = NULL;
	struct retained_root *stale;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	retain_fixture(&result);
	stale = vec_push(&result.roots);
	*stale = (struct retained_root){.kind = ROOT_STALE, .led = {50, 3280}};
	assert_int_equal(text_retain_write(out,
					   &(struct retain_report){
						   .result = &result,
					   }),
			 0);
	fclose(out);
	assert_int_equal(retain_result_lost(&result).blocks, 60);
	assert_int_equal(retain_result_lost(&result).bytes, 4000);
	assert_non_null(strstr(text, "\nlost: 60 blocks (10 unreachable, 50 with only stale "
				     "references), 3.91 KiB\n  unreachable "));
}

static void nothing_in_a_name_ends_a_folded_line_or_frame(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	retain_fixture(&result);
	assert_int_equal(
		output_folded.write[OUTPUT_RETAIN](
			out, &(struct retain_report){.result = &result,
						     .form = {.verbose = true, .bytes = true}}),
		0);
	fclose(out);
	assert_string_equal(
		text, "global cache [server];class Cache\\u{202e} [server] 19000\n"
		      "global cache [server];[0x55];make:</script>\\x1b[31m 10000\n"
		      "stack of main [server] (thread 77 worker), through untracked memory;class "
		      "Cache\\u{202e} [server] 1000\n"
		      "[unreachable];[0x55];make:</script>\\x1b[31m;blocks of 72 bytes 720\n");
}

/* gzip, RFC 1952. tests/e2e/test_e2e_retain_record.c checks the contents with Go's pprof. */
static void a_profile_is_a_gzip_file(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_free_ char *bytes = NULL;
	size_t size;
	FILE *out = open_memstream(&bytes, &size);

	(void)state;
	retain_fixture(&result);
	assert_int_equal(
		output_pprof.write[OUTPUT_RETAIN](
			out, &(struct retain_report){.result = &result,
						     .form = {.verbose = true, .bytes = true}}),
		0);
	fclose(out);
	assert_true(size > 100);
	assert_memory_equal(bytes, "\x1f\x8b\x08", 3);
}

/* tests/e2e/test_e2e_html.c checks its look in Chromium. */
static void nothing_in_a_name_ends_the_script_of_the_page(void **state)
{
	_cleanup_(retain_result_free) struct retain_result result = {0};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	char *data;

	(void)state;
	retain_fixture(&result);
	assert_int_equal(
		output_html.write[OUTPUT_RETAIN](
			out, &(struct retain_report){.result = &result,
						     .form = {.verbose = true, .bytes = true}}),
		0);
	fclose(out);
	data = strstr(text, "\"kind\":\"retention\"");
	assert_non_null(data);
	assert_null(strstr(data, "make;</script>"));
	assert_non_null(strstr(data, "\"retention\":[{\"schema\":1"));
}

static void a_full_disk_is_reported(void **state)
{
	static const char *const formats[] = {"text", "json", "folded", "pprof", "html"};
	_cleanup_(retain_result_free) struct retain_result result = {0};

	(void)state;
	retain_fixture(&result);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++) {
		FILE *full = fopen("/dev/full", "w");

		assert_int_equal(
			output_find(formats[i])
				->write[OUTPUT_RETAIN](
					full, &(struct retain_report){.result = &result,
								      .form = {.verbose = true,
									       .bytes = true}}),
			-ENOSPC);
		fclose(full);
	}
	assert_null(output_find("prom")->write[OUTPUT_RETAIN]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_roots_of_threads_with_one_name_are_one_change),
		cmocka_unit_test(a_chain_grows_by_many_steps_and_as_many_blocks),
		cmocka_unit_test(a_difference_is_written_as_a_difference),
		cmocka_unit_test(garbage_of_a_class_is_named_where_all_roots_are_known),
		cmocka_unit_test(what_the_kernel_may_hold_beside_is_said_before_the_blocks),
		cmocka_unit_test(held_blocks_of_a_leaking_site_are_reported_beside_its_leak),
		cmocka_unit_test(what_is_lost_comes_first_and_is_counted_once),
		cmocka_unit_test(nothing_in_a_name_ends_a_folded_line_or_frame),
		cmocka_unit_test(a_profile_is_a_gzip_file),
		cmocka_unit_test(nothing_in_a_name_ends_the_script_of_the_page),
		cmocka_unit_test(a_full_disk_is_reported),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
