// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of CPython's heaps. */
#include "unit/cpython_fixture.h"

#include "fuzz/forged_heap.h"
