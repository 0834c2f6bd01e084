/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Where a file's own addresses begin in memory. */
#ifndef LEAKMON_RETAIN_MODULE_BIAS_H
#define LEAKMON_RETAIN_MODULE_BIAS_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "proc/maps.h"

/* An address in memory minus the same in the file; false: the mapping is of none of its segments.
 */
bool module_bias(const struct elf_file *file, const struct mapping *mapping, uint64_t *bias);
/* Whether both map the same file, as the kernel shows it. */
bool mapping_same_file(const struct mapping *left, const struct mapping *right);

#endif
