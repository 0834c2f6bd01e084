// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small JVM made by hand; then the same with nonsense in it. */
#include "unit/hotspot_fixture.h"

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"
#include "heap/runtime/hotspot/reader.h"
#include "heap/runtime/runtime.h"
#include "report/runtime_figures.h"
#include "heap/runtime/target_memory.h"
#include "output/text/text.h"

#define MUTANTS 600
#include "unit/walked.h"

/* The bytes that a thread keeps for objects to come look like a Session. */
static void objects_have_their_classes_as_java_writes_them(void **state)
{
	static const struct {
		const char *class;
		size_t count;
	} expected[] = {
		{"java.lang.Object", 7},
		{"java.lang.Class", FORGED_KLASS_MAX_},
		{"java.lang.Thread", 1},
		{"java.lang.Thread (ended)", 1},
		{"java.lang.String", 1},
		{"byte[]", 3},
		{"java.lang.Object[][]", 2},
		{"java.lang.ref.SoftReference", 1},
		{"java.lang.ref.WeakReference", 1},
		{"java.lang.ref.FinalReference", 1},
		{"shop.Session", FORGED_SESSIONS + FORGED_GARBAGE},
		{"shop.Main$$Lambda$1", 1},
		{"shop.Loader", 1},
		{"shop.Plugin", 1},
		{"jdk.internal.vm.StackChunk", 1},
		{"jdk.internal.vm.Continuation", 1},
		{"java.lang.VirtualThread", 2},
		{"java.lang.VirtualThread (ended)", 1},
		{"java.lang.ThreadLocal$ThreadLocalMap", 1},
		{"java.lang.ThreadLocal$ThreadLocalMap$Entry", 2},
	};
	struct forged *forged = *state;
	struct walked walked;
	size_t sum = 0;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_string_equal(REPORT(&walked)->version, "17.0.15");
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		if (count_class(&walked.sink, expected[i].class) != expected[i].count)
			fail_msg("%s: %zu", expected[i].class,
				 count_class(&walked.sink, expected[i].class));
		sum += expected[i].count;
	}
	assert_int_equal(REPORT(&walked)->objects, sum);
	walked_free(&walked);
}

static void what_holds_objects_from_outside_is_a_root(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(REPORT(&walked)->all_roots);
	expect_root(&walked.sink, "class shop.Session static all", forged->sessions);
	expect_root(&walked.sink, "class loader bootstrap", forged->mirrors[FORGED_OBJECT]);
	expect_root(&walked.sink, "thread worker", forged->thread);
	expect_root(&walked.sink, "JNI local of thread worker", forged->local);
	expect_root(&walked.sink, "stack of thread worker", forged->on_stack);
	expect_root(&walked.sink, "stack of thread worker, shop.Session.serve Shop.java:7",
		    forged->soft);
	expect_root(&walked.sink, "stack of thread worker, shop.Session.accept Shop.java:107",
		    forged->weak);
	expect_root(&walked.sink, "JNI global reference", forged->global);
	expect_root(&walked.sink, "VM", forged->vm);
	expect_root(&walked.sink, "object that awaits its finaliser", forged->finalised);
	assert_true(root_named(&walked.sink, "object that awaits its finaliser")->rank ==
		    MANAGED_WAITING);
	assert_null(root_named(&walked.sink, "VM Weak"));
	assert_null(root_named(&walked.sink, "class shop.Plugin static cache"));
	walked_free(&walked);
}

static void soft_references_hold_and_weak_ones_do_not(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->global, forged->soft));
	assert_true(refers(&walked.sink, forged->soft, forged->of_soft));
	assert_int_equal(count_references(&walked.sink, forged->weak), 0);
	walked_free(&walked);
}

static const char *label_of(const struct walked *walked, uint64_t from, uint64_t to)
{
	const struct heap_sink *sink = &walked->sink;
	uint32_t node = heap_sink_node(sink, from), target = heap_sink_node(sink, to);

	for (uint32_t i = sink->first[node]; i < sink->first[node + 1]; i++) {
		if (sink->references.targets[i] == target)
			return heap_sink_label_name(sink, sink->references.labels[i]);
	}
	return NULL;
}

static void the_stack_of_a_virtual_thread_holds_what_its_frames_refer_to(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->virtual, forged->continuation));
	assert_true(refers(&walked.sink, forged->continuation, forged->chunk));
	assert_string_equal(label_of(&walked, forged->chunk, forged->in_chunk[0]),
			    "<stack, shop.Session.serve Shop.java:7>");
	assert_string_equal(label_of(&walked, forged->chunk, forged->in_chunk[1]),
			    "<stack, shop.Session.accept Shop.java:107>");
	walked_free(&walked);
}

/* With an impossible size it is not an object. */
static void a_stack_that_contradicts_itself_holds_nothing(void **state)
{
	static const uint32_t wrong[][2] = {
		{12, 0xfffffff}, {12, 7}, {16, 28}, {20, 29}, {20, 0xfffffff}};
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t at = forged->chunk + wrong[i][0], kept = forged_word(at);
		struct walked walked;

		forged_put32(at, wrong[i][1]);
		walk(&forged->memory, &walked);
		if (heap_sink_node(&walked.sink, forged->chunk) != BLOCK_NONE)
			assert_false(refers(&walked.sink, forged->chunk, forged->in_chunk[0]));
		walked_free(&walked);
		forged_put(at, kept);
	}
}

static void a_class_that_may_be_unloaded_is_held_by_its_loader_and_objects(void **state)
{
	struct forged *forged = *state;
	uint64_t mirror = forged->mirrors[FORGED_PLUGIN];
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->loader, mirror));
	assert_true(refers(&walked.sink, forged->plugin, mirror));
	assert_true(refers(&walked.sink, mirror, forged->plugin_static));
	/* The others' static fields are roots. */
	assert_int_equal(count_references(&walked.sink, forged->mirrors[FORGED_SESSION]), 0);
	walked_free(&walked);
}

static void classes_that_several_loaders_have_are_named(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->copied_classes, 0);
	assert_null(REPORT(&walked)->copies[0].name);
	walked_free(&walked);
	/* The plugin's class gets the name of another loader's. */
	forged_put(forged_klass(FORGED_PLUGIN) + 16,
		   forged_word(forged_klass(FORGED_SESSION) + 16));
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->copied_classes, 1);
	assert_string_equal(REPORT(&walked)->copies[0].name, "shop.Session");
	assert_string_equal(REPORT(&walked)->copies[0].loader, "shop.Loader");
	assert_int_equal(REPORT(&walked)->copies[0].copies, 2);
	assert_null(REPORT(&walked)->copies[1].name);
	walked_free(&walked);
}

static void a_long_holds_the_native_block_at_its_address(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint32_t node;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged->sessions, forged->memory.blocks[0]));
	node = heap_sink_node(&walked.sink, forged->sessions);
	assert_string_equal(
		heap_sink_label_name(&walked.sink,
				     walked.sink.references.labels[walked.sink.first[node]]),
		"next");
	walked_free(&walked);
}

/* A class may be forged to have as many of each as it likes. */
static void fields_of_one_place_are_one(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_field(forged, FORGED_SESSION, "again", "J", 16, false);
	forged_field(forged, FORGED_SESSION, "other", "J", 16, false);
	walk(&forged->memory, &walked);
	assert_int_equal(count_references(&walked.sink, forged->sessions), 2);
	walked_free(&walked);
}

static void maps_end_where_the_object_does(void **state)
{
	static const struct {
		struct hotspot_map first;
		uint32_t references;
	} cases[] = {{{12, 0}, 2}, {{12, 4}, 1}, {{20, 2}, 1}, {{0x1000, 1}, 1}};
	struct forged *forged = *state;

	forged_put32(forged_klass(FORGED_SESSION) + 72, 2);
	forged_put32(forged_klass(FORGED_SESSION) + 104, 12);
	forged_put32(forged_klass(FORGED_SESSION) + 108, 1);
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct walked walked;

		forged_put32(forged_klass(FORGED_SESSION) + 96, cases[i].first.offset);
		forged_put32(forged_klass(FORGED_SESSION) + 100, cases[i].first.count);
		walk(&forged->memory, &walked);
		assert_int_equal(count_references(&walked.sink, forged->sessions),
				 cases[i].references);
		walked_free(&walked);
	}
}

#define G1_REGIONS (FORGED_BASE + FORGED_OLD)
#define G1_OVERLAPPING 3

/* All of Eden, as regions of the archive. */
static void make_g1(struct forged *forged)
{
	uint64_t table = G1_REGIONS + 0x100, region = G1_REGIONS + 0x200;

	forged_struct(forged, "G1CollectedHeap", "_hrm", FORGED_OLD - (FORGED_VM + 0x680), false);
	forged_struct(forged, "HeapRegionManager", "_regions", 0, false);
	forged_struct(forged, "G1HeapRegionTable", "_base", 0, false);
	forged_struct(forged, "G1HeapRegionTable", "_length", 8, false);
	forged_struct(forged, "HeapRegion", "_bottom", 0, false);
	forged_struct(forged, "HeapRegion", "_top", 8, false);
	forged_struct(forged, "HeapRegion", "_end", 16, false);
	forged_struct(forged, "HeapRegion", "_type", 24, false);
	forged_struct(forged, "HeapRegionType", "_tag", 0, false);
	forged_put(FORGED_BASE + FORGED_VM + 0x1d00 + 3 * 16 + 8, forged_text(forged, "UseG1GC"));
	forged_put(forged->zgc, 1);
	forged_put(G1_REGIONS, table);
	forged_put(G1_REGIONS + 8, G1_OVERLAPPING);
	for (uint64_t i = 0; i < G1_OVERLAPPING; i++)
		forged_put(table + i * 8, region);
	forged_put(region, FORGED_BASE + FORGED_EDEN);
	forged_put(region + 8, forged->object);
	forged_put(region + 16, FORGED_BASE + FORGED_EDEN + FORGED_SPACE_BYTES);
	forged_put(region + 24, 32);
}

static void archived_regions_that_overlap_hold_each_object_once(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	size_t archived = 0;

	make_g1(forged);
	walk(&forged->memory, &walked);
	for (size_t i = 0; i < walked.sink.roots.count; i++)
		archived += !strcmp(walked.sink.roots.items[i].name, "archive of shared classes");
	assert_int_equal(REPORT(&walked)->nonsense, G1_OVERLAPPING - 1);
	assert_int_equal(archived, REPORT(&walked)->objects);
	walked_free(&walked);
}

#define MANY_REGIONS ((1u << 20) + 1)

static void regions_have_objects_however_many_there_are(void **state)
{
	struct forged *forged = *state;
	uint64_t table = forged_memory_more(&forged->memory, MANY_REGIONS * 8ull);
	struct walked walked;

	assert_int_not_equal(table, 0);
	make_g1(forged);
	forged_put(G1_REGIONS, table);
	forged_put(G1_REGIONS + 8, MANY_REGIONS);
	forged_put(table + (MANY_REGIONS - 1) * 8ull, G1_REGIONS + 0x200);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "shop.Session"),
			 FORGED_SESSIONS + FORGED_GARBAGE);
	walked_free(&walked);
}

#define DEEP_WORDS ((1u << 24) + 32)

/*
 * The stack of a virtual thread that waits in a recursion (-Xss512m), at its last word but one.
 * Most of its pages are absent.
 */
static void expect_deep_stack(struct forged *forged, uint32_t sp)
{
	uint64_t bytes = 32 + DEEP_WORDS * 8ull + DEEP_WORDS / 4;
	uint64_t chunk = forged_memory_more(&forged->memory, bytes);
	struct walked walked;

	assert_int_not_equal(chunk, 0);
	make_g1(forged);
	forged_put(G1_REGIONS + 8, 2);
	forged_put(G1_REGIONS + 0x100 + 8, G1_REGIONS + 0x240);
	forged_put(G1_REGIONS + 0x240, chunk);
	forged_put(G1_REGIONS + 0x248, chunk + bytes);
	forged_put(G1_REGIONS + 0x250, chunk + bytes);
	forged_put(chunk, forged_word(forged->chunk));
	forged_put(chunk + 8, forged_word(forged->chunk + 8));
	forged_put32(chunk + 12, DEEP_WORDS);
	forged_put32(chunk + 16, sp);
	forged_put32(chunk + 20, 1);
	forged_put(chunk + 32 + (DEEP_WORDS - 2) * 8ull, forged->in_chunk[0]);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(count_class(&walked.sink, "jdk.internal.vm.StackChunk"), 2);
	assert_true(refers(&walked.sink, chunk, forged->in_chunk[0]));
	walked_free(&walked);
}

static void a_stack_of_a_virtual_thread_holds_objects_however_deep_it_is(void **state)
{
	expect_deep_stack(*state, DEEP_WORDS - 8);
}

static void a_stack_is_read_on_behind_a_page_that_is_not_there(void **state)
{
	expect_deep_stack(*state, DEEP_WORDS - 8192);
}

#define MANY_CHUNKS ((1u << 21) + 1)

/* Empty chunks of handles precede one with handles. */
static void what_loaders_hold_is_a_root_however_many_handles_there_are(void **state)
{
	struct forged *forged = *state;
	uint64_t chunks = forged_memory_more(&forged->memory, MANY_CHUNKS * 16ull + 0x1000);
	uint64_t boot = FORGED_BASE + FORGED_VM;
	struct walked walked;

	assert_int_not_equal(chunks, 0);
	for (uint64_t i = 0; i < MANY_CHUNKS; i++)
		forged_put(chunks + i * 16 + 264,
			   i + 1 < MANY_CHUNKS ? chunks + (i + 1) * 16 : boot + 0x400);
	forged_put(boot + 16, chunks);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_true(REPORT(&walked)->all_roots);
	expect_root(&walked.sink, "class loader bootstrap", forged->mirrors[FORGED_OBJECT]);
	walked_free(&walked);
}

#define MANY_THREADS ((1u << 16) + 1)

static void put_threads(struct forged *forged)
{
	uint64_t list = FORGED_BASE + FORGED_VM + 0x800;
	uint64_t items = forged_memory_more(&forged->memory, MANY_THREADS * 16ull + 0x1000);

	assert_int_not_equal(items, 0);
	forged_put32(list + 4, MANY_THREADS);
	forged_put(list + 8, items);
	for (uint64_t i = 0; i < MANY_THREADS; i++)
		forged_put(items + i * 8, items + (MANY_THREADS + i) * 8);
	forged_put(items + (MANY_THREADS - 1) * 8ull, list + 0x40);
}

static void threads_hold_objects_however_many_there_are(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	put_threads(forged);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	expect_root(&walked.sink, "thread worker", forged->thread);
	expect_root(&walked.sink, "stack of thread worker", forged->on_stack);
	walked_free(&walked);
}

/* The operand is at any byte of an instruction; an address inside a block does not count. */
static void a_block_that_compiled_code_has_as_an_operand_is_held(void **state)
{
	static const char name[] = "compiled code";
	struct forged *forged = *state;
	uint64_t block = forged_memory_malloc(&forged->memory, 32);
	uint64_t inside = forged_memory_malloc(&forged->memory, 32) + 8;
	struct walked walked;

	memcpy(forged_memory_place(FORGED_BASE + FORGED_CODE + 0xf3), &block, sizeof(block));
	memcpy(forged_memory_place(FORGED_BASE + FORGED_CODE + 0xe5), &inside, sizeof(inside));
	walk(&forged->memory, &walked);
	assert_null(root_named(&walked.sink, name));
	walked_free(&walked);
	forged->memory.mappings[1].executable = true;
	walk(&forged->memory, &walked);
	assert_true(has_root(&walked.sink, name, block));
	assert_false(has_root(&walked.sink, name, inside));
	walked_free(&walked);
	forged->memory.mappings[1].executable = false;
}

static void a_collector_that_is_not_read_is_named(void **state)
{
	struct forged *forged = *state;

	forged_put(forged->zgc, 1);
	expect_why(&forged->memory, "ZGC of this version: its description lacks structures");
}

static void a_heap_that_is_being_collected_is_not_read(void **state)
{
	struct forged *forged = *state;

	forged_put(forged->collecting, 1);
	expect_why(&forged->memory, "it collects too often");
}

static void a_description_without_what_is_needed_is_reported(void **state)
{
	struct forged *forged = *state;

	forged_put(FORGED_BASE + FORGED_STRUCTS, 0);
	expect_why(&forged->memory, "its description lacks Universe::_collectedHeap");
}

static void a_description_that_lacks_one_place_is_refused_for_it(void **state)
{
	static const char *const fields[][2] = {
		{"_layout_helper", "its description lacks Klass::_layout_helper"},
		{"_metadata._klass", "its description lacks oopDesc::_metadata._klass"},
		{"_stack_base", "its description lacks JavaThread::_stack_base"},
	};
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		uint64_t entry = forged_entry(forged, 8, fields[i][0]);
		uint64_t kept = forged_word(entry + 8);

		forged_rename(forged, fields[i][0], "_other");
		expect_why(&forged->memory, fields[i][1]);
		forged_put(entry + 8, kept);
	}
}

static void expect_sessions(struct forged *forged, const char *version, bool untested)
{
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_string_equal(REPORT(&walked)->version, version);
	assert_int_equal(REPORT(&walked)->untested, untested);
	assert_int_equal(count_class(&walked.sink, "shop.Session"),
			 FORGED_SESSIONS + FORGED_GARBAGE);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	walked_free(&walked);
}

/* From 27 on the class in a header is always compressed, without a flag. */
static void headers_are_compressed_without_a_flag(void **state)
{
	struct forged *forged = *state;

	forged_rename(forged, "_metadata._klass", "_compressed_klass");
	forged_put(forged->compressed_klasses, forged_text(forged, "UseOther"));
	expect_sessions(forged, "17.0.15", false);
}

static void a_version_that_was_never_tested_is_read_and_marked(void **state)
{
	struct forged *forged = *state;

	forged_put(forged->major, 99);
	expect_sessions(forged, "99.0.15", true);
}

static void a_new_format_of_fields_is_refused_by_its_name(void **state)
{
	struct forged *forged = *state;

	forged_struct(forged, "Klass", "_kind", 12, false);
	expect_why(&forged->memory, "Klass::_kind");
}

static void put_letter(uint64_t address, char letter)
{
	memcpy(forged_memory_place(address), &letter, 1);
}

/* Each check of hotspot_proof.c, of a VM that describes all places. */
static void a_vm_that_contradicts_its_description_is_refused_by_the_check(void **state)
{
	struct forged *forged = *state;
	uint64_t name = forged_word(forged_klass(FORGED_OBJECT) + 16);
	uint64_t constants = forged_pool(FORGED_THREAD) + 8;
	uint64_t mirror = forged->mirrors[FORGED_OBJECT];
	uint64_t bottom = forged_entry(forged, 8, "_eden_space"), kept;

	put_letter(name + 6, 'k');
	expect_why(&forged->memory, "java.lang.Object, Class and Thread are not where");
	put_letter(name + 6, 'j');

	kept = forged_word(constants);
	put_letter(kept + 6, 'x');
	expect_why(&forged->memory, "the fields of java.lang.Thread cannot be read");
	put_letter(kept + 6, 'e');

	forged_put(mirror + 16, forged_klass(FORGED_THREAD));
	expect_why(&forged->memory, "the header of its objects is not as described");
	forged_put(mirror + 16, forged_klass(FORGED_OBJECT));

	/* None of the young generation's three spaces contains the mirrors. */
	kept = forged_word(bottom + 32);
	forged_put(bottom + 32, kept + 8);
	expect_why(&forged->memory, "its collector keeps objects elsewhere");
	forged_put(bottom + 32, kept);
	expect_sessions(forged, "17.0.15", false);
}

static int read_all_threads(const struct forged_memory *forged, struct java_thread_report *report,
			    struct task_report *virtual)
{
	struct target_memory memory = {.pagemap = -1};
	int error = target_memory_open(&forged->maps, &forged->modules, NULL, &memory);

	*report = (struct java_thread_report){0};
	*virtual = (struct task_report){0};
	if (!error)
		error = java_threads_of(&memory, report, virtual);
	target_memory_close(&memory);
	return error;
}

static int read_threads(const struct forged_memory *forged, struct java_thread_report *report)
{
	struct task_report virtual;
	int error = read_all_threads(forged, report, &virtual);

	task_report_free(&virtual);
	return error;
}

static void threads_have_names_and_the_methods_and_lines_that_they_are_in(void **state)
{
	static const struct {
		const char *function;
		uint32_t line;
		bool inlined;
	} expected[] = {{"shop.Session.serve", 7, false},
			{"shop.Session.serve", 7, true},
			{"shop.Session.accept", 107, false}};
	struct forged *forged = *state;
	const struct java_thread_group *group;
	struct java_thread_report report;

	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_null(report.why);
	assert_int_equal(report.count, 1);
	assert_int_equal(report.groups.count, 1);
	assert_non_null(report.groups.items);
	group = &report.groups.items[0];
	assert_string_equal(group->name, "worker");
	assert_string_equal(group->state, "runnable");
	assert_int_equal(group->stack.list.count, ARRAY_SIZE(expected));
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		const struct frame *frame = &group->stack.list.items[i];

		assert_string_equal(frame->function, expected[i].function);
		assert_string_equal(frame->file, "Shop.java");
		assert_int_equal(frame->line, expected[i].line);
		assert_int_equal(frame->inlined, expected[i].inlined);
	}
	java_thread_report_free(&report);
}

static void virtual_threads_are_counted_by_where_they_wait(void **state)
{
	struct forged *forged = *state;
	const struct task_group *group;
	struct java_thread_report report;
	struct task_report virtual;

	assert_int_equal(read_all_threads(&forged->memory, &report, &virtual), 0);
	assert_null(virtual.why);
	assert_string_equal(virtual.version, "17.0.15");
	assert_int_equal(virtual.count, 2);
	assert_int_equal(virtual.ended, 1);
	assert_int_equal(virtual.unread, 0);
	assert_false(virtual.moved);
	assert_int_equal(virtual.members.count, 2);
	assert_int_equal(virtual.groups.count, 1);
	assert_non_null(virtual.groups.items);
	assert_non_null(virtual.members.items);
	group = &virtual.groups.items[0];
	assert_int_equal(group->count, 2);
	assert_string_equal(group->state, "parked");
	assert_int_equal(virtual.members.items[0].number, 7);
	assert_int_equal(virtual.members.items[1].number, 8);
	assert_int_equal(virtual.members.items[1].group, group->id);
	assert_int_equal(group->stack.list.count, 3);
	assert_string_equal(group->stack.list.items[0].function, "shop.Session.serve");
	assert_int_equal(group->stack.list.items[0].line, 7);
	assert_string_equal(group->stack.list.items[2].function, "shop.Session.accept");
	java_thread_report_free(&report);
	task_report_free(&virtual);
}

/* It has the frames of its carrier thread, and those of another state are separate. */
static void a_virtual_thread_that_is_mounted_is_where_its_carrier_is(void **state)
{
	struct forged *forged = *state;
	struct java_thread_report report;
	struct task_report virtual;

	forged_put32(forged->virtual + 40, 3);
	forged_refer(forged->virtual, 48, forged->thread);
	forged_put(forged->thread + 16, FORGED_BASE + FORGED_VM + 0x840);
	forged_put32(forged->chunk + 16, 27);
	assert_int_equal(read_all_threads(&forged->memory, &report, &virtual), 0);
	assert_int_equal(virtual.groups.count, 2);
	assert_non_null(virtual.groups.items);
	for (size_t i = 0; i < 2; i++) {
		bool runs = !strcmp(virtual.groups.items[i].state, "running");

		assert_int_equal(virtual.groups.items[i].stack.list.count, runs ? 3 : 0);
	}
	java_thread_report_free(&report);
	task_report_free(&virtual);
}

static void a_program_without_virtual_threads_has_no_report_of_them(void **state)
{
	struct forged *forged = *state;
	struct java_thread_report report;
	struct task_report virtual;

	forged_refer(forged->mirrors[FORGED_VIRTUAL], 32, 0);
	assert_int_equal(read_all_threads(&forged->memory, &report, &virtual), 0);
	assert_int_equal(report.count, 1);
	assert_string_equal(virtual.version, "");
	assert_null(virtual.why);
	java_thread_report_free(&report);
	task_report_free(&virtual);
}

static void a_state_that_the_class_has_not_is_in_no_group(void **state)
{
	struct forged *forged = *state;
	struct java_thread_report report;
	struct task_report virtual;

	forged_put32(forged->virtual + 40, 77);
	assert_int_equal(read_all_threads(&forged->memory, &report, &virtual), 0);
	assert_int_equal(virtual.count, 1);
	assert_int_equal(virtual.unread, 1);
	java_thread_report_free(&report);
	task_report_free(&virtual);
}

static void values_of_thread_locals_that_are_gone_are_counted(void **state)
{
	struct forged *forged = *state;
	struct java_thread_report report;

	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_int_equal(report.gone_count, 1);
	assert_int_equal(report.gone.count, 1);
	assert_non_null(report.gone.items);
	assert_string_equal(report.gone.items[0].class, "shop.Session");
	assert_string_equal(report.gone.items[0].thread, "worker");
	assert_false(report.gone.items[0].is_virtual);
	assert_int_equal(report.gone.items[0].count, 1);
	java_thread_report_free(&report);
}

#define DEEP_FRAMES 200 /* two methods each */

static void a_stack_of_more_frames_than_are_read_says_so(void **state)
{
	struct forged *forged = *state;
	uint64_t stack = forged_memory_more(&forged->memory, DEEP_FRAMES * 32ull + 0x1000);
	uint64_t thread = FORGED_BASE + FORGED_VM + 0x840;
	uint64_t pc = FORGED_BASE + FORGED_CODE + 2 * 128 + 16 + 0x80 + 0x10;
	struct java_thread_report report;
	const struct frames *frames;

	assert_int_not_equal(stack, 0);
	forged_put(thread + 80, stack + DEEP_FRAMES * 32ull + 0x1000);
	forged_put(thread + 88, DEEP_FRAMES * 32ull + 0x1000);
	forged_put(thread + 96, stack + 64);
	forged_put(thread + 96 + 16, pc);
	for (uint64_t i = 0; i + 1 < DEEP_FRAMES; i++)
		forged_put(stack + 64 + i * 32 + 24, pc);
	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_int_equal(report.groups.count, 1);
	assert_non_null(report.groups.items);
	frames = &report.groups.items[0].stack;
	assert_int_equal(frames->list.count, HOTSPOT_FRAMES_MAX + 1);
	assert_string_equal(frames->list.items[HOTSPOT_FRAMES_MAX - 1].function,
			    "shop.Session.accept");
	assert_string_equal(frames->list.items[HOTSPOT_FRAMES_MAX].why,
			    "callers that were not read");
	java_thread_report_free(&report);
}

static void what_is_not_listed_of_threads_is_said(void **state)
{
	const struct text_form form = {.verbose = true};
	struct java_gone_local gone = {.class = "shop.Session", .thread = "worker", .count = 3};
	struct frame frame = {.why = "callers that were not read"};
	struct java_thread_group group = {.name = "worker", .of = "", .state = "parked"};
	struct java_thread_report report = {.gone_count = 10, .gone_unlisted = 7};
	const struct runtime_figures figures = {java_thread_reader.view, &report};
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);

	(void)state;
	group.stack.list.items = &frame;
	report.gone.items = &gone;
	report.groups.items = &group;
	group.stack.list.count = report.gone.count = report.groups.count = 1;
	assert_non_null(out);
	text_runtime_write(out, &form, &figures);
	assert_int_equal(fclose(out), 0);
	assert_non_null(strstr(text, "\t\tcallers that were not read\n"));
	assert_non_null(strstr(text, "\t\t3 of class shop.Session, of thread worker\n"));
	assert_non_null(
		strstr(text, "\t\tand 7 more of classes and threads that are not listed\n"));
	free(text);
}

/* A collection came between, and they are read again. */
static void values_that_are_read_again_are_counted_once(void **state)
{
	static const uint64_t left[] = {2, 8}; /* of virtual threads, and of others */

	(void)state;
	for (size_t i = 0; i < ARRAY_SIZE(left); i++) {
		struct java_gone_local gone = {.count = 3}; /* the others are not listed */
		struct java_thread_report report = {.gone_count = 10, .gone_virtual = 2};

		report.gone.items = &gone;
		report.gone.count = 1;
		hotspot_forget_locals(&report, i == 1);
		assert_int_equal(report.gone_count, left[i]);
		assert_int_equal(report.gone.count, i);
	}
}

/* UNSIGNED5, as until 20. */
static uint64_t put_number(uint64_t at, uint32_t number)
{
	unsigned char *bytes = forged_memory_place(at);

	bytes[0] = (unsigned char)(number < 192 ? number : 192 + number % 64);
	if (number < 192)
		return at + 1;
	bytes[1] = (unsigned char)((number - bytes[0]) / 64);
	return at + 2;
}

#define MANY_SCOPES 200

/* As compilers inline the trees of interpreters. */
static void calls_that_are_inlined_in_each_other_are_all_read(void **state)
{
	struct forged *forged = *state;
	uint64_t compiled = FORGED_BASE + FORGED_CODE + 2 * 128 + 16;
	uint64_t scopes = forged_memory_more(&forged->memory, MEMORY_PAGE), at = scopes + 1;
	struct java_thread_report report;
	const struct frames *frames;
	uint32_t scope = 0;

	assert_int_not_equal(scopes, 0);
	for (uint32_t i = 0; i < MANY_SCOPES; i++) {
		uint32_t sender = scope;

		scope = (uint32_t)(at - scopes);
		at = put_number(at, sender);
		at = put_number(at, i ? 1 : 2);
		at = put_number(at, 4);
	}
	forged_put32(compiled + 0xa4, scope);
	forged_put(compiled + 48, scopes);
	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_non_null(report.groups.items);
	frames = &report.groups.items[0].stack;
	assert_int_equal(frames->list.count, 1 + MANY_SCOPES);
	assert_string_equal(frames->list.items[MANY_SCOPES].function, "shop.Session.accept");
	assert_false(frames->list.items[MANY_SCOPES].inlined);
	java_thread_report_free(&report);
}

#define MANY_LOCALS ((1u << 21) + 1)

static void all_values_of_thread_locals_that_are_gone_are_counted(void **state)
{
	struct forged *forged = *state;
	uint64_t table = forged_memory_more(&forged->memory, 16 + MANY_LOCALS * 4ull);
	uint64_t map = FORGED_BASE + forged_word(forged->thread + 24) / (1ull << 32) * 8;
	uint64_t old = FORGED_BASE + (uint64_t)(uint32_t)forged_word(map + 12) * 8;
	struct java_thread_report report;

	assert_int_not_equal(table, 0);
	memcpy(forged_memory_place(table), forged_memory_place(old), 16);
	forged_put32(table + 12, MANY_LOCALS);
	for (uint32_t i = 0; i < 3; i++)
		forged_put32(table + 16 + (MANY_LOCALS - 1 - i) * 4ull,
			     (uint32_t)forged_word(old + 16));
	forged_refer(map, 12, table);
	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_null(report.why);
	assert_int_equal(report.gone_count, 3);
	java_thread_report_free(&report);
}

static void a_thread_that_is_listed_twice_is_one(void **state)
{
	uint64_t list = FORGED_BASE + FORGED_VM + 0x800;
	struct forged *forged = *state;
	struct java_thread_report report;

	forged_put32(list + 4, 2);
	forged_put(list + 0x28, list + 0x40);
	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_int_equal(report.count, 1);
	java_thread_report_free(&report);
}

/* Up to 11 each points to the next one, without a list. */
static void threads_without_a_list_are_linked(void **state)
{
	struct forged *forged = *state;
	unsigned char *name = memmem(forged->memory.bytes, FORGED_BYTES, "ThreadsSMRSupport", 17);
	struct java_thread_report report;

	assert_non_null(name);
	name[0] = 'X';
	forged_static(forged, "Threads", "_thread_list", FORGED_BASE + FORGED_VM + 0x840);
	forged_struct(forged, "JavaThread", "_next", 0x80, false);
	for (size_t i = 0; i < 2; i++) {
		assert_int_equal(read_threads(&forged->memory, &report), 0);
		assert_int_equal(report.count, 1);
		assert_non_null(report.groups.items);
		assert_string_equal(report.groups.items[0].name, "worker");
		java_thread_report_free(&report);
		/* Then it leads to itself. */
		forged_put(FORGED_BASE + FORGED_VM + 0x840 + 0x80, FORGED_BASE + FORGED_VM + 0x840);
	}
}

static int read_memory(const struct forged_memory *forged, struct java_memory *java)
{
	struct target_memory memory = {.pagemap = -1};
	int error = target_memory_open(&forged->maps, &forged->modules, NULL, &memory);

	*java = (struct java_memory){0};
	if (!error)
		error = java_memory_of(&memory, java);
	target_memory_close(&memory);
	return error;
}

static void what_a_vm_has_off_its_heap_is_counted(void **state)
{
	struct forged *forged = *state;
	struct java_memory java;

	assert_int_equal(read_memory(&forged->memory, &java), 0);
	assert_null(java.why);
	assert_string_equal(java.collector, "Serial");
	assert_int_equal(java.committed, 4 * FORGED_SPACE_BYTES);
	assert_int_equal(java.used, forged->object - (FORGED_BASE + FORGED_EDEN));
	assert_int_equal(java.kept, 0);
	assert_int_equal(java.threads, 1);
	assert_int_equal(java.thread_stacks, FORGED_STACK_BYTES);
	assert_int_equal(java.classes, FORGED_KLASS_MAX_);
	assert_true(java.has_metaspace);
	assert_int_equal(java.metaspace, 0x4000 * 8);
	assert_int_equal(java.metaspace_used, 3 * 1024);
	assert_int_equal(java.loaders.count, 2);
	assert_non_null(java.loaders.items);
	assert_string_equal(java.loaders.items[0].name, "class loader bootstrap");
	assert_int_equal(java.loaders.items[0].committed, 2 * 4096);
	assert_string_equal(java.loaders.items[1].name, "shop.Loader");
	assert_int_equal(java.loaders.items[1].used, 1024);
	assert_int_equal(java.loaders.items[1].classes, 1);
	java_memory_free(&java);
}

/* A value that would cost more than the process's memory is reported as unknown. */
static void what_cannot_be_read_to_its_end_is_not_known(void **state)
{
	struct forged *forged = *state;
	struct java_thread_report report = {0};
	struct task_report virtual = {0};
	struct java_memory java = {0};
	struct target_memory memory;

	put_threads(forged);
	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, &memory),
		0);
	memory.work_left = memory.work_most = 1 << 17;
	assert_int_equal(java_threads_of(&memory, &report, &virtual), 0);
	assert_non_null(strstr(report.why, "again and again"));
	assert_non_null(strstr(virtual.why, "again and again"));
	target_memory_forget(&memory);
	assert_int_equal(java_memory_of(&memory, &java), 0);
	assert_non_null(strstr(java.why, "again and again"));
	java_memory_free(&java);
	java_thread_report_free(&report);
	task_report_free(&virtual);
	target_memory_close(&memory);
}

/* Classes, loaders, handles of a loader and of a thread: each is itself the next one. */
static void lists_that_lead_to_themselves_end(void **state)
{
	struct forged *forged = *state;
	uint64_t boot = FORGED_BASE + FORGED_VM, handles = boot + 0xa00;
	struct java_thread_report report;
	struct java_memory java;
	struct walked walked;

	forged_put(boot + 0x200 + 40, boot);
	forged_put(forged_klass(FORGED_OBJECT) + 56, forged->klass_lists[0]);
	forged_put(boot + 0x400 + 264, boot + 0x400);
	forged_put32(handles + 256, 32);
	forged_put(handles + 264, handles);
	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	expect_root(&walked.sink, "class shop.Session static all", forged->sessions);
	walked_free(&walked);
	assert_int_equal(read_threads(&forged->memory, &report), 0);
	assert_null(report.why);
	java_thread_report_free(&report);
	assert_int_equal(read_memory(&forged->memory, &java), 0);
	assert_null(java.why);
	java_memory_free(&java);
}

/* A chunk more than its arena counts, or one of another size. */
static void metaspace_that_contradicts_itself_is_not_known(void **state)
{
	static const struct {
		uint64_t place, word;
	} wrong[] = {{0x60, 1}, {0x108, 600}, {0x118, 0x30c}, {0x100, 0x10}, {0xd0, 0x20000}};
	struct forged *forged = *state;

	for (size_t i = 0; i < ARRAY_SIZE(wrong); i++) {
		uint64_t at = forged->metaspace + wrong[i].place, kept = forged_word(at);
		struct java_memory java;

		forged_put(at, wrong[i].word);
		assert_int_equal(read_memory(&forged->memory, &java), 0);
		assert_null(java.why);
		assert_false(java.has_metaspace);
		assert_int_equal(java.classes, FORGED_KLASS_MAX_);
		java_memory_free(&java);
		forged_put(at, kept);
	}
}

/* Under sanitizers, as expect_no_harm_of_nonsense(). */
static void threads_and_memory_of_nonsense_do_no_harm(void **state)
{
	struct forged *forged = *state;
	_cleanup_free_ unsigned char *kept = malloc(FORGED_BYTES);
	uint64_t seed = 1;

	assert_non_null(kept);
	memcpy(kept, forged->memory.bytes, FORGED_BYTES);
	for (size_t i = 0; i < MUTANTS; i++) {
		struct java_thread_report report;
		struct java_memory java;

		for (uint32_t j = 0; j < 1 + i % 8; j++) {
			uint64_t place = forged_random(&seed) % forged->memory.place_count;

			forged_put(FORGED_BASE + forged->memory.places[place] * 8ull,
				   forged_random_word(&forged->memory, &seed));
		}
		assert_int_equal(read_threads(&forged->memory, &report), 0);
		java_thread_report_free(&report);
		assert_int_equal(read_memory(&forged->memory, &java), 0);
		java_memory_free(&java);
		memcpy(forged->memory.bytes, kept, FORGED_BYTES);
	}
}

/* -------- references of ZGC */

#define Z_OFFSETS ((1ull << 42) - 1)
#define Z_BASE (1ull << 42)
#define Z_GRANULE 0x200000ull
#define Z_MAPS (FORGED_BASE + FORGED_OLD)
#define Z_TABLES (Z_MAPS + 0x1000)
#define Z_PLACE 3u /* of 5 */

/*
 * Moves objects at 5 words in the second granule: in generation `number`, to `to`. Their entry is
 * at the index that the VM's hash of 5 gives, of 8, or after it.
 */
static void z_move(uint32_t number, uint64_t to, uint32_t place)
{
	uint64_t table = Z_TABLES + number * 0x100ull;

	forged_put(Z_MAPS + number * 0x100ull + 8, table);
	forged_put(table, Z_GRANULE);
	forged_put(table + 8, 2 * Z_GRANULE);
	forged_put(table + 16, 3);
	forged_put(table + 24, 8);
	forged_put(table + 32 + place % 8 * 8ull, 5ull << 46 | to << 1 | 1);
}

static void z_make(const struct forged *forged, bool generations, struct target_memory *memory,
		   struct hotspot *hotspot)
{
	uint64_t *places = hotspot->layout.places;

	assert_int_equal(
		target_memory_open(&forged->memory.maps, &forged->memory.modules, NULL, memory), 0);
	*hotspot = (struct hotspot){.memory = memory};
	memset(places, 0xff, sizeof(hotspot->layout.places));
	places[HOTSPOT_Z_RANGE_START] = 0;
	places[HOTSPOT_Z_RANGE_END] = 8;
	places[HOTSPOT_Z_FORWARDING_RANGE] = 0;
	places[HOTSPOT_Z_FORWARDING_SHIFT] = 16;
	places[HOTSPOT_Z_FORWARDING_COUNT] = 24;
	places[HOTSPOT_Z_FORWARDING_BYTES] = 32;
	hotspot->z = (struct hotspot_z){.used = true,
					.generations = generations,
					.offset_mask = Z_OFFSETS,
					.base = Z_BASE,
					.bad = Z_BASE, /* the first colour */
					.granules = 16,
					.forwarding = {Z_MAPS, generations ? Z_MAPS + 0x100 : 0}};
}

static void a_reference_of_an_older_colour_leads_to_where_its_object_was_moved(void **state)
{
	static const struct {
		uint64_t reference, object;
	} expected[] = {
		{Z_BASE << 2 | (Z_GRANULE + 40), Z_BASE | (Z_GRANULE + 40)},
		{Z_BASE << 1 | (Z_GRANULE + 40), Z_BASE | (Z_GRANULE + 40)},
		{Z_BASE | (Z_GRANULE + 40), Z_BASE | 0x600100},
		{Z_BASE << 3 | Z_BASE | (Z_GRANULE + 40), Z_BASE | 0x600100},
		{Z_BASE | (Z_GRANULE + 48), Z_BASE | (Z_GRANULE + 48)},
		{Z_BASE << 2, Z_BASE},
		{Z_GRANULE + 40, 0},
		{Z_BASE << 4 | Z_BASE, 0},
		{0, 0},
	};
	struct target_memory memory;
	struct hotspot hotspot;

	z_make(*state, false, &memory, &hotspot);
	z_move(0, 0x600100, Z_PLACE);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(hotspot_decode(&hotspot, expected[i].reference),
				 expected[i].object);
	target_memory_close(&memory);
}

/*
 * The first of the four colours is good; the lower bit of their number belongs to the young
 * generation.
 */
static void a_colour_has_the_generation_in_which_an_object_was_moved(void **state)
{
	const uint64_t address = Z_BASE | (Z_GRANULE + 40), other = Z_BASE | (4 * Z_GRANULE + 40);
	const struct {
		uint64_t reference, object;
	} expected[] = {
		{address << 13 | 0x1000, address},
		{address << 14 | 0x2000, Z_BASE | 0x600100},
		{address << 15 | 0x4000, Z_BASE | 0x700100},
		{address << 16 | 0x8000, Z_BASE | 0x600100},
		{address << 16 | 0x8030, Z_BASE | 0x700100},
		{other << 16 | 0x8000, other},
		{0x1000, 0},
		{0, 0},
	};
	struct target_memory memory;
	struct hotspot hotspot;

	z_make(*state, true, &memory, &hotspot);
	z_move(0, 0x600100, Z_PLACE + 1);
	forged_put(Z_TABLES + 32 + Z_PLACE % 8 * 8ull, 9ull << 46 | 1);
	z_move(1, 0x700100, Z_PLACE);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++)
		assert_int_equal(hotspot_decode(&hotspot, expected[i].reference),
				 expected[i].object);
	assert_int_equal(hotspot_z_moved(&hotspot, address), Z_BASE | 0x600100);
	assert_int_equal(hotspot_z_moved(&hotspot, other), 0);
	target_memory_close(&memory);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			threads_have_names_and_the_methods_and_lines_that_they_are_in, setup,
			teardown),
		FORGED(a_thread_that_is_listed_twice_is_one),
		FORGED(a_stack_of_more_frames_than_are_read_says_so),
		FORGED(calls_that_are_inlined_in_each_other_are_all_read),
		cmocka_unit_test(what_is_not_listed_of_threads_is_said),
		cmocka_unit_test(values_that_are_read_again_are_counted_once),
		FORGED(all_values_of_thread_locals_that_are_gone_are_counted),
		FORGED(what_cannot_be_read_to_its_end_is_not_known),
		FORGED(lists_that_lead_to_themselves_end),
		FORGED(regions_have_objects_however_many_there_are),
		FORGED(a_stack_of_a_virtual_thread_holds_objects_however_deep_it_is),
		FORGED(a_stack_is_read_on_behind_a_page_that_is_not_there),
		FORGED(what_loaders_hold_is_a_root_however_many_handles_there_are),
		FORGED(threads_hold_objects_however_many_there_are),
		cmocka_unit_test_setup_teardown(threads_without_a_list_are_linked, setup, teardown),
		cmocka_unit_test_setup_teardown(fields_of_one_place_are_one, setup, teardown),
		cmocka_unit_test_setup_teardown(maps_end_where_the_object_does, setup, teardown),
		cmocka_unit_test_setup_teardown(archived_regions_that_overlap_hold_each_object_once,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			the_stack_of_a_virtual_thread_holds_what_its_frames_refer_to, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_stack_that_contradicts_itself_holds_nothing,
						setup, teardown),
		cmocka_unit_test_setup_teardown(virtual_threads_are_counted_by_where_they_wait,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_virtual_thread_that_is_mounted_is_where_its_carrier_is, setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_program_without_virtual_threads_has_no_report_of_them, setup, teardown),
		cmocka_unit_test_setup_teardown(a_state_that_the_class_has_not_is_in_no_group,
						setup, teardown),
		cmocka_unit_test_setup_teardown(values_of_thread_locals_that_are_gone_are_counted,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_a_vm_has_off_its_heap_is_counted, setup,
						teardown),
		cmocka_unit_test_setup_teardown(metaspace_that_contradicts_itself_is_not_known,
						setup, teardown),
		cmocka_unit_test_setup_teardown(threads_and_memory_of_nonsense_do_no_harm, setup,
						teardown),
		cmocka_unit_test_setup_teardown(objects_have_their_classes_as_java_writes_them,
						setup, teardown),
		cmocka_unit_test_setup_teardown(what_holds_objects_from_outside_is_a_root, setup,
						teardown),
		cmocka_unit_test_setup_teardown(soft_references_hold_and_weak_ones_do_not, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_class_that_may_be_unloaded_is_held_by_its_loader_and_objects, setup,
			teardown),
		cmocka_unit_test_setup_teardown(classes_that_several_loaders_have_are_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_long_holds_the_native_block_at_its_address, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_block_that_compiled_code_has_as_an_operand_is_held, setup, teardown),
		cmocka_unit_test_setup_teardown(a_collector_that_is_not_read_is_named, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_heap_that_is_being_collected_is_not_read, setup,
						teardown),
		cmocka_unit_test_setup_teardown(
			a_description_that_lacks_one_place_is_refused_for_it, setup, teardown),
		cmocka_unit_test_setup_teardown(headers_are_compressed_without_a_flag, setup,
						teardown),
		cmocka_unit_test_setup_teardown(a_version_that_was_never_tested_is_read_and_marked,
						setup, teardown),
		cmocka_unit_test_setup_teardown(a_new_format_of_fields_is_refused_by_its_name,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_vm_that_contradicts_its_description_is_refused_by_the_check, setup,
			teardown),
		cmocka_unit_test_setup_teardown(a_description_without_what_is_needed_is_reported,
						setup, teardown),
		cmocka_unit_test_setup_teardown(
			a_reference_of_an_older_colour_leads_to_where_its_object_was_moved, setup,
			teardown),
		cmocka_unit_test_setup_teardown(
			a_colour_has_the_generation_in_which_an_object_was_moved, setup, teardown),
		cmocka_unit_test_setup_teardown(nonsense_anywhere_does_no_harm, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
