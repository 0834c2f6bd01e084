// SPDX-License-Identifier: GPL-2.0-or-later
#include "retain/changes.h"

#include <errno.h>

#include "base/cleanup.h"

/* The same for the same class on every run: names are compared, not where they are kept. */
static uint64_t key_of(const struct block_class *class)
{
	uint64_t name = class->name ? intern_hash(class->name) : 0;
	uint64_t module = class->module ? intern_hash(class->module) : 0;

	return hash_mix(hash_mix(hash_mix(name + (uint64_t) class->kind) ^ module) ^
			hash_mix(class->offset + class->size));
}

int changes_remember(struct class_memory *memory, const struct retain *retain)
{
	changes_free(memory);
	for (size_t i = 0; i < retain->classes.list.count; i++) {
		const struct block_class *class = &retain->classes.list.items[i];
		uint64_t *slot = hash_put(&memory->index, key_of(class), NULL);
		struct block_class *kept = slot ? vec_push(&memory->list) : NULL;

		if (!kept)
			return -ENOMEM;
		*kept = *class;
		/* These do not outlive the run. */
		kept->name = kept->module = NULL;
		*slot = memory->list.count;
	}
	return 0;
}

struct class_change *changes_find(const struct class_memory *memory, const struct retain *retain)
{
	struct class_change *changes = calloc(retain->classes.list.count + 1, sizeof(*changes));

	for (size_t i = 0; changes && i < retain->classes.list.count; i++) {
		const struct block_class *class = &retain->classes.list.items[i];
		const uint64_t *slot = hash_get(&memory->index, key_of(class));
		struct block_class none = {0};
		const struct block_class *before = slot ? &memory->list.items[*slot - 1] : &none;

		changes[i].count = (int64_t)(class->count - before->count);
		changes[i].bytes = (int64_t)(class->bytes - before->bytes);
		if (slot && class->distance > before->distance)
			changes[i].farther = class->distance - before->distance;
	}
	return changes;
}

void changes_free(struct class_memory *memory)
{
	hash_free(&memory->index);
	vec_free(&memory->list);
}
