// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small Python made by hand; then the same with nonsense in it. */
#include "unit/cpython_fixture.h"

#include <dlfcn.h>

#include "heap/runtime/cpython/python_reader.h"
#include "heap/runtime/target_memory.h"

#define MUTANTS 400
#include "unit/walked.h"

static bool refers_as(const struct heap_sink *sink, uint32_t from, uint32_t to, const char *label)
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

	walk(&forged->memory, &walked);
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
	assert_int_equal(count_references(sink, forged->sessions), FORGED_SESSIONS);
	for (uint32_t i = 0; i < sink->count; i++) {
		if (!strcmp(class_at(sink, i), "app.Session"))
			assert_true(refers_as(sink, list, i, NULL));
	}
	walked_free(&walked);
}

static void a_collector_that_is_off_and_what_is_frozen_are_reported(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_freeze(forged, 0);
	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->collector_off);
	assert_int_equal(REPORT(&walked)->frozen, 2);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	walked_free(&walked);
}

/* By the offsets of each version, or of some of its releases. */
static void every_collector_is_found(void **state)
{
	static const unsigned versions[] = {0x0309, 0x030d, 0x030e, 0x030f};
	struct forged forged;
	struct walked walked;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions) * CPYTHON_COLLECTORS; i++) {
		unsigned version = versions[i / CPYTHON_COLLECTORS];
		const struct cpython_collector *places =
			&cpython_layout(version)->collectors[i % CPYTHON_COLLECTORS];

		if (!places->first)
			continue;
		assert_true(forged_make_version(&forged, version));
		forged_freeze_at(&forged, places, 0);
		walk(&forged.memory, &walked);
		assert_true(REPORT(&walked)->collector_off);
		assert_int_equal(REPORT(&walked)->frozen, 2);
		walked_free(&walked);
		forged_memory_free(&forged.memory);
	}
}

static void a_list_of_the_collectors_that_contradicts_itself_ends_there(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_freeze(forged, forged->memory.base);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->frozen, 1);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	walked_free(&walked);
}

static bool refers_to(const struct heap_sink *sink, uint32_t from, uint32_t to)
{
	for (uint32_t i = sink->first[from]; i < sink->first[from + 1]; i++) {
		if (sink->references.targets[i] == to)
			return true;
	}
	return false;
}

static void attributes_and_memory_that_belongs_to_an_object_are_its_own(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint64_t items = forged->memory.blocks[2], session = *(uint64_t *)(uintptr_t)items;
	uint32_t node, value = 0;

	walk(&forged->memory, &walked);
	node = heap_sink_node(sink, items);
	assert_string_equal(class_at(sink, node), "list");
	assert_int_equal(sink->whats[node] & (NODE_PART | NODE_PRECISE), NODE_PART | NODE_PRECISE);
	assert_int_equal(sink->sizes[node], 600);
	assert_true(refers_to(sink, heap_sink_node(sink, forged->sessions), node));
	node = heap_sink_node(sink, session);
	while (value < sink->count && !refers_as(sink, node, value, "name"))
		value++;
	assert_true(value < sink->count);
	assert_string_equal(class_at(sink, value), "str");
	/* In a list of free blocks, and in one of dead objects. */
	assert_int_equal(heap_sink_node(sink, forged->free_session), BLOCK_NONE);
	walked_free(&walked);
}

/* Their tables and blocks are theirs, and words outside of their ends hold nothing. */
static void containers_hold_what_is_in_them(void **state)
{
	struct forged *forged = *state;
	const uint64_t *sessions = (const uint64_t *)(uintptr_t)forged_word(forged->sessions + 24);
	const struct {
		uint64_t *container;
		size_t first, end; /* indexes of the sessions */
	} cases[] = {
		{&forged->small_set, 0, 1},
		{&forged->large_set, 1, 2},
		{&forged->deque, 0, 3},
	};
	struct walked walked;

	forged_containers(forged);
	walk(&forged->memory, &walked);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		for (size_t j = 0; j < FORGED_SESSIONS; j++) {
			bool holds = j >= cases[i].first && j < cases[i].end;

			if (refers(&walked.sink, *cases[i].container - 16, sessions[j] - 16) !=
			    holds)
				fail_msg("case %zu, session %zu", i, j);
		}
	}
	walked_free(&walked);
}

static bool is_claimed(const struct heap_sink *sink, uint64_t address)
{
	for (size_t i = 0; i < sink->claimed.count; i++) {
		if (address >= sink->claimed.items[i].start && address < sink->claimed.items[i].end)
			return true;
	}
	return false;
}

/* In code that lies among variables, its counts and its bytecode; in a type its flags. */
static void numbers_of_compiled_objects_hold_nothing(void **state)
{
	struct forged *forged = *state;
	const struct cpython_frames *layout = &forged->layout->frames;
	uint64_t type = forged_symbol(forged, FORGED_CODE);
	struct walked walked;

	forged_type(forged, type, "code", 0, layout->bytecode, 2);
	forged_put_at(FORGED_CODE_AT, OBJECT_REFCOUNT, 999999999);
	forged_put_at(FORGED_CODE_AT, OBJECT_SIZE, 20);
	walk(&forged->memory, &walked);
	assert_true(is_claimed(&walked.sink, FORGED_CODE_AT + layout->first_line));
	assert_true(is_claimed(&walked.sink, FORGED_CODE_AT + layout->bytecode));
	assert_true(is_claimed(&walked.sink, FORGED_CODE_AT + layout->bytecode + 32));
	assert_false(is_claimed(&walked.sink, FORGED_CODE_AT + layout->bytecode + 40));
	assert_false(is_claimed(&walked.sink, FORGED_CODE_AT + layout->file));
	assert_true(is_claimed(&walked.sink, type + TYPE_FLAGS));
	assert_true(is_claimed(&walked.sink, type + TYPE_BASICSIZE));
	assert_false(is_claimed(&walked.sink, type + TYPE_DICT));
	walked_free(&walked);
	/* Without such a reference count it is not an object. */
	forged_put_at(FORGED_CODE_AT, OBJECT_REFCOUNT, 2);
	walk(&forged->memory, &walked);
	assert_false(is_claimed(&walked.sink, FORGED_CODE_AT + layout->bytecode));
	walked_free(&walked);
}

/* Neither letters, nor a hash, nor a list's length. */
static void numbers_of_objects_hold_nothing(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct managed_class *class;
	uint32_t node;

	walk(&forged->memory, &walked);
	node = heap_sink_node(&walked.sink, forged->names);
	assert_string_equal(class_at(&walked.sink, node), "str");
	assert_true(walked.sink.whats[node] & NODE_PRECISE);
	node = heap_sink_node(&walked.sink, forged->sessions);
	class = &walked.sink.classes.items[walked.sink.whats[node] & NODE_CLASS];
	/* After two links: ob_refcnt, ob_size, allocated. */
	assert_int_equal(class->quiet_words, 1 << 2 | 1 << 4 | 1 << 6);
	node = heap_sink_node(&walked.sink, forged->session_type);
	class = &walked.sink.classes.items[walked.sink.whats[node] & NODE_CLASS];
	assert_true(class->quiet_words >> (2 + TYPE_FLAGS / 8) & 1);
	assert_false(class->quiet_words >> (2 + TYPE_DICT / 8) & 1);
	walked_free(&walked);
}

/* Another object with the same words from an offset on. */
static uint64_t twin(struct forged *forged, uint64_t object, uint32_t from, uint32_t size)
{
	uint64_t made = forged_object(forged, forged_word(object + OBJECT_TYPE), size, true);

	for (uint32_t i = from; i < size; i += 8)
		forged_put_at(made, i, forged_word(object + i));
	return made - COLLECTOR_LINKS;
}

/* References of the first two objects of a kind, which have the same array, are the first one's. */
static void expect_one_holder(struct forged *forged, uint64_t object, uint64_t other, uint32_t all)
{
	struct walked walked;
	uint32_t found[2];

	walk(&forged->memory, &walked);
	found[0] = count_references(&walked.sink, object);
	found[1] = count_references(&walked.sink, other);
	if (found[0] + found[1] != all || (found[0] && found[1]))
		fail_msg("%u and %u of %u", found[0], found[1], all);
	walked_free(&walked);
}

/* Makes a table with an unusual number of names, each with that value. */
static uint64_t large_keys(struct forged *forged, size_t names, uint64_t value)
{
	uint64_t keys = forged_memory_malloc(&forged->memory, 32 + 512 + names * 16);

	forged_put_at(keys, 0, 1);
	forged_put_at(keys, 8, 9 | 9 << 8 | 1 << 16); /* places, bytes of indices, names only */
	forged_put_at(keys, 24, names);
	for (size_t i = 0; i < names; i++) {
		forged_put_at(keys + 32 + 512, i * 16, forged->names);
		forged_put_at(keys + 32 + 512, i * 16 + 8, value);
	}
	return keys;
}

static void an_array_of_many_objects_is_read_for_one(void **state)
{
	struct forged *forged = *state;
	uint64_t dict = forged_word(forged->requested + 24);

	forged_containers(forged);
	expect_one_holder(forged, forged->sessions, twin(forged, forged->sessions, 16, 40),
			  FORGED_SESSIONS);
	expect_one_holder(forged, forged->large_set, twin(forged, forged->large_set, 16, 200), 1);
	expect_one_holder(forged, dict, twin(forged, dict, 16, 48), 2);
}

static void values_of_many_dictionaries_are_those_of_one(void **state)
{
	static const unsigned versions[] = {0x030a, 0x030d};
	struct forged forged;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		uint64_t slim, dict;

		assert_true(forged_make_version(&forged, versions[i]));
		forged_slim(&forged);
		if (versions[i] == 0x030a) {
			dict = forged_word(forged.slim + 16 + 16);
		} else {
			slim = forged.slim + 32;
			dict = forged_dict(&forged, NULL, 0);
			forged_put_at(dict, 32,
				      forged_word(forged_word(slim + OBJECT_TYPE) +
						  forged.layout->cached_keys));
			forged_put_at(dict, 40, slim + 16);
			forged_put_at(slim - 24, 0, dict);
		}
		expect_one_holder(&forged, dict, twin(&forged, dict, 16, 48), 2);
		forged_memory_free(&forged.memory);
	}
}

static void many_attributes_are_those_of_one_object(void **state)
{
	struct forged *forged = *state;
	uint64_t dict = forged_dict(forged, NULL, 0);

	forged_put_at(dict, 32, large_keys(forged, 31, forged->sessions));
	forged_put_at(forged->requested, 24, dict);
	expect_one_holder(forged, forged->requested, twin(forged, forged->requested, 16, 32), 31);
}

static void instances_have_no_more_values_than_a_byte_counts(void **state)
{
	struct forged *forged = *state;
	uint64_t values = forged_memory_malloc(&forged->memory, 300 * 8ull), type;
	struct walked walked;

	forged_slim(forged);
	type = forged_word(forged->slim + 32 + OBJECT_TYPE);
	forged_put_at(type, forged->layout->cached_keys, large_keys(forged, 300, 0));
	forged_put_at(forged->slim, 0, values);
	for (size_t i = 0; i < 300; i++)
		forged_put_at(values, i * 8, forged->requested);
	walk(&forged->memory, &walked);
	assert_int_equal(count_references(&walked.sink, forged->slim), 254);
	walked_free(&walked);
}

/* A module may have several names. */
static void variables_of_modules_with_one_dictionary_are_read_a_few_times(void **state)
{
	struct forged *forged = *state;
	uint64_t modules = forged_word(FORGED_INTERPRETER + forged->layout->modules);
	uint64_t app = forged_word(forged_word(modules + 32) + 32 + 8 + 8);
	struct walked walked;

	forged_put_at(modules, 32, large_keys(forged, 20, app));
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "module name → sessions", forged->sessions);
	assert_int_equal(walked.sink.roots.count, 16 + 1);
	walked_free(&walked);
}

/* A table with the hash of a type and the type: as if an object of it began there. */
static void what_the_collector_does_not_list_is_no_instance(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t table = forged_block(forged, 48);

	forged_put_at(table, 16, 7);
	forged_put_at(table, 24, forged->session_type);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "app.Session"), FORGED_SESSIONS);
	assert_int_equal(walked.sink.whats[heap_sink_node(&walked.sink, table)], NODE_OWN);
	walked_free(&walked);
}

static void what_is_listed_belongs_to_no_other_object(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t session = *(uint64_t *)(uintptr_t)forged->memory.blocks[2];
	uint32_t node;

	/* The list holds the session as one of its items. */
	forged_put_at(forged->sessions, 24, session);
	walk(&forged->memory, &walked);
	node = heap_sink_node(&walked.sink, session);
	assert_string_equal(class_at(&walked.sink, node), "app.Session");
	assert_int_equal(walked.sink.whats[node] & (NODE_CERTAIN | NODE_PART), NODE_CERTAIN);
	walked_free(&walked);
}

static void what_is_no_name_in_the_code_has_no_label(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t session = *(uint64_t *)(uintptr_t)forged->memory.blocks[2];
	uint32_t node;

	/* Not interned: the key may be data. */
	forged_put_half(forged->names, 32, 1u << 2 | 1u << 5 | 1u << 6);
	walk(&forged->memory, &walked);
	node = heap_sink_node(&walked.sink, session);
	assert_true(walked.sink.first[node + 1] > walked.sink.first[node]);
	for (uint32_t i = walked.sink.first[node]; i < walked.sink.first[node + 1]; i++)
		assert_int_equal(walked.sink.references.labels[i], 0);
	walked_free(&walked);
}

static void expect_lines(const struct forged *forged)
{
	struct target_memory memory = {.pagemap = -1};
	struct cpython python = {0};
	struct cpython_place place;
	char version[24];
	const char *why;
	/* Up to 3.9 the last line has no end. */
	const struct {
		uint32_t offset, line;
	} cases[] = {{0, 30},
		     {2, 32},
		     {4, 32},
		     {6, forged->layout->version == 0x0309 ? 32 : 0},
		     {CPYTHON_NO_OFFSET, 30}};

	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	assert_int_equal(cpython_open(&memory, &python, version, &why), 0);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(cpython_place_of(&python, FORGED_CODE_AT, cases[i].offset, &place));
		assert_int_equal(place.line, cases[i].line);
	}
	assert_string_equal(place.function, "Handler.get");
	assert_string_equal(place.file, "/srv/app.py");
	assert_false(cpython_place_of(&python, forged->sessions, 0, &place));
	cpython_close(&python);
	target_memory_close(&memory);
}

static void code_is_in_the_line_of_its_table(void **state)
{
	expect_lines(*state);
}

static void expect_version_is_read(struct forged *forged)
{
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint32_t requested;

	forged_slim(forged);
	forged_generator(forged);
	walk(&forged->memory, &walked);
	if (REPORT(&walked)->why)
		fail_msg("%x: %s", forged->layout->version, REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_int_equal(count_class(sink, "app.Session"), FORGED_SESSIONS);
	expect_root(sink, "module app → sessions", forged->sessions);
	expect_root(sink, "frame Handler.get() → request", forged->requested);
	requested = heap_sink_node(sink, forged->requested);
	assert_true(refers_as(sink, heap_sink_node(sink, forged->slim), requested, "kept"));
	assert_true(refers_as(sink, heap_sink_node(sink, forged->generator), requested, "request"));
	expect_lines(forged);
	walked_free(&walked);
}

static void expect_no_harm_of_more(struct forged *forged)
{
	forged_more(forged);
	forged_memory_find_places(&forged->memory);
	expect_no_harm_of_nonsense(&forged->memory, MUTANTS);
}

/* Made by its own layout: an offset that is wrong in both is seen with a real one only. */
static void expect_of_every_version(void (*expect)(struct forged *forged))
{
	static const unsigned versions[] = {0x0309, 0x030a, 0x030b, 0x030c, 0x030d, 0x030e, 0x030f};
	struct forged forged;

	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		assert_true(forged_make_version(&forged, versions[i]));
		expect(&forged);
		forged_memory_free(&forged.memory);
	}
}

static void every_version_is_read_by_its_layout(void **state)
{
	(void)state;
	expect_of_every_version(expect_version_is_read);
}

static void nonsense_in_any_version_does_no_harm(void **state)
{
	(void)state;
	expect_of_every_version(expect_no_harm_of_more);
}

static void what_contradicts_itself_is_not_read(void **state)
{
	struct forged *forged = *state;
	uint64_t version = forged_symbol(forged, FORGED_VERSION);
	uint64_t runtime = forged_symbol(forged, FORGED_RUNTIME);

	forged_put_half(version, 0, 0x030800f0);
	expect_why(&forged->memory, "version");
	forged_put_half(version, 0, 0x030a00f0); /* its interpreter is elsewhere */
	expect_why(&forged->memory, "interpreter is not");
	forged_put_half(version, 0, 0x030b02f0);
	forged_put_at(forged->memory.base, 0xf000, 0);
	expect_why(&forged->memory, "allocator is not found");
	forged_put_at(runtime, 40, runtime);
	expect_why(&forged->memory, "interpreter is not");
}

/* Changes a word in the description of the known release of 3.14. */
static void redescribe(const struct forged *forged, size_t word, uint64_t place)
{
	forged_put_at(forged_symbol(forged, FORGED_RUNTIME), word * 8, place);
}

static void rename_release(const struct forged *forged, uint32_t release)
{
	forged_put_half(forged_symbol(forged, FORGED_VERSION), 0, release);
	redescribe(forged, 1, release);
}

/* Each field lies at a higher offset, and the description says so. */
static void what_a_release_has_moved_is_read_where_it_says(void **state)
{
	struct cpython_layout moved = *cpython_layout(0x030e);
	struct forged forged;
	const struct {
		uint32_t *place;
		size_t word;
	} fields[] = {{&moved.interpreters, 5},	    {&moved.next, 8},
		      {&moved.threads, 9},	    {&moved.collector, 11},
		      {&moved.modules, 12},	    {&moved.frames.frame, 26},
		      {&moved.frames.handle, 27},   {&moved.frames.native, 28},
		      {&moved.frames.file, 40},	    {&moved.frames.qualified, 42},
		      {&moved.frames.lines, 43},    {&moved.frames.first_line, 44},
		      {&moved.frames.names[0], 46}, {&moved.frames.bytecode, 48},
		      {&moved.frames.generator, 85}};

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		*fields[i].place += 32;
	assert_true(forged_make_layout(&forged, &moved));
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
		redescribe(&forged, fields[i].word, *fields[i].place);
	expect_version_is_read(&forged);
	forged_memory_free(&forged.memory);
}

static void what_contradicts_the_description_is_named(void **state)
{
	static const struct {
		size_t word;
		uint64_t place;
		const char *named;
	} cases[] = {{1, 0x030e05f0, "its version"},
		     {9, 1ull << 40, "PyInterpreterState.threads.head"},
		     {9, 7345, "PyInterpreterState.threads.head"},
		     {25, 24, "PyThreadState.interp"},
		     {26, 70000, "PyThreadState.current_frame"},
		     {32, 80, "_PyInterpreterFrame.previous"},
		     {35, 112, "_PyInterpreterFrame.localsplus"},
		     {36, 80, "_PyInterpreterFrame.owner"},
		     {51, 24, "PyObject.ob_type"},
		     {55, 176, "PyTypeObject.tp_flags"},
		     {67, 40, "PyDictObject.ma_keys"}};
	struct forged forged;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(forged_make_version(&forged, 0x030e));
		redescribe(&forged, cases[i].word, cases[i].place);
		expect_why(&forged.memory, cases[i].named);
		forged_memory_free(&forged.memory);
	}
}

static void expect_untested(struct forged *forged, bool untested)
{
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->untested, untested);
	assert_int_equal(count_class(&walked.sink, "app.Session"), FORGED_SESSIONS);
	walked_free(&walked);
}

static void a_later_version_that_describes_itself_is_read_and_marked(void **state)
{
	static const struct {
		unsigned like;
		uint32_t release;
		bool untested;
	} cases[] = {{0x030d, 0x030d0200, false},
		     {0x030e, 0x030e0af0, false},
		     {0x030e, 0x030e63f0, true},
		     {0x030f, 0x030f02f0, false},
		     {0x030f, 0x031000f0, true}};
	struct forged forged;

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		assert_true(forged_make_version(&forged, cases[i].like));
		rename_release(&forged, cases[i].release);
		expect_untested(&forged, cases[i].untested);
		forged_memory_free(&forged.memory);
	}
	assert_true(forged_make_version(&forged, 0x030f));
	rename_release(&forged, 0x031000f0);
	redescribe(&forged, 0, 0);
	expect_why(&forged.memory, "version");
	forged_memory_free(&forged.memory);
}

/* No description has that place. */
static void arenas_are_found_where_a_later_version_has_them(void **state)
{
	struct cpython_layout moved = *cpython_layout(0x030f);
	struct forged forged;

	(void)state;
	moved.obmalloc += 64;
	assert_true(forged_make_layout(&forged, &moved));
	expect_why(&forged.memory, "allocator is not found");
	rename_release(&forged, 0x030f63f0);
	expect_untested(&forged, true);
	forged_memory_free(&forged.memory);
}

/* Free-threaded builds, by a table made with their headers: none was run. */

#define SHIFT 16

static uint64_t shifted(const struct forged *forged, uint64_t at, enum forged_symbol type)
{
	forged_put_at(at, SHIFT + OBJECT_TYPE, forged_symbol(forged, type));
	return at;
}

static uint64_t shifted_str(const struct forged *forged, uint64_t at, const char *text)
{
	forged_put_at(at, SHIFT + OBJECT_SIZE, strlen(text));
	forged_put_half(at, SHIFT + STR_STATE, 1u | 1u << 2 | 1u << 5 | 1u << 6);
	memcpy((void *)(uintptr_t)(at + SHIFT + 40), text, strlen(text) + 1);
	return shifted(forged, at, FORGED_STR);
}

static void put_shifted_types(const struct forged *forged)
{
	static const struct {
		enum forged_symbol symbol;
		uint64_t flags;
	} types[] = {{FORGED_TYPE, FLAG_TYPE},
		     {FORGED_STR, FLAG_STR},
		     {FORGED_DICT, FLAG_DICT},
		     {FORGED_TUPLE, FLAG_TUPLE}};

	for (size_t i = 0; i < ARRAY_SIZE(types); i++) {
		uint64_t type =
			shifted(forged, forged_symbol(forged, types[i].symbol), FORGED_TYPE);

		memset((void *)(uintptr_t)type, 0, SHIFT + OBJECT_TYPE);
		forged_put_at(type, SHIFT + TYPE_BASICSIZE, 64);
		forged_put_at(type, SHIFT + TYPE_ITEMSIZE, 0);
		forged_put_at(type, SHIFT + TYPE_FLAGS, types[i].flags | FLAG_READY);
	}
}

/* Writes the description of a free-threaded 3.14. */
static void describe_free_threaded(const struct forged *forged)
{
	static const uint16_t words[][2] = {{2, 1},    {12, 7712}, {36, 78},  {38, 72}, {40, 128},
					    {41, 136}, {42, 144},  {43, 152}, {44, 84}, {46, 112},
					    {48, 232}, {49, 224},  {51, 24},  {53, 40}, {55, 184},
					    {57, 48},  {58, 32},   {60, 40},  {61, 32}, {64, 56},
					    {65, 48},  {67, 48},   {68, 56},  {72, 32}, {76, 48},
					    {78, 48},  {79, 32},   {80, 56},  {85, 88}, {86, 83}};

	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		redescribe(forged, words[i][0], words[i][1]);
}

/*
 * Makes a thread that runs the second instruction of a copy of `Handler.get`'s code, or of the
 * original.
 */
static void put_shifted_frame(const struct forged *forged, uint32_t copy)
{
	uint64_t at = forged->memory.base + 0x18000, code = FORGED_CODE_AT, frame = FORGED_FRAME;
	uint64_t copies = at + 0x800, lines = at + 0x400;

	memset((void *)(uintptr_t)code, 0, 0x400);
	shifted(forged, code, FORGED_CODE);
	forged_put_half(code, 84, 30);
	forged_put_half(code, 80, 1);
	forged_put_at(code, 128, shifted_str(forged, at, "/srv/app.py"));
	forged_put_at(code, 144, shifted_str(forged, at + 0x100, "Handler.get"));
	forged_put_at(code, 152, lines);
	forged_put_at(code, 224, copies);
	forged_put_at(lines, SHIFT + OBJECT_SIZE, 6);
	memcpy((void *)(uintptr_t)(lines + SHIFT + BYTES_TEXT), "\xd0\0\0\xe1\0\0", 6);
	forged_put_at(copies, 0, 2);
	forged_put_at(copies, 8, code + 232);
	forged_put_at(copies, 16, at + 0x900);
	forged_put_at(frame, 0, code | 1);
	forged_put_at(frame, 56, (copy ? at + 0x900 : code + 232) + 2);
	forged_put_half(frame, 72, copy);
	forged_put_at(FORGED_INTERPRETER, 7712, shifted(forged, at + 0x200, FORGED_DICT));
}

static void expect_shifted(const struct forged *forged, const char *version)
{
	struct target_memory memory = {.pagemap = -1};
	struct python_stacks stacks = {0};
	const struct frame *frame;

	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	assert_int_equal(python_stacks_of(&memory, &stacks), 0);
	if (stacks.why)
		fail_msg("%s", stacks.why);
	assert_string_equal(stacks.version, version);
	assert_true(stacks.untested);
	assert_int_equal(stacks.groups.count, 1);
	assert_int_equal(stacks.groups.items[0].stack.list.count, 1);
	frame = &stacks.groups.items[0].stack.list.items[0];
	assert_string_equal(frame->function, "Handler.get");
	assert_string_equal(frame->file, "/srv/app.py");
	assert_int_equal(frame->line, 32);
	python_stacks_free(&stacks);
	target_memory_close(&memory);
}

static void threads_of_a_free_threaded_build_are_read(void **state)
{
	struct forged forged;

	(void)state;
	for (uint32_t copy = 0; copy < 2; copy++) {
		assert_true(forged_make_version(&forged, 0x030e));
		describe_free_threaded(&forged);
		put_shifted_types(&forged);
		put_shifted_frame(&forged, copy);
		expect_shifted(&forged, "3.14.2");
		expect_why(&forged.memory, "free-threaded");
		forged_memory_free(&forged.memory);
	}
}

/* Each thread, frame and interpreter is itself the next one. */
static void lists_that_lead_to_themselves_end(void **state)
{
	struct forged *forged = *state;
	const struct cpython_layout *layout = forged->layout;
	struct walked walked;
	size_t roots;

	walk(&forged->memory, &walked);
	roots = walked.sink.roots.count;
	walked_free(&walked);
	forged_put_at(FORGED_INTERPRETER, layout->next, FORGED_INTERPRETER);
	forged_put_at(FORGED_THREAD, 8, FORGED_THREAD);
	forged_put_at(FORGED_FRAME, layout->frames.previous, FORGED_FRAME);
	walk(&forged->memory, &walked);
	assert_in_range(walked.sink.roots.count, roots, roots + 20);
	walked_free(&walked);
}

#define DEEP_FRAMES 5000

/* The outermost call of a deep recursion holds its variables' objects, like the innermost. */
static void frames_are_roots_however_deep_a_recursion_is(void **state)
{
	struct forged *forged = *state;
	const struct cpython_frames *layout = &forged->layout->frames;
	uint64_t last = FORGED_FRAME, frames = forged->memory.base + (2u << 20);
	struct walked walked;

	for (uint64_t i = 1; i < DEEP_FRAMES; i++) {
		uint64_t frame = frames + i * 128;

		forged_put_frame(forged, frame);
		forged_put_at(last, layout->previous, frame);
		last = frame;
	}
	walk(&forged->memory, &walked);
	assert_int_equal(count_roots(&walked.sink, "frame Handler.get() → request"), DEEP_FRAMES);
	walked_free(&walked);
}

#define MANY_THREADS 600
#define CHAIN_FRAMES 511

/* Makes threads that were called by the same frames, each from a different line. */
static void put_threads(struct forged *forged)
{
	const struct cpython_frames *layout = &forged->layout->frames;
	uint64_t chain = forged->memory.base + (2u << 20), frames = chain + CHAIN_FRAMES * 128ull;
	uint64_t threads = frames + MANY_THREADS * 128ull, table = threads + MANY_THREADS * 512ull;

	for (uint64_t i = 0; i < CHAIN_FRAMES + MANY_THREADS; i++) {
		uint64_t frame = chain + i * 128;

		forged_put_frame(forged, frame);
		forged_put_at(frame, layout->previous,
			      i < CHAIN_FRAMES ? (i ? frame - 128 : 0) : frames - 128);
	}
	for (uint64_t i = 0; i < MANY_THREADS; i++) {
		uint64_t thread = threads + i * 512, current = thread + 480;

		forged_put_at(frames + i * 128, layout->instruction,
			      FORGED_CODE_AT + layout->bytecode + i * 2);
		forged_put_at(thread, 8, i + 1 < MANY_THREADS ? thread + 512 : 0);
		forged_put_at(thread, 16, FORGED_INTERPRETER);
		forged_put_at(thread, layout->frame, current);
		forged_put_at(current, layout->current, frames + i * 128);
	}
	forged_put_at(FORGED_INTERPRETER, forged->layout->threads, threads);
	forged_put_at(FORGED_CODE_AT, layout->lines, table);
	forged_put_at(table, OBJECT_SIZE, MANY_THREADS);
	memset((void *)(uintptr_t)(table + 32), 0x80 | 11 << 3, MANY_THREADS);
}

static void stacks_of_threads_have_a_limit_together(void **state)
{
	struct forged *forged = *state;
	struct target_memory memory = {.pagemap = -1};
	struct python_stacks stacks = {0};
	size_t frames = 0;

	put_threads(forged);
	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	assert_int_equal(python_stacks_of(&memory, &stacks), 0);
	assert_null(stacks.why);
	assert_int_equal(stacks.threads, MANY_THREADS);
	for (size_t i = 0; i < stacks.groups.count; i++)
		frames += stacks.groups.items[i].stack.list.count;
	assert_int_equal(frames, (1 << 18) + 1);
	assert_int_equal(stacks.groups.count, 512 + 1);
	/* The report mentions unread frames. */
	assert_int_equal(stacks.groups.items[0].tids.count, MANY_THREADS - 512);
	assert_int_equal(stacks.groups.items[0].stack.list.count, 1);
	assert_string_equal(stacks.groups.items[0].stack.list.items[0].why,
			    "callers that were not read");
	assert_non_null(stacks.groups.items[1].stack.list.items[0].function);
	python_stacks_free(&stacks);
	target_memory_close(&memory);
}

static int64_t work_max = INT64_MAX;

int target_memory_open(const struct maps *maps, const struct data_modules *modules,
		       const struct page_table *kept, struct target_memory *memory)
{
	static int (*real)(const struct maps *, const struct data_modules *,
			   const struct page_table *, struct target_memory *);
	int error;

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "target_memory_open");
	error = real(maps, modules, kept, memory);
	memory->work_left = memory->work_most = MIN(memory->work_most, work_max);
	return error;
}

#define MANY_INTERPRETERS 1100

/* Before the one with modules. */
static void modules_of_any_number_of_interpreters_are_read(void **state)
{
	struct forged *forged = *state;
	const struct cpython_layout *layout = forged->layout;
	uint64_t at = forged_memory_more(&forged->memory, MANY_INTERPRETERS * 1024ull);
	uint64_t none = forged_dict(forged, NULL, 0);
	struct walked walked;

	assert_int_not_equal(at, 0);
	forged_put_at(forged_symbol(forged, FORGED_RUNTIME), layout->interpreters, at);
	for (uint64_t i = 0; i < MANY_INTERPRETERS; i++, at += 1024) {
		forged_put_at(at, layout->next,
			      i + 1 < MANY_INTERPRETERS ? at + 1024 : FORGED_INTERPRETER);
		forged_put_at(at, layout->threads, at + 64);
		forged_put_at(at + 64, 16, at);
		forged_put_at(at, layout->modules, none);
	}
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	expect_root(&walked.sink, "module app → sessions", forged->sessions);
	expect_root(&walked.sink, "frame Handler.get() → request", forged->requested);
	walked_free(&walked);
}

#define MORE_THREADS 65537

static void frames_of_any_number_of_threads_are_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t at = forged_memory_more(&forged->memory, MORE_THREADS * 64ull + 4096);
	struct walked walked;

	assert_int_not_equal(at, 0);
	forged_put_at(FORGED_INTERPRETER, forged->layout->threads, at);
	forged_put_at(at, 16, FORGED_INTERPRETER);
	for (uint64_t i = 0; i < MORE_THREADS; i++, at += 64)
		forged_put_at(at, 8, i + 1 < MORE_THREADS ? at + 64 : FORGED_THREAD);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	expect_root(&walked.sink, "frame Handler.get() → request", forged->requested);
	walked_free(&walked);
}

#define MANY_VARIABLES 5000

/* The table was made before malloc's blocks were tracked. */
static void all_variables_of_a_table_in_no_block_are_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t keys = forged_memory_more(&forged->memory, 32 + (1 << 14) + MANY_VARIABLES * 16);
	uint64_t modules = forged_word(FORGED_INTERPRETER + forged->layout->modules);
	uint64_t app = forged_word(forged_word(modules + 32) + 32 + 8 + 8);
	uint64_t last = keys + 32 + (1 << 14) + (MANY_VARIABLES - 1) * 16;
	struct walked walked;

	assert_int_not_equal(keys, 0);
	forged_put_at(keys, 8, 13 | 14 << 8 | 1 << 16); /* as large_keys() */
	forged_put_at(keys, 24, MANY_VARIABLES);
	forged_put_at(last, 0, forged->names);
	forged_put_at(last, 8, forged->sessions);
	forged_put_at(forged_word(app + 16), 32, keys);
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "module app → name", forged->sessions);
	walked_free(&walked);
}

/* Each table has all of its entries: their total cost ends the walk. */
static void a_table_in_no_block_is_not_read_for_ever(void **state)
{
	struct forged *forged = *state;
	uint64_t keys = forged_memory_more(&forged->memory, 32 + (1 << 14) + MANY_VARIABLES * 16);
	struct walked walked;

	assert_int_not_equal(keys, 0);
	forged_put_at(keys, 8, 13 | 14 << 8 | 1 << 16);
	forged_put_at(keys, 24, MANY_VARIABLES);
	for (uint64_t i = 0; i < MANY_VARIABLES; i++)
		forged_put_at(keys + 32 + (1 << 14), i * 16 + 8, forged->sessions);
	for (size_t i = 0; i < 64; i++)
		forged_put_at(forged_dict(forged, NULL, 0), 32, keys);
	work_max = 1 << 19;
	walk(&forged->memory, &walked);
	work_max = INT64_MAX;
	assert_non_null(strstr(REPORT(&walked)->why, "leads to the same again and again"));
	assert_false(REPORT(&walked)->all_roots);
	assert_in_range(walked.sink.references.count, 2 * MANY_VARIABLES, 63 * MANY_VARIABLES);
	walked_free(&walked);
}

#define MANY_ARENAS ((1u << 20) + 1)

/* All arenas but the last are unused. */
static void arenas_are_read_however_many_there_are(void **state)
{
	struct forged *forged = *state;
	uint64_t objects = forged_memory_more(&forged->memory, MANY_ARENAS * 48ull);
	uint64_t variable = forged->memory.base + 0xf000, last = MANY_ARENAS - 1;
	struct walked walked;

	assert_int_not_equal(objects, 0);
	for (uint64_t i = 0; i < last; i++)
		forged_put_at(objects, i * 48 + 32, objects);
	memcpy((void *)(uintptr_t)(objects + last * 48), (void *)(uintptr_t)forged_word(variable),
	       48);
	for (uint32_t i = 0; i < FORGED_POOLS; i++)
		forged_put_half(forged->pools + i * forged->layout->pool_bytes, 32, (uint32_t)last);
	forged_put_at(variable, 0, objects);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "app.Session"), FORGED_SESSIONS);
	walked_free(&walked);
}

static size_t claims;

int heap_sink_claim(struct heap_sink *sink, uint64_t start, uint64_t size, bool blocks)
{
	static int (*real)(struct heap_sink *, uint64_t, uint64_t, bool);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "heap_sink_claim");
	claims++;
	return real(sink, start, size, blocks);
}

static void stacks_of_frames_are_of_one_thread_each(void **state)
{
	struct forged *forged = *state;
	uint32_t place = forged->layout->frames.chunk;
	uint64_t chunk = forged->memory.base + FORGED_BYTES - 3 * MEMORY_PAGE;
	struct walked walked;
	size_t before;

	put_threads(forged);
	claims = 0;
	walk(&forged->memory, &walked);
	walked_free(&walked);
	before = claims;
	for (uint64_t i = 0; i < 3; i++) {
		forged_put_at(chunk, i * MEMORY_PAGE, i ? chunk + (i - 1) * MEMORY_PAGE : 0);
		forged_put_at(chunk, i * MEMORY_PAGE + 8, MEMORY_PAGE);
	}
	for (uint64_t thread = forged_word(FORGED_INTERPRETER + forged->layout->threads); thread;
	     thread = forged_word(thread + 8))
		forged_put_at(thread, place, chunk + 2 * MEMORY_PAGE);
	claims = 0;
	walk(&forged->memory, &walked);
	walked_free(&walked);
	assert_int_equal(claims - before, 3);
}

/*
 * Thousands of words of its data point to an array of thousands of arenas, none of which is in use:
 * each may be the real one.
 */
static void memory_that_leads_to_the_same_again_is_not_read_for_ever(void **state)
{
	struct forged *forged = *state;
	uint64_t base = forged->memory.base, objects = base + (2u << 20);
	struct walked walked;

	for (uint64_t at = objects; at < base + FORGED_BYTES - 48; at += 48)
		forged_put_at(at, 32, objects);
	for (uint64_t at = FORGED_CODE_AT + 0x800; at < base + 0xf000; at += 8)
		forged_put_at(at, 0, objects);
	work_max = 1 << 20;
	walk(&forged->memory, &walked);
	work_max = INT64_MAX;
	assert_non_null(strstr(REPORT(&walked)->why, "leads to the same again and again"));
	assert_false(REPORT(&walked)->all_roots);
	walked_free(&walked);
}

static void stacks_that_cannot_be_read_to_their_end_are_not_known(void **state)
{
	struct forged *forged = *state;
	struct target_memory memory = {.pagemap = -1};
	struct python_stacks stacks = {0};

	put_threads(forged);
	work_max = 1 << 14;
	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	work_max = INT64_MAX;
	assert_int_equal(python_stacks_of(&memory, &stacks), 0);
	assert_non_null(strstr(stacks.why, "leads to the same again and again"));
	python_stacks_free(&stacks);
	target_memory_close(&memory);
}

static void a_pool_that_contradicts_itself_is_left_out(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t pool = forged->pool_of[0].address, free_block = pool + 48;

	/* In a circle. */
	forged_put_at(pool, 8, free_block);
	forged_put_at(free_block, 0, free_block);
	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->nonsense > 0);
	assert_int_equal(heap_sink_node(&walked.sink, free_block), BLOCK_NONE);
	walked_free(&walked);
}

/* Eight pools, of which some have no block. */
static void an_arena_that_is_hardly_used_has_the_classes_that_keep_it(void **state)
{
	struct forged *forged = *state;
	struct target_memory memory;
	struct python_memory python = {0};
	uint64_t used = 0, sessions = 0;

	for (uint32_t i = 0; i < forged->pool_count; i++)
		used += (uint64_t)forged->pool_of[i].block * (uint64_t) *
			(uint32_t *)(uintptr_t)forged->pool_of[i].address;
	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	assert_int_equal(python_memory_of(&memory, &python), 0);
	assert_null(python.why);
	assert_string_equal(python.version, "3.11.2");
	assert_int_equal(python.arenas, 1);
	assert_int_equal(python.bytes, FORGED_ARENA);
	assert_int_equal(python.used, used);
	assert_int_equal(python.free,
			 FORGED_ARENA - forged->pool_count * forged->layout->pool_bytes);
	assert_int_equal(python.sparse, 1);
	assert_int_equal(python.sparse_free, python.free + python.pool_free);
	for (size_t i = 0; i < python.pins.count; i++) {
		assert_int_equal(python.pins.items[i].arenas, 1);
		if (python.pins.items[i].name && !strcmp(python.pins.items[i].name, "app.Session"))
			sessions = python.pins.items[i].objects;
	}
	assert_int_equal(sessions, FORGED_SESSIONS);
	python_memory_free(&python);
	target_memory_close(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(objects_have_their_classes_names_and_references),
		FORGED(a_collector_that_is_off_and_what_is_frozen_are_reported),
		FORGED(a_list_of_the_collectors_that_contradicts_itself_ends_there),
		FORGED(attributes_and_memory_that_belongs_to_an_object_are_its_own),
		FORGED(numbers_of_compiled_objects_hold_nothing),
		FORGED(numbers_of_objects_hold_nothing),
		FORGED(containers_hold_what_is_in_them),
		FORGED(an_array_of_many_objects_is_read_for_one),
		cmocka_unit_test(values_of_many_dictionaries_are_those_of_one),
		FORGED(many_attributes_are_those_of_one_object),
		FORGED(instances_have_no_more_values_than_a_byte_counts),
		FORGED(variables_of_modules_with_one_dictionary_are_read_a_few_times),
		FORGED(what_the_collector_does_not_list_is_no_instance),
		FORGED(what_is_listed_belongs_to_no_other_object),
		FORGED(what_is_no_name_in_the_code_has_no_label),
		FORGED(code_is_in_the_line_of_its_table),
		cmocka_unit_test(every_version_is_read_by_its_layout),
		cmocka_unit_test(every_collector_is_found),
		cmocka_unit_test(what_a_release_has_moved_is_read_where_it_says),
		cmocka_unit_test(what_contradicts_the_description_is_named),
		cmocka_unit_test(a_later_version_that_describes_itself_is_read_and_marked),
		cmocka_unit_test(arenas_are_found_where_a_later_version_has_them),
		cmocka_unit_test(threads_of_a_free_threaded_build_are_read),
		FORGED(what_contradicts_itself_is_not_read),
		FORGED(lists_that_lead_to_themselves_end),
		FORGED(stacks_of_threads_have_a_limit_together),
		FORGED(frames_are_roots_however_deep_a_recursion_is),
		FORGED(modules_of_any_number_of_interpreters_are_read),
		FORGED(frames_of_any_number_of_threads_are_roots),
		FORGED(all_variables_of_a_table_in_no_block_are_roots),
		FORGED(a_table_in_no_block_is_not_read_for_ever),
		FORGED(arenas_are_read_however_many_there_are),
		FORGED(stacks_that_cannot_be_read_to_their_end_are_not_known),
		FORGED(stacks_of_frames_are_of_one_thread_each),
		FORGED(memory_that_leads_to_the_same_again_is_not_read_for_ever),
		FORGED(a_pool_that_contradicts_itself_is_left_out),
		FORGED(an_arena_that_is_hardly_used_has_the_classes_that_keep_it),
		FORGED(nonsense_anywhere_does_no_harm),
		cmocka_unit_test(nonsense_in_any_version_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
