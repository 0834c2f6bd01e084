/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Properties of mappings by which runtimes are detected. */
#ifndef LEAKMON_RUNTIME_MAPPING_SHAPE_H
#define LEAKMON_RUNTIME_MAPPING_SHAPE_H

#include "process/proc/maps.h"

/* A file's name, or its prefix. */
struct module_name {
	const char *prefix; /* matches the last part of a path */
	bool whole;	    /* the prefix is the whole name */
};

/* Returns whether the mapping is of a file with one of these names. */
bool mapping_is_module(const struct mapping *mapping, const struct module_name *names,
		       size_t count);

/* Returns whether it is private memory without a file, unnamed or named by the process. */
bool mapping_is_anonymous(const struct mapping *mapping);
/* Returns whether it is readable and writable, but not executable. */
bool mapping_is_data(const struct mapping *mapping);

/* Returns whether it may be one of glibc's arenas, by its alignment. A runtime's chunk that happens
 * to look the same is mistaken for one. */
bool mapping_may_be_arena(const struct mapping *mapping);

/* A run of adjacent anonymous mappings of any protection: its bytes in use, and its largest mapping
 * that is merely reserved. */
struct reservation {
	uint64_t start, end, used, reserved;
};

/* Finds the reservation with most bytes in use. Begins with zeros; takes each mapping, in order. */
struct largest_reservation {
	struct reservation run, best;
};
void largest_reservation_add(struct largest_reservation *largest, const struct mapping *mapping);
/* Finds the reservation with the largest reserved mapping, among those with bytes in use. Begins
 * with zeros; takes each mapping, in order. */
void widest_reservation_add(struct largest_reservation *widest, const struct mapping *mapping);
bool reservation_has(const struct reservation *reservation, const struct mapping *mapping);

#endif
