/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address to the calls that the compiler inlined there (DWARF 5, 3.3.8 "Inlined
 * Subroutines"). The functions of a compilation unit are indexed at the first question about it:
 * libdw's own dwarf_getscopes() goes through the whole unit for each address.
 */
#ifndef LEAKMON_SYMBOL_DWARF_INLINES_H
#define LEAKMON_SYMBOL_DWARF_INLINES_H

#include <elfutils/libdw.h>

#include "base/hash.h"
#include "base/vec.h"

struct dwarf_function_range {
	Dwarf_Addr low, high; /* [low, high) */
	Dwarf_Off function;   /* its DIE */
};

struct dwarf_unit_functions {
	VEC(struct dwarf_function_range) ranges; /* by low address */
};

struct dwarf_inlines {
	struct hash index; /* offset of a unit's DIE -> place in units, plus 1 */
	VEC(struct dwarf_unit_functions) units;
	size_t range_count; /* of all units */
};

/*
 * The DW_TAG_inlined_subroutine DIEs that hold the address, outermost first; those deeper than
 * `max` are left out. `unit` is the address' own, always of the same `dwarf`. Returns how many were
 * filled; 0 also when out of memory: then a line without them is still right.
 */
size_t dwarf_inlines_find(struct dwarf_inlines *inlines, Dwarf *dwarf, Dwarf_Die *unit,
			  Dwarf_Addr address, Dwarf_Die *found, size_t max);
void dwarf_inlines_free(struct dwarf_inlines *inlines);

#endif
