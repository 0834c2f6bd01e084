// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/marked.h"

#include <errno.h>

#include "base/cleanup.h"
#include "base/clock.h"

#define MAX_MARKED 1024
#define FIRST_PAUSE_NS 60000000000ull
#define MAX_DOUBLINGS 10

static struct marked_file *find(const struct marked_files *marked,
				const struct file_identity *identity, uint32_t kind)
{
	for (size_t i = 0; i < marked->list.count; i++) {
		struct marked_file *file = &marked->list.items[i];

		if (file->kind == kind && file_identity_equal(&file->identity, identity))
			return file;
	}
	return NULL;
}

int marked_find(const struct marked_files *marked, const struct file_identity *identity,
		uint32_t kind)
{
	const struct marked_file *file = find(marked, identity, kind);

	return file && monotonic_ns() < file->until_ns ? file->error : 0;
}

static uint64_t next_try(const struct marked_file *file)
{
	if (file->error != -ETIMEDOUT)
		return UINT64_MAX;
	return monotonic_ns() + (FIRST_PAUSE_NS << MIN(file->times - 1, MAX_DOUBLINGS));
}

void marked_add(struct marked_files *marked, const struct marked_file *file)
{
	struct marked_file *place = find(marked, &file->identity, file->kind);
	unsigned times = place ? place->times : 0;

	if (!place && marked->list.count == MAX_MARKED) {
		marked->list.count--;
		memmove(marked->list.items, marked->list.items + 1,
			marked->list.count * sizeof(*marked->list.items));
	}
	if (!place)
		place = vec_push(&marked->list);
	if (!place)
		return;
	*place = *file;
	place->times = times + 1;
	place->until_ns = next_try(place);
}
