// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/dwarf_units.h"

#include <errno.h>

#define MAX_RANGES (4u << 20)

static int add_unit(struct dwarf_units *units, Dwarf_Die *unit)
{
	Dwarf_Addr base = 0, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(unit, at, &base, &low, &high)) > 0) {
		struct dwarf_unit_range *range;

		/* Functions that the linker threw out stay behind at address 0. */
		if (low == 0 || low >= high)
			continue;
		if (units->ranges.count >= MAX_RANGES)
			return -EFBIG;
		range = vec_push(&units->ranges);
		if (!range)
			return -ENOMEM;
		*range = (struct dwarf_unit_range){low, high, dwarf_dieoffset(unit)};
	}
	return 0;
}

static int compare_ranges(const void *left_pointer, const void *right_pointer)
{
	const struct dwarf_unit_range *left = left_pointer, *right = right_pointer;

	return (left->low > right->low) - (left->low < right->low);
}

static void index_units(struct dwarf_units *units, Dwarf *dwarf)
{
	Dwarf_Off at = 0, next;
	size_t header_size;
	int err = 0;

	while (!err && !dwarf_nextcu(dwarf, at, &next, &header_size, NULL, NULL, NULL)) {
		Dwarf_Die unit;

		if (dwarf_offdie(dwarf, at + header_size, &unit))
			err = add_unit(units, &unit);
		if (next <= at)
			break;
		at = next;
	}
	if (units->ranges.count)
		qsort(units->ranges.items, units->ranges.count, sizeof(*units->ranges.items),
		      compare_ranges);
	units->indexed = true;
}

static const struct dwarf_unit_range *find_range(const struct dwarf_units *units,
						 Dwarf_Addr address)
{
	size_t low = 0, high = units->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (units->ranges.items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= units->ranges.items[low - 1].high)
		return NULL;
	return &units->ranges.items[low - 1];
}

int dwarf_units_find(struct dwarf_units *units, Dwarf *dwarf, Dwarf_Addr address, Dwarf_Die *unit)
{
	const struct dwarf_unit_range *range;

	if (dwarf_addrdie(dwarf, address, unit))
		return 0;
	if (!units->indexed)
		index_units(units, dwarf);
	range = find_range(units, address);
	return range && dwarf_offdie(dwarf, range->unit, unit) ? 0 : -ENOENT;
}

void dwarf_units_free(struct dwarf_units *units)
{
	vec_free(&units->ranges);
	units->indexed = false;
}
