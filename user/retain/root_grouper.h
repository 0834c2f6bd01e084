/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the parts of root_groups.c share. */
#ifndef LEAKMON_RETAIN_ROOT_GROUPER_H
#define LEAKMON_RETAIN_ROOT_GROUPER_H

#include "retain/root_groups.h"

/* root_word.thread of what the kernel holds: its address is the place in kernel_held. */
#define KERNEL_WORD UINT32_MAX
/* Of a word: its memory is not known, so what leads there must be found first. */
#define GROUP_LATER UINT32_MAX
/* Of a word that is left over in memory that is free: it is none after all. */
#define GROUP_NONE (UINT32_MAX - 1)

struct grouper {
	const struct root_sources *sources;
	struct intern *intern;
	struct heap_graph *graph;
	struct root_groups *groups;
	struct hash index; /* of a key -> place in groups, plus 1 */
};

uint64_t root_key(enum root_kind kind, uint64_t one, uint64_t other);

/* The group of a key; filled from `fresh` when it is the first of it. 0 or -ENOMEM. */
int root_join(struct grouper *grouper, uint64_t key, const struct root_group *fresh,
	      uint32_t *number);

/* The group that a word belongs to, or GROUP_LATER. 0 or -ENOMEM. */
int root_join_word(struct grouper *grouper, uint64_t address, uint32_t thread, uint32_t *number);

/* Groups the words that were left for later. 0 or -ENOMEM. */
int root_join_untracked(struct grouper *grouper);

#endif
