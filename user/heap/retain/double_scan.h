/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures from begin to end, with the second one where one alone proves nothing. */
#ifndef LEAKMON_RETAIN_DOUBLE_SCAN_H
#define LEAKMON_RETAIN_DOUBLE_SCAN_H

#include "heap/retain/retain.h"

/*
 * retain_begin(), on the heap, with the C library that the process uses: of `sources`, what reads
 * files. Errors as there; *retain is untouched then.
 */
int retain_open(pid_t pid, const struct heap_image_options *options,
		const struct retain_sources *sources, struct retain **retain);

/*
 * retain_finish(). If the process was not stopped, a second heap image is taken that must agree,
 * and replaces the first. If there was no time at the stop to look at all of it, a second one must
 * agree, too, and the first stays. 0 or -errno, then *retain is still to be closed.
 */
int retain_confirm(struct retain **retain, const struct heap_image_options *options,
		   const struct retain_sources *sources);

/*
 * Whether something is lost, and pages were read late that had changed. At the stop such a page may
 * have had what it had neither before nor after: a thread's stack while it ran a task, a part of a
 * managed heap that was emptied since. The only pointer to a block may have stood there.
 */
bool retain_is_blurred(const struct retain *retain);

/*
 * Blocks that are not lost in the other scan too, with the same size and contents, are taken back.
 * Both have lost_hashes. 0 or -ENOMEM.
 */
int retain_agree(struct retain *retain, const struct retain *other);

/* NULL is allowed. */
void retain_close(struct retain *retain);

#endif
