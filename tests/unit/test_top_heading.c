// SPDX-License-Identifier: GPL-2.0-or-later
/* The lines above the list of `leakmon top`: inexact numbers have their cause there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

#include "app/top/heading.h"
#include "base/cleanup.h"
#include "report/analyze/report_build.h"

#define LEDGER "Ledger: 10 allocations = 3 frees + 7 outstanding + 0 purged + 0 dropped"

static void snapshot_make(struct snapshot *snapshot)
{
	struct snapshot_process *process;

	*snapshot = (struct snapshot){
		.has_ages = true,
		.ledger = {.allocations = 10, .frees = 3, .outstanding = 7, .scanned = 7},
	};
	process = vec_push(&snapshot->processes);
	*process = (struct snapshot_process){
		.pid = 7, .key = 7ull << 32, .exact = true, .comm = "seven"};
	process->outstanding_bytes = 700;
	process->outstanding_count = 7;
}

/* Expects this line for the ledger, highlighted if `noticed`. */
static void expect_ledger(const struct snapshot *snapshot, const char *line, bool noticed)
{
	const struct report_options options = {.sort = SORT_BYTES};
	_cleanup_(top_heading_free) struct top_heading heading = {0};
	_cleanup_(report_free) struct report report = {0};

	assert_int_equal(report_build(&report, snapshot, &options), 0);
	assert_int_equal(top_heading_of_report(&heading, &report), 0);
	assert_string_equal(heading.lines[HEADING_LEDGER], line);
	assert_int_equal(heading.inexact, noticed);
	assert_string_equal(heading.lines[HEADING_TOTAL],
			    "Outstanding: 700 B (700 bytes) in 7 blocks from 0 call stacks of 1 "
			    "process");
}

static void a_ledger_that_agrees_is_exact(void **state)
{
	_cleanup_(snapshot_free) struct snapshot snapshot;

	(void)state;
	snapshot_make(&snapshot);
	expect_ledger(&snapshot, LEDGER "; exact", false);
	/* Activity during the reading of the live set explains as much. */
	snapshot.ledger.scanned = 9;
	snapshot.ledger.moved = 2;
	expect_ledger(&snapshot, LEDGER "; exact", false);
	/* Without a reading there is nothing to compare. */
	snapshot.ledger.moved = 0;
	snapshot.has_ages = false;
	expect_ledger(&snapshot, LEDGER "; exact", false);
	snapshot.sampled = true;
	expect_ledger(&snapshot, LEDGER "; estimated from a sample", false);
}

static void an_exact_ledger_states_what_malloc_knows_nothing_of(void **state)
{
	_cleanup_(snapshot_free) struct snapshot snapshot;

	(void)state;
	snapshot_make(&snapshot);
	snapshot.processes.items[0].managed = (struct managed_share){
		.runtime = {.key = "go", .name = "Go runtime", .tool = ""},
		.heap_bytes = 297ull << 20,
		.anonymous_bytes = 300ull << 20,
	};
	expect_ledger(&snapshot,
		      LEDGER "; exact for native memory only: 297.0 MiB of 300.0 MiB are the heap "
			     "of the Go runtime",
		      false);
}

/* As a live run marks its processes, and as a recording without causes is read. */
static void a_ledger_that_does_not_balance_is_marked(void **state)
{
	_cleanup_(snapshot_free) struct snapshot snapshot;
	char line[512];

	(void)state;
	snprintf(line, sizeof(line), LEDGER "; INEXACT: %s", inexact_advice(INEXACT_LEDGER));
	for (uint64_t scanned = 6; scanned <= 8; scanned += 2) {
		snapshot_make(&snapshot);
		snapshot.ledger.scanned = scanned;
		expect_ledger(&snapshot, line, true);
		snapshot_mark_inexact(&snapshot.processes.items[0], INEXACT_LEDGER);
		expect_ledger(&snapshot, line, true);
		snapshot_free(&snapshot);
	}
	snapshot_make(&snapshot);
	snapshot.ledger.scanned = 10;
	snapshot.ledger.moved = 2;
	expect_ledger(&snapshot, line, true);
}

/* There is room for one: losses come first, because they have numbers. */
static void the_cause_stands_in_the_line(void **state)
{
	_cleanup_(snapshot_free) struct snapshot snapshot;
	char line[512];

	(void)state;
	snapshot_make(&snapshot);
	snapshot_mark_inexact(&snapshot.processes.items[0], INEXACT_LEDGER);
	snapshot_mark_inexact(&snapshot.processes.items[0], INEXACT_CODE_MOVED);
	snprintf(line, sizeof(line), LEDGER "; INEXACT: %s", inexact_advice(INEXACT_CODE_MOVED));
	expect_ledger(&snapshot, line, true);
	snapshot.ledger.lost_stacks[LM_LOST_SITES_FULL] = 4;
	snprintf(line, sizeof(line), LEDGER "; 4 WITHOUT A STACK: %s",
		 lost_advice(LM_LOST_SITES_FULL));
	expect_ledger(&snapshot, line, true);
	snapshot.ledger.dropped[LM_DROP_BUSY] = 1;
	snapshot.ledger.dropped[LM_DROP_DEPTH] = 2;
	snapshot.ledger.allocations = 13;
	snprintf(line, sizeof(line),
		 "Ledger: 13 allocations = 3 frees + 7 outstanding + 0 purged + 3 dropped; "
		 "INEXACT: %s",
		 drop_advice(LM_DROP_DEPTH));
	expect_ledger(&snapshot, line, true);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_ledger_that_agrees_is_exact),
		cmocka_unit_test(an_exact_ledger_states_what_malloc_knows_nothing_of),
		cmocka_unit_test(a_ledger_that_does_not_balance_is_marked),
		cmocka_unit_test(the_cause_stands_in_the_line),
	};

	return cmocka_run_group_tests_name("top_heading", tests, NULL, NULL);
}
