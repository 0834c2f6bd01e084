/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Text as it fills columns of a terminal, whatever a target calls itself. */
#ifndef LEAKMON_TOP_CELLS_H
#define LEAKMON_TOP_CELLS_H

#include <stddef.h>
#include <wchar.h>

/* A column holds one character and what combines with it: this many at most. */
#define CELLS_PER_COLUMN 4
#define CELLS_COLUMNS_MAX 512
#define CELLS_SIZE (CELLS_COLUMNS_MAX * CELLS_PER_COLUMN + 1)

enum cells_align { CELLS_LEFT, CELLS_RIGHT };

/*
 * Untrusted UTF-8 as exactly `width` columns (at most CELLS_COLUMNS_MAX), as wcwidth(3) counts
 * them: made inert (base/text.h), filled up with blanks, or cut with an ellipsis at its end. What
 * the locale has no character for becomes `?`. `cells` has room for CELLS_SIZE; NUL-terminated.
 */
void cells_fit(wchar_t *cells, const char *text, size_t width, enum cells_align align);

/*
 * The same of the first line that fits into `width` columns, without an ellipsis; blanks are where
 * lines break best. Returns how many bytes of `text`, which is inert already, are in it; 0 only for
 * "".
 */
size_t cells_wrap(wchar_t *cells, const char *text, size_t width);

#endif
