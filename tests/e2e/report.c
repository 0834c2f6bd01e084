// SPDX-License-Identifier: GPL-2.0-or-later
/* The part of the harness that reads reports and compares them with a workload's truth. */
#include "harness.h"

json_int_t number_at(json_t *object, const char *key)
{
	json_t *number = json_object_get(object, key);

	if (!json_is_integer(number))
		fail_msg("no number `%s` in the report", key);
	return json_integer_value(number);
}

double real_at(json_t *object, const char *key)
{
	json_t *number = json_object_get(object, key);

	if (!json_is_number(number))
		fail_msg("no number `%s` in the report", key);
	return json_number_value(number);
}

json_int_t ledger_at(json_t *report, const char *key)
{
	return number_at(json_object_get(report, "ledger"), key);
}

json_int_t dropped_sum(json_t *report)
{
	json_t *dropped = json_object_get(json_object_get(report, "ledger"), "dropped"), *number;
	json_int_t sum = 0;
	const char *cause;

	assert_true(json_is_object(dropped));
	json_object_foreach(dropped, cause, number) sum += json_integer_value(number);
	return sum;
}

json_t *process_of(json_t *report, pid_t pid)
{
	json_t *process;
	size_t i;

	json_array_foreach(json_object_get(report, "processes"), i,
			   process) if (number_at(process, "pid") == pid) return process;
	fail_msg("process %d is not in the report", pid);
	return NULL;
}

static bool site_is_of(json_t *site, const char *function)
{
	json_t *frame = json_array_get(json_object_get(site, "frames"), 0);
	const char *name = json_string_value(json_object_get(frame, "function"));

	return name && strcmp(name, function) == 0;
}

bool stack_has_function(json_t *stack, const char *function)
{
	json_t *frame;
	size_t i;

	json_array_foreach(json_object_get(stack, "frames"), i, frame)
	{
		const char *name = json_string_value(json_object_get(frame, "function"));

		if (name && !strcmp(name, function))
			return true;
	}
	return false;
}

size_t site_rank(json_t *process, const char *function)
{
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (site_is_of(site, function))
			return i;
	}
	return SIZE_MAX;
}

json_t *site_of(json_t *process, const char *function)
{
	return json_array_get(json_object_get(process, "sites"), site_rank(process, function));
}

struct held held_by(json_t *process, const char *function)
{
	struct held held = {0};
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(process, "sites"), i, site)
	{
		if (!site_is_of(site, function))
			continue;
		held.sites++;
		held.count += number_at(site, "count");
		held.bytes += number_at(site, "bytes");
	}
	return held;
}

void expect_doubt(json_t *process, const char *cause)
{
	json_t *causes = json_object_get(process, "inexact");

	assert_true(json_is_false(json_object_get(process, "exact")));
	assert_int_equal(json_array_size(causes), 1);
	assert_string_equal(json_string_value(json_array_get(causes, 0)), cause);
}

void expect_balance(json_t *report)
{
	assert_int_equal(ledger_at(report, "allocations"),
			 ledger_at(report, "frees") + ledger_at(report, "outstanding") +
				 ledger_at(report, "purged") + dropped_sum(report));
}

static void expect_same(const char *what, json_int_t got, json_int_t want)
{
	if (got != want)
		fail_msg("%s: leakmon says %lld, the workload %lld", what, (long long)got,
			 (long long)want);
}

static void expect_sites(json_t *process, json_t *truth)
{
	json_t *site;
	size_t i;

	json_array_foreach(json_object_get(truth, "sites"), i, site)
	{
		const char *function = json_string_value(json_object_get(site, "function"));
		struct held held = held_by(process, function);

		expect_same(function, held.count, number_at(site, "count"));
		expect_same(function, held.bytes, number_at(site, "bytes"));
	}
}

void expect_truth(json_t *report, json_t *truth)
{
	static const char *const keys[] = {"allocations", "frees",     "untracked_frees",
					   "failed",	  "abandoned", "outstanding_bytes"};
	json_t *process = process_of(report, (pid_t)number_at(truth, "pid"));

	expect_balance(report);
	expect_same("dropped", dropped_sum(report), 0);
	expect_sites(process, truth);
	for (size_t i = 0; i < sizeof(keys) / sizeof(keys[0]); i++)
		expect_same(keys[i], ledger_at(report, keys[i]), number_at(truth, keys[i]));
	expect_same("outstanding", ledger_at(report, "outstanding"),
		    number_at(truth, "outstanding_count"));
	expect_same("blocks", number_at(process, "outstanding_count"),
		    number_at(truth, "outstanding_count"));
	expect_same("bytes", number_at(process, "outstanding_bytes"),
		    number_at(truth, "outstanding_bytes"));
	assert_true(json_is_true(json_object_get(process, "exact")));
}

bool is_inexact_by(json_t *process, const char *cause)
{
	json_t *name;
	size_t i;

	json_array_foreach(json_object_get(process, "inexact"), i, name)
	{
		if (!strcmp(json_string_value(name), cause))
			return true;
	}
	return false;
}
