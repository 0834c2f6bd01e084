// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of GHC's heaps. */
#include "unit/ghc_fixture.h"

#include "fuzz/forged_heap.h"
