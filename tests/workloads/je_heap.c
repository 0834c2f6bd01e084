// SPDX-License-Identifier: GPL-2.0-or-later
/* private_heap.c under jemalloc's own prefix, as programs carry it that link a jemalloc of
 * theirs. */
#define HEAP_PREFIX je_
#include "private_heap.c"
