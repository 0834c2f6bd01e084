/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How every format ends. */
#ifndef LEAKMON_OUTPUT_FINISH_H
#define LEAKMON_OUTPUT_FINISH_H

#include <stdio.h>

/* Flushes. 0, or -EIO when anything written to the stream so far failed. */
int output_finish(FILE *out);

#endif
