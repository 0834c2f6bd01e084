// SPDX-License-Identifier: GPL-2.0-or-later
/* Decodes the profile with a separate reader; the e2e tests use pprof(1). */
#include <zlib.h>

#include "base/cleanup.h"
#include "unit/golden.h"
#include "unit/report_fixture.h"

struct bytes {
	const uint8_t *at, *end;
};

struct field {
	unsigned number;
	uint64_t value;	    /* of a varint */
	struct bytes bytes; /* of a message, string or packed array */
};

static uint64_t varint(struct bytes *bytes)
{
	uint64_t value = 0;

	for (unsigned shift = 0;; shift += 7) {
		assert_true(bytes->at < bytes->end && shift < 64);
		value |= (uint64_t)(*bytes->at & 0x7f) << shift;
		if (!(*bytes->at++ & 0x80))
			return value;
	}
}

static bool next(struct bytes *message, struct field *field)
{
	uint64_t tag;

	if (message->at == message->end)
		return false;
	tag = varint(message);
	*field = (struct field){.number = (unsigned)(tag >> 3)};
	if ((tag & 7) == 0) {
		field->value = varint(message);
		return true;
	}
	assert_int_equal(tag & 7, 2);
	field->value = varint(message);
	assert_true(field->value <= (uint64_t)(message->end - message->at));
	field->bytes = (struct bytes){message->at, message->at + field->value};
	message->at += field->value;
	return true;
}

struct profile {
	uint8_t *raw;
	struct bytes all;
	VEC(char *) strings;
	size_t samples, mappings, locations, functions, sample_types;
	size_t values;	  /* of every sample */
	uint64_t sums[6]; /* of the values */
	uint64_t time_nanos, default_type, dropped_frames;
	bool period_type;
};

static void sample_read(struct profile *profile, struct bytes message)
{
	struct field field;
	size_t values = 0;

	profile->samples++;
	while (next(&message, &field)) {
		while (field.number == 2 && field.bytes.at < field.bytes.end) {
			assert_true(values < 6);
			profile->sums[values++] += varint(&field.bytes);
		}
		while (field.number == 1 && field.bytes.at < field.bytes.end)
			assert_true(varint(&field.bytes) > 0);
	}
	assert_true(profile->samples == 1 || values == profile->values);
	profile->values = values;
}

static void profile_read(struct profile *profile, const char *zipped, size_t size)
{
	z_stream zip = {.next_in = (Bytef *)(uintptr_t)zipped, .avail_in = (uInt)size};
	struct bytes rest;
	struct field field;

	profile->raw = malloc(1 << 20);
	zip.next_out = profile->raw;
	zip.avail_out = 1 << 20;
	assert_int_equal(inflateInit2(&zip, 16 + 15), Z_OK);
	assert_int_equal(inflate(&zip, Z_FINISH), Z_STREAM_END);
	rest = profile->all = (struct bytes){profile->raw, profile->raw + zip.total_out};
	inflateEnd(&zip);
	while (next(&rest, &field)) {
		profile->sample_types += field.number == 1;
		profile->mappings += field.number == 3;
		profile->locations += field.number == 4;
		profile->functions += field.number == 5;
		profile->period_type |= field.number == 11;
		if (field.number == 2)
			sample_read(profile, field.bytes);
		else if (field.number == 6)
			*(char **)vec_push(&profile->strings) =
				strndup((const char *)field.bytes.at,
					(size_t)(field.bytes.end - field.bytes.at));
		else if (field.number == 9)
			profile->time_nanos = field.value;
		else if (field.number == 7)
			profile->dropped_frames = field.value;
		else if (field.number == 14)
			profile->default_type = field.value;
	}
}

static void profile_free(struct profile *profile)
{
	for (size_t i = 0; i < profile->strings.count; i++)
		free(profile->strings.items[i]);
	vec_free(&profile->strings);
	free(profile->raw);
}

static void profile_of(struct profile *profile, const struct report *report)
{
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	assert_int_equal(output_find("pprof")->write[OUTPUT_REPORT](out, report), 0);
	fclose(out);
	profile_read(profile, text, size);
	free(text);
}

static bool has_string(const struct profile *profile, const char *text)
{
	for (size_t i = 0; i < profile->strings.count; i++) {
		if (!strcmp(profile->strings.items[i], text))
			return true;
	}
	return false;
}

static void four_sample_types_add_up(void **state)
{
	_cleanup_(profile_free) struct profile profile = {0};
	struct fixture fixture;

	(void)state;
	fixture_plain(&fixture);
	profile_of(&profile, &fixture.report);
	assert_int_equal(profile.sample_types, 4);
	assert_int_equal(profile.values, 4);
	assert_int_equal(profile.samples, 3);
	/* 4096 in 2, 8192 in 3, 1 in 1; the fixture adds 64 bytes and 2 blocks to the
	 * allocations. */
	assert_int_equal(profile.sums[0], 2 + 3 + 1 + 3 * 2);
	assert_int_equal(profile.sums[1], 4096 + 8192 + 1 + 3 * 64);
	assert_int_equal(profile.sums[2], 2 + 3 + 1);
	assert_int_equal(profile.sums[3], 4096 + 8192 + 1);
	assert_int_equal(profile.time_nanos, 1795179600123999999);
	assert_true(profile.period_type);
	assert_string_equal(profile.strings.items[0], "");
	assert_string_equal(profile.strings.items[profile.default_type], "inuse_space");
	/* Functions that only pass memory on would hide their callers. */
	assert_int_equal(
		strncmp(profile.strings.items[profile.dropped_frames], "operator new|", 13), 0);
	/* redis-server, libstdc++, libstripped. */
	assert_int_equal(profile.mappings, 3);
	/* One with two lines, two named, one unnamed, one in no file, one for lost stacks. */
	assert_int_equal(profile.locations, 5);
	assert_true(has_string(&profile, "0123abcd"));
	assert_true(has_string(&profile, "pid"));
	assert_true(has_string(&profile, "redis-server"));
	fixture_free(&fixture);
}

/* Blocks are inside mappings: each has separate columns. */
static void mappings_and_blocks_are_never_in_one_sum(void **state)
{
	_cleanup_(profile_free) struct profile profile = {0};
	struct fixture fixture;

	(void)state;
	fixture_mapped(&fixture);
	profile_of(&profile, &fixture.report);
	assert_int_equal(profile.sample_types, 6);
	assert_int_equal(profile.values, 6);
	assert_int_equal(profile.samples, 3);
	assert_int_equal(profile.sums[0], 1 + 2);
	assert_int_equal(profile.sums[1], 512 + 64);
	assert_int_equal(profile.sums[2], 1);
	assert_int_equal(profile.sums[3], 512);
	assert_int_equal(profile.sums[4], 2 + 1);
	assert_int_equal(profile.sums[5], 131072 + 4096);
	assert_string_equal(profile.strings.items[profile.default_type], "inuse_space");
	assert_true(has_string(&profile, "mapped_space"));
	assert_true(has_string(&profile, "thread stack"));
	assert_true(has_string(&profile, "allocator arena"));
	fixture_free(&fixture);
}

static void hostile_names_are_valid_strings(void **state)
{
	_cleanup_(profile_free) struct profile profile = {0};
	struct fixture fixture;

	(void)state;
	fixture_hostile(&fixture);
	profile_of(&profile, &fixture.report);
	for (size_t i = 0; i < profile.strings.count; i++) {
		assert_null(strchr(profile.strings.items[i], '\n'));
		assert_null(strchr(profile.strings.items[i], '\033'));
	}
	assert_true(has_string(&profile, "evil\\x0a\\x094096 bytes in 2 allocations from stack"));
	fixture_free(&fixture);
}

static void an_empty_report_is_a_valid_profile(void **state)
{
	_cleanup_(profile_free) struct profile profile = {0};
	struct fixture fixture = {0};

	(void)state;
	fixture.report.snapshot = &fixture.snapshot;
	profile_of(&profile, &fixture.report);
	assert_int_equal(profile.samples, 0);
	assert_int_equal(profile.sample_types, 4);
	fixture_free(&fixture);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(four_sample_types_add_up),
		cmocka_unit_test(mappings_and_blocks_are_never_in_one_sum),
		cmocka_unit_test(hostile_names_are_valid_strings),
		cmocka_unit_test(an_empty_report_is_a_valid_profile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
