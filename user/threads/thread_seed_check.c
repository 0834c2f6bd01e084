// SPDX-License-Identifier: GPL-2.0-or-later
/* What the probes and the lists say of a thread that was put on the books, set right. */
#include <bpf/bpf.h>
#include <stdlib.h>

#include "threads/thread_seeding.h"

/* Looks that may not find a thread listed as it was. */
#define MAX_ABSENCES 4

static int by_handle(const void *left, const void *right)
{
	const struct listed_thread *a = left, *b = right;

	return (a->handle > b->handle) - (a->handle < b->handle);
}

static const struct listed_thread *find_listed(const struct seeding *seeding, uint64_t handle)
{
	const struct listed_thread key = {.handle = handle};

	return bsearch(&key, seeding->listed.list.items, seeding->listed.list.count, sizeof(key),
		       by_handle);
}

/* Its end is still to come; or it came before its tid was on record, and nobody told the books. */
static bool end_is_untold(const struct seeding *seeding, const struct seeded *seeded)
{
	lm_thread_id id;

	return !bpf_map_lookup_elem(seeding->bpf->thread_tids_fd, &seeded->tid, &id) &&
	       id == seeded->id;
}

static void change(const struct seeding *seeding, const struct seeded *seeded, bool dead,
		   bool detached)
{
	struct lm_thread record;

	if (bpf_map_lookup_elem(seeding->bpf->thread_records_fd, &seeded->id, &record) ||
	    (!dead && record.flags & LM_THREAD_DETACHED))
		return;
	if (detached)
		record.flags |= LM_THREAD_DETACHED;
	if (dead)
		record.tid = 0;
	bpf_map_update_elem(seeding->bpf->thread_records_fd, &seeded->id, &record, BPF_EXIST);
}

void seeding_drop(const struct seeding *seeding, struct seeded *seeded)
{
	/* Its pthread_t may be another thread's by now; an entry without a record harms nobody. */
	bpf_map_delete_elem(seeding->bpf->thread_records_fd, &seeded->id);
	if (seeded->tid && end_is_untold(seeding, seeded))
		bpf_map_delete_elem(seeding->bpf->thread_tids_fd, &seeded->tid);
	seeded->dropped = true;
}

/*
 * It is off the list. The probe of its reaping takes it off the books, now or in a moment, unless
 * it had passed before the record was there. true: wait.
 */
static bool drop_if_missed(const struct seeding *seeding, struct seeded *seeded)
{
	struct lm_thread record;

	if (!bpf_map_lookup_elem(seeding->bpf->thread_records_fd, &seeded->id, &record) &&
	    ++seeded->absences < MAX_ABSENCES && !seeding->last)
		return true;
	seeding_drop(seeding, seeded);
	return false;
}

/* It ended before its tid was on record. */
static void note_missed_end(const struct seeding *seeding, struct seeded *seeded)
{
	change(seeding, seeded, true, false);
	bpf_map_delete_elem(seeding->bpf->thread_tids_fd, &seeded->tid);
	seeded->tid = seeded->inner_tid = 0;
}

/* A thread that was alive. true: it is just ending, and must be looked at again. */
static bool check_living(const struct seeding *seeding, struct seeded *seeded,
			 const struct listed_thread *thread)
{
	const struct lm_task *task = thread_tasks_find(&seeding->tasks, seeded->inner_tid);
	bool untold = end_is_untold(seeding, seeded);

	if (thread && thread->tid == seeded->inner_tid) {
		if (thread->detached)
			change(seeding, seeded, false, true);
		return untold && (!task || task->flags & LM_TASK_EXITING);
	}
	if (task && untold && !seeding->last)
		return true;
	if (!thread || thread->tid)
		return drop_if_missed(seeding, seeded);
	if (untold)
		note_missed_end(seeding, seeded);
	return false;
}

bool seeding_check(struct seeding *seeding)
{
	bool again = false;

	if (seeding->listed.list.count)
		qsort(seeding->listed.list.items, seeding->listed.list.count,
		      sizeof(*seeding->listed.list.items), by_handle);
	for (size_t i = 0; i < seeding->seeded.count; i++) {
		struct seeded *seeded = &seeding->seeded.items[i];
		const struct listed_thread *thread = find_listed(seeding, seeded->handle);

		if (seeded->dropped)
			continue;
		if (seeded->tid)
			again |= check_living(seeding, seeded, thread);
		else if (!thread || thread->tid)
			again |= drop_if_missed(seeding, seeded);
	}
	return again;
}
