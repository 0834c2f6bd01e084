// SPDX-License-Identifier: GPL-2.0-or-later
/* The walker of .NET's heaps. */
#include "unit/dotnet_fixture.h"

#include "fuzz/forged_heap.h"
