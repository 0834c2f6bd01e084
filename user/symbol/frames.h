/* SPDX-License-Identifier: GPL-2.0-or-later */
/* From one named address to lines of a stack. */
#ifndef LEAKMON_SYMBOL_FRAMES_H
#define LEAKMON_SYMBOL_FRAMES_H

#include "symbol/module_lines.h"
#include "symbol/symbolizer.h"

/*
 * Appends the frame, and before it what was inlined at its address, innermost first, each as a
 * frame of its own without an offset. `source` may be NULL: no lines. 0 or -ENOMEM.
 */
int frames_append(struct frames *frames, const struct frame *frame,
		  const struct source_lines *source);

#endif
