// SPDX-License-Identifier: GPL-2.0-or-later
/* What the descriptors of figures name must be there: columns in the schema of recordings. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdio.h>

#include "base/cleanup.h"
#include "report/profile_report.h"
#include "store/database.h"
#include "store/schema.h"

static const struct {
	const char *table;
	const struct figures *figures;
} tables[] = {
	{"profiles", &profile_report_figures},	  {"profile_processes", &profile_process_figures},
	{"profile_sites", &profile_site_figures}, {"profile_sites", &profile_site_verdict_figures},
	{"profile_survival", &survival_figures},
};

static void assert_column(sqlite3 *database, const char *table, const char *column)
{
	_cleanup_statement_ sqlite3_stmt *statement = NULL;
	char sql[128];

	/* In brackets: a name in quotes that is no column would be a text. */
	snprintf(sql, sizeof(sql), "SELECT [%s] FROM %s", column, table);
	if (sqlite3_prepare_v2(database, sql, -1, &statement, NULL))
		fail_msg("%s: %s", sql, sqlite3_errmsg(database));
}

static void every_figure_has_its_column_in_the_schema(void **state)
{
	const char *const schemas[] = {
		schema_sql,	     schema_retain_sql, schema_threads_sql,   schema_owners_sql,
		schema_profiles_sql, schema_hosts_sql,	schema_estimates_sql, schema_memory_sql,
	};
	_cleanup_database_ sqlite3 *database = NULL;

	(void)state;
	assert_int_equal(sqlite3_open(":memory:", &database), SQLITE_OK);
	for (size_t i = 0; i < ARRAY_SIZE(schemas); i++)
		assert_int_equal(database_run(database, schemas[i]), 0);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_figure_has_its_column_in_the_schema),
		cmocka_unit_test(figures_of_a_struct_have_places_and_names_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
