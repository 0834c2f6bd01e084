// SPDX-License-Identifier: GPL-2.0-or-later
#include "process/unwind/row_sets.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/cleanup.h"

/* Fills the page index: each entry is the cell of the last row at or below the page's start. */
static void index_pages(const struct unwind_table *table, struct lm_unwind_row *cells,
			uint32_t pages)
{
	uint32_t first_row = pages + 2;
	size_t row = 0;

	cells[0].pc = pages;
	for (uint32_t page = 0; page <= pages; page++) {
		uint64_t start = (uint64_t)page << LM_UNWIND_PAGE_SHIFT;

		while (row + 1 < table->count && table->rows[row + 1].pc <= start)
			row++;
		cells[1 + page].pc = first_row + (uint32_t)row;
	}
	/* After the last page: its rows end with the table. */
	cells[1 + pages].pc = first_row + (uint32_t)table->count - 1;
}

int unwind_cells_build(const struct unwind_table *table, struct unwind_cells *cells)
{
	struct lm_unwind_row *items;
	uint32_t pages;
	size_t count;

	if (!table->count)
		return -ENOENT;
	pages = (table->rows[table->count - 1].pc >> LM_UNWIND_PAGE_SHIFT) + 1;
	count = 2 + (size_t)pages + table->count;
	items = calloc(count, sizeof(*items));
	if (!items)
		return -ENOMEM;
	index_pages(table, items, pages);
	memcpy(items + 2 + pages, table->rows, table->count * sizeof(*items));
	*cells = (struct unwind_cells){.items = items, .count = (uint32_t)count};
	return 0;
}

void unwind_cells_free(struct unwind_cells *cells)
{
	free(cells->items);
	*cells = (struct unwind_cells){0};
}

/* For mappings that a running process adds: libraries it opens, code it compiles. */
#define SPARE_RANGES 16

static int write_cells(int fd, const void *items, uint32_t first, uint32_t count)
{
	_cleanup_free_ uint32_t *keys = calloc(count + 1, sizeof(*keys));
	uint32_t done = count;

	if (!keys)
		return -ENOMEM;
	for (uint32_t i = 0; i < count; i++)
		keys[i] = first + i;
	return count && bpf_map_update_batch(fd, keys, items, &done, NULL) ? -errno : 0;
}

/* Makes a new array of `count` items, whose first `filled` are set. Returns its fd, or -errno. */
static int row_array_new(const void *items, uint32_t filled, uint32_t count, uint32_t item_size)
{
	/* include/uapi/linux/bpf.h: inner arrays may differ in size. */
	LIBBPF_OPTS(bpf_map_create_opts, create, .map_flags = BPF_F_INNER_MAP);
	_cleanup_close_ int fd = bpf_map_create(BPF_MAP_TYPE_ARRAY, "unwind", sizeof(uint32_t),
						item_size, count, &create);
	int error;

	if (fd < 0)
		return -errno;
	error = write_cells(fd, items, 0, filled);
	return error ? error : TAKE_FD(fd);
}

static int announce(const struct range_array *array, uint32_t first, uint32_t count)
{
	struct lm_range header = {.start = LM_RANGES_AT(first, count)};
	uint32_t key = 0;

	return bpf_map_update_elem(array->fd, &key, &header, BPF_ANY) ? -errno : 0;
}

static int write_beside(struct range_array *array, const struct lm_range *ranges, uint32_t count)
{
	uint32_t first = array->first == 1 ? 1 + array->room : 1;
	int error = write_cells(array->fd, ranges, first, count);

	if (!error)
		error = announce(array, first, count);
	if (!error)
		array->first = first;
	return error;
}

int range_array_write(struct range_array *array, const struct lm_range *ranges, uint32_t count,
		      bool *fresh)
{
	struct range_array grown = {.fd = -1, .first = 1, .room = count + SPARE_RANGES};
	struct lm_range none = {0};
	int error;

	*fresh = false;
	if (array->fd >= 0 && count <= array->room)
		return write_beside(array, ranges, count);
	grown.fd = row_array_new(&none, 1, 1 + 2 * grown.room, sizeof(none));
	if (grown.fd < 0)
		return grown.fd;
	error = write_cells(grown.fd, ranges, 1, count);
	if (!error)
		error = announce(&grown, 1, count);
	if (error) {
		range_array_close(&grown);
		return error;
	}
	range_array_close(array);
	*array = grown;
	*fresh = true;
	return 0;
}

void range_array_close(struct range_array *array)
{
	cleanup_close(&array->fd);
	array->fd = -1;
}

/* Freed rows are deleted in batches of this size: each batch costs an RCU grace period. */
#define MAX_STALE 32

int row_sets_init(struct row_sets *sets, int map_fd)
{
	*sets = (struct row_sets){.map_fd = map_fd};
	return getrandom(&sets->secret, sizeof(sets->secret), 0) < 0 ? -errno : 0;
}

static void pending_drop(struct row_sets *sets)
{
	for (size_t i = 0; i < sets->pending.fds.count; i++)
		close(sets->pending.fds.items[i]);
	sets->pending.fds.count = 0;
	sets->pending.keys.count = 0;
}

static int pending_add(struct row_sets *sets, uint32_t key, int fd)
{
	uint32_t *new_key = vec_push(&sets->pending.keys);
	int *new_fd = new_key ? vec_push(&sets->pending.fds) : NULL;

	if (!new_fd) {
		sets->pending.keys.count = sets->pending.fds.count;
		close(fd);
		return -ENOMEM;
	}
	*new_key = key;
	*new_fd = fd;
	return 0;
}

static void index_push(struct row_indices *indices, uint32_t index)
{
	uint32_t *place = vec_push(indices);

	if (place)
		*place = index;
}

/* An index that was never loaded ends a batch. */
static void delete_one_by_one(struct row_sets *sets)
{
	for (size_t i = 0; i < sets->stale_indices.count; i++)
		bpf_map_delete_elem(sets->map_fd, &sets->stale_indices.items[i]);
}

static void delete_stale(struct row_sets *sets)
{
	uint32_t count = (uint32_t)sets->stale_indices.count;

	if (count && bpf_map_delete_batch(sets->map_fd, sets->stale_indices.items, &count, NULL))
		delete_one_by_one(sets);
	for (size_t i = 0; i < sets->stale_indices.count; i++)
		index_push(&sets->free_indices, sets->stale_indices.items[i]);
	sets->stale_indices.count = 0;
}

int row_sets_load(struct row_sets *sets)
{
	uint32_t count = (uint32_t)sets->pending.fds.count;
	int error = 0;

	if (count && bpf_map_update_batch(sets->map_fd, sets->pending.keys.items,
					  sets->pending.fds.items, &count, NULL))
		error = -errno;
	pending_drop(sets);
	if (sets->stale_indices.count > MAX_STALE)
		delete_stale(sets);
	return error;
}

/* A stale index would lead walks to another file's rows until the new ones are loaded. */
static int take_index(struct row_sets *sets, uint32_t *index)
{
	if (!sets->free_indices.count && sets->next_index == LM_MAX_MODULES) {
		row_sets_load(sets); /* a stale one may be among the pending */
		delete_stale(sets);
	}
	if (sets->free_indices.count)
		*index = sets->free_indices.items[--sets->free_indices.count];
	else if (sets->next_index < LM_MAX_MODULES)
		*index = sets->next_index++;
	else
		return -ENOSPC;
	return 0;
}

static uint64_t set_key(const struct row_sets *sets, const struct unwind_cells *cells,
			const char *build_id)
{
	uint64_t key = sets->secret, word;

	for (size_t i = 0; i < cells->count; i++) {
		memcpy(&word, &cells->items[i], sizeof(word));
		key = hash_mix(key ^ word) + sets->secret;
	}
	for (; *build_id; build_id++)
		key = hash_mix(key ^ (unsigned char)*build_id) + sets->secret;
	return key;
}

static int load_set(struct row_sets *sets, struct row_set *set, const struct unwind_cells *cells)
{
	int error = take_index(sets, &set->index), fd;
	uint64_t *slot;

	if (error)
		return error;
	fd = row_array_new(cells->items, (uint32_t)cells->count, (uint32_t)cells->count,
			   sizeof(*cells->items));
	error = fd < 0 ? fd : pending_add(sets, set->index, fd);
	slot = error ? NULL : hash_put(&sets->index, set->key, NULL);
	if (!slot) {
		index_push(&sets->stale_indices, set->index);
		return error ? error : -ENOMEM;
	}
	*slot = (uintptr_t)set;
	sets->count++;
	sets->rows += set->rows;
	return 0;
}

static int add(struct row_sets *sets, const struct row_set *described,
	       const struct unwind_cells *cells, struct row_set **added)
{
	struct row_set *set = calloc(1, sizeof(*set));
	int error;

	if (!set)
		return -ENOMEM;
	*set = *described;
	error = load_set(sets, set, cells);
	if (error)
		free(set);
	else
		*added = set;
	return error;
}

static struct row_set *find(const struct row_sets *sets, struct row_set *described)
{
	const uint64_t *slot;

	/* Sets of equal hash take the next keys in turn. */
	for (; (slot = hash_get(&sets->index, described->key)); described->key++) {
		struct row_set *set = (struct row_set *)(uintptr_t)*slot;

		if (set->rows == described->rows && !strcmp(set->build_id, described->build_id))
			return set;
	}
	return NULL;
}

int row_sets_hold(struct row_sets *sets, const struct unwind_table *table, const char *build_id,
		  struct row_set **held)
{
	_cleanup_(unwind_cells_free) struct unwind_cells cells = {0};
	struct row_set described = {.rows = table->count}, *set;
	int error = unwind_cells_build(table, &cells);

	if (error)
		return error;
	memcpy(described.build_id, build_id, strnlen(build_id, sizeof(described.build_id) - 1));
	described.key = set_key(sets, &cells, build_id);
	set = find(sets, &described);
	if (!set)
		error = add(sets, &described, &cells, &set);
	if (error)
		return error;
	set->users++;
	*held = set;
	return 0;
}

void row_sets_release(struct row_sets *sets, struct row_set *set)
{
	if (!set || --set->users)
		return;
	index_push(&sets->stale_indices, set->index);
	hash_remove(&sets->index, set->key);
	sets->count--;
	sets->rows -= set->rows;
	free(set);
}

void row_sets_free(struct row_sets *sets)
{
	pending_drop(sets);
	vec_free(&sets->pending.keys);
	vec_free(&sets->pending.fds);
	vec_free(&sets->free_indices);
	vec_free(&sets->stale_indices);
	hash_free(&sets->index);
}
