// SPDX-License-Identifier: GPL-2.0-or-later
/* Dead threads of two snapshots, matched by program, creating stack and what they ran. */
#include <errno.h>

#include "analyze/diff.h"
#include "base/cleanup.h"
#include "symbol/intern.h"

static uint64_t key_of(const struct snapshot_process *process, const struct report_dead *dead)
{
	const struct frame *start = dead->start.list.count ? dead->start.list.items : NULL;
	uint64_t ran = start ? hash_mix(start->module_offset +
					(start->module ? intern_hash(start->module) : 0))
			     : 0;

	return hash_mix(hash_mix(intern_hash(process->comm) ^ dead->id) ^ ran);
}

static struct diff_dead *row_of(struct diff *diff, struct hash *index,
				const struct snapshot_process *process,
				const struct report_dead *dead)
{
	uint64_t *slot = hash_put(index, key_of(process, dead), NULL);
	struct diff_dead *row;

	if (!slot)
		return NULL;
	if (*slot)
		return &diff->dead.items[*slot - 1];
	row = vec_push(&diff->dead);
	if (!row)
		return NULL;
	*slot = diff->dead.count;
	return row;
}

static int add_side(struct diff *diff, struct hash *index, const struct report *report, bool after)
{
	struct diff_amount *total = after ? &diff->dead_after : &diff->dead_before;

	for (size_t i = 0; i < report->processes.count; i++) {
		const struct report_process *process = &report->processes.items[i];

		for (size_t j = 0; j < process->dead.count; j++) {
			const struct report_dead *dead = &process->dead.items[j];
			struct diff_dead *row = row_of(diff, index, process->process, dead);
			struct diff_amount *amount;

			if (!row)
				return -ENOMEM;
			amount = after ? &row->after : &row->before;
			row->comm = process->process->comm;
			row->dead = dead;
			amount->count += dead->group->count;
			amount->bytes += dead->group->stack_bytes;
			total->count += dead->group->count;
			total->bytes += dead->group->stack_bytes;
		}
	}
	return 0;
}

static int compare(const void *left, const void *right)
{
	const struct diff_dead *a = left, *b = right;
	int64_t one = (int64_t)(a->after.count - a->before.count);
	int64_t other = (int64_t)(b->after.count - b->before.count);

	if (one != other)
		return one > other ? -1 : 1;
	if (a->after.count != b->after.count)
		return a->after.count > b->after.count ? -1 : 1;
	return (a->dead->id > b->dead->id) - (a->dead->id < b->dead->id);
}

int diff_dead_build(struct diff *diff)
{
	_cleanup_(hash_free) struct hash index = {0};
	int error = add_side(diff, &index, diff->before, false);

	if (!error)
		error = add_side(diff, &index, diff->after, true);
	for (size_t i = 0; i < diff->dead.count; i++)
		diff->dead.items[i].state =
			diff_state_of(&diff->dead.items[i].before, &diff->dead.items[i].after);
	if (diff->dead.count)
		qsort(diff->dead.items, diff->dead.count, sizeof(*diff->dead.items), compare);
	return error;
}
