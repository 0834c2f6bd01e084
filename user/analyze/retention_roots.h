/* SPDX-License-Identifier: GPL-2.0-or-later */
#ifndef LEAKMON_ANALYZE_RETENTION_ROOTS_H
#define LEAKMON_ANALYZE_RETENTION_ROOTS_H

#include "analyze/retention.h"

#define ROOT_NONE UINT32_MAX

/*
 * The group of roots that each block's shortest path begins at, by block; ROOT_NONE: nothing holds
 * it. An array that the caller frees, or NULL: out of memory.
 */
uint32_t *retention_roots(const struct retention *retention);

#endif
