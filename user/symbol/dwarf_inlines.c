// SPDX-License-Identifier: GPL-2.0-or-later
#include "symbol/dwarf_inlines.h"

#include <dwarf.h>
#include <errno.h>
#include <stdbool.h>

#include "base/cleanup.h"

#define MAX_RANGES (4u << 20)
/* Of scopes within each other; a hostile file nests them without end. */
#define MAX_DEPTH 128

/* What functions are defined in: gcc keeps lambdas inside the block that they stand in. */
static bool may_hold_functions(int tag)
{
	static const int tags[] = {
		DW_TAG_namespace,  DW_TAG_module,     DW_TAG_class_type,    DW_TAG_structure_type,
		DW_TAG_union_type, DW_TAG_subprogram, DW_TAG_lexical_block,
	};

	for (size_t i = 0; i < ARRAY_SIZE(tags); i++) {
		if (tags[i] == tag)
			return true;
	}
	return false;
}

static int add_function(struct dwarf_inlines *inlines, struct dwarf_unit_functions *unit,
			Dwarf_Die *function)
{
	Dwarf_Addr base = 0, low, high;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(function, at, &base, &low, &high)) > 0) {
		struct dwarf_function_range *range;

		/* Functions that the linker threw out stay behind at address 0. */
		if (low == 0 || low >= high)
			continue;
		if (inlines->range_count >= MAX_RANGES)
			return -EFBIG;
		range = vec_push(&unit->ranges);
		if (!range)
			return -ENOMEM;
		*range = (struct dwarf_function_range){low, high, dwarf_dieoffset(function)};
		inlines->range_count++;
	}
	return 0;
}

static int add_functions(struct dwarf_inlines *inlines, struct dwarf_unit_functions *unit,
			 Dwarf_Die *parent, int depth)
{
	Dwarf_Die child;
	int err = 0, more = depth < MAX_DEPTH ? dwarf_child(parent, &child) : 1;

	for (; !err && !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);

		if (tag == DW_TAG_subprogram)
			err = add_function(inlines, unit, &child);
		if (!err && may_hold_functions(tag))
			err = add_functions(inlines, unit, &child, depth + 1);
	}
	return err;
}

static int compare_ranges(const void *left_pointer, const void *right_pointer)
{
	const struct dwarf_function_range *left = left_pointer, *right = right_pointer;

	return (left->low > right->low) - (left->low < right->low);
}

static const struct dwarf_unit_functions *find_unit(struct dwarf_inlines *inlines, Dwarf_Die *unit)
{
	uint64_t *slot = hash_put(&inlines->index, dwarf_dieoffset(unit), NULL);
	struct dwarf_unit_functions *functions;

	if (!slot)
		return NULL;
	if (*slot)
		return &inlines->units.items[*slot - 1];
	functions = vec_push(&inlines->units);
	if (!functions)
		return NULL;
	*slot = inlines->units.count;
	/* After an error: with those found so far. */
	add_functions(inlines, functions, unit, 0);
	if (functions->ranges.count)
		qsort(functions->ranges.items, functions->ranges.count,
		      sizeof(*functions->ranges.items), compare_ranges);
	return functions;
}

static const struct dwarf_function_range *find_range(const struct dwarf_unit_functions *unit,
						     Dwarf_Addr address)
{
	size_t low = 0, high = unit->ranges.count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (unit->ranges.items[middle].low <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (!low || address >= unit->ranges.items[low - 1].high)
		return NULL;
	return &unit->ranges.items[low - 1];
}

/* A block without addresses of its own says nothing: its children do. */
static bool may_hold(Dwarf_Die *scope, int tag, Dwarf_Addr address)
{
	if (tag != DW_TAG_inlined_subroutine && tag != DW_TAG_lexical_block &&
	    tag != DW_TAG_try_block && tag != DW_TAG_catch_block)
		return false;
	if (tag != DW_TAG_inlined_subroutine && !dwarf_hasattr(scope, DW_AT_low_pc) &&
	    !dwarf_hasattr(scope, DW_AT_ranges))
		return true;
	return dwarf_haspc(scope, address) > 0;
}

struct chain {
	Dwarf_Addr address;
	Dwarf_Die *found;
	size_t count, max;
};

/* Goes down where the address is; true: some call below was inlined there, so look no further. */
static bool descend(struct chain *chain, Dwarf_Die *scope, int depth)
{
	Dwarf_Die child;
	int more = depth < MAX_DEPTH ? dwarf_child(scope, &child) : 1;

	for (; !more; more = dwarf_siblingof(&child, &child)) {
		int tag = dwarf_tag(&child);
		bool inlined = tag == DW_TAG_inlined_subroutine;

		if (!may_hold(&child, tag, chain->address))
			continue;
		if (inlined && chain->count == chain->max)
			return true;
		if (inlined)
			chain->found[chain->count++] = child;
		if (descend(chain, &child, depth + 1) || inlined)
			return true;
	}
	return false;
}

size_t dwarf_inlines_find(struct dwarf_inlines *inlines, Dwarf *dwarf, Dwarf_Die *unit,
			  Dwarf_Addr address, Dwarf_Die *found, size_t max)
{
	const struct dwarf_unit_functions *functions = find_unit(inlines, unit);
	const struct dwarf_function_range *range = NULL;
	struct chain chain = {.address = address, .found = found, .max = max};
	Dwarf_Die function;

	if (functions)
		range = find_range(functions, address);
	if (range && dwarf_offdie(dwarf, range->function, &function))
		descend(&chain, &function, 0);
	return chain.count;
}

void dwarf_inlines_free(struct dwarf_inlines *inlines)
{
	for (size_t i = 0; i < inlines->units.count; i++)
		vec_free(&inlines->units.items[i].ranges);
	vec_free(&inlines->units);
	hash_free(&inlines->index);
	inlines->range_count = 0;
}
