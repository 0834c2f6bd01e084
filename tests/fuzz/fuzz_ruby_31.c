// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of Ruby's heaps, of 3.1: tables in place of shapes, one size of slots. */
#include "unit/ruby_fixture.h"

#define FORGED_MAKE(forged) forged_make_version(forged, FORGED_3_1)
#include "fuzz/forged_heap.h"
