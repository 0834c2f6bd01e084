/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Pieces of folded stacks. */
#ifndef LEAKMON_OUTPUT_FOLDED_PARTS_H
#define LEAKMON_OUTPUT_FOLDED_PARTS_H

#include <stdio.h>

#include "symbol/symbolizer.h"

/* A name with nothing in it that would end the frame or the line; ";" and a frame. */
void output_folded_name_write(FILE *out, const char *name);
void output_folded_frame_write(FILE *out, const struct frame *frame);

#endif
