/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The formats, in the order of the help: each has a file or a folder that defines output_NAME. */
#ifndef LEAKMON_OUTPUT_FORMATS_H
#define LEAKMON_OUTPUT_FORMATS_H

#include "output/output.h"

#define OUTPUT_FORMATS(X) X(text) X(json) X(folded) X(pprof) X(prom) X(html) X(junit)

#define OUTPUT_FORMAT_DECLARE(name) extern const struct output_format output_##name;
OUTPUT_FORMATS(OUTPUT_FORMAT_DECLARE)
#define OUTPUT_FORMAT_ROW(name) &output_##name,

#endif
