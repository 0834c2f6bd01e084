/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How mappings look by which runtimes are detected. */
#ifndef LEAKMON_RUNTIME_MAPPING_SHAPE_H
#define LEAKMON_RUNTIME_MAPPING_SHAPE_H

#include "process/proc/maps.h"

/* A file's name, or how it begins. */
struct module_name {
	const char *prefix; /* of the last part of a path */
	bool whole;	    /* it is all of it */
};

/* Whether the mapping is of a file with one of these names. */
bool mapping_is_module(const struct mapping *mapping, const struct module_name *names,
		       size_t count);

/* Private memory without a file, of no name or one that the process gave it. */
bool mapping_is_anonymous(const struct mapping *mapping);
/* Readable and writable, not executable. */
bool mapping_is_data(const struct mapping *mapping);

/* An arena of glibc's, by its place: without a way to distinguish them, a chunk of a runtime's here
 * and there is taken for one. */
bool mapping_may_be_arena(const struct mapping *mapping);

/* Anonymous memory side by side, whatever its protections, how much of it is in use, and the
 * largest mapping in it that is merely reserved. */
struct reservation {
	uint64_t start, end, used, reserved;
};

/* The reservation with most in use: takes each mapping, in order, beginning with zeros. */
struct largest_reservation {
	struct reservation run, best;
};
void largest_reservation_add(struct largest_reservation *largest, const struct mapping *mapping);
/* Likewise the one with most ahead of it, of those that are in use at all. */
void widest_reservation_add(struct largest_reservation *widest, const struct mapping *mapping);
bool reservation_has(const struct reservation *reservation, const struct mapping *mapping);

#endif
