/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Heap images from begin to end, with a second one if one alone proves nothing. */
#ifndef LEAKMON_RETAIN_DOUBLE_SCAN_H
#define LEAKMON_RETAIN_DOUBLE_SCAN_H

#include "heap/retain/retain.h"

/*
 * Calls retain_begin(), on a new struct, with the process's C library; of `sources`, needs those
 * that read files. Errors as there; *retain is then untouched.
 */
int retain_open(pid_t pid, const struct heap_image_options *options,
		const struct retain_sources *sources, struct retain **retain);

/*
 * Calls retain_finish(). If the process was not stopped, takes a second heap image, which must
 * agree, and replaces the first. If the stop was too short to read everything, a second one must
 * agree, too, and the first stays. Returns 0 or -errno, then *retain is still to be closed.
 */
int retain_confirm(struct retain **retain, const struct heap_image_options *options,
		   const struct retain_sources *sources);

/*
 * Returns whether something is lost, and changed pages were read late. At the stop such a page may
 * have had contents that it had neither before nor after: a thread's stack while it ran a task, a
 * part of a managed heap that was emptied since. The only pointer to a block may have been there.
 */
bool retain_is_blurred(const struct retain *retain);

/*
 * Retracts lost blocks that are not lost in the other scan, with the same size and contents. Both
 * have lost_hashes. Returns 0 or -ENOMEM.
 */
int retain_agree(struct retain *retain, const struct retain *other);

/* Frees it. NULL is allowed. */
void retain_close(struct retain *retain);

#endif
