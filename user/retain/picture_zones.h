/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What the memory of a picture is for: stacks, thread-locals, malloc's own. */
#ifndef LEAKMON_RETAIN_PICTURE_ZONES_H
#define LEAKMON_RETAIN_PICTURE_ZONES_H

#include "retain/picture.h"

/* The threads that stand, their stacks' contents (for naming frames) and zones. 0 or -ENOMEM. */
int zones_add_threads(struct picture *picture, const struct stop *stop, int pagemap);

/* What /proc tells of threads that run: whole stacks, where they are known at all. */
int zones_add_threads_unstopped(struct picture *picture);

/* Unused memory, as options->idle says. 0 or -ENOMEM. */
int zones_add_idle(struct picture *picture, const struct picture_options *options);

/* Adds malloc's own, sorts, and cuts what overlaps. 0 or -ENOMEM. */
int zones_finish(struct picture *picture);

#endif
