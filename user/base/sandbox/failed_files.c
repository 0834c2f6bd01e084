// SPDX-License-Identifier: GPL-2.0-or-later
#include "base/sandbox/failed_files.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define FAILED_FILES_MAX 1024
#define FIRST_PAUSE_NS 60000000000ull
#define MAX_DOUBLINGS 10

static struct failed_file *find(const struct failed_files *failed,
				const struct file_identity *identity, uint32_t kind)
{
	for (size_t i = 0; i < failed->list.count; i++) {
		struct failed_file *file = &failed->list.items[i];

		if (file->kind == kind && file_identity_equal(&file->identity, identity))
			return file;
	}
	return NULL;
}

int failed_files_find(const struct failed_files *failed, const struct file_identity *identity,
		      uint32_t kind)
{
	const struct failed_file *file = find(failed, identity, kind);

	return file && monotonic_ns() < file->until_ns ? file->error : 0;
}

static uint64_t next_try(const struct failed_file *file)
{
	if (file->error != -ETIMEDOUT)
		return UINT64_MAX;
	return monotonic_ns() + (FIRST_PAUSE_NS << MIN(file->times - 1, MAX_DOUBLINGS));
}

void failed_files_add(struct failed_files *failed, const struct failed_file *file)
{
	struct failed_file *place = find(failed, &file->identity, file->kind);
	unsigned times = place ? place->times : 0;

	if (!place && failed->list.count == FAILED_FILES_MAX) {
		failed->list.count--;
		memmove(failed->list.items, failed->list.items + 1,
			failed->list.count * sizeof(*failed->list.items));
	}
	if (!place)
		place = vec_push(&failed->list);
	if (!place)
		return;
	*place = *file;
	place->times = times + 1;
	place->until_ns = next_try(place);
}
