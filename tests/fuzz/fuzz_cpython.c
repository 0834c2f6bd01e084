// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of CPython's heaps. */
#include "unit/cpython_fixture.h"

#define FORGED_MORE forged_containers
#include "fuzz/forged_heap.h"
