/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * From an address to its DWARF compilation unit. libdw's own way is .debug_aranges, which clang
 * does not write; where it is silent, an index is made of the ranges that the units themselves
 * give.
 */
#ifndef LEAKMON_SYMBOL_DWARF_UNITS_H
#define LEAKMON_SYMBOL_DWARF_UNITS_H

#include <elfutils/libdw.h>
#include <stdbool.h>

#include "base/vec.h"

struct dwarf_unit_range {
	Dwarf_Addr low, high; /* [low, high) */
	Dwarf_Off unit;	      /* its DIE */
};

struct dwarf_units {
	VEC(struct dwarf_unit_range) ranges; /* by low address, once `indexed` */
	bool indexed;
};

/* 0, or -ENOENT. Always call it with the same `dwarf`. */
int dwarf_units_find(struct dwarf_units *units, Dwarf *dwarf, Dwarf_Addr address, Dwarf_Die *unit);
void dwarf_units_free(struct dwarf_units *units);

#endif
