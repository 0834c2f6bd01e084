/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The tables in the file of truth.h, as the preloaded library fills them: any thread, any time. */
#ifndef LEAKMON_TRUTH_RECORDER_H
#define LEAKMON_TRUTH_RECORDER_H

#include <stdbool.h>
#include <stddef.h>

#include "truth.h"

/* Does nothing where LEAKMON_TRUTH is not set; ends the process where its file cannot be had. */
void recorder_open(void);

/* Returns whether recorded memory must never be freed. */
bool recorder_keeps(void);

/* Records the block under the stack of this library's caller, if the sampler takes it. */
void recorder_add(void *block, size_t size);

/* The block's entry, with address 0 if it has none; takes it off the ledger unless it is kept. */
struct truth_block recorder_take(const void *block);

#endif
