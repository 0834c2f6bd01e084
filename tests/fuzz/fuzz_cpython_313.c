// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of CPython's heaps, of version 3.13: values in the object. */
#include "unit/cpython_fixture.h"

#define FORGED_MAKE(forged) forged_make_version(forged, 0x030d)
#define FORGED_MORE forged_more
#include "fuzz/forged_heap.h"
