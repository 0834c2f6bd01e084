// SPDX-License-Identifier: GPL-2.0-or-later
#include "unwind/row_array.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"

/* A process maps more while it runs: libraries that it opens, code that it compiles. */
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

int row_array_new(const void *items, uint32_t filled, uint32_t count, uint32_t item_size)
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
