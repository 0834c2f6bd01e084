/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Support for continuous integration: known leaks are accepted (--suppress), and the rest is a test
 * result (--junit).
 */
#ifndef LEAKMON_MONITOR_TEST_REPORT_H
#define LEAKMON_MONITOR_TEST_REPORT_H

#include "app/monitor/emit.h"
#include "report/analyze/suppress.h"

struct test_report {
	const struct output_options *options; /* NULL: neither option was given; borrowed */
	struct suppressions accepted;
	/* For --junit: like --output, in that format. */
	struct output_options junit;
	struct emitter emitter;
	char *path; /* its file, or NULL; owned */
};

/*
 * Reads the rules, and checks that --junit's file can be written. Returns 0, or -errno after a
 * message. Call test_report_close() in either case; a zeroed struct can be closed, too.
 */
int test_report_open(struct test_report *tests, const struct output_options *options);
void test_report_close(struct test_report *tests);

/* Returns whether the run is judged by the blocks left at the end of each of its processes. */
bool test_report_is_wanted(const struct output_options *options);

/*
 * Processes a named report with all its sites: removes accepted sites, writes the last report as
 * JUnit XML, cuts it for display, and names rules that matched nothing in the whole run.
 * *accepted_bytes: outstanding heap bytes accepted. Returns 0, or -errno after a message.
 */
int test_report_take(struct test_report *tests, struct report *report, bool last,
		     uint64_t *accepted_bytes);

#endif
