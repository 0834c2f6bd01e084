// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of Ruby's heaps, of 3.3. */
#include "unit/ruby_fixture.h"

#include "fuzz/forged_heap.h"
