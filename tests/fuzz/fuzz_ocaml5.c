// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of OCaml 5's heaps. */
#include "unit/ocaml5_fixture.h"

#include "fuzz/forged_heap.h"
