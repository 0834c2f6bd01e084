// SPDX-License-Identifier: GPL-2.0-or-later
/* allocators.c for any C library and any allocator in its place. */
#define PORTABLE
#include "allocators.c"
