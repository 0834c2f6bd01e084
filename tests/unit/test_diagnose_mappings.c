// SPDX-License-Identifier: GPL-2.0-or-later
/* The call stack that maps the growing memory, and cases without one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "app/diagnose/mappings.h"
#include "base/cleanup.h"

#define KIB 1024
#define ROWS_MAX 4

struct planted {
	const char *function; /* NULL: the end of the table */
	uint64_t bytes, resident;
	enum site_kind kind;
	enum lm_lost lost;
};

#define POOL(of, mapped, held)                                                                     \
	{                                                                                          \
		.function = of, .bytes = (mapped)*KIB, .resident = (held)*KIB,                     \
		.kind = KIND_MAPPING                                                               \
	}

static const struct expected {
	const char *what;
	struct planted rows[ROWS_MAX];
	uint64_t growth;
	int site; /* index in `rows`; -1: none */
	uint64_t resident;
	double share;
} cases[] = {
	{"one pool", {POOL("pool", 800, 800)}, 1000 * KIB, 0, 800 * KIB, 0.8},
	{"the one with most resident bytes",
	 {POOL("reserve", 1 << 20, 200), POOL("pool", 800, 600)},
	 800 * KIB,
	 1,
	 600 * KIB,
	 0.75},
	{"two places of one function are one",
	 {POOL("other", 500, 500), POOL("pool", 300, 300), POOL("pool", 400, 400)},
	 1200 * KIB,
	 2,
	 700 * KIB,
	 700.0 / 1200},
	{"more than the growth, as others shrank",
	 {POOL("pool", 800, 800)},
	 100 * KIB,
	 0,
	 800 * KIB,
	 1},
	{"an older mapping fills", {POOL("pool", 100, 100)}, 1000 * KIB, -1, 0, 0},
	{"nothing is mapped", {{0}}, 1000 * KIB, -1, 0, 0},
	{"nothing grew", {POOL("pool", 100, 100)}, 0, -1, 0, 0},
	{"mapped and never touched", {POOL("pool", 1 << 20, 0)}, 1000 * KIB, -1, 0, 0},
	{"malloc's arenas are malloc's",
	 {{.function = "malloc", .bytes = KIB, .resident = 900 * KIB, .kind = KIND_ARENA}},
	 1000 * KIB,
	 -1,
	 0,
	 0},
	{"a file that is mapped, and written to",
	 {POOL("pool", 500, 500),
	  {.function = "table", .bytes = 800 * KIB, .resident = 700 * KIB, .kind = KIND_FILE}},
	 1000 * KIB,
	 1,
	 700 * KIB,
	 0.7},
	{"a file is no anonymous memory",
	 {{.function = "table", .bytes = 800 * KIB, .resident = 700 * KIB, .kind = KIND_FILE}},
	 1000 * KIB,
	 -1,
	 0,
	 0},
	{"a lost call stack is none",
	 {{.function = "?",
	   .bytes = 900 * KIB,
	   .resident = 900 * KIB,
	   .kind = KIND_MAPPING,
	   .lost = LM_LOST_SITES_FULL}},
	 1000 * KIB,
	 -1,
	 0,
	 0},
};

static void plant(struct report_process *process, struct site *site, const struct planted *planted)
{
	struct report_site *row = vec_push(&process->sites);
	struct frame *frame;

	assert_non_null(row);
	*site = (struct site){.family = FAMILY_MAPPING,
			      .kind = planted->kind,
			      .lost = planted->lost,
			      .bytes = planted->bytes,
			      .count = 10};
	*row = (struct report_site){.site = site};
	frame = vec_push(&row->frames.list);
	assert_non_null(frame);
	*frame = (struct frame){.function = planted->function, .offset = process->sites.count};
}

static void expect(const struct expected *expected)
{
	struct report_process process = {0};
	const struct report report = {.processes = {.items = &process, .count = 1}};
	uint64_t resident[ROWS_MAX] = {0};
	/* Then written copies of files' pages grow, and no anonymous memory. */
	bool files = expected->site >= 0 && expected->rows[expected->site].kind == KIND_FILE;
	const struct mapped_evidence mapped = {.report = &report,
					       .resident = resident,
					       .growth = files ? 0 : expected->growth,
					       .written_growth = files ? expected->growth : 0};
	struct diagnosed_mapper mapper = {0};
	struct site sites[ROWS_MAX];
	bool found;

	for (size_t i = 0; i < ROWS_MAX && expected->rows[i].function; i++) {
		plant(&process, &sites[i], &expected->rows[i]);
		resident[i] = expected->rows[i].resident;
	}
	found = mappings_judge(&mapped, files ? GROUP_FILES : GROUP_OTHER, &mapper);
	if (found != (expected->site >= 0))
		fail_msg("%s: %s", expected->what, found ? "found" : "not found");
	if (found) {
		assert_ptr_equal(mapper.site, &process.sites.items[expected->site]);
		assert_int_equal(mapper.resident, expected->resident);
		assert_int_equal((int)(1000 * mapper.share), (int)(1000 * expected->share));
	}
	for (size_t i = 0; i < process.sites.count; i++)
		vec_free(&process.sites.items[i].frames.list);
	vec_free(&process.sites);
}

static void new_mappings_that_explain_the_growth_name_their_code(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		expect(&cases[i]);
}

static void without_a_report_nothing_is_named(void **state)
{
	const struct mapped_evidence none = {.growth = 1000 * KIB};
	struct diagnosed_mapper mapper = {0};

	(void)state;
	assert_false(mappings_judge(&none, GROUP_OTHER, &mapper));
	assert_null(mapper.site);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(new_mappings_that_explain_the_growth_name_their_code),
		cmocka_unit_test(without_a_report_nothing_is_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
