// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * ZGC (src/hotspot/share/gc/z). Objects lie in pages, listed in a table by granules of 2 MiB. They
 * are moved while the program runs: a reference has a colour, and one of an older colour may lead
 * to an object's old address. Tables of moved objects ("forwarding") have the current addresses.
 *
 * Without generations (up to 23) the colour is in the highest bits of the address, and the heap is
 * mapped once for each of three colours. With generations (since 21) it is in the lowest 16 bits:
 * one of four bits is set, whose number has the state of the young generation in its lower bit and
 * of the old one in its higher bit; the address begins above it (zAddress.hpp).
 *
 * Not in the VM's description: a table's map begins with its number of items; and the tables of
 * generations. A generation begins with its number, then the addresses of the allocator and of the
 * table of pages, which are known.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "heap/runtime/hotspot/hotspot.h"

#define GRANULE_SHIFT 21
#define GRANULE (1ull << GRANULE_SHIFT)
#define GRANULES_MAX (1ull << 23)
#define OFFSET_BITS_MIN 30
#define OFFSET_BITS_MAX 44
#define HEAP_BYTES_MAX 65536
#define PROBES_MAX 65536
/* Twice the number of 8-byte objects in a page (gc/z/zForwarding.inline.hpp). */
#define ENTRIES_MAX (1ull << 19)

/* Format of references with generations. */
#define COLOUR_SHIFT 12
#define REMEMBERED 0x30u
#define ADDRESS_SHIFT 13 /* for the first colour; one more for each further colour */

/* ZForwardingEntry. */
#define ENTRY_POPULATED 1u
#define ENTRY_TO_SHIFT 1
#define ENTRY_TO_MASK ((1ull << 45) - 1)
#define ENTRY_FROM_SHIFT 46

#define PAGE_MEDIUM 1

static uint64_t behind(struct hotspot *hotspot, enum hotspot_place place)
{
	uint64_t globals = hotspot_static(hotspot, HOTSPOT_Z_GLOBALS);
	uint64_t value = hotspot_member(hotspot, globals, place);

	return value ? target_word(hotspot->memory, value) : 0;
}

static uint32_t bit_of(uint64_t mask)
{
	return mask ? (uint32_t)__builtin_ctzll(mask) : 64;
}

static bool has_all(const struct hotspot *hotspot, const enum hotspot_place *places, size_t count)
{
	for (size_t i = 0; i < count; i++) {
		if (!hotspot_has(hotspot, places[i]))
			return false;
	}
	return true;
}

static bool is_described(const struct hotspot *hotspot)
{
	static const enum hotspot_place needed[] = {
		HOTSPOT_Z_GLOBALS,	    HOTSPOT_Z_OFFSET_MASK,	HOTSPOT_Z_HEAP,
		HOTSPOT_Z_HEAP_BYTES,	    HOTSPOT_Z_ALLOCATOR,	HOTSPOT_Z_PAGE_TABLE,
		HOTSPOT_Z_MAX_CAPACITY,	    HOTSPOT_Z_PAGE_MAP,		HOTSPOT_Z_PAGE_ITEMS,
		HOTSPOT_Z_FORWARDING_MAP,   HOTSPOT_Z_FORWARDING_ITEMS, HOTSPOT_Z_PAGE_TYPE,
		HOTSPOT_Z_PAGE_RANGE,	    HOTSPOT_Z_PAGE_TOP,		HOTSPOT_Z_RANGE_START,
		HOTSPOT_Z_FORWARDING_RANGE, HOTSPOT_Z_FORWARDING_SHIFT, HOTSPOT_Z_FORWARDING_COUNT,
		HOTSPOT_Z_FORWARDING_BYTES,
	};
	static const enum hotspot_place with[] = {HOTSPOT_Z_LOAD_GOOD_MASK, HOTSPOT_Z_LOAD_SHIFT};
	static const enum hotspot_place without[] = {HOTSPOT_Z_WEAK_BAD_MASK, HOTSPOT_Z_COLOURS,
						     HOTSPOT_Z_FORWARDING_TABLE};

	return has_all(hotspot, needed, ARRAY_SIZE(needed)) &&
	       (has_all(hotspot, with, ARRAY_SIZE(with)) ||
		has_all(hotspot, without, ARRAY_SIZE(without)));
}

/* Finds the good colour, and checks that it agrees with the shift by which references are read. */
static int find_colours(struct hotspot *hotspot)
{
	struct hotspot_z *z = &hotspot->z;
	uint64_t mask = behind(hotspot, HOTSPOT_Z_OFFSET_MASK);
	uint32_t bits = bit_of(mask + 1);

	if (bits < OFFSET_BITS_MIN || bits > OFFSET_BITS_MAX || mask != (1ull << bits) - 1)
		return -ENOENT;
	z->generations = hotspot_has(hotspot, HOTSPOT_Z_LOAD_GOOD_MASK);
	z->offset_mask = mask;
	z->base = mask + 1;
	if (z->generations) {
		uint64_t good = behind(hotspot, HOTSPOT_Z_LOAD_GOOD_MASK);

		z->good = bit_of(good) - COLOUR_SHIFT;
		return z->good > 3 || good != 1ull << (COLOUR_SHIFT + z->good) ||
				       behind(hotspot, HOTSPOT_Z_LOAD_SHIFT) !=
					       ADDRESS_SHIFT + z->good
			       ? -ENOENT
			       : 0;
	}
	z->bad = behind(hotspot, HOTSPOT_Z_WEAK_BAD_MASK);
	if (behind(hotspot, HOTSPOT_Z_COLOURS) != 15ull << bits || !z->bad || z->bad & mask)
		return -ENOENT;
	hotspot->memory->view_shift = bits;
	return 0;
}

/* Finds the forwarding table of a generation: the items of its map. */
static int find_generation(struct hotspot *hotspot, uint64_t at)
{
	uint64_t table = at + 16 + hotspot_place(hotspot, HOTSPOT_Z_FORWARDING_MAP);
	uint8_t number = UINT8_MAX;

	if (target_read(hotspot->memory, at - 8, &number, 1) || number > 1 ||
	    hotspot->z.forwarding[number])
		return -ENOENT;
	hotspot->z.forwarding[number] = hotspot_member(hotspot, table, HOTSPOT_Z_FORWARDING_ITEMS);
	return 0;
}

static int find_generations(struct hotspot *hotspot, uint64_t heap)
{
	uint64_t allocator = heap + hotspot_place(hotspot, HOTSPOT_Z_ALLOCATOR);
	uint64_t table = heap + hotspot_place(hotspot, HOTSPOT_Z_PAGE_TABLE);
	uint64_t bytes =
		MIN(hotspot_place(hotspot, HOTSPOT_Z_HEAP_BYTES), (uint64_t)HEAP_BYTES_MAX);
	uint64_t last = 0;
	int error = 0;

	for (uint64_t at = heap; !error && at < heap + bytes; at += 8) {
		uint64_t word = target_word(hotspot->memory, at);

		if ((word == allocator && last == table) || (word == table && last == allocator))
			error = find_generation(hotspot, at - 8);
		last = word;
	}
	return error || !hotspot->z.forwarding[0] || !hotspot->z.forwarding[1] ? -ENOENT : 0;
}

static int find_tables(struct hotspot *hotspot)
{
	uint64_t heap = hotspot->heap + hotspot_place(hotspot, HOTSPOT_Z_HEAP);
	uint64_t pages = heap + hotspot_place(hotspot, HOTSPOT_Z_PAGE_TABLE) +
			 hotspot_place(hotspot, HOTSPOT_Z_PAGE_MAP);
	uint64_t table = heap + hotspot_place(hotspot, HOTSPOT_Z_FORWARDING_TABLE) +
			 hotspot_place(hotspot, HOTSPOT_Z_FORWARDING_MAP);

	hotspot->z.pages = hotspot_member(hotspot, pages, HOTSPOT_Z_PAGE_ITEMS);
	hotspot->z.granules = MIN((hotspot->z.offset_mask + 1) >> GRANULE_SHIFT,
				  target_word(hotspot->memory, pages));
	hotspot->z.granules = MIN(hotspot->z.granules, GRANULES_MAX);
	if (!hotspot->z.pages)
		return -ENOENT;
	if (hotspot->z.generations)
		return find_generations(hotspot, heap);
	hotspot->z.forwarding[0] = hotspot_member(hotspot, table, HOTSPOT_Z_FORWARDING_ITEMS);
	return hotspot->z.forwarding[0] ? 0 : -ENOENT;
}

/* ZHeuristics::set_medium_page_size(): a 32nd of the largest heap, from 2 to 32 MiB; objects in it
 * are aligned to its 8192nd part. */
static uint32_t medium_step(struct hotspot *hotspot)
{
	uint64_t heap = hotspot->heap + hotspot_place(hotspot, HOTSPOT_Z_HEAP);
	uint64_t allocator = heap + hotspot_place(hotspot, HOTSPOT_Z_ALLOCATOR);
	uint64_t most = hotspot_member(hotspot, allocator, HOTSPOT_Z_MAX_CAPACITY) / 32;
	uint64_t bytes = GRANULE;

	while (bytes < 16 * GRANULE && bytes * 2 <= most)
		bytes *= 2;
	return bytes > GRANULE ? (uint32_t)(bytes >> 13) : 8;
}

int hotspot_z_find(struct hotspot *hotspot, const char **why)
{
	hotspot->z = (struct hotspot_z){0};
	*why = "ZGC of this version: its description lacks structures that are needed";
	if (!is_described(hotspot))
		return -ENOENT;
	*why = "ZGC: its references have colours that are not known";
	if (find_colours(hotspot))
		return -ENOENT;
	*why = "ZGC: its tables of pages and of moved objects were not found";
	if (find_tables(hotspot))
		return -ENOENT;
	hotspot->z.medium_step = medium_step(hotspot);
	hotspot->z.used = true;
	*why = NULL;
	return 0;
}

/* -------- moved objects */

static uint64_t range_end(struct hotspot *hotspot, uint64_t range)
{
	if (hotspot_has(hotspot, HOTSPOT_Z_RANGE_END))
		return hotspot_member(hotspot, range, HOTSPOT_Z_RANGE_END);
	return hotspot_member(hotspot, range, HOTSPOT_Z_RANGE_START) +
	       hotspot_member(hotspot, range, HOTSPOT_Z_RANGE_SIZE);
}

/* ZHash::uint32_to_uint32. */
static uint32_t hash(uint32_t key)
{
	key = ~key + (key << 15);
	key ^= key >> 12;
	key += key << 2;
	key ^= key >> 4;
	key *= 2057;
	return key ^ key >> 16;
}

/* Returns the new offset of the object at `index`; UINT64_MAX: not moved. */
static uint64_t find_entry(struct hotspot *hotspot, uint64_t table, uint64_t index)
{
	uint64_t count = hotspot_member(hotspot, table, HOTSPOT_Z_FORWARDING_COUNT);
	uint64_t entries = table + hotspot_place(hotspot, HOTSPOT_Z_FORWARDING_BYTES);
	uint64_t place = hash((uint32_t)index);

	if (!count || count > ENTRIES_MAX || count & (count - 1))
		return UINT64_MAX;
	for (uint32_t i = 0; i < PROBES_MAX && i < count; i++, place++) {
		uint64_t entry = target_word(hotspot->memory, entries + (place & (count - 1)) * 8);

		if (!(entry & ENTRY_POPULATED))
			break;
		if (entry >> ENTRY_FROM_SHIFT == index)
			return entry >> ENTRY_TO_SHIFT & ENTRY_TO_MASK;
	}
	return UINT64_MAX;
}

/* Returns a generation's forwarding table for an offset; 0: none. */
static uint64_t table_of(const struct hotspot *hotspot, uint32_t generation, uint64_t offset)
{
	uint64_t items = hotspot->z.forwarding[generation];

	return items && offset >> GRANULE_SHIFT < hotspot->z.granules
		       ? target_word(hotspot->memory, items + (offset >> GRANULE_SHIFT) * 8)
		       : 0;
}

static uint64_t move(const struct hotspot *hotspot, uint32_t generation, uint64_t offset)
{
	/* Only the cache of its memory is written. */
	struct hotspot *reading = (struct hotspot *)hotspot;
	uint64_t table = table_of(hotspot, generation, offset);
	uint64_t range = table + hotspot_place(hotspot, HOTSPOT_Z_FORWARDING_RANGE), start, to;

	if (!table)
		return offset;
	start = hotspot_member(reading, range, HOTSPOT_Z_RANGE_START);
	if (offset < start || offset >= range_end(reading, range))
		return offset;
	to = find_entry(reading, table,
			(offset - start) >>
				(hotspot_member(reading, table, HOTSPOT_Z_FORWARDING_SHIFT) & 63));
	return to <= hotspot->z.offset_mask ? to : offset;
}

uint64_t hotspot_z_address(const struct hotspot *hotspot, uint64_t address)
{
	const struct hotspot_z *z = &hotspot->z;
	uint64_t colour = address & ~z->offset_mask;

	if (!z->used)
		return address;
	if (z->generations)
		return colour == z->base ? address : 0;
	return colour == z->base || colour == z->base << 1 || colour == z->base << 2
		       ? z->base | (address & z->offset_mask)
		       : 0;
}

uint64_t hotspot_z_moved(const struct hotspot *hotspot, uint64_t address)
{
	for (uint32_t i = 0; i < 2 && hotspot->z.used; i++) {
		uint64_t offset = address & hotspot->z.offset_mask, to = move(hotspot, i, offset);

		if (to != offset)
			return hotspot->z.base | to;
	}
	return 0;
}

/* ZBarrier::remap_generation(): returns the generation in which an object may have moved since a
 * reference got its colour. */
static uint32_t moved_generation(const struct hotspot *hotspot, uint64_t reference, uint32_t colour,
				 uint64_t offset)
{
	uint32_t changed = colour ^ hotspot->z.good;

	if (changed != 3)
		return changed >> 1;
	if ((reference & REMEMBERED) == REMEMBERED)
		return 1;
	return table_of(hotspot, 0, offset) ? 0 : 1;
}

uint64_t hotspot_z_decode(const struct hotspot *hotspot, uint64_t reference)
{
	const struct hotspot_z *z = &hotspot->z;
	uint32_t colour = bit_of(reference >> COLOUR_SHIFT & 15);
	uint64_t address, offset;

	if (!z->generations) {
		offset = reference & z->offset_mask;
		if (reference >> (bit_of(z->base) + 4) || !(reference & (z->base * 7)))
			return 0;
		return z->base | (reference & z->bad ? move(hotspot, 0, offset) : offset);
	}
	address = colour < 4 ? reference >> (ADDRESS_SHIFT + colour) : 0;
	offset = address & z->offset_mask;
	if ((address & ~z->offset_mask) != z->base)
		return 0;
	if (colour != z->good)
		offset =
			move(hotspot, moved_generation(hotspot, reference, colour, offset), offset);
	return z->base | offset;
}

/* -------- pages */

static int add_page(struct hotspot *hotspot, struct walk_report *report, uint64_t page,
		    uint64_t granule)
{
	uint64_t range = page + hotspot_place(hotspot, HOTSPOT_Z_PAGE_RANGE);
	uint64_t start = hotspot_member(hotspot, range, HOTSPOT_Z_RANGE_START);
	uint64_t end = range_end(hotspot, range);
	uint64_t top = hotspot_member(hotspot, page, HOTSPOT_Z_PAGE_TOP);
	uint8_t type = (uint8_t)hotspot_member(hotspot, page, HOTSPOT_Z_PAGE_TYPE);

	if (start != granule << GRANULE_SHIFT || start >= end || top < start || top > end ||
	    (end | top) & 7 || end > hotspot->z.offset_mask + 1) {
		report->nonsense++;
		return 0;
	}
	return hotspot_range_add(
		hotspot, report,
		&(struct hotspot_range){.start = hotspot->z.base + start,
					.end = hotspot->z.base + top,
					.step = type == PAGE_MEDIUM ? hotspot->z.medium_step : 8},
		end - start);
}

/* A page has an entry for each of its granules. Untouched memory of the table has no entries. */
int hotspot_z_ranges(struct hotspot *hotspot, struct walk_report *report)
{
	uint64_t at = hotspot->z.pages, end = at + hotspot->z.granules * 8, last = 0;
	uint64_t entries[MEMORY_PAGE / 8];
	int error = 0;

	while (!error && at < end) {
		size_t size = (size_t)MIN(end - at, MEMORY_PAGE - at % MEMORY_PAGE);

		if (target_read(hotspot->memory, at, entries, size)) {
			last = 0;
			at += size;
			continue;
		}
		for (size_t i = 0; !error && i < size / 8; i++) {
			if (entries[i] && entries[i] != last)
				error = add_page(hotspot, report, entries[i],
						 (at - hotspot->z.pages) / 8 + i);
			last = entries[i];
		}
		at += size;
	}
	return error;
}
