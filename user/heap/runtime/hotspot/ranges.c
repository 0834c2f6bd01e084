// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The collectors' ranges of objects: spaces of Serial, Parallel and Epsilon, regions of G1 and
 * Shenandoah. None is read while objects are moved.
 */
#include <errno.h>

#include "base/cleanup.h"
#include "binary/arch/machine.h"
#include "heap/runtime/hotspot/hotspot.h"

/* A region has at least 256 KiB (gc/shenandoah/shenandoahHeapRegion.hpp), in G1 1 MiB. */
#define REGIONS_MAX (1ull << (MACHINE_USER_BITS - 18))

/* Collections. */

/* ShenandoahHeapRegion::RegionState (gc/shenandoah/shenandoahHeapRegion.hpp). */
#define STATE_HUMONGOUS 4u /* continues the previous region */
#define STATE_MOVING 6u
#define STATE_MOVING_PINNED 8u
#define STATE_TRASH 9u

static uint64_t shenandoah_region(struct hotspot *hotspot, uint64_t i)
{
	uint64_t regions = hotspot_member(hotspot, hotspot->heap, HOTSPOT_SHENANDOAH_REGIONS);

	return regions ? target_word(hotspot->memory, regions + i * 8) : 0;
}

static uint64_t count_shenandoah(struct hotspot *hotspot)
{
	uint64_t count = hotspot_member(hotspot, hotspot->heap, HOTSPOT_SHENANDOAH_COUNT);

	return MIN(count, REGIONS_MAX);
}

/* Returns whether Shenandoah evacuates: it moves objects out of chosen regions while the program
 * runs, until nothing refers to these any more. */
static bool is_evacuating(struct hotspot *hotspot)
{
	uint64_t count = hotspot->layout.flags[HOTSPOT_SHENANDOAH] &&
					 hotspot_has(hotspot, HOTSPOT_SHENANDOAH_STATE)
				 ? count_shenandoah(hotspot)
				 : 0;

	for (uint64_t i = 0; i < count && !target_memory_overworked(hotspot->memory); i++) {
		uint64_t region = shenandoah_region(hotspot, i);
		uint32_t state = 0;

		if (region &&
		    target_read_now(hotspot->memory,
				    region + hotspot_place(hotspot, HOTSPOT_SHENANDOAH_STATE),
				    &state, sizeof(state)))
			return true;
		if (state == STATE_MOVING || state == STATE_MOVING_PINNED)
			return true;
	}
	return false;
}

bool hotspot_is_collecting(struct hotspot *hotspot)
{
	uint8_t active = 0;

	return is_evacuating(hotspot) ||
	       target_read_now(hotspot->memory,
			       hotspot->heap + hotspot_place(hotspot, HOTSPOT_HEAP_ACTIVE), &active,
			       sizeof(active)) ||
	       active;
}

/* Spaces. */

int hotspot_range_add(struct hotspot *hotspot, struct walk_report *report,
		      const struct hotspot_range *range, uint64_t bytes)
{
	uint64_t used = range->end - range->start;
	struct hotspot_range *added;

	report->heap_bytes += bytes;
	report->free_bytes += bytes - used;
	if (!used)
		return 0;
	added = vec_push(&hotspot->ranges);
	if (!added)
		return -ENOMEM;
	*added = *range;
	return 0;
}

static int add_range(struct hotspot *hotspot, struct walk_report *report, uint64_t start,
		     uint64_t top, uint64_t end)
{
	if (!start || (start | top | end) & 7 || start > top || top > end ||
	    end >> MACHINE_USER_BITS) {
		report->nonsense++;
		return 0;
	}
	return hotspot_range_add(hotspot, report,
				 &(struct hotspot_range){.start = start, .end = top}, end - start);
}

/* Returns the bytes of objects in a space; 0 if it is implausible. */
static uint64_t used_bytes(struct hotspot *hotspot, uint64_t space, enum hotspot_place bottom)
{
	uint64_t start = hotspot_member(hotspot, space, bottom);
	uint64_t top = hotspot_member(hotspot, space, bottom + 1);

	return start <= top && top <= hotspot_member(hotspot, space, bottom + 2) ? top - start : 0;
}

/* Adds a MutableSpace or ContiguousSpace, by its three members from `bottom` on. */
static int add_space(struct hotspot *hotspot, struct walk_report *report, uint64_t space,
		     enum hotspot_place bottom)
{
	return add_range(hotspot, report, hotspot_member(hotspot, space, bottom),
			 hotspot_member(hotspot, space, bottom + 1),
			 hotspot_member(hotspot, space, bottom + 2));
}

/* A static up to 26, a member of the heap since 27. */
static uint64_t parallel_generation(struct hotspot *hotspot, enum hotspot_place place)
{
	return hotspot_place(hotspot, place) < MEMORY_PAGE
		       ? hotspot_member(hotspot, hotspot->heap, place)
		       : hotspot_static(hotspot, place);
}

static int find_parallel(struct hotspot *hotspot, struct walk_report *report)
{
	static const enum hotspot_place spaces[] = {HOTSPOT_PS_EDEN, HOTSPOT_PS_FROM,
						    HOTSPOT_PS_TO};
	uint64_t young = parallel_generation(hotspot, HOTSPOT_PARALLEL_YOUNG);
	uint64_t old = parallel_generation(hotspot, HOTSPOT_PARALLEL_OLD);
	uint64_t eden = hotspot_member(hotspot, young, HOTSPOT_PS_EDEN);
	int error = add_space(hotspot, report, hotspot_member(hotspot, old, HOTSPOT_PS_OLD),
			      HOTSPOT_MUTABLE_BOTTOM);

	hotspot->eden_bytes = used_bytes(hotspot, eden, HOTSPOT_MUTABLE_BOTTOM);
	for (size_t i = 0; !error && i < ARRAY_SIZE(spaces); i++)
		error = add_space(hotspot, report, hotspot_member(hotspot, young, spaces[i]),
				  HOTSPOT_MUTABLE_BOTTOM);
	return error;
}

static int find_serial(struct hotspot *hotspot, struct walk_report *report)
{
	static const enum hotspot_place spaces[] = {HOTSPOT_DEFNEW_EDEN, HOTSPOT_DEFNEW_FROM,
						    HOTSPOT_DEFNEW_TO};
	uint64_t young = hotspot_member(hotspot, hotspot->heap, HOTSPOT_SERIAL_YOUNG);
	uint64_t old = hotspot_member(hotspot, hotspot->heap, HOTSPOT_SERIAL_OLD);
	uint64_t eden = hotspot_member(hotspot, young, HOTSPOT_DEFNEW_EDEN);
	int error = add_space(hotspot, report, hotspot_member(hotspot, old, HOTSPOT_TENURED_SPACE),
			      HOTSPOT_SPACE_BOTTOM);

	hotspot->eden_bytes = used_bytes(hotspot, eden, HOTSPOT_SPACE_BOTTOM);
	for (size_t i = 0; !error && i < ARRAY_SIZE(spaces); i++)
		error = add_space(hotspot, report, hotspot_member(hotspot, young, spaces[i]),
				  HOTSPOT_SPACE_BOTTOM);
	return error;
}

static int find_epsilon(struct hotspot *hotspot, struct walk_report *report)
{
	return add_space(hotspot, report,
			 hotspot_member(hotspot, hotspot->heap, HOTSPOT_EPSILON_SPACE),
			 HOTSPOT_SPACE_BOTTOM);
}

/*
 * HeapRegionType: new objects are in Eden's regions; a humongous object begins in one region, and
 * continues in the next ones. Up to 17, regions of the archive of shared classes are never
 * collected.
 */
#define TAG_EDEN 2u
#define TAG_HUMONGOUS 4u
#define TAG_CONTINUES 1u
#define TAG_ARCHIVE 32u

static int note_archived(struct hotspot *hotspot, uint32_t tag)
{
	struct hotspot_range *range;

	if (!(tag & TAG_ARCHIVE))
		return 0;
	range = vec_push(&hotspot->archived);
	if (!range)
		return -ENOMEM;
	*range = hotspot->ranges.items[hotspot->ranges.count - 1];
	return 0;
}

/* Joins the last two ranges: an object may cross them. */
static void join_last(struct hotspot *hotspot)
{
	struct hotspot_range *last = &hotspot->ranges.items[hotspot->ranges.count - 1];

	if (hotspot->ranges.count < 2 || last[-1].end != last->start)
		return;
	last[-1].end = last->end;
	hotspot->ranges.count--;
}

static int add_region(struct hotspot *hotspot, struct walk_report *report, uint64_t region)
{
	uint64_t type = region + hotspot_place(hotspot, HOTSPOT_REGION_TYPE);
	uint32_t tag = hotspot_member32(hotspot, type, HOTSPOT_TYPE_TAG);
	enum hotspot_place bottom = hotspot_has(hotspot, HOTSPOT_REGION_BOTTOM)
					    ? HOTSPOT_REGION_BOTTOM
					    : HOTSPOT_OLD_REGION_BOTTOM;
	size_t count = hotspot->ranges.count;
	int error = add_space(hotspot, report, region, bottom);

	if (tag == TAG_EDEN)
		hotspot->eden_bytes += used_bytes(hotspot, region, bottom);

	if (error || hotspot->ranges.count == count)
		return error;
	if (!count || (tag & (TAG_HUMONGOUS | TAG_CONTINUES)) != (TAG_HUMONGOUS | TAG_CONTINUES))
		return note_archived(hotspot, tag);
	join_last(hotspot);
	return 0;
}

static int find_g1(struct hotspot *hotspot, struct walk_report *report)
{
	uint64_t table = hotspot->heap + hotspot_place(hotspot, HOTSPOT_G1_REGIONS) +
			 hotspot_place(hotspot, HOTSPOT_G1_TABLE);
	uint64_t base = hotspot_member(hotspot, table, HOTSPOT_TABLE_BASE);
	uint64_t count = hotspot_member(hotspot, table, HOTSPOT_TABLE_LENGTH);
	int error = 0;

	for (uint64_t i = 0; !error && base && i < MIN(count, REGIONS_MAX) &&
			     !target_memory_overworked(hotspot->memory);
	     i++) {
		uint64_t region = target_word(hotspot->memory, base + i * 8);

		if (region)
			error = add_region(hotspot, report, region);
	}
	return error;
}

static int find_shenandoah(struct hotspot *hotspot, struct walk_report *report)
{
	uint64_t regions = count_shenandoah(hotspot);
	int error = 0;

	for (uint64_t i = 0; !error && i < regions && !target_memory_overworked(hotspot->memory);
	     i++) {
		uint64_t region = shenandoah_region(hotspot, i);
		uint32_t state = hotspot_member32(hotspot, region, HOTSPOT_SHENANDOAH_STATE);
		size_t count = hotspot->ranges.count;

		if (!region || state >= STATE_TRASH)
			continue;
		error = add_space(hotspot, report, region, HOTSPOT_SHENANDOAH_BOTTOM);
		if (!error && state == STATE_HUMONGOUS && hotspot->ranges.count > count)
			join_last(hotspot);
	}
	return error;
}

static int compare_ranges(const void *left_pointer, const void *right_pointer)
{
	const struct hotspot_range *left = left_pointer, *right = right_pointer;

	return left->start < right->start ? -1 : left->start > right->start;
}

static void sort_ranges(struct hotspot_range *ranges, size_t count)
{
	if (count)
		qsort(ranges, count, sizeof(*ranges), compare_ranges);
}

int hotspot_find_ranges(struct hotspot *hotspot, struct walk_report *report)
{
	static const struct {
		enum hotspot_flag flag;
		int (*find)(struct hotspot *hotspot, struct walk_report *report);
	} collectors[] = {
		{HOTSPOT_G1, find_g1},
		{HOTSPOT_SERIAL, find_serial},
		{HOTSPOT_PARALLEL, find_parallel},
		{HOTSPOT_SHENANDOAH, find_shenandoah},
		{HOTSPOT_EPSILON, find_epsilon},
		{HOTSPOT_Z, hotspot_z_ranges},
	};
	int error = 0;

	hotspot->ranges.count = hotspot->archived.count = 0;
	hotspot->eden_bytes = 0;
	for (size_t i = 0; i < ARRAY_SIZE(collectors); i++) {
		if (hotspot->layout.flags[collectors[i].flag]) {
			error = collectors[i].find(hotspot, report);
			break;
		}
	}
	sort_ranges(hotspot->ranges.items, hotspot->ranges.count);
	sort_ranges(hotspot->archived.items, hotspot->archived.count);
	return error;
}
