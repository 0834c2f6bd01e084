// SPDX-License-Identifier: GPL-2.0-or-later
/* Guarantees for outputs that loop over the descriptors of families. */
#include "report/family.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/cleanup.h"

static void every_family_has_its_words(void **state)
{
	(void)state;
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		assert_non_null(family->name);
		assert_non_null(family->title);
		assert_non_null(family->noun);
		assert_non_null(family->unit);
		assert_int_equal(family->figures.count != 0, family->section != NULL);
		assert_int_equal(family->figures.count != 0, family->table != NULL);
		assert_true(!family->balance || family->of_snapshot);
		for (size_t other = 0; other < id; other++)
			assert_string_not_equal(family->name, family_name(other));
	}
}

static void figures_have_names_of_their_own(void **state)
{
	(void)state;
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		for (size_t i = 0; i < family->figures.count; i++) {
			for (size_t j = 0; j < i; j++) {
				assert_string_not_equal(family->figures.items[i].json,
							family->figures.items[j].json);
				if (figure_column(&family->figures.items[i]) &&
				    figure_column(&family->figures.items[j]))
					assert_string_not_equal(
						figure_column(&family->figures.items[i]),
						figure_column(&family->figures.items[j]));
				assert_int_not_equal(family->figures.items[i].offset,
						     family->figures.items[j].offset);
			}
		}
	}
}

/* prometheus.io, "Metric and label naming": a counter's name ends in _total. */
static void metrics_are_named_by_convention(void **state)
{
	size_t counters = 0, gauges = 0;

	(void)state;
	for (size_t id = 0; id < FAMILY_MAX_; id++) {
		const struct family *family = family_get(id);

		for (size_t i = 0; i < family->figures.count; i++) {
			const struct figure *figure = &family->figures.items[i];
			const char *name = figure->metric_name;
			bool total = name && strlen(name) > 6 &&
				     !strcmp(name + strlen(name) - 6, "_total");

			assert_int_equal(figure->metric != METRIC_NONE, name != NULL);
			assert_int_equal(figure->metric == METRIC_COUNTER, total);
			if (!name)
				continue;
			assert_int_equal(figure->help[strlen(figure->help) - 1], '.');
			/* For its source see output/prom/prom_report.c. */
			assert_true(total ? family->of_snapshot : family->of_process);
			counters += total;
			gauges += !total;
		}
	}
	assert_int_equal(counters, 15);
	assert_int_equal(gauges, 6);
}

static void figures_are_read_where_they_lie(void **state)
{
	const struct family *threads = family_get(FAMILY_THREADS), *heap = family_get(FAMILY_HEAP);
	struct snapshot_process process = {.threads = {.alive = 3, .counted = true, .dead = 7}};
	struct snapshot snapshot = {.ledger = {.allocations = 5}, .has_mappings = false};
	const void *figures = family_of_process(threads, &process);

	(void)state;
	assert_ptr_equal(figures, &process.threads);
	assert_string_equal(threads->figures.items[0].json, "alive");
	assert_int_equal(figure_value(&threads->figures.items[0], figures), 3);
	assert_true(figure_is_known(&threads->figures.items[0], figures));
	assert_false(figure_is_known(&threads->figures.items[1], figures));
	assert_null(family_total(threads, &snapshot));
	assert_null(family_of_process(heap, &process));
	assert_int_equal(figure_value(&heap->figures.items[0], family_total(heap, &snapshot)), 5);
	assert_false(family_is_present(family_get(FAMILY_MAPPING), &snapshot));
	assert_true(family_is_present(heap, &snapshot));
}

static void what_is_counted_by_cause_is_summed_up(void **state)
{
	const struct family *heap = family_get(FAMILY_HEAP);
	struct ledger ledger = {.walk_ends = {[LM_WALK_ROOT] = 100, 1, 2}};
	size_t by_cause = 0;

	(void)state;
	ledger.dropped[LM_DROP_MAX_ - 1] = 4;
	for (size_t i = 0; i < heap->figures.count; i++) {
		const struct figure *figure = &heap->figures.items[i];

		if (!figure->causes)
			continue;
		by_cause++;
		if (!strcmp(figure->json, "dropped"))
			assert_int_equal(figure_value(figure, &ledger), 4);
		if (!strcmp(figure->json, "walk_ends"))
			assert_int_equal(figure_value(figure, &ledger), 3);
	}
	assert_int_equal(by_cause, 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_family_has_its_words),
		cmocka_unit_test(figures_have_names_of_their_own),
		cmocka_unit_test(metrics_are_named_by_convention),
		cmocka_unit_test(figures_are_read_where_they_lie),
		cmocka_unit_test(what_is_counted_by_cause_is_summed_up),
	};

	return cmocka_run_group_tests_name("family", tests, NULL, NULL);
}
