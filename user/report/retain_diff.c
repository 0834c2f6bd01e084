// SPDX-License-Identifier: GPL-2.0-or-later
#include "report/retain_diff.h"

#include <errno.h>

#include "base/cleanup.h"

#define CHAIN_STEPS_MIN 50

/* The compared properties of a class or a root. */
struct subject {
	uint64_t id;
	struct retention_total total;
	uint32_t place, distance;
};

static struct subject class_subject(const struct retain_result *result, size_t i)
{
	const struct retained_class *class = &result->classes.items[i];

	return (struct subject){class->id, retained_class_live(class), (uint32_t)i,
				class->distance};
}

static struct subject root_subject(const struct retain_result *result, size_t i)
{
	const struct retained_root *root = &result->roots.items[i];

	return (struct subject){root->id, root->retained, (uint32_t)i, 0};
}

static struct retained_change *change_of(struct retained_changes *changes, struct hash *index,
					 uint64_t id)
{
	uint64_t *slot = hash_put(index, id, NULL);
	struct retained_change *change;

	if (!slot)
		return NULL;
	if (!*slot) {
		change = vec_push(&changes->list);
		if (!change)
			return NULL;
		change->before = change->after = RESULT_NONE;
		*slot = changes->list.count;
	}
	return &changes->list.items[*slot - 1];
}

static int add_side(struct retained_changes *changes, struct hash *index,
		    const struct subject *subject, bool after)
{
	struct retained_change *change = change_of(changes, index, subject->id);
	struct retention_total *total;
	uint32_t *place;

	if (!change)
		return -ENOMEM;
	total = after ? &change->is : &change->was;
	place = after ? &change->after : &change->before;
	total->blocks += subject->total.blocks;
	total->bytes += subject->total.bytes;
	if (*place == RESULT_NONE)
		*place = subject->place;
	return 0;
}

bool retained_change_lengthens(const struct retained_change *change)
{
	return change->farther && change_blocks(change) >= change->farther;
}

bool retained_change_is_chain(const struct retained_change *change)
{
	return retained_change_lengthens(change) && change->farther >= CHAIN_STEPS_MIN &&
	       change_blocks(change) <= 2 * (int64_t)change->farther;
}

static int compare(const void *left_pointer, const void *right_pointer)
{
	const struct retained_change *left = left_pointer, *right = right_pointer;

	if (change_bytes(left) != change_bytes(right))
		return change_bytes(left) > change_bytes(right) ? -1 : 1;
	if (left->is.bytes != right->is.bytes)
		return left->is.bytes > right->is.bytes ? -1 : 1;
	if (left->after != right->after)
		return left->after < right->after ? -1 : 1;
	return left->before < right->before ? -1 : left->before > right->before;
}

static int compare_all(const struct retain_result *result, size_t count, bool after,
		       struct subject (*subject_of)(const struct retain_result *, size_t),
		       struct hash *index, struct retained_changes *changes)
{
	int error = 0;

	for (size_t i = 0; !error && i < count; i++) {
		struct subject subject = subject_of(result, i);

		error = add_side(changes, index, &subject, after);
	}
	return error;
}

static int build_classes(struct retain_diff *diff)
{
	_cleanup_(hash_free) struct hash index = {0};
	struct retained_changes *changes = &diff->classes;
	int error = compare_all(diff->before, diff->before->classes.count, false, class_subject,
				&index, changes);

	if (!error)
		error = compare_all(diff->after, diff->after->classes.count, true, class_subject,
				    &index, changes);
	for (size_t i = 0; !error && i < changes->list.count; i++) {
		struct retained_change *change = &changes->list.items[i];
		uint32_t was, is;

		if (change->before == RESULT_NONE || change->after == RESULT_NONE)
			continue;
		was = diff->before->classes.items[change->before].distance;
		is = diff->after->classes.items[change->after].distance;
		change->farther = is > was ? is - was : 0;
	}
	return error;
}

static int build_roots(struct retain_diff *diff)
{
	_cleanup_(hash_free) struct hash index = {0};
	int error = compare_all(diff->before, diff->before->roots.count, false, root_subject,
				&index, &diff->roots);

	return error ? error
		     : compare_all(diff->after, diff->after->roots.count, true, root_subject,
				   &index, &diff->roots);
}

static void rank(struct retained_changes *changes)
{
	if (changes->list.count)
		qsort(changes->list.items, changes->list.count, sizeof(*changes->list.items),
		      compare);
}

static int index_classes(struct retain_diff *diff)
{
	size_t bytes = (diff->after->classes.count + 1) * sizeof(*diff->of_classes);

	diff->of_classes = malloc(bytes);
	if (!diff->of_classes)
		return -ENOMEM;
	memset(diff->of_classes, 0xff, bytes);
	for (size_t i = 0; i < diff->classes.list.count; i++) {
		uint32_t place = diff->classes.list.items[i].after;

		if (place != RESULT_NONE)
			diff->of_classes[place] = (uint32_t)i;
	}
	return 0;
}

int retain_diff_build(const struct retain_result *before, const struct retain_result *after,
		      struct retain_diff *diff)
{
	struct retain_diff made = {.before = before, .after = after};
	int error = build_classes(&made);

	if (!error)
		error = build_roots(&made);
	rank(&made.classes);
	rank(&made.roots);
	if (!error)
		error = index_classes(&made);
	if (error)
		retain_diff_free(&made);
	else
		*diff = made;
	return error;
}

void retain_diff_free(struct retain_diff *diff)
{
	vec_free(&diff->classes.list);
	vec_free(&diff->roots.list);
	free(diff->of_classes);
	*diff = (struct retain_diff){0};
}

enum diff_state retained_change_state(const struct retained_change *change)
{
	return diff_state_of(&(struct diff_amount){change->was.bytes, change->was.blocks},
			     &(struct diff_amount){change->is.bytes, change->is.blocks});
}

bool retained_change_is_news(const struct retained_change *change)
{
	return (change->was.blocks || change->is.blocks) &&
	       retained_change_state(change) != DIFF_SAME;
}
