// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * libFuzzer harness of the readers of ZGC: its colours, its table of pages, and its tables of moved
 * objects, with and without generations.
 *
 * Input: see forged_input.h. Seeds: not needed.
 */
#include <errno.h>

#include "fuzz/hotspot_places.h"

#define FORGED_BYTES 0x4000u
#define GLOBALS (FORGED_BASE + 0x1100)
#define VARIABLES (FORGED_BASE + 0x1200)
#define HEAP (FORGED_BASE + 0x1300) /* ZCollectedHeap, then ZHeap */
#define GENERATIONS_AT (HEAP + 0x200)
#define ITEMS (FORGED_BASE + 0x1800) /* of pages, then of tables of moved objects */
#define PAGES (FORGED_BASE + 0x2000)
#define TABLES (FORGED_BASE + 0x3000)
#define OFFSET_BITS 42
#define GRANULE 0x200000ull

static const struct forged_place offsets[] = {
	{HOTSPOT_Z_GLOBALS, FORGED_BASE + 0x1000},
	{HOTSPOT_Z_OFFSET_MASK, 0},
	{HOTSPOT_Z_HEAP, 0x10},
	{HOTSPOT_Z_HEAP_BYTES, 0x300},
	{HOTSPOT_Z_ALLOCATOR, 0x20},
	{HOTSPOT_Z_PAGE_TABLE, 0x40},
	{HOTSPOT_Z_FORWARDING_TABLE, 0x80},
	{HOTSPOT_Z_MAX_CAPACITY, 8},
	{HOTSPOT_Z_PAGE_MAP, 8},
	{HOTSPOT_Z_PAGE_ITEMS, 8},
	{HOTSPOT_Z_FORWARDING_MAP, 0},
	{HOTSPOT_Z_FORWARDING_ITEMS, 8},
	{HOTSPOT_Z_PAGE_TYPE, 0},
	{HOTSPOT_Z_PAGE_RANGE, 8},
	{HOTSPOT_Z_PAGE_TOP, 24},
	{HOTSPOT_Z_RANGE_START, 0},
	{HOTSPOT_Z_RANGE_END, 8},
	{HOTSPOT_Z_FORWARDING_RANGE, 0},
	{HOTSPOT_Z_FORWARDING_SHIFT, 16},
	{HOTSPOT_Z_FORWARDING_COUNT, 24},
	{HOTSPOT_Z_FORWARDING_BYTES, 32},
};

static void put_globals(void)
{
	static const uint64_t values[] = {
		(1ull << OFFSET_BITS) - 1, /* the offsets */
		1ull << OFFSET_BITS,	   /* bad */
		15ull << OFFSET_BITS,	   /* all colours */
		0x1000,			   /* good */
		13,			   /* the shift */
	};

	forged_put(FORGED_BASE + 0x1000, GLOBALS);
	for (size_t i = 0; i < ARRAY_SIZE(values); i++) {
		forged_put(GLOBALS + i * 8, VARIABLES + i * 8);
		forged_put(VARIABLES + i * 8, values[i]);
	}
}

static void put_generations(uint64_t heap)
{
	for (uint64_t i = 0; i < 2; i++) {
		uint64_t at = GENERATIONS_AT + i * 0x40;

		forged_put(at - 8, i);
		forged_put(at, heap + 0x20);
		forged_put(at + 8, heap + 0x40);
		forged_put(at + 16 + 8, ITEMS + 0x100 + i * 0x100);
	}
}

/* Three pages of one granule; an object of the second one was moved. */
static void put_pages(void)
{
	for (uint64_t i = 0; i < 3; i++) {
		uint64_t page = PAGES + i * 0x100, table = TABLES + i * 0x100;

		forged_put(ITEMS + i * 8, page);
		forged_put(page, i);
		forged_put(page + 8, i * GRANULE);
		forged_put(page + 16, (i + 1) * GRANULE);
		forged_put(page + 24, i * GRANULE + 0x4000);
		forged_put(ITEMS + 0x100 + i * 8, table);
		forged_put(ITEMS + 0x200 + i * 8, table);
		forged_put(table, i * GRANULE);
		forged_put(table + 8, (i + 1) * GRANULE);
		forged_put(table + 16, 3);
		forged_put(table + 24, 4);
		for (uint64_t j = 0; j < 4; j++)
			forged_put(table + 32 + j * 8, j << 46 | 0x600100 << 1 | 1);
	}
}

static bool forged_make(struct forged *forged)
{
	uint64_t heap = HEAP + 0x10;

	if (!forged_memory_make(&forged->memory, FORGED_BASE, FORGED_BYTES, FORGED_DATA,
				FORGED_DATA))
		return false;
	put_globals();
	forged_put(heap + 0x20 + 8, 1ull << 30); /* capacity */
	forged_put(heap + 0x40 + 8, 64);	 /* granules */
	forged_put(heap + 0x40 + 16, ITEMS);
	forged_put(heap + 0x80 + 8, ITEMS + 0x100);
	put_generations(heap);
	put_pages();
	return true;
}

#include "fuzz/forged_input.h"

static void describe(struct hotspot *hotspot, bool generations)
{
	uint64_t *places = hotspot->layout.places;

	forged_describe(hotspot, offsets, ARRAY_SIZE(offsets));
	if (generations) {
		places[HOTSPOT_Z_LOAD_GOOD_MASK] = 24;
		places[HOTSPOT_Z_LOAD_SHIFT] = 32;
	} else {
		places[HOTSPOT_Z_WEAK_BAD_MASK] = 8;
		places[HOTSPOT_Z_COLOURS] = 16;
	}
}

/* A reference, or an address, leads into the one view of the heap, or nowhere. */
static void check_address(const struct hotspot *hotspot, uint64_t address)
{
	if (address && (address & ~hotspot->z.offset_mask) != hotspot->z.base)
		abort();
}

static void check_references(struct hotspot *hotspot, const struct forged_memory *memory)
{
	for (uint32_t i = 0; i < memory->place_count; i++) {
		uint64_t word = forged_word(memory->base + memory->places[i] * 8ull);
		uint64_t offset = i % 3 * GRANULE + word % GRANULE;

		check_address(hotspot, hotspot_z_decode(hotspot, word));
		check_address(hotspot, hotspot_z_address(hotspot, word));
		check_address(hotspot, hotspot_z_moved(hotspot, hotspot->z.base | offset));
		for (uint32_t colour = 0; colour < 4; colour++) {
			uint64_t address = hotspot->z.base | offset;
			uint64_t reference = hotspot->z.generations
						     ? address << (13 + colour) | 0x1000ull
											  << colour
						     : offset | hotspot->z.base << colour;

			check_address(hotspot, hotspot_z_decode(hotspot, reference));
		}
	}
}

static void read_z(const struct forged_memory *memory, bool generations)
{
	struct target_memory target;
	struct hotspot hotspot = {.memory = &target, .heap = HEAP};
	struct walk_report report = {0};
	const char *why;

	if (target_memory_open(&memory->maps, &memory->modules, NULL, &target))
		abort();
	describe(&hotspot, generations);
	if (!hotspot_z_find(&hotspot, &why)) {
		if (hotspot_z_ranges(&hotspot, &report))
			abort();
		for (size_t i = 0; i < hotspot.ranges.count; i++) {
			check_address(&hotspot, hotspot.ranges.items[i].start);
			if (hotspot.ranges.items[i].start > hotspot.ranges.items[i].end)
				abort();
		}
		check_references(&hotspot, memory);
	}
	vec_free(&hotspot.ranges);
	target_memory_close(&target);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	const struct forged *forged = forged_input(data, size);

	read_z(&forged->memory, false);
	read_z(&forged->memory, true);
	return 0;
}
