// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * Where the collectors of HotSpot have objects: regions of G1 and Shenandoah, spaces of Parallel
 * and Epsilon, made by hand, in which the input changes words. Each range has objects, and lies in
 * memory that a program can have.
 *
 * Input: see forged_input.h.
 *
 * Seeds: one change.
 */
#include "binary/arch/machine.h"
#include "fuzz/hotspot_places.h"

#define FORGED_BYTES 0x3000u
#define HEAP (FORGED_BASE + 0x1000)
#define GENERATIONS (FORGED_BASE + 0x1200) /* of Parallel: variables, then their targets */
#define TABLE (FORGED_BASE + 0x1400)
#define REGIONS (FORGED_BASE + 0x1800)
#define REGION_COUNT 12
#define REGIONS_READ 512
#define REGION_BYTES 0x100000ull
#define OBJECTS (FORGED_BASE + 0x10000000)

/* Both kinds of spaces and regions have the same three words first. */
static const struct forged_place offsets[] = {
	{HOTSPOT_HEAP_ACTIVE, 8},
	{HOTSPOT_G1_REGIONS, 0x100},
	{HOTSPOT_G1_TABLE, 0},
	{HOTSPOT_TABLE_BASE, 0},
	{HOTSPOT_TABLE_LENGTH, 8},
	{HOTSPOT_REGION_TYPE, 24},
	{HOTSPOT_TYPE_TAG, 0},
	{HOTSPOT_SHENANDOAH_REGIONS, 0x100},
	{HOTSPOT_SHENANDOAH_COUNT, 0x108},
	{HOTSPOT_SHENANDOAH_BOTTOM, 0},
	{HOTSPOT_SHENANDOAH_TOP, 8},
	{HOTSPOT_SHENANDOAH_END, 16},
	{HOTSPOT_SHENANDOAH_STATE, 28},
	{HOTSPOT_PARALLEL_YOUNG, GENERATIONS},
	{HOTSPOT_PARALLEL_OLD, GENERATIONS + 8},
	{HOTSPOT_PS_EDEN, 0},
	{HOTSPOT_PS_FROM, 8},
	{HOTSPOT_PS_TO, 16},
	{HOTSPOT_PS_OLD, 24},
	{HOTSPOT_MUTABLE_BOTTOM, 0},
	{HOTSPOT_MUTABLE_TOP, 8},
	{HOTSPOT_MUTABLE_END, 16},
	{HOTSPOT_EPSILON_SPACE, 0x110},
	{HOTSPOT_SPACE_BOTTOM, 0},
	{HOTSPOT_SPACE_TOP, 8},
	{HOTSPOT_SPACE_END, 16},
};

/* Tags of G1: free, Eden's, old ones, of the archive, and one object in two regions. */
static void put_regions(void)
{
	static const uint32_t tags[REGION_COUNT] = {0, 2, 2, 8, 8, 32, 4, 5, 5, 8, 2, 0};
	static const uint32_t states[REGION_COUNT] = {0, 2, 2, 3, 4, 4, 6, 8, 9, 2, 2, 0};

	for (uint64_t i = 0; i < REGION_COUNT; i++) {
		uint64_t region = REGIONS + i * 0x40, start = OBJECTS + i * REGION_BYTES;
		uint64_t kinds = tags[i] | (uint64_t)states[i] << 32;

		forged_put(TABLE + i * 8, region);
		forged_put(region, start);
		forged_put(region + 8, start + (tags[i] ? REGION_BYTES / (1 + i % 2) : 0));
		forged_put(region + 16, start + REGION_BYTES);
		forged_put(region + 24, kinds);
	}
}

static bool forged_make(struct forged *forged)
{
	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_DATA))
		return false;
	put_regions();
	forged_put(HEAP + 0x100, TABLE);
	forged_put(HEAP + 0x108, REGION_COUNT);
	forged_put(HEAP + 0x110, REGIONS + 0x40);
	forged_put(GENERATIONS, GENERATIONS + 0x20);
	forged_put(GENERATIONS + 8, GENERATIONS + 0x20);
	for (uint64_t i = 0; i < 4; i++)
		forged_put(GENERATIONS + 0x20 + i * 8, REGIONS + (i + 1) * 0x40);
	return true;
}

#include "fuzz/forged_input.h"

static void describe(struct hotspot *hotspot, enum hotspot_flag collector, bool old)
{
	uint64_t *places = hotspot->layout.places;

	forged_describe(hotspot, offsets, ARRAY_SIZE(offsets));
	for (uint64_t i = 0; i < 3; i++)
		places[(old ? HOTSPOT_OLD_REGION_BOTTOM : HOTSPOT_REGION_BOTTOM) + i] = i * 8;
	hotspot->layout.flags[collector] = 1;
}

static void check_ranges(const struct hotspot_range *ranges, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (ranges[i].start >= ranges[i].end || ranges[i].end >> MACHINE_USER_BITS ||
		    (i && ranges[i].start < ranges[i - 1].start))
			abort();
	}
}

static void read_collector(const struct forged_memory *memory, enum hotspot_flag collector,
			   bool old)
{
	struct target_memory target;
	struct hotspot hotspot = {.memory = &target, .heap = HEAP};
	struct walk_report report = {0};

	if (target_memory_open(&memory->maps, &memory->modules, NULL, &target))
		abort();
	describe(&hotspot, collector, old);
	hotspot_is_collecting(&hotspot);
	if (hotspot_find_ranges(&hotspot, &report))
		abort();
	check_ranges(hotspot.ranges.items, hotspot.ranges.count);
	check_ranges(hotspot.archived.items, hotspot.archived.count);
	vec_free(&hotspot.ranges);
	vec_free(&hotspot.archived);
	target_memory_close(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const enum hotspot_flag collectors[] = {HOTSPOT_G1, HOTSPOT_PARALLEL,
						       HOTSPOT_SHENANDOAH, HOTSPOT_EPSILON};
	const struct forged *forged = forged_input(data, size);

	/* Otherwise a million similar regions would take a second. */
	forged_put(HEAP + 0x108, forged_word(HEAP + 0x108) % REGIONS_READ);
	for (size_t i = 0; i < ARRAY_SIZE(collectors); i++)
		read_collector(&forged->memory, collectors[i], false);
	read_collector(&forged->memory, HOTSPOT_G1, true);
	return 0;
}
