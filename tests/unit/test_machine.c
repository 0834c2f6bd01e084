// SPDX-License-Identifier: GPL-2.0-or-later
/* Memory of the machine that belongs to no process: texts of the kernel, and growth. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "app/triage/machine.h"
#include "base/cleanup.h"
#include "base/page.h"
#include "output/text/text.h"

static void forget(double now[MACHINE_PART_MAX_])
{
	for (size_t i = 0; i < MACHINE_PART_MAX_; i++)
		now[i] = NAN;
}

static void the_kernels_texts_are_read(void **state)
{
	double now[MACHINE_PART_MAX_];

	(void)state;
	forget(now);
	machine_parse_meminfo("MemTotal: 100 kB\nShmem:              20 kB\nSReclaimable: 7 kB\n"
			      "SUnreclaim:         3 kB\nPageTables: 5 kB\nSecPageTables: 9 kB\n",
			      now);
	assert_float_equal(now[MACHINE_SHARED], 20480, 0);
	assert_float_equal(now[MACHINE_SLAB], 3072, 0);
	assert_float_equal(now[MACHINE_CACHES], 7168, 0);
	assert_float_equal(now[MACHINE_PAGE_TABLES], 5120, 0);
	assert_true(isnan(now[MACHINE_VMALLOC]));
	machine_parse_sockets("sockets: used 9\nTCP: inuse 1 orphan 0 tw 0 alloc 2 mem 3\n"
			      "UDP: inuse 0 mem 4\nFRAG: inuse 0 memory 0\n",
			      now);
	assert_float_equal(now[MACHINE_SOCKETS], 7 * (double)page_size(), 0);
	machine_parse_segments("key shmid ... rss swap\n"
			       "0 1 600 4096 1 1 0 0 0 0 0 1 1 1 8192 4096\n"
			       "0 2 600 4096 1 1 0 0 0 0 0 1 1 1 100 0\n",
			       now);
	assert_float_equal(now[MACHINE_SEGMENTS], 12388, 0);
	machine_parse_dying("nr_descendants 4\nnr_dying_descendants 41\n", now);
	assert_float_equal(now[MACHINE_DYING_GROUPS], 41, 0);
}

static void texts_that_are_not_there_are_not_known(void **state)
{
	double now[MACHINE_PART_MAX_];

	(void)state;
	forget(now);
	machine_parse_meminfo("", now);
	machine_parse_sockets("TCP: inuse 1 mem\n", now);
	machine_parse_segments("", now);
	machine_parse_dying("nr_descendants 4\n", now);
	for (size_t i = 0; i < MACHINE_PART_MAX_; i++)
		assert_true(isnan(now[i]));
	machine_parse_segments("header only\n", now);
	assert_float_equal(now[MACHINE_SEGMENTS], 0, 0);
}

static char *line_of(const struct triage_machine *report, bool all)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	text_triage_machine_write(out, report, all);
	fclose(out);
	return text;
}

/* 12 MiB of slab a minute, with constant page tables. */
static void what_grows_is_named_with_its_rate(void **state)
{
	_cleanup_(machine_free) struct machine machine = {0};
	_cleanup_free_ char *all = NULL, *suspects = NULL;
	struct triage_machine report;

	(void)state;
	forget(machine.now);
	for (double now_s = 0; now_s <= 150; now_s += 5) {
		struct quantities reading = {
			{NAN, NAN, NAN, NAN, 300e6 + now_s * 12 * 1048576 / 60}};
		struct quantities still = {{NAN, NAN, NAN, NAN, 20 * 1048576.0}};

		assert_int_equal(series_add(&machine.series[MACHINE_SLAB], now_s, &reading), 0);
		assert_int_equal(series_add(&machine.series[MACHINE_PAGE_TABLES], now_s, &still),
				 0);
		machine.now[MACHINE_SLAB] = reading.values[QUANTITY_CHARGED];
		machine.now[MACHINE_PAGE_TABLES] = still.values[QUANTITY_CHARGED];
	}
	machine.now[MACHINE_DYING_GROUPS] = 41;
	machine_report(&machine, &report);
	assert_int_equal(report.parts[MACHINE_SLAB].verdict, TREND_LEAKING);
	assert_int_equal(report.parts[MACHINE_PAGE_TABLES].verdict, TREND_STEADY);
	all = line_of(&report, true);
	assert_string_equal(all, "machine: slab 316.1 MiB (leaking, +12.0 MiB/min), page tables "
				 "20.0 MiB, 41 dying cgroups; leakmon kernel\n");
	suspects = line_of(&report, false);
	assert_string_equal(suspects,
			    "machine: slab 316.1 MiB (leaking, +12.0 MiB/min); leakmon kernel\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_kernels_texts_are_read),
		cmocka_unit_test(texts_that_are_not_there_are_not_known),
		cmocka_unit_test(what_grows_is_named_with_its_rate),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
