// SPDX-License-Identifier: GPL-2.0-or-later
#include <jansson.h>

#include "base/cleanup.h"
#include "base/text.h"
#include "golden.h"
#include "report/analyze/report_build.h"
#include "report_fixture.h"

/* Parses strictly: one object, valid UTF-8, no key twice. */
static json_t *parse(const char *text)
{
	json_error_t error;
	json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &error);

	if (!object)
		fail_msg("column %d: %s", error.column, error.text);
	return object;
}

static json_t *first_site(json_t *object)
{
	json_t *process = json_array_get(json_object_get(object, "processes"), 0);

	return json_array_get(json_object_get(process, "sites"), 0);
}

static void an_ordinary_report_is_written_to_the_byte(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;

	(void)state;
	fixture_plain(&fixture);
	text = golden_render("json", &fixture.report);
	golden_check("tests/golden/report.json", text);
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	json_decref(parse(text));
	fixture_free(&fixture);
}

static void the_fields_of_the_contract_come_in_its_order(void **state)
{
	static const char *const fields[] = {"\"schema\":1,",
					     "\"time\":\"2026-11-20T13:00:00.123Z\",",
					     "\"sequence\":3,",
					     "\"ledger\":{",
					     "\"allocations\":",
					     "\"frees\":",
					     "\"outstanding\":",
					     "\"purged\":",
					     "\"dropped\":{\"blocks_full\":3,\"missed_free\":2}",
					     "\"untracked_frees\":",
					     "\"processes\":[{",
					     "\"pid\":1234,",
					     "\"comm\":",
					     "\"exe\":",
					     "\"container\":{\"id\":\"3f2a91c0b7d5",
					     "\"namespace\":\"shop\"",
					     "\"pod\":\"cache-0\"",
					     "\"name\":\"redis\"",
					     "\"exact\":false",
					     "\"outstanding_bytes\":",
					     "\"outstanding_count\":",
					     "\"sites\":[{",
					     "\"id\":\"",
					     "\"bytes\":",
					     "\"count\":",
					     "\"allocated_bytes\":",
					     "\"allocated_count\":",
					     "\"freed_bytes\":",
					     "\"freed_count\":",
					     "\"oldest_ms\":",
					     "\"frames\":[{",
					     "\"function\":",
					     "\"offset\":",
					     "\"module\":",
					     "\"build_id\":",
					     "\"address\":",
					     "\"file\":",
					     "\"line\":",
					     "\"inlined\":",
					     "\"threads\":{\"alive\":12,\"dead\":113,",
					     "\"dead_stack_bytes\":947912704,"};
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	const char *at;

	(void)state;
	fixture_plain(&fixture);
	text = golden_render("json", &fixture.report);
	at = text;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		const char *found = strstr(at, fields[i]);

		if (!found)
			fail_msg("%s is missing or out of order", fields[i]);
		at = found + 1;
	}
	fixture_free(&fixture);
}

static void hostile_names_stay_valid_and_on_one_line(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	size_t length;
	json_t *object;

	(void)state;
	fixture_hostile(&fixture);
	text = golden_render("json", &fixture.report);
	golden_check("tests/golden/hostile.json", text);
	for (const char *at = text; *at; at += length) {
		uint32_t code = 0;

		length = text_decode_utf8(at, &code);
		assert_int_not_equal(length, 0);
		assert_true(text_is_printable(code) || !strcmp(at, "\n"));
	}
	object = parse(text);
	json_decref(object);
	fixture_free(&fixture);
}

/* Valid UTF-8 is restored exactly, whatever its escapes. */
static void names_survive_the_round_trip(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	json_t *object, *process, *frame;

	(void)state;
	fixture_hostile(&fixture);
	text = golden_render("json", &fixture.report);
	object = parse(text);
	process = json_array_get(json_object_get(object, "processes"), 0);
	assert_string_equal(json_string_value(json_object_get(process, "comm")), "a\"\\\n\033[2Jb");
	frame = json_array_get(json_object_get(first_site(object), "frames"), 0);
	assert_string_equal(json_string_value(json_object_get(frame, "module")),
			    "/tmp/lib\xe2\x80\xae.so]\033]0;owned\a");
	assert_string_equal(json_string_value(json_object_get(frame, "file")),
			    "\xe2\x80\xa8\xc2\x9b\x7f\xf3\xa0\x81\x81/\xef\xbf\xbd\xef\xbf\xbd");
	json_decref(object);
	fixture_free(&fixture);
}

static void a_site_that_was_not_looked_up_shows_its_addresses(void **state)
{
	const struct report_options options = {0};
	struct fixture fixture = {.snapshot = {.has_ages = true}};
	_cleanup_free_ char *text = NULL;
	json_t *object, *frame;

	(void)state;
	fixture_site(fixture_process(&fixture, 1, "p", NULL), 5, 8, 1, SECOND);
	report_build(&fixture.report, &fixture.snapshot, &options);
	text = golden_render("json", &fixture.report);
	object = parse(text);
	assert_int_equal(json_array_size(json_object_get(first_site(object), "frames")), 1);
	frame = json_array_get(json_object_get(first_site(object), "frames"), 0);
	assert_true(json_is_null(json_object_get(frame, "function")));
	assert_int_equal(json_integer_value(json_object_get(frame, "address")), 0x1005);
	assert_string_equal(json_string_value(json_object_get(frame, "why")), "not looked up");
	assert_int_equal(json_integer_value(json_object_get(first_site(object), "oldest_ms")),
			 1000);
	assert_null(json_object_get(first_site(object), "blocks"));
	json_decref(object);
	fixture_free(&fixture);
}

static void without_ages_there_is_null_and_not_zero(void **state)
{
	_cleanup_free_ char *text = NULL;
	struct fixture fixture;
	json_t *object;

	(void)state;
	fixture_hostile(&fixture);
	text = golden_render("json", &fixture.report);
	object = parse(text);
	assert_true(json_is_null(json_object_get(first_site(object), "oldest_ms")));
	assert_true(json_is_null(json_object_get(json_object_get(object, "ledger"), "scanned")));
	assert_true(json_is_true(json_object_get(object, "sampled")));
	json_decref(object);
	fixture_free(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_ordinary_report_is_written_to_the_byte),
		cmocka_unit_test(the_fields_of_the_contract_come_in_its_order),
		cmocka_unit_test(hostile_names_stay_valid_and_on_one_line),
		cmocka_unit_test(names_survive_the_round_trip),
		cmocka_unit_test(a_site_that_was_not_looked_up_shows_its_addresses),
		cmocka_unit_test(without_ages_there_is_null_and_not_zero),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
