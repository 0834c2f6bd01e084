/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Arrays in the kernel that live in a map of maps: of unwind rows, or of a process' mappings. */
#ifndef LEAKMON_UNWIND_ROW_ARRAY_H
#define LEAKMON_UNWIND_ROW_ARRAY_H

#include <stdbool.h>
#include <stdint.h>

#include "leakmon_abi.h"

/* A new array of `count` items, filled from its start with `filled` of them. Its fd, or -errno. */
int row_array_new(const void *items, uint32_t filled, uint32_t count, uint32_t item_size);

/* A process' mappings in the kernel. Initialise it with fd -1. */
struct range_array {
	int fd;
	uint32_t room;	/* for so many mappings, twice */
	uint32_t first; /* cell where the set begins that walks use now */
};

/*
 * Makes these the mappings that walks use. They change at once and without a wait if there is room
 * in the array (lm_range); else there is a new array, which the caller has to announce in the map
 * of maps: *fresh. 0 or -errno.
 */
int range_array_write(struct range_array *array, const struct lm_range *ranges, uint32_t count,
		      bool *fresh);
void range_array_close(struct range_array *array);

#endif
