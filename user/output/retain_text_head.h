/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The first lines of a retain report: of whom, how it was seen, how sure that is. */
#ifndef LEAKMON_OUTPUT_RETAIN_TEXT_HEAD_H
#define LEAKMON_OUTPUT_RETAIN_TEXT_HEAD_H

#include <stdio.h>

#include "retain/result.h"

void retain_text_head_write(FILE *out, const struct retain_result *result);

#endif
