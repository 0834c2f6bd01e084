// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small V8 made by hand; then the same with nonsense in it. */
#include "unit/v8_fixture.h"

#define MUTANTS 600
#include "heap/runtime/target_memory.h"
#include "heap/runtime/v8/reader.h"
#include "unit/walked.h"

struct class_count {
	const char *class;
	size_t count;
};

static void expect_counts(const struct walked *walked, const struct class_count *expected,
			  size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (count_class(&walked->sink, expected[i].class) != expected[i].count)
			fail_msg("%s: %zu", expected[i].class,
				 count_class(&walked->sink, expected[i].class));
	}
}

/* Memory after the top of an area, and in the unused half, has no objects. */
static void objects_have_the_name_of_their_constructor_or_type(void **state)
{
	static const struct class_count expected[] = {
		{"Session", FORGED_SESSIONS + 1}, /* one of them by a map derived from another */
		{"Map", 1},
		{"WeakRef", 1},
		{"WeakMap", 1},
		{"ArrayBuffer", 4},
		{"Function", 9},
		{"(SeqOneByteString)", 9},
		{"Function onData server.js:2", FORGED_CLOSURES},
		{"Function late server.js:3", FORGED_CLOSURES + 1},
		{"(Context)", 4},
		{"(ScopeInfo)", 3},
		{"(PropertyArray)", 0},
		{"(type 181)", 0},
		{"(type 130)", 1},
	};
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	expect_counts(&walked, expected, ARRAY_SIZE(expected));
	walked_free(&walked);
}

static void timers_and_pending_promises_have_the_name_of_their_function(void **state)
{
	static const struct class_count expected[] = {
		{"Promise of async function onData server.js:2", FORGED_PENDING},
		{"Promise awaited in async function onData server.js:2", FORGED_PENDING},
		{"Promise with then late server.js:3", FORGED_PENDING},
		{"Promise", 1},
		{"async function onData server.js:2", FORGED_PENDING + 1},
		{"Timeout of late server.js:3", FORGED_PENDING},
	};
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_counts(&walked, expected, ARRAY_SIZE(expected));
	walked_free(&walked);
}

static void variables_of_the_global_object_are_roots(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "global cache", forged->cache - 1);
	expect_root(&walked.sink, "native context", forged->native_context - 1);
	walked_free(&walked);
}

static const char *label_to(const struct walked *walked, uint64_t from, uint64_t to)
{
	const struct heap_sink *sink = &walked->sink;
	uint32_t node = heap_sink_node(sink, from), target = heap_sink_node(sink, to);
	const char *name = NULL;

	for (uint32_t i = sink->first[node]; i < sink->first[node + 1]; i++) {
		if (sink->references.targets[i] == target)
			name = heap_sink_label_name(sink, sink->references.labels[i]);
	}
	return name ? name : "";
}

static void references_have_the_names_of_properties_and_variables(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->cache - 1, forged->sessions - 1));
	assert_string_equal(label_to(&walked, forged->sessions - 1, forged->extra - 1), "extra");
	assert_string_equal(label_to(&walked, forged->context - 1, forged->captured - 1), "held");
	assert_true(refers(&walked.sink, forged->native_context - 1, forged->context - 1));
	walked_free(&walked);
}

/* Returns whether a block no longer holds the objects that it points to. */
static bool is_claimed(const struct heap_sink *sink, uint64_t block, uint64_t size)
{
	for (size_t i = 0; i < sink->claimed.count; i++) {
		const struct claimed_range *range = &sink->claimed.items[i];

		if (range->start <= block && range->end >= block + size)
			return range->blocks && !range->within;
	}
	return false;
}

/* V8 moves objects: native code has handles of them, not their addresses. */
static void native_memory_holds_objects_by_handles_alone(void **state)
{
	static const struct {
		uint64_t start, size;
		bool proved, claimed;
	} cases[] = {
		{FORGED_LENGTHS + 0x800, 24, true, true},
		{FORGED_LENGTHS + 0x800, 24, false, false},
		{FORGED_LENGTHS + 0x800, 3048, true, true},
		{FORGED_LENGTHS + 0x800, 2056, true, false}, /* handles that are never freed */
		{FORGED_LENGTHS + 0x800, 8184, true, false}, /* of running functions */
		{FORGED_LENGTHS + 0x800, 8200, true, true},
		{FORGED_HEAP - 0x100, 0x5000, true, false}, /* the isolate */
		{FORGED_HEAP + 0x100, 0x5000, true, true},
	};
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		uint64_t handles = FORGED_BASE + FORGED_LENGTHS + 0x4000;
		uint64_t start = FORGED_BASE + cases[i].start;
		bool is_first = start < handles;
		struct forged_memory memory;
		struct walked walked;

		forged_handles(handles, !cases[i].proved);
		memory = forged->memory;
		forged_memory_block(&memory, is_first ? handles : start,
				    is_first ? 8248 : cases[i].size);
		forged_memory_block(&memory, is_first ? start : handles,
				    is_first ? cases[i].size : 8248);
		walk(&memory, &walked);
		if (is_claimed(&walked.sink, start, cases[i].size) != cases[i].claimed)
			fail_msg("case %zu", i);
		walked_free(&walked);
	}
}

/*
 * A strong handle holds its object, a weak one the object told of its end; no pointer opens a
 * block.
 */
static void handles_are_roots_by_the_class_of_their_object(void **state)
{
	struct forged *forged = *state;
	uint64_t handles = FORGED_BASE + FORGED_LENGTHS + 0x4000;
	uint64_t told = FORGED_BASE + FORGED_LENGTHS + 0x800;
	struct forged_memory memory;
	struct walked walked;
	size_t strong = 0, weak = 0, blocks = 0;

	forged_handles(handles, 0);
	forged_put(handles, forged->sessions);
	forged_put8(handles + 11, 1);
	forged_put(handles + 32, forged->sessions);
	forged_put8(handles + 32 + 11, 2);
	forged_put(handles + 32 + 16, told);
	memory = forged->memory;
	forged_memory_block(&memory, handles, 8248);
	forged_memory_block(&memory, told, 24);
	walk(&memory, &walked);
	for (size_t i = 0; i < walked.sink.roots.count; i++) {
		const struct managed_root *root = &walked.sink.roots.items[i];
		uint64_t start = walked.sink.starts[root->node];

		strong += !strncmp(root->name, "handle of ", 10) && start == forged->sessions - 1;
		weak += !strcmp(root->name, "parameter of a weak handle") && start == told;
		blocks += !strcmp(root->name, "handles") && start == handles &&
			  heap_sink_is_apart(&walked.sink, root->node);
	}
	assert_int_equal(strong, 1);
	assert_int_equal(weak, 1);
	assert_int_equal(blocks, 1);
	walked_free(&walked);
}

/* The next free place among the handles of functions, and how far they may go. */
static void handles_behind_the_next_free_one_are_none(void **state)
{
	static const struct {
		uint64_t next, limit; /* in the block */
		uint64_t levels;
		bool claimed;
	} cases[] = {
		{112, 8176, 0x100000002, true}, {0, 8176, 1, true},
		{32, 32, 0x200000002, true},	{8176, 8176, 1, false},
		{112, 8184, 1, false},		{112, 104, 1, false},
		{116, 8176, 1, false},		{112, 8176, 0x7f0912345678, false},
	};
	struct forged *forged = *state;
	uint64_t isolate =
		forged_memory_block(&forged->memory, FORGED_BASE + FORGED_HEAP - 0x100, 0x800);
	uint64_t handles =
		forged_memory_block(&forged->memory, FORGED_BASE + FORGED_LENGTHS + 0x800, 8184);

	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct walked walked;
		bool claimed = false;

		forged_put(isolate + 0x40, handles + cases[i].next);
		forged_put(isolate + 0x48, handles + cases[i].limit);
		forged_put(isolate + 0x50, cases[i].levels);
		walk(&forged->memory, &walked);
		for (size_t j = 0; j < walked.sink.claimed.count; j++) {
			const struct claimed_range *range = &walked.sink.claimed.items[j];

			claimed |= range->within && range->start == handles + cases[i].next &&
				   range->end == handles + 8176;
		}
		if (claimed != cases[i].claimed)
			fail_msg("case %zu", i);
		walked_free(&walked);
	}
}

/* One of the blocks of handles is in use. The isolate points to their owner. */
static void spare_blocks_of_handles_hold_nothing(void **state)
{
	static const struct {
		uint64_t capacity, count, second; /* of the vector; an entry of it */
		bool claimed;
	} cases[] = {
		{4, 1, 1, true},  {4, 2, 1, false}, {4, 0, 1, false},
		{1, 1, 1, false}, {4, 1, 0, false}, {1ull << 40, 1, 1, false},
	};
	struct forged *forged = *state;

	forged_native(forged);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct walked walked;
		bool claimed = false;

		forged_put(forged->structure + 16, cases[i].capacity);
		forged_put(forged->structure + 24, cases[i].count);
		/* Twice: it counts once. */
		forged_put(forged->vector + 8, cases[i].second * forged->spare);
		forged_put(forged->vector + 16, cases[i].second * forged->spare);
		walk(&forged->memory, &walked);
		for (size_t j = 0; j < walked.sink.claimed.count; j++)
			claimed |= walked.sink.claimed.items[j].within &&
				   walked.sink.claimed.items[j].start == forged->spare;
		if (claimed != cases[i].claimed)
			fail_msg("case %zu", i);
		walked_free(&walked);
	}
}

/* By the method that reads all chunks, and by the one that reads a few. */
static void what_a_heap_counts_is_read(void **state)
{
	struct forged *forged = *state;
	struct target_memory memory;

	forged_counts(forged);
	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	for (int collections = 0; collections < 2; collections++) {
		struct js_memory js = {0};

		assert_int_equal(js_memory_of(&memory, &forged->memory.module, collections, &js),
				 0);
		assert_null(js.why);
		assert_string_equal(js.version, "11.3.244.8");
		assert_true(js.has_collections);
		assert_int_equal(js.full_collections, 2);
		assert_int_equal(js.collections, 5);
		assert_int_equal(js.kept, 100000);
		assert_int_equal(js.uncollected, 0);
		if (collections)
			continue;
		assert_int_equal(js.heaps, 1);
		assert_int_equal(js.committed, 3 * FORGED_USED);
		assert_int_equal(js.external, 7000);
		assert_true(js.has_buffers);
		assert_int_equal(js.array_buffers, 5000);
	}
	target_memory_close(&memory);
}

static void chunks_count_for_their_own_heap(void **state)
{
	uint64_t young = FORGED_BASE + FORGED_YOUNG, heap = FORGED_BASE + FORGED_HEAP + 0x8000;
	struct forged *forged = *state;
	struct target_memory memory;
	struct js_memory js = {0};

	forged_counts(forged);
	forged_put(young + 16, heap);
	forged_put(young + 64, heap + 0x1000);
	forged_put(heap + 0x1008, heap);
	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	assert_int_equal(js_memory_of(&memory, &forged->memory.module, false, &js), 0);
	assert_int_equal(js.heaps, 2);
	assert_int_equal(js.committed, 3 * FORGED_USED);
	assert_int_equal(js.uncollected, FORGED_USED);
	target_memory_close(&memory);
}

/* Makes a map of a class "Holder" and its objects, in a separate chunk. */
static uint64_t make_holders(struct forged *forged, uint32_t words)
{
	uint64_t chunk = FORGED_BASE + FORGED_OLD;

	forged_put(chunk, FORGED_CHUNK);
	forged_put(chunk + 32, chunk + FORGED_CHUNK);
	forged->next = chunk + FORGED_USED;
	return forged_map(forged, FORGED_OBJECT, words, forged_constructor(forged, "Holder"));
}

#define SHARED_WORDS 4000u
#define SHARING 200

/* The number of references to an array's contents is bounded like that of a few objects. */
static void an_array_that_all_have_is_bounded(void **state)
{
	uint64_t map, array, holder = 0;
	struct forged *forged = *state;
	struct walked walked;

	map = make_holders(forged, 3);
	array = forged_array(forged, forged->fixed_array, SHARED_WORDS);
	for (uint64_t i = 0; i < SHARED_WORDS; i++)
		forged_item(array, i, forged->sessions);
	for (uint64_t i = 0; i < SHARING; i++) {
		holder = forged_receiver(forged, map, 3);
		forged_set(holder, 16, array);
	}
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Holder"), SHARING);
	assert_true(walked.sink.references.count < REPORT(&walked)->heap_bytes / 8 * 5);
	/* Its map; the array is a part of the object. */
	assert_int_equal(count_references(&walked.sink, holder - 1), 1);
	assert_true(refers(&walked.sink, holder - 1, array - 1));
	assert_string_equal(REPORT(&walked)->why,
			    "its objects share arrays again and again: not all of what they hold "
			    "by these was read");
	walked_free(&walked);
}

static void properties_have_their_names_in_any_order(void **state)
{
	static const char *const names[] = {"b", "a"};
	uint64_t map, object;
	struct forged *forged = *state;
	struct walked walked;

	map = make_holders(forged, 5);
	forged_properties(forged, map, names, 2, 0, 3);
	forged_set(forged_word(map - 1 + 40), 32, forged_number(1 << 19));
	forged_set(forged_word(map - 1 + 40), 32 + 24, 0);
	object = forged_receiver(forged, map, 5);
	forged_set(object, 24, forged->sessions);
	forged_set(object, 32, forged->cache);
	walk(&forged->memory, &walked);
	assert_string_equal(label_to(&walked, object - 1, forged->sessions - 1), "a");
	assert_string_equal(label_to(&walked, object - 1, forged->cache - 1), "b");
	walked_free(&walked);
}

static void characters_are_no_addresses(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint32_t text, session;

	walk(&forged->memory, &walked);
	text = walked.sink.whats[heap_sink_node(&walked.sink, forged->captured - 1)];
	session = walked.sink.whats[heap_sink_node(&walked.sink, forged->sessions - 1)];
	assert_int_equal(text & (NODE_PRECISE | NODE_NATIVE), NODE_PRECISE);
	assert_int_equal(session & (NODE_PRECISE | NODE_NATIVE), NODE_PRECISE | NODE_NATIVE);
	walked_free(&walked);
}

/* No context holds them: only the variable does. */
static void variables_of_modules_are_roots(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "module server.js kept", forged->of_module - 1);
	assert_false(refers(&walked.sink, forged->module - 1, forged->of_module - 1));
	walked_free(&walked);
}

/* It is unknown which one is in use. */
static void variables_of_a_script_that_was_loaded_again_are_no_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t other = forged_word(forged->context - 1 + 16 + 8);
	struct walked walked;

	forged_item(forged->context, 1, forged->native_context);
	forged_set(forged->last_function, 32, forged->context);
	walk(&forged->memory, &walked);
	assert_null(root_named(&walked.sink, "module server.js kept"));
	assert_null(root_named(&walked.sink, "module server.js held"));
	assert_true(refers(&walked.sink, forged->module - 1, forged->of_module - 1));
	forged_item(forged->context, 1, other);
	walked_free(&walked);
}

static void lines_are_known_where_v8_has_them_itself(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->source - 1, 0x1234567);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Function onData server.js"), FORGED_CLOSURES);
	walked_free(&walked);
	forged_set(forged->script, 56, forged->line_ends);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Function onData server.js:2"), FORGED_CLOSURES);
	walked_free(&walked);
}

static void listeners_have_the_names_of_their_events(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_string_equal(
		label_to(&walked, forged_word(forged->emitter - 1 + 24) - 1, forged->listeners - 1),
		"<listeners on 'data'>");
	walked_free(&walked);
}

/* Functions wrapped by once() count as the function passed to it. */
static void many_listeners_of_one_event_are_reported_with_their_function(void **state)
{
	static const char *const events[] = {"close", "error"};
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->crowded_events, ARRAY_SIZE(events));
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		const struct listener_crowd *crowd = &REPORT(&walked)->crowds[i];

		assert_string_equal(crowd->event, events[i]);
		assert_string_equal(crowd->emitter, "Server");
		assert_string_equal(crowd->handler, "late server.js:3");
		assert_int_equal(crowd->listeners, FORGED_CROWD);
		assert_int_equal(crowd->same, FORGED_LATE);
	}
	walked_free(&walked);
}

/* Begins a chunk of that many bytes, which ends after the objects made next. */
static uint64_t large_begin(struct forged *forged, uint64_t bytes)
{
	uint64_t chunk = forged_memory_more(&forged->memory, bytes);

	assert_int_not_equal(chunk, 0);
	forged_chunk(forged, chunk - FORGED_BASE, 0x4, 0);
	forged_put(chunk, bytes);
	return chunk;
}

static void large_walk(const struct forged *forged, uint64_t chunk, struct walked *walked)
{
	uint64_t bytes = forged_word(chunk);

	assert_true(forged->next <= chunk + bytes);
	forged_put(chunk + 32, forged->next);
	walk(&forged->memory, walked);
	munmap(forged_memory_place(chunk), bytes);
}

static void a_million_listeners_are_reported(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 20) + 1, chunk = large_begin(forged, 9u << 20);
	uint64_t events = forged_word(forged->emitter - 1 + 24);
	uint64_t listeners = forged_word(forged_word(events - 1 + 8) - 1 + 16 + 4 * 8);
	uint64_t elements = forged_array(forged, forged->fixed_array, count);
	const struct listener_crowd *crowd;
	struct walked walked;

	forged_set(listeners, 16, elements);
	forged_set(listeners, 24, forged_number(count));
	for (uint64_t i = 0; i < count; i++)
		forged_item(elements, i, forged->last_function);
	large_walk(forged, chunk, &walked);
	crowd = &REPORT(&walked)->crowds[0];
	assert_string_equal(crowd->event, "close");
	assert_int_equal(crowd->listeners, count);
	assert_int_equal(crowd->same, count);
	walked_free(&walked);
}

/* A program that was bundled into one module: tens of thousands. */
static void all_that_a_module_exports_is_a_root(void **state)
{
	struct forged *forged = *state;
	uint64_t words = (1u << 16) + 4, chunk = large_begin(forged, 1u << 20);
	uint64_t name = forged_text(forged, forged->internalized, "far");
	uint64_t cell = forged_object(forged, forged_map(forged, FORGED_CELL, 2, 0), 16);
	uint64_t module = forged_object(forged, forged_map(forged, FORGED_ES_MODULE, 4, 0), 32);
	uint64_t table = forged_array(forged, forged_map(forged, FORGED_HASH_TABLE, 0, 0), words);
	struct walked walked;

	forged_set(module, 8, table);
	forged_set(module, 16, forged->last_function);
	forged_set(cell, 8, forged->required);
	forged_item(table, words - 2, name);
	forged_item(table, words - 1, cell);
	large_walk(forged, chunk, &walked);
	expect_root(&walked.sink, "module server.js far", forged->required - 1);
	walked_free(&walked);
}

/* The same for a function: its name follows the data of each of its variables. */
static void a_function_of_thousands_of_variables_has_its_name(void **state)
{
	struct forged *forged = *state;
	uint64_t locals = 5000, chunk = large_begin(forged, 1u << 20);
	uint64_t name = forged_text(forged, forged->internalized, "bundle");
	uint64_t scope = forged_object(forged, forged->scope, 8 + (3 + 1 + locals + 4) * 8);
	uint64_t shared = forged_object(forged, forged->shared, 56);
	struct walked walked;

	forged_set(scope, 24, forged_number(locals));
	forged_set(scope, 8 + (3 + 1 + locals) * 8, name);
	forged_set(shared, 16, scope);
	forged_set(shared, 32, forged->script);
	for (size_t i = 0; i < FORGED_CLOSURES; i++)
		forged_set(forged_object(forged, forged->function, 64), 24, shared);
	large_walk(forged, chunk, &walked);
	assert_int_equal(count_class(&walked.sink, "Function bundle server.js"), FORGED_CLOSURES);
	walked_free(&walked);
}

static uint64_t make_module(struct forged *forged, uint64_t shared, uint64_t words)
{
	uint64_t map = forged_word(forged->module - 1);
	uint64_t context = forged_array(forged, map, words);
	uint64_t function = forged_object(forged, forged->function, 64);

	forged_item(context, 1, forged->native_context);
	forged_set(function, 24, shared);
	forged_set(function, 32, context);
	return context;
}

/* A script that was loaded again for each test, and one more. */
static void modules_are_known_however_many(void **state)
{
	struct forged *forged = *state;
	uint64_t chunk = large_begin(forged, 8u << 20), count = 1u << 16;
	uint64_t words = forged_word(forged->module - 1 + 8) >> 32;
	uint64_t script = forged_object(forged, forged_map(forged, FORGED_SCRIPT, 10, 0), 80);
	uint64_t path = forged_text(forged, forged->internalized, "other.js");
	uint64_t shared = forged_object(forged, forged->shared, 56), context;
	struct walked walked;

	forged_set(script, 16, path);
	forged_set(shared, 32, script);
	for (uint64_t i = 0; i < count; i++)
		make_module(forged, forged_shared_of(forged->last_function), 3);
	context = make_module(forged, shared, words);
	for (uint64_t i = 0; i < words; i++)
		forged_item(context, i, forged_word(forged->module - 1 + 16 + i * 8));
	large_walk(forged, chunk, &walked);
	assert_null(root_named(&walked.sink, "module server.js kept"));
	expect_root(&walked.sink, "module other.js kept", forged->of_module - 1);
	walked_free(&walked);
}

static void what_modules_export_and_the_cache_of_require_are_roots(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "module server.js shared", forged->exported - 1);
	expect_root(&walked.sink, "require.cache", forged->required - 1);
	walked_free(&walked);
}

static void native_memory_has_a_holder_and_keys_that_are_data_are_not_shown(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->derived - 1, forged->memory.blocks[0]));
	assert_string_equal(label_to(&walked, forged->derived - 1, forged->memory.blocks[0]), "");
	walked_free(&walked);
}

/* A buffer may be garbage, its store freed, and its block used again for something else, of which
 * nothing may get lost. */
static void stores_belong_to_buffers_of_their_size_and_stay_whole(void **state)
{
	static const struct {
		uint64_t size;
		bool part;
	} blocks[] = {{64, true}, {40, true}, {200, false}, {4096, true}};
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	for (size_t i = 0; i < ARRAY_SIZE(blocks); i++) {
		uint32_t node = heap_sink_node(&walked.sink, forged->memory.blocks[i + 1]);
		uint32_t what = walked.sink.whats[node];

		assert_int_equal(node_has_class(what) && what & NODE_PART, blocks[i].part);
		assert_int_equal(node_has_class(what) && what & NODE_NATIVE, blocks[i].part);
		assert_int_equal(walked.sink.sizes[node], blocks[i].size);
	}
	walked_free(&walked);
}

static void weak_references_hold_nothing_and_weak_maps_their_values(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t entries = forged_word(forged->weak_map - 1 + 24);

	walk(&forged->memory, &walked);
	assert_false(refers(&walked.sink, forged->weak_ref - 1, forged->of_weak_ref - 1));
	assert_false(refers(&walked.sink, entries - 1, forged->key - 1));
	assert_true(refers(&walked.sink, entries - 1, forged->of_weak_map - 1));
	walked_free(&walked);
}

static void words_that_are_no_object_are_counted(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->old_garbage - 1, 0x1234567);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Session"), FORGED_SESSIONS + 1);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	walked_free(&walked);
}

/* All of it agrees. */
static void a_version_that_was_never_tested_is_read_and_marked(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_false(REPORT(&walked)->untested);
	walked_free(&walked);
	forged_put32(forged->major, 99);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_true(REPORT(&walked)->untested);
	assert_string_equal(REPORT(&walked)->version, "99.3.244.8");
	assert_int_equal(count_class(&walked.sink, "Session"), FORGED_SESSIONS + 1);
	walked_free(&walked);
}

static void a_version_that_was_never_tested_is_refused_by_what_contradicts(void **state)
{
	struct forged *forged = *state;

	forged_put32(forged->major, 99);
	forged_put(forged->old_garbage - 1, 0x1234567);
	expect_why(&forged->memory, "too many of its objects contradict themselves");
}

static void a_layout_that_does_not_prove_itself_is_refused(void **state)
{
	struct forged *forged = *state;

	forged_put(FORGED_BASE + FORGED_SPACES + 8, 0);
	forged_put(FORGED_BASE + FORGED_SPACES + 0x400 + 8, 0);
	forged_put(FORGED_BASE + FORGED_SPACES + 0x600 + 8, 0);
	expect_why(&forged->memory, "another version");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(objects_have_the_name_of_their_constructor_or_type),
		FORGED(timers_and_pending_promises_have_the_name_of_their_function),
		FORGED(variables_of_the_global_object_are_roots),
		FORGED(references_have_the_names_of_properties_and_variables),
		FORGED(native_memory_holds_objects_by_handles_alone),
		FORGED(handles_are_roots_by_the_class_of_their_object),
		FORGED(handles_behind_the_next_free_one_are_none),
		FORGED(spare_blocks_of_handles_hold_nothing),
		FORGED(what_a_heap_counts_is_read),
		FORGED(chunks_count_for_their_own_heap),
		FORGED(an_array_that_all_have_is_bounded),
		FORGED(properties_have_their_names_in_any_order),
		FORGED(characters_are_no_addresses),
		FORGED(variables_of_modules_are_roots),
		FORGED(variables_of_a_script_that_was_loaded_again_are_no_roots),
		FORGED(lines_are_known_where_v8_has_them_itself),
		FORGED(listeners_have_the_names_of_their_events),
		FORGED(many_listeners_of_one_event_are_reported_with_their_function),
		FORGED(a_million_listeners_are_reported),
		FORGED(what_modules_export_and_the_cache_of_require_are_roots),
		FORGED(all_that_a_module_exports_is_a_root),
		FORGED(a_function_of_thousands_of_variables_has_its_name),
		FORGED(modules_are_known_however_many),
		FORGED(native_memory_has_a_holder_and_keys_that_are_data_are_not_shown),
		FORGED(stores_belong_to_buffers_of_their_size_and_stay_whole),
		FORGED(weak_references_hold_nothing_and_weak_maps_their_values),
		FORGED(words_that_are_no_object_are_counted),
		FORGED(a_version_that_was_never_tested_is_read_and_marked),
		FORGED(a_version_that_was_never_tested_is_refused_by_what_contradicts),
		FORGED(a_layout_that_does_not_prove_itself_is_refused),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
