// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of CPython's heaps, of version 3.15: tags in frames, and what it says of itself. */
#include "unit/cpython_fixture.h"

#define FORGED_MAKE(forged) forged_make_version(forged, 0x030f)
#define FORGED_MORE forged_more
#include "fuzz/forged_heap.h"
