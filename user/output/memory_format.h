/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `leakmon memory` in each format; the contract of writers is in output.h. */
#ifndef LEAKMON_OUTPUT_MEMORY_FORMAT_H
#define LEAKMON_OUTPUT_MEMORY_FORMAT_H

#include <stdio.h>

#include "memory/memory_parts.h"

int memory_text_write(FILE *out, const struct memory_report *report);
int memory_json_write(FILE *out, const struct memory_report *report);

#endif
