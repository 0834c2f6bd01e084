/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What arguments this kernel's tracepoints have, from its own type information. */
#ifndef LEAKMON_PROBE_TRACEPOINT_CHECK_H
#define LEAKMON_PROBE_TRACEPOINT_CHECK_H

#include <stdbool.h>

struct btf;

/*
 * Whether the tracepoint exists and its arguments begin with `signature`, one character each:
 * 'p' a pointer, '4' or '8' an integer of so many bytes. Arguments have changed their places
 * between versions (kmalloc in 5.19 and 6.1): a program must not take one for another.
 */
bool tracepoint_has(const struct btf *btf, const char *tracepoint, const char *signature);

#endif
