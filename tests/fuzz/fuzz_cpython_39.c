// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of CPython's heaps, of version 3.9: frames are objects, and attributes in
 * dictionaries. */
#include "unit/cpython_fixture.h"

#define FORGED_MAKE(forged) forged_make_version(forged, 0x0309)
#define FORGED_MORE forged_more
#include "fuzz/forged_heap.h"
