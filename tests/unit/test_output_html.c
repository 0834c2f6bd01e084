// SPDX-License-Identifier: GPL-2.0-or-later
/* The data that a page embeds, read back with a JSON reader; test_e2e_html.c opens pages. */
#include <jansson.h>

#include "report/analyze/diff_build.h"
#include "report/diff.h"
#include "report/analyze/report_build.h"
#include "report/history.h"
#include "base/cleanup.h"
#include "base/text.h"
#include "golden.h"
#include "report_fixture.h"

#define DATA_BEGIN "<script type=\"application/json\" id=\"data\">"
#define DATA_END "</script>"

static char *render_diff(const struct diff *diff)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(output_find("html")->write[OUTPUT_DIFF](out, diff), 0);
	assert_int_equal(fclose(out), 0);
	return text;
}

/* The text between the data element's tags, as a browser finds it; the caller frees it. */
static char *data_text(const char *page)
{
	const char *start = strstr(page, DATA_BEGIN), *end;

	assert_non_null(start);
	start += strlen(DATA_BEGIN);
	end = strstr(start, DATA_END);
	assert_non_null(end);
	/* The page's own script follows: nothing else began in between. */
	assert_int_equal(strncmp(end, DATA_END "\n<script>", strlen(DATA_END "\n<script>")), 0);
	return strndup(start, (size_t)(end - start));
}

static json_t *data_of(const char *page)
{
	_cleanup_free_ char *text = data_text(page);
	json_error_t error;
	json_t *data = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!data)
		fail_msg("column %d: %s", error.column, error.text);
	return data;
}

static json_int_t integer(json_t *object, const char *key)
{
	json_t *value = json_object_get(object, key);

	if (!json_is_integer(value))
		fail_msg("%s is no integer", key);
	return json_integer_value(value);
}

static json_t *item(json_t *object, const char *key, size_t i)
{
	json_t *value = json_array_get(json_object_get(object, key), i);

	if (!value)
		fail_msg("%s has no item %zu", key, i);
	return value;
}

/* Column `i` of a frame of the page's table, a number of a string, as text; NULL for null. */
static const char *frame_text(json_t *data, size_t frame, size_t i)
{
	json_int_t string = json_integer_value(json_array_get(item(data, "frames", frame), i));

	return json_string_value(item(data, "strings", (size_t)string));
}

static void the_bundle_is_that_of_its_sources(void **state)
{
	_cleanup_free_ char *page = NULL;
	char wanted[128], sum[65] = "";
	struct fixture fixture;
	FILE *sources = popen("LC_ALL=C; cat user/html/src/* | sha256sum", "r");

	(void)state;
	assert_int_equal(fscanf(sources, "%64s", sum), 1);
	pclose(sources);
	fixture_plain(&fixture);
	page = golden_render("html", &fixture.report);
	snprintf(wanted, sizeof(wanted), "<meta name=\"sources-sha256\" content=\"%s\">", sum);
	if (!strstr(page, wanted))
		fail_msg("user/html/report.html is of other sources: run `make html-bundle`");
	fixture_free(&fixture);
}

static void one_snapshot_is_shown_with_all_its_numbers(void **state)
{
	_cleanup_free_ char *page = NULL;
	struct fixture fixture;
	json_t *data, *process, *site;

	(void)state;
	fixture_plain(&fixture);
	fixture.report.host = "build-7";
	page = golden_render("html", &fixture.report);
	data = data_of(page);
	assert_string_equal(json_string_value(json_object_get(data, "kind")), "report");
	assert_string_equal(json_string_value(json_object_get(data, "host")), "build-7");
	assert_int_equal(integer(data, "time_ms"), 1795179600123);
	assert_int_equal(integer(data, "sequence"), 3);
	assert_int_equal(json_array_size(json_object_get(data, "times")), 0);
	assert_int_equal(integer(json_object_get(data, "ledger"), "allocations"), 1000);
	assert_int_equal(json_array_size(json_object_get(data, "losses")), 4);
	assert_string_equal(json_string_value(json_object_get(item(data, "losses", 0), "advice")),
			    drop_advice(LM_DROP_BLOCKS_FULL));
	assert_string_equal(json_string_value(json_object_get(item(data, "losses", 3), "cause")),
			    "file_unread");
	process = item(data, "processes", 0);
	assert_int_equal(integer(process, "pid"), 1234);
	assert_int_equal(integer(process, "outstanding_bytes"), 12544);
	assert_true(json_is_false(json_object_get(process, "exact")));
	site = item(data, "sites", 1);
	assert_int_equal(integer(site, "process"), 0);
	assert_int_equal(integer(site, "held_bytes"), 4096);
	assert_int_equal(integer(site, "freed_count"), 2);
	assert_int_equal(integer(site, "oldest_ms"), 12399);
	assert_int_equal(json_array_size(json_object_get(site, "stack")), 5);
	assert_string_equal(json_string_value(json_object_get(item(data, "sites", 0), "lost")),
			    "sites_full");
	json_decref(data);
	fixture_free(&fixture);
}

static void frames_and_strings_are_written_once(void **state)
{
	_cleanup_free_ char *page = NULL;
	struct fixture fixture;
	json_t *data, *stack;
	size_t first;

	(void)state;
	fixture_plain(&fixture);
	/* The other process has the same stack. */
	fixture_frames_plain(&fixture.report.processes.items[1].sites.items[0]);
	page = golden_render("html", &fixture.report);
	data = data_of(page);
	stack = json_object_get(item(data, "sites", 1), "stack");
	assert_true(json_equal(stack, json_object_get(item(data, "sites", 2), "stack")));
	assert_int_equal(json_array_size(json_object_get(data, "frames")), 5);
	first = (size_t)json_integer_value(json_array_get(stack, 0));
	assert_string_equal(frame_text(data, first, 0), "string_copy");
	assert_string_equal(frame_text(data, first, 2), "/usr/bin/redis-server");
	assert_string_equal(frame_text(data, first, 4), "src/string.c");
	assert_int_equal(json_integer_value(json_array_get(item(data, "frames", first), 5)), 7);
	/* NULL, three modules, two build-ids (redis-server's twice), ... */
	assert_true(json_is_null(item(data, "strings", 0)));
	assert_int_equal(json_array_size(json_object_get(data, "strings")), 13);
	assert_string_equal(json_string_value(json_array_get(item(data, "frames", 4), 3)),
			    "7fffdeadbeef");
	json_decref(data);
	fixture_free(&fixture);
}

/* Names that would end the element, open a comment in it, or turn the page around. */
static void hostile_names_are_inert(void **state)
{
	static const char function[] = "</script><script>alert(1)</script><!--";
	_cleanup_free_ char *page = NULL, *text = NULL;
	struct fixture fixture;
	struct report_site *site;
	json_t *data;
	size_t length;

	(void)state;
	fixture_hostile(&fixture);
	memcpy(fixture.snapshot.processes.items[0].comm, "</script>&\xe2\x80\xae", 14);
	site = &fixture.report.processes.items[0].sites.items[0];
	site->frames.list.items[1].function = function;
	fixture.report.host = "<!--\"\xe2\x80\xa8";
	page = golden_render("html", &fixture.report);
	text = data_text(page);
	assert_null(strchr(text, '<'));
	for (const char *at = text; *at; at += length) {
		uint32_t code = 0;

		length = text_decode_utf8(at, &code);
		assert_int_not_equal(length, 0);
		assert_true(text_is_printable(code));
	}
	data = data_of(page);
	assert_string_equal(json_string_value(json_object_get(item(data, "processes", 0), "comm")),
			    "</script>&\\u{202e}");
	assert_string_equal(json_string_value(json_object_get(data, "host")), "<!--\"\\u{2028}");
	assert_string_equal(frame_text(data, 1, 0), function);
	assert_string_equal(frame_text(data, 0, 2), "/tmp/lib\\u{202e}.so]\\x1b]0;owned\\x07");
	assert_string_equal(frame_text(data, 0, 0),
			    "evil\\x0a\\x094096 bytes in 2 allocations from stack");
	json_decref(data);
	fixture_free(&fixture);
}

/* A run of `ticks` snapshots with numbers set by formula. */
struct run {
	struct snapshot snapshot;
	struct history history;
	struct report report;
};

static uint64_t leak_at(uint64_t tick)
{
	return 1000 + tick * 4096;
}

/* One snapshot in 97 is far above the others. */
static uint64_t spike_at(uint64_t tick)
{
	return tick % 97 == 50 ? 5000000 + tick : 10;
}

static void run_tick(struct run *run, uint64_t tick)
{
	struct snapshot_process *process = &run->snapshot.processes.items[0];
	const uint64_t bytes[] = {leak_at(tick), spike_at(tick), tick < 5 ? 300 : 0};

	run->snapshot.sequence = tick + 1;
	run->snapshot.time.tv_sec = 1795179600 + (time_t)tick * 5;
	run->snapshot.monotonic_ns = tick * 5 * SECOND;
	process->outstanding_bytes = 0;
	for (size_t i = 0; i < 3; i++) {
		process->sites.items[i].bytes = bytes[i];
		process->sites.items[i].count = bytes[i] ? 1 : 0;
		process->outstanding_bytes += bytes[i];
	}
	assert_int_equal(history_add(&run->history, &run->snapshot, tick == 3 ? "three" : NULL), 0);
}

static void run_make(struct run *run, uint64_t ticks)
{
	struct report_options options = {.history = &run->history};
	struct snapshot_process *process = vec_push(&run->snapshot.processes);

	*process = (struct snapshot_process){.pid = 7, .key = 7ull << 32, .comm = "run"};
	for (uint32_t i = 0; i < 3; i++)
		((struct site *)vec_push(&process->sites))->index = i;
	run->history.limits.max_times = ticks + 2;
	for (uint64_t tick = 0; tick < ticks; tick++)
		run_tick(run, tick);
	process->sites.count = 2; /* as collect omits empty sites */
	assert_int_equal(report_build(&run->report, &run->snapshot, &options), 0);
}

static void run_free(struct run *run)
{
	report_free(&run->report);
	history_free(&run->history);
	snapshot_free(&run->snapshot);
}

/* The value at a column, as the page adds it up. */
static json_int_t value_at(json_t *series, const char *key, json_int_t column)
{
	json_int_t first = integer(series, "first"), value = 0;
	json_t *steps = json_object_get(series, key);

	for (json_int_t i = 0; i <= column - first && i < (json_int_t)json_array_size(steps); i++)
		value += json_integer_value(json_array_get(steps, (size_t)i));
	return value;
}

static json_t *site_with(json_t *data, json_int_t held)
{
	for (size_t i = 0; i < json_array_size(json_object_get(data, "sites")); i++) {
		if (integer(item(data, "sites", i), "held_bytes") == held)
			return item(data, "sites", i);
	}
	fail_msg("no site holds %lld bytes", (long long)held);
	return NULL;
}

static void a_series_holds_every_snapshot(void **state)
{
	_cleanup_(run_free) struct run run = {0};
	_cleanup_free_ char *page = NULL;
	json_t *data, *gone;

	(void)state;
	run_make(&run, 40);
	page = golden_render("html", &run.report);
	data = data_of(page);
	assert_int_equal(json_array_size(json_object_get(data, "times")), 40);
	for (json_int_t i = 0; i < 40; i++)
		assert_int_equal(value_at(site_with(data, (json_int_t)leak_at(39)), "bytes", i),
				 leak_at((uint64_t)i));
	/* Gone sites are there too, and end with their last value. */
	assert_int_equal(json_array_size(json_object_get(data, "sites")), 3);
	gone = site_with(data, 0);
	assert_int_equal(value_at(gone, "bytes", 4), 300);
	assert_int_equal(value_at(gone, "bytes", 5), 0);
	assert_int_equal(json_array_size(json_object_get(gone, "bytes")), 6);
	assert_int_equal(value_at(item(data, "processes", 0), "bytes", 39),
			 leak_at(39) + spike_at(39));
	assert_int_equal(json_integer_value(json_array_get(item(data, "labels", 0), 0)), 3);
	assert_string_equal(json_string_value(json_array_get(item(data, "labels", 0), 1)), "three");
	assert_string_equal(
		json_string_value(json_object_get(
			json_object_get(item(data, "processes", 0), "trend"), "verdict")),
		"leaking");
	json_decref(data);
}

/* Graphs need ascending times: with their true distances, up to the last. */
static void a_clock_that_was_set_back_leaves_times_in_order(void **state)
{
	static const long long days[] = {0, 1, -1, 0, 1};
	_cleanup_(run_free) struct run run = {0};
	_cleanup_free_ char *page = NULL;
	json_int_t time_ms = 0;
	json_t *data, *times;

	(void)state;
	run_make(&run, 5);
	for (size_t i = 0; i < 5; i++)
		run.history.times.items[i].time.tv_sec += days[i] * 86400;
	page = golden_render("html", &run.report);
	data = data_of(page);
	times = json_object_get(data, "times");
	assert_int_equal(json_array_size(times), 5);
	for (size_t i = 0; i < 5; i++) {
		time_ms += json_integer_value(json_array_get(times, i));
		assert_int_equal(time_ms, (1795179600 + 86400 + (json_int_t)i * 5) * 1000);
	}
	json_decref(data);
}

static void a_long_series_keeps_its_peaks_and_its_ends(void **state)
{
	_cleanup_(run_free) struct run run = {0};
	_cleanup_free_ char *page = NULL;
	json_t *data, *spikes;
	size_t columns, peaks = 0;

	(void)state;
	run_make(&run, 5000);
	page = golden_render("html", &run.report);
	data = data_of(page);
	columns = json_array_size(json_object_get(data, "times"));
	assert_in_range(columns, 60, 1200);
	spikes = site_with(data, (json_int_t)spike_at(4999));
	for (size_t i = 0; i < columns; i++)
		peaks += value_at(spikes, "bytes", (json_int_t)i) >= 5000000;
	/* 4 or 5 snapshots share a column: no two peaks do. */
	assert_int_equal(peaks, (5000 - 50 + 96) / 97);
	assert_int_equal(value_at(spikes, "bytes", 0), spike_at(0));
	assert_int_equal(value_at(site_with(data, (json_int_t)leak_at(4999)), "bytes",
				  (json_int_t)columns - 1),
			 leak_at(4999));
	json_decref(data);
}

static void a_difference_has_both_sides_by_stack(void **state)
{
	_cleanup_free_ char *page = NULL;
	struct fixture before, after;
	struct diff diff;
	json_t *data, *row;

	(void)state;
	fixture_plain(&before);
	fixture_plain(&after);
	after.snapshot.sequence = 9;
	((struct site *)after.report.processes.items[0].sites.items[1].site)->bytes += 500;
	((struct dead_group *)after.report.processes.items[0].dead.items[0].group)->count += 7;
	assert_int_equal(
		diff_build(&diff, &before.report, &after.report, DIFF_BY_MODULE, SORT_BYTES), 0);
	diff.before_name = "old.lkm";
	page = render_diff(&diff);
	data = data_of(page);
	assert_string_equal(json_string_value(json_object_get(data, "kind")), "diff");
	assert_string_equal(json_string_value(json_object_get(data, "by")), "module");
	assert_string_equal(
		json_string_value(json_object_get(json_object_get(data, "before"), "recording")),
		"old.lkm");
	assert_int_equal(integer(json_object_get(data, "after"), "sequence"), 9);
	row = item(data, "sites", 0);
	assert_int_equal(integer(row, "before_bytes"), 4096);
	assert_int_equal(integer(row, "held_bytes"), 4596);
	assert_int_equal(json_array_size(json_object_get(row, "stack")), 5);
	row = item(data, "dead_threads", 0);
	assert_int_equal(integer(json_object_get(row, "count"), "difference"), 7);
	assert_int_equal(json_array_size(json_object_get(data, "dead_threads")), 1);
	json_decref(data);
	diff_free(&diff);
	fixture_free(&before);
	fixture_free(&after);
}

static const char *verdict_of(json_t *site, const char *key)
{
	return json_string_value(json_object_get(json_object_get(site, key), "verdict"));
}

/* Two runs: the leak of the first one, and its course in the second. */
static void two_runs_are_shown_with_both_verdicts(void **state)
{
	_cleanup_(run_free) struct run before = {0}, after = {0};
	_cleanup_(diff_free) struct diff diff = {0};
	_cleanup_free_ char *page = NULL;
	json_t *data, *site;

	(void)state;
	run_make(&before, 60);
	run_make(&after, 5);
	before.report.processes.items[0].sites.items[0].id = 1;
	before.report.processes.items[0].sites.items[1].id = 2;
	after.report.processes.items[0].sites.items[0].id = 1;
	after.report.processes.items[0].sites.items[1].id = 2;
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	page = render_diff(&diff);
	data = data_of(page);
	site = site_with(data, (json_int_t)leak_at(4));
	assert_int_equal(integer(site, "before_bytes"), leak_at(59));
	assert_string_equal(verdict_of(site, "trend_before"), "leaking");
	assert_string_equal(verdict_of(site, "trend"), "too-early");
	assert_int_equal(json_array_size(json_object_get(json_object_get(data, "before"), "times")),
			 60);
	json_decref(data);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_bundle_is_that_of_its_sources),
		cmocka_unit_test(one_snapshot_is_shown_with_all_its_numbers),
		cmocka_unit_test(frames_and_strings_are_written_once),
		cmocka_unit_test(hostile_names_are_inert),
		cmocka_unit_test(a_series_holds_every_snapshot),
		cmocka_unit_test(a_long_series_keeps_its_peaks_and_its_ends),
		cmocka_unit_test(a_clock_that_was_set_back_leaves_times_in_order),
		cmocka_unit_test(a_difference_has_both_sides_by_stack),
		cmocka_unit_test(two_runs_are_shown_with_both_verdicts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
