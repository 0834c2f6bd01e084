// SPDX-License-Identifier: GPL-2.0-or-later
#include "sandbox/marked.h"

#define MAX_MARKED 1024

int marked_find(const struct marked_files *marked, const struct file_identity *identity,
		uint32_t kind)
{
	for (size_t i = 0; i < marked->list.count; i++) {
		const struct marked_file *file = &marked->list.items[i];

		if (file->kind == kind && file_identity_equal(&file->identity, identity))
			return file->error;
	}
	return 0;
}

void marked_add(struct marked_files *marked, const struct marked_file *file)
{
	struct marked_file *place;

	if (marked->list.count == MAX_MARKED) {
		marked->list.count--;
		memmove(marked->list.items, marked->list.items + 1,
			marked->list.count * sizeof(*marked->list.items));
	}
	place = vec_push(&marked->list);
	if (place)
		*place = *file;
}
