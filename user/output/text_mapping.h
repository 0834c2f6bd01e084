/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The books of the mapping family, below the ledger of the heap. Internal to output/. */
#ifndef LEAKMON_OUTPUT_TEXT_MAPPING_H
#define LEAKMON_OUTPUT_TEXT_MAPPING_H

#include <stdio.h>

#include "collect/mapping_ledger.h"

void text_mapping_write(FILE *out, const struct mapping_ledger *ledger);

#endif
