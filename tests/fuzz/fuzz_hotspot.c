// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of HotSpot's heaps. */
#include "unit/hotspot_fixture.h"

#include "fuzz/forged_heap.h"
