/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind rows in the kernel. Copies of a file (the same build-id and the same rows, as in
 * containers of different images) take kernel memory once.
 */
#ifndef LEAKMON_UNWIND_ROW_SETS_H
#define LEAKMON_UNWIND_ROW_SETS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "binary/parse/unwind_table.h"
#include "leakmon_abi.h"

/* Lays out a module's rows as the cells that the kernel side searches (leakmon_abi.h). */

struct unwind_cells {
	struct lm_unwind_row *items; /* owned */
	uint32_t count;
};

/* Builds the cells. Returns 0; -ENOENT: the table is empty; -ENOMEM. */
int unwind_cells_build(const struct unwind_table *table, struct unwind_cells *cells);
void unwind_cells_free(struct unwind_cells *cells);

/* Kernel arrays inside a map of maps: of unwind rows, or of a process's mappings. */

/* A process's mappings in the kernel. Initialise it with fd -1. */
struct range_array {
	int fd;
	uint32_t room;	/* capacity in mappings, for each of two sets */
	uint32_t first; /* first cell of the set in use */
};

/*
 * Makes these the mappings that walks use. If they fit the array, they change at once and without a
 * wait (lm_range); else there is a new array, which the caller must put into the map of maps:
 * *fresh. Returns 0 or -errno.
 */
int range_array_write(struct range_array *array, const struct lm_range *ranges, uint32_t count,
		      bool *fresh);
void range_array_close(struct range_array *array);

struct row_set {
	uint64_t key;	/* of row_sets.index */
	uint32_t index; /* in the BPF map `unwind_modules` */
	size_t rows;
	size_t users; /* number of files with these rows */
	char build_id[82];
};

struct row_indices {
	uint32_t *items;
	size_t count, capacity;
};

struct row_sets {
	int map_fd;
	struct hash index; /* hash of build-id and rows -> struct row_set * */
	uint64_t secret;   /* for that hash: nobody can craft rows that pass for another file's */
	size_t count, rows;
	uint32_t next_index;
	struct row_indices free_indices;
	struct row_indices stale_indices; /* of rows freed here, not yet in the kernel */
	/* Filled arrays that are not yet in the map of maps. */
	struct {
		struct row_indices keys;
		VEC(int) fds;
	} pending;
};

/* Initialises. `map_fd` is the BPF map `unwind_modules`, borrowed. Returns 0 or -errno. */
int row_sets_init(struct row_sets *sets, int map_fd);
void row_sets_free(struct row_sets *sets);

/*
 * Finds or makes the set with the rows of this table, held for the caller. New ones wait for
 * row_sets_load(). Returns 0; -ENOENT: no rows; -ENOSPC: LM_MAX_MODULES are in use; -ENOMEM; or
 * -errno of the kernel.
 */
int row_sets_hold(struct row_sets *sets, const struct unwind_table *table, const char *build_id,
		  struct row_set **held);
/* Undoes a hold; set may be NULL. Unheld sets are deleted in batches, some time later. */
void row_sets_release(struct row_sets *sets, struct row_set *set);

/*
 * Loads new rows: walks can use them as soon as this begins, but it returns later, after one RCU
 * grace period (5 to 30 ms) for all sets. Returns 0 or -errno.
 */
int row_sets_load(struct row_sets *sets);

#endif
