// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small Python made by hand; then the same with nonsense in it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "unit/cpython_fixture.h"

#define MUTANTS 400

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
		count += !strcmp(class_at(sink, i), name) && !(sink->whats[i] & NODE_PART);
	return count;
}

static bool refers(const struct heap_sink *sink, uint32_t from, uint32_t to, const char *label)
{
	for (uint32_t i = sink->first[from]; i < sink->first[from + 1]; i++) {
		uint32_t found = sink->references.labels[i];
		const char *name = heap_sink_label_name(sink, found);

		if (sink->references.targets[i] == to &&
		    (label ? name && !strcmp(name, label) : label_kind(found) == LABEL_INDEX))
			return true;
	}
	return false;
}

static void objects_have_their_classes_names_and_references(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint32_t list;

	walk(forged, &walked);
	assert_null(sink->reports.items[0].why);
	assert_string_equal(sink->reports.items[0].version, "3.11.2");
	assert_int_equal(sink->reports.items[0].nonsense, 0);
	assert_int_equal(count_class(sink, "app.Session"), FORGED_SESSIONS);
	assert_int_equal(count_class(sink, "list"), 1);
	assert_int_equal(count_class(sink, "module"), 1);
	assert_int_equal(count_class(sink, "type"), 1);
	assert_int_equal(sink->roots.count, 2);
	assert_string_equal(sink->roots.items[0].name, "module app → sessions");
	assert_string_equal(sink->roots.items[1].name, "frame Handler.get() → request");
	assert_int_equal(sink->roots.items[1].node, heap_sink_node(sink, forged->requested));
	list = heap_sink_node(sink, forged->sessions);
	assert_int_equal(sink->roots.items[0].node, list);
	assert_int_equal(sink->sizes[list], 56);
	assert_int_equal(sink->first[list + 1] - sink->first[list], FORGED_SESSIONS);
	for (uint32_t i = 0; i < sink->count; i++) {
		if (!strcmp(class_at(sink, i), "app.Session"))
			assert_true(refers(sink, list, i, NULL));
	}
	walked_free(&walked);
}

static void attributes_and_memory_that_belongs_to_an_object_are_its_own(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint64_t items = forged->blocks[2], session = *(uint64_t *)(uintptr_t)items;
	uint32_t node, value = 0;

	walk(forged, &walked);
	node = heap_sink_node(sink, items);
	assert_string_equal(class_at(sink, node), "list");
	assert_int_equal(sink->whats[node] & (NODE_PART | NODE_PRECISE), NODE_PART | NODE_PRECISE);
	assert_int_equal(sink->sizes[node], 600);
	node = heap_sink_node(sink, session);
	while (value < sink->count && !refers(sink, node, value, "name"))
		value++;
	assert_true(value < sink->count);
	assert_string_equal(class_at(sink, value), "str");
	/* In a list of free blocks, and in one of dead objects. */
	assert_int_equal(heap_sink_node(sink, forged->free_session), BLOCK_NONE);
	walked_free(&walked);
}

static void what_is_no_name_in_the_code_has_no_label(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t session = *(uint64_t *)(uintptr_t)forged->blocks[2];
	uint32_t node;

	/* Not interned: the key may be data. */
	forged_put_half(forged->names, 32, 1u << 2 | 1u << 5 | 1u << 6);
	walk(forged, &walked);
	node = heap_sink_node(&walked.sink, session);
	assert_true(walked.sink.first[node + 1] > walked.sink.first[node]);
	for (uint32_t i = walked.sink.first[node]; i < walked.sink.first[node + 1]; i++)
		assert_int_equal(walked.sink.references.labels[i], 0);
	walked_free(&walked);
}

/* Objects/locations.md: an instruction of line 30, and two of line 32. */
static void code_is_in_the_line_that_its_table_says(void **state)
{
	struct forged *forged = *state;
	const uint64_t code = forged->base + 0xe000;
	struct target_memory memory = {.pagemap = -1};
	struct cpython python = {0};
	struct cpython_place place;
	char version[24];
	const char *why;
	static const struct {
		uint32_t offset, line;
	} cases[] = {{0, 30}, {2, 32}, {4, 32}, {6, 0}, {CPYTHON_NO_OFFSET, 30}};

	assert_int_equal(target_memory_open(&forged->maps, &forged->modules, NULL, &memory), 0);
	assert_int_equal(cpython_open(&memory, &python, version, &why), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(cpython_place_of(&python, code, cases[i].offset, &place));
		assert_int_equal(place.line, cases[i].line);
	}
	assert_string_equal(place.function, "Handler.get");
	assert_string_equal(place.file, "/srv/app.py");
	assert_false(cpython_place_of(&python, forged->sessions, 0, &place));
	cpython_close(&python);
	target_memory_close(&memory);
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

static void what_contradicts_itself_is_not_read(void **state)
{
	struct forged *forged = *state;
	uint64_t version = forged_symbol(forged, FORGED_VERSION);
	uint64_t runtime = forged_symbol(forged, FORGED_RUNTIME);

	forged_put_half(version, 0, 0x030e00f0);
	expect_why(forged, "version");
	forged_put_half(version, 0, 0x030a00f0); /* its interpreter is elsewhere */
	expect_why(forged, "interpreter is not");
	forged_put_half(version, 0, 0x030b02f0);
	forged_put_at(forged->base, 0xf000, 0);
	expect_why(forged, "allocator is not found");
	forged_put_at(runtime, 40, runtime);
	expect_why(forged, "interpreter is not");
}

static void a_pool_that_contradicts_itself_is_left_out(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t pool = forged->pool_of[0].address, free_block = pool + 48;

	/* In a circle. */
	forged_put_at(pool, 8, free_block);
	forged_put_at(free_block, 0, free_block);
	walk(forged, &walked);
	assert_true(walked.sink.reports.items[0].nonsense > 0);
	assert_int_equal(heap_sink_node(&walked.sink, free_block), BLOCK_NONE);
	walked_free(&walked);
}

/* The same numbers on every run. */
static uint64_t next_random(uint64_t *seed)
{
	*seed = *seed * 6364136223846793005ull + 1442695040888963407ull;
	return *seed >> 16;
}

/* What may stand in a word: small, large, or an address of the forged memory. */
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
	case 4: /* another object */
		return forged->pools + ((random >> 8) % 2048) * 16;
	default:
		return forged_symbol(forged, (enum forged_symbol)((random >> 8) % FORGED_SYMBOLS_));
	}
}

/* Where something stands. */
static uint64_t random_place(const struct forged *forged, uint64_t *seed)
{
	uint64_t random = next_random(seed);

	switch (random % 3) {
	case 0:
		return forged->base + (random >> 8) % (FORGED_DATA / 8) * 8;
	case 1:
		return forged->base + FORGED_MALLOC +
		       (random >> 8) % ((forged->malloc_end - forged->base - FORGED_MALLOC) / 8) *
			       8;
	default: /* the first blocks of a pool */
		return forged->pools + (random >> 8) % 8 * FORGED_POOL + (random >> 16) % 256 * 8;
	}
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
		FORGED(objects_have_their_classes_names_and_references),
		FORGED(attributes_and_memory_that_belongs_to_an_object_are_its_own),
		FORGED(what_is_no_name_in_the_code_has_no_label),
		FORGED(code_is_in_the_line_that_its_table_says),
		FORGED(what_contradicts_itself_is_not_read),
		FORGED(a_pool_that_contradicts_itself_is_left_out),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
