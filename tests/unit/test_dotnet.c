// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small .NET program made by hand; then the same with nonsense in it. */
#include "unit/dotnet_fixture.h"

#include <elf.h>

#include "base/cleanup.h"
#include "heap/runtime/dotnet/reader.h"
#include "heap/runtime/target_memory.h"

#define MUTANTS 1000
#include "unit/walked.h"

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

static void expect_classes(const struct forged *forged, const char *version)
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
		{"System.Threading.Thread", 1},
		{"System.String", 1},
	};
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	const struct walk_report *report;
	size_t objects = 0;

	walk(&forged->memory, &walked);
	report = &sink->reports.items[0];
	assert_null(report->why);
	assert_string_equal(report->version, version);
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

static void every_object_has_its_class(void **state)
{
	expect_classes(*state, "9");
}

static void references_have_the_names_of_fields(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint64_t payload = forged->sessions[0] + 32;

	walk(&forged->memory, &walked);
	assert_string_equal(label_of(sink, forged->array, forged->sessions[3]), "[3]");
	assert_string_equal(label_of(sink, forged->sessions[0], forged->sessions[1]), ".Next");
	assert_string_equal(label_of(sink, forged->sessions[0], payload), ".Payload");
	assert_int_equal(count_references(sink, payload), 0);
	/* Of a structure's members, only references count. */
	assert_int_equal(count_references(sink, forged->pairs), 4);
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

	walk(&forged->memory, &walked);
	assert_int_equal(sink->roots.count, ARRAY_SIZE(roots));
	for (size_t i = 0; i < ARRAY_SIZE(roots); i++) {
		assert_string_equal(sink->roots.items[i].name, roots[i].name);
		assert_int_equal(sink->roots.items[i].node, heap_sink_node(sink, roots[i].object));
	}
	/* The array of static fields does not hold their values. */
	assert_int_equal(count_references(sink, forged->memory.base + FORGED_REGION), 0);
	walked_free(&walked);
}

static void without_static_fields_objects_refer_all_the_same(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint32_t before;

	walk(&forged->memory, &walked);
	before = count_references(&walked.sink, forged->array);
	walked_free(&walked);
	forged_put_at(forged_table(forged, FORGED_SESSION), 0x2c0 - 24, 0);
	walk(&forged->memory, &walked);
	assert_true(before > 0);
	assert_int_equal(count_references(&walked.sink, forged->array), before);
	walked_free(&walked);
}

static void what_cannot_be_read_is_reported(void **state)
{
	struct forged *forged = *state;
	uint64_t invalid = forged->memory.base + AT_VALUES + COLLECTOR_INVALID * 8;

	forged_put_at(invalid, 0, 1);
	expect_why(&forged->memory, "collects too often");
	forged_put_at(invalid, 0, 0);
	forged_put_at(forged->memory.base + AT_COLLECTOR, 16, 4);
	expect_why(&forged->memory, "collector");
	forged->memory.image.table.count = 1;
	expect_why(&forged->memory, "9 and 10");
	forged->memory.image.table.count = 0;
	expect_why(&forged->memory, "g_dacTable");
}

/* The next object after it would be below all memory, and the way to the heap's end very long. */
static void memory_for_objects_to_come_ends_where_memory_does(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put_at(forged->memory.base + AT_LOCALS, 8, UINT64_MAX - 7);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Planted.Session"), FORGED_SESSIONS);
	assert_true(REPORT(&walked)->nonsense > 0);
	walked_free(&walked);
}

static void lists_that_do_not_end_are_left(void **state)
{
	struct forged *forged = *state;
	uint64_t segment = forged->memory.base + AT_SEGMENTS;
	struct walked walked;

	forged_put_at(segment, 48, segment);
	forged_put_at(forged->memory.base + AT_THREAD, 112, forged->memory.base + AT_THREAD + 112);
	forged_put_at(forged->memory.base + AT_SEGMENT, 1920 + 12 * 6,
		      forged->memory.base + AT_SEGMENT);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Planted.Session"), FORGED_SESSIONS);
	walked_free(&walked);
}

/* Each look at it counts. */
static void a_region_that_is_not_mapped_leaves_nothing_for_others(void **state)
{
	struct forged *forged = *state;
	const struct mapping *mappings = forged->memory.maps.list.items;
	uint64_t good = forged->memory.base + AT_SEGMENTS, bad = good + 0x80;
	uint64_t bytes = (1ull << 30) - 8, region = forged->memory.base + FORGED_REGION;
	struct walked walked;

	for (size_t i = 0; i < forged->memory.maps.list.count; i++)
		bytes += mappings[i].end - mappings[i].start;
	forged_put_at(forged->memory.base + AT_GENERATIONS, 8, bad);
	forged_put_at(bad, 0, region + bytes);
	forged_put_at(bad, 8, region + bytes);
	forged_put_at(bad, 32, region);
	forged_put_at(bad, 48, good);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 2);
	assert_int_equal(REPORT(&walked)->heap_bytes, 0);
	walked_free(&walked);
}

static void after_nonsense_the_next_object_is_found(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put_at(forged->sessions[1], 0, forged->memory.base + 0x123456);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Planted.Session"), FORGED_SESSIONS - 1);
	walked_free(&walked);
}

/* From the known layout of its version, starting at the roots. */
static void without_a_descriptor_objects_have_their_classes_too(void **state)
{
	struct forged *forged = *state;

	forged->memory.image.table.count = 1;
	expect_classes(forged, "9");
	forged_become_8(forged);
	expect_classes(forged, "8");
	references_have_the_names_of_fields(state);
	what_holds_objects_has_a_name(state);
}

/* More threads than their store counts. */
static void a_version_that_is_not_known_is_not_read(void **state)
{
	struct forged *forged = *state;

	forged->memory.image.table.count = 1;
	forged_put_half(forged->memory.base + AT_STORE, 184, 3);
	expect_why(&forged->memory, "9 and 10");
}

static void name_thread(const struct forged *forged, char name[DOTNET_THREAD_NAME_BYTES])
{
	struct target_memory memory = {.pagemap = -1};
	struct dotnet dotnet = {.memory = &memory, .fields_left = 1000};
	const char *why;
	char found[24];

	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	assert_int_equal(dotnet_find(&dotnet, found, &why), 0);
	dotnet_thread_name(&dotnet, forged->memory.base + AT_THREAD, name);
	dotnet_free(&dotnet);
	target_memory_close(&memory);
}

static void a_thread_has_the_name_that_the_program_gave_it(void **state)
{
	struct forged *forged = *state;
	uint64_t object = forged_word(forged->memory.base + AT_LOCALS + 0x80);
	uint64_t string = forged_word(object + 8);
	char name[DOTNET_THREAD_NAME_BYTES];

	name_thread(forged, name);
	assert_string_equal(name, "worker #");
	/* Longer than there is memory. */
	forged_put_half(string, 8, UINT32_MAX);
	name_thread(forged, name);
	assert_true(strlen(name) < DOTNET_THREAD_NAME_BYTES);
	/* No String. */
	forged_put_at(object, 8, forged->sessions[0]);
	name_thread(forged, name);
	assert_string_equal(name, "");
	forged_put_at(object, 0, 0);
	name_thread(forged, name);
	assert_string_equal(name, "");
}

/* -------- many of everything */

/*
 * Makes another class Session at an address, with separate static fields at `statics`; 0: the same.
 */
static void put_session(const struct forged *forged, uint64_t table, uint64_t statics)
{
	memcpy(forged_memory_place(table - 0x100),
	       forged_memory_place(forged_table(forged, FORGED_SESSION) - 0x100),
	       FORGED_TYPE_BYTES);
	forged_put_at(table, 40, table + 0x100);
	forged_put_at(table + 0x100, 16, table);
	forged_put_at(table, 32, table + 0x2c0);
	forged_put_at(table, 0x2c0 - 8, table);
	if (statics)
		forged_put_at(table, 0x2c0 - 24, statics | 1);
}

static uint64_t more(struct forged *forged, uint64_t size)
{
	uint64_t start = forged_memory_more(&forged->memory, align_up(size, MEMORY_PAGE));

	assert_int_not_equal(start, 0);
	return start;
}

/* The last thread has an allocation buffer with arbitrary contents. */
static void all_of_many_threads_are_read(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 16) + 10, size = (count + 16) * 64, last;
	uint64_t links = more(forged, size), store = forged->memory.base + AT_STORE;
	struct walked walked;

	last = forged_word(store + 160);
	for (uint64_t i = 0; i < count; i++)
		forged_put(links + 512 + i * 64, i + 1 < count ? links + 512 + (i + 1) * 64 : last);
	forged_put_at(store, 160, links + 512);
	forged_put_half(store, 184, (uint32_t)count + 1);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	walked_free(&walked);
	/* Without a descriptor. */
	forged->memory.image.table.count = 1;
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	walked_free(&walked);
}

/* Five classes have 60,000 each. */
static void all_of_many_static_fields_are_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t classes = 5, fields = 60000, lists = fields * 16, statics = fields * 8;
	uint64_t size = lists + statics * classes + classes * FORGED_TYPE_BYTES;
	uint64_t list = more(forged, size), table = list + lists + statics * classes + 0x100;
	struct walked walked;

	for (uint64_t i = 0; i < fields; i++)
		forged_put_at(list + i * 16, 8, 3 | 1ull << 24 | i * 8 << 32 | 0x12ull << 59);
	for (uint64_t i = 0; i < classes; i++, table += FORGED_TYPE_BYTES) {
		uint64_t values = list + lists + statics * i;

		put_session(forged, table, values);
		forged_put_at(table + 0x100, 24, list);
		forged_put_short(table + 0x100, 50, 0);
		forged_put_short(table + 0x100, 54, (uint16_t)fields);
		for (uint64_t j = 0; j < fields; j++)
			forged_put(values + j * 8, forged->sessions[2]);
		forged_put_at(forged->memory.base + AT_MAP, 16 + i * 8, table);
	}
	forged_put_half(forged->memory.base + AT_MODULE, 624 + 16, 2 + (uint32_t)classes);
	walk(&forged->memory, &walked);
	assert_int_equal(count_roots(&walked.sink, "static Planted.Session.Kept"),
			 classes * fields + 1);
	walked_free(&walked);
}

/* More classes than 256 K: the last class has a static field. */
static void all_of_many_classes_have_static_fields(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 18) + 100, size = count * (8 + 64) + 0x1000;
	uint64_t map = more(forged, size), tables = map + count * 8, last = tables + count * 64;
	struct walked walked;

	last += 0x100;
	for (uint64_t i = 0; i < count; i++) {
		forged_put_half(tables + i * 64, 4, 24);
		forged_put_at(tables + i * 64, 40, forged_table(forged, FORGED_OBJECT) | 1);
		forged_put(map + i * 8, i + 1 < count ? tables + i * 64 : last);
	}
	put_session(forged, last, last + 0x2d8);
	forged_put(last + 0x2d8, forged->sessions[2]);
	forged_put_at(forged->memory.base + AT_MODULE, 624 + 8, map);
	forged_put_half(forged->memory.base + AT_MODULE, 624 + 16, (uint32_t)count);
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "static Planted.Session.Kept", forged->sessions[2]));
	walked_free(&walked);
}

/* A module to which classes are added one by one. */
static void all_of_many_maps_of_classes_are_read(void **state)
{
	struct forged *forged = *state;
	uint64_t count = 5000, size = count * 24 + 0x1000, maps = more(forged, size);
	uint64_t last = maps + count * 24 + 0x100;
	struct walked walked;

	forged_put_at(forged->memory.base + AT_MODULE, 624, maps);
	for (uint64_t i = 0; i + 1 < count; i++)
		forged_put(maps + i * 24, maps + (i + 1) * 24);
	put_session(forged, last, last + 0x2d8);
	forged_put(last + 0x2d8, forged->sessions[2]);
	forged_put(last + 0x2e0, last);
	forged_put_at(maps, (count - 1) * 24 + 8, last + 0x2e0);
	forged_put_at(maps, (count - 1) * 24 + 16, 1);
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "static Planted.Session.Kept", forged->sessions[2]));
	walked_free(&walked);
	forged_put(maps + (count - 1) * 24, maps); /* in a circle */
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "static Planted.Session.Kept", forged->sessions[2]));
	walked_free(&walked);
}

/* As in programs that make one for each request. */
static void all_of_many_assemblies_are_read(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 16) + 10, size = 16 + count * 8 + 0x3000;
	uint64_t block = more(forged, size), assembly = align_up(block + 16 + count * 8, 8);
	uint64_t module = assembly + 0x100, last = module + 0x1100, list;
	struct walked walked;

	list = forged->memory.base + AT_DOMAIN + 0x100;
	forged_put_half(list, 0, (uint32_t)count);
	forged_put_half(list, 8 + 8, 1);
	forged_put_at(list, 8, block);
	forged_put_half(block, 8, (uint32_t)count);
	forged_put_at(block, 16 + (count - 2) * 8, assembly);
	forged_put_at(assembly, 24, module);
	memcpy(forged_memory_place(module), forged_memory_place(forged->memory.base + AT_MODULE),
	       0x500);
	forged_put_at(module, 312, assembly);
	forged_put_at(module, 624 + 8, last + 0x2e0);
	forged_put_half(module, 624 + 16, 1);
	put_session(forged, last, last + 0x2d8);
	forged_put(last + 0x2d8, forged->sessions[2]);
	forged_put(last + 0x2e0, last);
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "static Planted.Session.Kept", forged->sessions[2]));
	walked_free(&walked);
}

static void assemblies_that_never_end_do(void **state)
{
	struct forged *forged = *state;
	uint64_t list = forged->memory.base + AT_DOMAIN + 0x100;
	struct walked walked;

	forged_put_half(list, 0, UINT32_MAX);
	forged_put_at(list, 8, list + 8);
	assert_true(walk_within(&forged->memory, "dotnet", 1 << 18, &walked));
	walked_free(&walked);
	forged_put_half(list, 0, 1);
	assert_false(walk_within(&forged->memory, "dotnet", 1 << 18, &walked));
	walked_free(&walked);
}

/* The server's collector had more heaps before. */
static void handles_of_heaps_that_are_gone_are_roots(void **state)
{
	struct forged *forged = *state;
	uint64_t map = forged->memory.base + AT_HANDLES, table = map + 0x300;
	uint64_t segment = forged->memory.base + AT_SEGMENT + 0x10000;
	struct walked walked;

	memcpy(forged_memory_place(segment), forged_memory_place(segment - 0x10000), 0x10000);
	forged_put_at(map, 0x188, table);
	forged_put_at(table, 48, segment);
	forged_put_at(segment, 1920 + 12 * 6 + 8, table);
	forged_put_at(segment + 4096, 0, forged->sessions[3]);
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, "pinned handle", forged->pairs));
	assert_true(has_root(&walked.sink, "pinned handle", forged->sessions[3]));
	walked_free(&walked);
}

/* A structure with an object, a number, an object, and so on. */
static void all_of_many_references_of_a_structure_are_read(void **state)
{
	struct forged *forged = *state;
	uint64_t count = 1100, size = count * 8 + 0x1000, words = more(forged, size);
	uint64_t table = words + count * 8 + 0x200, array = forged->heap_end;
	struct walked walked;

	memcpy(forged_memory_place(table),
	       forged_memory_place(forged_table(forged, FORGED_PAIRS_ARRAY)), 0x200);
	forged_put_at(table, 40, table + 0x100);
	forged_put_at(table + 0x100, 16, table);
	forged_put_half(table, 0, (uint32_t)(forged_word(table) & 0xffff0000) | count * 16);
	forged_put_at(table - 8, 0, 0 - count);
	forged_put_at(table - 16, 0, 16);
	for (uint64_t i = 0; i < count; i++)
		forged_put(table - 24 - i * 8, 1 | 8ull << 32);
	forged_put(array, table);
	forged_put_at(array, 8, 1);
	forged_put_at(array, 16 + (count - 1) * 16, forged->sessions[2]);
	forged_put_at(forged->memory.base + AT_VALUES, COLLECTOR_ALLOCATED * 8,
		      array + 24 + count * 16);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_true(refers(&walked.sink, array, forged->sessions[2]));
	walked_free(&walked);
	/* More than it has words for. */
	forged_put_at(table - 8, 0, 0 - (count * 2 + 1));
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	walked_free(&walked);
}

/* Part of the list is missing: objects that await finalisers are unknown. */
static void a_list_of_finalisers_that_contradicts_itself_is_no_list_of_all(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->all_roots);
	walked_free(&walked);
	forged_put_at(forged->memory.base + AT_QUEUE, 7 * 8, UINT64_MAX - 7);
	walk(&forged->memory, &walked);
	assert_false(REPORT(&walked)->all_roots);
	walked_free(&walked);
}

static void all_that_was_read_too_often_is_said(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	for (int64_t work = 1000; work < 1 << 14; work += 500) {
		bool overworked = walk_within(&forged->memory, "dotnet", work, &walked);

		if (!overworked)
			assert_int_equal(walked.sink.roots.count, 4);
		walked_free(&walked);
	}
}

/* -------- collections */

static int read_memory(const struct forged *forged, struct dotnet_memory *dotnet)
{
	struct target_memory memory = {.pagemap = -1};
	int error =
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory);

	*dotnet = (struct dotnet_memory){0};
	if (!error)
		error = dotnet_memory_of(&memory, dotnet);
	target_memory_close(&memory);
	return error;
}

static void collections_and_what_may_be_allocated_until_the_next_one_are_known(void **state)
{
	struct forged *forged = *state;
	struct dotnet_memory dotnet;

	assert_int_equal(read_memory(forged, &dotnet), 0);
	assert_null(dotnet.why);
	assert_string_equal(dotnet.version, "9");
	assert_int_equal(dotnet.heaps, 1);
	assert_int_equal(dotnet.collections[0], 9);
	assert_int_equal(dotnet.collections[1], 4);
	assert_int_equal(dotnet.collections[2], 2);
	assert_int_equal(dotnet.small.allowed, 100000);
	assert_int_equal(dotnet.small.allocated, 30000);
	assert_int_equal(dotnet.large.allocated, 2900);
	assert_int_equal(dotnet.pinned.allocated, 3050);
	assert_int_equal(dotnet.kept, 1000 + 200 + 30000 + 700);
	assert_true(dotnet.collected_ns > 0);
	assert_int_equal(dotnet.full_ns - dotnet.collected_ns, 2000000000);
}

static uint32_t hash_of(const char *name)
{
	uint32_t hash = 5381;

	for (; *name; name++)
		hash = hash * 33 + (unsigned char)*name;
	return hash;
}

/* The module begins as a file of ELF's does, whose loader finds the two variables. */
static void put_file(const struct forged *forged)
{
	static const struct {
		const char *name;
		uint64_t at;
	} variables[] = {{"g_dacTable", AT_TABLE},
			 {"DotNetRuntimeContractDescriptor", AT_DESCRIPTOR}};
	unsigned char *file = forged->memory.bytes;
	const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
				   .e_phoff = 0x100,
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_phnum = 2};
	const Elf64_Phdr segments[] = {{.p_type = PT_LOAD},
				       {.p_type = PT_DYNAMIC, .p_vaddr = 0x200}};
	const Elf64_Dyn dynamic[] = {
		{DT_SYMTAB, {0x400}}, {DT_STRTAB, {0x500}}, {DT_GNU_HASH, {0x600}}, {DT_NULL, {0}}};
	uint32_t hashes[] = {
		1, 1, 0, 0, 1, hash_of(variables[0].name) & ~1u, hash_of(variables[1].name) | 1};

	memcpy(file, &header, sizeof(header));
	memcpy(file + 0x100, segments, sizeof(segments));
	memcpy(file + 0x200, dynamic, sizeof(dynamic));
	memcpy(file + 0x600, hashes, sizeof(hashes));
	for (size_t i = 0; i < ARRAY_SIZE(variables); i++) {
		const Elf64_Sym symbol = {
			.st_name = (uint32_t)i * 32, .st_shndx = 1, .st_value = variables[i].at};

		memcpy(file + 0x400 + (i + 1) * sizeof(symbol), &symbol, sizeof(symbol));
		forged_put_text(forged->memory.base + 0x500 + i * 32, variables[i].name);
	}
}

/* They are mapped below it. */
static void the_runtime_is_found_behind_any_number_of_assemblies(void **state)
{
	static char path[] = "/app/Planted.dll";
	struct forged *forged = *state;
	struct mapping mappings[300] = {0};
	size_t own = forged->memory.maps.list.count, others = ARRAY_SIZE(mappings) - own;
	struct maps maps = forged->memory.maps;
	struct dotnet_memory dotnet;

	put_file(forged);
	for (size_t i = 0; i < others; i++)
		mappings[i] = (struct mapping){.start = (i + 1) * 0x10000,
					       .end = (i + 1) * 0x10000 + 0x1000,
					       .readable = true,
					       .path = path};
	memcpy(mappings + others, forged->memory.mappings, own * sizeof(mappings[0]));
	maps.list.items = mappings;
	maps.list.count = ARRAY_SIZE(mappings);
	assert_int_equal(dotnet_memory_read(&maps, &dotnet), 0);
	assert_null(dotnet.why);
	assert_int_equal(dotnet.collections[0], 9);
}

/* Each heap of the server's collector has separate budgets, up to the next heap's. */
static void budgets_of_the_heaps_of_a_server_are_summed_up(void **state)
{
	struct forged *forged = *state;
	uint64_t base = forged->memory.base, budgets = base + AT_BUDGETS;
	uint64_t values = base + AT_VALUES, list = base + AT_SETTINGS + 0x200;
	struct dotnet_memory dotnet;

	memcpy((void *)(uintptr_t)(budgets + 0x400), (void *)(uintptr_t)budgets, 0x348);
	forged_put_at(list, 0, budgets + 0x400);
	forged_put_at(list, 8, budgets);
	forged_put_at(values, COLLECTOR_HEAPS * 8, 2);
	forged_put_at(values, COLLECTOR_HEAP_LIST * 8, list);
	forged_put_at(base + AT_COLLECTOR, 24 + COLLECTOR_HEAP_LIST * 8,
		      values + COLLECTOR_HEAP_LIST * 8);
	assert_int_equal(read_memory(forged, &dotnet), 0);
	assert_null(dotnet.why);
	assert_int_equal(dotnet.heaps, 2);
	assert_int_equal(dotnet.collections[0], 9);
	assert_int_equal(dotnet.small.allowed, 200000);
	assert_int_equal(dotnet.small.allocated, 60000);
	forged_put_at(list, 8, 0);
	assert_int_equal(read_memory(forged, &dotnet), 0);
	assert_non_null(dotnet.why);
}

/* One number elsewhere, or the same structure twice. */
static void figures_that_contradict_each_other_are_not_known(void **state)
{
	static const struct {
		size_t generation, word;
		uint64_t value;
	} wrong[] = {
		{0, 11, 10}, {1, 11, 10},      {3, 11, 3},    {0, 3, 0},  {0, 0, 100001},
		{0, 15, 8},  {1, 16, 3000001}, {2, 19, 4097}, {1, 20, 0},
	};
	struct forged *forged = *state;
	struct dotnet_memory dotnet;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t at = forged_budget(forged, wrong[i].generation, wrong[i].word);
		uint64_t kept = forged_word(at);

		forged_put_at(at, 0, wrong[i].value);
		assert_int_equal(read_memory(forged, &dotnet), 0);
		assert_non_null(dotnet.why);
		forged_put_at(at, 0, kept);
	}
	memcpy((void *)(uintptr_t)(forged->memory.base + AT_BUDGETS + 0x400),
	       (void *)(uintptr_t)(forged->memory.base + AT_BUDGETS), 0x348);
	assert_int_equal(read_memory(forged, &dotnet), 0);
	assert_non_null(dotnet.why);
}

/* Under sanitizers, as expect_no_harm_of_nonsense(). */
static void figures_of_nonsense_do_no_harm(void **state)
{
	struct forged *forged = *state;
	_cleanup_free_ unsigned char *kept = malloc(FORGED_BYTES);
	uint64_t seed = 1;

	assert_non_null(kept);
	memcpy(kept, forged->memory.bytes, FORGED_BYTES);
	for (size_t i = 0; i < 200; i++) {
		struct dotnet_memory dotnet;

		for (uint32_t j = 0; j < 1 + i % 8; j++) {
			uint64_t place = forged_random(&seed) % forged->memory.place_count;

			forged_put(forged->memory.base + forged->memory.places[place] * 8ull,
				   forged_random_word(&forged->memory, &seed));
		}
		assert_int_equal(read_memory(forged, &dotnet), 0);
		memcpy(forged->memory.bytes, kept, FORGED_BYTES);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(every_object_has_its_class),
		FORGED(without_a_descriptor_objects_have_their_classes_too),
		FORGED(a_version_that_is_not_known_is_not_read),
		FORGED(references_have_the_names_of_fields),
		FORGED(what_holds_objects_has_a_name),
		FORGED(without_static_fields_objects_refer_all_the_same),
		FORGED(what_cannot_be_read_is_reported),
		FORGED(memory_for_objects_to_come_ends_where_memory_does),
		FORGED(lists_that_do_not_end_are_left),
		FORGED(a_region_that_is_not_mapped_leaves_nothing_for_others),
		FORGED(after_nonsense_the_next_object_is_found),
		FORGED(all_of_many_threads_are_read),
		FORGED(all_of_many_static_fields_are_roots),
		FORGED(all_of_many_classes_have_static_fields),
		FORGED(all_of_many_maps_of_classes_are_read),
		FORGED(all_of_many_assemblies_are_read),
		FORGED(assemblies_that_never_end_do),
		FORGED(handles_of_heaps_that_are_gone_are_roots),
		FORGED(all_of_many_references_of_a_structure_are_read),
		FORGED(a_list_of_finalisers_that_contradicts_itself_is_no_list_of_all),
		FORGED(all_that_was_read_too_often_is_said),
		FORGED(the_runtime_is_found_behind_any_number_of_assemblies),
		FORGED(collections_and_what_may_be_allocated_until_the_next_one_are_known),
		FORGED(budgets_of_the_heaps_of_a_server_are_summed_up),
		FORGED(figures_that_contradict_each_other_are_not_known),
		FORGED(figures_of_nonsense_do_no_harm),
		FORGED(a_thread_has_the_name_that_the_program_gave_it),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
