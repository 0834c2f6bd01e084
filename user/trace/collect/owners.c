// SPDX-License-Identifier: GPL-2.0-or-later
#include "trace/collect/owners.h"

#include <errno.h>

static uint64_t owner_key(lm_process_key process, uint32_t tid)
{
	return hash_mix(process) ^ tid;
}

static int by_thread(const void *left, const void *right)
{
	const struct owner *a = left, *b = right;

	if (a->process != b->process)
		return a->process < b->process ? -1 : 1;
	if (a->tid != b->tid)
		return a->tid < b->tid ? -1 : 1;
	return (a->born_ns > b->born_ns) - (a->born_ns < b->born_ns);
}

int owners_index(struct owners *owners)
{
	if (owners->list.count)
		qsort(owners->list.items, owners->list.count, sizeof(*owners->list.items),
		      by_thread);
	for (size_t i = 0; i < owners->list.count; i++) {
		const struct owner *owner = &owners->list.items[i];
		uint64_t *last =
			hash_put(&owners->last, owner_key(owner->process, owner->tid), NULL);

		if (!last)
			return -ENOMEM;
		*last = i;
	}
	return 0;
}

void owners_free(struct owners *owners)
{
	vec_free(&owners->list);
	hash_free(&owners->last);
}

struct owner *owners_find(const struct owners *owners, lm_process_key process, uint32_t tid,
			  uint64_t at_ns)
{
	const uint64_t *last = hash_get(&owners->last, owner_key(process, tid));

	if (!last)
		return NULL;
	for (size_t i = *last + 1; i-- > 0;) {
		struct owner *owner = &owners->list.items[i];

		if (owner->process != process || owner->tid != tid)
			return NULL;
		if (owner->born_ns <= at_ns)
			return at_ns <= owner->died_ns ? owner : NULL;
	}
	return NULL;
}
