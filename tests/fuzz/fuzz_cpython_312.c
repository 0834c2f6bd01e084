// SPDX-License-Identifier: GPL-2.0-or-later
/*
 * The walker of CPython's heaps, of version 3.12: arenas in the interpreter, and values in separate
 * blocks.
 */
#include "unit/cpython_fixture.h"

#define FORGED_MAKE(forged) forged_make_version(forged, 0x030c)
#define FORGED_MORE forged_more
#include "fuzz/forged_heap.h"
