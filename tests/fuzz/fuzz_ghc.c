// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of GHC's heaps, of a program that knows its lines. */
#include "unit/ghc_fixture.h"

#define FORGED_MORE forged_lines
#include "fuzz/forged_heap.h"
