/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * In which container each process of a snapshot runs. A process that has ended can no longer be
 * asked: what the snapshot before said of it still holds. Internal to collect/.
 */
#ifndef LEAKMON_COLLECT_PLACE_H
#define LEAKMON_COLLECT_PLACE_H

#include "collect/snapshot.h"
#include "proc/container.h"

/* Where the processes of the latest snapshot were. */
struct places {
	VEC(struct place {
		lm_process_key key;
		struct container *container; /* owned */
	})
	list;
};

/*
 * Fills snapshot_process.container, and remembers it. Without memory, containers are left out:
 * the numbers do not depend on them.
 */
void places_fill(struct places *places, struct container_cache *containers,
		 struct snapshot *snapshot);
void places_free(struct places *places);

#endif
