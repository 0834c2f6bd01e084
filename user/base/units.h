/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Human-readable quantities. Each function fills `text` and returns it. */
#ifndef LEAKMON_BASE_UNITS_H
#define LEAKMON_BASE_UNITS_H

/*
 * Formats "120.4 MiB", at most 10 characters without the sign; `sign` ("+", or "") precedes
 * nonnegative values.
 */
char *units_bytes(char text[16], double bytes, const char *sign);

/* Formats "34 s", "12.5 min", "3.0 h", "9.1 d". */
char *units_time(char text[16], double seconds);

#endif
