/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * What a mapping is for, by the names on its call stack. The BPF side knows MAP_STACK and the calls
 * of probed allocators; what it cannot see is an allocator that maps memory outside of any call
 * (a constructor, a background thread), and a C library that maps stacks without MAP_STACK (musl).
 */
#ifndef LEAKMON_ANALYZE_MAPPING_PURPOSE_H
#define LEAKMON_ANALYZE_MAPPING_PURPOSE_H

#include "collect/family.h"
#include "symbol/symbolizer.h"

/* `kind`, unless the names say better. Kinds that say more than KIND_RESERVATION stay. */
enum site_kind mapping_purpose(const struct frames *frames, enum site_kind kind);

#endif
