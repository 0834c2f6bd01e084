/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What changed from one run of `leakmon retain` to the next, class by class. */
#ifndef LEAKMON_RETAIN_CHANGES_H
#define LEAKMON_RETAIN_CHANGES_H

#include "retain/retain.h"

struct class_change {
	int64_t count, bytes;
	/*
	 * How much farther from a root the farthest block is now: a list that only ever gets
	 * longer shows here. 0 where it did not grow.
	 */
	uint32_t farther;
};

/* What is remembered of a run. */
struct class_memory {
	struct hash index; /* of a class -> place in list, plus 1 */
	VEC(struct block_class) list;
};

/* Replaces what was remembered. 0 or -ENOMEM. */
int changes_remember(struct class_memory *memory, const struct retain *retain);

/* Changes of retain->classes since then, in its order: an array that the caller frees, or NULL. */
struct class_change *changes_find(const struct class_memory *memory, const struct retain *retain);
void changes_free(struct class_memory *memory);

#endif
