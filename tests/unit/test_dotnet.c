// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small .NET program made by hand; then the same with nonsense in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/dotnet_fixture.h"

#define MUTANTS 1000

static int setup(void **state)
{
	struct forged *forged = malloc(sizeof(*forged));

	*state = forged;
	return forged && forged_make(forged) ? 0 : -1;
}

static int teardown(void **state)
{
	struct forged *forged = *state;

	forged_free(forged);
	free(forged);
	return 0;
}

struct walked {
	struct heap_sink sink;
	struct intern strings;
};

static void walk(const struct forged *forged, struct walked *walked)
{
	*walked = (struct walked){0};
	assert_int_equal(forged_walk(forged, &walked->strings, &walked->sink), 0);
	assert_int_equal(walked->sink.reports.count, 1);
}

static void walked_free(struct walked *walked)
{
	heap_sink_free(&walked->sink);
	intern_free(&walked->strings);
}

static const char *class_at(const struct heap_sink *sink, uint32_t node)
{
	uint32_t what = sink->whats[node];

	return node_has_class(what) ? sink->classes.items[what & NODE_CLASS].name : "";
}

static size_t count_class(const struct heap_sink *sink, const char *name)
{
	size_t count = 0;

	for (uint32_t i = 0; i < sink->count; i++)
		count += !strcmp(class_at(sink, i), name);
	return count;
}

/* How the object at `from` refers to the one at `to`: ".Next", "[2]", "" without a label; NULL: it
 * does not. */
static const char *label_of(const struct heap_sink *sink, uint64_t from, uint64_t to)
{
	static char text[64];
	uint32_t node = heap_sink_node(sink, from), target = heap_sink_node(sink, to);

	for (uint32_t i = sink->first[node]; i < sink->first[node + 1]; i++) {
		uint32_t label = sink->references.labels[i];
		const char *name = heap_sink_label_name(sink, label);

		if (sink->references.targets[i] != target)
			continue;
		text[0] = '\0';
		if (name)
			snprintf(text, sizeof(text), ".%s", name);
		else if (label_kind(label) == LABEL_INDEX)
			snprintf(text, sizeof(text), "[%u]", label & LABEL_VALUE);
		return text;
	}
	return NULL;
}

static uint32_t references_of(const struct heap_sink *sink, uint64_t object)
{
	uint32_t node = heap_sink_node(sink, object);

	return sink->first[node + 1] - sink->first[node];
}

static void every_object_has_its_class(void **state)
{
	static const struct {
		const char *name;
		size_t count;
	} classes[] = {
		{"Planted.Session", FORGED_SESSIONS},
		{"Planted.Session[]", 2},
		{"System.Byte[,,]", FORGED_SESSIONS},
		{"Planted.Box<Planted.Session>", 1},
		{"Planted.Box<Planted.Session>.Inner", 3},
		{"Planted.Pair[]", 1},
		{"System.Object", 1},
	};
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	const struct walk_report *report;
	size_t objects = 0;

	walk(forged, &walked);
	report = &sink->reports.items[0];
	assert_null(report->why);
	assert_string_equal(report->version, "9");
	assert_int_equal(report->nonsense, 0);
	for (size_t i = 0; i < ARRAY_SIZE(classes); i++) {
		if (count_class(sink, classes[i].name) != classes[i].count)
			fail_msg("%s: %zu", classes[i].name, count_class(sink, classes[i].name));
		objects += classes[i].count;
	}
	assert_int_equal(report->objects, objects);
	assert_int_equal(sink->count, objects);
	assert_int_equal(report->heap_bytes, FORGED_REGION_BYTES);
	assert_int_equal(report->bytes + report->free_bytes + FORGED_GAP, FORGED_REGION_BYTES);
	walked_free(&walked);
}

static void references_have_the_names_of_fields(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint64_t payload = forged->sessions[0] + 32;

	walk(forged, &walked);
	assert_string_equal(label_of(sink, forged->array, forged->sessions[3]), "[3]");
	assert_string_equal(label_of(sink, forged->sessions[0], forged->sessions[1]), ".Next");
	assert_string_equal(label_of(sink, forged->sessions[0], payload), ".Payload");
	assert_int_equal(references_of(sink, payload), 0);
	/* Of a structure's members only references are some. */
	assert_int_equal(references_of(sink, forged->pairs), 4);
	assert_string_equal(label_of(sink, forged->pairs, forged->box), "[0]");
	/* By a dependent handle. */
	assert_string_equal(label_of(sink, forged->box, forged->sessions[4]), ".dependent handle");
	walked_free(&walked);
}

static void what_holds_objects_has_a_name(void **state)
{
	struct forged *forged = *state;
	const struct {
		const char *name;
		uint64_t object;
	} roots[] = {
		{"static Planted.Session.Kept", forged->array},
		{"pinned handle", forged->pairs},
		{"finaliser queue", forged->finalised},
		{"object that awaits its finaliser", forged->sessions[1]},
	};
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;

	walk(forged, &walked);
	assert_int_equal(sink->roots.count, ARRAY_SIZE(roots));
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		assert_string_equal(sink->roots.items[i].name, roots[i].name);
		assert_int_equal(sink->roots.items[i].node, heap_sink_node(sink, roots[i].object));
	}
	/* The array that static fields are in does not hold what they hold. */
	assert_int_equal(references_of(sink, forged->base + FORGED_REGION), 0);
	walked_free(&walked);
}

static void expect_why(const struct forged *forged, const char *words)
{
	struct walked walked;

	walk(forged, &walked);
	if (!walked.sink.reports.items[0].why || !strstr(walked.sink.reports.items[0].why, words))
		fail_msg("%s: %s", words,
			 walked.sink.reports.items[0].why ? walked.sink.reports.items[0].why
							  : "walked");
	assert_int_equal(walked.sink.classes.count, 0);
	assert_int_equal(walked.sink.roots.count, 0);
	walked_free(&walked);
}

static void without_static_fields_objects_refer_all_the_same(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint32_t before;

	walk(forged, &walked);
	before = references_of(&walked.sink, forged->array);
	walked_free(&walked);
	forged_put_at(forged_table(forged, FORGED_SESSION), 0x2c0 - 24, 0);
	walk(forged, &walked);
	assert_true(before > 0);
	assert_int_equal(references_of(&walked.sink, forged->array), before);
	walked_free(&walked);
}

static void what_cannot_be_read_is_said(void **state)
{
	struct forged *forged = *state;
	uint64_t invalid = forged->base + AT_VALUES + COLLECTOR_INVALID * 8;

	forged_put_at(invalid, 0, 1);
	expect_why(forged, "collects too often");
	forged_put_at(invalid, 0, 0);
	forged_put_at(forged->base + AT_COLLECTOR, 16, 4);
	expect_why(forged, "collector");
	forged->image.table.count = 1;
	expect_why(forged, "9 and 10");
	forged->image.table.count = 0;
	expect_why(forged, "g_dacTable");
}

/* Behind it the next object would be below all memory, and the way to the heap's end very long. */
static void memory_for_objects_to_come_ends_where_memory_does(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put_at(forged->base + AT_LOCALS, 8, UINT64_MAX - 7);
	walk(forged, &walked);
	assert_int_equal(count_class(&walked.sink, "Planted.Session"), FORGED_SESSIONS);
	assert_true(walked.sink.reports.items[0].nonsense > 0);
	walked_free(&walked);
}

static void lists_that_do_not_end_are_left(void **state)
{
	struct forged *forged = *state;
	uint64_t segment = forged->base + AT_SEGMENTS;
	struct walked walked;

	forged_put_at(segment, 48, segment);
	forged_put_at(forged->base + AT_THREAD, 112, forged->base + AT_THREAD + 112);
	forged_put_at(forged->base + AT_SEGMENT, 1920 + 12 * 6, forged->base + AT_SEGMENT);
	walk(forged, &walked);
	assert_int_equal(walked.sink.reports.items[0].nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Planted.Session"), FORGED_SESSIONS);
	walked_free(&walked);
}

static void after_nonsense_the_next_object_is_found(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put_at(forged->sessions[1], 0, forged->base + 0x123456);
	walk(forged, &walked);
	assert_int_equal(walked.sink.reports.items[0].nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Planted.Session"), FORGED_SESSIONS - 1);
	walked_free(&walked);
}

/* The same numbers on every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 16;
}

/* What may stand in a word: small, large, an address of the forged memory, a type. */
static uint64_t random_word(const struct forged *forged, uint64_t *seed)
{
	uint64_t random = next_random(seed);

	switch (random % 6) {
	case 0:
		return random >> 8 & 0xff;
	case 1:
		return UINT64_MAX - (random >> 8 & 0xff);
	case 2:
		return random << 24 ^ next_random(seed);
	case 3:
		return forged->base + (random >> 8) % FORGED_BYTES;
	case 4:
		return forged->base + FORGED_REGION + (random >> 8) % 256 * 8;
	default:
		return forged_table(forged, (enum forged_type)((random >> 8) % FORGED_TYPES_));
	}
}

/* Where something stands. */
static uint64_t random_place(const struct forged *forged, uint64_t *seed)
{
	static const struct {
		uint32_t start, size;
	} places[] = {
		{AT_TABLE, 0x1000},	{AT_COLLECTOR, 0xa00},
		{AT_STORE, 0x3000},	{AT_TYPES, FORGED_TYPES_ * FORGED_TYPE_BYTES},
		{AT_IMAGE, 0x900},	{AT_SEGMENT, 0x1800},
		{FORGED_REGION, 0x600},
	};
	uint64_t random = next_random(seed);
	size_t i = random % ARRAY_SIZE(places);

	return forged->base + places[i].start + (random >> 8) % (places[i].size / 8) * 8;
}

static void expect_sound(const struct heap_sink *sink)
{
	for (uint32_t i = 0; i < sink->count; i++) {
		assert_true(!i || sink->starts[i] >= sink->starts[i - 1] + sink->sizes[i - 1]);
		assert_true(!node_has_class(sink->whats[i]) ||
			    (sink->whats[i] & NODE_CLASS) < sink->classes.count);
	}
	for (size_t i = 0; i < sink->references.count; i++)
		assert_true(sink->references.targets[i] < sink->count);
	for (size_t i = 0; i < sink->roots.count; i++)
		assert_true(sink->roots.items[i].node < sink->count);
}

/* Under sanitizers: nothing is read or written where it must not be, and it ends. */
static void nonsense_anywhere_does_no_harm(void **state)
{
	struct forged *forged = *state;
	unsigned char *kept = malloc(FORGED_BYTES);
	uint64_t seed = 42;

	assert_non_null(kept);
	memcpy(kept, forged->bytes, FORGED_BYTES);
	for (size_t i = 0; i < MUTANTS; i++) {
		struct walked walked = {0};

		for (uint64_t j = next_random(&seed) % 4; j < 4; j++)
			forged_put_at(random_place(forged, &seed), 0, random_word(forged, &seed));
		assert_int_equal(forged_walk(forged, &walked.strings, &walked.sink), 0);
		expect_sound(&walked.sink);
		walked_free(&walked);
		if (i % 4 == 3)
			memcpy(forged->bytes, kept, FORGED_BYTES);
	}
	free(kept);
}

int main(void)
{
#define FORGED(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
	const struct CMUnitTest tests[] = {
		FORGED(every_object_has_its_class),
		FORGED(references_have_the_names_of_fields),
		FORGED(what_holds_objects_has_a_name),
		FORGED(without_static_fields_objects_refer_all_the_same),
		FORGED(what_cannot_be_read_is_said),
		FORGED(memory_for_objects_to_come_ends_where_memory_does),
		FORGED(lists_that_do_not_end_are_left),
		FORGED(after_nonsense_the_next_object_is_found),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
