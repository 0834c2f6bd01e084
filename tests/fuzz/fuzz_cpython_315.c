// SPDX-License-Identifier: GPL-2.0-or-later
/* Fuzzes the walker of CPython 3.15's heaps: tagged references in frames, and _Py_DebugOffsets. */
#include "unit/cpython_fixture.h"

#define FORGED_MAKE(forged) forged_make_version(forged, 0x030f)
#define FORGED_MORE forged_more
#include "fuzz/forged_heap.h"
