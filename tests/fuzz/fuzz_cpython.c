// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of CPython's heaps, of version 3.11. */
#include "unit/cpython_fixture.h"

#define FORGED_MORE forged_more
#include "fuzz/forged_heap.h"
