/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What stands in one cell of a list: one function per kind of column. */
#ifndef LEAKMON_TOP_COLUMN_FORMATS_H
#define LEAKMON_TOP_COLUMN_FORMATS_H

#include "top/columns.h"

/* What the row says of itself. */
column_format column_format_pid;
column_format column_format_name;
column_format column_format_place; /* "-": nowhere in particular */
column_format column_format_verdict;
column_format column_format_course; /* a sparkline */
column_format column_format_where;  /* who allocates, and on whose behalf */

/* The column's number in the row; "-": it is not known. */
column_format column_format_number;
column_format column_format_bytes; /* "~" behind it: not exact; the heading says why */
column_format column_format_rate;  /* bytes per second */
column_format column_format_triage_rate;
column_format column_format_age;  /* seconds */
column_format column_format_sure; /* 0..1, as a percentage */

#endif
