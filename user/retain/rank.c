// SPDX-License-Identifier: GPL-2.0-or-later
/* Roots and classes, the greatest first. */
#include <errno.h>

#include "base/cleanup.h"
#include "retain/retain.h"

static int push_number(struct ranking *ranking, uint32_t number)
{
	uint32_t *slot = vec_push(&ranking->list);

	if (!slot)
		return -ENOMEM;
	*slot = number;
	return 0;
}

/* By what they lead to; then by what they alone hold. */
static int compare_roots(const void *left_pointer, const void *right_pointer, void *context)
{
	const struct retention *retention = context;
	uint32_t left = *(const uint32_t *)left_pointer, right = *(const uint32_t *)right_pointer;

	if (retention->led[left].bytes != retention->led[right].bytes)
		return retention->led[left].bytes > retention->led[right].bytes ? -1 : 1;
	if (retention->retained[left] != retention->retained[right])
		return retention->retained[left] > retention->retained[right] ? -1 : 1;
	return left < right ? -1 : left > right;
}

static int compare_classes(const void *left_pointer, const void *right_pointer, void *context)
{
	const struct classes *classes = context;
	uint32_t left = *(const uint32_t *)left_pointer, right = *(const uint32_t *)right_pointer;

	if (classes->list.items[left].bytes != classes->list.items[right].bytes)
		return classes->list.items[left].bytes > classes->list.items[right].bytes ? -1 : 1;
	return left < right ? -1 : left > right;
}

int retain_rank(struct retain *retain)
{
	uint32_t groups = retain->retention.strong + retain->retention.weak;
	int err = 0;

	for (uint32_t i = 0; !err && i < groups; i++) {
		/* A root whose blocks others lead to, too, may have nothing of its own. */
		if (retain->retention.led[i].blocks)
			err = push_number(&retain->ranked_roots, i);
	}
	for (uint32_t i = 0; !err && i < retain->classes.list.count; i++)
		err = push_number(&retain->ranked_classes, i);
	if (err)
		return err;
	if (retain->ranked_roots.list.count)
		qsort_r(retain->ranked_roots.list.items, retain->ranked_roots.list.count,
			sizeof(uint32_t), compare_roots, &retain->retention);
	if (retain->ranked_classes.list.count)
		qsort_r(retain->ranked_classes.list.items, retain->ranked_classes.list.count,
			sizeof(uint32_t), compare_classes, &retain->classes);
	return 0;
}
