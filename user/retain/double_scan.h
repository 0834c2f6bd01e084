/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pictures from begin to end, with the second one where one alone proves nothing. */
#ifndef LEAKMON_RETAIN_DOUBLE_SCAN_H
#define LEAKMON_RETAIN_DOUBLE_SCAN_H

#include "retain/retain.h"

/*
 * retain_begin(), on the heap, with the C library that the process uses: of `sources`, what reads
 * files. Errors as there; *retain is untouched then.
 */
int retain_open(pid_t pid, const struct heap_image_options *options,
		const struct retain_sources *sources, struct retain **retain);

/*
 * retain_finish(). If the process was not stopped, a second heap image is taken that must agree,
 * and replaces the first. 0 or -errno, then *retain is still to be closed.
 */
int retain_confirm(struct retain **retain, const struct heap_image_options *options,
		   const struct retain_sources *sources);

/* NULL is allowed. */
void retain_close(struct retain *retain);

#endif
