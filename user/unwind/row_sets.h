/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The unwind rows that the kernel has. Copies of a file (the same build-id and the same rows, as in
 * containers made from different images) take kernel memory once.
 */
#ifndef LEAKMON_UNWIND_ROW_SETS_H
#define LEAKMON_UNWIND_ROW_SETS_H

#include "base/hash.h"
#include "base/vec.h"
#include "parse/unwind_table.h"

struct row_set {
	uint64_t key;	/* of row_sets.index */
	uint32_t index; /* in the BPF map `unwind_modules` */
	size_t rows;
	size_t users; /* files that have them */
	char build_id[82];
};

struct row_indices {
	uint32_t *items;
	size_t count, capacity;
};

struct row_sets {
	int map_fd;
	struct hash index; /* hash of build-id and rows -> struct row_set * */
	uint64_t secret;   /* of that hash: nobody can make rows that pass for another file's */
	size_t count, rows;
	uint32_t next_index;
	struct row_indices free_indices;
	struct row_indices stale_indices; /* of rows that are gone here, not yet in the kernel */
	/* Arrays that are filled, but not yet in the map of maps. */
	struct {
		struct row_indices keys;
		VEC(int) fds;
	} pending;
};

/* `map_fd` is the BPF map `unwind_modules`, borrowed. 0 or -errno. */
int row_sets_init(struct row_sets *sets, int map_fd);
void row_sets_free(struct row_sets *sets);

/*
 * The set with the rows of this table, held for the caller. New ones wait for row_sets_load().
 * 0; -ENOENT: there are no rows; -ENOSPC: LM_MAX_MODULES are in use; -ENOMEM; or -errno of the
 * kernel.
 */
int row_sets_hold(struct row_sets *sets, const struct unwind_table *table, const char *build_id,
		  struct row_set **held);
/* Undoes a hold; set may be NULL. What nobody holds is deleted with others, some time later. */
void row_sets_release(struct row_sets *sets, struct row_set *set);

/*
 * Loads new rows: walks can use them as soon as this begins, but it returns later, after an RCU
 * grace period (5 to 30 ms), however many sets there are. 0 or -errno.
 */
int row_sets_load(struct row_sets *sets);

#endif
