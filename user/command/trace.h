/* SPDX-License-Identifier: GPL-2.0-or-later */
/* --trace: one line per call of an allocator. */
#ifndef LEAKMON_COMMAND_TRACE_H
#define LEAKMON_COMMAND_TRACE_H

#include <stdint.h>
#include <stdio.h>

#include "leakmon_abi.h"

void trace_print(FILE *out, const struct lm_event *event);
/* That calls are missing here. */
void trace_print_lost(FILE *out, uint64_t calls);

#endif
