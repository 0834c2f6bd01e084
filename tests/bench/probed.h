/* SPDX-License-Identifier: GPL-2.0-or-later */
/* `probed`: how many of malloc and free have a breakpoint on their first instruction. */
#ifndef LEAKMON_BENCH_PROBED_H
#define LEAKMON_BENCH_PROBED_H

#include "../workloads/workload.h"

#define BREAKPOINT 0xcc

static bool has_breakpoint(uintptr_t function)
{
	return *(volatile const unsigned char *)function == BREAKPOINT;
}

static void probed(void)
{
	say("%d\n", has_breakpoint((uintptr_t)malloc) + has_breakpoint((uintptr_t)free));
}

#endif
