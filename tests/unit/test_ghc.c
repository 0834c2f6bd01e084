// SPDX-License-Identifier: GPL-2.0-or-later
/* The heap of a small Haskell program made by hand; then the same with nonsense in it. */
#include <dlfcn.h>
#include <zstd.h>

#include "unit/ghc_fixture.h"

#define MUTANTS 100
#include "unit/walked.h"

static void closures_have_constructors_types_and_functions(void **state)
{
	static const struct {
		const char *class;
		size_t count;
	} expected[] = {
		{"Main.Item", FORGED_ITEMS + 1},
		{"GHC.Types.:", FORGED_ITEMS},
		/* Two blocks of the nursery are in use. */
		{"THUNK_2_0 in Main.$wfun", 1 + 2 * FORGED_YOUNG},
		{"FUN_1_0 Main.$wfun", 2},
		{"BLACKHOLE", 1},
		{"ARR_WORDS", 2},
		{"MUT_ARR_PTRS_CLEAN", 1},
		{"STACK", 1},
		{"TSO", 1},
		{"WEAK", 1},
		{"PAP", 1},
		{"Main.Part", FORGED_KEPT},
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
	assert_int_equal(REPORT(&walked)->bytes + REPORT(&walked)->free_bytes, GHC_MEGABLOCK);
	walked_free(&walked);
}

static void constant_expressions_stable_pointers_and_threads_are_roots(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_int_equal(walked.sink.roots.count, 4);
	expect_root(&walked.sink, "CAF Main.cache", forged->list);
	expect_root(&walked.sink, "stable pointers", forged->pinned);
	expect_root(&walked.sink, "thread 7", forged->thread);
	expect_root(&walked.sink, "weak pointers", forged->weak);
	assert_int_equal(root_named(&walked.sink, "weak pointers")->rank, MANAGED_WAITING);
	walked_free(&walked);
}

/* Memory that C code has taken and never freed. */
static void a_million_stable_pointers_leave_room_for_threads(void **state)
{
	struct forged *forged = *state;
	uint64_t count = (1u << 20) + 1, table = forged->memory.base + (1ull << 32);
	struct walked walked;

	assert_ptr_equal(mmap(forged_memory_place(table), count * 8, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 forged_memory_place(table));
	forged->memory.blocks[forged->memory.block_count] = table;
	forged->memory.sizes[forged->memory.block_count++] = count * 8;
	for (uint64_t i = 0; i < count; i++)
		forged_put(table + i * 8, forged->pinned);
	forged_put(forged->memory.base + 0x200, table); /* stable_ptr_table */
	walk(&forged->memory, &walked);
	assert_int_equal(count_roots(&walked.sink, "stable pointers"), count);
	expect_root(&walked.sink, "thread 7", forged->thread);
	expect_root(&walked.sink, "weak pointers", forged->weak);
	walked_free(&walked);
	munmap(forged_memory_place(table), count * 8);
}

/* A table of stable pointers without an end. */
static void stable_pointers_beyond_what_may_be_read_end_the_walk(void **state)
{
	struct forged *forged = *state;
	uint64_t table = forged->memory.base + (1ull << 32);
	struct walked walked;

	forged->memory.blocks[forged->memory.block_count] = table;
	forged->memory.sizes[forged->memory.block_count++] = 1ull << 44;
	forged_put(forged->memory.base + 0x200, table); /* stable_ptr_table */
	assert_true(walk_within(&forged->memory, GHC_KEY, 1 << 22, &walked));
	walked_free(&walked);
}

static void constant_expressions_that_the_collector_gave_up_hold_nothing(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->static_flag, 1);
	forged_put(forged->cache + 16, 2);
	walk(&forged->memory, &walked);
	assert_null(root_named(&walked.sink, "CAF Main.cache"));
	walked_free(&walked);
	forged_put(forged->cache + 16, 1);
	walk(&forged->memory, &walked);
	expect_root(&walked.sink, "CAF Main.cache", forged->list);
	walked_free(&walked);
}

static void only_pointers_of_closures_refer(void **state)
{
	struct forged *forged = *state;
	struct walked walked;
	const struct heap_sink *sink = &walked.sink;

	walk(&forged->memory, &walked);
	assert_int_equal(count_references(sink, forged->list), 1);
	assert_int_equal(count_references(sink, forged->stack), 1);
	assert_true(refers(sink, forged->stack, forged->waited));
	assert_true(refers(sink, forged->thread, forged->stack));
	assert_int_equal(count_references(sink, forged->weak), 0);
	/* The object that the key keeps alive: the closure before it. */
	assert_true(refers(sink, forged->key, forged->key - 16));
	assert_false(refers(sink, forged->weak, forged->key));
	assert_int_equal(count_references(sink, forged->array), 1);
	assert_true(refers(sink, forged->array, forged->pinned));
	walked_free(&walked);
}

/* One word of two is a pointer; a large frame has its bits elsewhere; else all words count. */
static void stacks_hold_what_their_frames_use(void **state)
{
	struct forged *forged = *state;
	uint64_t code = forged->infos[FORGED_PAP], frame = forged->stack + 24 + 5 * 8;
	struct walked walked;

	forged_put(forged->stack + 16, frame);
	forged_put(frame, code);
	forged_put(frame + 8, forged->list);
	forged_put(frame + 16, forged->waited);
	forged_put(code - 8, 30); /* RET_SMALL */
	forged_put(code - 16, 2 | 1ull << 6);
	walk(&forged->memory, &walked);
	assert_int_equal(count_references(&walked.sink, forged->stack), 1);
	assert_true(refers(&walked.sink, forged->stack, forged->waited));
	walked_free(&walked);
	forged_put(code - 8, 31); /* RET_BIG */
	forged_put(code - 16, 64);
	forged_put(code + 64, 2);
	forged_put(code + 72, 2);
	walk(&forged->memory, &walked);
	assert_int_equal(count_references(&walked.sink, forged->stack), 1);
	assert_true(refers(&walked.sink, forged->stack, forged->list));
	walked_free(&walked);
	forged_put(code + 64, 3); /* beyond the stack */
	walk(&forged->memory, &walked);
	assert_int_equal(count_references(&walked.sink, forged->stack), 2);
	walked_free(&walked);
	forged_put(code - 8, 32); /* RET_FUN */
	walk(&forged->memory, &walked);
	assert_int_equal(count_references(&walked.sink, forged->stack), 2);
	walked_free(&walked);
}

/* From -finfo-table-map, in the data of the program. */
static void closures_have_lines_where_the_program_knows_them(void **state)
{
	struct forged *forged = *state;
	static const char names[] = "\0Int\0wait\0Main\0src/Leak.hs\0\0\0\00038:58-91";
	uint64_t node = forged->memory.base + 0x2000, texts = forged->memory.base + 0x3000;
	struct walked walked;

	forged_put(node + 8, texts);
	forged_put(node + 16, 2);
	forged_put(node + 24, forged->infos[FORGED_THUNK]);
	forged_put(node + 24 + 16, 1 | 5ull << 32);   /* type, label */
	forged_put(node + 24 + 24, 10 | 15ull << 32); /* module, file */
	forged_put(node + 24 + 32, 30);		      /* span */
	forged_put(node + 64, forged->infos[FORGED_ITEM]);
	forged_put(node + 64 + 24, 10 | 15ull << 32);
	forged_put(node + 64 + 32, 30);
	memcpy(forged->memory.bytes + 0x3000, names, sizeof(names));
	walk(&forged->memory, &walked);
	assert_int_equal(
		count_class(&walked.sink, "THUNK_2_0 Leak.hs:38:58-91 in Main.wait :: Int"),
		1 + 2 * FORGED_YOUNG);
	assert_int_equal(count_class(&walked.sink, "Main.Item Leak.hs:38:58-91 in Main"),
			 FORGED_ITEMS + 1);
	assert_int_equal(count_class(&walked.sink, "FUN_1_0 Main.$wfun"), 2);
	walked_free(&walked);
	forged_put(node + 64 + 24, 10 | 15ull << 32 | 1ull << 31); /* no text is there */
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Main.Item"), FORGED_ITEMS + 1);
	walked_free(&walked);
}

/* In the form used from 9.10 on. */
static void forge_lines(struct forged *forged, bool compressed)
{
	forged_lines(forged);
	forged_put(FORGED_LINES + 8, compressed);
	if (!compressed)
		return;
	assert_false(
		ZSTD_isError(ZSTD_compress(forged_memory_place(FORGED_LINE_ENTRIES), 0x400,
					   forged_line_entries, sizeof(forged_line_entries), 1)));
	assert_false(ZSTD_isError(ZSTD_compress(forged_memory_place(FORGED_LINE_TEXTS), 0x400,
						forged_line_texts, sizeof(forged_line_texts), 1)));
}

static void lines_of_newer_programs_are_read_compressed_or_not(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	for (int compressed = 0; compressed < 2; compressed++) {
		forge_lines(forged, compressed);
		walk(&forged->memory, &walked);
		assert_int_equal(
			count_class(&walked.sink, "THUNK_2_0 Leak.hs:38:58-91 in Main.wait :: Int"),
			1 + 2 * FORGED_YOUNG);
		assert_int_equal(count_class(&walked.sink, "Main.Item Leak.hs:38:58-91 in Main"),
				 FORGED_ITEMS + 1);
		walked_free(&walked);
	}
	forged_put(forged->memory.base + 0x3000, 0); /* nothing that can be unpacked */
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "Main.Item"), FORGED_ITEMS + 1);
	walked_free(&walked);
}

static struct work {
	uint64_t codes, packed; /* entries that were looked at, bytes that were unpacked */
} work;

bool ghc_is_code(const struct ghc *ghc, uint64_t address)
{
	static bool (*real)(const struct ghc *, uint64_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ghc_is_code");
	work.codes++;
	return real(ghc, address);
}

size_t ZSTD_findFrameCompressedSize(const void *source, size_t size)
{
	static size_t (*real)(const void *, size_t);

	if (!real)
		*(void **)&real = dlsym(RTLD_NEXT, "ZSTD_findFrameCompressedSize");
	work.packed += size;
	return real(source, size);
}

/* Hundreds of tables with a million entries each, or with as much that cannot be unpacked. */
static void data_that_is_all_tables_has_a_limit(void **state)
{
	struct forged *forged = *state;
	uint64_t base = forged->memory.base;
	struct walked walked;

	for (int compressed = 0; compressed < 2; compressed++) {
		forge_lines(forged, false);
		forged_put(base + 0x2110, forged->infos[FORGED_CONS]);
		forged_put(base + 0x2240, 15 | 30ull << 32);
		for (uint64_t node = base + 0x4000; node < base + FORGED_CODE; node += 128) {
			memcpy(forged_memory_place(node), forged_memory_place(base + 0x2000), 72);
			forged_put(node + 8, compressed);
			forged_put(node + 16, 1u << 20);
			forged_put(node + 40, 24ull << 20);
		}
		work = (struct work){0};
		walk(&forged->memory, &walked);
		walked_free(&walked);
		assert_true(work.codes < 1u << 24);
		/* Two parts of 24 MiB are within the limit: memory is read twice, not for each
		 * table. */
		assert_true(work.packed <= 2 * FORGED_BYTES);
		assert_true(compressed ? work.packed > 0 : work.codes > 1u << 22);
	}
}

static void what_contradicts_itself_is_not_read(void **state)
{
	struct forged *forged = *state;

	forged_put(forged->generations, 1);
	forged_put(forged->generations + 256, 0);
	expect_why(&forged->memory, "blocks are not");
	forged_put(forged_descriptor(forged, FORGED_OLD_BLOCK), forged->memory.base);
	expect_why(&forged->memory, "blocks are not");
}

static void a_nursery_that_contradicts_itself_is_none(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->nurseries + 8, FORGED_NURSERY_BLOCKS + 1);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "THUNK_2_0 in Main.$wfun"),
			 1 + FORGED_NURSERY_BLOCKS * FORGED_YOUNG);
	walked_free(&walked);
}

/* With several capabilities, none is in the program's data, but possibly a table of them. */
static void nurseries_of_several_capabilities_are_found(void **state)
{
	struct forged *forged = *state;
	uint64_t capability = forged_memory_malloc(&forged->memory, 1400);
	uint64_t table = forged_memory_malloc(&forged->memory, 16);
	uint64_t first = forged_word(forged->capability + 904);
	uint64_t current = forged_word(forged->capability + 912);
	struct walked walked;

	forged_put(capability, forged->infos[FORGED_FUN]);
	forged_put(capability + 904, first);
	forged_put(capability + 912, current);
	forged_put(table, capability);
	forged_put(forged->capability + 904, 0);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "THUNK_2_0 in Main.$wfun"),
			 1 + FORGED_NURSERY_BLOCKS * FORGED_YOUNG);
	walked_free(&walked);
	for (int i = 0; i < 2; i++) {
		forged_put(forged->capability + 904, i ? table : capability);
		walk(&forged->memory, &walked);
		assert_int_equal(count_class(&walked.sink, "THUNK_2_0 in Main.$wfun"),
				 1 + 2 * FORGED_YOUNG);
		walked_free(&walked);
	}
}

/* As on a machine with many CPUs; only the last nursery has closures. */
static void nurseries_of_hundreds_of_capabilities_are_found(void **state)
{
	const uint64_t others = 300, bytes = 2 * GHC_MEGABLOCK;
	struct forged *forged = *state;
	uint64_t end = forged->memory.base + FORGED_HEAP + GHC_MEGABLOCK;
	uint64_t table = forged->memory.base + 0x40000, words = table + (others + 2) * 8;
	struct walked walked;

	assert_ptr_equal(mmap(forged_memory_place(end), bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0),
			 forged_memory_place(end));
	forged->memory.mappings[2].end += bytes;
	forged_put(forged->memory.base + 0x108, end + bytes); /* of mblock_address_space */
	for (uint64_t i = 0; i <= others; i++) {
		uint64_t capability = words + i * 1400, nursery = capability + 1384;
		uint64_t megablock = end + i / 200 * GHC_MEGABLOCK;
		uint64_t block = GHC_FIRST_BLOCK + i % 200;
		uint64_t descriptor = megablock + block * GHC_DESCRIPTOR;

		forged_put(table + i * 8, capability);
		forged_put(capability, forged->infos[FORGED_FUN]);
		if (i < others) {
			forged_put(descriptor, megablock + block * GHC_BLOCK);
			forged_put(descriptor + 8, UINT64_MAX);
			forged_put(descriptor + 48, 1);
			forged_put(nursery, descriptor);
			forged_put(nursery + 8, 1);
		}
		forged_put(capability + 904, i < others ? nursery : forged->nurseries);
		forged_put(capability + 912,
			   i < others ? descriptor : forged_word(forged->capability + 912));
	}
	forged_put(forged->capability + 904, table);
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "THUNK_2_0 in Main.$wfun"),
			 1 + 2 * FORGED_YOUNG);
	walked_free(&walked);
	munmap(forged_memory_place(end), bytes);
}

static void blocks_of_the_non_moving_collector_hold_what_they_refer_to(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	walk(&forged->memory, &walked);
	assert_true(refers(&walked.sink, forged_part(forged, FORGED_KEPT_OLD), forged->pinned));
	assert_int_equal(count_references(&walked.sink, forged_part(forged, 0)), 0);
	walked_free(&walked);
	/* A closure that is larger than its block, and a block of no size that there is. */
	forged_put(forged_part(forged, 0), forged->infos[FORGED_TSO]);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Main.Part"), FORGED_KEPT - 1);
	walked_free(&walked);
	forged_put(forged_descriptor(forged, FORGED_SEGMENT) + 8, 15);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Main.Part"), 0);
	walked_free(&walked);
}

/* In the form of 9.8: sizes of 8, 16, 24 and 32 bytes. */
static void sizes_of_blocks_may_be_in_a_table(void **state)
{
	struct forged *forged = *state;
	uint64_t table = forged_memory_malloc(&forged->memory, 32 * 4);
	struct walked walked;

	for (uint64_t i = 0; i < 4; i++) {
		uint64_t size = (i + 1) * 8;

		forged_put(table + i * 32 + 24, size | (32768 - 24) / (size + 1) << 16);
	}
	forged_put(forged->capability, table);
	forged_put(forged_descriptor(forged, FORGED_SEGMENT) + 8, 3);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 0);
	assert_int_equal(count_class(&walked.sink, "Main.Part"), FORGED_KEPT);
	walked_free(&walked);
	forged_put(forged_descriptor(forged, FORGED_SEGMENT) + 8, 4);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	walked_free(&walked);
}

/* Unmarked objects then look like dead ones. */
static void constant_expressions_live_while_the_non_moving_collector_marks(void **state)
{
	struct forged *forged = *state;
	uint64_t heap = forged_memory_symbol(&forged->memory, "nonmovingHeap", 0x1f000, 256);
	uint64_t allocator = forged_memory_malloc(&forged->memory, 32);
	uint64_t segment = forged_block_at(forged, FORGED_SEGMENT);
	struct walked walked;

	forged_put(forged->static_flag, 1);
	forged_put(forged->cache + 16, 2);
	for (uint64_t i = 0; i < 12; i++)
		forged_put(heap + i * 8, allocator);
	for (int i = 0; i < 4; i++) {
		forged_put(heap + 112, i == 1 ? segment : 0);	 /* to be swept */
		forged_put(allocator, i == 2 ? segment : 0);	 /* full */
		forged_put(allocator + 8, i >= 2 ? segment : 0); /* put aside */
		walk(&forged->memory, &walked);
		if (i == 1 || i == 3)
			expect_root(&walked.sink, "CAF Main.cache", forged->list);
		else
			assert_null(root_named(&walked.sink, "CAF Main.cache"));
		walked_free(&walked);
	}
}

/* As the collector leaves it in place of a closure. */
static void while_closures_move_they_are_read_again(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->key, forged->pinned + 1);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->retries, 10);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "Main.Item"), FORGED_ITEMS + 1);
	walked_free(&walked);
}

static void a_closure_that_leaves_its_blocks_ends_them(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged->array + 16, UINT64_MAX / 8);
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, 1);
	assert_int_equal(count_class(&walked.sink, "PAP"), 0);
	assert_int_equal(count_class(&walked.sink, "Main.Item"), FORGED_ITEMS + 1);
	walked_free(&walked);
}

static void groups_end_where_their_megablock_does(void **state)
{
	struct forged *forged = *state;
	struct walked walked;

	forged_put(forged_descriptor(forged, FORGED_BYTES_BLOCK) + 48, 1u << 20);
	forged_put(forged_descriptor(forged, FORGED_BYTES_BLOCK) + 8,
		   forged->memory.base + (1ull << 32));
	walk(&forged->memory, &walked);
	assert_int_equal(count_class(&walked.sink, "ARR_WORDS"), 1);
	walked_free(&walked);
}

/* A reservation costs a program nothing, and a copy of it would. */
static void groups_that_nobody_has_written_are_not_all_copied(void **state)
{
	static const uint64_t megablocks[] = {1, 101, 201};
	const uint64_t bytes = 301 * GHC_MEGABLOCK, blocks = 70 * GHC_MEGABLOCK / GHC_BLOCK;
	struct forged *forged = *state;
	uint64_t heap = forged->memory.base + FORGED_HEAP, end = heap + GHC_MEGABLOCK;
	struct walked walked;

	assert_ptr_equal(mmap(forged_memory_place(end), bytes, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1,
			      0),
			 forged_memory_place(end));
	forged->memory.mappings[2].end += bytes;
	forged_put(forged->memory.base + 0x108, end + bytes); /* of mblock_address_space */
	for (size_t i = 0; i < ARRAY_SIZE(megablocks); i++) {
		uint64_t megablock = heap + megablocks[i] * GHC_MEGABLOCK;
		uint64_t group = megablock + GHC_FIRST_BLOCK * GHC_BLOCK;
		uint64_t descriptor = megablock + GHC_FIRST_BLOCK * GHC_DESCRIPTOR;

		forged_put(descriptor, group);
		forged_put(descriptor + 8, group + blocks * GHC_BLOCK);
		forged_put(descriptor + 32, forged->generations);
		forged_put(descriptor + 40, 2ull << 48);
		forged_put(descriptor + 48, blocks);
	}
	walk(&forged->memory, &walked);
	assert_int_equal(REPORT(&walked)->nonsense, ARRAY_SIZE(megablocks) - 1);
	assert_int_equal(count_class(&walked.sink, "Main.Item"), FORGED_ITEMS + 1);
	walked_free(&walked);
	munmap(forged_memory_place(end), bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		FORGED(closures_have_constructors_types_and_functions),
		FORGED(constant_expressions_stable_pointers_and_threads_are_roots),
		FORGED(a_million_stable_pointers_leave_room_for_threads),
		FORGED(stable_pointers_beyond_what_may_be_read_end_the_walk),
		FORGED(constant_expressions_that_the_collector_gave_up_hold_nothing),
		FORGED(only_pointers_of_closures_refer),
		FORGED(stacks_hold_what_their_frames_use),
		FORGED(closures_have_lines_where_the_program_knows_them),
		FORGED(lines_of_newer_programs_are_read_compressed_or_not),
		FORGED(data_that_is_all_tables_has_a_limit),
		FORGED(what_contradicts_itself_is_not_read),
		FORGED(a_nursery_that_contradicts_itself_is_none),
		FORGED(nurseries_of_several_capabilities_are_found),
		FORGED(nurseries_of_hundreds_of_capabilities_are_found),
		FORGED(blocks_of_the_non_moving_collector_hold_what_they_refer_to),
		FORGED(sizes_of_blocks_may_be_in_a_table),
		FORGED(constant_expressions_live_while_the_non_moving_collector_marks),
		FORGED(while_closures_move_they_are_read_again),
		FORGED(a_closure_that_leaves_its_blocks_ends_them),
		FORGED(groups_end_where_their_megablock_does),
		FORGED(groups_that_nobody_has_written_are_not_all_copied),
		FORGED(nonsense_anywhere_does_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
