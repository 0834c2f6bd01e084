// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of V8's heaps. */
#include "unit/v8_fixture.h"

#include "fuzz/forged_heap.h"
