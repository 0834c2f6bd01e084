/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How every format ends. */
#ifndef LEAKMON_OUTPUT_FINISH_H
#define LEAKMON_OUTPUT_FINISH_H

#include <stdio.h>

/*
 * Flushes. 0, or -errno (-ENOSPC, -EDQUOT, -EFBIG, -EPIPE, ...) when writing failed; -EIO also: an
 * earlier write to the stream did, and now it would not.
 */
int output_finish(FILE *out);

#define OUTPUT_EXPLANATION_SIZE 160

/* What `error` (-errno) of writing means, and what to do about it, for a message. Returns text. */
const char *output_explain(int error, char text[OUTPUT_EXPLANATION_SIZE]);

#endif
