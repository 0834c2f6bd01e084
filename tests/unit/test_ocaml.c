// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small OCaml program made by hand; then the same with nonsense in it. */
#include "unit/ocaml_fixture.h"

#include <unistd.h>

#include "binary/arch/machine.h"
#include "heap/allocators/heap_image.h"

#define MUTANTS 600
#include "unit/walked.h"

static void blocks_have_the_kinds_of_their_values(void **state)
{
	static const struct {
		const char *class;
		size_t count;
	} expected[] = {
		{"float array", FORGED_SESSIONS},
		{"block of tag 0, 3 fields", FORGED_SESSIONS},
		{"block of tag 0, 2 fields", FORGED_SESSIONS},
		{"block of tag 7, 4 fields", FORGED_YOUNG_BLOCKS},
		{"exception App.Broken", 1},
		{"custom _j", 1},
		{"closure App.fun_13", 1},
		{"closure App.add_12", 1 + FORGED_FINALISERS},
		{"partial application of App.add_12", 1},
		{"string", FORGED_FINALISERS + 1},
		{"abstract", 1},
	};
	struct forged *forged = *state;
	struct walked walked;
	size_t sum = 0;

	walk(&forged->memory, &walked);
	assert_null(REPORT(&walked)->why);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_int_equal(REPORT(&walked)->retries, 0);
	for (size_t i = 0; i < ARRAY_SIZE(expected); i++) {
		assert_int_equal(count_class(&walked.sink, expected[i].class), expected[i].count);
		sum += expected[i].count;
	}
	assert_int_equal(REPORT(&walked)->objects, sum);
	assert_int_equal(REPORT(&walked)->bytes + REPORT(&walked)->free_bytes,
			 FORGED_CHUNK_BYTES + FORGED_OTHER_CHUNK_BYTES + FORGED_YOUNG_BYTES);
	walked_free(&walked);
}

static void modules_and_finalisers_are_roots(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct managed_root *waiting;

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "App[0]", forged->sessions);
	assert_null(root_named(&walked.sink, "App[1]")); /* static data */
	expect_root(&walked.sink, "App[2]", forged_word(forged->module + 16));
	expect_root(&walked.sink, "finaliser App.add_12 × 2", forged_word(forged->finalisers));
	waiting = root_named(&walked.sink, "value that awaits finaliser App.add_12 × 2");
	assert_non_null(waiting);
	assert_true(waiting->rank == MANAGED_WAITING);
	walked_free(&walked);
}

/* Gc.finalise_last: the value is lost before its function is called. */
static void values_do_not_await_the_last_finalisers(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	for (size_t i = 0; i < 32; i += 8) {
		forged_put(forged->finalisable_last + i,
			   forged_word(forged->finalisable_first + i));
		forged_put(forged->finalisable_first + i, 0);
	}
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "finaliser App.add_12 × 2", forged_word(forged->finalisers));
	assert_null(root_named(&walked.sink, "value that awaits finaliser App.add_12 × 2"));
	walked_free(&walked);
}

/* Without symbols; a table with a value that is not a block does not count. */
static void finalisers_of_a_stripped_program_are_found_by_their_shape(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	for (size_t i = 0; i < forged->memory.image.table.count; i++) {
		char *name = forged->memory.names + forged->memory.symbols[i].name;

		if (!strncmp(name, "finalisable_", 12))
			*name = 'x';
	}
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "finaliser App.add_12 × 2", forged_word(forged->finalisers));
	walked_free(&walked);
	forged_put(forged->finalisers + 24 + 8, 1);
	walk(&forged->memory, &walked);
	assert_null(root_named(&walked.sink, "finaliser App.add_12 × 2"));
	walked_free(&walked);
}

static void keys_of_ephemerons_are_weak(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;
	uint32_t node, at;

	walk(&forged->memory, &walked);
	node = heap_sink_node(sink, forged->weak);
	assert_true(sink->whats[node] & NODE_PRECISE);
	at = sink->first[node];
	assert_int_equal(sink->first[node + 1] - at, 1);
	assert_int_equal(sink->references.targets[at], heap_sink_node(sink, forged->kept));
	walked_free(&walked);
	forged_put(forged->weak, forged->weak); /* in a circle */
	walk(&forged->memory, &walked);
	walked_free(&walked);
}

static void white_blocks_that_await_the_sweep_are_free(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t header = forged_header(TAG_STRING, 1, COLOUR_WHITE);

	forged_put(forged->kept - HEADER_BYTES, header);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "string"), FORGED_FINALISERS + 1);
	walked_free(&walked);
	forged_put(forged->phase, 2); /* Phase_sweep */
	forged_put(forged->sweep_at, forged->memory.base + FORGED_CHUNK);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "string"), FORGED_FINALISERS);
	walked_free(&walked);
	/* It may have been swept since, in the slice that runs. */
	forged_put(forged->sweep_at, forged->kept - HEADER_BYTES);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "string"), FORGED_FINALISERS + 1);
	walked_free(&walked);
	forged_put(forged->sweep_at, forged->kept); /* it was swept */
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "string"), FORGED_FINALISERS + 1);
	walked_free(&walked);
}

static void young_blocks_have_no_colour(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t young = forged_word(forged->state + STATE_YOUNG_END * 8ull) - 5 * 8;

	forged_put(young, forged_header(7, 4, COLOUR_WHITE));
	forged_put(forged->phase, 2); /* Phase_sweep */
	forged_put(forged->sweep_at, forged->memory.base + FORGED_CHUNK);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "block of tag 7, 4 fields"),
			 FORGED_YOUNG_BLOCKS);
	walked_free(&walked);
}

static void what_contradicts_itself_is_not_read(void **state)
{
	struct forged *forged = *state;
	uint64_t first = forged->memory.base + FORGED_CHUNK;
	uint64_t second = forged->memory.base + FORGED_OTHER_CHUNK;

	forged_chunk(second, FORGED_OTHER_CHUNK_BYTES, first); /* in a circle */
	expect_why(&forged->memory, "chunks");
	forged_chunk(second, FORGED_OTHER_CHUNK_BYTES + 0x1000, 0); /* not its sum */
	expect_why(&forged->memory, "chunks");
	forged_chunk(second, 1ull << 46, 0);
	expect_why(&forged->memory, "chunks");
	forged_put(forged->heap_start, 0);
	expect_why(&forged->memory, "chunks");
	forged_put(forged->memory.base + 0x300, 0);
	expect_why(&forged->memory, "state");
}

/* The blocks before it are known, and it was read again and again. */
static void a_block_that_leaves_its_chunk_ends_it(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->kept - HEADER_BYTES, forged_header(0, UINT64_MAX >> 10, COLOUR_BLACK));
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(REPORT(&walked)->retries, 10);
	assert_int_equal(count_class(&walked.sink, "string"), FORGED_FINALISERS);
	assert_int_equal(count_class(&walked.sink, "abstract"), 0);
	assert_int_equal(count_class(&walked.sink, "block of tag 7, 4 fields"),
			 FORGED_YOUNG_BLOCKS);
	walked_free(&walked);
}

static void a_minor_heap_that_is_collected_is_left_out(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->state + 8ull * STATE_IN_MINOR_COLLECTION, 1);
	walk(&forged->memory, &walked);
	assert_non_null(strstr(REPORT(&walked)->why, "young blocks are missing"));
	assert_int_equal(count_class(&walked.sink, "block of tag 7, 4 fields"), 0);
	assert_int_equal(count_class(&walked.sink, "float array"), FORGED_SESSIONS);
	walked_free(&walked);
	forged_put(forged->state + 8ull * STATE_IN_MINOR_COLLECTION, 0);
	forged_put(forged->young, forged_header(7, 5, COLOUR_WHITE)); /* does not end well */
	walk(&forged->memory, &walked);
	assert_non_null(strstr(REPORT(&walked)->why, "young blocks are missing"));
	walked_free(&walked);
}

static void a_table_of_finalisers_ends_where_its_block_does(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->finalisable_first + 16, UINT64_MAX);
	forged_put(forged->finalisable_first + 24, UINT64_MAX);
	walk(&forged->memory, &walked);
	assert_int_equal(walked.sink.roots.count, 3);
	/* the objects that await them are unknown */
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	walked_free(&walked);
	forged_put(forged->finalisable_first + 16, FORGED_FINALISERS + 1);
	forged_put(forged->finalisable_first + 24, FORGED_FINALISERS);
	walk(&forged->memory, &walked);
	assert_int_equal(walked.sink.roots.count, 3);
	walked_free(&walked);
}

/* How many there are, all of which only wait for something that leads to them. */
static size_t signal_stacks(const struct heap_sink *sink)
{
	size_t count = 0;

	for (size_t i = 0; i < sink->roots.count; i++) {
		if (strcmp(sink->roots.items[i].name, "signal stack") != 0)
			continue;
		assert_int_equal(sink->roots.items[i].rank, MANAGED_WAITING);
		count++;
	}
	return count;
}

static void the_stack_for_signals_is_the_kernels(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t bytes = (uint64_t)sysconf(_SC_SIGSTKSZ);
	uint64_t other = forged_memory_malloc(&forged->memory, bytes - 8);
	uint64_t stack = forged_memory_malloc(&forged->memory, bytes + 8);

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "signal stack", stack);
	for (size_t i = 0; i < walked.sink.roots.count; i++)
		assert_true(walked.sink.roots.items[i].node != heap_sink_node(&walked.sink, other));
	walked_free(&walked);
	/* Any block of that size may be a signal stack, whatever its contents. */
	other = forged_memory_malloc(&forged->memory, bytes);
	forged_put(other + 64, 1);
	walk(&forged->memory, &walked);
	assert_int_equal(signal_stacks(&walked.sink), 2);
	walked_free(&walked);
}

/* Counts them in a heap image with that many threads. */
static size_t signal_stacks_of(const struct forged *forged, uint64_t blocks, size_t threads)
{
	uint64_t bytes = (uint64_t)sysconf(_SC_SIGSTKSZ), *starts, *sizes;
	struct heap_image image = {0};
	struct walked walked = {0};
	size_t count;

	starts = calloc(blocks, sizeof(*starts));
	sizes = calloc(blocks, sizeof(*sizes));
	assert_true(starts && sizes);
	for (uint64_t i = 0; i < blocks; i++) {
		starts[i] = forged->memory.base + (1u << 30) + i * 2 * bytes;
		sizes[i] = bytes;
	}
	for (size_t i = 0; i < threads; i++)
		assert_non_null(vec_push(&image.threads));
	assert_int_equal(heap_sink_init(&walked.sink, &walked.strings, starts, sizes, NULL,
					(uint32_t)blocks),
			 0);
	assert_int_equal(runtime_walk_heaps(&forged->memory.maps, &image, &forged->memory.modules,
					    &walked.sink),
			 0);
	count = signal_stacks(&walked.sink);
	walked_free(&walked);
	vec_free(&image.threads);
	return count;
}

static void each_of_many_threads_has_a_stack_for_signals(void **state)
{
	assert_int_equal(signal_stacks_of(*state, 300, 1000), 300);
	assert_int_equal(signal_stacks_of(*state, 300, 300), 300);
	/* Not all blocks are signal stacks. */
	assert_int_equal(signal_stacks_of(*state, 300, 200), 200);
	assert_int_equal(signal_stacks_of(*state, 300, 1), 64);
}

/* In the form of Debian 12's unison. */
static void programs_for_older_libraries_have_smaller_stacks_for_signals(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	uint64_t stack = forged_memory_malloc(&forged->memory, MACHINE_SIGNAL_STACK + 8);

	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "signal stack", stack);
	assert_int_equal(signal_stacks(&walked.sink), 1);
	walked_free(&walked);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(blocks_have_the_kinds_of_their_values),
		FORGED(modules_and_finalisers_are_roots),
		FORGED(values_do_not_await_the_last_finalisers),
		FORGED(finalisers_of_a_stripped_program_are_found_by_their_shape),
		FORGED(keys_of_ephemerons_are_weak),
		FORGED(white_blocks_that_await_the_sweep_are_free),
		FORGED(young_blocks_have_no_colour),
		FORGED(what_contradicts_itself_is_not_read),
		FORGED(a_block_that_leaves_its_chunk_ends_it),
		FORGED(a_minor_heap_that_is_collected_is_left_out),
		FORGED(a_table_of_finalisers_ends_where_its_block_does),
		FORGED(the_stack_for_signals_is_the_kernels),
		FORGED(each_of_many_threads_has_a_stack_for_signals),
		FORGED(programs_for_older_libraries_have_smaller_stacks_for_signals),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
