/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The workload `holder`, which knows its own heap to the byte. */
#ifndef LEAKMON_E2E_RETAIN_HOLDER_H
#define LEAKMON_E2E_RETAIN_HOLDER_H

#include "retain_json.h"

static inline struct child *holder_start(struct harness *harness, const char *entries,
					 const char *lost, json_t **truth)
{
	struct child *target = WORKLOAD(harness, "holder", entries, lost);

	workload_do(harness, target, "go");
	*truth = workload_ask(harness, target, "truth");
	return target;
}

/* The heap walk finds the program's own count by malloc_usable_size(), to the byte. */
static inline void expect_holder(json_t *report, json_t *truth)
{
	json_t *root = json_array_get(json_object_get(report, "roots"), 0);

	assert_true(json_is_true(json_object_get(report, "settled")));
	assert_int_equal(total_at(report, "unreachable", "blocks"),
			 number_at(truth, "lost_blocks") + number_at(truth, "ring_blocks"));
	assert_int_equal(total_at(report, "unreachable", "bytes"),
			 number_at(truth, "lost_bytes") + number_at(truth, "ring_bytes"));
	assert_int_equal(total_at(report, "direct", "blocks"), 2);
	assert_string_equal(text_at(root, "name"), "cache");
	assert_string_equal(text_at(root, "kind"), "global");
	assert_int_equal(number_at(root, "retained_blocks"), number_at(truth, "cache_blocks"));
	assert_int_equal(number_at(root, "retained_bytes"), number_at(truth, "cache_bytes"));
}

#endif
