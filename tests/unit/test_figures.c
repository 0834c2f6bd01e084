// SPDX-License-Identifier: GPL-2.0-or-later
/* Names in the descriptors of figures must exist: columns in the schema of recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <math.h>
#include <stdio.h>

#include "base/cleanup.h"
#include "output/json/json.h"
#include "output/prom/prom.h"
#include "report/task_report.h"
#include "report/heap_profile.h"
#include "report/profile_report.h"
#include "report/store/database.h"
#include "report/store/schema.h"

static const struct {
	const char *table;
	const struct figures *figures;
} tables[] = {
	{"profiles", &profile_report_figures},
	{"profile_processes", &profile_process_figures},
	{"profile_sites", &profile_site_figures},
	{"profile_sites", &profile_site_verdict_figures},
	{"profile_survival", &survival_figures},
	{"goroutines", &task_report_records},
	{"goroutine_groups", &task_group_records},
	{"heap_profiles", &heap_profile_figures},
	{"heap_profile_sites", &heap_profile_site_figures},
};

static void assert_column(sqlite3 *database, const char *table, const char *column)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	char sql[128];

	/* In brackets: in quotes, an unknown column would be taken for a string. */
	snprintf(sql, sizeof(sql), "SELECT [%s] FROM %s", column, table);
	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
}

static void every_figure_has_its_column_in_the_schema(void **state)
{
	_cleanup_database_ sqlite3 *database = NULL;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
	for (size_t i = 0; schema_sql[i]; i++)
		assert_int_equal(database_run(database, schema_sql[i]), 0);
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		for (size_t j = 0; j < tables[i].figures->count; j++) {
			const struct figure *figure = &tables[i].figures->items[j];
			const char *column = figure_column(figure);

			if (column)
				assert_column(database, tables[i].table, column);
		}
	}
}

static void figures_of_a_struct_have_places_and_names_of_their_own(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		const struct figures *all = tables[i].figures;

		for (size_t j = 0; j < all->count; j++) {
			assert_true(all->items[j].json || figure_column(&all->items[j]));
			for (size_t k = 0; k < j; k++) {
				if (all->items[j].type == FIGURE_CALL ||
				    all->items[k].type == FIGURE_CALL)
					continue;
				assert_int_not_equal(all->items[j].offset, all->items[k].offset);
			}
		}
	}
}

/* -------- writers */

struct sample {
	uint64_t some, known, time_ns, heap;
	int64_t grown;
	double share, whole;
	bool has_part, part;
};

static double twice(const void *sample)
{
	return 2 * ((const struct sample *)sample)->share;
}

static bool has_heap(const void *sample)
{
	return ((const struct sample *)sample)->heap;
}

#define SAMPLE(member) offsetof(struct sample, member)
static const struct figure sample_rows[] = {
	FIGURE("some", NULL, SOME, SAMPLE(some)),
	FIGURE("known", NULL, KNOWN, SAMPLE(known)),
	FIGURE("time_ms", NULL, SOME, SAMPLE(time_ns), .per = 1000000),
	FIGURE("grown", NULL, SIGNED, SAMPLE(grown)),
	FIGURE("share", NULL, REAL, SAMPLE(share), .metric = METRIC_GAUGE, .metric_name = "share",
	       .help = "Share."),
	FIGURE("whole", NULL, WHOLE, SAMPLE(whole)),
	FIGURE("twice", NULL, MADE, 0, .real = twice, .metric = METRIC_GAUGE,
	       .metric_name = "twice", .help = "Twice."),
	FIGURE("part", NULL, FLAG, SAMPLE(part), .section = "null", .known = SAMPLE(has_part)),
	FIGURE("part", NULL, FLAG, SAMPLE(part), .section = "left_out", .known = SAMPLE(has_part),
	       .left_out = true),
	FIGURE("heap", NULL, NUMBER, SAMPLE(heap), .conditional = true),
	FIGURE(NULL, NULL, NUMBER, SAMPLE(heap), .shown = has_heap, .metric = METRIC_GAUGE,
	       .metric_name = "heap", .help = "Heap."),
};
static const struct figures sample_figures = FIGURES(sample_rows);

static const struct sample samples[] = {
	{.known = UINT64_MAX, .share = NAN, .whole = NAN},
	{7, 8, 5999999, 9, -3, 0.5, 12.75, true, true},
};

static void json_has_null_for_nothing_and_leaves_out_optional_parts(void **state)
{
	static const struct {
		const struct sample *sample;
		bool known;
		const char *json;
	} rows[] = {
		{&samples[0], false,
		 "{\"some\":null,\"known\":null,\"time_ms\":null,\"grown\":0,\"share\":null,"
		 "\"whole\":null,\"twice\":null,\"null\":null,\"heap\":null}"},
		{&samples[1], true,
		 "{\"some\":7,\"known\":8,\"time_ms\":5,\"grown\":-3,\"share\":0.5,"
		 "\"whole\":12,\"twice\":1,\"null\":{\"part\":true},"
		 "\"left_out\":{\"part\":true},\"heap\":9}"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		_cleanup_free_ char *text = NULL;
		size_t size;
		struct json_writer json = {.out = open_memstream(&text, &size)};

		assert_non_null(json.out);
		json_open(&json, NULL, '{');
		json_figures_write_if(&json, &sample_figures, rows[i].sample, rows[i].known);
		json_close(&json, '}');
		assert_int_equal(fclose(json.out), 0);
		assert_string_equal(text, rows[i].json);
	}
}

static const void *sample_row(const void *report, size_t i)
{
	const struct sample *all = report;

	return i < ARRAY_SIZE(samples) ? &all[i] : NULL;
}

static void sample_labels(FILE *out, const void *report, size_t i)
{
	(void)report;
	fprintf(out, "{row=\"%zu\"", i);
}

static void metrics_have_no_series_for_what_is_not_known(void **state)
{
	const struct prom_series series = {ARRAY_SIZE(samples) + 1, sample_row, sample_labels};
	_cleanup_free_ char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	assert_non_null(out);
	prom_series_write(out, &sample_figures, &series, samples);
	assert_int_equal(fclose(out), 0);
	assert_string_equal(text, "# HELP leakmon_share Share.\n# TYPE leakmon_share gauge\n"
				  "leakmon_share{row=\"1\"} 0.5\n"
				  "# HELP leakmon_twice Twice.\n# TYPE leakmon_twice gauge\n"
				  "leakmon_twice{row=\"1\"} 1\n"
				  "# HELP leakmon_heap Heap.\n# TYPE leakmon_heap gauge\n"
				  "leakmon_heap{row=\"1\"} 9\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_figure_has_its_column_in_the_schema),
		cmocka_unit_test(figures_of_a_struct_have_places_and_names_of_their_own),
		cmocka_unit_test(json_has_null_for_nothing_and_leaves_out_optional_parts),
		cmocka_unit_test(metrics_have_no_series_for_what_is_not_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
