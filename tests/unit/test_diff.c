// SPDX-License-Identifier: GPL-2.0-or-later
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <jansson.h>

#include "report/analyze/diff_build.h"
#include "report/diff.h"
#include "report/analyze/report_build.h"
#include "base/cleanup.h"
#include "output/text/text.h"
#include "output/json/json.h"
#include "output/formats.h"

/* One side: a snapshot with sites named by hand. */
struct side {
	struct snapshot snapshot;
	struct report report;
};

static void side_free(struct side *side)
{
	report_free(&side->report);
	snapshot_free(&side->snapshot);
}

struct row {
	uint32_t pid;
	const char *comm, *function, *file;
	uint32_t line;
	uint64_t bytes, count;
};

static void side_add(struct side *side, const struct row *row)
{
	struct snapshot_process *process = NULL;
	struct site *site;

	for (size_t i = 0; i < side->snapshot.processes.count; i++) {
		if (side->snapshot.processes.items[i].pid == row->pid)
			process = &side->snapshot.processes.items[i];
	}
	if (!process) {
		process = vec_push(&side->snapshot.processes);
		process->pid = row->pid;
		strcpy(process->comm, row->comm);
	}
	site = vec_push(&process->sites);
	site->index = (uint32_t)process->sites.count;
	site->bytes = row->bytes;
	site->count = row->count;
}

static void side_make(struct side *side, const struct row *rows)
{
	const struct report_options all = {.sort = SORT_BYTES};

	for (const struct row *row = rows; row->comm; row++)
		side_add(side, row);
	assert_int_equal(report_build(&side->report, &side->snapshot, &all), 0);
	for (size_t i = 0; i < side->report.processes.count; i++) {
		struct report_process *process = &side->report.processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			struct report_site *site = &process->sites.items[j];
			const struct row *row = rows;
			uint32_t left = site->site->index;

			/* The left-th row of this process. */
			while (row->pid != process->process->pid || --left)
				row++;
			*(struct frame *)vec_push(&site->frames.list) =
				(struct frame){.function = row->function,
					       .file = row->file,
					       .line = row->line,
					       .module = "/bin/server",
					       .module_offset = row->line};
			site->id = symbolizer_stack_id(&site->frames);
		}
	}
}

static const struct row before_rows[] = {
	{10, "server", "parse", "a.c", 1, 1000, 10}, {10, "server", "parse", "a.c", 2, 500, 5},
	{10, "server", "serve", "b.c", 3, 800, 8},   {10, "server", "quit", "b.c", 4, 70, 7},
	{10, "server", "idle", "c.c", 5, 64, 1},     {0}};
/* Another process of the same program. */
static const struct row after_rows[] = {
	{20, "server", "parse", "a.c", 1, 4000, 40}, {20, "server", "parse", "a.c", 2, 100, 1},
	{20, "server", "serve", "b.c", 3, 800, 16},  {20, "server", "fresh", "d.c", 6, 300, 3},
	{20, "server", "idle", "c.c", 5, 64, 1},     {0}};

struct expected {
	const char *name;
	enum diff_state state;
	int64_t bytes, count;
};

static void expect(enum diff_group by, enum sort_key sort, const struct expected *rows,
		   size_t count)
{
	_cleanup_(side_free) struct side before = {0}, after = {0};
	_cleanup_(diff_free) struct diff diff = {0};

	side_make(&before, before_rows);
	side_make(&after, after_rows);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, by, sort), 0);
	assert_int_equal(diff.rows.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct diff_row *row = &diff.rows.items[i];
		const char *name = row->name ? row->name : row->site->frames.list.items[0].function;

		assert_string_equal(name, rows[i].name);
		assert_int_equal(row->state, rows[i].state);
		assert_int_equal(diff_bytes(row), rows[i].bytes);
		assert_int_equal(diff_count(row), rows[i].count);
	}
	assert_int_equal(diff.total_after.bytes - diff.total_before.bytes, 5264 - 2434);
	assert_false(diff.unrelated);
}

static void sites_match_across_processes_and_rank_by_growth(void **state)
{
	static const struct expected rows[] = {
		{"parse", DIFF_GROWN, 3000, 30}, {"fresh", DIFF_NEW, 300, 3},
		{"serve", DIFF_GROWN, 0, 8},	 {"idle", DIFF_SAME, 0, 0},
		{"quit", DIFF_GONE, -70, -7},	 {"parse", DIFF_SHRUNK, -400, -4},
	};

	(void)state;
	expect(DIFF_BY_SITE, SORT_BYTES, rows, ARRAY_SIZE(rows));
}

static void count_ranks_by_blocks(void **state)
{
	static const struct expected rows[] = {
		{"parse", DIFF_GROWN, 3000, 30},  {"serve", DIFF_GROWN, 0, 8},
		{"fresh", DIFF_NEW, 300, 3},	  {"idle", DIFF_SAME, 0, 0},
		{"parse", DIFF_SHRUNK, -400, -4}, {"quit", DIFF_GONE, -70, -7},
	};

	(void)state;
	expect(DIFF_BY_SITE, SORT_COUNT, rows, ARRAY_SIZE(rows));
}

static void groups_add_up_their_sites(void **state)
{
	static const struct expected functions[] = {
		{"parse", DIFF_GROWN, 2600, 26}, {"fresh", DIFF_NEW, 300, 3},
		{"serve", DIFF_GROWN, 0, 8},	 {"idle", DIFF_SAME, 0, 0},
		{"quit", DIFF_GONE, -70, -7},
	};
	static const struct expected files[] = {
		{"a.c:1", DIFF_GROWN, 3000, 30}, {"d.c:6", DIFF_NEW, 300, 3},
		{"b.c:3", DIFF_GROWN, 0, 8},	 {"c.c:5", DIFF_SAME, 0, 0},
		{"b.c:4", DIFF_GONE, -70, -7},	 {"a.c:2", DIFF_SHRUNK, -400, -4},
	};
	static const struct expected modules[] = {{"/bin/server", DIFF_GROWN, 2830, 30}};
	static const struct expected containers[] = {{"(no container)", DIFF_GROWN, 2830, 30}};

	(void)state;
	expect(DIFF_BY_FUNCTION, SORT_BYTES, functions, ARRAY_SIZE(functions));
	expect(DIFF_BY_FILE, SORT_BYTES, files, ARRAY_SIZE(files));
	expect(DIFF_BY_MODULE, SORT_BYTES, modules, ARRAY_SIZE(modules));
	expect(DIFF_BY_CONTAINER, SORT_BYTES, containers, ARRAY_SIZE(containers));
}

static void two_programs_are_unrelated(void **state)
{
	static const struct row other[] = {{30, "other", "parse", "a.c", 1, 10, 1}, {0}};
	static const struct row nothing[] = {{0}};
	_cleanup_(side_free) struct side before = {0}, after = {0}, empty = {0};
	_cleanup_(diff_free) struct diff diff = {0}, none = {0};

	(void)state;
	side_make(&before, before_rows);
	side_make(&after, other);
	side_make(&empty, nothing);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	assert_true(diff.unrelated);
	/* A recording in which everything was freed is still the same program. */
	assert_int_equal(diff_build(&none, &before.report, &empty.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	assert_false(none.unrelated);
}

/* Like before_rows, of another build: every address moved. */
static void rebuild(struct side *side, const char *build_id, uint64_t moved)
{
	for (size_t i = 0; i < side->report.processes.count; i++) {
		struct report_process *process = &side->report.processes.items[i];

		for (size_t j = 0; j < process->sites.count; j++) {
			struct report_site *site = &process->sites.items[j];
			struct frame *frame = &site->frames.list.items[0];

			frame->build_id = build_id;
			frame->module_offset += moved;
			site->id = symbolizer_stack_id(&site->frames);
		}
	}
}

static void expect_rebuilt(const struct row *old_rows, const struct row *new_rows,
			   const struct expected *rows, size_t count, size_t by_name)
{
	_cleanup_(side_free) struct side before = {0}, after = {0};
	_cleanup_(diff_free) struct diff diff = {0};

	side_make(&before, old_rows);
	side_make(&after, new_rows);
	rebuild(&before, NULL, 0); /* a file without a build-id */
	rebuild(&after, "0b", 4096);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	assert_int_equal(diff.by_name, by_name);
	assert_int_equal(diff.rows.count, count);
	for (size_t i = 0; i < count; i++) {
		const struct diff_row *row = &diff.rows.items[i];

		assert_string_equal(row->site->frames.list.items[0].function, rows[i].name);
		assert_int_equal(row->state, rows[i].state);
		assert_int_equal(diff_bytes(row), rows[i].bytes);
		assert_int_equal(diff_count(row), rows[i].count);
		assert_int_equal(row->by_name, row->state != DIFF_NEW && row->state != DIFF_GONE);
	}
	assert_false(diff.unrelated);
}

static void sites_of_two_builds_match_by_name_and_order(void **state)
{
	static const struct expected rows[] = {
		{"parse", DIFF_GROWN, 3000, 30}, {"fresh", DIFF_NEW, 300, 3},
		{"serve", DIFF_GROWN, 0, 8},	 {"idle", DIFF_SAME, 0, 0},
		{"quit", DIFF_GONE, -70, -7},	 {"parse", DIFF_SHRUNK, -400, -4},
	};

	(void)state;
	expect_rebuilt(before_rows, after_rows, rows, ARRAY_SIZE(rows), 4);
}

static void a_renamed_build_of_one_program_matches(void **state)
{
	static const struct row old_rows[] = {{1, "server-1", "parse", "a.c", 1, 100, 1}, {0}};
	static const struct row new_rows[] = {{2, "server-2", "parse", "a.c", 9, 160, 2}, {0}};
	static const struct expected rows[] = {{"parse", DIFF_GROWN, 60, 1}};

	(void)state;
	expect_rebuilt(old_rows, new_rows, rows, ARRAY_SIZE(rows), 1);
}

/* A call was taken out of parse(): which one cannot be known. */
static void indistinguishable_sites_are_one_row(void **state)
{
	static const struct row one_less[] = {{2, "server", "parse", "a.c", 1, 2000, 20},
					      {2, "server", "idle", "c.c", 5, 64, 1},
					      {0}};
	static const struct row old_rows[] = {{1, "server", "parse", "a.c", 1, 1000, 10},
					      {1, "server", "parse", "a.c", 2, 500, 5},
					      {1, "server", "idle", "c.c", 5, 64, 1},
					      {0}};
	static const struct expected rows[] = {{"parse", DIFF_GROWN, 500, 5},
					       {"idle", DIFF_SAME, 0, 0}};

	(void)state;
	expect_rebuilt(old_rows, one_less, rows, ARRAY_SIZE(rows), 2);
}

static char *written(int (*write)(FILE *, const void *), const struct diff *diff)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(write(out, diff), 0);
	fclose(out);
	return text;
}

static void text_names_what_changed_and_leaves_out_the_same(void **state)
{
	_cleanup_(side_free) struct side before = {0}, after = {0};
	_cleanup_(diff_free) struct diff diff = {0};
	_cleanup_free_ char *text = NULL;

	(void)state;
	side_make(&before, before_rows);
	side_make(&after, after_rows);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	diff.top = 2;
	diff.form = (struct text_form){.verbose = true, .bytes = true};
	diff.before_name = "evil\n\033[2Jname";
	text = written(text_diff_write, &diff);
	assert_non_null(strstr(text, "+2830 bytes, +30 blocks (2434 bytes -> 5264 bytes, 31 -> 61 "
				     "blocks)"));
	assert_non_null(strstr(text, "1 new, 2 grown, 1 shrunk, 1 gone, 1 same by site"));
	assert_non_null(strstr(text, "+3000 bytes, +30 blocks  grown (1000 bytes -> 4000 bytes, 10 "
				     "-> 40 blocks) in server from stack\n\t\tparse+0x0 a.c:1"));
	assert_non_null(strstr(text, "and 3 more that changed"));
	assert_null(strstr(text, "idle"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(text, "evil\\x0a\\x1b[2Jname"));
}

/* Half of the first site's blocks, on each side. */
static void side_set_owners(struct side *side)
{
	struct site *site = &side->snapshot.processes.items[0].sites.items[0];

	side->snapshot.has_owners = true;
	site->by_dead_bytes = site->bytes / 2;
	site->by_dead_count = site->count / 2;
}

static void what_ended_threads_left_is_shown_if_both_sides_have_it(void **state)
{
	static const char *const line =
		"in server from stack\n\t\t+1500 bytes, +15 blocks of it "
		"by threads that have ended "
		"(500 bytes -> 2000 bytes, 5 -> 20 blocks)\n\t\tparse+0x0 a.c:1";

	(void)state;
	for (int told = 0; told < 4; told++) {
		_cleanup_(side_free) struct side before = {0}, after = {0};
		_cleanup_(diff_free) struct diff diff = {0};
		_cleanup_free_ char *text = NULL, *json = NULL;
		bool both = told == 3;

		side_make(&before, before_rows);
		side_make(&after, after_rows);
		if (told & 1)
			side_set_owners(&before);
		if (told & 2)
			side_set_owners(&after);
		assert_int_equal(
			diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			0);
		diff.form = (struct text_form){.verbose = true, .bytes = true};
		text = written(text_diff_write, &diff);
		json = written(json_diff_write, &diff);
		assert_int_equal(both, strstr(text, line) != NULL);
		assert_int_equal(both, strstr(text, "by threads that have ended") != NULL);
		assert_int_equal(both,
				 strstr(json, "\"by_dead_bytes\":{\"before\":500,\"after\":2000,"
					      "\"difference\":1500}") != NULL);
		assert_int_equal(both, strstr(json, "by_dead_count") != NULL);
	}
}

static void snapshots_that_count_other_blocks_are_distinguished(void **state)
{
	(void)state;
	for (int only = 0; only < 4; only++) {
		_cleanup_(side_free) struct side before = {0}, after = {0};
		_cleanup_(diff_free) struct diff diff = {0};
		_cleanup_free_ char *text = NULL;

		side_make(&before, before_rows);
		side_make(&after, after_rows);
		before.snapshot.only_by_dead = only & 1;
		after.snapshot.only_by_dead = only & 2;
		assert_int_equal(
			diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			0);
		diff.form = (struct text_form){.verbose = true, .bytes = true};
		text = written(text_diff_write, &diff);
		assert_int_equal(only == 1 || only == 2,
				 strstr(text, "only one of them was taken with "
					      "--by-dead-threads") != NULL);
	}
}

static void json_and_folded_carry_the_same_numbers(void **state)
{
	_cleanup_(side_free) struct side before = {0}, after = {0};
	_cleanup_(diff_free) struct diff diff = {0};
	_cleanup_free_ char *text = NULL, *folded = NULL;
	json_t *document, *row;

	(void)state;
	side_make(&before, before_rows);
	side_make(&after, after_rows);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	text = written(json_diff_write, &diff);
	document = json_loads(text, 0, NULL);
	assert_non_null(document);
	assert_int_equal(json_array_size(json_object_get(document, "rows")), 5);
	row = json_array_get(json_object_get(document, "rows"), 4);
	assert_string_equal(json_string_value(json_object_get(row, "state")), "shrunk");
	assert_int_equal(
		json_integer_value(json_object_get(json_object_get(row, "bytes"), "difference")),
		-400);
	json_decref(document);
	folded = written(output_folded.write[OUTPUT_DIFF], &diff);
	assert_string_equal(folded, "server;parse 3000\nserver;fresh 300\n");
}

#define HIT 524288.0

struct sampled {
	double held, allocated, freed; /* hits */
};

static void sample(struct side *side, const struct sampled *sampled)
{
	struct site *site = &side->snapshot.processes.items[0].sites.items[0];

	side->snapshot.sampled = true;
	site->hit_bytes = HIT;
	site->bytes = (uint64_t)(sampled->held * HIT);
	site->allocated_bytes = (uint64_t)(sampled->allocated * HIT);
	site->freed_bytes = (uint64_t)(sampled->freed * HIT);
	site->count = site->bytes / 1024;
	site->hit_count = HIT / 1024;
	site->count_variance = (double)site->count * site->hit_count;
}

/* The limits come from the events in between or from the held blocks, whichever is more certain. */
static void a_difference_of_samples_is_marked_if_it_may_be_chance(void **state)
{
	static const struct row row[] = {{10, "server", "parse", "a.c", 1, 1000, 10}, {0}};
	static const struct {
		struct sampled before, after;
		bool same_run, chance;
	} cases[] = {
		/* Six more and nothing freed, on top of a thousand. */
		{{1000, 1000, 0}, {1006, 1006, 0}, true, false},
		{{1000, 1000, 0}, {1002, 1002, 0}, true, true},
		/* Across two runs, the identity of the thousand is unknown. */
		{{1000, 1000, 0}, {1006, 1006, 0}, false, true},
		{{1000, 1000, 0}, {1200, 1200, 0}, false, false},
		/* All is replaced many times: 100 and 120 are two samples of the same. */
		{{100, 1000, 900}, {120, 9000, 8880}, true, true},
		{{100, 1000, 900}, {160, 9000, 8840}, true, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_(side_free) struct side before = {0}, after = {0};
		_cleanup_(diff_free) struct diff diff = {0};
		struct bounds of_row, of_all;

		side_make(&before, row);
		side_make(&after, row);
		sample(&before, &cases[i].before);
		sample(&after, &cases[i].after);
		assert_int_equal(
			diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			0);
		diff.same_run = cases[i].same_run;
		assert_int_equal(diff.rows.count, 1);
		assert_true(diff_limits(&diff, &diff.rows.items[0], &of_row));
		assert_true(diff_limits(&diff, NULL, &of_all));
		assert_true(of_row.low == of_all.low && of_row.high == of_all.high);
		assert_true(of_row.low < (cases[i].after.held - cases[i].before.held) * HIT);
		assert_true(of_row.high > (cases[i].after.held - cases[i].before.held) * HIT);
		assert_int_equal(diff_is_chance(&of_row), cases[i].chance);
	}
}

static void what_is_exact_has_no_limits(void **state)
{
	_cleanup_(side_free) struct side before = {0}, after = {0};
	_cleanup_(diff_free) struct diff diff = {0};
	struct bounds limits;

	(void)state;
	side_make(&before, before_rows);
	side_make(&after, after_rows);
	assert_int_equal(diff_build(&diff, &before.report, &after.report, DIFF_BY_SITE, SORT_BYTES),
			 0);
	assert_false(diff_limits(&diff, &diff.rows.items[0], &limits));
	assert_false(diff_limits(&diff, NULL, &limits));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sites_match_across_processes_and_rank_by_growth),
		cmocka_unit_test(count_ranks_by_blocks),
		cmocka_unit_test(groups_add_up_their_sites),
		cmocka_unit_test(sites_of_two_builds_match_by_name_and_order),
		cmocka_unit_test(a_renamed_build_of_one_program_matches),
		cmocka_unit_test(indistinguishable_sites_are_one_row),
		cmocka_unit_test(two_programs_are_unrelated),
		cmocka_unit_test(text_names_what_changed_and_leaves_out_the_same),
		cmocka_unit_test(what_ended_threads_left_is_shown_if_both_sides_have_it),
		cmocka_unit_test(snapshots_that_count_other_blocks_are_distinguished),
		cmocka_unit_test(json_and_folded_carry_the_same_numbers),
		cmocka_unit_test(a_difference_of_samples_is_marked_if_it_may_be_chance),
		cmocka_unit_test(what_is_exact_has_no_limits),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
