/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Support for continuous integration: leaks that are known are accepted (--suppress), and the rest
 * is a test result (--junit).
 */
#ifndef LEAKMON_MONITOR_TEST_REPORT_H
#define LEAKMON_MONITOR_TEST_REPORT_H

#include "app/monitor/emit.h"
#include "report/analyze/suppress.h"

struct test_report {
	const struct output_options *options; /* NULL: neither was asked for; borrowed */
	struct suppressions accepted;
	/* --junit: like --output, in the format of that name. */
	struct output_options junit;
	struct emitter emitter;
	char *path; /* its file, or NULL; owned */
};

/* Reads the rules, and sees whether --junit's file can be written. 0, or -errno after a message.
 * To be closed in either case; zeroed, it can be closed, too. */
int test_report_open(struct test_report *tests, const struct output_options *options);
void test_report_close(struct test_report *tests);

/* Whether a run is judged by what is left at the end of each of its processes. */
bool test_report_is_wanted(const struct output_options *options);

/*
 * For a report with all its sites, named: takes out what is accepted, writes the last one as JUnit
 * XML, cuts it to what is to be shown, and names the rules that no report of the run had any use
 * for. *accepted_bytes: of the heap, outstanding. 0, or -errno after a message.
 */
int test_report_take(struct test_report *tests, struct report *report, bool last,
		     uint64_t *accepted_bytes);

#endif
