// SPDX-License-Identifier: GPL-2.0-or-later
#include <errno.h>
#include <jansson.h>
#include <math.h>

#include "base/cleanup.h"
#include "golden.h"
#include "output/text/text.h"
#include "profile_report_fixture.h"
#include "app/triage/population.h"
#include "report/triage_report.h"
#include "heap/runtime/go/reader.h"
#include "heap/runtime/runtime.h"
#include "heap/runtime/v8/reader.h"

static char hostile_comm[] = "a\"b\\\x1b[2J\n\xff\xe2\x80\xae";

struct fixture {
	struct container container;
	struct triage_entry processes[5], groups[3];
	struct triage_report report;
	struct triage_sites refused;
	struct triage_stack stacks[2];
	struct triage_file_kind files[2];
	struct triage_samples sampled[3];
	struct managed_growth managed[2];
};

static struct growth grown(enum quantity kind, enum trend_verdict verdict, double per_s)
{
	return (struct growth){
		.kind = kind,
		.verdict = verdict,
		.confidence = trend_is_suspect(verdict) ? 0.985 : 0,
		.per_s = per_s,
		.low_per_s = per_s * 0.98,
		.high_per_s = per_s * 1.02,
		.memory_per_s = kind == QUANTITY_HEAP ? per_s : 4096,
		.evidence = {.points = 64,
			     .span_s = 315,
			     .growth = per_s * 315,
			     .p = 1e-9,
			     .r_squared = 0.994,
			     .recent = 1.02,
			     .consistency = 1},
	};
}

static void spark_fill(struct triage_entry *entry, float from, float to)
{
	entry->spark_count = TRIAGE_SPARK_POINTS;
	for (size_t i = 0; i < TRIAGE_SPARK_POINTS; i++)
		entry->spark[i] = from + (to - from) * (float)i / (TRIAGE_SPARK_POINTS - 1);
}

static struct frame named_frames[] = {
	{.function = hostile_comm,
	 .offset = 16,
	 .module = "/usr/bin/server",
	 .address = 0x401010,
	 .file = "server.c",
	 .line = 7},
	{.module = "/usr/bin/server",
	 .module_offset = 0x1020,
	 .address = 0x401020,
	 .why = "no symbols"},
};

static uint64_t unnamed_addresses[] = {0x7f0000001234};

static void samples_fill(struct fixture *fixture)
{
	struct triage_stack *stacks = fixture->stacks;

	stacks[0] = (struct triage_stack){.units = 3e6,
					  .share = 0.75,
					  .samples = 300,
					  .named = {.site = &stacks[0].site,
						    .id = 0x123456789abcdef0,
						    .frames.list = {named_frames, 2, 2}}};
	stacks[1] = (struct triage_stack){
		.units = 4096,
		.share = 0.001,
		.samples = 1,
		.site = {.addresses = unnamed_addresses, .depth = 1, .end = LM_WALK_NO_FDE},
		.named = {.site = &stacks[1].site}};
	fixture->sampled[0] = (struct triage_samples){.kind = QUANTITY_HEAP,
						      .window_s = 62.4,
						      .added = 4e6,
						      .share = 0.76,
						      .taken = 320,
						      .lost = 3,
						      .missed = 2,
						      .stacks = {stacks, 2, 2},
						      .stacks_total = 9};
	fixture->sampled[1] = (struct triage_samples){.kind = QUANTITY_THREADS,
						      .why = "--budget has to save up for it"};
	fixture->files[0] = (struct triage_file_kind){"socket (TCP)", 800, 120};
	fixture->files[1] = (struct triage_file_kind){hostile_comm, 9, 1};
	fixture->sampled[2] = (struct triage_samples){
		.kind = QUANTITY_FILES, .window_s = 40, .files = {fixture->files, 2, 2}};
}

static void fixture_fill(struct fixture *fixture)
{
	*fixture = (struct fixture){
		.container = {.id = "3f2a91c0b7d5",
			      .namespace = "shop",
			      .pod = "web-0",
			      .name = "app"},
		.refused = {.refusal = "the reason is on standard error"},
		.report = {.sequence = 37,
			   .time = {1795352405, 250000000},
			   .running_s = 315,
			   .poll_interval_s = 5,
			   .budget_limit = 0.01,
			   .budget_used = 0.00042,
			   .stretch = 1,
			   .resident_bytes = 9 << 20,
			   .cpu_s = 0.00058 * 315,
			   .probes_s = 0.0001 * 315,
			   .form.verbose = true},
	};
	fixture->processes[0] =
		(struct triage_entry){.pid = 1234,
				      .comm = "server",
				      .exe = "/usr/bin/server",
				      .container = &fixture->container,
				      .cgroup = "/kubepods/pod1/3f2a91c0b7d5",
				      .processes = 1,
				      .age_s = 315,
				      .now = {{126248550, 61, 4, 12}},
				      .growth = grown(QUANTITY_HEAP, TREND_LEAKING, 17476.27),
				      .sites = &fixture->refused};
	fixture->processes[1] =
		(struct triage_entry){.pid = 99,
				      .comm = hostile_comm,
				      .exe = NULL,
				      .processes = 1,
				      .now = {{2048000, 200, 65, NAN}},
				      .growth = grown(QUANTITY_THREADS, TREND_GROWING, 0.1)};
	fixture->managed[0] =
		(struct managed_growth){.runtime = runtime_label_of(runtime_find("hotspot")),
					.first_s = 100,
					.last_s = 160,
					.heap = 100 << 20,
					.all = 120 << 20,
					.heap_grown = 3 << 20,
					.all_grown = 4 << 20};
	/* Read only once. */
	fixture->managed[1] =
		(struct managed_growth){.runtime = runtime_label_of(runtime_find("v8")),
					.first_s = 160,
					.last_s = 160,
					.heap = 30 << 20,
					.all = 50 << 20};
	fixture->processes[0].managed = &fixture->managed[0];
	fixture->processes[1].managed = &fixture->managed[1];
	fixture->processes[1].growth.warms_up = true;
	fixture->processes[1].growth.age_s = 75;
	fixture->processes[2] =
		(struct triage_entry){.pid = 7,
				      .comm = "cache",
				      .exe = "/bin/c",
				      .cgroup = "/system.slice/cache.service",
				      .processes = 1,
				      .now = {{5e9, 61, 4, 12}},
				      .growth = grown(QUANTITY_HEAP, TREND_PLATEAU, 0)};
	fixture->groups[0] =
		(struct triage_entry){.comm = "",
				      .container = &fixture->container,
				      .cgroup = "/kubepods/pod1/3f2a91c0b7d5",
				      .processes = 3,
				      .now = {{150000000, NAN, 9, 40}},
				      .growth = grown(QUANTITY_HEAP, TREND_LEAKING, 17476.27)};
	fixture->groups[1] =
		(struct triage_entry){.comm = "",
				      .cgroup = "/system.slice/cache.service",
				      .processes = 1,
				      .now = {{5e9, NAN, 4, 12}},
				      .growth = grown(QUANTITY_HEAP, TREND_PLATEAU, 0)};
	samples_fill(fixture);
	for (size_t i = 0; i < 3; i++)
		fixture->processes[i].sampled = &fixture->sampled[i];
	spark_fill(&fixture->processes[0], 100, 200);
	spark_fill(&fixture->processes[1], 5, 5);
	spark_fill(&fixture->groups[0], 1, 0);
	fixture->report.processes = (struct triage_entries){
		.items = fixture->processes,
		.count = 3,
		.total = 203,
		.verdicts = {[TREND_LEAKING] = 1, [TREND_GROWING] = 1, [TREND_STEADY] = 201}};
	fixture->report.groups =
		(struct triage_entries){.items = fixture->groups, .count = 2, .total = 2};
}

static char *render(const char *format, const struct triage_report *report)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(out);
	assert_int_equal(output_find(format)->write[OUTPUT_TRIAGE](out, report), 0);
	assert_int_equal(fclose(out), 0);
	assert_int_equal(strlen(text), size);
	return text;
}

static void text_is_written_to_the_byte(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	text = render("text", &fixture.report);
	golden_check("tests/golden/triage.txt", text);
}

static size_t longest_line(const char *text)
{
	size_t longest = 0, length = 0;

	for (; *text; text++) {
		if (*text == '\n')
			length = 0;
		else if (((unsigned char)*text & 0xc0) != 0x80)
			length++;
		longest = length > longest ? length : longest;
	}
	return longest;
}

static size_t line_count(const char *text)
{
	size_t lines = 0;

	for (; *text; text++)
		lines += *text == '\n';
	return lines;
}

static void by_default_text_is_short(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.report.form.verbose = false;
	text = render("text", &fixture.report);
	golden_check("tests/golden/triage_short.txt", text);
	assert_in_range(longest_line(text), 80, 100);
}

static char *render_short(struct fixture *fixture)
{
	fixture->report.form.verbose = false;
	return render("text", &fixture->report);
}

static void stacks_of_before_have_their_age(void **state)
{
	_cleanup_free_ char *text = NULL, *evidence = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.sampled[0].ago_s = 40;
	fixture.processes[0].managed = NULL;
	fixture.processes[0].sites = NULL;
	fixture.sampled[0].why = "--budget is used up";
	evidence = render("text", &fixture.report);
	assert_non_null(strstr(evidence, "not sampled now: --budget is used up\n"));
	assert_non_null(strstr(evidence, "sampled for 62 s, until 40 s ago: survivors"));
	text = render_short(&fixture);
	assert_non_null(strstr(text, " 40 s ago: ~75 % by "));
	assert_null(strstr(text, "--budget is used up"));
}

static void a_stack_that_explains_nothing_is_not_named(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.sampled[0].stacks.items[0].share = 0.04;
	fixture.processes[0].managed = NULL;
	fixture.processes[0].sites = NULL;
	text = render_short(&fixture);
	assert_non_null(strstr(text, "sampled for 62 s: no call stack made as much as 5 %"));
	assert_null(strstr(text, "~4 %"));
}

static void no_share_is_more_than_all(void **state)
{
	static const struct {
		double share;
		const char *text;
	} cases[] = {{0.96, " ~96 % by "}, {1.06, " ~100 % by "}, {24.17, " >100 % by "}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		_cleanup_free_ char *text = NULL;
		struct fixture fixture;

		fixture_fill(&fixture);
		fixture.sampled[0].stacks.items[0].share = cases[i].share;
		fixture.processes[0].managed = NULL;
		fixture.processes[0].sites = NULL;
		text = render_short(&fixture);
		assert_non_null(strstr(text, cases[i].text));
	}
}

static struct triage_samples samples_of(enum quantity kind, size_t stacks)
{
	struct triage_samples samples = {.kind = kind};

	for (size_t i = 0; i < stacks; i++)
		*(struct triage_stack *)vec_push(&samples.stacks) = (struct triage_stack){0};
	return samples;
}

static void stacks_are_kept_until_there_are_new_ones(void **state)
{
	struct triage_samples kept = samples_of(QUANTITY_HEAP, 2);
	struct triage_samples none = samples_of(QUANTITY_HEAP, 0);
	struct triage_samples more = samples_of(QUANTITY_HEAP, 1);
	struct triage_samples other = samples_of(QUANTITY_THREADS, 0);

	(void)state;
	none.why = "--budget is used up";
	assert_true(triage_samples_keep(&kept, &none, 12));
	assert_int_equal(kept.stacks.count, 2);
	assert_string_equal(kept.why, "--budget is used up");
	assert_true(kept.ago_s > 11 && kept.ago_s < 13);
	assert_false(triage_samples_keep(&kept, &more, 12));
	assert_false(triage_samples_keep(&kept, &other, 12));
	triage_samples_free(&kept);
	assert_false(triage_samples_keep(&none, &other, 12));
	triage_samples_free(&more);
}

/* A target's name is data there; nothing in it could end its element. */
static void the_page_has_every_row_with_its_evidence(void **state)
{
	_cleanup_free_ char *page = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	page = render("html", &fixture.report);
	assert_non_null(strstr(page, "\"kind\":\"triage\""));
	assert_non_null(strstr(page, "\"comm\":\"server\""));
	assert_non_null(strstr(page, "\"pod\":\"web-0\""));
	assert_non_null(strstr(page, "\"comm\":\"a\\\"b\\\\\\\\x1b[2J"));
	assert_null(strchr(page, '\033'));
	assert_non_null(strstr(page, "\"managed\":{\"runtime\":"));
	assert_non_null(strstr(page, "</html>\n"));
}

/* The user's function, its line and its caller, with the command that shows more. */
static void a_suspect_is_one_line_with_its_function(void **state)
{
	static struct frame frames[] = {
		{.function = "xmalloc", .module = "/bin/server"},
		{.function = "Cache<std::pair<int, int>>::add(int)",
		 .module = "/bin/server",
		 .file = "/src/cache.cc",
		 .line = 44},
		{.function = "serve", .module = "/bin/server"},
	};
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.report.form.verbose = false;
	fixture.processes[0].sites = NULL;
	fixture.processes[0].managed = NULL;
	fixture.processes[0].sites = NULL;
	fixture.stacks[0].named.frames.list.items = frames;
	fixture.stacks[0].named.frames.list.count = 3;
	text = render("text", &fixture.report);
	assert_non_null(strstr(text, "\n         ~75 % by Cache<>::add(int) cache.cc:44 ← serve; "
				     "leakmon diagnose -p 1234\n"));
}

/* Goroutines that do not end, their wait location and their creator: in every format. */
static void goroutines_that_do_not_end_are_named_everywhere(void **state)
{
	static struct frame stack[] = {
		{.function = "runtime.gopark", .file = "/go/proc.go"},
		{.function = "main.worker", .file = "/src/w.go", .line = 31}};
	static struct frame creator[] = {
		{.function = "main.spawn", .file = "/src/w.go", .line = 53}};
	struct task_group group = {
		.id = 7,
		.state = "chan receive",
		.count = 12000,
		.stack.list = {stack, 2, 2},
		.creator.list = {creator, 1, 1},
		.growth = {.readings = 9,
			   .span_ns = 600000000000,
			   .first_count = 11400,
			   .come = 600,
			   .verdict = TREND_LEAKING},
	};
	_cleanup_free_ char *text = NULL, *brief = NULL, *json = NULL, *prom = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.processes[0].goroutines = &group;
	text = render("text", &fixture.report);
	assert_non_null(strstr(text,
			       "12000 goroutines (+600 in 10.0 min) in chan receive at main.worker "
			       "w.go:31, created by"));
	json = render("json", &fixture.report);
	assert_non_null(strstr(json, "\"goroutines\":{\"id\":\"0000000000000007\","
				     "\"count\":12000,\"state\":\"chan receive\""));
	prom = render("prom", &fixture.report);
	assert_non_null(strstr(prom, "state=\"chan receive\",waits_at=\"main.worker w.go:31\","
				     "created_by=\"main.spawn w.go:53\"} 12000\n"));
	fixture.report.form.verbose = false;
	brief = render("text", &fixture.report);
	assert_non_null(
		strstr(brief, "+600 goroutines, none ended: main.worker w.go:31 ← main.spawn"));
	assert_non_null(strstr(brief, "leakmon threads -p 1234 10"));
}

/* A suspect's line is cut, whatever a target's function names. */
static void eight_suspects_fit_a_screen(void **state)
{
	static struct triage_entry entries[8], groups[8];
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	char name[400];

	(void)state;
	fixture_fill(&fixture);
	memset(name, 'x', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	for (size_t i = 0; i < 8; i++) {
		entries[i] = fixture.processes[0];
		entries[i].sites = NULL;
		entries[i].managed = NULL;
		groups[i] = fixture.groups[0];
	}
	/* Each figure at its widest. */
	fixture.report.running_s = 20;
	fixture.report.cpu_s = 12.34;
	fixture.report.probes_s = 20 * 0.000037;
	fixture.report.budget_limit = 0.0025;
	fixture.report.budget_used = 0.0036;
	fixture.report.resident_bytes = 999 << 20;
	fixture.report.poll_interval_s = 22.5;
	named_frames[0].function = name;
	fixture.report.form.verbose = false;
	fixture.report.processes =
		(struct triage_entries){.items = entries, .count = 8, .total = 203};
	fixture.report.groups = (struct triage_entries){.items = groups, .count = 8, .total = 8};
	text = render("text", &fixture.report);
	named_frames[0].function = hostile_comm;
	assert_in_range(longest_line(text), 80, 100);
	assert_in_range(line_count(text), 16, 40);
	assert_non_null(strstr(
		text, "\ncost: 12.34 s of CPU time, probes 0.0037 % (--budget 0.25 %; 0.36 % now, "
		      "saved up), 999.0 MiB\n"));
}

static void limits_that_are_not_shown_are_counted(void **state)
{
	_cleanup_free_ char *none = NULL, *text = NULL, *json = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	none = render("text", &fixture.report);
	assert_null(strstr(none, "near a limit: …"));
	fixture.report.limits_more = 490;
	text = render("text", &fixture.report);
	assert_non_null(strstr(text, "near a limit: … and 490 more control groups"));
	json = render("json", &fixture.report);
	assert_non_null(strstr(json, "\"limits_more\":490"));
}

/* Ten larger ones must not hide that others leak, too. */
static void rows_that_are_cut_off_are_counted_by_verdict(void **state)
{
	struct triage_entry entries[3] = {{.growth.verdict = TREND_LEAKING},
					  {.growth.verdict = TREND_LEAKING},
					  {.growth.verdict = TREND_GROWING}};
	struct triage_entries cut = {.items = entries, .count = 3, .total = 17};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	cut.verdicts[TREND_LEAKING] = 5;
	cut.verdicts[TREND_GROWING] = 1;
	cut.verdicts[TREND_TOO_EARLY] = 4;
	cut.verdicts[TREND_STEADY] = 7;
	text_triage_hidden_write(out, &cut);
	cut.total = 3;
	text_triage_hidden_write(out, &cut);
	fclose(out);
	assert_string_equal(text, "         … and 14 more: 3 leaking, 4 too-early\n");
	free(text);
}

/* A rate and no more; Prometheus, with alerts for people, gets nothing yet. */
static void growth_without_a_verdict_has_its_rate_so_far(void **state)
{
	_cleanup_free_ char *text = NULL, *json = NULL, *prom = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.processes[0].growth = (struct growth){
		.verdict = TREND_TOO_EARLY,
		.early = {.readings = 3, .span_s = 10, .per_s = 4 << 20, .grows = true},
	};
	text = render("text", &fixture.report);
	assert_non_null(strstr(text, " ~+240.0 MiB "));
	assert_non_null(strstr(text, "heap: ~+240.0 MiB/min so far, in 3 readings of 10 s; a "
				     "verdict takes 24, or 2 min\n"));
	json = render("json", &fixture.report);
	assert_non_null(strstr(json, "\"early\":{\"grows\":true,\"per_s\":4194304,"
				     "\"readings\":3,\"span_s\":10}"));
	prom = render("prom", &fixture.report);
	assert_null(strstr(prom, "kind=\"heap\",verdict=\"too-early\""));
	fixture.processes[0].growth.early.grows = false;
	free(text);
	text = render("text", &fixture.report);
	assert_null(strstr(text, "so far"));
}

/* Call stacks of a profile, in its own form; two of its processes, one of which is listed. */
static void a_profiled_suspect_shows_its_call_stacks(void **state)
{
	_cleanup_(profile_report_free) struct profile_report profiles = {0};
	_cleanup_free_ char *text = NULL, *json = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	profile_report_fill(&profiles);
	profile_report_rank(&profiles, 0);
	fixture.processes[2].profiled = &profiles.processes.items[1];
	text = render("text", &fixture.report);
	assert_non_null(
		strstr(text, "profiled: these explain 50% of the growth; 4 windows, 0.20 s "
			     "tracked, 0.80% of its CPU time spent\n"
			     "   +500 B/s (95%: +300 B to +0.98 KiB)  leaking: its blocks stay\n"));
	assert_null(strstr(text, "surest"));
	json = render("json", &fixture.report);
	assert_non_null(strstr(json, "\"profile\":{\"pid\":7,"));
	assert_non_null(strstr(json, "\"growth_bytes_per_s\":500,\"low\":300,\"high\":1000,"));
}

static void what_was_shed_is_reported(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.report.shed_mappings = fixture.report.shed_files = fixture.report.hidden = true;
	fixture.report.stretch = 4;
	text = render("text", &fixture.report);
	assert_non_null(strstr(text, "mappings are not counted, nor open files\n"));
	assert_non_null(strstr(text, "polls come 4 times as rarely\n"));
	assert_non_null(strstr(text, "hidden (hidepid) and not judged\n"));
}

static void text_has_no_control_characters_of_a_target(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	text = render("text", &fixture.report);
	assert_null(strchr(text, '\x1b'));
	assert_null(strstr(text, "\xe2\x80\xae"));
	fixture.report.form.colour = true;
	free(text);
	text = render("text", &fixture.report);
	assert_non_null(strstr(text, "\033[31mleaking"));
	assert_null(strstr(text, "\033[2J"));
}

static void json_is_written_to_the_byte(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	json_error_t error;
	json_t *object;

	(void)state;
	fixture_fill(&fixture);
	text = render("json", &fixture.report);
	golden_check("tests/golden/triage.json", text);
	object = json_loads(text, JSON_REJECT_DUPLICATES, &error);
	assert_non_null(object);
	json_decref(object);
}

static void prom_is_written_to_the_byte(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	text = render("prom", &fixture.report);
	golden_check("tests/golden/triage.prom", text);
}

/* Two series with the same labels would make node-exporter refuse the whole file. */
static void suspects_of_one_name_and_place_are_one_series(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_fill(&fixture);
	fixture.processes[2] = fixture.processes[0];
	fixture.processes[2].pid = 1235;
	fixture.processes[2].growth.confidence = 0.999;
	text = render("prom", &fixture.report);
	assert_non_null(strstr(text, "leakmon_suspect_growth_per_second{scope=\"process\","
				     "comm=\"server\",cgroup=\"/kubepods/pod1/3f2a91c0b7d5\","
				     "namespace=\"shop\",pod=\"web-0\",container=\"app\","
				     "kind=\"heap\",verdict=\"leaking\"} 34952.54\n"));
	assert_non_null(strstr(text, "verdict=\"leaking\"} 0.999\n"));
	assert_null(
		strstr(text, "} 17476.27\nleakmon_suspect_growth_per_second{scope=\"process\""));
}

/* DESIGN's contract: the object of every report, processes in order of rank, each with growth. */
static void json_keeps_the_contract(void **state)
{
	static const char *const top[] = {"schema", "time", "sequence", "ledger", "processes"};
	static const char *const growth[] = {"kind", "bytes_per_s", "confidence", "verdict"};
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	json_t *object, *process;

	(void)state;
	fixture_fill(&fixture);
	text = render("json", &fixture.report);
	object = json_loads(text, JSON_REJECT_DUPLICATES, NULL);
	for (size_t i = 0; i < ARRAY_SIZE(top); i++)
		assert_non_null(json_object_get(object, top[i]));
	process = json_array_get(json_object_get(object, "processes"), 0);
	assert_int_equal(json_integer_value(json_object_get(process, "pid")), 1234);
	process = json_object_get(process, "growth");
	for (size_t i = 0; i < ARRAY_SIZE(growth); i++)
		assert_non_null(json_object_get(process, growth[i]));
	json_decref(object);
}

static void a_full_disk_is_an_error(void **state)
{
	FILE *full = fopen("/dev/full", "w");
	struct fixture fixture;

	(void)state;
	assert_non_null(full);
	fixture_fill(&fixture);
	assert_int_equal(output_find("text")->write[OUTPUT_TRIAGE](full, &fixture.report), -ENOSPC);
	assert_int_equal(output_find("json")->write[OUTPUT_TRIAGE](full, &fixture.report), -ENOSPC);
	assert_int_equal(output_find("prom")->write[OUTPUT_TRIAGE](full, &fixture.report), -ENOSPC);
	fclose(full);
}

/* A site with half of the 1 MiB in the relevant part of the window explains half. */
static void a_share_is_of_the_growth_in_the_window(void **state)
{
	struct triage_sites sites = {.window_s = 30, .counted_s = 27, .growth_per_s = 1000};
	struct site site = {.bytes = 13500};

	(void)state;
	assert_float_equal(triage_site_share(&sites, &site), 0.5, 1e-9);
	sites.growth_per_s = -5;
	assert_float_equal(triage_site_share(&sites, &site), 0, 0);
}

/* Its known data is included; without a kill there is no report. */
static void a_kill_is_reported_with_what_was_known(void **state)
{
	struct fixture fixture;
	struct oom_kill where = {.pid = 8, .cgroup = (char *)"/x\033", .limit_bytes = 1 << 20};
	struct oom_total total = {.comm = "shop", .kills = 2};
	struct triage_kill kill = {
		.where = &where,
		.comm = "shop\033",
		.by_counter = true,
		.memory = {.known = true, .anonymous = 1 << 19, .page_tables = 339 << 20},
		.read_s = 3};
	struct triage_kills kills = {0};
	struct oom_kills oom = {0};
	_cleanup_free_ char *text = NULL, *json = NULL, *prom = NULL;

	(void)state;
	fixture_fill(&fixture);
	kill.entry = fixture.processes[0];
	kills.list.items = &kill;
	kills.list.count = 1;
	oom.totals.items = &total;
	oom.totals.count = 1;
	fixture.report.kills = &kills;
	fixture.report.oom = &oom;
	text = render("text", &fixture.report);
	json = render("json", &fixture.report);
	prom = render("prom", &fixture.report);
	assert_non_null(strstr(text, "OOM-killed: process 8 shop"));
	assert_non_null(strstr(text, "(found by its group's count, after its end)"));
	assert_non_null(strstr(text, "when it was chosen: 512.0 KiB anonymous"));
	assert_non_null(strstr(text, "page tables 339.0 MiB"));
	assert_non_null(strstr(json, "\"page_table_bytes\":355467264"));
	assert_non_null(strstr(text, "what was known of it, read 3 s before:"));
	assert_null(strchr(text, '\033'));
	assert_non_null(strstr(json, "\"oom_kills\":[{\"pid\":8,"));
	assert_non_null(strstr(json, "\"noticed\":\"counter\""));
	assert_non_null(strstr(json, "\"last\":[{"));
	assert_non_null(strstr(prom, "leakmon_oom_kills_total{comm=\"shop\"} 2\n"));
}

/*
 * Bytes outside Eden after a number of full collections: at the first look, and now. The heap has
 * grown by 10 MiB, and native memory by nothing.
 */
static void growth_of_a_jvm_is_unproven_until_its_collections_leave_more(void **state)
{
	static const struct {
		struct heap_floor first, now;
		bool unproven;
	} looks[] = {
		{{true, false, 20 << 20, 1, false, 0, 0, 0},
		 {true, false, 30 << 20, 1, false, 0, 0, 0},
		 true},
		{{true, false, 20 << 20, 1, false, 0, 0, 0},
		 {true, false, 21 << 20, 2, false, 0, 0, 0},
		 true},
		{{true, false, 20 << 20, 1, false, 0, 0, 0},
		 {true, false, 22 << 20, 2, false, 0, 0, 0},
		 false},
		{{true, true, 20 << 20, 2, false, 0, 0, 0},
		 {true, false, (22 << 20) - 1, 3, false, 0, 0, 0},
		 true},
		{{true, true, 20 << 20, 2, false, 0, 0, 0},
		 {true, false, 22 << 20, 3, false, 0, 0, 0},
		 false},
		{{false, false, 0, 0, false, 0, 0, 0},
		 {true, false, 20 << 20, 1, false, 0, 0, 0},
		 false},
		{{true, false, 20 << 20, 1, false, 0, 0, 0},
		 {false, false, 0, 0, false, 0, 0, 0},
		 false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		const struct managed_growth managed = {.runtime = {.key = "hotspot", .name = "JVM"},
						       .first_s = 1,
						       .last_s = 20,
						       .heap_grown = 10 << 20,
						       .all_grown = 10 << 20,
						       .first = looks[i].first,
						       .now = looks[i].now};
		const struct triage_entry entry = {.managed = &managed};

		if (triage_entry_is_unproven(&entry) != looks[i].unproven)
			fail_msg("look %zu", i);
	}
}

/* A Tomcat of twenty minutes, under light load: nothing else comes, and its collections leave no
 * more. KiB of the last minutes, and of those before them. */
static void growth_of_compiled_code_is_unproven(void **state)
{
	static const struct {
		struct managed_span recent[2];
		double last_s;
		uint64_t kept;
		bool compiles, unproven;
	} looks[] = {
		{{{500, 0, 204, 223}, {350, 0, 180, 200}}, 600, 20 << 20, true, true},
		{{{500, 0, 80, 223}, {350, 0, 100, 200}}, 600, 20 << 20, false, false},
		{{{500, 100, 80, 223}, {350, 100, 100, 300}}, 600, 20 << 20, false, true},
		/* More of its heap is new. */
		{{{500, 492, 40, 652}, {0, 0, 0, 0}}, 600, 20 << 20, false, true},
		/* Native memory grows, while a collection gives back. */
		{{{500, -7000, 100, -900}, {350, 0, 0, 0}}, 600, 20 << 20, false, false},
		/* It refills the space that a collection has freed; other growth is added. */
		{{{500, 1060, 0, 1440}, {350, 0, 0, 0}}, 600, 20 << 20, false, true},
		{{{500, 1060, 0, 2440}, {350, 0, 0, 0}}, 600, 20 << 20, false, false},
		/* Objects also leak. */
		{{{500, 100, 100, 200}, {350, 100, 100, 200}}, 600, 30 << 20, true, false},
		/* Too early to know. */
		{{{500, 0, 0, 8}, {0, 0, 0, 0}}, 559, 20 << 20, false, true},
		{{{500, 0, 0, 8}, {0, 0, 0, 0}}, 560, 20 << 20, false, false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		const struct managed_growth managed = {
			.runtime = {.key = "hotspot", .name = "JVM", .tool = "jcmd %d"},
			.first_s = 1,
			.last_s = looks[i].last_s,
			.code = 20 << 20,
			.heap_grown = 10 << 10,
			.all_grown = 3 << 20,
			.recent = {looks[i].recent[0], looks[i].recent[1]},
			.first = {true, false, 20 << 20, 1, false, 0, 0, 0},
			.now = {true, false, looks[i].kept, 2, false, 0, 0, 0}};
		const struct triage_entry entry = {.managed = &managed};
		_cleanup_free_ char *text = NULL;
		size_t size = 0;
		FILE *out = open_memstream(&text, &size);

		assert_non_null(out);
		text_triage_managed_write(out, &entry);
		fclose(out);
		if (triage_entry_compiles(&entry) != looks[i].compiles ||
		    triage_entry_is_unproven(&entry) != looks[i].unproven ||
		    (strstr(text, "lately most of it in code that it compiles") != NULL) !=
			    looks[i].compiles)
			fail_msg("look %zu: %s", i, text);
	}
}

/* Every collection of Go is full: one that leaves more behind proves it, except the first. */
static void growth_of_a_go_program_is_unproven_until_a_collection_leaves_more(void **state)
{
	static const struct {
		uint64_t first_live, first_count, live, count;
		bool unproven;
	} looks[] = {
		{20 << 20, 3, 20 << 20, 3, true},  {20 << 20, 3, 21 << 20, 4, true},
		{20 << 20, 3, 25 << 20, 4, false}, {2 << 20, 0, 2 << 20, 0, true},
		{2 << 20, 0, 30 << 20, 1, true},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		const struct go_memory first = {.live = looks[i].first_live,
						.collections = looks[i].first_count},
				       now = {.live = looks[i].live, .collections = looks[i].count};
		struct managed_growth managed = {.runtime = {.key = "go", .name = "Go runtime"},
						 .first_s = 1,
						 .last_s = 20,
						 .heap_grown = 10 << 20,
						 .all_grown = 10 << 20,
						 .first = go_floor_of(&first),
						 .now = go_floor_of(&now)};
		const struct triage_entry entry = {.managed = &managed};

		heap_floor_rebase(&managed.first, &managed.now);
		assert_int_equal(managed.now.kept, looks[i].count ? looks[i].live : 0);
		assert_true(managed.first.kept <= managed.now.kept);
		if (triage_entry_is_unproven(&entry) != looks[i].unproven)
			fail_msg("look %zu", i);
	}
}

/*
 * Whether one full collection leaves more than the heap had before the first. `uncollected`: the
 * size of heaps without one. The heap has grown by 40 MiB.
 */
static void growth_of_node_is_unproven_until_a_collection_of_all_leaves_more(void **state)
{
	static const struct {
		struct js_memory first, now;
		bool unproven;
	} looks[] = {
		/* Nothing was collected, or only the young generation. */
		{{.uncollected = 8 << 20}, {.uncollected = 48 << 20}, true},
		{{.uncollected = 8 << 20}, {.uncollected = 48 << 20, .collections = 20}, true},
		/* The first one leaves as much, or more. */
		{{.uncollected = 8 << 20}, {.full_collections = 1, .kept = 9 << 20}, true},
		{{.uncollected = 8 << 20}, {.full_collections = 1, .kept = 40 << 20}, false},
		/* It was collected before. */
		{{.full_collections = 1, .kept = 9 << 20},
		 {.full_collections = 1, .kept = 9 << 20},
		 true},
		{{.full_collections = 1, .kept = 9 << 20},
		 {.full_collections = 2, .kept = 10 << 20},
		 true},
		{{.full_collections = 1, .kept = 9 << 20},
		 {.full_collections = 2, .kept = 30 << 20},
		 false},
		/* A worker's heap: its first collection leaves no more than it had. */
		{{.full_collections = 1, .kept = 9 << 20, .uncollected = 6 << 20},
		 {.full_collections = 2, .kept = 14 << 20},
		 true},
		{{.full_collections = 1, .kept = 9 << 20, .uncollected = 6 << 20},
		 {.full_collections = 2, .kept = 40 << 20},
		 false},
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		struct js_memory first = looks[i].first, now = looks[i].now;
		struct managed_growth managed = {.runtime = {.key = "v8", .name = "V8"},
						 .first_s = 1,
						 .last_s = 20,
						 .heap_grown = 40 << 20,
						 .all_grown = 40 << 20};
		const struct triage_entry entry = {.managed = &managed};

		first.has_collections = now.has_collections = true;
		managed.first = js_floor_of(&first);
		managed.now = js_floor_of(&now);
		heap_floor_rebase(&managed.first, &managed.now);
		if (triage_entry_is_unproven(&entry) != looks[i].unproven)
			fail_msg("look %zu", i);
	}
	/* Versions that are not read. */
	assert_false(js_floor_of(&(struct js_memory){.why = "another version"}).known);
	assert_false(js_floor_of(&(struct js_memory){.kept = 1}).known);
}

/* An idle server collects all of its heap twice an hour; meanwhile garbage holds buffers. */
static void growth_outside_the_heap_of_node_is_unproven_until_collections_leave_it(void **state)
{
	static const struct {
		uint32_t full;	 /* collections */
		int64_t outside; /* KiB */
		bool unproven;
	} looks[] = {
		{1, 10000, true},
		{1, 18000, true},
		/* The first collection since is the base. */
		{2, 16000, true},
		{2, 20000, true},
		{3, 16300, true},
		{3, 21000, true},
		/* A leak of native memory. */
		{4, 19000, false},
		{4, 22000, false},
		{4, 22001, true},
		/* Too much to wait for. */
		{4, 19000 + (64 << 10), true},
		{4, 19001 + (64 << 10), false},
	};
	struct managed_growth managed = {.runtime = {.key = "v8", .name = "V8"},
					 .first_s = 1,
					 .last_s = 600,
					 .all_grown = 40 << 20,
					 .recent = {{500, 0, 0, 4 << 20}},
					 .heap = 10 << 20,
					 .code = 1 << 20};
	const struct triage_entry entry = {.managed = &managed};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(looks); i++) {
		const struct js_memory js = {.has_collections = true,
					     .full_collections = looks[i].full,
					     .kept = 9 << 20};

		managed.now = js_floor_of(&js);
		if (!i)
			managed.first = managed.now;
		managed.all = managed.heap + managed.code + (uint64_t)looks[i].outside * 1024;
		heap_outside_look(&managed.outside, &managed.now, managed_growth_outside(&managed));
		if (triage_entry_is_unproven(&entry) != looks[i].unproven)
			fail_msg("look %zu", i);
	}
	/* The native memory held by garbage is unknown. */
	managed.now.outside_limit = 0;
	assert_false(triage_entry_is_unproven(&entry));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(limits_that_are_not_shown_are_counted),
		cmocka_unit_test(text_is_written_to_the_byte),
		cmocka_unit_test(by_default_text_is_short),
		cmocka_unit_test(stacks_of_before_have_their_age),
		cmocka_unit_test(a_stack_that_explains_nothing_is_not_named),
		cmocka_unit_test(no_share_is_more_than_all),
		cmocka_unit_test(stacks_are_kept_until_there_are_new_ones),
		cmocka_unit_test(the_page_has_every_row_with_its_evidence),
		cmocka_unit_test(a_suspect_is_one_line_with_its_function),
		cmocka_unit_test(goroutines_that_do_not_end_are_named_everywhere),
		cmocka_unit_test(eight_suspects_fit_a_screen),
		cmocka_unit_test(rows_that_are_cut_off_are_counted_by_verdict),
		cmocka_unit_test(growth_without_a_verdict_has_its_rate_so_far),
		cmocka_unit_test(a_profiled_suspect_shows_its_call_stacks),
		cmocka_unit_test(what_was_shed_is_reported),
		cmocka_unit_test(text_has_no_control_characters_of_a_target),
		cmocka_unit_test(json_is_written_to_the_byte),
		cmocka_unit_test(prom_is_written_to_the_byte),
		cmocka_unit_test(suspects_of_one_name_and_place_are_one_series),
		cmocka_unit_test(json_keeps_the_contract),
		cmocka_unit_test(a_full_disk_is_an_error),
		cmocka_unit_test(a_kill_is_reported_with_what_was_known),
		cmocka_unit_test(a_share_is_of_the_growth_in_the_window),
		cmocka_unit_test(growth_of_compiled_code_is_unproven),
		cmocka_unit_test(growth_of_a_jvm_is_unproven_until_its_collections_leave_more),
		cmocka_unit_test(growth_of_a_go_program_is_unproven_until_a_collection_leaves_more),
		cmocka_unit_test(growth_of_node_is_unproven_until_a_collection_of_all_leaves_more),
		cmocka_unit_test(
			growth_outside_the_heap_of_node_is_unproven_until_collections_leave_it),
	};

	setenv("TZ", "UTC", 1);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
