// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "golden.h"
#include "output/formats.h"
#include "output/text/text.h"
#include "process/proc/container.h"
#include "report/analyze/report_build.h"
#include "report/memory_report.h"
#include "report_fixture.h"

static const struct output_format *const formats[] = {OUTPUT_FORMATS(OUTPUT_FORMAT_ROW)};

static int setup(void **state)
{
	(void)state;
	setenv("TZ", "UTC", 1);
	tzset();
	return 0;
}

static const struct text_form whole = {.verbose = true, .bytes = true};

static void an_ordinary_report_is_written_to_the_byte(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_plain(&fixture);
	fixture.report.form = whole;
	text = golden_render("text", &fixture.report);
	golden_check("tests/golden/report.txt", text);
	fixture_free(&fixture);
}

static void expect_narrow(const char *text)
{
	size_t column = 0, length;

	for (const char *at = text; *at; at += length) {
		uint32_t code;

		length = text_decode_utf8(at, &code);
		assert_int_not_equal(length, 0);
		column = code == '\n' ? 0 : code == '\t' ? column + 8 - column % 8 : column + 1;
		if (column > 100)
			fail_msg("column %zu at: %.40s", column, at);
	}
}

static void short_text_has_the_users_frames_and_fits_100_columns(void **state)
{
	_cleanup_free_ char *text = NULL, *hostile = NULL;
	struct fixture fixture;

	(void)state;
	fixture_plain(&fixture);
	text = golden_render("text", &fixture.report);
	golden_check("tests/golden/report_short.txt", text);
	expect_narrow(text);
	fixture_free(&fixture);
	fixture_hostile(&fixture);
	hostile = golden_render("text", &fixture.report);
	expect_narrow(hostile);
	fixture_free(&fixture);
}

/* After seconds, too: the part that grows comes first, and a container has its name. */
static void a_groups_part_that_grows_comes_first(void **state)
{
	struct container container = {.id = "6d9b84996a7c3c4e356bfa44ae2f353a",
				      .name = (char *)"web"};
	struct cgroup_memory group = {.path = (char *)"/docker/6d9b84996a7c3c4e356bfa44ae2f353a",
				      .container = &container,
				      .known = true,
				      .has_conclusion = true};
	struct memory_report report = {.groups.list = {&group, 1, 1}};
	_cleanup_free_ char *text = NULL;
	const char *first, *second;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	memset(&group.figures, 0xff, sizeof(group.figures)); /* CGROUP_NOT_KNOWN */
	group.figures.current = 400 << 20;
	group.figures.anon = 300 << 20;
	group.figures.shmem = 100 << 20;
	group.conclusion.anon = 60 << 10; /* normal fluctuation */
	group.conclusion.shmem = 512 << 10;
	assert_int_equal(output_find("text")->write[OUTPUT_MEMORY](out, &report), 0);
	fclose(out);
	assert_non_null(strstr(text, "\ncontainer web (6d9b84996a7c): 400.0 MiB charged"));
	assert_null(strstr(text, "/docker/"));
	first = strstr(text, "tmpfs and shared memory, +512.0 KiB\n");
	second = strstr(text, "anonymous, +60.0 KiB\n");
	assert_true(first && second && first < second);
}

/* The first frame that is the user's, with template arguments collapsed. */
static void every_format_calls_a_site_by_one_name(void **state)
{
	static const struct {
		const char *format, *label;
	} cases[] = {
		{"text", "\t\tshop::Cart<>::add"},
		{"json", "\"label\":\"shop::Cart<>::add\""},
		{"prom", "function=\"shop::Cart<>::add\""},
		{"html", "shop::Cart\\u003c>::add\""},
	};
	struct report_process *process;
	struct fixture fixture;

	(void)state;
	fixture_plain(&fixture);
	process = &fixture.report.processes.items[0];
	for (size_t i = 0; i < process->sites.count; i++) {
		struct frames *frames = &process->sites.items[i].frames;

		if (frames->list.count < 2)
			continue;
		frames->list.items[0].function = "xmalloc";
		frames->list.items[1].function = "shop::Cart<std::map<int, int> >::add";
	}
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = golden_render(cases[i].format, &fixture.report);

		if (!strstr(text, cases[i].label))
			fail_msg("%s has no %s:\n%s", cases[i].format, cases[i].label, text);
	}
	fixture_free(&fixture);
}

#define NINETY                                                                                     \
	"123456789 123456789 123456789 123456789 123456789 123456789 123456789 123456789 "         \
	"123456789"
#define NUMBER "1234567890"
#define HUNDRED NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER NUMBER

static void a_long_line_goes_on_below(void **state)
{
	static const struct {
		const char *line, *fitted;
	} cases[] = {
		{"", "\n"},
		{HUNDRED, HUNDRED "\n"},
		{NINETY " 123 456 7890", NINETY " 123 456\n    7890\n"},
		{NINETY " 123 456 ", NINETY " 123 456 \n"},
		{"\t" NINETY " 12 34", "\t" NINETY " 12\n\t    34\n"},
		{"\033[1m" NINETY "\033[0m 123 4567", "\033[1m" NINETY "\033[0m 123 4567\n"},
		{HUNDRED "1", NULL},
		{"a " HUNDRED HUNDRED " b", NULL},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct text_form form = {0};
		_cleanup_free_ char *text = NULL;
		struct text_page page;
		size_t size;
		FILE *out = open_memstream(&text, &size), *lines;

		lines = text_page_begin(&page, out, &form);
		fprintf(lines, "%s\n", cases[i].line);
		assert_int_equal(text_page_end(&page), 0);
		fclose(out);
		expect_narrow(text + (cases[i].line[0] == '\033' ? 8 : 0));
		if (cases[i].fitted)
			assert_string_equal(text, cases[i].fitted);
		else
			assert_non_null(strstr(text, "…\n"));
	}
}

/* Takes "ESC [ ... m" out of text. */
static void strip_colour(char *text)
{
	char *to = text;

	for (const char *from = text; *from; from++) {
		if (*from == '\033')
			from = strchr(from, 'm');
		else
			*to++ = *from;
	}
	*to = '\0';
}

static void colour_adds_escapes_and_changes_no_character(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_plain(&fixture);
	fixture.report.form = whole;
	fixture.report.form.colour = true;
	text = golden_render("text", &fixture.report);
	golden_check("tests/golden/report_colour.txt", text);
	strip_colour(text);
	golden_check("tests/golden/report.txt", text);
	fixture_free(&fixture);
}

static void hostile_names_stay_on_their_line(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	size_t length;

	(void)state;
	fixture_hostile(&fixture);
	fixture.report.form = whole;
	text = golden_render("text", &fixture.report);
	golden_check("tests/golden/hostile.txt", text);
	for (const char *at = text; *at; at += length) {
		uint32_t code = 0;

		length = text_decode_utf8(at, &code);
		assert_int_not_equal(length, 0);
		assert_true(code == '\n' || code == '\t' || text_is_printable(code));
	}
	fixture_free(&fixture);
}

static void ages_are_cut_to_the_unit_a_person_would_use(void **state)
{
	static const struct {
		uint64_t age_ns;
		const char *line;
	} cases[] = {
		{0, "oldest 0 ms;"},
		{999 * SECOND / 1000, "oldest 999 ms;"},
		{SECOND - 1, "oldest 999 ms;"},
		{SECOND, "oldest 1.0 s;"},
		{60 * SECOND - 1, "oldest 59.9 s;"},
		{60 * SECOND, "oldest 1.0 min;"},
		{3600 * SECOND - 1, "oldest 59.9 min;"},
		{3600 * SECOND, "oldest 1.0 h;"},
		{48 * 3600 * SECOND - 1, "oldest 47.9 h;"},
		{48 * 3600 * SECOND, "oldest 2.0 d;"},
		{UINT64_MAX, "oldest 213503.9 d;"},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		const struct report_options options = {0};
		struct fixture fixture = {.snapshot = {.has_ages = true}};
		_cleanup_free_ char *text = NULL;

		fixture_site(fixture_process(&fixture, 1, "p", NULL), 1, 8, 1, cases[i].age_ns);
		report_build(&fixture.report, &fixture.snapshot, &options);
		text = golden_render("text", &fixture.report);
		assert_non_null(strstr(text, cases[i].line));
		fixture_free(&fixture);
	}
}

static void the_check_of_the_ledger_speaks_only_beyond_what_moved(void **state)
{
	static const struct {
		uint64_t outstanding, scanned, moved;
		bool has_ages, speaks;
	} cases[] = {
		{10, 10, 0, true, false}, {10, 12, 2, true, false}, {10, 8, 2, true, false},
		{10, 13, 2, true, true},  {10, 7, 2, true, true},   {10, 0, 0, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct snapshot snapshot = {.has_ages = cases[i].has_ages,
					    .ledger = {.outstanding = cases[i].outstanding,
						       .scanned = cases[i].scanned,
						       .moved = cases[i].moved}};
		const struct report report = {.snapshot = &snapshot};
		_cleanup_free_ char *text = golden_render("text", &report);

		assert_int_equal(strstr(text, "inexact: the live set holds ") != NULL,
				 cases[i].speaks);
	}
}

static void a_quiet_report_is_two_lines_and_an_empty_one(void **state)
{
	struct snapshot snapshot = {.has_ages = true};
	const struct report report = {.snapshot = &snapshot};
	_cleanup_free_ char *text = golden_render("text", &report);

	(void)state;
	assert_string_equal(text, "[00:00:00] Top 0 stacks with outstanding allocations:\n"
				  "ledger: 0 allocations = 0 frees\n\n");
}

static void descriptors_have_kinds_and_no_bytes(void **state)
{
	struct fixture fixture;
	_cleanup_free_ char *text = NULL;

	(void)state;
	fixture_opened(&fixture);
	text = golden_render("text", &fixture.report);
	assert_non_null(strstr(text, "\t98 descriptors from stack\n"
				     "\t\tsocket (TCP, UNIX-\\x1bSTREAM); "));
	assert_non_null(strstr(text, "opened 120, closed 22 since attach\n"));
	assert_non_null(strstr(text, "\t\t[open before the attach or the exec]\n"));
	assert_non_null(strstr(text, "\ndescriptors: 120 opened + 3 open before = 22 closed + 101 "
				     "outstanding\n"));
	fixture_free(&fixture);
}

static void every_cause_of_loss_has_a_line_of_its_own(void **state)
{
	struct snapshot snapshot = {0};
	const struct report report = {.snapshot = &snapshot};
	_cleanup_free_ char *text = NULL;
	const char *line;
	size_t lines = 0;

	(void)state;
	for (size_t i = 0; i < LM_DROP_MAX_; i++)
		snapshot.ledger.dropped[i] = i + 1;
	for (size_t i = 0; i < LM_LOST_MAX_; i++)
		snapshot.ledger.lost_stacks[i] = i + 1;
	text = golden_render("text", &report);
	for (line = strstr(text, "\ninexact: "); line; line = strstr(line + 1, "\ninexact: "))
		lines++;
	/* LM_LOST_NONE is not a loss, nor are those of descriptors. */
	assert_int_equal(lines, LM_DROP_MAX_ + LM_LOST_BEFORE - 1);
}

static void a_full_disk_is_reported(void **state)
{
	struct snapshot snapshot = {0};
	const struct report report = {.snapshot = &snapshot};
	FILE *full = fopen("/dev/full", "w");

	(void)state;
	assert_non_null(full);
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		assert_int_equal(formats[i]->write[OUTPUT_REPORT](full, &report), -ENOSPC);
	fclose(full);
}

static void formats_are_found_by_name(void **state)
{
	(void)state;
	assert_int_equal(output_find("text")->default_top, 10);
	assert_int_equal(output_find("json")->default_top, 0);
	assert_null(output_find("xml"));
	assert_null(output_find(""));
	for (size_t i = 0; i < ARRAY_SIZE(formats); i++)
		assert_ptr_equal(output_find(formats[i]->name), formats[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_format_calls_a_site_by_one_name),
		cmocka_unit_test(a_groups_part_that_grows_comes_first),
		cmocka_unit_test(an_ordinary_report_is_written_to_the_byte),
		cmocka_unit_test(short_text_has_the_users_frames_and_fits_100_columns),
		cmocka_unit_test(a_long_line_goes_on_below),
		cmocka_unit_test(colour_adds_escapes_and_changes_no_character),
		cmocka_unit_test(hostile_names_stay_on_their_line),
		cmocka_unit_test(ages_are_cut_to_the_unit_a_person_would_use),
		cmocka_unit_test(the_check_of_the_ledger_speaks_only_beyond_what_moved),
		cmocka_unit_test(a_quiet_report_is_two_lines_and_an_empty_one),
		cmocka_unit_test(descriptors_have_kinds_and_no_bytes),
		cmocka_unit_test(every_cause_of_loss_has_a_line_of_its_own),
		cmocka_unit_test(a_full_disk_is_reported),
		cmocka_unit_test(formats_are_found_by_name),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
