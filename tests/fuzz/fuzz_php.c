// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of PHP's heaps. */
#include "unit/php_fixture.h"

#include "fuzz/forged_heap.h"
