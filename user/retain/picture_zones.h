/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the memory of a picture is for: stacks, thread-locals, malloc's own. */
#ifndef LEAKMON_RETAIN_PICTURE_ZONES_H
#define LEAKMON_RETAIN_PICTURE_ZONES_H

#include "base/clock.h"
#include "retain/picture.h"

/* Nothing, if it is empty. 0 or -ENOMEM. */
int zones_add(struct picture *picture, enum zone_kind kind, uint64_t start, uint64_t end,
	      size_t thread);

/* The threads that stand, with their zones. 0; -ENOMEM; -ETIMEDOUT. */
int zones_add_threads(struct picture *picture, const struct stop *stop, struct deadline *deadline);

/*
 * Copies the stacks' contents, for naming frames only: without a copy, those of a thread have no
 * names. So it ends when the deadline has passed; *missing gets how many were not copied. 0 or
 * -ENOMEM.
 */
int stacks_copy(struct picture *picture, int pagemap, struct deadline *deadline, size_t *missing);

/* What /proc tells of threads that run: whole stacks, where they are known at all. */
int zones_add_threads_unstopped(struct picture *picture);

/* When it runs again: what the threads are called. */
void zones_name_threads(struct picture *picture);

/* Unused memory, as options->idle says. 0 or -ENOMEM. */
int zones_add_idle(struct picture *picture, const struct picture_options *options);

/* Adds malloc's own, sorts, and cuts what overlaps. 0 or -ENOMEM. */
int zones_finish(struct picture *picture);

#endif
