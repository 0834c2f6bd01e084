// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of OCaml's heaps. */
#include "unit/ocaml_fixture.h"

#include "fuzz/forged_heap.h"
