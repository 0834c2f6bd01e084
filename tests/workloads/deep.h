/* SPDX-License-Identifier: GPL-2.0-or-later */
// Shared by the parts of deep.
#ifndef LEAKMON_WORKLOAD_DEEP_H
#define LEAKMON_WORKLOAD_DEEP_H

#include <cstdlib>

// Its own copy, under its own name, and nothing known of its callers: none of them is inlined,
// specialised or turned into a jump.
#if __has_attribute(noipa)
#define SITE __attribute__((noipa))
#else
#define SITE __attribute__((noinline))
#endif

template <typename T> static T opaque(T value)
{
	__asm__ volatile("" : "+r"(value) : : "memory");
	return value;
}

SITE static void leak(size_t size)
{
	opaque(malloc(size));
	opaque(calloc(2, size));
	opaque(realloc(malloc(size), 2 * size));
}

#endif
